//! What of a step must not be shown.
//!
//! Three sources say so, and each alone is enough: marks on what is wished, seals of what was recorded, and the schema
//! of the kind. What is observed has no marks, so an attribute that is secret anywhere else is hidden there as a whole.

use std::collections::BTreeSet;
use std::sync::Arc;

use fleet_lang::{Marks, Value};

use super::{Attributes, Members, Shown};
use crate::address::{Address, Item};
use crate::diff::Change;
use crate::plan::Step;
use crate::schema::{Attribute, Catalog, Nested, Nesting, Schema, Sort};

/// The secrets of one step.
pub(super) struct Secret<'a> {
    schema: Option<&'a Schema>,
    sealed: BTreeSet<&'a str>,
    step: &'a Step,
}

impl<'a> Secret<'a> {
    pub(super) fn of(catalog: &'a dyn Catalog, address: &Address, step: &'a Step) -> Secret<'a> {
        let sort = if matches!(address.item, Item::Data(..)) { Sort::Data } else { Sort::Resource };
        let schema = catalog.find(sort, &step.record.kind).map(|entry| &entry.schema);
        let head = |path: &'a Arc<str>| path.split(['.', '[']).next().unwrap_or(path);
        Secret { schema, sealed: step.record.sealed.keys().map(head).collect(), step }
    }

    /// Whether an attribute is, was or will be secret in any part.
    pub(super) fn holds(&self, name: &str) -> bool {
        let by_schema = self.schema.is_some_and(|schema| {
            schema.attributes.get(name).is_some_and(is_secret_attribute)
                || schema.blocks.get(name).is_some_and(|nested| holds_secrets(&nested.schema))
        });
        by_schema || self.is_marked_or_sealed(name)
    }

    /// What may be shown of an object that was observed or recorded.
    pub(super) fn hide(&self, object: &Value) -> Attributes {
        self.attributes(object, |name, value| self.hide_attribute(name, value))
    }

    /// What may be shown of one attribute of it.
    pub(super) fn hide_attribute(&self, name: &str, value: &Value) -> Shown {
        let shown = self.by_schema(name, value);
        if self.is_marked_or_sealed(name) { hidden(shown) } else { shown }
    }

    /// What may be shown of an object that is to be made, which has marks where it is secret.
    pub(super) fn hide_marked(&self, object: &Value) -> Attributes {
        self.attributes(object, |name, value| self.by_schema(name, value))
    }

    /// Whether nobody has any use for an attribute.
    pub(super) fn is_internal(&self, name: &str) -> bool {
        let attribute = self.schema.and_then(|schema| schema.attributes.get(name));
        attribute.is_some_and(|attribute| attribute.internal)
    }

    fn attributes(&self, object: &Value, shown: impl Fn(&str, &Value) -> Shown) -> Attributes {
        let entries = object.entries().into_iter().flatten().filter(|(name, _)| !self.is_internal(name));
        let members = entries.map(|(name, value)| (String::from(&**name), shown(name, value)));
        // They are in order already.
        Attributes::from_sorted_store_unchecked(members.collect())
    }

    fn is_marked_or_sealed(&self, name: &str) -> bool {
        let is = |value: &Value| is_secret(value.marks_deep());
        let in_change = |change: &Change| *change.name == *name && (is(&change.before) || is(&change.after));
        self.sealed.contains(name)
            || is_secret(self.step.record.value.marks)
            || self.step.record.value.entries().and_then(|all| all.get(name)).is_some_and(is)
            || self.step.changes.iter().chain(&self.step.drift).any(in_change)
    }

    fn by_schema(&self, name: &str, value: &Value) -> Shown {
        self.schema.map_or_else(|| Shown::of(value), |schema| member(schema, name, Shown::of(value)))
    }
}

/// Whether something with these marks must not be shown.
pub(super) fn is_secret(marks: Marks) -> bool {
    marks.contains(Marks::SENSITIVE) || marks.contains(Marks::EPHEMERAL)
}

/// A mark in the place of a value; that there is none, or none yet, is no secret.
pub(super) fn hidden(shown: Shown) -> Shown {
    match shown {
        open @ (Shown::Null | Shown::Unknown { .. }) => open,
        _ => Shown::Sensitive,
    }
}

fn is_secret_attribute(attribute: &Attribute) -> bool {
    attribute.sensitive || attribute.write_only
}

fn holds_secrets(schema: &Schema) -> bool {
    schema.attributes.values().any(is_secret_attribute)
        || schema.blocks.values().any(|nested| holds_secrets(&nested.schema))
}

/// What may be shown of a member of an object of that schema.
fn member(schema: &Schema, name: &str, shown: Shown) -> Shown {
    if schema.attributes.get(name).is_some_and(is_secret_attribute) {
        return hidden(shown);
    }
    match schema.blocks.get(name) {
        Some(nested) if holds_secrets(&nested.schema) => blocks(nested, shown),
        _ => shown,
    }
}

/// What may be shown of the value that nested blocks make.
fn blocks(nested: &Nested, shown: Shown) -> Shown {
    let each = |items: Vec<Shown>| items.into_iter().map(|item| object(&nested.schema, item)).collect();
    let values = |entries: Members| {
        entries.into_iter().map(|(name, item)| (name, object(&nested.schema, item))).collect()
    };
    match (nested.nesting, shown) {
        (Nesting::Single, shown) => object(&nested.schema, shown),
        (_, Shown::List(items)) => Shown::List(each(items)),
        (_, Shown::Set(items)) => Shown::Set(each(items)),
        (_, Shown::Map(entries)) => Shown::Map(values(entries)),
        (_, other) => hidden(other),
    }
}

fn object(schema: &Schema, shown: Shown) -> Shown {
    match shown {
        Shown::Map(entries) => Shown::Map(
            entries
                .into_iter()
                .map(|(name, value)| {
                    let value = member(schema, &name, value);
                    (name, value)
                })
                .collect(),
        ),
        other => hidden(other),
    }
}

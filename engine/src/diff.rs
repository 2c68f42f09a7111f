//! Stage 4, diff: declared against observed, as the schema says. Pure.

use std::sync::Arc;

use fleet_lang::{Marks, Value};

use crate::expand::with_results;
use crate::schema::{Presence, Schema};

/// One attribute or nested block that differs.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Its name.
    pub name: Arc<str>,
    /// What is there.
    pub before: Value,
    /// What should be there; may be unknown.
    pub after: Value,
    /// Whether it takes a new object.
    pub forces_replace: bool,
}

/// What differs between reality and the wish, in the order of the names.
///
/// Results of reality are not compared, and neither is what only reality decides because the user left it out.
/// What is sent but never read back cannot be compared.
#[must_use]
pub fn diff(schema: &Schema, observed: &Value, wish: &Value) -> Vec<Change> {
    let attribute = |(name, attribute): (&Arc<str>, &crate::schema::Attribute)| {
        let after = get(wish, name);
        let left_open = match attribute.presence {
            Presence::Computed => true,
            Presence::OptionalComputed => after.is_null(),
            Presence::Required | Presence::Optional => attribute.write_only,
        };
        if left_open { None } else { change(observed, name, after, attribute.forces_replace) }
    };
    let block = |name: &Arc<str>| change(observed, name, get(wish, name), false);
    let mut changes: Vec<Change> = schema.attributes.iter().filter_map(attribute).collect();
    changes.extend(schema.blocks.keys().filter_map(block));
    changes
}

/// What will be there after a change in place: the wish, with the results of before where the change leaves them.
#[must_use]
pub fn updated(schema: &Schema, address: &str, observed: &Value, wish: &Value, changes: &[Change]) -> Value {
    with_results(wish, schema, |name, ty| {
        let follows = schema.attributes.get(name).and_then(|attribute| attribute.follows.as_ref());
        if follows.is_some_and(|other| changes.iter().any(|change| change.name == *other)) {
            Value::awaiting(ty.clone(), format!("{address}.{name}"))
        } else {
            get(observed, name)
        }
    })
}

/// What will be there after it was created: the wish, with results that nobody knows yet.
#[must_use]
pub fn created(schema: &Schema, address: &str, wish: &Value) -> Value {
    with_results(wish, schema, |name, ty| Value::awaiting(ty.clone(), format!("{address}.{name}")))
}

/// One attribute of an object, null if it has none of that name.
#[must_use]
pub fn get(object: &Value, name: &str) -> Value {
    object.entries().and_then(|entries| entries.get(name)).cloned().unwrap_or_else(Value::null)
}

fn change(observed: &Value, name: &Arc<str>, after: Value, forces_replace: bool) -> Option<Change> {
    let before = get(observed, name);
    if same(&before, &after) {
        return None;
    }
    // What is there now is as secret as what will be.
    let secret = after.marks_deep().contains(Marks::SENSITIVE);
    let before = if secret { before.mark(Marks::SENSITIVE) } else { before };
    Some(Change { name: name.clone(), before, after, forces_replace })
}

/// Whether both are wholly known and equal. Nulls are equal whatever their type.
fn same(before: &Value, after: &Value) -> bool {
    if before.is_null() && after.is_null() {
        return true;
    }
    after.is_wholly_known() && before.clone().unmark_deep().0 == after.clone().unmark_deep().0
}

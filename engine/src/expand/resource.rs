//! Resource and data blocks: their arguments, instance by instance.

use std::collections::BTreeMap;
use std::sync::Arc;

use fleet_lang::{Kind, Marks, Type, Value};
use fleet_syntax::tree::Body;
use fleet_syntax::{Diagnostic, Severity, Span, nearest};

use super::names::collect;
use super::{ArgumentsOnly, Instance, Opened, Settle, View, Walk};
use crate::address::Address;
use crate::config::body::{Ephemeral, check, decode};
use crate::config::model::{AttributePath, IgnoreChanges, Mode, Resource};
use crate::schema::{self, Entry, Sort};
use crate::scope::{self, NodeId, ScopeId};

impl<'a, 'c> Walk<'a, 'c> {
    /// Adds the instances that a block has in one place; the value is what a reference to the block means there.
    pub(super) fn resource(&mut self, id: NodeId, place: u32, resource: &'c Resource) -> Value {
        let scope = self.expansion.scopes.node(id).scope;
        let repeated = self.repeated(resource.repeat.as_ref(), View::of(scope, place, &super::ONCE));
        self.defer(id, scope, place, &repeated.keys);
        let entry = self.entry(scope, place, resource);
        let start = self.expansion.instances.len() as u32;
        for repetition in &repeated.each {
            let address = Address {
                scope: self.place(scope, place).path.clone(),
                item: scope::item(resource),
                key: repetition.key.clone(),
            };
            let mut view = View::of(scope, place, repetition);
            view.address = Some(&address);
            let mut may_be_settled = true;
            for condition in &resource.lifecycle.preconditions {
                may_be_settled &=
                    self.must_hold(condition, view, Severity::Error, "precondition does not hold");
            }
            let declared = match entry {
                Some(entry) => {
                    self.instance_body(&resource.body, entry, resource.header, Ephemeral::WriteOnly, view)
                }
                None => {
                    self.eval_all(&resource.body, view);
                    Value::unknown(Type::Any)
                }
            };
            let mut instance = Instance {
                address: address.clone(),
                node: id,
                place,
                value: declared.clone(),
                declared,
                span: resource.header,
                repetition: repetition.clone(),
            };
            if let Some(entry) = entry {
                // What must hold before a thing is touched does not, so nobody gets to touch it.
                let settle = if may_be_settled { &mut *self.settle } else { &mut ArgumentsOnly };
                instance.value = settle.settle(&instance, entry, &instance.declared);
            }
            view.this = Some(&instance.value);
            for condition in &resource.lifecycle.postconditions {
                self.must_hold(condition, view, Severity::Error, "postcondition does not hold");
            }
            self.expansion.instances.push(instance);
        }
        let range = start..self.expansion.instances.len() as u32;
        let opened = Opened { keys: repeated.keys, range };
        let instances = &self.expansion.instances;
        let value = collect(
            &opened,
            |at| instances[at as usize].value.clone(),
            |at| instances[at as usize].address.key.clone(),
        );
        self.expansion.blocks[id.0 as usize].push(opened);
        value
    }

    /// The kind of a block, if there is such a kind and it may stand here. What is wrong is said once for each block.
    fn entry(&mut self, scope: ScopeId, place: u32, resource: &'c Resource) -> Option<&'a Entry> {
        let (sort, what) = match resource.mode {
            Mode::Managed => (Sort::Resource, "resource kind"),
            Mode::Data => (Sort::Data, "data kind"),
        };
        let catalog = self.surroundings.catalog;
        let entry = catalog.find(sort, &resource.kind.name);
        if place > 0 {
            return entry;
        }
        match entry {
            None => self.unknown_kind(sort, what, &resource.kind.name, resource.kind.span),
            Some(entry) => {
                self.diagnostics.extend(check(&resource.body, &entry.schema, resource.header));
                self.diagnostics.extend(unknown_ignored(resource, &entry.schema));
                if entry.place == schema::Place::Host && self.expansion.scopes.scope(scope).host.is_none() {
                    let detail = format!("`{}` lives on a host, and there is none here.", resource.kind.name);
                    self.diagnostics.push(
                        Diagnostic::error(resource.header, "no host for this kind", detail)
                            .help("put the block into a `fleet`, or into a module that a fleet calls"),
                    );
                }
            }
        }
        entry
    }

    /// Evaluates all expressions of a body that has no schema, for what is wrong with them.
    pub(super) fn eval_all(&mut self, body: &Body, view: View<'_>) {
        for attribute in &body.attributes {
            self.eval(&attribute.value, view);
        }
        // The names that `dynamic` blocks bind are the schema's business.
        for block in body.blocks.iter().filter(|block| &*block.kind.name != "dynamic") {
            self.eval_all(&block.body, view);
        }
    }

    /// The object that a block makes, checked against its schema.
    pub(super) fn body(
        &mut self,
        body: &Body,
        entry: &Entry,
        header: Span,
        ephemeral: Ephemeral,
        view: View<'_>,
    ) -> Value {
        self.diagnostics.extend(check(body, &entry.schema, header));
        self.instance_body(body, entry, header, ephemeral, view)
    }

    pub(super) fn instance_body(
        &mut self,
        body: &Body,
        entry: &Entry,
        header: Span,
        ephemeral: Ephemeral,
        view: View<'_>,
    ) -> Value {
        self.with_evaluator(view, |evaluator| decode(body, &entry.schema, header, ephemeral, evaluator))
    }
}

impl Settle for ArgumentsOnly {
    fn settle(&mut self, instance: &Instance, entry: &Entry, declared: &Value) -> Value {
        with_results(declared, &entry.schema, |name, ty| {
            Value::awaiting(ty.clone(), format!("{}.{name}", instance.address))
        })
    }
}

/// Attributes that `ignore_changes` names and the kind does not have.
fn unknown_ignored(resource: &Resource, schema: &schema::Schema) -> Vec<Diagnostic> {
    let IgnoreChanges::Paths(paths) = &resource.lifecycle.ignore_changes else { return Vec::new() };
    let names = || schema.attributes.keys().chain(schema.blocks.keys()).map(|name| &**name);
    let unknown = paths.iter().filter(|path| !names().any(|name| name == &*path.root.name));
    let report = |path: &AttributePath| {
        let detail = format!("`{}` has no attribute `{}`.", resource.kind.name, path.root.name);
        let problem = Diagnostic::error(path.root.span, "unknown attribute", detail);
        match nearest(&path.root.name, names()) {
            Some(name) => problem.help(format!("did you mean `{name}`?")),
            None => problem,
        }
    };
    unknown.map(report).collect()
}

/// The object with its results filled in, where the arguments leave them to reality.
#[must_use]
pub fn with_results(
    declared: &Value,
    schema: &schema::Schema,
    result: impl Fn(&str, &Type) -> Value,
) -> Value {
    let Kind::Object(arguments) = &declared.kind else { return declared.clone() };
    let mut object: BTreeMap<Arc<str>, Value> = (**arguments).clone();
    for (name, attribute) in &schema.attributes {
        let given = object.get(name).is_some_and(|value| !value.is_null());
        if attribute.presence.is_computed() && !given {
            let marks = if attribute.sensitive { Marks::SENSITIVE } else { Marks::NONE };
            let copied = attribute.copies.as_ref().and_then(|other| arguments.get(other)).cloned();
            let value = copied.unwrap_or_else(|| result(name, &attribute.ty));
            object.insert(name.clone(), value.mark(marks));
        }
    }
    Value::object(object).mark(declared.marks)
}

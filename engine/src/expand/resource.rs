//! Resource and data blocks: their arguments, instance by instance.

use std::collections::HashSet;
use std::sync::Arc;

use fleet_lang::{Kind, Marks, Type, Value};
use fleet_syntax::tree::{Body, Expr, ExprKind, Step};
use fleet_syntax::{Diagnostic, Severity, Span, nearest};

use super::names::collect;
use super::{ArgumentsOnly, Block, Expansion, Instance, Opened, Settle, View, Walk};
use crate::address::{Address, Item, Target, key_of};
use crate::config::body::{Ephemeral, check, decode};
use crate::config::model::{AttributePath, IgnoreChanges, Mode, Resource};
use crate::order::provider_seen_from;
use crate::provider::Session;
use crate::schema::{self, Entry, Sort};
use crate::scope::{self, NodeId, NodeItem, ScopeId};

impl<'a, 'c> Walk<'a, 'c> {
    /// Adds the instances that a block has in one place; the value is what a reference to the block means there.
    pub(super) fn resource(&mut self, id: NodeId, place: u32, resource: &'c Resource) -> Value {
        let scope = self.expansion.scopes.node(id).scope;
        let repeated = self.repeated(resource.repeat.as_ref(), View::of(scope, place, &super::ONCE));
        self.defer(id, scope, place, &repeated.keys);
        let block = self.block(id, place, resource);
        let start = self.expansion.instances.len() as u32;
        for repetition in &repeated.each {
            let mut instance = Instance {
                address: Address {
                    scope: self.place(scope, place).path.clone(),
                    item: scope::item(resource),
                    key: repetition.key.clone(),
                },
                node: id,
                place,
                value: Value::unknown(Type::Any),
                declared: Value::unknown(Type::Any),
                span: resource.header,
                repetition: repetition.clone(),
                triggers: Vec::new(),
            };
            let (declared, may_be_settled) = self.declare(&instance, scope, resource, block.as_ref());
            instance.triggers = self.triggers(&instance, scope, resource);
            instance.value = declared.clone();
            instance.declared = declared;
            if let Some(block) = &block {
                // What must hold before a thing is touched does not, so nobody gets to touch it.
                let settle = if may_be_settled { &mut *self.settle } else { &mut ArgumentsOnly };
                instance.value = settle.settle(&instance, block);
            }
            self.postconditions(&instance, scope, resource);
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

    /// The arguments of an instance, and whether all that must hold before does.
    pub(super) fn declare(
        &mut self,
        instance: &Instance,
        scope: ScopeId,
        resource: &'c Resource,
        block: Option<&Block<'_>>,
    ) -> (Value, bool) {
        let mut view = View::of(scope, instance.place, &instance.repetition);
        view.address = Some(&instance.address);
        let mut holds = true;
        for condition in &resource.lifecycle.preconditions {
            holds &= self.must_hold(condition, view, Severity::Error, "precondition does not hold");
        }
        let Some(block) = block else {
            self.eval_all(&resource.body, view);
            return (Value::unknown(Type::Any), holds);
        };
        let declared =
            self.instance_body(&resource.body, block.entry, resource.header, Ephemeral::WriteOnly, view);
        (declared, holds)
    }

    pub(super) fn postconditions(&mut self, instance: &Instance, scope: ScopeId, resource: &'c Resource) {
        let mut view = View::of(scope, instance.place, &instance.repetition);
        view.address = Some(&instance.address);
        view.this = Some(&instance.value);
        for condition in &resource.lifecycle.postconditions {
            self.must_hold(condition, view, Severity::Error, "postcondition does not hold");
        }
    }

    /// What all instances of a block in one place have in common; none if there is no such kind.
    pub(super) fn block<'b>(&mut self, id: NodeId, place: u32, resource: &'c Resource) -> Option<Block<'b>>
    where
        'a: 'b,
        'c: 'b,
    {
        let scope = self.expansion.scopes.node(id).scope;
        let entry = self.entry(scope, place, resource)?;
        let session = self.expansion.session(scope, place, resource, entry);
        let settings = self.expansion.settings(self.surroundings.catalog, &session);
        let settings = settings.unwrap_or_else(|| Value::unknown(Type::Any));
        let waits_for = match resource.mode {
            Mode::Managed => Vec::new(),
            Mode::Data => self.expansion.blocks_behind(id),
        };
        Some(Block { resource, entry, session, settings, waits_for })
    }

    /// What an instance is replaced with.
    fn triggers(
        &mut self,
        instance: &Instance,
        scope: ScopeId,
        resource: &'c Resource,
    ) -> Vec<(Target, Option<Arc<str>>)> {
        let here = self.place(scope, instance.place).path.clone();
        let view = View::of(scope, instance.place, &instance.repetition);
        let mut trigger = |expr: &'c Expr| {
            let ExprKind::Path(path) = &expr.kind else { return None };
            let ExprKind::Variable(kind) = &path.base.kind else { return None };
            let mut steps = path.steps.iter();
            let Some(Step::Attr(name)) = steps.next() else { return None };
            let mut next = steps.next();
            let mut key = None;
            if let Some(Step::Index(expr, _)) = next {
                key = key_of(&self.eval(expr, view));
                next = steps.next();
            }
            let attribute = match next {
                Some(Step::Attr(name)) => Some(name.name.clone()),
                _ => None,
            };
            let item = Some(Item::Resource(kind.name.clone(), name.name.clone()));
            Some((Target { scope: here.clone(), item, key }, attribute))
        };
        resource.lifecycle.replace_triggered_by.iter().filter_map(&mut trigger).collect()
    }

    /// The kind of a block, if there is such a kind and it may stand here. What is wrong is said once for each block.
    fn entry(&mut self, scope: ScopeId, place: u32, resource: &'c Resource) -> Option<&'a Entry> {
        let (sort, what) = match resource.mode {
            Mode::Managed => (Sort::Resource, "resource kind"),
            Mode::Data => (Sort::Data, "data kind"),
        };
        let catalog = self.surroundings.catalog;
        // The machines of slots are not declared by hand.
        let is_machine = |name: &str| {
            name.strip_suffix("_host").is_some_and(|pool| catalog.find(Sort::Pool, pool).is_some())
        };
        let entry = catalog.find(sort, &resource.kind.name).filter(|_| !is_machine(&resource.kind.name));
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

impl Expansion<'_> {
    /// The provider configuration that the instances of a block are made through.
    fn session(&self, scope: ScopeId, place: u32, resource: &Resource, entry: &Entry) -> Session {
        if entry.place == schema::Place::Host
            && let Some(slot) = self.slot(scope, place)
        {
            return self.session_with(slot);
        }
        let (name, alias) = match &resource.provider {
            Some(chosen) => (&chosen.name.name, chosen.alias.as_ref().map(|alias| &alias.name)),
            None => (&entry.provider, None),
        };
        let seen = provider_seen_from(&self.scopes, scope, name, alias);
        match seen.map(|node| self.scopes.node(node).item) {
            Some(NodeItem::Provider(provider)) => Session {
                alias: provider.alias.as_ref().map(|alias| alias.name.clone()),
                ..Session::of(provider.name.name.clone())
            },
            _ => Session::of(entry.provider.clone()),
        }
    }

    /// The provider configuration that an instance is made through.
    pub(crate) fn session_of(&self, instance: &Instance, entry: &Entry) -> Session {
        let node = self.scopes.node(instance.node);
        match node.item {
            NodeItem::Resource(resource) | NodeItem::CheckData(resource) => {
                self.session(node.scope, instance.place, resource, entry)
            }
            _ => Session::of(entry.provider.clone()),
        }
    }

    /// The blocks that a node uses, directly or through values, wherever they stand.
    fn blocks_behind(&self, id: NodeId) -> Vec<NodeId> {
        let (mut seen, mut left) = (HashSet::from([id]), vec![id]);
        let mut found = Vec::new();
        while let Some(node) = left.pop() {
            for used in self.uses[node.0 as usize].iter().filter(|used| seen.insert(used.node)) {
                match self.scopes.node(used.node).item {
                    NodeItem::Resource(_) => found.push(used.node),
                    _ => left.push(used.node),
                }
            }
        }
        found
    }
}

impl Settle for ArgumentsOnly {
    fn settle(&mut self, instance: &Instance, block: &Block<'_>) -> Value {
        let later = |name: &str, ty: Type| Value::awaiting(ty, format!("{}.{name}", instance.address));
        let value = with_results(&instance.declared, &block.entry.schema, |name, ty| later(name, ty.clone()));
        let named = |name: &str| match &block.resource.lifecycle.ignore_changes {
            IgnoreChanges::None => false,
            IgnoreChanges::All => true,
            IgnoreChanges::Paths(paths) => paths.iter().any(|path| &*path.root.name == name),
        };
        let copied = |name: &str| block.entry.schema.attributes.get(name)?.copies.as_deref();
        let left_alone = |name: &str| named(name) || copied(name).is_some_and(named);
        let Some(entries) = value.entries().filter(|entries| entries.keys().any(|name| left_alone(name)))
        else {
            return value;
        };
        let entry = |(name, value): (&Arc<str>, &Value)| {
            let marks = value.marks_deep();
            let value = if left_alone(name) { later(name, value.ty()).mark(marks) } else { value.clone() };
            (name.clone(), value)
        };
        Value::object(entries.iter().map(entry).collect())
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
    let mut object = (**arguments).clone();
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

//! What names mean while expressions are evaluated.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use fleet_lang::references::Reference;
use fleet_lang::{Entries, Outside, Resolved, Scope, Type, Value};
use fleet_syntax::Diagnostic;
use fleet_syntax::tree::{Ident, Step};

use super::{Expansion, Keys, Opened, View};
use crate::address::Key;
use crate::config::model::Mode;
use crate::reference::{self, Allowed};
use crate::schema::Catalog;
use crate::scope::{NodeId, NodeItem, ScopeId, Scopes};

/// The names seen from one place. Names that do not exist are unknown here: they have been reported before.
pub struct Names<'a, 'c> {
    pub(crate) expansion: &'a Expansion<'c>,
    pub(crate) view: View<'a>,
    pub(crate) outside: &'a dyn Outside,
}

impl Scope for Names<'_, '_> {
    fn resolve(&self, root: &Ident, steps: &[Step]) -> Result<Resolved, Diagnostic> {
        Ok(self.find(root, steps).unwrap_or_else(|| Resolved { value: unknown(), steps: steps.len() }))
    }
}

/// The names of the root module for expressions that were not part of the configuration, and so not checked with it.
pub struct Checked<'a, 'c> {
    pub(super) names: Names<'a, 'c>,
    pub(super) catalog: &'a dyn Catalog,
}

impl Scope for Checked<'_, '_> {
    fn resolve(&self, root: &Ident, steps: &[Step]) -> Result<Resolved, Diagnostic> {
        let reference = Reference { root, steps, span: root.span };
        let scopes = &self.names.expansion.scopes;
        reference::resolve(scopes, self.catalog, Scopes::ROOT, Allowed::default(), &reference)?;
        self.names.resolve(root, steps)
    }
}

fn unknown() -> Value {
    Value::unknown(Type::Any)
}

fn attr(steps: &[Step], at: usize) -> Option<&Ident> {
    match steps.get(at) {
        Some(Step::Attr(name)) => Some(name),
        _ => None,
    }
}

impl Names<'_, '_> {
    fn find(&self, root: &Ident, steps: &[Step]) -> Option<Resolved> {
        let scopes = &self.expansion.scopes;
        let scope = self.view.scope;
        let after_name = |value| Some(Resolved { value, steps: 1 });
        match &*root.name {
            "var" => after_name(self.value(scopes.variable(scope, &attr(steps, 0)?.name)?)),
            "local" => after_name(self.value(scopes.local(scope, &attr(steps, 0)?.name)?)),
            "secret" => after_name(self.value(scopes.secret(&attr(steps, 0)?.name)?)),
            "pool" => after_name(self.value(scopes.pool(&attr(steps, 0)?.name)?)),
            "count" => after_name(self.view.repetition.index.clone()?),
            "each" => {
                let (key, value) = self.view.repetition.each.as_ref()?;
                after_name(if &*attr(steps, 0)?.name == "key" { key.clone() } else { value.clone() })
            }
            "path" => after_name(self.path(&attr(steps, 0)?.name)?),
            "self" => Some(Resolved { value: self.view.this?.clone(), steps: 0 }),
            "host" => {
                let value = match self.view.host {
                    Some(host) => host.clone(),
                    None => self.value(scopes.scope(scope).host?),
                };
                Some(Resolved { value, steps: 0 })
            }
            "module" => {
                let node = scopes.call(scope, &attr(steps, 0)?.name)?;
                after_name(self.module(node, self.place_of(node)?, &steps[1..])?)
            }
            "fleet" => after_name(self.fleet(scopes.fleet(&attr(steps, 0)?.name)?, &steps[1..])?),
            "data" => {
                let (kind, name) = (attr(steps, 0)?, attr(steps, 1)?);
                let own = self.view.check_data.filter(|node| self.is_data(*node, &kind.name, &name.name));
                let node = own.or_else(|| scopes.resource(scope, Mode::Data, &kind.name, &name.name))?;
                Some(Resolved { value: self.value(node), steps: 2 })
            }
            kind => {
                let node = scopes.resource(scope, Mode::Managed, kind, &attr(steps, 0)?.name)?;
                after_name(self.value(node))
            }
        }
    }

    fn is_data(&self, node: NodeId, kind: &str, name: &str) -> bool {
        match self.expansion.scopes.node(node).item {
            NodeItem::CheckData(data) => &*data.kind.name == kind && &*data.name.name == name,
            _ => false,
        }
    }

    /// The instance of a node's scope that is seen from here: this one or one around it.
    fn place_of(&self, node: NodeId) -> Option<u32> {
        let wanted = self.expansion.scopes.node(node).scope;
        let (mut scope, mut place) = (self.view.scope, self.view.place);
        while scope != wanted {
            place = self.expansion.places[scope.0 as usize].get(place as usize)?.parent;
            scope = self.expansion.scopes.scope(scope).parent?;
        }
        Some(place)
    }

    fn value(&self, node: NodeId) -> Value {
        self.place_of(node).map_or_else(unknown, |place| self.expansion.value(node, place))
    }

    fn path(&self, name: &str) -> Option<Value> {
        let dir = &self.expansion.scopes.scope(self.view.scope).module.dir;
        let text = match name {
            "module" if !dir.as_os_str().is_empty() => dir.to_string_lossy().into_owned(),
            "module" | "root" => ".".to_owned(),
            _ => self.outside.absolute(Path::new(".")).ok()?.to_string_lossy().into_owned(),
        };
        Some(Value::from(text.as_str()))
    }

    /// The outputs of a module call, or just the one that the steps ask for.
    fn module(&self, node: NodeId, place: u32, steps: &[Step]) -> Option<Value> {
        let NodeItem::Call(call, Some(inner)) = self.expansion.scopes.node(node).item else { return None };
        let opened = self.expansion.openings[inner.0 as usize].get(place as usize)?;
        let wanted = attr(steps, usize::from(call.repeat.is_some())).map(|name| name.name.clone());
        let part = Part::Output(wanted);
        Some(self.shared(inner, place, &part, || {
            collect(opened, |at| self.outputs(inner, at, &part), |at| self.key(inner, at))
        }))
    }

    fn outputs(&self, scope: ScopeId, place: u32, part: &Part) -> Value {
        let Part::Output(wanted) = part else { return unknown() };
        let scopes = &self.expansion.scopes;
        let names = scopes.scope(scope).module.outputs.keys();
        let outputs = names.filter(|name| wanted.as_ref().is_none_or(|wanted| wanted == *name));
        let value = |name: &Arc<str>| {
            scopes.output(scope, name).map_or_else(unknown, |node| self.expansion.value(node, place))
        };
        Value::object(outputs.map(|name| (name.clone(), value(name))).collect())
    }

    /// The slots of a fleet with the part of each that the steps ask for.
    fn fleet(&self, node: NodeId, steps: &[Step]) -> Option<Value> {
        let NodeItem::Fleet(_, inner) = self.expansion.scopes.node(node).item else { return None };
        let opened = self.expansion.openings[inner.0 as usize].first()?;
        let part = match (attr(steps, 1), attr(steps, 2)) {
            (Some(word), _) if &*word.name == "host" => Part::Host,
            (Some(word), Some(name)) if &*word.name == "module" => Part::Module(name.name.clone()),
            (Some(kind), Some(name)) => Part::Resource(kind.name.clone(), name.name.clone()),
            _ => Part::Everything,
        };
        // A splat goes over elements in order, so that a fleet of named hosts gives its slots without their names.
        let splat = matches!(steps.first(), Some(Step::FullSplat(_) | Step::AttrSplat(_)));
        if !splat || !matches!(opened.keys, Keys::Each) {
            let slots = || collect(opened, |at| self.slot(inner, at, &part), |at| self.key(inner, at));
            return Some(self.shared(inner, 0, &part, slots));
        }
        let in_order = Opened { keys: Keys::Count, range: opened.range.clone() };
        let slots = || collect(&in_order, |at| self.slot(inner, at, &part), |_| None);
        Some(self.shared(inner, 0, &Part::InOrder(Box::new(part.clone())), slots))
    }

    fn slot(&self, scope: ScopeId, place: u32, part: &Part) -> Value {
        let mut object = Entries::new();
        let mut modules = Entries::new();
        let mut kinds: BTreeMap<Arc<str>, Entries> = BTreeMap::new();
        for id in self.expansion.scopes.scope(scope).nodes.clone().map(NodeId) {
            match self.expansion.scopes.node(id).item {
                NodeItem::Host(_) if matches!(part, Part::Host | Part::Everything) => {
                    object.insert("host".into(), self.expansion.value(id, place));
                }
                NodeItem::Resource(resource)
                    if part.wants_resource(&resource.kind.name, &resource.name.name) =>
                {
                    let names = kinds.entry(resource.kind.name.clone()).or_default();
                    names.insert(resource.name.name.clone(), self.expansion.value(id, place));
                }
                NodeItem::Call(call, _) if part.wants_module(&call.name.name) => {
                    let value = self.module(id, place, &[]).unwrap_or_else(unknown);
                    modules.insert(call.name.name.clone(), value);
                }
                _ => {}
            }
        }
        object.extend(kinds.into_iter().map(|(kind, names)| (kind, Value::object(names))));
        if !modules.is_empty() {
            object.insert("module".into(), Value::object(modules));
        }
        Value::object(object)
    }

    fn key(&self, scope: ScopeId, place: u32) -> Option<Key> {
        self.expansion.places[scope.0 as usize].get(place as usize)?.repetition.key.clone()
    }

    /// Builds a value once for all who ask for it: with many instances on both sides it would be quadratic otherwise.
    fn shared(&self, scope: ScopeId, place: u32, part: &Part, build: impl FnOnce() -> Value) -> Value {
        let key = (scope, place);
        let parts = self.expansion.collected.borrow();
        if let Some(value) = parts.get(&key).and_then(|parts| parts.get(part)) {
            return value.clone();
        }
        drop(parts);
        let value = build();
        self.expansion.collected.borrow_mut().entry(key).or_default().insert(part.clone(), value.clone());
        value
    }
}

/// A part of what a module call or fleet offers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Part {
    /// One output, or all of them.
    Output(Option<Arc<str>>),
    /// The hosts.
    Host,
    /// One resource of each slot.
    Resource(Arc<str>, Arc<str>),
    /// One module call of each slot.
    Module(Arc<str>),
    /// Everything.
    Everything,
    /// A part of each slot of a fleet of named hosts, without the names.
    InOrder(Box<Part>),
}

impl Part {
    fn wants_resource(&self, kind: &str, name: &str) -> bool {
        match self {
            Part::Resource(k, n) => &**k == kind && &**n == name,
            _ => *self == Part::Everything,
        }
    }

    fn wants_module(&self, name: &str) -> bool {
        match self {
            Part::Module(n) => &**n == name,
            _ => *self == Part::Everything,
        }
    }
}

/// One value for all instances of a block: the instance itself, a tuple by index or an object by key.
pub(super) fn collect(
    opened: &Opened,
    mut one: impl FnMut(u32) -> Value,
    key: impl Fn(u32) -> Option<Key>,
) -> Value {
    match &opened.keys {
        Keys::Single => opened.range.clone().next().map_or_else(unknown, one),
        Keys::Count => Value::tuple(opened.range.clone().map(one).collect::<Vec<_>>()),
        Keys::Each => {
            let entry = |at| match key(at) {
                Some(Key::Text(text)) => Some((text, one(at))),
                _ => None,
            };
            Value::object(opened.range.clone().filter_map(entry).collect())
        }
        Keys::Unknown(value) => value.clone(),
    }
}

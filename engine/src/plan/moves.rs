//! Where things were recorded before: `moved` blocks, and blocks that got or lost their `count`.

use std::collections::BTreeMap;

use crate::address::{Address, Key, ScopePath, ScopeStep, Target};
use crate::config::model::{Mode, Repeat};
use crate::scope::{NodeItem, ScopeId, Scopes};
use crate::state::{State, Write};

/// Where each thing was recorded before, by where it is now.
pub(super) type Moves = BTreeMap<Address, Address>;

/// One `moved` block, and the modules that it speaks of.
struct Rule {
    /// The scope of the module that it stands in, without keys.
    module: ScopePath,
    from: Target,
    to: Target,
}

/// Renames what is recorded as the configuration says.
pub(super) fn apply_moves(scopes: &Scopes<'_>, state: &mut State) -> Moves {
    let rules = rules(scopes);
    let mut moves = Moves::new();
    let begun = state.intents.keys().map(|object| &object.address);
    let begun = begun.filter(|address| !state.recorded.contains_key(address));
    let moved = |old: &Address| Some((old.clone(), destination(scopes, &rules, old)?));
    let moved: Vec<(Address, Address)> = state.recorded.keys().chain(begun).filter_map(moved).collect();
    for (old, new) in moved {
        // What is there already stays; the old thing is then one that nobody declares any more.
        if state.recorded.contains_key(&new) {
            continue;
        }
        if state.write(Write::Move { from: old.clone(), to: new.clone() }) {
            moves.insert(new, old);
        }
    }
    moves
}

/// Where something is now that was known at an address.
pub(super) fn now(scopes: &Scopes<'_>, address: &Address) -> Option<Address> {
    destination(scopes, &rules(scopes), address)
}

fn rules(scopes: &Scopes<'_>) -> Vec<Rule> {
    let modules = scopes.scopes.iter().filter(|scope| scope.fleet.is_none());
    let rules = modules.flat_map(|scope| {
        let rule = |moved: &crate::config::model::Moved| {
            let (from, to) = (Target::from_expr(&moved.from)?, Target::from_expr(&moved.to)?);
            Some(Rule { module: scope.path.clone(), from, to })
        };
        scope.module.moved.iter().filter_map(rule)
    });
    rules.collect()
}

/// Where something is now, if that is elsewhere. Moves can follow each other; more than there are would be a circle.
fn destination(scopes: &Scopes<'_>, rules: &[Rule], old: &Address) -> Option<Address> {
    let mut moved = None;
    for _ in 0..=rules.len() {
        let address = moved.as_ref().unwrap_or(old);
        match rules.iter().find_map(|rule| rule.follow(address)) {
            Some(next) if next != *address => moved = Some(next),
            _ => break,
        }
    }
    let recounted = recount(scopes, moved.as_ref().unwrap_or(old));
    recounted.or(moved).filter(|new| new != old)
}

/// The one instance of a block or a module is its first, whether it counts or not. `None` if that changes nothing.
fn recount(scopes: &Scopes<'_>, address: &Address) -> Option<Address> {
    let mut scope = Scopes::ROOT;
    let mut path = None;
    for (at, step) in address.scope.steps().iter().enumerate() {
        match step {
            ScopeStep::Module(name, key) => {
                let NodeItem::Call(call, inner) = scopes.node(scopes.call(scope, name)?).item else {
                    return None;
                };
                scope = inner?;
                if let Some(key) = first(call.repeat.as_ref(), key.as_ref()) {
                    let steps = path.get_or_insert_with(|| address.scope.steps().to_vec());
                    steps[at] = ScopeStep::Module(name.clone(), key);
                }
            }
            ScopeStep::Fleet(name, _) => {
                let NodeItem::Fleet(_, inner) = scopes.node(scopes.fleet(name)?).item else { return None };
                scope = inner;
            }
        }
    }
    let NodeItem::Resource(resource) = scopes.node(scopes.declaring(address)?).item else { return None };
    let key = first(resource.repeat.as_ref(), address.key.as_ref());
    if path.is_none() && key.is_none() {
        return None;
    }
    let scope = path.map_or_else(|| address.scope.clone(), |steps| steps.into_iter().collect());
    let key = key.unwrap_or_else(|| address.key.clone());
    Some(Address { scope, item: address.item.clone(), key })
}

/// The key that the one instance has now; `None` if it keeps what it has.
fn first(repeat: Option<&Repeat>, key: Option<&Key>) -> Option<Option<Key>> {
    match (repeat, key) {
        (Some(Repeat::Count(_)), None) => Some(Some(Key::Index(0))),
        (None, Some(Key::Index(0))) => Some(None),
        _ => None,
    }
}

impl Rule {
    fn follow(&self, address: &Address) -> Option<Address> {
        let steps = address.scope.steps();
        let n_around = self.module.steps().len();
        let (around, inner) = (steps.get(..n_around)?, steps.get(n_around..)?);
        if !around.iter().zip(self.module.steps()).all(|(step, named)| same_name(step, named)) {
            return None;
        }
        let n_moved = self.from.scope.steps().len();
        let (moved, rest) = (inner.get(..n_moved)?, inner.get(n_moved..)?);
        let named = self.from.scope.steps();
        let n_same = if self.from.item.is_some() { n_moved } else { n_moved.saturating_sub(1) };
        if !moved.iter().zip(named).take(n_same).all(|(step, named)| covers(named, step)) {
            return None;
        }
        let mut scope: ScopePath =
            around.iter().cloned().fold(ScopePath::default(), |path, step| path.join(step));
        match (&self.from.item, &self.to.item) {
            (Some(from), Some(to)) => {
                if !rest.is_empty() || *from != address.item {
                    return None;
                }
                let key = self.key(&self.from.key, &self.to.key, address.key.as_ref())?;
                for (at, step) in self.to.scope.steps().iter().enumerate() {
                    scope = scope.join(with_key_of(step, moved.get(at)));
                }
                Some(Address { scope, item: to.clone(), key })
            }
            (None, None) => {
                let (last, named_last) = (moved.last()?, named.last()?);
                let (to_last, to_around) = self.to.scope.steps().split_last()?;
                if !same_name(last, named_last) {
                    return None;
                }
                let key = self.key(&key_of(named_last), &key_of(to_last), key_of(last).as_ref())?;
                for (at, step) in to_around.iter().enumerate() {
                    scope = scope.join(with_key_of(step, moved.get(at)));
                }
                scope = scope.join(set_key(to_last, key));
                scope = rest.iter().cloned().fold(scope, |path, step| path.join(step));
                Some(Address { scope, ..address.clone() })
            }
            _ => None,
        }
    }

    /// The key after the move; the outer `None` means that the rule speaks of another instance.
    #[expect(clippy::unused_self, reason = "it reads as a part of the rule")]
    fn key(&self, from: &Option<Key>, to: &Option<Key>, key: Option<&Key>) -> Option<Option<Key>> {
        match (from, to) {
            (None, None) => Some(key.cloned()),
            (None, Some(to)) => key.is_none().then(|| Some(to.clone())),
            (Some(from), to) => (key == Some(from)).then(|| to.clone()),
        }
    }
}

fn same_name(a: &ScopeStep, b: &ScopeStep) -> bool {
    match (a, b) {
        (ScopeStep::Module(a, _), ScopeStep::Module(b, _))
        | (ScopeStep::Fleet(a, _), ScopeStep::Fleet(b, _)) => a == b,
        _ => false,
    }
}

fn covers(named: &ScopeStep, step: &ScopeStep) -> bool {
    same_name(named, step) && (key_of(named).is_none() || key_of(named) == key_of(step))
}

fn key_of(step: &ScopeStep) -> Option<Key> {
    let (ScopeStep::Module(_, key) | ScopeStep::Fleet(_, key)) = step;
    key.clone()
}

fn set_key(step: &ScopeStep, key: Option<Key>) -> ScopeStep {
    match step {
        ScopeStep::Module(name, _) => ScopeStep::Module(name.clone(), key),
        ScopeStep::Fleet(name, _) => ScopeStep::Fleet(name.clone(), key),
    }
}

/// A step without a key keeps the one that was there.
fn with_key_of(step: &ScopeStep, before: Option<&ScopeStep>) -> ScopeStep {
    let key = key_of(step).or_else(|| before.and_then(key_of));
    set_key(step, key)
}

impl Scopes<'_> {
    /// The block that declares an address, whatever its keys.
    #[must_use]
    pub fn declaring(&self, address: &Address) -> Option<crate::scope::NodeId> {
        let scope = self.scope_of(&address.scope)?;
        match &address.item {
            crate::address::Item::Resource(kind, name) => self.own_resource(scope, Mode::Managed, kind, name),
            crate::address::Item::Data(kind, name) => self.own_resource(scope, Mode::Data, kind, name),
            crate::address::Item::Host => self.scope(scope).host,
        }
    }

    fn scope_of(&self, path: &ScopePath) -> Option<ScopeId> {
        path.steps().iter().try_fold(Scopes::ROOT, |scope, step| match step {
            ScopeStep::Module(name, _) => match self.node(self.call(scope, name)?).item {
                NodeItem::Call(_, inner) => inner,
                _ => None,
            },
            ScopeStep::Fleet(name, _) => match self.node(self.fleet(name)?).item {
                NodeItem::Fleet(_, inner) => Some(inner),
                _ => None,
            },
        })
    }
}

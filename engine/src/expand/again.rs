//! Evaluating again: while a plan is applied, values become known one after the other.

use std::collections::HashSet;
use std::sync::Arc;

use fleet_lang::{Kind, Value};
use fleet_syntax::Diagnostics;

use super::names::collect;
use super::{ArgumentsOnly, Block, Expansion, Instance, Keys, Memory, Settle, Surroundings, Walk};
use crate::address::Key;
use crate::config::model::Resource;
use crate::scope::{NodeId, NodeItem, ScopeId};

/// An expansion whose values are brought up to date as they become known.
pub struct Again<'a, 'c> {
    /// There except while it is walked.
    expansion: Option<Expansion<'c>>,
    surroundings: &'a Surroundings<'a>,
    memory: Arc<Memory>,
    /// The blocks of which some instance turned out to be something.
    settled: HashSet<(NodeId, u32)>,
}

/// Knows arguments only, and what is remembered of hosts.
struct Applying(Arc<Memory>);

impl Settle for Applying {
    fn settle(&mut self, instance: &Instance, block: &Block<'_>) -> Value {
        ArgumentsOnly.settle(instance, block)
    }

    fn memory(&self) -> &Memory {
        &self.0
    }
}

impl<'a, 'c> Again<'a, 'c> {
    /// Starts from what is planned. What is remembered of hosts is what was remembered then.
    #[must_use]
    pub fn new(expansion: Expansion<'c>, surroundings: &'a Surroundings<'a>) -> Again<'a, 'c> {
        let memory = Arc::new(expansion.memory.clone());
        Again { expansion: Some(expansion), surroundings, memory, settled: HashSet::new() }
    }

    /// The values as they are known now.
    #[must_use]
    pub fn expansion(&self) -> &Expansion<'c> {
        self.expansion.as_ref().expect("nobody walks it now")
    }

    /// The values as they are known at the end.
    #[must_use]
    pub fn into_expansion(self) -> Expansion<'c> {
        self.expansion.expect("nobody walks it now")
    }

    /// The arguments of an instance, with what is known now; none if something that must hold does not.
    pub fn declare(&mut self, at: u32) -> (Option<Value>, Diagnostics) {
        self.walk(|walk| {
            let (scope, resource) = walk.origin(at)?;
            let instance = walk.expansion.instances[at as usize].clone();
            let block = walk.block(instance.node, instance.place, resource);
            let (declared, holds) = walk.declare(&instance, scope, resource, block.as_ref());
            holds.then_some(declared)
        })
    }

    /// Brings up to date how a host is reached, and how it is claimed.
    pub fn line(&mut self, at: u32) -> Diagnostics {
        self.walk(|walk| walk.line_again(at)).1
    }

    /// Whether some instance of a block turned out to be something.
    #[must_use]
    pub fn is_settled(&self, node: NodeId, place: u32) -> bool {
        self.settled.contains(&(node, place))
    }

    /// Notes what an instance turned out to be. What must hold afterwards and does not is reported.
    pub fn settle(&mut self, at: u32, value: Value) -> Diagnostics {
        let Instance { node, place, .. } = self.expansion().instances[at as usize];
        self.settled.insert((node, place));
        let (_, diagnostics) = self.walk(|walk| {
            walk.expansion.instances[at as usize].value = value;
            walk.expansion.patch(at);
            let (scope, resource) = walk.origin(at)?;
            let instance = walk.expansion.instances[at as usize].clone();
            walk.postconditions(&instance, scope, resource);
            Some(())
        });
        diagnostics
    }

    /// Brings a value, or a block with its instances, up to date.
    pub fn refresh(&mut self, node: NodeId, place: u32) -> Diagnostics {
        let (_, diagnostics) = self.walk(|walk| {
            let here = *walk.expansion.scopes.node(node);
            let value = match walk.expansion.blocks[node.0 as usize].get(place as usize) {
                Some(opened) => {
                    let instances = &walk.expansion.instances;
                    let value = |at: u32| instances[at as usize].value.clone();
                    collect(opened, value, |at| instances[at as usize].address.key.clone())
                }
                None => walk.leaf(node, here, place),
            };
            walk.put(node, place, value);
            walk.expansion.forget_collected(here.scope, place);
        });
        diagnostics
    }

    fn walk<T>(&mut self, work: impl FnOnce(&mut Walk<'_, 'c>) -> T) -> (T, Diagnostics) {
        let mut walk = Walk {
            expansion: self.expansion.take().expect("nobody walks it now"),
            surroundings: self.surroundings,
            settle: &mut Applying(self.memory.clone()),
            diagnostics: Diagnostics::new(),
            told: HashSet::new(),
        };
        let result = work(&mut walk);
        self.expansion = Some(walk.expansion);
        (result, walk.diagnostics)
    }
}

impl<'c> Walk<'_, 'c> {
    /// The block that an instance comes from.
    fn origin(&self, at: u32) -> Option<(ScopeId, &'c Resource)> {
        let node = self.expansion.scopes.node(self.expansion.instances[at as usize].node);
        match node.item {
            NodeItem::Resource(resource) | NodeItem::CheckData(resource) => Some((node.scope, resource)),
            _ => None,
        }
    }
}

impl Expansion<'_> {
    /// Whoever picks one instance of a block by its key does not wait for the others, so that the value of the block has it
    /// as soon as it is known. All of them together are collected when the last is.
    fn patch(&mut self, at: u32) {
        let Instance { node, place, value, address, .. } = &self.instances[at as usize];
        let (node, place) = (node.0 as usize, *place as usize);
        let Some(opened) = self.blocks[node].get(place) else { return };
        let Some(whole) = self.values[node].get_mut(place) else { return };
        let number = (at - opened.range.start) as usize;
        match (&opened.keys, &mut whole.kind, &address.key) {
            (Keys::Single, _, _) => whole.clone_from(value),
            (Keys::Count, Kind::Tuple(items), _) => {
                if let Some(item) = Arc::make_mut(items).get_mut(number) {
                    item.clone_from(value);
                }
            }
            (Keys::Each, Kind::Object(entries), Some(Key::Text(key))) => {
                Arc::make_mut(entries).insert(key.clone(), value.clone());
            }
            _ => {}
        }
    }

    /// Something in an instance of a scope changed: values that stand for all instances are built again.
    fn forget_collected(&self, scope: ScopeId, place: u32) {
        let mut collected = self.collected.borrow_mut();
        let (mut scope, mut place) = (scope, place);
        while let Some(parent) = self.scopes.scope(scope).parent {
            place = self.parent_place(scope, place);
            collected.remove(&(scope, place));
            scope = parent;
        }
    }
}

//! What each thing depends on, as it is recorded: blocks rather than instances, shared between those alike.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use foldhash::{HashMap, HashMapExt, HashSet, HashSetExt};
use petgraph::graph::NodeIndex;

use crate::address::Target;
use crate::expand::Expansion;
use crate::graph::{Graph, Vertex};
use crate::scope::{self, NodeId, NodeItem};

/// Finds what instances depend on.
pub(super) struct Dependencies<'a, 'c> {
    expansion: &'a Expansion<'c>,
    graph: &'a Graph,
    /// What the values and blocks between instances lead to.
    known: HashMap<NodeIndex, Arc<[Target]>>,
    /// One list for all who depend on the same.
    shared: HashSet<Arc<[Target]>>,
}

impl<'a, 'c> Dependencies<'a, 'c> {
    /// Over a graph.
    #[must_use]
    pub(super) fn new(expansion: &'a Expansion<'c>, graph: &'a Graph) -> Dependencies<'a, 'c> {
        Dependencies { expansion, graph, known: HashMap::new(), shared: HashSet::new() }
    }

    /// What an instance depends on, directly or through values.
    pub(super) fn of(&mut self, vertex: NodeIndex) -> Arc<[Target]> {
        let list = self.reached(vertex);
        if let Some(shared) = self.shared.get(&*list) {
            return shared.clone();
        }
        let shared: Arc<[Target]> = list.into();
        self.shared.insert(shared.clone());
        shared
    }

    /// What is reached from there, sorted, each once.
    fn reached(&mut self, from: NodeIndex) -> Vec<Target> {
        let mut found = Vec::new();
        let neighbors: Vec<NodeIndex> = self.graph.edges.neighbors(from).collect();
        for next in neighbors {
            match self.graph.edges[next] {
                Vertex::Instance(at) => {
                    found.push(Target::from(&self.expansion.instances[at as usize].address));
                }
                Vertex::Whole(node, place) => match self.block(node, place) {
                    Some(block) => found.push(block),
                    None => found.extend(self.through(next).iter().cloned()),
                },
                Vertex::Collected(_) => found.extend(self.through(next).iter().cloned()),
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// What a value leads to, found once.
    fn through(&mut self, vertex: NodeIndex) -> Arc<[Target]> {
        if let Some(known) = self.known.get(&vertex) {
            return known.clone();
        }
        let mut found = self.reached(vertex);
        if let Vertex::Collected(_) = self.graph.edges[vertex] {
            found = merged(found);
        }
        let found: Arc<[Target]> = found.into();
        self.known.insert(vertex, found.clone());
        found
    }

    /// The block, if it is one whose instances are remembered.
    fn block(&self, node: NodeId, place: u32) -> Option<Target> {
        let item = match self.expansion.scopes.node(node).item {
            NodeItem::Resource(resource) => scope::item(resource),
            NodeItem::Host(_) => crate::address::Item::Host,
            _ => return None,
        };
        Some(Target { scope: self.expansion.path_of(node, place), item: Some(item), key: None })
    }
}

/// One line for all instances of a block: of a thousand instances of a module nobody wants a thousand lines.
fn merged(targets: Vec<Target>) -> Vec<Target> {
    let mut blocks: BTreeMap<Target, Target> = BTreeMap::new();
    for target in targets {
        match blocks.entry(Target { key: None, ..target.without_scope_keys() }) {
            Entry::Vacant(entry) => _ = entry.insert(target),
            Entry::Occupied(mut entry) => {
                let common = entry.get().common(&target);
                entry.insert(common);
            }
        }
    }
    blocks.into_values().collect()
}

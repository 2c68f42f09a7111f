//! Stage 2, graph: one node per instance, edges to what it depends on.
//!
//! Values in between (variables, local values, outputs) and whole blocks (`core_value.a` with all its instances) are
//! nodes too: a thousand instances that use a thousand others through one of them are two thousand edges, not a million.
//! That keeps the graph linear in instances and references.

mod render;

use std::ops::Range;

use fleet_lang::{Evaluator, Outside};
use fleet_syntax::tree::Expr;
use foldhash::{HashMap, HashMapExt, HashSet, HashSetExt};
use petgraph::graph::{DiGraph, NodeIndex};

use crate::address::{Key, key_of, literal_key};
use crate::expand::{Expansion, Names, ONCE, Repetition, View};
use crate::reference::Use;
use crate::scope::{NodeId, NodeItem, ScopeId};

pub use render::{Format, render};

/// What a node of the graph stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Vertex {
    /// One instance, by its place in [`Expansion::instances`].
    Instance(u32),
    /// A value, or a block with all its instances, in one instance of its scope.
    Whole(NodeId, u32),
    /// A value or block in all instances of its scope that one reference reaches.
    Collected(NodeId),
}

/// Who depends on whom: an edge leads from the one that depends to the one it depends on.
#[derive(Debug)]
pub struct Graph {
    /// The graph itself, without cycles.
    pub edges: DiGraph<Vertex, ()>,
    /// The vertex of each instance.
    pub instances: Vec<NodeIndex>,
    /// The vertex of each node in the first place of its scope; the other places follow.
    first: Vec<u32>,
}

impl Graph {
    /// The vertex of a value, or of a block with all its instances.
    #[must_use]
    pub fn whole(&self, node: NodeId, place: u32) -> NodeIndex {
        whole(&self.first, node, place)
    }
}

fn whole(first: &[u32], node: NodeId, place: u32) -> NodeIndex {
    NodeIndex::new((first[node.0 as usize] + place) as usize)
}

/// Builds the graph of an expansion.
#[must_use]
pub fn build(expansion: &Expansion<'_>, outside: &dyn Outside) -> Graph {
    let mut edges = DiGraph::new();
    let mut first = Vec::with_capacity(expansion.scopes.nodes.len());
    for (id, node) in expansion.scopes.nodes.iter().enumerate() {
        first.push(edges.node_count() as u32);
        for place in 0..expansion.n_places(node.scope) {
            edges.add_node(Vertex::Whole(NodeId(id as u32), place));
        }
    }
    let instances =
        (0..expansion.instances.len() as u32).map(|at| edges.add_node(Vertex::Instance(at))).collect();
    let mut undecided: HashMap<NodeId, Vec<u32>> = HashMap::new();
    for block in &expansion.deferred {
        undecided.entry(block.node).or_default().push(block.place);
    }
    let collected = HashMap::new();
    let mut builder = Builder { expansion, outside, edges, first, instances, undecided, collected };
    builder.connect();
    Graph { edges: builder.edges, instances: builder.instances, first: builder.first }
}

struct Builder<'a, 'c> {
    expansion: &'a Expansion<'c>,
    outside: &'a dyn Outside,
    edges: DiGraph<Vertex, ()>,
    /// The vertex of each node in the first place of its scope; the other places follow.
    first: Vec<u32>,
    instances: Vec<NodeIndex>,
    /// The blocks whose instances cannot be told yet, by the places where that is so.
    undecided: HashMap<NodeId, Vec<u32>>,
    collected: HashMap<(NodeId, ScopeId, u32), NodeIndex>,
}

impl<'c> Builder<'_, 'c> {
    fn connect(&mut self) {
        for (at, node) in self.expansion.scopes.nodes.iter().enumerate() {
            let id = NodeId(at as u32);
            for place in 0..self.expansion.n_places(node.scope) {
                let whole = self.whole(id, place);
                let range = self.expansion.instances_of(id, place);
                for instance in range.clone() {
                    let vertex = self.instances[instance as usize];
                    self.edges.add_edge(whole, vertex, ());
                    let repetition = &self.expansion.instances[instance as usize].repetition;
                    self.connect_uses(vertex, id, place, repetition);
                }
                if range.is_empty() {
                    self.connect_uses(whole, id, place, &ONCE);
                }
            }
        }
    }

    fn whole(&self, node: NodeId, place: u32) -> NodeIndex {
        whole(&self.first, node, place)
    }

    fn connect_uses(&mut self, from: NodeIndex, node: NodeId, place: u32, repetition: &Repetition) {
        let expansion = self.expansion;
        // Looking for an edge takes time in the number of edges there are, so that what was reached is remembered here.
        let mut reached = HashSet::new();
        for used in &expansion.uses[node.0 as usize] {
            for to in self.reach(node, place, repetition, used) {
                if reached.insert(to) {
                    self.edges.add_edge(from, to, ());
                }
            }
        }
    }

    /// The vertices that a use leads to from one place.
    fn reach(&mut self, from: NodeId, place: u32, repetition: &Repetition, used: &Use<'c>) -> Vec<NodeIndex> {
        let scopes = &self.expansion.scopes;
        let target = scopes.node(used.node).scope;
        let (mut scope, mut at) = (scopes.node(from).scope, place);
        // Upwards until the target's scope is this one or inside it.
        while !self.is_around(scope, target) {
            let Some(parent) = scopes.scope(scope).parent else { return Vec::new() };
            at = self.expansion.parent_place(scope, at);
            scope = parent;
        }
        if scope == target {
            let view = View::of(scopes.node(from).scope, place, repetition);
            let picked = used.key.and_then(|key| self.pick(used.node, at, key, view));
            return vec![picked.unwrap_or_else(|| self.whole(used.node, at))];
        }
        let places = self.expansion.places_under(target, scope, at);
        let openers = self.undecided_around(target, scope, at);
        match places.len() {
            0 if openers.is_empty() => Vec::new(),
            1 if openers.is_empty() => vec![self.whole(used.node, places.start)],
            _ => vec![self.collect((used.node, scope, at), places, &openers)],
        }
    }

    /// What decides later whether there are more instances of an inner scope.
    fn undecided_around(&self, inner: ScopeId, outer: ScopeId, at: u32) -> Vec<NodeIndex> {
        let mut found = Vec::new();
        if self.undecided.is_empty() {
            return found;
        }
        let (scopes, mut scope) = (&self.expansion.scopes, inner);
        while let Some((parent, opener)) = scopes.scope(scope).parent.zip(scopes.scope(scope).opened_by)
            && scope != outer
        {
            if let Some(undecided) = self.undecided.get(&opener) {
                let around = self.expansion.places_under(parent, outer, at);
                let places = undecided.iter().filter(|place| around.contains(place));
                found.extend(places.map(|place| self.whole(opener, *place)));
            }
            scope = parent;
        }
        found
    }

    fn is_around(&self, outer: ScopeId, inner: ScopeId) -> bool {
        let mut scope = Some(inner);
        // A scope comes after the one it stands in.
        while let Some(id) = scope.filter(|id| *id >= outer) {
            if id == outer {
                return true;
            }
            scope = self.expansion.scopes.scope(id).parent;
        }
        false
    }

    /// The one instance of a block that a key picks, if the key is known by now.
    fn pick(&self, node: NodeId, place: u32, key: &Expr, view: View<'_>) -> Option<NodeIndex> {
        let key = literal_key(key).or_else(|| {
            let names = Names { expansion: self.expansion, view, outside: self.outside };
            key_of(&Evaluator::new(&names, self.outside).evaluate(key))
        })?;
        let range = self.expansion.instances_of(node, place);
        let instances = &self.expansion.instances[range.start as usize..range.end as usize];
        let at = match &key {
            Key::Index(index) => usize::try_from(*index).ok().filter(|index| *index < instances.len())?,
            Key::Text(_) => instances.binary_search_by(|i| i.address.key.as_ref().cmp(&Some(&key))).ok()?,
        };
        (instances[at].address.key.as_ref() == Some(&key)).then(|| self.instances[range.start as usize + at])
    }

    fn collect(
        &mut self,
        used: (NodeId, ScopeId, u32),
        places: Range<u32>,
        openers: &[NodeIndex],
    ) -> NodeIndex {
        if let Some(vertex) = self.collected.get(&used) {
            return *vertex;
        }
        let vertex = self.edges.add_node(Vertex::Collected(used.0));
        for place in places {
            let whole = self.whole(used.0, place);
            self.edges.add_edge(vertex, whole, ());
        }
        openers.iter().for_each(|opener| _ = self.edges.add_edge(vertex, *opener, ()));
        self.collected.insert(used, vertex);
        vertex
    }
}

impl Vertex {
    /// What people call it.
    #[must_use]
    pub fn label(&self, expansion: &Expansion<'_>) -> String {
        match self {
            Vertex::Instance(at) => expansion.instances[*at as usize].address.to_string(),
            Vertex::Whole(node, place) => expansion.label(*node, *place),
            Vertex::Collected(node) => expansion.scopes.label(*node),
        }
    }

    /// Whether it is an instance, or a block that is yet to have some.
    #[must_use]
    pub fn is_resource(&self, expansion: &Expansion<'_>) -> bool {
        match self {
            Vertex::Instance(_) => true,
            Vertex::Whole(node, place) => {
                matches!(expansion.scopes.node(*node).item, NodeItem::Resource(_) | NodeItem::Host(_))
                    && expansion.is_deferred(*node, *place)
            }
            Vertex::Collected(_) => false,
        }
    }
}

//! What is left to a following wave: all that depends on blocks whose instances are not decided yet.
//!
//! Such a thing cannot be made before they are, and what it used until now must not go before it was changed.

use std::collections::BTreeMap;

use foldhash::{HashMap, HashSet};
use petgraph::Direction;
use petgraph::graph::NodeIndex;

use super::remembered::Remembered;
use super::{Action, Deferred, Plan};
use crate::address::{Address, Target};
use crate::expand::Expansion;
use crate::graph::{Graph, Vertex};
use crate::state::State;

/// Takes out of a plan what has to wait, and says for what.
pub(super) fn leave_to_later(plan: &mut Plan, state: &State, expansion: &Expansion<'_>, graph: &Graph) {
    if plan.deferred.is_empty() {
        return;
    }
    let undecided: HashSet<Target> = plan.deferred.iter().map(|block| block.address.clone()).collect();
    let blocks = undecided_blocks(expansion, graph);
    let from = blocks.into_iter().filter(|(_, name)| undecided.contains(*name)).map(|(vertex, _)| vertex);
    let mut waiting: BTreeMap<Address, Target> = BTreeMap::new();
    for (name, on) in reach(expansion, graph, from, Direction::Incoming) {
        let acts = |action| {
            matches!(action, Action::Create | Action::Update | Action::Replace { .. } | Action::Read)
        };
        if let Some(address) = name.into_address()
            && plan.steps.get(&address).is_some_and(|step| acts(step.action))
        {
            waiting.insert(address, on);
        }
    }
    let remembered = Remembered::new(state.recorded.iter());
    let is_used = |address: &Address| {
        waiting.contains_key(address) || plan.deferred.iter().any(|block| block.address.covers(address))
    };
    let users = remembered.rows.iter().filter(|(address, _)| is_used(address));
    let users = users.filter_map(|(address, _)| remembered.number(address));
    let used = remembered.dependencies(users).into_iter().filter_map(|(row, by)| {
        let (address, by) = (remembered.rows[row as usize].0, remembered.rows[by as usize].0);
        let goes = plan.steps.get(address).is_some_and(|step| step.action == Action::Destroy);
        goes.then(|| (address.clone(), Target::from(by)))
    });
    let used: Vec<_> = used.collect();
    waiting.extend(used);
    for (address, on) in waiting {
        plan.steps.remove(&address);
        plan.deferred.push(Deferred { address: (&address).into(), awaits: Some(on.to_string().into()) });
    }
}

/// What can be reached of instances and blocks that are not decided yet, and through which of them.
pub(super) fn reach(
    expansion: &Expansion<'_>,
    graph: &Graph,
    from: impl Iterator<Item = NodeIndex>,
    direction: Direction,
) -> BTreeMap<Target, Target> {
    let blocks = undecided_blocks(expansion, graph);
    let name = |vertex: NodeIndex| match graph.edges[vertex] {
        Vertex::Instance(at) => Target::from(&expansion.instances[at as usize].address),
        _ => blocks[&vertex].clone(),
    };
    let mut left: Vec<(NodeIndex, Option<NodeIndex>)> = from.map(|vertex| (vertex, None)).collect();
    let mut seen = vec![false; graph.edges.node_count()];
    left.iter().for_each(|(vertex, _)| seen[vertex.index()] = true);
    let mut found = BTreeMap::new();
    while let Some((vertex, mut through)) = left.pop() {
        if matches!(graph.edges[vertex], Vertex::Instance(_)) || blocks.contains_key(&vertex) {
            if let Some(before) = through {
                found.insert(name(vertex), name(before));
            }
            through = Some(vertex);
        }
        for next in graph.edges.neighbors_directed(vertex, direction) {
            if !std::mem::replace(&mut seen[next.index()], true) {
                left.push((next, through));
            }
        }
    }
    found
}

/// The vertices of blocks that are not decided yet, with their names.
pub(super) fn undecided_blocks<'a>(
    expansion: &'a Expansion<'_>,
    graph: &Graph,
) -> HashMap<NodeIndex, &'a Target> {
    let vertex = |block: &crate::expand::Deferred| graph.whole(block.node, block.place);
    expansion.deferred.iter().map(|block| (vertex(block), &block.address)).collect()
}

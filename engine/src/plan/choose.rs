//! `--target` and `--exclude`: what is left out of a plan, and what follows from that.

use std::collections::BTreeMap;

use petgraph::Direction;
use petgraph::graph::NodeIndex;

use super::remembered::Remembered;
use super::{Action, LeftOut, Options, Plan};
use crate::address::{Address, Target};
use crate::expand::Expansion;
use crate::graph::{Graph, Vertex};
use crate::state::State;

/// Leaves out what the user did not choose. Says which targets mean nothing.
pub(super) fn choose(
    plan: &mut Plan,
    options: &Options,
    state: &State,
    expansion: &Expansion<'_>,
    graph: &Graph,
) -> Vec<Target> {
    if options.targets.is_empty() && options.excludes.is_empty() {
        return Vec::new();
    }
    let all: Vec<Address> = plan.steps.keys().cloned().collect();
    let named = |target: &&Target| !all.iter().any(|address| target.covers(address));
    let unknown = options.targets.iter().chain(&options.excludes).filter(named).cloned().collect();
    let covered = |targets: &[Target], address: &Address| targets.iter().any(|target| target.covers(address));
    let is_removed = |address: &Address| {
        plan.steps.get(address).is_some_and(|step| matches!(step.action, Action::Destroy | Action::Forget))
    };
    let remembered = Remembered::new(state.recorded.iter());
    let instances: BTreeMap<&Address, NodeIndex> = expansion
        .instances
        .iter()
        .zip(&graph.instances)
        .map(|(instance, vertex)| (&instance.address, *vertex))
        .collect();
    let removed_rows = |address: &Address| remembered.number(address).filter(|_| is_removed(address));
    let mut left_out: BTreeMap<Address, LeftOut> = BTreeMap::new();

    if !options.targets.is_empty() {
        let chosen: Vec<&Address> = all.iter().filter(|address| covered(&options.targets, address)).collect();
        let declared = chosen.iter().filter(|address| !is_removed(address)).filter_map(|a| instances.get(*a));
        let needed = reach(expansion, graph, declared.copied(), Direction::Outgoing);
        // What depended on something must go before it.
        let rows = chosen.iter().filter_map(|address| removed_rows(address));
        let dependents = remembered.dependents(rows);
        let goes_first =
            |address: &Address| removed_rows(address).is_some_and(|row| dependents.contains_key(&row));
        for address in &all {
            if !covered(&options.targets, address) && !needed.contains_key(address) && !goes_first(address) {
                left_out.insert(address.clone(), LeftOut::NotTargeted);
            }
        }
    }
    let excluded: Vec<&Address> = all.iter().filter(|address| covered(&options.excludes, address)).collect();
    left_out.extend(excluded.iter().map(|address| ((*address).clone(), LeftOut::Excluded)));
    let vertices = excluded.iter().filter_map(|address| instances.get(*address)).copied();
    for (address, because) in reach(expansion, graph, vertices, Direction::Incoming) {
        left_out.entry(address).or_insert(LeftOut::DependsOn(because));
    }
    // What stays needs what it depended on.
    let stays = excluded.iter().filter_map(|address| remembered.number(address));
    for (row, because) in remembered.dependencies(stays) {
        let (address, because) = (remembered.rows[row as usize].0, remembered.rows[because as usize].0);
        if is_removed(address) {
            left_out.entry(address.clone()).or_insert_with(|| LeftOut::NeededBy(because.clone()));
        }
    }
    for address in left_out.keys() {
        plan.steps.remove(address);
        plan.deposed.remove(address);
    }
    plan.deferred.retain(|block| {
        let covers = |target: &&Target| target.to_string().starts_with(&block.address);
        options.targets.is_empty() || options.targets.iter().any(|target| covers(&target))
    });
    // An output may depend on anything, so that only a whole plan says what becomes of it.
    plan.outputs.clear();
    left_out.retain(|address, _| instances.contains_key(address) || state.recorded.contains_key(address));
    plan.left_out = left_out;
    unknown
}

/// The instances that can be reached, and through which instance.
pub(super) fn reach(
    expansion: &Expansion<'_>,
    graph: &Graph,
    from: impl Iterator<Item = NodeIndex>,
    direction: Direction,
) -> BTreeMap<Address, Address> {
    let mut left: Vec<(NodeIndex, Option<u32>)> = from.map(|vertex| (vertex, None)).collect();
    let mut seen = vec![false; graph.edges.node_count()];
    left.iter().for_each(|(vertex, _)| seen[vertex.index()] = true);
    let address = |at: u32| expansion.instances[at as usize].address.clone();
    let mut found = BTreeMap::new();
    while let Some((vertex, through)) = left.pop() {
        let through = match graph.edges[vertex] {
            Vertex::Instance(at) => {
                if let Some(before) = through {
                    found.insert(address(at), address(before));
                }
                Some(at)
            }
            _ => through,
        };
        for next in graph.edges.neighbors_directed(vertex, direction) {
            if !std::mem::replace(&mut seen[next.index()], true) {
                left.push((next, through));
            }
        }
    }
    found
}

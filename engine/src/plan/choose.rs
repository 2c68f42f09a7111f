//! `--target` and `--exclude`: what is left out of a plan, and what follows from that.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use foldhash::HashMap;
use petgraph::Direction;
use petgraph::graph::NodeIndex;

use super::later::{reach, undecided_blocks};
use super::remembered::Remembered;
use super::{Action, LeftOut, Options, Plan};
use crate::address::{Address, Target};
use crate::expand::Expansion;
use crate::graph::Graph;
use crate::state::State;

/// Leaves out what the user did not choose. Says which targets mean nothing.
pub(super) fn choose(
    plan: &mut Plan,
    options: &Options,
    blocked: &BTreeMap<Address, Arc<str>>,
    state: &State,
    expansion: &Expansion<'_>,
    graph: &Graph,
) -> Vec<Target> {
    if [&options.targets, &options.excludes, &options.replace].iter().all(|given| given.is_empty())
        && blocked.is_empty()
    {
        return Vec::new();
    }
    // What cannot be seen has no step, and can be chosen or left out like all else.
    let all: BTreeSet<Address> = plan.steps.keys().chain(blocked.keys()).cloned().collect();
    let blocks: Vec<Target> = plan.deferred.iter().map(|block| block.address.clone()).collect();
    let names_something = |target: &Target| {
        all.iter().any(|address| target.covers(address))
            || blocks.iter().any(|block| target.includes(block) || block.includes(target))
    };
    let given = options.targets.iter().chain(&options.excludes).chain(&options.replace);
    let unknown = given.filter(|target| !names_something(target)).cloned().collect();
    if options.targets.is_empty() && options.excludes.is_empty() && blocked.is_empty() {
        return unknown;
    }
    let covered = |targets: &[Target], address: &Address| targets.iter().any(|target| target.covers(address));
    let is_removed = |address: &Address| {
        plan.steps.get(address).is_some_and(|step| matches!(step.action, Action::Destroy | Action::Forget))
    };
    let remembered = Remembered::new(state.recorded.iter());
    let instances = expansion.instances.iter().zip(&graph.instances);
    let mut vertices: HashMap<Target, NodeIndex> =
        instances.map(|(instance, vertex)| (Target::from(&instance.address), *vertex)).collect();
    vertices
        .extend(undecided_blocks(expansion, graph).into_iter().map(|(vertex, name)| (name.clone(), vertex)));
    let vertex = |name: &Target| vertices.get(name).copied();
    let removed_rows = |address: &Address| remembered.number(address).filter(|_| is_removed(address));
    let mut left_out: BTreeMap<Target, LeftOut> = BTreeMap::new();

    if !options.targets.is_empty() {
        let chosen: Vec<&Address> = all.iter().filter(|address| covered(&options.targets, address)).collect();
        // One instance of a block that is not decided yet can be told from the others later.
        let is_chosen = |block: &&Target| {
            options.targets.iter().any(|target| target.includes(block) || block.includes(target))
        };
        let declared = chosen.iter().filter(|address| !is_removed(address)).map(|address| (*address).into());
        let declared = declared.chain(blocks.iter().filter(is_chosen).cloned());
        let needed = reach(expansion, graph, declared.filter_map(|name| vertex(&name)), Direction::Outgoing);
        // What depended on something must go before it.
        let rows = chosen.iter().filter_map(|address| removed_rows(address));
        let dependents = remembered.dependents(rows);
        let goes_first =
            |address: &Address| removed_rows(address).is_some_and(|row| dependents.contains_key(&row));
        let others = all.iter().filter(|address| !covered(&options.targets, address) && !goes_first(address));
        let others = others.map(Target::from).chain(blocks.iter().filter(|block| !is_chosen(block)).cloned());
        left_out.extend(
            others.filter(|name| !needed.contains_key(name)).map(|name| (name, LeftOut::NotTargeted)),
        );
    }
    let excluded: Vec<&Address> = all.iter().filter(|address| covered(&options.excludes, address)).collect();
    let is_excluded = |block: &&Target| options.excludes.iter().any(|target| target.includes(block));
    let names = excluded.iter().map(|address| Target::from(*address));
    let names: Vec<Target> = names.chain(blocks.iter().filter(is_excluded).cloned()).collect();
    left_out.extend(names.iter().map(|name| (name.clone(), LeftOut::Excluded)));
    // What cannot be seen is left alone, unless nobody asked for it anyway.
    let unseen: Vec<&Address> =
        blocked.keys().filter(|address| !left_out.contains_key(&(*address).into())).collect();
    for address in &unseen {
        left_out.insert((*address).into(), LeftOut::Blocked(blocked[*address].clone()));
    }
    let names: Vec<Target> =
        names.into_iter().chain(unseen.iter().map(|address| (*address).into())).collect();
    for (name, because) in reach(expansion, graph, names.iter().filter_map(vertex), Direction::Incoming) {
        left_out.entry(name).or_insert(LeftOut::DependsOn(because));
    }
    // What stays needs what it depended on.
    let stays = excluded.iter().chain(&unseen).filter_map(|address| remembered.number(address));
    for (row, because) in remembered.dependencies(stays) {
        let (address, because) = (remembered.rows[row as usize].0, remembered.rows[because as usize].0);
        if is_removed(address) {
            left_out.entry(address.into()).or_insert_with(|| LeftOut::NeededBy(because.into()));
        }
    }
    plan.steps.retain(|address, _| !left_out.contains_key(&address.into()));
    plan.deposed.retain(|address, _| !left_out.contains_key(&address.into()));
    plan.deferred.retain(|block| !left_out.contains_key(&block.address));
    // An output may depend on anything, so that only a whole plan says what becomes of it.
    plan.outputs.clear();
    let is_recorded = |name: &Target| {
        name.clone().into_address().is_some_and(|address| state.recorded.contains_key(&address))
    };
    left_out.retain(|name, _| vertices.contains_key(name) || is_recorded(name));
    plan.left_out = left_out;
    unknown
}

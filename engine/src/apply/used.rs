//! Which of the secrets that providers issued came to use.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use foldhash::{HashSet, HashSetExt};
use petgraph::Direction;
use petgraph::graph::NodeIndex;

use crate::address::Address;
use crate::event::{Ledger, Outcome};
use crate::graph::Vertex;
use crate::plan::Planned;
use crate::scope::NodeItem;
use crate::state::Object;

/// The instances that are made with each secret that a provider issues.
pub(super) struct Users(BTreeMap<Arc<str>, Vec<Address>>);

impl Users {
    /// Finds out, for each of these secrets linear in what depends on it.
    pub(super) fn of(planned: &Planned<'_>) -> Users {
        let Planned { expansion, graph, .. } = planned;
        let issued = graph.edges.node_indices().filter_map(|vertex| {
            let Vertex::Whole(node, _) = graph.edges[vertex] else { return None };
            let NodeItem::Secret(secret) = expansion.scopes.node(node).item else { return None };
            secret.provider.is_some().then(|| (secret.name.name.clone(), users(planned, vertex)))
        });
        Users(issued.collect())
    }

    /// Those that a step was done with, or may have been.
    pub(super) fn used(self, ledger: &Ledger) -> BTreeSet<Arc<str>> {
        let is_done = |address: &Address| {
            let entry = ledger.entries.get(&Object::current(address.clone()));
            entry.is_some_and(|entry| matches!(entry.outcome, Outcome::Done | Outcome::Unknown(_)))
        };
        let used = self.0.into_iter().filter(|(_, users)| users.iter().any(is_done));
        used.map(|(secret, _)| secret).collect()
    }
}

/// The instances that use a value, directly or by other values.
fn users(planned: &Planned<'_>, vertex: NodeIndex) -> Vec<Address> {
    let Planned { expansion, graph, .. } = planned;
    let (mut users, mut seen, mut left) = (Vec::new(), HashSet::new(), vec![vertex]);
    while let Some(vertex) = left.pop() {
        for user in graph.edges.neighbors_directed(vertex, Direction::Incoming) {
            if !seen.insert(user) {
                continue;
            }
            match graph.edges[user] {
                Vertex::Instance(at) => users.push(expansion.instances[at as usize].address.clone()),
                Vertex::Whole(..) | Vertex::Collected(_) => left.push(user),
            }
        }
    }
    users
}

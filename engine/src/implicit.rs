//! Stage 2, expand: the order between kinds that no reference expresses.
//!
//! A kind may say that it comes after or before another ([`Edge`]). That counts like a reference among the blocks on one
//! host, or in one scope without a host. Where references say the opposite, they win.

use std::collections::{HashMap, HashSet};

use crate::config::model::{Mode, Resource};
use crate::reference::Use;
use crate::resource::Edge;
use crate::schema::{Catalog, Sort};
use crate::scope::{NodeId, NodeItem, ScopeId, Scopes};

/// Adds to the uses of all nodes what their kinds imply.
pub(crate) fn add_implied<'c>(scopes: &Scopes<'c>, catalog: &dyn Catalog, uses: &mut [Vec<Use<'c>>]) {
    let kinds = Kinds::of(scopes);
    for (place, node, resource) in resources(scopes) {
        let entry = catalog.find(Sort::Resource, &resource.kind.name);
        for edge in entry.map_or(&[][..], |entry| entry.edges) {
            let (Edge::After(other) | Edge::Before(other)) = edge;
            for other in kinds.of_kind(place, other).iter().copied().filter(|other| *other != node) {
                let (from, to) = if matches!(edge, Edge::After(_)) { (node, other) } else { (other, node) };
                let has_edge = uses[from.0 as usize].iter().any(|used| used.node == to);
                if !has_edge && !reaches(uses, to, from) {
                    uses[from.0 as usize].push(Use { node: to, key: None, span: resource.header });
                }
            }
        }
    }
}

/// What is ordered among each other: all that is on one host, or in one scope.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Place {
    Host(NodeId),
    Scope(ScopeId),
}

/// The blocks of each kind in each place.
struct Kinds<'c>(HashMap<Place, HashMap<&'c str, Vec<NodeId>>>);

impl<'c> Kinds<'c> {
    fn of(scopes: &Scopes<'c>) -> Kinds<'c> {
        let mut kinds: HashMap<_, HashMap<_, Vec<NodeId>>> = HashMap::new();
        for (place, node, resource) in resources(scopes) {
            kinds.entry(place).or_default().entry(&*resource.kind.name).or_default().push(node);
        }
        Kinds(kinds)
    }

    fn of_kind(&self, place: Place, kind: &str) -> &[NodeId] {
        self.0.get(&place).and_then(|kinds| kinds.get(kind)).map_or(&[], Vec::as_slice)
    }
}

fn resources<'a, 'c>(
    scopes: &'a Scopes<'c>,
) -> impl Iterator<Item = (Place, NodeId, &'c Resource)> + use<'a, 'c> {
    scopes.nodes.iter().enumerate().filter_map(|(at, node)| match node.item {
        NodeItem::Resource(resource) if resource.mode == Mode::Managed => {
            let place = scopes.scope(node.scope).host.map_or(Place::Scope(node.scope), Place::Host);
            Some((place, NodeId(at as u32), resource))
        }
        _ => None,
    })
}

/// Whether one node needs another, directly or through others.
fn reaches(uses: &[Vec<Use<'_>>], from: NodeId, to: NodeId) -> bool {
    let (mut seen, mut left) = (HashSet::from([from]), vec![from]);
    while let Some(node) = left.pop() {
        if node == to {
            return true;
        }
        let next = uses[node.0 as usize].iter().map(|used| used.node);
        left.extend(next.filter(|next| seen.insert(*next)));
    }
    false
}

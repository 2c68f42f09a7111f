//! Tables of what is changed behind our back: they know every field of their kinds.

use std::collections::BTreeSet;
use std::path::PathBuf;

use fleet_engine::schema::{Catalog, Sort};

use crate::support::providers;

/// Fields of a kind that no row changes, and why.
pub(crate) type WithoutARow = (&'static str, &'static [&'static str], &'static str);

/// Every field of these kinds that somebody may declare is shown by a row, or it is said why by none. A row is a kind, and what a
/// plan says, such as `update labels`.
#[track_caller]
pub(crate) fn check_rows(kinds: &[&str], rows: &[(&str, &str)], without: &[WithoutARow]) {
    let catalog = providers(PathBuf::new());
    let known = rows.iter().map(|(kind, _)| *kind).chain(without.iter().map(|(kind, ..)| *kind));
    let known: BTreeSet<&str> = known.collect();
    assert_eq!(known, kinds.iter().copied().collect(), "the kinds of the tables");
    for kind in kinds {
        let rows = rows.iter().filter(|(of, _)| of == kind);
        let shown: BTreeSet<&str> = rows.flat_map(|(_, expected)| expected.split(' ').skip(1)).collect();
        let left_out = without.iter().filter(|(of, ..)| of == kind).flat_map(|(_, names, why)| {
            assert!(!why.is_empty());
            *names
        });
        let left_out: BTreeSet<&str> = left_out.copied().collect();
        assert!(shown.is_disjoint(&left_out), "{kind}: there is a row for {left_out:?}");
        let schema = &catalog.find(Sort::Resource, kind).unwrap().schema;
        let all = schema.attributes.iter().filter(|(_, it)| it.presence.is_configurable());
        let all: BTreeSet<&str> = all.map(|(name, _)| &**name).collect();
        assert_eq!(shown.union(&left_out).copied().collect::<BTreeSet<_>>(), all, "{kind}");
    }
}

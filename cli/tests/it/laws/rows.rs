//! Tables of what is changed behind our back: they know every field of their kinds.

use std::collections::BTreeSet;
use std::path::PathBuf;

use fleet_engine::schema::{Catalog, Sort};

use crate::support::providers;

/// Fields that no row changes, and why.
pub(crate) type LeftOut<'a> = (&'a [&'a str], &'a str);

/// Why fields have no row that say where something is.
pub(crate) const WHERE: &str = "they say where to look";
/// Why fields have no row that only we know.
pub(crate) const OURS: &str = "nothing of them is kept on the Mac";

/// Fields of a kind that no row changes, and why.
pub(crate) type WithoutARow = (&'static str, &'static [&'static str], &'static str);

/// Every field of these kinds that somebody may declare is shown by a row, or it is said why by none. A row is a kind, and what a
/// plan says, such as `update labels`.
#[track_caller]
pub(crate) fn check_rows(kinds: &[&str], rows: &[(&str, &str)], without: &[WithoutARow]) {
    let known = rows.iter().map(|(kind, _)| *kind).chain(without.iter().map(|(kind, ..)| *kind));
    let known: BTreeSet<&str> = known.collect();
    assert_eq!(known, kinds.iter().copied().collect(), "the kinds of the tables");
    for kind in kinds {
        let rows = rows.iter().filter(|(of, _)| of == kind).map(|(_, row)| *row);
        let left_out = without.iter().filter(|(of, ..)| of == kind);
        let left_out: Vec<_> = left_out.map(|(_, names, why)| (*names, *why)).collect();
        check_complete(kind, rows, &left_out);
    }
}

/// Every field that can be configured is in one of the rows, such as `update mode owner`, or there is a reason why not.
#[track_caller]
pub(crate) fn check_complete<'a>(
    kind: &str,
    rows: impl IntoIterator<Item = &'a str>,
    left_out: &[LeftOut<'_>],
) {
    let catalog = providers(PathBuf::new());
    let shown: BTreeSet<&str> = rows.into_iter().flat_map(|row| row.split(' ').skip(1)).collect();
    assert!(left_out.iter().all(|(_, why)| !why.is_empty()));
    let left_out: BTreeSet<&str> = left_out.iter().flat_map(|(names, _)| *names).copied().collect();
    assert!(shown.is_disjoint(&left_out), "{kind}: there is a row for {left_out:?}");
    let schema = &catalog.find(Sort::Resource, kind).unwrap().schema;
    let all = schema.attributes.iter().filter(|(_, it)| it.presence.is_configurable());
    let all: BTreeSet<&str> = all.map(|(name, _)| &**name).collect();
    assert_eq!(shown.union(&left_out).copied().collect::<BTreeSet<_>>(), all, "{kind}");
}

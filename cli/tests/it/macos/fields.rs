//! Whether a table of what happens behind fleet's back knows every field of a kind.

use std::collections::BTreeSet;
use std::path::PathBuf;

use fleet_engine::schema::{Catalog, Sort};

use crate::support::providers;

/// Fields that no row changes, and why.
pub(super) type LeftOut<'a> = (&'a [&'a str], &'a str);

/// Why fields have no row that say where something is.
pub(super) const WHERE: &str = "they say where to look";
/// Why fields have no row that only we know.
pub(super) const OURS: &str = "nothing of them is kept on the Mac";

/// Every field that can be configured is in one of the rows, such as `update mode owner`, or there is a reason why not.
#[track_caller]
pub(super) fn check_complete<'a>(
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

//! Every kind that is tried in a world of its own is tried there.

use std::collections::BTreeSet;
use std::path::PathBuf;

use fleet_engine::schema::{Catalog, Sort};

use super::examples::ELSEWHERE;
use crate::support::providers;
use crate::{hosts, kubernetes, registrars, scaleway, vendors};

/// Machines of slots are part of every example of something on a host, and are declared by nobody: see [`crate::pool`].
const NOT_DECLARED: &str = "scaleway_host";

/// The kinds that each of these places tries the laws on: the very lists that its tests go through.
fn tried(sort: Sort) -> BTreeSet<String> {
    let names = |examples: Vec<(String, String)>| examples.into_iter().map(|(kind, _)| kind).collect();
    let all: [Vec<String>; 5] = [
        names(hosts::lab::examples(sort)),
        names(scaleway::examples(sort)),
        names(vendors::examples(sort, "tailscale_")),
        registrars::kinds(sort),
        kubernetes::laws::kinds(sort),
    ];
    all.into_iter().flatten().collect()
}

#[test]
fn the_laws_are_tried_on_every_kind() {
    let catalog = providers(PathBuf::new());
    for sort in [Sort::Resource, Sort::Data] {
        let tried = tried(sort);
        let names = catalog.names(sort).into_iter();
        let elsewhere = names.filter(|name| ELSEWHERE.iter().any(|it| name.starts_with(it)));
        let forgotten: Vec<&str> =
            elsewhere.filter(|name| *name != NOT_DECLARED && !tried.contains(*name)).collect();
        assert_eq!(forgotten, [] as [&str; 0], "{sort:?}");
        let unknown: Vec<&String> = tried.iter().filter(|name| catalog.find(sort, name).is_none()).collect();
        assert_eq!(unknown, [] as [&String; 0], "{sort:?}");
    }
}

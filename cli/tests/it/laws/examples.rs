//! Every kind of the catalogue, on the example of its documentation.

use std::path::PathBuf;

use fleet_engine::schema::{Catalog, Place, Sort};

use super::{Lab, Steps, on_host};
use crate::support::providers;

/// A kind whose example can be applied here.
pub(super) struct Example {
    pub(super) kind: String,
    pub(super) text: String,
    pub(super) is_on_host: bool,
    /// Whether it can be found again without a record: what is on a host is its holder's, and the holder is the state.
    can_be_found: bool,
}

/// What the examples of kinds of data need to be there.
const SURROUNDINGS: &str = "resource \"test_server\" \"needed\" {\n  name = \"web\"\n}\n";

pub(super) fn examples(sort: Sort) -> Vec<Example> {
    let catalog = providers(PathBuf::new());
    let names = catalog.names(sort);
    let entries = names.into_iter().map(|name| (name, catalog.find(sort, name).unwrap()));
    let entries =
        entries.filter(|(name, _)| *name != NOT_DECLARED && !ELSEWHERE.iter().any(|it| name.starts_with(it)));
    let examples = entries.map(|(name, entry)| {
        let (_, rest) = entry.schema.doc.split_once("```hcl\n").unwrap_or_else(|| panic!("{name} has none"));
        let text = rest.split_once("```").unwrap().0.to_owned();
        let is_on_host = entry.place == Place::Host;
        let text = if is_on_host { on_host::here(&text) } else { text };
        Example {
            kind: name.to_owned(),
            text,
            is_on_host,
            can_be_found: !entry.lives_in_state && !is_on_host,
        }
    });
    examples.collect()
}

/// What lives at a vendor is tried in a world of its own, and what is on Macs on those of the lab: see `scaleway.rs`, `kubernetes`, `registrars.rs` and
/// `macos`.
pub(super) const ELSEWHERE: [&str; 7] =
    ["scaleway_", "macos_", "forgejo_", "github_", "gitlab_", "kubernetes_", "tailscale_"];

/// Machines of slots are part of every example of something on a host.
const NOT_DECLARED: &str = "static_host";

/// A reboot of this machine is out of the question, and the example of commands is for a Mac.
pub(super) const APPLIED_ELSEWHERE: [&str; 2] = ["host_reboot", "host_command"];

fn each(check: impl Fn(&Example, &Lab)) {
    let all = examples(Sort::Resource);
    assert!(all.len() >= 3);
    for example in all.into_iter().filter(|example| !APPLIED_ELSEWHERE.contains(&&*example.kind)) {
        let lab = Lab::new(&example.text);
        if example.is_on_host {
            on_host::prepare_for(&lab, &example.text);
        }
        check(&example, &lab);
    }
}

#[test]
fn plan_after_apply_is_empty_and_apply_twice_is_apply_once() {
    each(|example, lab| {
        let planned = lab.without_a_trace(|| lab.steps(&[]));
        // A host is claimed first.
        let expected = if example.is_on_host { &["create", "create"][..] } else { &["create"] };
        assert_eq!(planned.values().collect::<Vec<_>>(), expected, "{}", example.kind);
        lab.apply();
        lab.without_a_trace(|| lab.check_converged());
        let once = (lab.reality(), lab.state());
        assert_eq!(lab.apply().lines().next(), Some("No changes."));
        assert_eq!((lab.reality(), lab.state()), once, "{}", example.kind);
    });
}

#[test]
fn what_is_there_is_found_again_without_a_state() {
    each(|example, lab| {
        if example.is_on_host {
            return;
        }
        lab.apply();
        let (made, recorded) = (lab.reality(), lab.state().recorded);
        lab.lose_state();
        let planned: Vec<String> = lab.steps(&[]).into_values().collect();
        assert_eq!(planned, [if example.can_be_found { "record" } else { "create" }], "{}", example.kind);
        lab.apply();
        assert_eq!(lab.reality(), made, "{}", example.kind);
        if example.can_be_found {
            let values = |recorded: std::collections::BTreeMap<_, fleet_engine::state::Recorded>| {
                recorded.into_iter().map(|(address, record)| (address, record.value)).collect::<Vec<_>>()
            };
            assert_eq!(values(lab.state().recorded), values(recorded), "{}", example.kind);
        }
        lab.check_converged();
        lab.destroy();
        assert_eq!(lab.reality(), Lab::new("").reality(), "{}", example.kind);
    });
}

#[test]
fn destroy_leaves_nothing_and_can_be_repeated() {
    each(|example, lab| {
        let before = lab.reality();
        lab.apply();
        let planned = lab.without_a_trace(|| lab.steps(&["--destroy"]));
        let expected = if example.is_on_host { &["destroy", "destroy"][..] } else { &["destroy"] };
        assert_eq!(planned.values().collect::<Vec<_>>(), expected, "{}", example.kind);
        lab.destroy();
        assert_eq!(lab.reality(), before, "{}", example.kind);
        let state = lab.state();
        assert!(state.recorded.is_empty() && state.deposed.is_empty() && state.intents.is_empty());
        assert_eq!(lab.destroy(), "No changes.\n");
        assert_eq!(lab.state(), state);
        lab.apply();
        lab.check_converged();
    });
}

#[test]
fn data_is_read_and_changes_nothing() {
    for example in examples(Sort::Data) {
        let lab = if example.is_on_host {
            // What the example makes of it is made first.
            let lab = Lab::new(&example.text);
            on_host::prepare_for(&lab, &example.text);
            lab.apply();
            lab
        } else {
            let lab = Lab::applied(SURROUNDINGS);
            lab.write(&format!("{SURROUNDINGS}\n{}", example.text));
            lab
        };
        lab.without_a_trace(|| lab.check_converged());
        let state = lab.state();
        lab.apply();
        assert_eq!(lab.state(), state, "{}", example.kind);
        assert_eq!(lab.steps(&["--refresh-only"]), Steps::new(), "{}", example.kind);
    }
}

//! Machines that are let go as they are, and taken over as they are.

use std::fs;

use fleet_cli::Exit;

use super::desk::Desk;
use super::tree::{same, without_ledgers};
use crate::support::Site;

const TWO: &str = r#"
  resource "host_file" "one" {
    path    = "/etc/one"
    content = "1"
  }
  resource "host_file" "two" {
    path    = "/etc/two"
    content = "2"
  }
"#;

const LEDGER: &str = "var/tmp/fleet/ledger";

#[test]
fn a_machine_is_let_go_as_it_is_and_taken_over_as_it_is() {
    let mut desk = Desk::of(2, TWO);
    desk.slots("size = 1");
    desk.apply();
    let before = without_ledgers(desk.machine("a").tree());
    let ran = desk.site.fleet_with_input(["host", "detach", "desk[0]"], "no\n");
    assert_eq!(ran.exit, Exit::Failed, "{ran:?}");
    assert!(
        ran.stdout.contains("fleet.desk[0].host_file.one") && ran.stderr.contains("not approved"),
        "{ran:?}"
    );
    assert_eq!(desk.held(), [Some("fleet.desk[0]".into()), None]);

    desk.site.fleet_with_input(["host", "detach", "desk[0]"], "yes\n").ok();
    assert!(!desk.machine("a").has(LEDGER) && !desk.machine("a").has("var/tmp/fleet/ledger.d"));
    same(&without_ledgers(desk.machine("a").tree()), &before, "nothing else was touched");
    assert!(desk.state().recorded.is_empty() && desk.state().intents.is_empty());

    // Another slot takes it over, although it is not the first that is free.
    desk.site.fleet(["host", "adopt", "desk[0]", "--machine", "b"]).ok();
    assert_eq!(desk.held(), [None, Some("fleet.desk[0]".into())]);
    assert!(!desk.machine("b").has("etc/one"), "only the ledger is made");
    desk.slots("size = 2");
    desk.site.fleet(["host", "adopt", "desk[1]", "--machine", "a"]).ok();
    same(&without_ledgers(desk.machine("a").tree()), &before, "nothing else was touched");
    // What is as it should be is only recorded.
    fs::write(desk.machine("a").path("etc/two"), "other").unwrap();
    desk.check_plan(
        &["--host", "desk[1]"],
        &[("fleet.desk[1].host_file.one", "record"), ("fleet.desk[1].host_file.two", "update content")],
    );
    desk.apply();
    desk.check_converged();
}

#[test]
fn a_ledger_of_another_claim_is_not_removed() {
    let desk = Desk::of(1, TWO);
    desk.apply();
    let claim = desk.machine("a").ledger().unwrap().claim;
    let text = desk.machine("a").read(LEDGER).replace(&claim, "another");
    fs::write(desk.machine("a").path(LEDGER), &text).unwrap();
    let said = desk.site.fleet(["host", "detach", "a", "--yes"]).failed();
    assert!(said.contains("nothing was forgotten"), "{said}");
    assert_eq!(desk.machine("a").read(LEDGER), text);
    assert_eq!(desk.state().recorded.len(), 3);
}

#[test]
fn what_was_cut_off_goes_on_when_it_is_said_again() {
    let desk = Desk::of(1, TWO);
    desk.apply();
    // As if the run had ended right after the ledger was removed.
    fs::remove_dir_all(desk.machine("a").path("var/tmp/fleet")).unwrap();
    desk.site.fleet(["host", "detach", "a", "--yes"]).ok();
    assert!(desk.state().recorded.is_empty());
    assert!(desk.machine("a").has("etc/one"));
}

#[test]
fn a_machine_that_does_not_answer_is_not_forgotten() {
    let mut desk = Desk::of(1, TWO);
    desk.apply();
    desk.machine_mut("a").server.kill();
    let said = desk.site.fleet(["host", "detach", "a", "--yes"]).failed();
    assert!(said.contains("the machine was not let go, nothing was forgotten"), "{said}");
    assert_eq!(desk.state().recorded.len(), 3);
}

#[test]
fn what_is_not_to_be_had_is_refused() {
    let mut desk = Desk::of(3, TWO);
    desk.slots("size = 1");
    let adopt = |desk: &Desk, slot: &str, machine: &str| {
        let ran = desk.site.fleet(["host", "adopt", slot, "--machine", machine]);
        assert_eq!(ran.exit, Exit::Failed, "{ran:?}");
        ran.stdout + &ran.stderr
    };
    let said = adopt(&desk, "desk[0]", "bb");
    assert!(said.contains("`pool.desk` has no host `bb`. Did you mean `b`?"), "{said}");
    assert!(adopt(&desk, "desk[7]", "b").contains("fleet.desk[7].host"));
    assert!(adopt(&desk, "desk", "b").contains("is not a slot of a fleet"));
    desk.apply();
    assert!(adopt(&desk, "desk[0]", "b").contains("It has `a` already"));
    desk.slots("size = 2");
    assert!(adopt(&desk, "desk[1]", "a").contains("`a` is held by `fleet.desk[0]`"));
    desk.slots("hosts = [\"c\"]");
    assert!(adopt(&desk, "desk[\"c\"]", "b").contains("It is `c` of its pool"));
    assert_eq!(desk.held(), [Some("fleet.desk[0]".into()), None, None]);
}

#[test]
fn a_machine_that_somebody_holds_is_not_taken() {
    let desk = Desk::of(1, TWO);
    desk.apply();
    let before = desk.machine("a").tree();
    let other = Site::empty();
    for name in [super::desk::MAIN, "key"] {
        other.write(name, &desk.site.read(name));
    }
    let ran = other.fleet(["host", "adopt", "desk[0]", "--machine", "a"]);
    assert_eq!(ran.exit, Exit::Failed, "{ran:?}");
    assert!(ran.stdout.contains("`a` is held by `fleet.desk[0]` of the state"), "{}", ran.stdout);
    same(&desk.machine("a").tree(), &before, "nothing was changed");
}

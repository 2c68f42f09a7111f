//! A state that was lost is made anew from what the machines know.

use std::fs;

use super::desk::{Desk, MAIN};
use super::tree::{same, stamps};
use crate::support::Site;

/// Something of every way to be found again, with something long and something secret.
const ALL: &str = r#"
  resource "host_directory" "home" {
    path = "/opt/home"
  }
  resource "host_file" "long" {
    path    = "${host_directory.home.path}/long"
    content = join("", [for n in range(400) : "line ${n}\n"])
  }
  resource "host_file" "secret" {
    path    = "/etc/secret"
    content = secret.token
    mode    = "0600"
  }
  resource "host_block" "b" {
    path    = "/etc/hosts"
    name    = "b"
    content = "10.0.0.5 ${host.name}"
  }
"#;

fn made(machines: usize) -> Desk {
    let desk = Desk::of(machines, ALL);
    desk.site.write("token", "hunter2");
    desk.site.write("more.fleet.hcl", "secret \"token\" {\n  from = \"file:token\"\n}\n");
    desk
}

fn lose(desk: &Desk) {
    fs::remove_dir_all(desk.site.path().join(".fleet")).unwrap();
}

#[test]
fn a_state_that_was_lost_is_made_anew_and_nothing_is_to_be_done() {
    let mut desk = made(3);
    desk.slots("size = 2");
    // The slots have other machines than they would get now.
    desk.site.fleet(["host", "adopt", "desk[0]", "--machine", "c"]).ok();
    desk.site.fleet(["host", "adopt", "desk[1]", "--machine", "b"]).ok();
    desk.apply();
    desk.check_converged();
    let before = desk.state();
    lose(&desk);
    let stamped = |desk: &Desk| desk.machines.iter().map(|it| stamps(it.root())).collect::<Vec<_>>();
    let there = stamped(&desk);
    let said = desk.site.fleet(["state", "rebuild"]).ok();
    for (now, then) in stamped(&desk).iter().zip(&there) {
        same(now, then, "nothing was changed");
    }
    assert!(said.contains("fleet.desk[0] has `c`, fleet.desk[1] has `b`"), "{said}");
    assert!(!said.contains("Not attributed"), "{said}");
    desk.check_converged();
    let after = desk.state();
    assert_eq!(after.lineage, before.lineage);
    for (address, record) in &before.recorded {
        let now = &after.recorded[address];
        assert_eq!((&now.value, &now.session, &now.epoch), (&record.value, &record.session, &record.epoch));
        assert_eq!(now.depends_on, record.depends_on, "{address}");
    }
    assert_eq!(after.recorded.len(), before.recorded.len());
    // The machines let this state work there: its number is larger than any that they have seen.
    desk.inside(&ALL.replace("10.0.0.5", "10.0.0.6"));
    desk.apply();
    desk.check_converged();
    desk.run("destroy", &[]).ok();
    assert_eq!(desk.held(), [None, None, None]);
}

#[test]
fn only_an_empty_state_is_rebuilt_and_only_where_something_is_held() {
    let desk = made(1);
    let said = desk.site.fleet(["state", "rebuild"]).failed();
    assert!(said.contains("none of 1 machines has a ledger for a slot that is declared"), "{said}");
    desk.apply();
    let said = desk.site.fleet(["state", "rebuild"]).failed();
    assert!(said.contains("the state is not empty, it has 5 resources; nothing was done"), "{said}");
}

#[test]
fn of_several_states_one_must_be_named() {
    let mut desk = made(2);
    desk.slots("hosts = [\"a\"]");
    desk.apply();
    let first = desk.state().lineage.unwrap().to_string();
    let other = Site::empty();
    desk.slots("hosts = [\"b\"]");
    for name in [MAIN, "key", "token", "more.fleet.hcl"] {
        other.write(name, &desk.site.read(name));
    }
    other.fleet(["apply", "--auto-approve"]).ok();
    lose(&desk);
    desk.slots("hosts = [\"a\", \"b\"]");
    let said = desk.site.fleet(["state", "rebuild"]).failed();
    assert!(said.contains("ledgers of 2 states") && said.contains("`--lineage`"), "{said}");
    assert!(said.contains("`b` is held by `fleet.desk[\"b\"]`"), "{said}");
    assert!(
        desk.site
            .fleet(["state", "rebuild", "--lineage", "x"])
            .failed()
            .contains("no machine has a ledger of x")
    );
    let said = desk.site.fleet(["state", "rebuild", "--lineage", &first]);
    assert!(said.stdout.contains("Not attributed, and left alone:"), "{said:?}");
    assert_eq!(desk.state().lineage.as_deref(), Some(&*first));
    desk.slots("hosts = [\"a\"]");
    desk.check_converged();
}

#[test]
fn what_is_not_declared_or_does_not_answer_is_told() {
    let mut desk = made(2);
    desk.apply();
    lose(&desk);
    desk.inside(ALL.split_once("  resource \"host_block\"").unwrap().0);
    desk.machine_mut("b").server.kill();
    let said = desk.site.fleet(["state", "rebuild"]).failed();
    assert!(said.contains("`b` cannot be looked at: ") && said.contains("`--partial`"), "{said}");
    assert!(desk.state().recorded.is_empty());
    let said = desk.site.fleet(["state", "rebuild", "--partial"]).ok();
    assert!(said.contains("fleet.desk[0].host_block.b: listed on its host, and not declared"), "{said}");
    assert!(said.contains("`b` cannot be looked at: "), "{said}");
    desk.check_plan(&["--host", "desk[0]"], &[("fleet.desk[0].host_block.b", "destroy")]);
}

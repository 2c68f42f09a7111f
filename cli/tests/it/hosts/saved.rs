//! Saved plans, of what is on hosts.

use std::fs;

use super::desk::Desk;
use super::tree::same;

const NOTE: &str =
    "  resource \"host_file\" \"note\" {\n    path    = \"/etc/note\"\n    content = host.name\n  }\n";

#[test]
fn a_saved_plan_is_what_runs() {
    let desk = Desk::of(2, NOTE);
    desk.site.fleet(["plan", "--out", "p"]).ok();
    assert!(!desk.site.read("p").contains("PRIVATE KEY"));
    desk.site.fleet(["show", "p"]).ok();
    desk.site.fleet(["apply", "p"]).ok();
    desk.check_converged();
}

#[test]
fn the_key_that_a_machine_showed_when_it_was_planned_is_checked() {
    let mut desk = Desk::of(1, NOTE);
    let plan = desk.site.fleet(["plan", "--out", "p"]).ok();
    assert!(plan.contains(&desk.machine("a").server.host_key()), "{plan}");
    desk.machines[0].server.change_host_key();
    desk.machines[0].server.restart();
    let before = desk.machine("a").tree();
    let said = desk.site.fleet(["apply", "p"]).failed();
    assert!(said.contains("fleet.desk[0].host"), "what moved is named: {said}");
    same(&desk.machine("a").tree(), &before, "nothing was changed");
}

#[test]
fn what_moved_on_a_machine_since_it_was_planned_is_named() {
    let mut desk = Desk::of(2, NOTE);
    desk.apply();
    desk.inside(&NOTE.replace("host.name", "\"now ${host.name}\""));
    desk.site.fleet(["plan", "--out", "p"]).ok();
    fs::write(desk.machine("b").path("etc/note"), "tampered").unwrap();
    let said = desk.site.fleet(["apply", "p"]).failed();
    assert!(said.contains("fleet.desk[1].host_file.note"), "{said}");
    assert_eq!(desk.machine("a").read("etc/note"), "desk-0");
    desk.site.fleet(["apply", "--partial", "p"]);
    assert_eq!(desk.machine("a").read("etc/note"), "now desk-0");
    assert_eq!(desk.machine("b").read("etc/note"), "tampered");
}

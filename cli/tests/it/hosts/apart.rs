//! Hosts that somebody set apart.

use fleet_cli::Exit;
use serde_json::Value as Json;

use super::desk::Desk;
use super::tree::{same, stamps};

const NOTE: &str =
    "  resource \"host_file\" \"note\" {\n    path    = \"/etc/note\"\n    content = \"1\"\n  }\n";

fn changed() -> String {
    NOTE.replace("\"1\"", "\"2\"")
}

#[test]
fn a_paused_host_is_left_alone_and_the_others_go_on() {
    let mut desk = Desk::of(2, NOTE);
    desk.apply();
    let said = desk.site.fleet(["host", "pause", "desk[0]", "--reason", "new disk"]).ok();
    assert!(said.starts_with("fleet.desk[0] (a): paused\n"), "{said}");
    let before = stamps(desk.machine("a").root());
    desk.inside(&changed());
    let said = desk.site.fleet(["plan"]).ok();
    assert!(said.contains("fleet.desk[0].host_file.note") && said.contains("paused by "), "{said}");
    assert!(said.contains(": new disk"), "{said}");
    desk.check_plan(&[], &[("fleet.desk[1].host_file.note", "update content")]);
    // Nobody connects to it, so that it may as well be off.
    desk.machine_mut("a").server.kill();
    desk.apply();
    assert_eq!(desk.machine("b").read("etc/note"), "2");
    same(&stamps(desk.machine("a").root()), &before, "nothing was changed");
    let plan: Json = serde_json::from_str(&desk.site.fleet(["plan", "--json"]).ok()).unwrap();
    assert_eq!(plan["left_out"][0]["because"], "apart", "{plan}");

    desk.machine_mut("a").server.restart();
    let said = desk.site.fleet(["host", "resume", "a"]).ok();
    assert_eq!(said, "fleet.desk[0]: not paused any more\n");
    desk.apply();
    assert_eq!(desk.machine("a").read("etc/note"), "2");
    desk.check_converged();
}

#[test]
fn a_pause_is_for_all_who_share_the_state_and_for_all_ways_to_ask() {
    let mut desk = Desk::of(2, NOTE);
    desk.apply();
    desk.site.fleet(["host", "pause", "desk-0"]).ok();
    desk.inside(&changed());
    for options in [&["--host", "desk[0]"][..], &["--replace", "fleet.desk[0].host"], &["--refresh-only"]] {
        let ran = desk.run("apply", options);
        assert_eq!(ran.exit, Exit::Done, "{ran:?}");
        assert_eq!(desk.machine("a").read("etc/note"), "1");
    }
    // One that is not declared any more waits, too.
    desk.slots("size = 0");
    desk.apply();
    assert_eq!(desk.held(), [Some("fleet.desk[0]".into()), None]);
    assert_eq!(desk.state().marks.len(), 1);
}

#[test]
fn a_pause_does_not_keep_a_host_from_being_destroyed_and_ends_with_it() {
    let desk = Desk::of(1, NOTE);
    desk.apply();
    desk.site.fleet(["host", "pause", "desk[0]"]).ok();
    desk.run("destroy", &[]).ok();
    assert_eq!(desk.held(), [None]);
    assert!(desk.state().marks.is_empty());
    desk.apply();
    desk.check_converged();
    assert_eq!(desk.machine("a").read("etc/note"), "1");
}

#[test]
fn a_quarantined_host_is_not_given_back_and_its_machine_is_chosen_for_nobody() {
    let mut desk = Desk::of(2, NOTE);
    desk.apply();
    desk.site.fleet(["host", "quarantine", "a", "--reason", "fans fail"]).ok();
    let said = desk.run("destroy", &[]).ok();
    assert!(said.contains("quarantined by ") && said.contains(": fans fail"), "{said}");
    assert_eq!(desk.held(), [Some("fleet.desk[0]".into()), None]);
    assert!(desk.machine("a").has("etc/note") && !desk.machine("b").has("etc/note"));
    // Even where nobody holds it any more.
    desk.site.fleet(["host", "detach", "desk[0]", "--yes"]).ok();
    desk.slots("size = 1");
    desk.apply();
    assert_eq!(desk.held(), [None, Some("fleet.desk[0]".into())]);
    desk.site.fleet(["host", "resume", "a"]).ok();
    desk.slots("size = 2");
    desk.apply();
    assert_eq!(desk.held(), [Some("fleet.desk[1]".into()), Some("fleet.desk[0]".into())]);
}

#[test]
fn a_slot_whose_machine_is_quarantined_can_get_another() {
    let mut desk = Desk::of(2, NOTE);
    desk.slots("size = 1");
    desk.apply();
    desk.site.fleet(["host", "quarantine", "a", "--reason", "fans fail"]).ok();
    let before = stamps(desk.machine("a").root());
    // It may as well be off.
    desk.machine_mut("a").server.kill();
    desk.inside(&changed());
    desk.run("apply", &["--replace", "fleet.desk[0].host"]).ok();
    assert_eq!(desk.machine("b").read("etc/note"), "2");
    let said = desk.site.fleet(["plan"]).ok();
    assert!(said.contains("`a`, which fleet.desk[0] had, stays as it is: quarantined by "), "{said}");
    assert!(said.contains(": fans fail") && said.contains("No changes."), "{said}");
    desk.inside(NOTE);
    desk.apply();
    assert_eq!(desk.machine("b").read("etc/note"), "1");
    // Not even with everything else.
    desk.run("destroy", &[]).ok();
    same(&stamps(desk.machine("a").root()), &before, "nothing was changed");
    desk.machine_mut("a").server.restart();
    assert_eq!(desk.held(), [Some("fleet.desk[0]".into()), None]);
    // When it is well again, it is cleaned and given back.
    desk.site.fleet(["host", "resume", "desk[0]"]).ok();
    desk.run("destroy", &[]).ok();
    assert_eq!(desk.held(), [None, None]);
    assert!(!desk.machine("a").has("etc/note"));
    let state = desk.state();
    assert!(state.deposed.is_empty() && state.marks.is_empty() && state.intents.is_empty());
}

#[test]
fn all_slots_are_listed_with_their_machines_and_marks() {
    let mut desk = Desk::of(3, NOTE);
    desk.slots("size = 2");
    desk.apply();
    desk.site.fleet(["host", "pause", "desk[1]", "--reason", "why not"]).ok();
    desk.slots("hosts = [\"c\"]");
    let text = desk.site.fleet(["host", "list"]).ok();
    let rows: Json = serde_json::from_str(&desk.site.fleet(["host", "list", "--json"]).ok()).unwrap();
    let of = |at: usize| {
        let word = |name: &str| rows[at][name].as_str().unwrap_or("-").to_owned();
        [word("slot"), word("machine"), word("state")]
    };
    assert_eq!(of(0), ["fleet.desk[0]", "a", "leaving"]);
    assert_eq!(of(1), ["fleet.desk[1]", "b", "leaving"]);
    assert_eq!(of(2), ["fleet.desk[\"c\"]", "c", "declared"]);
    assert_eq!(rows[1]["mark"]["mark"], "paused");
    assert_eq!(rows[1]["mark"]["reason"], "why not");
    assert!(rows[0]["since"].is_string() && rows[2]["since"].is_null(), "{rows}");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 3, "{text}");
    assert!(lines[1].starts_with("fleet.desk[1]") && lines[1].contains("paused by "), "{text}");
}

#[test]
fn names_that_mean_nothing_are_refused() {
    let desk = Desk::of(1, NOTE);
    let said = desk.site.fleet(["host", "pause", "desk[0]"]).failed();
    assert!(said.contains("no such host in the state: `desk[0]`"), "{said}");
    desk.apply();
    let said = desk.site.fleet(["host", "pause", "desk-1"]).failed();
    assert!(said.contains("did you mean `desk-0`?"), "{said}");
    assert_eq!(desk.site.fleet(["host", "resume", "a"]).ok(), "fleet.desk[0]: was not set apart\n");
    assert!(desk.site.fleet(["host", "resume", "x"]).failed().contains("no such host"));
}

#[test]
fn a_mark_is_a_part_of_the_state_that_is_kept_and_moved() {
    let desk = Desk::of(1, NOTE);
    desk.apply();
    desk.site.fleet(["host", "pause", "desk[0]"]).ok();
    let kept = desk.site.fleet(["state", "pull"]).ok();
    desk.site.fleet(["host", "resume", "desk[0]"]).ok();
    desk.site.write("kept.json", &kept);
    desk.site.fleet(["state", "push", "--force", "kept.json"]).ok();
    assert_eq!(desk.state().marks.len(), 1);
}

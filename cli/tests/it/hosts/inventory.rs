//! What a machine lists is what is managed there, whatever becomes of addresses.

use std::collections::BTreeSet;
use std::fs;

use fleet_cli::Exit;
use serde_json::Value as Json;

use super::desk::{Desk, MAIN};
use super::tree::{same, without_ledgers};

/// Something of every way to be found again.
const ALL: &str = r#"
  resource "host_file" "f" {
    path    = "/etc/f"
    content = "x"
  }
  resource "host_block" "b" {
    path    = "/etc/hosts"
    name    = "b"
    content = "10.0.0.5 registry"
  }
  resource "host_line" "l" {
    path = "/etc/sshd"
    line = "Port 22"
  }
  resource "host_command" "c" {
    read    = "cat /proc/self/fd/9/etc/zone"
    wish    = { zone = "1" }
    apply   = "echo zone=1 >/proc/self/fd/9/etc/zone"
    destroy = "rm -f /proc/self/fd/9/etc/zone"
  }
"#;

const KINDS: [(&str, &str); 4] =
    [("host_file", "f"), ("host_block", "b"), ("host_line", "l"), ("host_command", "c")];

/// What the machine lists, without the slot before it.
fn listed(desk: &Desk) -> BTreeSet<String> {
    let files = fs::read_dir(desk.machines[0].path("var/tmp/fleet/ledger.d")).unwrap().flatten();
    let lines = files.map(|file| serde_json::from_slice::<Json>(&fs::read(file.path()).unwrap()).unwrap());
    lines.map(|line| line["address"].as_str().unwrap().rsplit_once("].").unwrap().1.to_owned()).collect()
}

fn names(suffix: &str) -> BTreeSet<String> {
    KINDS.iter().map(|(kind, name)| format!("{kind}.{name}{suffix}")).collect()
}

#[test]
fn what_is_made_is_listed_and_what_is_removed_is_not() {
    let mut desk = Desk::of(1, ALL);
    desk.apply();
    assert_eq!(listed(&desk), names(""));
    desk.inside("");
    desk.apply();
    assert_eq!(listed(&desk), BTreeSet::new());
}

#[test]
fn what_moves_to_another_address_stays_and_is_listed_there() {
    let mut desk = Desk::of(1, ALL);
    desk.apply();
    let before = without_ledgers(desk.machines[0].tree());
    let mut moved = ALL.to_owned();
    let mut moves = String::new();
    for (kind, name) in KINDS {
        moved = moved.replace(&format!("\"{kind}\" \"{name}\""), &format!("\"{kind}\" \"{name}_new\""));
        moves += &format!(
            "moved {{\n  from = fleet.desk.{kind}.{name}\n  to   = fleet.desk.{kind}.{name}_new\n}}\n"
        );
    }
    desk.inside(&moved);
    desk.site.write("moved.fleet.hcl", &moves);
    desk.apply();
    desk.check_converged();
    assert_eq!(listed(&desk), names("_new"));
    fs::remove_file(desk.site.path().join("moved.fleet.hcl")).unwrap();
    desk.check_converged();
    desk.apply();
    same(&without_ledgers(desk.machines[0].tree()), &before, "nothing was changed");
}

#[test]
fn what_was_there_and_is_taken_in_is_listed() {
    let mut desk = Desk::of(1, ALL);
    desk.apply();
    let kept = without_ledgers(desk.machines[0].tree());
    // Nobody knows any more that it was fleet who made all that.
    fs::remove_dir_all(desk.site.path().join(".fleet")).unwrap();
    fs::remove_dir_all(desk.machines[0].path("var/tmp/fleet")).unwrap();
    desk.apply();
    same(&without_ledgers(desk.machines[0].tree()), &kept, "nothing was changed");
    assert_eq!(listed(&desk), names(""));
    for (kind, name) in KINDS {
        desk.site.fleet(["state", "rm", &format!("fleet.desk[0].{kind}.{name}")]).ok();
    }
    desk.inside("");
    desk.apply();
    assert!(!desk.machines[0].has("etc/f") && !desk.machines[0].has("etc/zone"));
    desk.check_converged();
}

#[test]
fn what_could_not_be_made_is_off_the_list_once_nobody_wants_it() {
    let mut desk = Desk::of(1, "");
    desk.inside(
        "  resource \"host_file\" \"f\" {\n    path    = \"/no/such/place\"\n    content = \"x\"\n  }\n",
    );
    let ran = desk.run("apply", &[]);
    assert_eq!(ran.exit, Exit::Failed, "{ran:?}");
    assert!(ran.stderr.contains("a `host_directory` makes one"), "{}", ran.stderr);
    desk.inside("");
    desk.apply();
    desk.check_converged();
    assert_eq!(listed(&desk), BTreeSet::new());
}

#[test]
fn what_vanished_and_is_not_wanted_any_more_is_off_the_list() {
    let mut desk = Desk::of(1, ALL);
    desk.apply();
    fs::remove_file(desk.machines[0].path("etc/f")).unwrap();
    desk.inside("");
    desk.apply();
    desk.check_converged();
    assert_eq!(listed(&desk), BTreeSet::new());
}

#[test]
fn a_fleet_that_is_not_declared_any_more_says_how_its_hosts_are_given_back() {
    let desk = Desk::of(1, ALL);
    desk.apply();
    let text = desk.site.read(MAIN);
    let before = desk.machines[0].tree();
    desk.site.write(MAIN, "");
    for words in [&["plan"][..], &["apply", "--auto-approve"], &["destroy", "--auto-approve"]] {
        let ran = desk.site.fleet_words(words);
        assert_eq!(ran.exit, Exit::Failed, "{ran:?}");
        assert!(ran.stdout.contains("`fleet.desk` is not declared any more"), "{}", ran.stdout);
        assert!(ran.stdout.contains("size = 0"), "{}", ran.stdout);
    }
    same(&desk.machines[0].tree(), &before, "nothing was changed");
    desk.site.write(MAIN, &text.replace("size = 1", "size = 0"));
    desk.apply();
    assert!(!desk.machines[0].has("etc/f"));
    desk.site.write(MAIN, "");
    assert_eq!(desk.site.fleet(["plan"]).ok(), "No changes.\n");
}

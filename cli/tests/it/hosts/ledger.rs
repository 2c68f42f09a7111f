//! Whose a machine is, and what it knows of itself.

use std::fs;

use fleet_cli::Exit;

use super::desk::Desk;
use super::tree::same;
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

fn one() -> &'static str {
    TWO.split_once("  resource \"host_file\" \"two\"").unwrap().0
}

const LEDGER: &str = "var/tmp/fleet/ledger";

#[test]
fn a_second_configuration_is_told_who_has_the_machine() {
    let desk = Desk::of(2, TWO);
    desk.apply();
    let lineage = desk.machine("a").ledger().unwrap().lineage;
    let before = desk.machine("a").tree();
    let other = Site::empty();
    for name in [super::desk::MAIN, "key"] {
        other.write(name, &desk.site.read(name));
    }
    for words in [&["plan"][..], &["apply", "--auto-approve"]] {
        let ran = other.fleet_words(words);
        assert_eq!(ran.exit, Exit::Failed, "{ran:?}");
        let told = format!("`a` is held by `fleet.desk[0]` of the state {lineage}, since ");
        assert!(ran.stdout.contains(&told), "{}", ran.stdout);
        assert!(ran.stdout.contains("let its holder give it back"), "{}", ran.stdout);
    }
    same(&desk.machine("a").tree(), &before, "nothing was changed");
    // Its holder gives it back.
    desk.run("destroy", &[]).ok();
    other.fleet(["apply", "--auto-approve"]).ok();
    assert_ne!(desk.machine("a").ledger().unwrap().lineage, lineage);
    let ran = desk.run("apply", &[]);
    assert_eq!(ran.exit, Exit::Failed, "{ran:?}");
}

#[test]
fn two_configurations_at_once_do_not_both_get_a_machine() {
    let desk = Desk::of(1, TWO);
    let other = Site::empty();
    for name in [super::desk::MAIN, "key"] {
        other.write(name, &desk.site.read(name));
    }
    let ended = std::thread::scope(|scope| {
        let other = scope.spawn(|| other.fleet(["apply", "--auto-approve"]).exit);
        [desk.run("apply", &[]).exit, other.join().unwrap()]
    });
    assert_eq!(ended.iter().filter(|exit| **exit == Exit::Done).count(), 1, "{ended:?}");
    assert!(desk.machine("a").ledger().is_some());
}

#[test]
fn our_own_ledger_from_another_slot_is_no_ledger_of_this_slot() {
    let desk = Desk::of(2, TWO);
    desk.apply();
    let ledger = desk.machine("a").read(LEDGER).replace("slot fleet.desk[0]", "slot fleet.desk[1]");
    fs::write(desk.machine("a").path(LEDGER), ledger).unwrap();
    let before = desk.machine("a").tree();
    let ran = desk.run("apply", &[]);
    assert_eq!(ran.exit, Exit::Failed, "{ran:?}");
    assert!(ran.stdout.contains("`a` is held by `fleet.desk[1]`"), "{}", ran.stdout);
    same(&desk.machine("a").tree(), &before, "nothing was changed");
}

#[test]
fn what_only_the_machine_knows_is_removed() {
    let mut desk = Desk::of(1, TWO);
    desk.apply();
    desk.site.fleet(["state", "rm", "fleet.desk[0].host_file.two"]).ok();
    desk.inside(one());
    desk.check_plan(&[], &[("host_file.two", "destroy")]);
    desk.apply();
    assert!(desk.machine("a").has("etc/one") && !desk.machine("a").has("etc/two"));
    desk.check_converged();
}

#[test]
fn what_only_the_machine_knows_and_is_declared_is_taken_in_again() {
    let desk = Desk::of(1, TWO);
    desk.apply();
    desk.site.fleet(["state", "rm", "fleet.desk[0].host_file.two"]).ok();
    desk.check_plan(&[], &[("host_file.two", "record")]);
    desk.apply();
    desk.check_converged();
}

#[test]
fn what_is_released_is_off_the_list_and_stays() {
    let mut desk = Desk::of(1, TWO);
    desk.apply();
    desk.inside(one());
    let removed =
        "removed {\n  from = fleet.desk.host_file.two\n  lifecycle {\n    destroy = false\n  }\n}\n";
    desk.site.write("removed.fleet.hcl", removed);
    desk.check_plan(&[], &[("host_file.two", "forget")]);
    desk.apply();
    desk.check_converged();
    fs::remove_file(desk.site.path().join("removed.fleet.hcl")).unwrap();
    desk.check_converged();
    assert!(desk.machine("a").has("etc/two"));
    let listed = fs::read_dir(desk.machine("a").path("var/tmp/fleet/ledger.d")).unwrap();
    assert_eq!(listed.count(), 1);
}

#[test]
fn a_stale_writer_is_refused_by_the_machine() {
    let mut desk = Desk::of(1, TWO);
    desk.apply();
    let ledger = desk.machine("a").read(LEDGER);
    let fence = format!("fence {}", desk.machine("a").ledger().unwrap().fence);
    fs::write(desk.machine("a").path(LEDGER), ledger.replace(&fence, "fence 1000")).unwrap();
    let before = desk.machine("a").tree();
    desk.inside(&TWO.replace("\"1\"", "\"changed\""));
    let ran = desk.run("apply", &[]);
    assert_eq!(ran.exit, Exit::Failed, "{ran:?}");
    assert!(
        ran.stderr.contains("somebody with a newer lock works on this host (number 1000)"),
        "{}",
        ran.stderr
    );
    same(&desk.machine("a").tree(), &before, "nothing was changed");
    let ran = desk.run("destroy", &[]);
    assert_eq!(ran.exit, Exit::Failed, "{ran:?}");
    same(&desk.machine("a").tree(), &before, "nothing was changed");
}

#[test]
fn a_ledger_that_vanished_is_made_again_before_anything_else() {
    let mut desk = Desk::of(1, TWO);
    desk.apply();
    fs::remove_file(desk.machine("a").path(LEDGER)).unwrap();
    desk.inside(&TWO.replace("\"1\"", "\"changed\""));
    desk.apply();
    assert_eq!(desk.machine("a").read("etc/one"), "changed");
    assert_eq!(desk.held(), [Some("fleet.desk[0]".into())]);
    desk.check_converged();
}

#[test]
fn what_is_no_ledger_is_nobodys_to_overwrite() {
    let desk = Desk::of(1, TWO);
    fs::create_dir_all(desk.machine("a").path("var/tmp/fleet")).unwrap();
    for content in ["", "something else\n", "fleet-ledger 99\nlineage x\n"] {
        fs::write(desk.machine("a").path(LEDGER), content).unwrap();
        let ran = desk.run("apply", &[]);
        assert_eq!(ran.exit, Exit::Failed, "{ran:?}");
        assert!(ran.stdout.contains("is no ledger that this fleet can read"), "{}", ran.stdout);
        assert_eq!(desk.machine("a").read(LEDGER), content);
        assert!(!desk.machine("a").has("etc/one"));
    }
}

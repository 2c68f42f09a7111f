//! Machines that are down or strange, and connections that break.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use fleet_cli::Exit;

use super::desk::{Desk, MAIN};
use super::tree::same;

const NOTE: &str =
    "  resource \"host_file\" \"note\" {\n    path    = \"/etc/note\"\n    content = host.name\n  }\n";

/// Says that it runs, and waits until it may go on.
pub(super) const WAITS: &str = r#"
  resource "host_file" "before" {
    path    = "/etc/before"
    content = "x"
  }
  resource "host_command" "zone" {
    read       = "cat /proc/self/fd/9/etc/zone"
    wish       = { zone = "1" }
    apply      = "echo x >>/proc/self/fd/9/etc/runs; while [ ! -e /proc/self/fd/9/etc/go ]; do sleep 0.05; done; echo zone=1 >/proc/self/fd/9/etc/zone"
    depends_on = [host_file.before]
  }
  resource "host_file" "after" {
    path       = "/etc/after"
    content    = "x"
    depends_on = [host_command.zone]
  }
"#;

/// Waits for something, for as long as a test may take.
#[track_caller]
pub(super) fn until(what: &str, is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(30), "{what}");
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_host_that_is_down_is_left_out_and_the_others_are_done() {
    let mut desk = Desk::of(3, NOTE);
    desk.machines[1].server.kill();
    let ran = desk.run("apply", &[]);
    assert_eq!(ran.exit, Exit::Failed, "{ran:?}");
    assert!(ran.stdout.contains("refuses connections"), "{}", ran.stdout);
    assert!(ran.stdout.contains("Left out:\n    fleet.desk[1].host  # cannot be seen"), "{}", ran.stdout);
    let slot = |at: usize| Some(format!("fleet.desk[{at}]"));
    assert_eq!(desk.held(), [slot(0), None, slot(2)]);
    assert_eq!(desk.machine("c").read("etc/note"), "desk-2");
    let plan = desk.site.fleet(["plan"]);
    assert_eq!(plan.exit, Exit::Failed, "{plan:?}");
    desk.machines[1].server.restart();
    desk.apply();
    assert_eq!(desk.held(), [slot(0), slot(1), slot(2)]);
    desk.check_converged();
    // Down again, with all that it has.
    desk.machines[1].server.kill();
    desk.inside(&NOTE.replace("host.name", "\"now ${host.name}\""));
    assert_eq!(desk.run("apply", &[]).exit, Exit::Failed);
    assert_eq!(desk.machine("a").read("etc/note"), "now desk-0");
    // It is not given up: to remove it, it has to be there.
    let ran = desk.run("destroy", &[]);
    assert_eq!(ran.exit, Exit::Failed, "{ran:?}");
    assert_eq!(desk.held(), [None, slot(1), None]);
    desk.machines[1].server.restart();
    desk.run("destroy", &[]).ok();
    assert!(!desk.machine("b").has("etc/note"));
}

#[test]
fn a_key_that_is_not_authorized_is_told_from_a_host_that_is_down() {
    let desk = Desk::of(1, NOTE);
    let other = Desk::of(1, NOTE);
    let (right, wrong) = (desk.site.read("key"), other.site.read("key"));
    desk.site.write("key", &wrong);
    let ran = desk.run("apply", &[]);
    assert_eq!(ran.exit, Exit::Failed, "{ran:?}");
    assert!(ran.stdout.contains("does not let us in"), "{}", ran.stdout);
    assert!(ran.stdout.contains("public part of the key is authorized"), "{}", ran.stdout);
    assert_eq!(desk.held(), [None]);
    desk.site.write("key", "no key at all");
    let ran = desk.run("apply", &[]);
    assert!(ran.exit == Exit::Failed && ran.stdout.contains("cannot be read"), "{ran:?}");
    desk.site.write("key", &right);
    desk.apply();
}

#[test]
fn every_address_of_a_host_is_tried() {
    let desk = Desk::of(1, NOTE);
    let text = desk
        .site
        .read(MAIN)
        .replace("address = \"127.0.0.1\"", "addresses = [\"no-such-host.invalid\", \"localhost\"]");
    desk.site.write(MAIN, &text);
    desk.apply();
    desk.check_converged();
}

#[test]
fn a_connection_that_breaks_in_the_middle_of_a_step_is_mended_by_the_same_run() {
    let desk = Desk::of(2, WAITS);
    fs::write(desk.machine("b").path("etc/go"), "").unwrap();
    thread::scope(|scope| {
        let run = scope.spawn(|| desk.run("apply", &[]));
        until("the step runs", || desk.machine("a").has("etc/runs"));
        fs::write(desk.machine("a").path("etc/go"), "").unwrap();
        desk.machine("a").server.cut();
        let ran = run.join().unwrap();
        assert_eq!(ran.exit, Exit::Done, "{ran:?}");
    });
    desk.check_converged();
    assert!(desk.machines.iter().all(|machine| machine.has("etc/after")));
}

#[test]
fn a_server_that_dies_in_the_middle_of_a_run_is_converged_by_the_next() {
    let mut desk = Desk::of(2, WAITS);
    fs::write(desk.machine("b").path("etc/go"), "").unwrap();
    let mut child =
        desk.site.command_with_path(["apply", "--auto-approve", "--step-timeout", "5s"]).spawn().unwrap();
    until("the step runs", || desk.machine("a").has("etc/runs"));
    desk.machine_mut("a").server.kill();
    assert!(!child.wait().unwrap().success());
    assert!(desk.machine("b").has("etc/after") && !desk.machine("a").has("etc/after"));
    fs::write(desk.machine("a").path("etc/go"), "").unwrap();
    desk.machine_mut("a").server.restart();
    desk.apply();
    desk.check_converged();
    let state = desk.state();
    assert!(state.intents.is_empty() && state.deposed.is_empty());
    assert_eq!(desk.machine("a").read("etc/zone"), "zone=1\n");
    // What was done before is not done again.
    assert_eq!(desk.machine("b").read("etc/runs"), "x\n");
}

#[test]
fn a_step_that_fails_on_one_host_says_where_and_leaves_the_others_alone() {
    let inside = "  resource \"host_file\" \"note\" {\n    path    = \"/etc/sub/note\"\n    content = host.name\n  }\n";
    let desk = Desk::of(2, inside);
    fs::create_dir(desk.machine("b").path("etc/sub")).unwrap();
    let before = desk.machine("a").tree();
    let ran = desk.run("apply", &[]);
    assert_eq!(ran.exit, Exit::Failed, "{ran:?}");
    assert!(
        ran.stderr.contains("fleet.desk[0].host_file.note: failed: `/etc/sub/note` cannot be written"),
        "{}",
        ran.stderr
    );
    assert_eq!(desk.machine("b").read("etc/sub/note"), "desk-1");
    let mut after = desk.machine("a").tree();
    after.retain(|path, _| before.contains_key(path));
    same(&after, &before, "nothing was changed");
}

#[test]
fn a_check_that_fails_leaves_the_old_file() {
    let with = |content: &str| {
        format!(
            "  resource \"host_file\" \"note\" {{\n    path     = \"/etc/note\"\n    content  = \"{content}\"\n    \
             validate = \"grep -q good {{}}\"\n  }}\n"
        )
    };
    let mut desk = Desk::of(1, &with("good"));
    desk.apply();
    desk.inside(&with("bad"));
    let ran = desk.run("apply", &[]);
    assert_eq!(ran.exit, Exit::Failed, "{ran:?}");
    assert!(ran.stderr.contains("was not written, because its check failed"), "{}", ran.stderr);
    assert_eq!(desk.machine("a").read("etc/note"), "good");
    assert_eq!(fs::read_dir(desk.machine("a").path("etc")).unwrap().count(), 1);
}

#[test]
fn nobody_connects_to_remove_what_was_never_made() {
    let mut desk = Desk::of(
        2,
        r#"
  data "host_facts" "here" {}
  resource "host_file" "note" {
    path    = "/etc/note"
    content = data.host_facts.here.kernel
  }
"#,
    );
    desk.machine_mut("a").server.kill();
    desk.machine_mut("b").server.kill();
    assert_eq!(desk.run("destroy", &[]).ok(), "No changes.\n");
    // What was made on one of them is looked at there, and nowhere else.
    desk.machine_mut("a").server.restart();
    desk.apply_with(&["--host", "desk[0]"]);
    assert!(desk.machine("a").has("etc/note"));
    desk.run("destroy", &[]).ok();
    assert!(!desk.machine("a").has("etc/note"));
    assert_eq!(desk.held(), [None, None]);
}

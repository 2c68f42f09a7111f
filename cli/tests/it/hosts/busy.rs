//! Hosts where somebody's work runs are not disturbed.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use fleet_cli::Exit;

use super::desk::{Desk, Machine};
use super::tree::same;

const NOTE: &str = "  resource \"host_file\" \"note\" {\n    path    = \"/etc/note\"\n    content = \"1\"\n  }\n  \
                    resource \"host_file\" \"other\" {\n    path    = \"/etc/other\"\n    content = \"1\"\n  }\n";

const VM: &str = "  77 /opt/homebrew/bin/tart run sonoma --token hunter2";

/// What `ps` says on a machine, a line of it after each call.
fn runs(machine: &Machine, script: &str) {
    fs::create_dir_all(machine.path("bin")).unwrap();
    let ps = machine.path("bin/ps");
    fs::write(&ps, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&ps, fs::Permissions::from_mode(0o755)).unwrap();
}

fn says(lines: &str) -> String {
    format!("echo '{lines}'")
}

#[test]
fn a_busy_host_is_not_given_back_and_the_others_are() {
    let desk = Desk::of(2, NOTE);
    desk.apply();
    runs(desk.machine("a"), &says(VM));
    let before = desk.machine("a").tree();
    let said = desk.site.fleet(["plan", "--destroy"]).ok();
    assert!(said.contains("fleet.desk[0] is busy now: a VM of Tart (`tart run`, process 77)."), "{said}");
    assert!(said.contains("--when-busy wait"), "{said}");
    let ran = desk.run("destroy", &[]);
    assert_eq!(ran.exit, Exit::Failed, "{ran:?}");
    let told = "fleet.desk[0] is busy: a VM of Tart (`tart run`, process 77); it was left alone";
    assert_eq!(ran.stderr.matches(told).count(), 1, "said once, and not for each thing: {}", ran.stderr);
    assert!(!(ran.stdout + &ran.stderr).contains("hunter2"));
    same(&desk.machine("a").tree(), &before, "nothing was changed");
    assert_eq!(desk.held(), [Some("fleet.desk[0]".into()), None]);

    // Whoever does not care says so.
    desk.run("destroy", &["--when-busy", "proceed"]).ok();
    assert_eq!(desk.held(), [None, None]);
}

#[test]
fn other_changes_go_on_while_a_host_is_busy() {
    let mut desk = Desk::of(1, NOTE);
    desk.apply();
    runs(desk.machine("a"), &says("9 /Users/m1/actions-runner/bin/Runner.Worker spawnclient 1 2"));
    desk.check_converged();
    desk.inside(&NOTE.replace("\"1\"", "\"2\""));
    let said = desk.apply();
    assert!(said.contains("busy now: a job of GitHub Actions (`Runner.Worker`, process 9)."), "{said}");
    assert!(!said.contains("--when-busy"), "nothing is refused: {said}");
    assert_eq!(desk.machine("a").read("etc/note"), "2");
    // Nor is the removal of a thing that does not take the host with it.
    desk.inside("");
    desk.apply();
    assert!(!desk.machine("a").has("etc/note"));
}

#[test]
fn a_busy_machine_keeps_what_is_on_it_while_its_slot_gets_another() {
    let mut desk = Desk::of(2, NOTE);
    desk.slots("size = 1");
    desk.apply();
    runs(desk.machine("a"), &says(VM));
    let ran = desk.run("apply", &["--replace", "fleet.desk[0].host"]);
    assert_eq!(ran.exit, Exit::Failed, "{ran:?}");
    assert!(desk.machine("a").has("etc/note") && desk.machine("b").has("etc/note"));
    runs(desk.machine("a"), "");
    desk.apply();
    assert!(!desk.machine("a").has("etc/note"));
    assert_eq!(desk.held(), [None, Some("fleet.desk[0]".into())]);
}

#[test]
fn a_busy_host_is_waited_for_but_not_for_ever() {
    let desk = Desk::of(1, NOTE);
    desk.apply();
    runs(desk.machine("a"), &says(VM));
    let ran = desk.run("destroy", &["--when-busy", "wait", "--busy-timeout", "100ms"]);
    assert_eq!(ran.exit, Exit::Failed, "{ran:?}");
    assert!(ran.stderr.contains("is busy: a VM of Tart"), "{}", ran.stderr);
    // The third time it is asked, the VM has ended: once by the plan, twice by the run.
    let gone = desk.machine("a").path("asked");
    let count = format!("echo x >>{0}; [ $(wc -l <{0}) -ge 3 ] || echo '{VM}'", gone.display());
    runs(desk.machine("a"), &count);
    desk.run("destroy", &["--when-busy", "wait", "--busy-timeout", "1m"]).ok();
    assert_eq!(desk.held(), [None]);
}

#[test]
fn a_host_that_cannot_say_what_runs_is_not_given_back() {
    let desk = Desk::of(1, NOTE);
    desk.apply();
    runs(desk.machine("a"), "exit 3");
    desk.check_converged();
    let ran = desk.run("destroy", &[]);
    assert_eq!(ran.exit, Exit::Failed, "{ran:?}");
    assert!(ran.stderr.contains("fleet.desk[0] does not say which processes run there"), "{}", ran.stderr);
    assert_eq!(desk.held(), [Some("fleet.desk[0]".into())]);
}

#[test]
fn a_busy_host_is_not_started_anew() {
    let mut desk = Desk::of(1, "  resource \"host_reboot\" \"r\" {\n    when = \"1\"\n  }\n");
    // What is there from the start is a boot like any other, so that this would be a reboot already.
    runs(desk.machine("a"), &says(VM));
    fs::create_dir_all(desk.machine("a").path("proc/sys/kernel/random")).unwrap();
    fs::write(desk.machine("a").path("proc/sys/kernel/random/boot_id"), "first\n").unwrap();
    let down = desk.machine("a").path("bin/shutdown");
    fs::write(&down, format!("#!/bin/sh\ntouch {}\n", desk.machine("a").path("went-down").display()))
        .unwrap();
    fs::set_permissions(&down, fs::Permissions::from_mode(0o755)).unwrap();
    desk.inside("  resource \"host_reboot\" \"r\" {\n    when = \"2\"\n  }\n");
    let ran = desk.run("apply", &[]);
    assert_eq!(ran.exit, Exit::Failed, "{ran:?}");
    assert!(ran.stderr.contains("is busy: a VM of Tart"), "{}{}", ran.stdout, ran.stderr);
    assert!(!desk.machine("a").has("went-down"));
}

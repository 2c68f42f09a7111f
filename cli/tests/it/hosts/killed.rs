//! Nothing of fleet outlives it.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use super::broken::{WAITS, until};
use super::desk::Desk;

/// The processes that were told of a directory.
fn told_of(directory: &Path) -> Vec<String> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    lines.filter(|line| line.contains(directory.to_str().unwrap())).collect()
}

#[test]
fn after_a_kill_nothing_is_left_and_the_next_run_converges() {
    let desk = Desk::of(3, WAITS);
    let own = tempfile::Builder::new().prefix("k").rand_bytes(4).tempdir().unwrap();
    let mut command = desk.site.command_with_path(["apply", "--auto-approve"]);
    command.env("TMPDIR", own.path()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    until("all steps run", || desk.machines.iter().all(|machine| machine.has("etc/runs")));
    assert!(!told_of(own.path()).is_empty(), "there are connections");
    assert_eq!(fs::read_dir(own.path()).unwrap().count(), 1);
    child.kill().unwrap();
    child.wait().unwrap();
    until("connections and their directory are gone", || {
        told_of(own.path()).is_empty() && fs::read_dir(own.path()).unwrap().count() == 0
    });
    for machine in &desk.machines {
        fs::write(machine.path("etc/go"), "").unwrap();
    }
    assert!(!desk.state().intents.is_empty());
    desk.apply();
    desk.check_converged();
    let state = desk.state();
    assert!(state.intents.is_empty() && state.deposed.is_empty());
    assert!(desk.machines.iter().all(|machine| machine.has("etc/after")));
}

#[test]
fn a_run_that_ends_leaves_nothing() {
    let desk = Desk::of(2, "");
    let own = tempfile::Builder::new().prefix("k").rand_bytes(4).tempdir().unwrap();
    for command in ["apply", "destroy"] {
        let mut command = desk.site.command_with_path([command, "--auto-approve"]);
        command.env("TMPDIR", own.path()).stdout(Stdio::null()).stderr(Stdio::null());
        assert!(command.status().unwrap().success());
        assert_eq!(told_of(own.path()), [""; 0]);
        assert_eq!(fs::read_dir(own.path()).unwrap().count(), 0);
    }
}

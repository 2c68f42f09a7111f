//! What a new user would try.

use std::path::Path;
use std::process::Command;

use super::world::ran;

/// `fleet` with a home of its own, and nothing else that it could know.
fn fleet(home: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fleet"));
    command.args(args).env_clear().env("HOME", home).current_dir(home);
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command
}

#[test]
fn the_demo_ends_with_all_hosts_free() {
    let home = tempfile::tempdir().unwrap();
    let said = ran(fleet(home.path(), &["demo", "--fast"]).output().unwrap()).ok();
    assert!(said.contains("6 of 6 Macs are free again"), "{said}");
    assert!(said.contains("$ fleet pool audit") && said.contains("Killed."), "{said}");
    let left: Vec<_> = std::fs::read_dir(home.path()).unwrap().flatten().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_lab_that_stays_and_what_it_prints() {
    let home = tempfile::tempdir().unwrap();
    let lab = |args: &[&str]| {
        let args: Vec<&str> = ["lab", "--at", "somewhere"].iter().chain(args).copied().collect();
        ran(fleet(home.path(), &args).output().unwrap())
    };
    let printed = lab(&["up", "--macs", "2", "--speed", "300"]).ok();
    let variables: Vec<(&str, &str)> = printed
        .lines()
        .filter_map(|line| line.strip_prefix("export ")?.split_once('='))
        .map(|(name, value)| (name, value.trim_matches('\'')))
        .collect();
    assert!(variables.len() >= 5, "{printed}");
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/fleets/scaleway-runners");
    std::fs::copy(example.join("main.fleet.hcl"), home.path().join("main.fleet.hcl")).unwrap();
    let run = |args: &[&str]| ran(fleet(home.path(), args).envs(variables.iter().copied()).output().unwrap());
    let applied = run(&["apply", "--auto-approve", "--var", "size=1"]);
    let status = lab(&["status"]);
    let listed = run(&["pool", "list"]);
    let destroyed = run(&["destroy", "--auto-approve"]);
    // Whatever came of it, no lab outlives this test.
    lab(&["down"]).ok();
    applied.ok();
    assert!(status.ok().contains("staging-runner-0"));
    assert!(listed.ok().contains("staging-runner-0"));
    destroyed.ok();
    assert!(!home.path().join("somewhere").exists());
}

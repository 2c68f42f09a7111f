//! A disk that is full, and one that must not be written. Each test runs in a process with a small disk of its own.

#![cfg(target_os = "linux")]

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use fleet_test_provider::Operation;

use super::{Kept, failed, servers};

const SERVERS: usize = 6;

/// Where the small disk is, in the process that has one.
const DISK: &str = "FLEET_TEST_SMALL_DISK";

/// Runs a test of this program again, with a small disk of its own where temporary files go. Works for everybody who may
/// have namespaces of their own, root or not.
fn on_a_small_disk(test: &str, inside: impl FnOnce(&Path)) {
    if let Some(disk) = std::env::var_os(DISK) {
        return inside(Path::new(&disk));
    }
    let directory = tempfile::tempdir().unwrap();
    let script = r#"mount -t tmpfs -o size=2m none "$1" && shift && exec "$@""#;
    let ran = Command::new("unshare")
        .args(["--mount", "--map-root-user", "sh", "-c", script, "sh"])
        .arg(directory.path())
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", &format!("state::disk::{test}"), "--nocapture"])
        .env(DISK, directory.path())
        .env("TMPDIR", directory.path())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&ran.stdout) + String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success() && text.contains("1 passed"), "{text}");
}

/// Fills the disk to its last byte.
fn fill(disk: &Path) -> PathBuf {
    let path = disk.join("ballast");
    let mut file = File::create(&path).unwrap();
    while file.write_all(&[0; 4096]).is_ok() {}
    path
}

fn remount(disk: &Path, mode: &str) {
    let done = Command::new("mount").args(["-o", &format!("remount,bind,{mode}")]).arg(disk).status();
    assert!(done.unwrap().success());
}

#[test]
fn a_disk_that_fills_up_stops_the_run_and_nothing_is_lost() {
    on_a_small_disk("a_disk_that_fills_up_stops_the_run_and_nothing_is_lost", |disk| {
        let kept = Kept::sqlite(&servers(SERVERS));
        let child = kept.stuck(2);
        let ballast = fill(disk);
        kept.world.release();
        let (stdout, stderr) = failed(child);
        assert!(stdout.contains("Done: 2 unknown, 4 not started."), "{stdout}{stderr}");
        assert!(stderr.contains("error: cannot write the state in `"), "{stderr}");
        assert!(stderr.contains("there is no room left; free some and run again"), "{stderr}");
        assert!(
            stderr.contains("help: free some room, run again: what was under way is settled first"),
            "{stderr}"
        );
        assert_eq!(kept.world.calls(Operation::Create), 2, "nothing new was begun");
        assert!(kept.state().intents.len() >= 2);

        // As long as there is no room, nothing is begun.
        let complaint = kept.fleet(["apply", "--auto-approve"]).failed();
        assert!(complaint.contains("there is no room left"), "{complaint}");
        assert_eq!(kept.world.calls(Operation::Create), 2);

        fs::remove_file(ballast).unwrap();
        kept.check_converges(SERVERS);
        assert_eq!(kept.world.calls(Operation::Create), SERVERS, "nothing was made twice");
    });
}

#[test]
fn on_a_full_disk_nothing_is_begun() {
    on_a_small_disk("on_a_full_disk_nothing_is_begun", |disk| {
        let kept = Kept::sqlite(&servers(SERVERS));
        let ballast = fill(disk);
        let complaint = kept.fleet(["apply", "--auto-approve"]).failed();
        assert!(complaint.contains("cannot write the digest key"), "{complaint}");
        assert!(complaint.contains("nothing was done"), "{complaint}");
        assert_eq!(kept.world.calls(Operation::Create), 0);
        // A key that was written in part would be worse than none.
        assert!(!kept.site.path().join(".fleet/digest.key").exists());

        fs::remove_file(ballast).unwrap();
        kept.apply();
        assert_eq!(fs::read(kept.site.path().join(".fleet/digest.key")).unwrap().len(), 32);
        kept.check_converges(SERVERS);
    });
}

#[test]
fn a_state_that_must_not_be_written_can_be_read() {
    on_a_small_disk("a_state_that_must_not_be_written_can_be_read", |disk| {
        let kept = Kept::sqlite(&servers(2));
        kept.apply();
        kept.site.write("main.fleet.hcl", &servers(SERVERS));
        let before = kept.state();
        remount(disk, "ro");
        for args in [&["apply", "--auto-approve"][..], &["state", "rm", "test_server.a[0]"]] {
            let complaint = kept.site.fleet_words(args).failed();
            assert!(complaint.contains("cannot open the state in `"), "{complaint}");
            assert!(complaint.contains("it must not be written; nothing was done"), "{complaint}");
            assert!(complaint.contains("help: make the file and its directory writable"), "{complaint}");
        }
        assert_eq!(kept.world.servers().len(), 2, "nothing was begun");
        assert!(kept.fleet(["plan"]).ok().contains("Plan: 4 to create"));
        assert_eq!(kept.fleet(["state", "list"]).ok(), "test_server.a[0]\ntest_server.a[1]\n");
        remount(disk, "rw");
        assert_eq!(kept.state(), before);
        kept.check_converges(SERVERS);
    });
}

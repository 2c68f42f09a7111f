//! A database that goes away in the middle of an apply.

use std::fs;
use std::path::PathBuf;

use fleet_test_postgres::{PASSWORD, Server};
use fleet_test_provider::{Fault, Operation};
use serde_json::Value as Json;

use super::{Kept, failed, servers};
use crate::child::finish;

const SERVERS: usize = 8;

fn recovery_files(kept: &Kept) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(kept.site.path().join(".fleet")) else { return Vec::new() };
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|extension| extension == "jsonl")).collect()
}

fn events(kept: &Kept, kind: &str) -> Vec<Json> {
    let text = kept.site.read("events.jsonl");
    let events = text.lines().map(|line| serde_json::from_str::<Json>(line).unwrap());
    events.filter(|event| event["type"] == kind).collect()
}

#[test]
fn a_server_that_comes_back_is_waited_for() {
    let mut server = Server::start();
    let kept = Kept::at(server.database(), &servers(SERVERS));
    let settings = kept.site.read("settings.fleet.hcl").replace("\"3s\"", "\"2m\"");
    kept.site.write("settings.fleet.hcl", &settings);
    let child = kept.stuck(2);
    server.kill();
    // Both are made while nobody can write it down.
    kept.world.release();
    kept.world.until(|seen| seen.calls.get(&Operation::Create) == Some(&2) && seen.in_flight == 0);
    server.restart();
    let output = finish(child);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(events(&kept, "store_lost").len(), 0);
    assert_eq!(kept.world.calls(Operation::Create), SERVERS);
    assert_eq!(kept.check_converges(SERVERS).stdout, "No changes.\n");
    assert_eq!(kept.world.calls(Operation::Create), SERVERS);
}

#[test]
fn a_server_that_does_not_come_back_stops_the_run_and_the_next_one_settles_it() {
    let mut server = Server::start();
    let kept = Kept::at(server.database(), &servers(SERVERS));
    let child = kept.stuck(2);
    server.kill();
    kept.world.release();
    let (stdout, stderr) = failed(child);
    assert!(stdout.contains("Done: 2 unknown, 6 not started."), "{stdout}");
    assert_eq!(kept.names().len(), 2, "nothing new was begun");
    let [file] = &recovery_files(&kept)[..] else { panic!("{stderr}") };
    let name = file.display().to_string();
    for (said, times) in [
        ("the state can no longer be written, nothing new is begun: ", 1),
        ("outcome unknown: what came of it could not be written down\n", 2),
        ("what the next run has to know is in ", 1),
        ("error: cannot open the state `site` in PostgreSQL: ", 1),
        ("; the run has stopped\n", 1),
        ("help: bring the database back, leave `", 1),
        ("run again: what was under way is settled first\n", 1),
        (&*name, 2),
        (PASSWORD, 0),
    ] {
        assert_eq!(stderr.matches(said).count(), times, "{said} in {stderr}");
    }
    let lost = events(&kept, "store_lost");
    assert_eq!(
        (lost.len(), lost[0].get("recovery"), &lost[1]["recovery"]),
        (2, None, &Json::from(name.as_str()))
    );
    // As long as it is gone, that is said.
    for args in [&["plan"][..], &["apply", "--auto-approve"], &["state", "list"], &["lock", "status"]] {
        let complaint = kept.site.fleet_words(args).failed();
        assert!(complaint.contains("cannot open the state `site` in PostgreSQL"), "{complaint}");
        assert!(complaint.contains("help: see that the database runs"), "{complaint}");
    }
    assert!(file.exists());

    server.restart();
    let ran = kept.check_converges(SERVERS);
    let told = "settled 2 steps of an earlier run, which had lost the state, from its recovery file\n";
    assert!(ran.stderr.starts_with(told), "{}", ran.stderr);
    assert_eq!(kept.world.calls(Operation::Create), SERVERS, "nothing was made twice");
    assert_eq!(recovery_files(&kept), Vec::<PathBuf>::new());
}

#[test]
fn without_the_recovery_file_the_next_run_looks() {
    let mut server = Server::start();
    let kept = Kept::at(server.database(), &servers(SERVERS));
    let child = kept.stuck(2);
    server.kill();
    kept.world.release();
    failed(child);
    fs::remove_file(&recovery_files(&kept)[0]).unwrap();
    server.restart();
    kept.check_converges(SERVERS);
    assert_eq!(kept.world.calls(Operation::Create), SERVERS, "nothing was made twice");
}

#[test]
fn programs_are_told_what_was_settled() {
    let mut server = Server::start();
    let kept = Kept::at(server.database(), &servers(2));
    let child = kept.stuck(2);
    server.kill();
    kept.world.release();
    failed(child);
    server.restart();
    kept.fleet(["apply", "--auto-approve", "--json-into", "events.jsonl"]).ok();
    assert_eq!(events(&kept, "recovered")[0]["steps"], 2);
}

#[test]
fn what_failed_is_not_tried_again_without_a_state() {
    let mut server = Server::start();
    let kept = Kept::at(server.database(), &servers(2));
    let settings = kept.site.read("settings.fleet.hcl").replace("\"3s\"", "\"1ms\"");
    kept.site.write("settings.fleet.hcl", &settings);
    // One of the two is to be asked for again, in a while. By then nobody can write down what comes of it.
    kept.world.breaks(Operation::Create, 2..=2, Fault::Busy(2));
    let child = kept.stuck(2);
    server.kill();
    kept.world.release();
    let (stdout, stderr) = failed(child);
    assert!(stdout.contains("Done: 2 unknown."), "{stdout}{stderr}");
    assert_eq!((kept.world.calls(Operation::Create), kept.world.servers().len()), (2, 1), "{stderr}");
    server.restart();
    kept.check_converges(2);
    assert_eq!(kept.world.calls(Operation::Create), 3);
}

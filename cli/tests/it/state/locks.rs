//! One run changes things at a time; the dead are inherited from; what they still write is refused.

use fleet_test_postgres::Server;
use fleet_test_provider::Operation;
use serde_json::Value as Json;

use super::{Kept, failed, on_both, servers, signal};
use crate::child::finish;

const SERVERS: usize = 8;

fn status(kept: &Kept) -> Json {
    serde_json::from_str(&kept.fleet(["lock", "status", "--json"]).ok()).unwrap()
}

#[test]
fn of_two_applies_one_runs_and_the_other_says_who_it_is() {
    on_both(&servers(SERVERS), |kept| {
        assert_eq!(kept.fleet(["lock", "status"]).ok(), "The state is not locked.\n");
        let child = kept.stuck(2);
        let held = format!("(process {}, `fleet apply`) since 20", child.id());
        for args in [
            &["apply", "--auto-approve"][..],
            &["destroy", "--auto-approve"],
            &["state", "rm", "test_server.a"],
            &["state", "push", "-"],
        ] {
            let document = r#"{"format":1,"lineage":null,"serial":0,"fence":0,"resources":[]}"#;
            let complaint = kept.site.fleet_words_with_input(args, document).failed();
            assert!(
                complaint.contains("the state is locked by somebody on ") && complaint.contains(&held),
                "{complaint}"
            );
            for said in
                ["nothing was done", "`--lock-timeout 5m`", "`fleet lock status`", "`fleet lock release`"]
            {
                assert!(complaint.contains(said), "{said} in {complaint}");
            }
        }
        // Whoever only reads needs no lock.
        assert!(kept.fleet(["plan"]).ok().contains("to create"));
        assert_eq!(kept.fleet(["state", "list", "test_server.a[0]"]).ok(), "test_server.a[0] (begun)\n");
        let status = status(kept);
        assert_eq!(
            (&status["locked"], &status["pid"], &status["expired"]),
            (&true.into(), &child.id().into(), &false.into())
        );
        let told = kept.fleet(["lock", "status"]).ok();
        assert!(
            told.contains(&format!("process {}", child.id())) && told.contains("It runs out at "),
            "{told}"
        );
        let history = kept.fleet(["state", "history"]).ok();
        assert!(history.contains("fleet apply: nothing changed so far, still running"), "{history}");

        kept.world.release();
        assert_eq!(finish(child).status.code(), Some(0));
        assert_eq!(kept.world.calls(Operation::Create), SERVERS);
        assert_eq!(kept.fleet(["lock", "status"]).ok(), "The state is not locked.\n");
    });
}

#[test]
fn one_who_waits_gets_the_lock_in_the_end() {
    on_both(&servers(SERVERS), |kept| {
        let first = kept.stuck(2);
        let second = kept.site.spawn(["apply", "--auto-approve", "--lock-timeout", "2m"]);
        kept.world.release();
        assert_eq!(finish(first).status.code(), Some(0));
        let second = finish(second);
        assert_eq!(second.status.code(), Some(0), "{}", String::from_utf8_lossy(&second.stderr));
        assert_eq!(kept.world.calls(Operation::Create), SERVERS);
        kept.check_converges(SERVERS);
    });
}

#[test]
fn a_holder_that_was_killed_is_inherited_from_at_once() {
    on_both(&servers(SERVERS), |kept| {
        let mut child = kept.stuck(2);
        signal(&child, "KILL");
        child.wait().unwrap();
        assert!(!kept.state().intents.is_empty());
        assert_eq!(status(kept)["locked"], true);
        kept.check_converges(SERVERS);
        let history = kept.fleet(["state", "history"]).ok();
        assert!(history.contains("did not come to its end"), "{history}");
    });
}

/// A holder sleeps while somebody else takes over and does all the work. When it wakes up, nothing that it does counts.
fn wakes_up_too_late(kept: &Kept, take_away: impl FnOnce()) {
    let child = kept.stuck(2);
    signal(&child, "STOP");
    // What it had asked for happens.
    kept.world.release();
    kept.world.until(|seen| seen.in_flight == 0);
    assert_eq!(kept.world.servers().len(), 2);
    take_away();
    kept.check_converges(SERVERS);
    let (state, happened) = (kept.state(), kept.world.happened());

    signal(&child, "CONT");
    let (stdout, stderr) = failed(child);
    assert!(stderr.contains("somebody else has taken over the lock of "), "{stderr}");
    assert!(stderr.contains("help: see `fleet lock status` and `fleet state history`"), "{stderr}");
    assert_eq!(stderr.matches("taken over").count(), 2, "when it was noticed and at the end: {stderr}");
    assert!(stdout.contains("Done: 2 unknown, 6 not started."), "{stdout}");
    assert_eq!(kept.world.happened(), happened, "nothing new was begun");
    assert_eq!(kept.state(), state);
    assert_eq!(kept.fleet(["plan"]).ok(), "No changes.\n");
}

#[test]
fn a_holder_whose_lock_was_released_is_refused() {
    on_both(&servers(SERVERS), |kept| {
        wakes_up_too_late(kept, || {
            let number = status(kept)["number"].to_string();
            let complaint = kept.fleet(["lock", "release", "999"]).failed();
            assert!(complaint.contains("and not by 999; nothing was done"), "{complaint}");
            let ran = kept.site.fleet_with_input(["lock", "release"], "no\n");
            assert!(ran.stdout.contains("The state is locked by somebody on "), "{}", ran.stdout);
            assert!(ran.failed().contains("not approved, nothing was done"));
            let said = kept.fleet(["lock", "release", &number]).ok();
            assert!(said.starts_with("Released: the lock was held by somebody on "), "{said}");
            assert_eq!(kept.fleet(["lock", "release"]).ok(), "The state is not locked.\n");
        });
    });
}

#[test]
fn a_holder_whose_lease_ran_out_is_refused() {
    let server = Server::shared();
    let url = server.database();
    let database = url.rsplit('/').next().unwrap().to_owned();
    let kept = Kept::at(url, &servers(SERVERS));
    wakes_up_too_late(&kept, || {
        // As if it were on another machine, and a minute had passed.
        server.sql(&database, "UPDATE fleet.locks SET machine = 'elsewhere', expires = 0");
        let told = kept.fleet(["lock", "status"]).ok();
        assert!(told.contains("It has run out, so the next run takes it over."), "{told}");
    });
}

#[test]
fn a_lock_is_taken_away_after_a_yes_or_by_force() {
    for args in [&["lock", "release"][..], &["lock", "release", "--force"]] {
        on_both(&servers(1), |kept| {
            let mut child = kept.stuck(1);
            kept.site.fleet_words_with_input(args, "yes\n").ok();
            assert_eq!(status(kept)["locked"], false);
            signal(&child, "KILL");
            child.wait().unwrap();
            kept.check_converges(1);
        });
    }
}

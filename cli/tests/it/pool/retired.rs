//! Servers that are deleted for good, because somebody asked for that; and all the others, which are not.

use std::thread;
use std::time::Duration;

use fleet_cli::Exit;
use fleet_lab::ServerEdit;
use fleet_lab::clock::Time;
use fleet_lab::fault::{Answer, Effect, Fault};
use fleet_lab::scaleway::{ErrorType, Operation};
use serde_json::Value as Json;

use super::world::{LATE, Runners, World, ran, there};

/// How many requests to delete a server came.
fn deletions(world: &World) -> usize {
    let all = world.writes_after(0);
    all.iter().filter(|entry| entry.operation == Some(Operation::DeleteServer)).count()
}

fn retire(runners: &Runners<'_>, server: &str) -> crate::support::Ran {
    runners.run(&["pool", "retire", server, "--auto-approve"])
}

fn audit(runners: &Runners<'_>) -> String {
    runners.run(&["pool", "audit"]).ok()
}

#[test]
fn a_free_server_is_deleted_after_a_question_and_not_before_its_time() {
    let world = World::of(3);
    let runners = world.runners();
    let id = world.lab.server("pool-01").unwrap().id;
    let soon = |now: Time| now.after(Duration::from_secs(24 * 3600));
    world.lab.edit(move |vendor, now| {
        vendor.servers.change(&id, now, |server| server.deletable_at = soon(now));
    });
    let early = retire(&runners, "pool-01").failed();
    assert!(
        early.contains("`pool-01` cannot be deleted before ") && early.contains("nothing was done"),
        "{early}"
    );
    assert_eq!(world.writes_after(0).len(), 0, "nothing was done");
    // It is all or nothing: one of them could be deleted.
    let both = runners.run(&["pool", "retire", "pool-02", "pool-01", "--yes"]).failed();
    assert!(both.contains("cannot be deleted before"), "{both}");
    assert_eq!((world.lab.servers().len(), deletions(&world)), (3, 0));

    let asked = runners.run(&["pool", "retire", "pool-02"]);
    let shown = asked.stdout.clone();
    assert!(
        shown.contains("deleted at their vendor for good") && shown.contains("deletable since"),
        "{shown}"
    );
    assert!(shown.contains("rented by the day") && shown.contains("2 free servers are left then"), "{shown}");
    assert!(asked.failed().contains("not approved, nothing was done"));
    assert_eq!(deletions(&world), 0);

    assert_eq!(retire(&runners, "pool-02").ok().lines().last(), Some("pool-02: deleted"));
    assert_eq!(deletions(&world), 1);
    assert!(world.lab.server("pool-02").is_none());
    assert!(audit(&runners).ends_with("2 servers: 2 free; the books balance\n"));
    runners.check(0, "deleted");
    // By what the vendor calls it for ever, and for programs.
    let id = world.lab.server("pool-03").unwrap().id;
    let told = runners.run(&["pool", "retire", &id, "--auto-approve", "--json"]).ok();
    let told: Json = serde_json::from_str(&told).unwrap();
    assert_eq!((&told[0]["deleted"], &told[0]["name"]), (&Json::from(true), &Json::from("pool-03")));
    assert!(retire(&runners, "pool-03").failed().contains("no server is called `pool-03`"));
}

#[test]
fn a_vendor_that_refuses_keeps_a_free_server() {
    let world = World::of(1);
    let runners = world.runners();
    for (error, word) in [
        (ErrorType::PreconditionFailed, "see its `deletable_at`"),
        (ErrorType::Locked, "the vendor locked it"),
        // This is what the vendor says of what is gone, too, and nobody believes it.
        (ErrorType::PermissionsDenied, "it may be gone"),
    ] {
        world.lab.fault(Fault::refused(error).on(Operation::DeleteServer));
        let kept = retire(&runners, "pool-01");
        assert_eq!(kept.exit, Exit::Failed);
        assert!(kept.stderr.contains("pool-01: not deleted: cannot delete server"), "{kept:?}");
        assert!(kept.stderr.contains(word) && kept.stderr.contains(error.name()), "{kept:?}");
        runners.check(0, "refused");
        assert!(audit(&runners).ends_with("1 server: 1 free; the books balance\n"));
    }
    assert_eq!(deletions(&world), 3, "what is refused is not asked for again");
}

#[test]
fn what_is_not_free_is_never_deleted() {
    let world = World::of(6);
    let (ours, theirs) = (world.runners(), Runners { env: "production".into(), ..world.runners() });
    ours.apply(1).ok();
    theirs.apply(1).ok();
    let edit = |server: &str, edit: ServerEdit| assert!(world.lab.edit_server(server, edit));
    let free: Vec<String> = world.accounts().into_keys().filter(|name| name.starts_with("pool-")).collect();
    edit(&free[0], ServerEdit { name: Some("mystery".into()), ..ServerEdit::default() });
    edit(&free[1], ServerEdit { power: Some(false), ..ServerEdit::default() });
    edit(&free[2], ServerEdit { name: Some("returning-x-y".into()), ..ServerEdit::default() });
    for (server, class) in [
        ("staging-runner-0", "mine"),
        ("production-runner-0", "foreign"),
        ("mystery", "stray"),
        (&*free[1], "unavailable"),
        ("returning-x-y", "returning"),
    ] {
        let refused = retire(&ours, server).failed();
        assert!(refused.contains(&format!("`{server}` is {class}: ")), "{server}: {refused}");
        assert!(refused.contains("nothing was done"), "{refused}");
    }
    assert_eq!((deletions(&world), world.lab.servers().len()), (0, 6));
    // One that goes to somebody else between the look and the deletion.
    let other = free[3].clone();
    let late = Fault::slow(there(Duration::from_secs(2)).0).on(Operation::ListServers);
    world.lab.fault(late);
    let retiring = ours.command(&["pool", "retire", &other, "--auto-approve"]).spawn().unwrap();
    theirs.apply(2);
    let retired = ran(retiring.wait_with_output().unwrap());
    let is_theirs = world.accounts().contains_key("production-runner-1");
    assert_ne!(is_theirs, world.lab.servers().len() == 5, "one of the two has it: {retired:?}");
}

/// However its answer gets lost, the same run or the next finds out what became of it.
#[test]
fn a_deletion_without_an_answer_is_settled() {
    let gave_up = Fault { answer: Answer::Status(504), ..Fault::new() };
    let late = Fault { effect: Effect::After(there(LATE)), ..Fault::cut_before() };
    for (what, fault, n_sent) in [
        ("cut after it took effect", Fault::cut_after(), 1),
        ("cut before it took effect", Fault::cut_before(), 2),
        ("cut, and takes effect later", late, 1),
        ("a 504 after it took effect", gave_up, 1),
    ] {
        let world = World::of(1);
        let runners = world.runners();
        world.lab.fault(fault.on(Operation::DeleteServer));
        assert_eq!(retire(&runners, "pool-01").ok().lines().last(), Some("pool-01: deleted"), "{what}");
        assert_eq!((deletions(&world), world.lab.servers().len()), (n_sent, 0), "{what}");
        runners.check(0, what);
        assert!(audit(&runners).ends_with("0 servers; the books balance\n"), "{what}");
    }
}

#[test]
fn a_deletion_that_was_killed_is_settled_by_the_next_run() {
    for (what, fault) in [
        ("before it took effect", Fault { effect: Effect::Never, ..Fault::unanswered() }),
        ("after it took effect", Fault::unanswered()),
    ] {
        for next in ["apply", "retire"] {
            let story = format!("killed {what}, then {next}");
            let world = World::of(2);
            let runners = world.runners();
            let id = world.lab.server("pool-01").unwrap().id;
            world.lab.fault(fault.clone().on(Operation::DeleteServer));
            let mut child =
                runners.command(&["pool", "retire", "pool-01", "--auto-approve"]).spawn().unwrap();
            while deletions(&world) == 0 {
                assert_eq!(child.try_wait().unwrap(), None, "{story}: it ended before it could be killed");
                thread::sleep(Duration::from_millis(5));
            }
            child.kill().unwrap();
            child.wait().unwrap();
            let is_gone = world.lab.server(&id).is_none();
            let told = runners.run(&["pool", "audit"]);
            assert_eq!(told.exit, Exit::Failed, "{story}: {told:?}");
            assert!(told.stdout.contains(&format!("unsettled delete on {id}")), "{story}: {told:?}");
            if next == "apply" {
                runners.apply(0).ok();
                // Only whoever asks for it deletes a server.
                assert_eq!((world.lab.server(&id).is_none(), deletions(&world)), (is_gone, 1), "{story}");
            } else {
                retire(&runners, &id).ok();
                assert!(world.lab.server(&id).is_none(), "{story}");
            }
            runners.apply(0).ok();
            runners.check(0, &story);
            assert!(audit(&runners).contains("the books balance"), "{story}");
        }
    }
}

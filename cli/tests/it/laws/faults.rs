//! Steps that fail: what is tried again, what is skipped, what is remembered.

use std::time::Duration;

use fleet_cli::Exit;
use fleet_test_provider::{Fault, Operation};

use super::{Lab, MAIN};
use crate::support::Ran;

/// A server, one that depends on it, and one that does not.
const THREE: &str = r#"
resource "test_server" "a" {
  name = "a"
  size = 2
}
resource "test_server" "b" {
  name        = "b"
  description = test_server.a.id
}
resource "core_file" "other" {
  path    = "other.txt"
  content = "x"
}
"#;

const ONE: &str = "resource \"test_server\" \"a\" {\n  name = \"a\"\n  size = 2\n}\n";

/// Everything is as declared, and nothing is there twice.
#[track_caller]
fn check_whole(lab: &Lab, n_servers: usize) {
    lab.check_converged();
    assert_eq!(lab.world.servers().len(), n_servers);
    let state = lab.state();
    assert!(state.intents.is_empty() && state.deposed.is_empty());
}

#[test]
fn what_may_pass_is_tried_again() {
    let check = |operation: Operation, fault: Fault, prepare: fn(&Lab)| {
        let lab = Lab::new(ONE);
        prepare(&lab);
        let before = lab.world.calls(operation);
        lab.world.breaks(operation, before + 1..=before + 1, fault);
        lab.apply();
        assert_eq!(lab.world.calls(operation), before + 2, "{operation:?} {fault:?}");
        lab.check_converged();
    };
    check(Operation::Create, Fault::Unavailable, |_| ());
    check(Operation::Create, Fault::Busy(0), |_| ());
    check(Operation::Create, Fault::Dropped, |_| ());
    check(Operation::Update, Fault::Unavailable, |lab| {
        lab.apply();
        lab.edit("size = 2", "size = 3");
    });
    check(Operation::Delete, Fault::Unavailable, |lab| {
        lab.apply();
        lab.write("");
    });
}

#[test]
fn what_was_done_without_an_answer_is_not_done_again() {
    let check = |operation: Operation, prepare: fn(&Lab), n_servers: usize| {
        let lab = Lab::new(ONE);
        prepare(&lab);
        let before = lab.world.calls(operation);
        lab.world.breaks(operation, before + 1..=before + 1, Fault::Lost);
        lab.apply();
        assert_eq!(lab.world.calls(operation), before + 1, "{operation:?}");
        check_whole(&lab, n_servers);
    };
    check(Operation::Create, |_| (), 1);
    check(
        Operation::Update,
        |lab| {
            lab.apply();
            lab.edit("size = 2", "size = 3");
        },
        1,
    );
    check(
        Operation::Delete,
        |lab| {
            lab.apply();
            lab.write("");
        },
        0,
    );
}

#[test]
fn a_reply_that_never_comes_makes_no_second_thing() {
    let quick = |lab: &Lab| {
        let configuration = lab.world.configuration().replace("token ", "timeout = 200\n  token ");
        lab.site.write("world.fleet.hcl", &configuration);
    };
    // The client gives up waiting, and looks.
    let lab = Lab::new(ONE);
    quick(&lab);
    lab.world.breaks(Operation::Create, 1..=1, Fault::Hangs);
    lab.apply();
    assert_eq!(lab.world.calls(Operation::Create), 1);
    check_whole(&lab, 1);

    // The step as a whole takes too long: nobody knows what came of it, until the next run looks.
    let lab = Lab::new(ONE);
    lab.world.breaks(Operation::Create, 1..=1, Fault::Hangs);
    let ran = lab.run("apply", &["--step-timeout", "3s"]);
    assert_eq!(ran.exit, Exit::Failed);
    assert!(ran.stderr.contains("test_server.a"), "{}", ran.stderr);
    assert_eq!(lab.state().intents.len(), 1);
    assert_eq!(lab.world.servers().len(), 1);
    lab.apply();
    assert_eq!(lab.world.calls(Operation::Create), 1);
    check_whole(&lab, 1);
}

#[test]
fn what_will_not_pass_is_not_tried_again() {
    let check = |operation: Operation, prepare: fn(&Lab), n_servers: usize| {
        let lab = Lab::new(ONE);
        prepare(&lab);
        let before = (lab.world.calls(operation), lab.reality(), lab.state().recorded);
        lab.world.breaks(operation, 1.., Fault::Refused);
        lab.run("apply", &[]).failed();
        assert_eq!(lab.world.calls(operation), before.0 + 1, "{operation:?}");
        // What is remembered is what is there.
        assert_eq!((lab.reality(), lab.state().recorded), (before.1, before.2), "{operation:?}");
        lab.world.mend();
        lab.apply();
        check_whole(&lab, n_servers);
    };
    check(Operation::Create, |_| (), 1);
    check(
        Operation::Update,
        |lab| {
            lab.apply();
            lab.edit("size = 2", "size = 3");
        },
        1,
    );
    check(
        Operation::Delete,
        |lab| {
            lab.apply();
            lab.write("");
        },
        0,
    );
}

#[test]
fn a_failed_step_skips_its_dependents_only() {
    let lab = Lab::new(THREE);
    lab.world.breaks(Operation::Create, 1..=1, Fault::Refused);
    let Ran { exit, stdout, stderr } = lab.run("apply", &["--json-into", "events"]);
    assert_eq!(exit, Exit::Failed);
    assert!(stdout.contains("1 created, 1 failed, 1 skipped"), "{stdout}");
    assert!(stderr.contains("test_server.b: skipped, because test_server.a was not done"), "{stderr}");
    assert_eq!(lab.site.read("other.txt"), "x");
    assert_eq!(lab.world.calls(Operation::Create), 1);
    let recorded: Vec<String> = lab.state().recorded.keys().map(ToString::to_string).collect();
    assert_eq!(recorded, ["core_file.other"]);
    let last: serde_json::Value =
        serde_json::from_str(lab.site.read("events").lines().last().unwrap()).unwrap();
    let text = last.to_string();
    assert!(["failed", "skipped", "done"].iter().all(|word| text.contains(word)), "{text}");
    lab.world.mend();
    lab.apply();
    check_whole(&lab, 2);
}

#[test]
fn what_needs_something_that_cannot_go_stays_with_it() {
    // `b` depends on `a`: as long as `b` is there, `a` must not go.
    let lab = Lab::applied(THREE);
    lab.world.breaks(Operation::Delete, 1.., Fault::Refused);
    lab.run("destroy", &[]).failed();
    assert_eq!(lab.world.calls(Operation::Delete), 1);
    assert_eq!(lab.world.servers().len(), 2);
    assert!(!lab.site.path().join("other.txt").exists());
    lab.world.mend();
    lab.destroy();
    assert!(lab.world.servers().is_empty());
    assert_eq!(lab.destroy(), "No changes.\n");
}

#[test]
fn what_was_done_otherwise_than_asked_is_a_failure_and_remembered_as_it_is() {
    let lab = Lab::new(THREE);
    lab.world.breaks(Operation::Create, 1..=1, Fault::Garbled);
    let complaint = lab.run("apply", &[]).failed();
    assert!(complaint.contains("did not converge: `size` should be 2 and is 3"), "{complaint}");
    assert_eq!(lab.world.servers().len(), 1);
    lab.world.mend();
    let plan = lab.steps(&[]);
    assert_eq!(plan["test_server.a"], "update size");
    lab.apply();
    check_whole(&lab, 2);
}

#[test]
fn what_cannot_be_seen_is_not_planned() {
    let lab = Lab::applied(ONE);
    lab.world.breaks(Operation::Get, 1.., Fault::Refused);
    lab.world.breaks(Operation::List, 1.., Fault::Refused);
    let before = (lab.world.servers(), lab.state());
    for command in ["plan", "apply", "destroy"] {
        let complaint = lab.site.fleet_words(&[command]).failed();
        assert!(complaint.contains("cannot be observed"), "{command}: {complaint}");
    }
    assert_eq!((lab.world.servers(), lab.state()), before, "{}", lab.site.read(MAIN));
    lab.world.mend();
    lab.check_converged();
}

#[test]
fn what_cannot_be_read_back_is_settled_by_the_next_run() {
    let lab = Lab::new(ONE);
    // The plan lists once; what is read back after the create is asked for by its id.
    lab.world.breaks(Operation::Get, 1.., Fault::Refused);
    let ran = lab.run("apply", &[]);
    assert_eq!(ran.exit, Exit::Failed);
    assert_eq!((lab.world.servers().len(), lab.state().intents.len()), (1, 1));
    lab.world.mend();
    lab.apply();
    assert_eq!(lab.world.calls(Operation::Create), 1);
    check_whole(&lab, 1);
}

#[test]
fn slow_things_wait_for_each_other_and_for_nothing_else() {
    let lab = Lab::new(THREE);
    lab.world.set_latency(Duration::from_millis(20));
    lab.apply();
    check_whole(&lab, 2);
    assert_eq!(lab.world.server("b").description, lab.world.server("a").id);
}

#[test]
fn what_is_never_read_back_counts_as_sent_only_with_an_answer() {
    let text = "resource \"test_server\" \"a\" {\n  name = \"a\"\n  join_token = \"first\"\n}\n";
    let sent = |lab: &Lab| lab.world.server("a").join_token;
    let lab = Lab::applied(text);
    lab.edit("first", "second");
    lab.world.breaks(Operation::Update, 1..=1, Fault::Refused);
    lab.run("apply", &[]).failed();
    assert_eq!(sent(&lab).as_deref(), Some("first"));
    lab.check_plan(&[("test_server.a", "update join_token")]);
    lab.world.breaks(Operation::Update, 2..=2, Fault::Unavailable);
    lab.apply();
    assert_eq!((sent(&lab).as_deref(), lab.world.calls(Operation::Update)), (Some("second"), 3));
    check_whole(&lab, 1);

    // It was made, and nobody knows with what.
    let lab = Lab::new(text);
    lab.world.breaks(Operation::Create, 1..=1, Fault::Lost);
    lab.apply();
    assert_eq!((lab.world.calls(Operation::Create), lab.world.calls(Operation::Update)), (1, 1));
    check_whole(&lab, 1);
}

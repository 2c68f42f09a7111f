//! What a killed run left open, and is asked for in another way afterwards: one case at a time.

use fleet_test_provider::{Fault, Operation, Server};

use super::{carried_out, check_whole, killed_while_waiting};
use crate::laws::Lab;

/// A server whose successor is made before it goes.
const ROLLS: &str = r#"
resource "test_server" "a" {
  name       = "one"
  join_token = "one"
  lifecycle {
    create_before_destroy = true
  }
}
"#;

/// A run was killed, and what it asked for last came to be.
fn killed_after(lab: &Lab, operation: Operation) {
    killed_while_waiting(lab, operation);
    carried_out(lab);
}

#[test]
fn a_successor_that_was_begun_gets_another_successor() {
    for rest in ["", "create_before_destroy = true"] {
        let lab = Lab::applied(ROLLS);
        lab.edit("name       = \"one\"", "name       = \"two\"");
        killed_after(&lab, Operation::Create);
        assert_eq!(lab.world.servers().len(), 2);
        lab.edit("name       = \"two\"", "name       = \"three\"");
        lab.edit("create_before_destroy = true", rest);
        lab.apply();
        assert_eq!(lab.world.server("three").join_token.as_deref(), Some("one"));
        check_whole(&lab, 1);
    }
}

#[test]
fn a_successor_that_was_begun_is_changed_and_that_is_killed_too() {
    let lab = Lab::applied(ROLLS);
    lab.edit("name       = \"one\"", "name       = \"two\"");
    killed_after(&lab, Operation::Create);
    // Nobody knows what it joined with, so that is sent again.
    killed_while_waiting(&lab, Operation::Update);
    carried_out(&lab);
    lab.apply();
    assert_eq!(lab.world.calls(Operation::Create), 2);
    check_whole(&lab, 1);
}

#[test]
fn what_may_have_been_sent_is_sent_again() {
    let lab = Lab::applied(ROLLS);
    lab.edit("join_token = \"one\"", "join_token = \"two\"");
    killed_after(&lab, Operation::Update);
    assert_eq!(lab.world.server("one").join_token.as_deref(), Some("two"));
    lab.edit("join_token = \"two\"", "join_token = \"one\"");
    lab.apply();
    assert_eq!(lab.world.server("one").join_token.as_deref(), Some("one"));
    check_whole(&lab, 1);
}

#[test]
fn what_was_being_taken_in_is_ours() {
    let text = "resource \"test_server\" \"a\" {\n  name = \"a\"\n  size = 2\n}\n";
    let import = "import {\n  to = test_server.a\n  id = \"srv-000001\"\n}\n";
    for (rest, n_servers) in [(text, 1), ("", 0)] {
        let lab = Lab::new(&format!("{text}{import}"));
        lab.world.put(Server { name: "a".into(), zone: "a".into(), size: 1, ..Server::default() });
        killed_after(&lab, Operation::Update);
        lab.write(rest);
        lab.apply();
        check_whole(&lab, n_servers);
    }
}

#[test]
fn what_was_begun_is_found_where_it_moved_to() {
    let lab = Lab::new(ROLLS);
    killed_after(&lab, Operation::Create);
    let moved = "moved {\n  from = test_server.a\n  to   = test_server.b\n}\n";
    lab.write(&format!("{}{moved}", ROLLS.replace("\"a\"", "\"b\"")));
    lab.apply();
    assert_eq!(lab.world.calls(Operation::Create), 1);
    check_whole(&lab, 1);
}

#[test]
fn what_was_begun_and_cannot_be_looked_for_stays_open() {
    let lab = Lab::new(ROLLS);
    killed_after(&lab, Operation::Create);
    let world = lab.site.read("world.fleet.hcl");
    lab.write("");
    lab.site.write("world.fleet.hcl", "");
    lab.run("apply", &[]);
    assert_eq!(lab.state().intents.len(), 1);
    lab.site.write("world.fleet.hcl", &world);
    lab.apply();
    check_whole(&lab, 0);
}

#[test]
fn an_older_object_goes_whatever_it_is_called() {
    let text = ROLLS.replace("  join_token = \"one\"\n", "");
    let lab = Lab::applied(&text);
    lab.edit("name       = \"one\"", "name       = \"two\"");
    lab.world.breaks(Operation::Delete, 1.., Fault::Refused);
    lab.run("apply", &[]).failed();
    // Only the older one is known from now on.
    lab.write("removed {\n  from = test_server.a\n  lifecycle {\n    destroy = false\n  }\n}\n");
    lab.run("apply", &[]).failed();
    lab.world.remove("two");
    lab.world.mend();
    let state = lab.state();
    assert!(state.recorded.is_empty() && state.deposed.len() == 1);
    lab.write(&text);
    lab.destroy();
    check_gone(&lab);
}

#[test]
fn what_is_imported_is_destroyed_once() {
    let text = "resource \"test_server\" \"a\" {\n  name = \"a\"\n}\n";
    let lab = Lab::new(&format!("{text}import {{\n  to = test_server.a\n  id = \"srv-000001\"\n}}\n"));
    lab.world.put(Server { name: "a".into(), zone: "a".into(), size: 1, ..Server::default() });
    lab.apply();
    lab.destroy();
    lab.destroy();
    check_gone(&lab);
}

#[track_caller]
fn check_gone(lab: &Lab) {
    assert!(lab.world.servers().is_empty(), "{:?}", lab.world.servers());
    let state = lab.state();
    assert!(state.recorded.is_empty() && state.intents.is_empty() && state.deposed.is_empty());
}

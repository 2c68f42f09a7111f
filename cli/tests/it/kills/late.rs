//! Requests that the world carries out long after whoever made them is gone.
//!
//! An intent tells the next run where to look: when it plans, and again before it makes the thing anew. What comes of a
//! request after that is seen by the runs that follow, as drift is, with one exception: a second server that nobody asked for any more. Only the world
//! could keep it from being made, by refusing a request that it has seen before; so the window is from the last look
//! to the end of the request, and the last test here says what is left behind.

use std::io::Write;

use fleet_test_provider::{Operation, Seen, Server};

use super::{carried_out, check_whole, killed_while_waiting};
use crate::laws::Lab;

const ONE: &str = "resource \"test_server\" \"a\" {\n  name = \"a\"\n  size = 2\n}\n";

#[test]
fn a_create_that_is_carried_out_before_the_next_look_is_found() {
    let lab = Lab::new(ONE);
    killed_while_waiting(&lab, Operation::Create);
    assert!(lab.world.servers().is_empty());
    carried_out(&lab);
    lab.apply();
    assert_eq!(lab.world.calls(Operation::Create), 1);
    check_whole(&lab, 1);
}

#[test]
fn a_create_that_is_carried_out_while_somebody_looks_at_the_plan_is_found() {
    let lab = Lab::new(ONE);
    killed_while_waiting(&lab, Operation::Create);
    let (answers, mut answer) = std::io::pipe().unwrap();
    let looks = lab.world.calls(Operation::List);
    let ran = std::thread::scope(|scope| {
        let run = scope.spawn(|| lab.site.fleet_asking(["apply"], answers));
        let has_looked = |seen: &Seen| seen.calls.get(&Operation::List).is_some_and(|n| *n > looks);
        // The call that waits is the one in flight.
        lab.world.until(|seen| has_looked(seen) && seen.in_flight == 1);
        carried_out(&lab);
        answer.write_all(b"yes\n").unwrap();
        run.join().unwrap()
    });
    assert!(ran.ok().contains("+ test_server.a"));
    assert_eq!(lab.world.calls(Operation::Create), 1);
    check_whole(&lab, 1);
}

#[test]
fn a_change_that_is_carried_out_later_is_drift() {
    let lab = Lab::applied(ONE);
    lab.edit("size = 2", "size = 3");
    killed_while_waiting(&lab, Operation::Update);
    lab.edit("size = 3", "size = 4");
    lab.apply();
    check_whole(&lab, 1);
    carried_out(&lab);
    assert_eq!(lab.world.server("a").size, 3);
    lab.check_plan(&[("test_server.a", "update size")]);
    lab.apply();
    check_whole(&lab, 1);
    assert_eq!(lab.world.server("a").size, 4);
}

#[test]
fn a_removal_that_is_carried_out_later_is_made_good() {
    let lab = Lab::applied(ONE);
    lab.write("");
    killed_while_waiting(&lab, Operation::Delete);
    lab.write(ONE);
    lab.apply();
    check_whole(&lab, 1);
    carried_out(&lab);
    assert!(lab.world.servers().is_empty());
    lab.check_plan(&[("test_server.a", "create")]);
    lab.apply();
    check_whole(&lab, 1);
}

#[test]
fn a_removal_that_is_carried_out_twice_is_one() {
    let lab = Lab::applied(ONE);
    lab.write("");
    killed_while_waiting(&lab, Operation::Delete);
    lab.apply();
    carried_out(&lab);
    check_whole(&lab, 0);
}

/// The limit: nothing was there when the next run looked, so it made the server. Then there are two. Fleet knows the one
/// that it made last, keeps it and goes on; the other is nobody's, and stays until somebody removes it.
#[test]
fn a_create_that_is_carried_out_after_the_next_look_leaves_a_stray() {
    let lab = Lab::new(ONE);
    killed_while_waiting(&lab, Operation::Create);
    lab.apply();
    let ours = lab.world.servers();
    check_whole(&lab, 1);
    carried_out(&lab);
    let is_stray = |server: &Server| server.name == "a" && !ours.contains(server);
    assert_eq!(lab.world.servers().iter().filter(|server| is_stray(server)).count(), 1);
    lab.check_converged();
    lab.destroy();
    let left = lab.world.servers();
    assert!(left.len() == 1 && is_stray(&left[0]), "{left:?}");
}

//! A Mac with everything on it, and a run that ends in the middle of a step: the connection is cut, or fleet is killed. Whatever
//! step it was, the next run converges, or leaves nothing behind; and so does a destroy after it.
//!
//! Steps are told by their events, so that the same one is interrupted in every run, whatever runs beside it.

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use fleet_lab::mac::Mac;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value as Json;

use super::Minis;
use super::full::{STAYS, bare};
use crate::kills::{each, is_full, tell};

/// How a run ends before it is done.
#[derive(Clone, Copy, Debug)]
enum End {
    /// All connections are cut, and fleet goes on as it can.
    Cut,
    /// fleet is killed.
    Killed,
}

/// What is done after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    /// The same again; and after an apply it is destroyed, once it has converged.
    Again,
    /// It is destroyed as it is.
    Destroy,
}

/// The middle of a step.
#[derive(Debug)]
struct Middle {
    address: String,
    /// How many commands are called on the Mac from its beginning on.
    n_calls: u64,
}

/// Starts a run that tells its events.
fn start(minis: &Minis, command: &str) -> Child {
    let mut fleet = minis.site.command_with_path([command, "--auto-approve", "--json"]);
    fleet.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
}

/// The events of steps, with their addresses, while they happen.
fn steps(fleet: &mut Child) -> impl Iterator<Item = (String, String)> + use<> {
    let lines = BufReader::new(fleet.stdout.take().unwrap()).lines();
    lines.map_while(Result::ok).filter_map(|line| {
        let event: Json = serde_json::from_str(&line).ok()?;
        let of = |name: &str| Some(event[name].as_str()?.to_owned());
        Some((of("type")?, of("address")?))
    })
}

/// The middles of all steps of a run that nobody interrupts.
fn middles(command: &str) -> Vec<Middle> {
    let minis = ready_for(command);
    let mac = &minis.macs[0];
    let (mut begun, mut middles) = (HashMap::new(), Vec::new());
    let mut fleet = start(&minis, command);
    for (event, address) in steps(&mut fleet) {
        match &*event {
            "step_started" => _ = begun.insert(address, mac.calls()),
            "step_ended" => {
                let Some(begin) = begun.remove(&address) else { continue };
                middles.push(Middle { address, n_calls: (mac.calls() - begin).div_ceil(2) });
            }
            _ => {}
        }
    }
    assert!(fleet.wait().unwrap().success(), "{command} that nobody interrupts");
    middles
}

fn ready_for(command: &str) -> Minis {
    let minis = bare();
    if command == "destroy" {
        minis.apply();
    }
    minis
}

/// Ends a run in the middle of a step, and goes on as it is said. In the end nothing is left.
fn interrupted(command: &str, middle: &Middle, end: End, then: Then) {
    let minis = bare();
    let before = minis.snapshot();
    if command == "destroy" {
        minis.apply();
    }
    let story = format!("{end:?} in {command} of {}, then {then:?}", middle.address);
    let mut fleet = start(&minis, command);
    let process = Pid::from_child(&fleet);
    let is_over = Arc::new(AtomicBool::new(false));
    let ends_it = move |mac: &Mac| {
        if !is_over.swap(true, Ordering::SeqCst) {
            match end {
                End::Cut => mac.cut_connections(),
                End::Killed => kill_process(process, Signal::KILL).unwrap(),
            }
        }
    };
    let mac = &minis.macs[0];
    let mut was_begun = false;
    for (event, address) in steps(&mut fleet) {
        match &*event {
            "step_started" if address == middle.address => {
                was_begun = true;
                if middle.n_calls > 0 {
                    mac.at_call(middle.n_calls, ends_it.clone());
                } else {
                    ends_it(mac);
                }
            }
            // It took fewer calls than the other time.
            "step_ended" if address == middle.address => ends_it(mac),
            _ => {}
        }
    }
    fleet.wait().unwrap();
    assert!(was_begun, "{story}: the step was never begun");
    let next = if then == Then::Again { command } else { "destroy" };
    let again = minis.fleet(&[next, "--auto-approve"]);
    assert_eq!(again.exit, fleet_cli::Exit::Done, "{story}: {}{}", again.stdout, again.stderr);
    if then == Then::Again && command == "apply" {
        minis.check_converged(&story);
        minis.destroy();
    }
    minis.snapshot().without(&STAYS).check_same(&before.clone().without(&STAYS), &story);
}

/// Interrupts every step, or some if there is no time for all.
fn interrupt_everywhere(command: &str, end: End, then: Then, some: usize) {
    let mut middles = middles(command);
    let all = middles.len();
    assert!(all >= 30, "{middles:?}");
    if !is_full() {
        // Spread over the run.
        let chosen: Vec<usize> = (0..some).map(|at| (2 * at + 1) * all / (2 * some)).collect();
        let mut number = 0..;
        middles.retain(|_| number.next().is_some_and(|number| chosen.contains(&number)));
    }
    each(middles.len(), 2, |at| interrupted(command, &middles[at], end, then));
    tell(&format!("{end:?} during {command}, then {then:?}: {} of {all} steps", middles.len()));
}

#[test]
fn whatever_step_loses_its_connection_the_next_apply_converges_and_leaves_nothing() {
    interrupt_everywhere("apply", End::Cut, Then::Again, 3);
}

#[test]
fn whatever_step_is_killed_the_next_apply_converges_and_leaves_nothing() {
    interrupt_everywhere("apply", End::Killed, Then::Again, 3);
}

#[test]
fn whatever_step_loses_its_connection_the_next_destroy_leaves_nothing() {
    interrupt_everywhere("destroy", End::Cut, Then::Again, 2);
}

#[test]
fn whatever_step_is_killed_the_next_destroy_leaves_nothing() {
    interrupt_everywhere("destroy", End::Killed, Then::Again, 2);
}

#[test]
fn whatever_step_loses_its_connection_nothing_is_left_of_what_it_began() {
    interrupt_everywhere("apply", End::Cut, Then::Destroy, 2);
}

#[test]
fn whatever_step_is_killed_nothing_is_left_of_what_it_began() {
    interrupt_everywhere("apply", End::Killed, Then::Destroy, 3);
}

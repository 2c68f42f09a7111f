//! Requests that change something and get no answer: they took effect, or did not, or do so later.

use fleet_lab::fault::{Answer, Effect, Fault};

use super::world::{LATE, Runners, World, there};
use crate::kills::{each, is_full, tell};
use crate::support::Ran;

const MACS: usize = 3;
const SIZE: usize = 2;

/// What goes wrong.
fn faults() -> Vec<(&'static str, Fault)> {
    let gave_up = Fault { answer: Answer::Status(504), ..Fault::new() };
    let late = Fault { effect: Effect::After(there(LATE)), ..Fault::cut_before() };
    let mut faults = vec![
        ("cut after it took effect", Fault::cut_after()),
        ("cut before it took effect", Fault::cut_before()),
        ("cut, and takes effect later", late),
        ("a 504 after it took effect", gave_up),
    ];
    // Until a client gives up, it waits for half a minute.
    if is_full() {
        faults.push(("took effect, and no answer", Fault::unanswered()));
    }
    faults
}

fn run(runners: &Runners<'_>, command: &str) -> Ran {
    if command == "apply" { runners.apply(SIZE) } else { runners.destroy() }
}

/// How many requests of a run change something, if nothing goes wrong: by command.
fn writes() -> [(&'static str, u64); 2] {
    let world = World::of(MACS);
    let runners = world.runners();
    ["apply", "destroy"].map(|command| {
        let at = world.n_requests();
        run(&runners, command).ok();
        (command, world.writes_after(at).len() as u64)
    })
}

#[test]
fn whatever_answer_is_lost_no_host_is() {
    let writes = writes();
    // The key, two claims; two times returning, reinstall and free, and the key.
    assert_eq!(writes, [("apply", 3), ("destroy", 7)]);
    let mut cases = Vec::new();
    for (command, n_writes) in writes {
        for number in 1..=n_writes {
            cases.extend(faults().into_iter().map(|(what, fault)| (command, number, what, fault)));
        }
    }
    if !is_full() {
        // Each fault a few times, each command, and never the same request.
        cases = cases.into_iter().enumerate().filter(|(at, _)| at % 7 == 2).map(|(_, case)| case).collect();
    }
    let n_cases = cases.len();
    each(n_cases, 4, |at| {
        let (command, number, what, fault) = cases[at].clone();
        trial(command, number, what, fault);
    });
    tell(&format!("{n_cases} answers lost"));
}

/// One request of a run goes wrong. The next run, at which nothing does, finds out what became of it.
fn trial(command: &str, number: u64, what: &str, mut fault: Fault) {
    let story = format!("write {number} of {command}: {what}");
    let world = World::of(MACS);
    let runners = world.runners();
    if command == "destroy" {
        runners.apply(SIZE).ok();
    }
    fault.matching.writes = Some(true);
    world.lab.fault(fault.nth(u32::try_from(number).unwrap()));
    let first = run(&runners, command);
    assert_eq!(world.lab.faults()[0].hit, 1, "{story}: {first:?}");
    world.lab.clear_faults();
    let next = run(&runners, command);
    assert_eq!(next.exit, fleet_cli::Exit::Done, "{story}: {first:?}\n{next:?}");
    if command == "apply" {
        runners.check(SIZE, &story);
        runners.destroy().ok();
    }
    runners.check(0, &story);
    assert!(world.check_log(&story) >= SIZE, "{story}");
    world.check_installs(SIZE, &story);
    tell(&format!("{story}: at once {:?}", first.exit));
}

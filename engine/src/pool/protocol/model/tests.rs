//! The protocol as it is, without each of its guards, and how its first version failed.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use super::super::machine::At;
use super::super::notes::{Method, Stage, Write};
use super::super::rules::{Guard, Rules};
use super::super::{End, Surprise};
use super::event::{Begin, Event, Outcome, Violation};
use super::explore::{Search, explore, look_for, walk};
use super::world::{FREE, Faults, Power, Setup, World};
use crate::pool::books::Class;

fn is_full() -> bool {
    std::env::var_os("FLEET_FULL").is_some()
}

fn rules(without: Option<Guard>) -> Arc<Rules> {
    Arc::new(Rules { deadline: Duration::MAX, without, ..Rules::default() })
}

fn setup(operators: u8, hosts: u8, faults: Faults) -> Setup {
    Setup {
        operators,
        hosts,
        rounds: 1,
        method: Method::Reinstall,
        equal_names: false,
        beyond: false,
        torn: false,
        rules: rules(None),
        faults,
    }
}

const NONE: Faults =
    Faults { crash: 0, lost: 0, late: 0, stale: 0, console: 0, age: 0, reboot: 0, dirty: 0, retire: 0 };
const CRASH: Faults = Faults { crash: 1, ..NONE };
const LATE: Faults = Faults { late: 1, ..NONE };
const CONSOLE: Faults = Faults { console: 1, ..NONE };
const RETIRE: Faults = Faults { retire: 1, ..NONE };

/// Looks at all there is, and says how much that was.
fn holds(what: &str, setup: Setup, most: usize) {
    let searched = explore(&World::new(setup), Search::Deep, most);
    let extent = if searched.is_complete { "all" } else { "the first" };
    println!("{what}: {extent} {} states, {} events", searched.states, searched.events);
    assert_eq!(searched.found, None, "{what}");
    assert!(searched.is_complete || most < usize::MAX, "{what}");
}

#[test]
fn two_operators_and_a_host() {
    let scrub = |faults| Setup { method: Method::Scrub, ..setup(2, 1, faults) };
    let equal = |faults| Setup { equal_names: true, ..setup(2, 1, faults) };
    for (what, setup) in [
        ("no fault", setup(2, 1, NONE)),
        ("a crash", setup(2, 1, CRASH)),
        ("a late request", setup(2, 1, LATE)),
        ("a stale name", setup(2, 1, Faults { stale: 1, ..NONE })),
        ("the console", setup(2, 1, CONSOLE)),
        ("a lost answer", setup(2, 1, Faults { lost: 1, ..NONE })),
        ("age", setup(2, 1, Faults { age: 1, ..NONE })),
        ("a reboot", setup(2, 1, Faults { reboot: 1, ..NONE })),
        ("a crash and a late request", setup(2, 1, Faults { late: 1, ..CRASH })),
        ("age and a late request", setup(2, 1, Faults { age: 1, ..LATE })),
        ("scrub, a host that stays dirty", scrub(Faults { dirty: 3, ..NONE })),
        ("scrub, a crash, a late request", scrub(Faults { dirty: 1, late: 1, ..CRASH })),
        ("equal names, the console, a crash", equal(Faults { console: 1, ..CRASH })),
        ("a deletion", setup(2, 1, RETIRE)),
        ("two deletions", setup(2, 1, Faults { retire: 2, ..NONE })),
        ("a deletion, a crash", setup(2, 1, Faults { crash: 1, ..RETIRE })),
        ("a deletion, a late request", setup(2, 1, Faults { late: 1, ..RETIRE })),
        ("a deletion, a lost answer", setup(2, 1, Faults { lost: 1, ..RETIRE })),
        ("a deletion, a stale name", setup(2, 1, Faults { stale: 1, ..RETIRE })),
        ("a deletion, the console", setup(2, 1, Faults { console: 1, ..RETIRE })),
        ("a deletion, age", setup(2, 1, Faults { age: 1, ..RETIRE })),
        ("a deletion, scrub", scrub(RETIRE)),
    ] {
        holds(what, setup, usize::MAX);
    }
}

#[test]
fn more_operators_and_hosts() {
    holds("3 operators", setup(3, 1, NONE), usize::MAX);
    holds("2 operators, 2 hosts", setup(2, 2, NONE), usize::MAX);
}

/// Faults together, and more of them.
#[test]
fn more_of_everything() {
    if !is_full() {
        return;
    }
    let each =
        Faults { crash: 1, lost: 1, late: 1, stale: 1, console: 1, age: 1, reboot: 1, dirty: 1, retire: 1 };
    let most = 6_000_000;
    for (what, setup) in [
        ("2 operators, every fault", setup(2, 1, each)),
        ("2 operators, every fault, scrub", Setup { method: Method::Scrub, ..setup(2, 1, each) }),
        ("2 operators, every fault, equal names", Setup { equal_names: true, ..setup(2, 1, each) }),
        ("2 operators, twice", Setup { rounds: 2, ..setup(2, 1, Faults { late: 1, ..CRASH }) }),
        ("2 operators, two crashes, two late requests", setup(2, 1, Faults { crash: 2, late: 2, ..NONE })),
        ("2 operators, 2 hosts", setup(2, 2, Faults { late: 1, ..CRASH })),
        ("3 operators, a crash", setup(3, 1, CRASH)),
        ("3 operators, the console", setup(3, 1, CONSOLE)),
        ("3 operators, age, a late request", setup(3, 1, Faults { age: 1, ..LATE })),
    ] {
        holds(what, setup, most);
    }
}

#[test]
fn schedules_by_chance() {
    let faults =
        Faults { crash: 3, lost: 2, late: 3, stale: 3, console: 2, age: 2, reboot: 2, dirty: 2, retire: 1 };
    let count = if is_full() { 10_000 } else { 25 };
    let mut events = 0;
    for method in [Method::Reinstall, Method::Scrub] {
        for equal_names in [false, true] {
            for hosts in [1, 2] {
                let setup = Setup { method, equal_names, rounds: 2, ..setup(3, hosts, faults) };
                let start = World::new(setup);
                for seed in 1..=count {
                    events += walk(&start, u64::wrapping_mul(seed, 0x9e37_79b9_7f4a_7c15)).unwrap();
                }
            }
        }
    }
    println!("{} schedules, {events} events", count * 8);
}

/// Finds what goes wrong without something, and sees that with it the same schedule, and all that can follow, is right.
fn fails(what: &str, broken: Setup, is_it: impl Fn(&Violation) -> bool) {
    let mended = Setup { rules: rules(None), torn: false, ..broken.clone() };
    let searched = look_for(&World::new(broken), Search::Wide, 400_000, is_it);
    let Some((violation, schedule)) = searched.found else {
        panic!("{what}: nothing in {} states", searched.states)
    };
    println!("{what}: {violation:?} after {} events, {} states", schedule.len(), searched.states);
    let mut world = World::new(mended);
    for event in schedule {
        // What the guard prevents is left out.
        if world.events().contains(&event) {
            world.happen(event).unwrap_or_else(|violation| panic!("{what}: {violation:?}"));
        }
    }
    assert!(world.can_finish(&mut HashSet::new()), "{what}");
}

fn without(guard: Guard, mut setup: Setup) -> Setup {
    setup.rules = rules(Some(guard));
    setup
}

fn is_touched(violation: &Violation) -> bool {
    matches!(violation, Violation::Touched(_))
}

fn is_rename(violation: &Violation) -> bool {
    matches!(violation, Violation::Touched(Write::Rename(_)))
}

#[test]
fn a_rename_before_the_ledger_is_found() {
    fails("ledger after rename", without(Guard::LedgerFirst, setup(2, 1, NONE)), is_rename);
}

#[test]
fn a_write_without_a_check_is_found() {
    fails("no check", without(Guard::Check, setup(2, 1, CONSOLE)), is_touched);
}

#[test]
fn a_check_that_lives_for_ever_is_found() {
    fails("no lifetime", without(Guard::Lifetime, setup(2, 1, CONSOLE)), is_touched);
}

#[test]
fn a_free_name_without_a_ledger_is_found() {
    fails("free without ledger", without(Guard::LedgerToFree, setup(2, 1, CRASH)), is_rename);
}

#[test]
fn a_name_that_is_not_read_again_is_found() {
    fails("name not read again", without(Guard::NameAgain, setup(2, 1, NONE)), is_rename);
}

#[test]
fn a_record_that_is_closed_too_early_is_found() {
    fails("closed too early", without(Guard::LateClose, setup(2, 1, CONSOLE)), |violation| {
        *violation == Violation::Lost
    });
}

fn is_delete(violation: &Violation) -> bool {
    *violation == Violation::Touched(Write::Delete)
}

/// A deletion without each of the guards that keep it away from the hosts of others.
#[test]
fn a_deletion_of_anothers_host_is_found() {
    let console = Faults { console: 1, ..RETIRE };
    for (what, guard, faults) in [
        ("deletion without ledger", Guard::LedgerToDelete, RETIRE),
        ("deletion without a check", Guard::Check, console),
        ("deletion after a pause", Guard::Lifetime, console),
        ("deletion, name not read again", Guard::NameAgain, console),
    ] {
        fails(what, without(guard, setup(2, 1, faults)), is_delete);
    }
}

/// How the first version failed. Two of six are found above: names before the ledger, and the free name without one.
#[test]
fn a_crash_between_ledger_and_record() {
    fails("record after ledger", without(Guard::RecordFirst, setup(2, 1, CRASH)), |violation| {
        *violation == Violation::Lost
    });
}

#[test]
fn a_ledger_that_is_made_before_it_is_written() {
    let torn = Setup { torn: true, ..setup(2, 1, CRASH) };
    fails("torn ledger", torn, |violation| *violation == Violation::Lost);
}

#[test]
fn recovery_by_a_name_that_two_states_share() {
    let equal = Setup { equal_names: true, ..setup(2, 1, Faults { console: 1, ..CRASH }) };
    fails("recovery by name", without(Guard::ClaimNotName, equal), is_touched);
}

#[test]
fn a_pause_between_check_and_reboot() {
    let equal = Setup { equal_names: true, ..setup(2, 1, Faults { console: 1, reboot: 1, ..NONE }) };
    fails("reboot after a pause", without(Guard::Lifetime, equal), |violation| {
        *violation == Violation::Touched(Write::Reboot)
    });
}

/// Runs an operator until its process has ended so far.
fn run(world: &mut World, operator: u8, is_there: impl Fn(&At) -> bool) {
    for _ in 0..200 {
        let at = world.operators[usize::from(operator)].process.as_ref().map(|process| &process.at);
        if at.is_some_and(&is_there) {
            return;
        }
        world.happen(Event::Step(operator, Outcome::Plain)).unwrap();
    }
    panic!("it does not get there");
}

fn is_done(at: &At) -> bool {
    matches!(at, At::Done(_))
}

/// What cannot be prevented is seen, said, and mended.
#[test]
fn a_reinstall_later_than_the_gap_is_seen() {
    let (a, b) = (0, 1);
    let beyond = |faults| Setup { beyond: true, ..setup(2, 1, faults) };
    let mut world = World::new(beyond(Faults { console: 1, ..LATE }));
    let happen = |world: &mut World, event| world.happen(event).unwrap();
    happen(&mut world, Event::Start(a, Begin::Claim(0)));
    run(&mut world, a, is_done);
    happen(&mut world, Event::Step(a, Outcome::Plain));
    happen(&mut world, Event::Start(a, Begin::GiveBack));
    run(&mut world, a, |at| matches!(at, At::Send(Write::Reinstall, _)));
    happen(&mut world, Event::Step(a, Outcome::Late));
    happen(&mut world, Event::Console(0));
    happen(&mut world, Event::Up(0));
    let entry = world.entry(a, 0);
    assert_eq!(entry.class, Class::Quarantined);
    assert_eq!(entry.why, "unsettled reinstall on 0, sent 1970-01-01T00:00:00Z");
    run(&mut world, a, is_done);
    happen(&mut world, Event::Step(a, Outcome::Plain));
    happen(&mut world, Event::Step(a, Outcome::Plain));
    happen(&mut world, Event::Start(b, Begin::Claim(0)));
    run(&mut world, b, is_done);
    happen(&mut world, Event::Step(b, Outcome::Plain));
    assert_eq!(world.record(b).unwrap().progress.stage, Stage::Owned);
    // Now it takes effect, on somebody else's host.
    happen(&mut world, Event::Land(0, false));
    happen(&mut world, Event::Up(0));
    assert!(world.entry(b, 0).why.contains("reinstalled behind our back"));
    happen(&mut world, Event::Start(b, Begin::Resume));
    run(&mut world, b, is_done);
    let end = End::Owned { surprise: Some(Surprise::Reinstalled) };
    assert_eq!(world.operators[usize::from(b)].process.as_ref().unwrap().at, At::Done(end));
    assert_eq!(world.entry(b, 0).class, Class::Mine);
}

/// One holder for each installation: whatever is late, and however late it is.
#[test]
fn the_ledger_has_one_holder_even_so() {
    let faults = Faults { console: 1, ..LATE };
    let beyond = Setup { beyond: true, ..setup(2, 1, faults) };
    holds("later than the gap", beyond, if is_full() { 6_000_000 } else { 60_000 });
}

/// Somebody dies for ever while it claims a host, or returns one: the rules of age free it.
#[test]
fn what_is_left_behind_is_freed() {
    let (a, b) = (0, 1);
    let (mut reclaimed, mut finished) = (0, 0);
    for steps in 0..80 {
        let mut world = World::new(setup(2, 1, Faults { age: 1, ..NONE }));
        world.happen(Event::Start(a, Begin::Claim(0))).unwrap();
        for _ in 0..steps {
            let begin = world.begins(a).into_iter().find(|begin| *begin == Begin::GiveBack);
            let event = match (&world.operators[usize::from(a)].process, begin) {
                (None, Some(begin)) => Event::Start(a, begin),
                _ => Event::Step(a, Outcome::Plain),
            };
            world.happen(event).unwrap();
            if world.hosts[0].power != Power::Up {
                world.happen(Event::Up(0)).unwrap();
            }
        }
        let left =
            world.begins(b).into_iter().find(|begin| matches!(begin, Begin::Reclaim(_) | Begin::Finish(_)));
        let Some(left) = left else { continue };
        match left {
            Begin::Reclaim(_) => reclaimed += 1,
            _ => finished += 1,
        }
        world.happen(Event::Start(b, left)).unwrap();
        run(&mut world, b, is_done);
        assert!(world.hosts[0].ledger.is_none() && &*world.hosts[0].name == FREE, "{steps}");
        // And if it was not dead after all: nothing is lost.
        assert!(world.can_finish(&mut HashSet::new()), "{steps}");
    }
    assert!(reclaimed > 5 && finished > 2, "{reclaimed} {finished}");
}

//! A crash at every write of the state and at every side effect: whatever is asked for next, it ends as if nothing had
//! ever crashed.

use std::collections::BTreeSet;
use std::fs;

use fleet_engine::plan::Goal;
use fleet_engine::state::Recorded;
use fleet_test_provider::Server;

use super::crash::Crash;
use super::fleet::{FIRST, SECOND, THIRD};
use super::run::{Bench, Ended, is_empty};
use super::{Chance, is_full, tell};

/// Servers that are not fleet's at some time: if a crash comes first, they may stay so or go.
const LOOSE: [&str; 2] = ["left", "taken"];

/// What is asked of fleet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    First,
    Second,
    Third,
    Destroy,
}

use Turn::{Destroy, First, Second, Third};

/// What may be asked for after a crash: the same again, the same as before, something else, or nothing any more.
const NEXT: [Turn; 4] = [Second, First, Third, Destroy];

impl Turn {
    #[track_caller]
    fn take(self, bench: &Bench, parallelism: usize, crash: &Crash) -> Ended {
        let text = match self {
            First => FIRST,
            Second => SECOND,
            Third => THIRD,
            Destroy => return bench.run(Goal::Destroy, parallelism, crash),
        };
        bench.site.write("main.fleet.hcl", text);
        bench.run(Goal::Converge, parallelism, crash)
    }

    /// Takes the turn to its end.
    #[track_caller]
    fn finish(self, bench: &Bench) {
        assert_eq!(self.take(bench, 64, &Crash::never()), Ended::Done);
    }
}

/// A world with one server that somebody else made, after these turns.
fn after(turns: &[Turn]) -> Bench {
    let bench = Bench::new();
    bench.world.put(Server { name: "taken".into(), zone: "a".into(), size: 1, ..Server::default() });
    turns.iter().for_each(|turn| turn.finish(&bench));
    bench
}

/// What is there, without what the world decides: other servers are called by their names.
fn reality(bench: &Bench) -> Vec<String> {
    let servers = bench.world.servers();
    let named = |text: String| {
        servers.iter().fold(text, |text, server| text.replace(server.id.as_deref().unwrap(), &server.name))
    };
    let plain = |server: &Server| {
        named(format!("{:?}", Server { id: None, address: None, console_key: None, ..server.clone() }))
    };
    let is_loose = |server: &&Server| LOOSE.contains(&&*server.name);
    let note = fs::read_to_string(bench.site.path().join("note.txt")).map(named);
    let mut all: Vec<String> = servers.iter().filter(|s| !is_loose(s)).map(plain).chain(note.ok()).collect();
    all.sort();
    all
}

/// All is as it should be after a turn, and nothing is left to do.
#[track_caller]
fn check(bench: &Bench, turn: Turn, expected: &[String], story: &str) {
    assert_eq!(reality(bench), expected, "{story}");
    let state = bench.state();
    assert!(state.intents.is_empty(), "{story}: {:?}", state.intents);
    assert!(state.deposed.is_empty(), "{story}: {:?}", state.deposed);
    let id_of = |record: &Recorded| {
        let id = record.value.entries()?.get("id")?.as_str().map(str::to_owned);
        id.filter(|_| &*record.kind == "test_server")
    };
    let recorded: BTreeSet<String> = state.recorded.values().filter_map(id_of).collect();
    let servers = bench.world.servers();
    let ids = |server: &Server| {
        let id = server.id.clone().unwrap();
        let is_ours = !LOOSE.contains(&&*server.name) || recorded.contains(&id);
        is_ours.then_some(id)
    };
    assert_eq!(recorded, servers.iter().filter_map(ids).collect(), "{story}");
    for name in LOOSE {
        assert!(servers.iter().filter(|server| server.name == name).count() <= 1, "{story}");
    }
    if turn != Destroy {
        let plan = bench.plan();
        assert!(is_empty(&plan), "{story}: {plan:?}");
    }
}

/// What is there after each turn, if nothing ever crashes.
fn without_a_crash() -> impl Fn(Turn) -> Vec<String> {
    let bench = after(&[]);
    let expected = [First, Second, Third, Destroy].map(|turn| {
        turn.finish(&bench);
        let found = reality(&bench);
        check(&bench, turn, &found, "without a crash");
        found
    });
    move |turn| expected[turn as usize].clone()
}

/// Crashes a turn at every boundary, each time in a world of its own, and takes some of the next turns to their ends.
/// Unless there is time for all, one boundary in `usual` will do. Says which there are.
fn crash_everywhere(
    before: &[Turn],
    crashed: Turn,
    next: &[Turn],
    parallelism: usize,
    usual: usize,
) -> Vec<String> {
    let (expected, start) = (without_a_crash(), after(before));
    for number in (1..).step_by(if is_full() { 1 } else { usual }) {
        // One of them after each crash, unless there is time for all.
        let next = if is_full() { next } else { &[next[number % next.len()]] };
        for turn in next {
            let (bench, crash) = (start.copy(), Crash::at(number));
            if crashed.take(&bench, parallelism, &crash) == Ended::Done {
                return crash.passed();
            }
            let story = format!("crash {number}, {}, then {turn:?}", crash.passed().last().unwrap());
            turn.finish(&bench);
            check(&bench, *turn, &expected(*turn), &story);
            Destroy.finish(&bench);
            check(&bench, Destroy, &expected(Destroy), &story);
        }
    }
    unreachable!("some run comes to its end")
}

/// Says how many points there were.
#[track_caller]
fn report(points: &[String], at_least: usize) {
    tell(&format!("{} points: {points:#?}", points.len()));
    assert!(points.len() >= at_least, "{}", points.len());
}

#[test]
fn a_crash_at_every_point_of_a_first_apply() {
    report(&crash_everywhere(&[], First, &[First, Second], 1, 1), 86);
}

#[test]
fn a_crash_at_every_point_of_an_apply_that_changes_everything() {
    report(&crash_everywhere(&[First], Second, &NEXT, 1, 1), 110);
}

#[test]
fn a_crash_at_every_point_of_an_apply_of_many_things_at_once() {
    report(&crash_everywhere(&[First], Second, &NEXT, 64, 3), 110);
}

#[test]
fn a_crash_at_every_point_of_an_apply_that_goes_back() {
    report(&crash_everywhere(&[First, Second], First, &[First, Third, Destroy], 1, 2), 100);
}

#[test]
fn a_crash_at_every_point_of_a_destroy() {
    report(&crash_everywhere(&[First, Second], Destroy, &[Destroy, Third], 1, 1), 76);
}

#[test]
fn crashes_of_those_who_clean_up_after_crashes() {
    let (expected, start) = (without_a_crash(), after(&[First]));
    let mut chance = Chance::new(11);
    for _ in 0..if is_full() { 1_000 } else { 40 } {
        let bench = start.copy();
        let mut story = String::new();
        let mut last = Second;
        for next in [Second, chance.pick(&NEXT), chance.pick(&NEXT)] {
            // What is gone cannot be taken in.
            let is_there = bench.world.servers().iter().any(|server| server.name == "taken");
            last = if next == Second && !is_there { Third } else { next };
            let (crash, parallelism) = (Crash::at(chance.below(100) + 1), chance.pick(&[1, 64]));
            let ended = last.take(&bench, parallelism, &crash);
            story += &format!("{last:?} {ended:?} {:?}, then ", crash.passed().last());
        }
        last.finish(&bench);
        check(&bench, last, &expected(last), &story);
        Destroy.finish(&bench);
        check(&bench, Destroy, &expected(Destroy), &story);
    }
}

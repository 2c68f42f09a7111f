//! What fleet is held against, by numbers of the same run.

use std::collections::BTreeSet;
use std::time::Duration;

use super::table::{Case, Results, Sample, median};
use super::tools::{Name, Phase};

/// fleet may take so much of what the floor takes for a no-op.
const NO_OP: f64 = 1.25;
/// And so much for a first run.
const FIRST: f64 = 1.5;
/// And so much of the floor with connections that are up, if it has kept its own.
const KEPT: f64 = 2.0;
/// So many times less than a rival it takes for a no-op.
const RIVALS: [(Name, f64); 3] = [(Name::Ansible, 40.0), (Name::Mitogen, 10.0), (Name::Pyinfra, 4.0)];
/// So many times faster than pyinfra it is on a slow way.
const SLOW: f64 = 6.0;
/// And waits for so many round trips more than the floor.
const TURNS: f64 = 3.0;

/// A number, and what it is held against.
struct Goal {
    what: String,
    is: f64,
    limit: f64,
    at_most: bool,
}

impl Goal {
    fn line(&self) -> String {
        let Goal { what, is, limit, at_most } = self;
        let (sign, is_met) = if *at_most { ("≤", is <= limit) } else { ("≥", is >= limit) };
        let unit = if what.contains("round trips") { "" } else { "×" };
        format!(
            "| {what} | {sign} {limit}{unit} | {is:.2}{unit} | {} |\n",
            if is_met { "yes" } else { "**no**" }
        )
    }
}

/// All goals that can be judged; empty if none can.
pub(super) fn table(results: &Results, cases: &BTreeSet<Case>) -> String {
    let goals: Vec<Goal> = cases.iter().flat_map(|case| of_case(results, *case)).collect();
    if goals.is_empty() {
        return String::new();
    }
    let lines: String = goals.iter().map(Goal::line).collect();
    format!("| goal | | measured | met |\n|---|---|---|---|\n{lines}")
}

fn of_case(results: &Results, case: Case) -> Vec<Goal> {
    let of = |name, phase| median(results, case, name, phase);
    let mut goals = Vec::new();
    let mut add = |what: String, is: f64, limit: f64, at_most: bool| {
        goals.push(Goal { what: format!("{case}: {what}"), is, limit, at_most });
    };
    let walls = |a: &Sample, b: &Sample| ratio(a.wall, b.wall);
    let cpus = |a: &Sample, b: &Sample| ratio(a.cpu(), b.cpu());
    let is_slow = case.delay > Duration::ZERO;
    for (phase, limit, name) in [(Phase::NoOp, NO_OP, "no-op"), (Phase::First, FIRST, "first")] {
        if let (Some(ours), Some(floor)) = (of(Name::Fleet, phase), of(Name::Floor, phase)) {
            if !is_slow {
                add(format!("{name}, wall, of the floor's"), walls(&ours, &floor), limit, true);
                add(format!("{name}, CPU, of the floor's"), cpus(&ours, &floor), limit, true);
            }
            if let (Some(ours), Some(floor)) = (ours.turns, floor.turns) {
                add(format!("{name}, round trips more than the floor"), ours - floor, TURNS, true);
            }
        }
    }
    let kept = (of(Name::FleetKept, Phase::NoOp), of(Name::FloorUp, Phase::NoOp));
    if let (Some(ours), Some(floor)) = kept {
        add("no-op, connections kept, wall, of the floor's".into(), walls(&ours, &floor), KEPT, true);
    }
    for (rival, limit) in RIVALS {
        let pair = (of(rival, Phase::NoOp), of(Name::Fleet, Phase::NoOp));
        if let (Some(theirs), Some(ours)) = pair {
            let title = rival.title();
            if is_slow {
                if rival == Name::Pyinfra {
                    add(format!("no-op, wall, {title}'s of ours"), walls(&theirs, &ours), SLOW, false);
                }
            } else {
                add(format!("no-op, wall, {title}'s of ours"), walls(&theirs, &ours), limit, false);
                add(format!("no-op, CPU, {title}'s of ours"), cpus(&theirs, &ours), limit, false);
            }
        }
    }
    goals
}

fn ratio(a: Duration, b: Duration) -> f64 {
    a.as_secs_f64() / b.as_secs_f64()
}

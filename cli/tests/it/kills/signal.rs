//! `fleet apply` as a process of its own, killed with SIGKILL at moments that chance picks.
//!
//! A life is a fleet that is made, changed a few times and destroyed, and every one of these runs is killed on its way.
//! The moment is a number of changes that the world was asked for, and a few thousandths of a second more. The state
//! tells afterwards what moment it was.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;
use std::time::Duration;

use fleet_engine::state::State;
use fleet_test_provider::{Operation, Seen};

use super::moment::{Killed, Moment, report, steps_of_last_run};
use super::rounds::{SERVERS, changes, configuration, kept, names};
use super::{Chance, each, is_full};
use crate::laws::Lab;

/// How often the fleet of a life is made or changed before it is destroyed.
const ROUNDS: usize = 4;

#[test]
fn whenever_it_is_killed_the_next_run_converges() {
    let n_lives = if is_full() { 50 } else { 2 };
    let moments = each(n_lives, 2, life).concat();
    let (destroys, applies): (Vec<_>, Vec<_>) = moments.iter().partition(|moment| moment.is_destroy);
    report("apply", &applies);
    report("destroy", &destroys);
    let part = |is_so: fn(&Moment) -> bool| {
        applies.iter().filter(|moment| is_so(moment)).count() as f64 / applies.len() as f64
    };
    assert!(part(Moment::is_between) >= 0.8, "{applies:#?}");
    assert!(part(|moment| moment.n_open > 0) >= 0.25, "{applies:#?}");
}

/// One life. Says at which moments it was interrupted.
fn life(seed: usize) -> Vec<Moment> {
    let lab = Lab::new("");
    let mut chance = Chance::new(seed as u64);
    let mut moments = Vec::new();
    let mut ids = BTreeMap::new();
    for round in 0..ROUNDS {
        lab.write(&configuration(round));
        let story = format!("life {seed}, round {round}");
        let killed = kill(&lab, "apply", changes(round), &mut chance);
        let is_there = |server: &fleet_test_provider::Server| kept().contains(&server.name);
        lab.apply();
        moments.push(killed.settled_by_the_next(&lab.site));
        check(&lab, round, &story);
        let now = lab.world.servers().into_iter().filter(is_there).map(|server| (server.name, server.id));
        let now: BTreeMap<_, _> = now.collect();
        assert!(round == 0 || ids == now, "{story}: what is only changed keeps its id");
        ids = now;
    }
    let killed = kill(&lab, "destroy", SERVERS, &mut chance);
    lab.destroy();
    moments.push(killed.settled_by_the_next(&lab.site));
    assert!(lab.world.servers().is_empty(), "life {seed}: {:?}", lab.world.servers());
    let State { recorded, deposed, intents, .. } = lab.state();
    assert!(recorded.is_empty() && deposed.is_empty() && intents.is_empty(), "life {seed}");
    moments
}

/// Starts a run, and kills it when the world was asked for some of its changes.
fn kill(lab: &Lab, command: &str, n_changes: usize, chance: &mut Chance) -> Killed {
    // Once in a while, before the first or after the last.
    let number = chance.below(n_changes + n_changes / 20);
    let jitter = Duration::from_micros(chance.below(4_000) as u64);
    let writes = |seen: &Seen| {
        let writing = [Operation::Create, Operation::Update, Operation::Delete];
        writing.iter().filter_map(|operation| seen.calls.get(operation)).sum::<usize>()
    };
    let lists = |seen: &Seen| seen.calls.get(&Operation::List).copied().unwrap_or_default();
    let before = lab.world.seen();
    lab.world.set_latency(Duration::from_millis(4));
    let mut child = lab.site.spawn_unheard([command, "--auto-approve"]);
    lab.world.until(|seen| {
        let written = writes(seen) - writes(&before);
        lists(seen) > lists(&before)
            && written >= number.min(n_changes)
            && (number < n_changes || seen.in_flight == 0)
    });
    thread::sleep(jitter);
    child.kill().unwrap();
    let n_in_flight = lab.world.seen().in_flight;
    child.wait().unwrap();
    // Whatever was asked for is carried out before anybody looks; `late` is about what is not.
    lab.world.until_quiet();
    lab.world.set_latency(Duration::ZERO);
    Killed {
        is_destroy: command == "destroy",
        done: steps_of_last_run(&lab.site),
        n_open: lab.state().intents.len(),
        n_in_flight,
    }
}

/// All is as declared: everything once, nothing that is not known, nothing known that is not there.
fn check(lab: &Lab, round: usize, story: &str) {
    let plan = lab.site.fleet(["plan"]).ok();
    assert_eq!(plan, "No changes.\n", "{story}");
    let servers = lab.world.servers();
    let found: Vec<&String> = servers.iter().map(|server| &server.name).collect();
    assert_eq!(found.len(), SERVERS, "{story}");
    assert_eq!(found.into_iter().cloned().collect::<BTreeSet<_>>(), names(round), "{story}");
    let State { recorded, deposed, intents, .. } = lab.state();
    let ids: BTreeSet<String> = servers.into_iter().filter_map(|server| server.id).collect();
    let id_of = |record: &fleet_engine::state::Recorded| {
        record.value.entries().and_then(|entries| entries.get("id")?.as_str().map(str::to_owned))
    };
    assert_eq!(recorded.values().filter_map(id_of).collect::<BTreeSet<_>>(), ids, "{story}");
    assert!(recorded.len() == SERVERS && deposed.is_empty() && intents.is_empty(), "{story}");
}

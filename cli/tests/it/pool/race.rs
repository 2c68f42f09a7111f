//! Two for one host.

use std::thread;
use std::time::Duration;

use fleet_cli::Exit;
use regex::Regex;

use super::world::{Runners, World, ran};
use crate::kills::{Chance, each, is_full, tell};

/// Somebody whose hosts let in whoever has the key that the vendor knows already: two who race share no resource.
fn racer<'w>(world: &'w World, env: &str) -> Runners<'w> {
    let runners = world.runners();
    let text = runners.site.read("main.fleet.hcl");
    let key = Regex::new(r#"(?s)resource "scaleway_ssh_key".*?\n}\n"#).unwrap();
    let text = key.replace(&text, "").replace("  ssh_keys  = [scaleway_ssh_key.fleet]\n", "");
    runners.site.write("main.fleet.hcl", &text);
    Runners { env: env.into(), ..runners }
}

#[test]
fn one_has_the_last_host_and_the_other_says_so() {
    let (n_worlds, n_races) = if is_full() { (5, 20) } else { (3, 1) };
    let wins = each(n_worlds, n_worlds, |seed| races(seed, n_races));
    let total = |who: usize| wins.iter().map(|wins| wins[who]).sum::<usize>();
    tell(&format!("{} races: {} to {}", n_worlds * n_races, total(0), total(1)));
    assert_eq!(total(0) + total(1), n_worlds * n_races);
}

/// Some races for the one host of a world. Says how often each of the two won.
fn races(seed: usize, n_races: usize) -> [usize; 2] {
    let world = World::of(1);
    // In some worlds, both would call it the same.
    let names = if seed.is_multiple_of(2) { ["one", "other"] } else { ["same", "same"] };
    let racers = names.map(|env| racer(&world, env));
    let mut chance = Chance::new(seed as u64);
    let mut wins = [0, 0];
    for race in 0..n_races {
        let story = format!("world {seed}, race {race}");
        let apply = |racer: &Runners<'_>| {
            racer.command(&["apply", "--auto-approve", "--var", "size=1"]).spawn().unwrap()
        };
        let first = chance.below(2);
        let one = apply(&racers[first]);
        thread::sleep(Duration::from_millis(chance.below(100) as u64));
        let two = apply(&racers[1 - first]);
        let ended = [one, two].map(|child| ran(child.wait_with_output().unwrap()));
        let won: Vec<usize> = (0..2).filter(|at| ended[*at].exit == Exit::Done).collect();
        assert_eq!(won.len(), 1, "{story}: {ended:#?}");
        let (winner, loser) = (&racers[(first + won[0]) % 2], &racers[(first + 1 - won[0]) % 2]);
        let said = &ended[1 - won[0]].stderr;
        assert!(said.contains("no host of `pool.minis` is free"), "{story}: {said}");
        wins[(first + won[0]) % 2] += 1;
        winner.check(1, &story);
        let holder = world.accounts().into_values().next().unwrap().ledger.unwrap();
        assert_eq!(Some(&*holder.lineage), winner.state().lineage.as_deref(), "{story}");
        let left = loser.state().recorded;
        assert!(left.is_empty(), "{story}: who lost has nothing: {left:?}");
        winner.destroy().ok();
        winner.check(0, &story);
        // Nothing of the loser is left that would be given back.
        loser.destroy().ok();
        loser.check(0, &story);
    }
    assert_eq!(world.check_log(&format!("world {seed}")), n_races);
    wins
}

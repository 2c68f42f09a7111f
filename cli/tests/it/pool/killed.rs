//! `fleet apply` and `fleet destroy`, killed with SIGKILL at moments that chance picks.
//!
//! A life is two runners that are made and given back, and both runs are killed on their way. The moment is a number of
//! requests that the vendor was asked, and some more of the time that is spent on the Macs and with waiting.

use std::process::Stdio;
use std::thread;
use std::time::Duration;

use fleet_lab::scaleway::ServerStatus;

use super::world::{Runners, World};
use crate::kills::moment::{Killed, Moment, report, steps_of_last_run};
use crate::kills::{Chance, each, is_full, tell};

const MACS: usize = 3;
const SIZE: usize = 2;

/// About so many requests are made by a run that nobody kills.
const APPLY: usize = 26;
const DESTROY: usize = 34;

/// Between two requests may be so much time.
const BETWEEN: Duration = Duration::from_millis(700);

#[test]
fn whenever_it_is_killed_no_host_is_lost() {
    let (n_lives, n_threads) = if is_full() { (150, 6) } else { (3, 3) };
    let moments = each(n_lives, n_threads, life).concat();
    let (destroys, applies): (Vec<_>, Vec<_>) = moments.iter().partition(|moment| moment.is_destroy);
    assert_eq!((applies.len(), destroys.len()), (n_lives, n_lives));
    report("apply", &applies);
    report("destroy", &destroys);
    if is_full() {
        let part = |moments: &[&Moment]| {
            moments.iter().filter(|moment| moment.is_between()).count() as f64 / moments.len() as f64
        };
        assert!(part(&applies) >= 0.5, "{applies:#?}");
        assert!(part(&destroys) >= 0.5, "{destroys:#?}");
    }
}

#[test]
fn a_host_that_is_installed_anew_when_the_run_dies_goes_back() {
    let world = World::of(1);
    let runners = world.runners();
    runners.apply(1).ok();
    let mut child = runners.command(&["destroy", "--auto-approve"]).spawn().unwrap();
    while world.lab.servers()[0].status != ServerStatus::Reinstalling {
        assert_eq!(child.try_wait().unwrap(), None, "it ended before it could be killed");
        thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    // Nobody can ask such a host whether somebody works there: that was done before.
    runners.destroy().ok();
    runners.check(0, "killed while it was installed anew");
    world.check_installs(1, "killed while it was installed anew");
}

/// One life. Says at which moments it was interrupted.
fn life(seed: usize) -> Vec<Moment> {
    let world = World::of(MACS);
    let runners = world.runners();
    let mut chance = Chance::new(seed as u64);
    let story = format!("life {seed}");
    let killed = kill(&runners, "apply", APPLY, &mut chance);
    runners.apply(SIZE).ok();
    let made = killed.settled_by_the_next(&runners.site);
    runners.check(SIZE, &story);
    let killed = kill(&runners, "destroy", DESTROY, &mut chance);
    runners.destroy().ok();
    let gone = killed.settled_by_the_next(&runners.site);
    runners.check(0, &story);
    world.check_log(&story);
    world.check_installs(SIZE, &story);
    tell(&format!(
        "{story}: killed at step {} of {}, {} of {}",
        made.done, made.total, gone.done, gone.total
    ));
    vec![made, gone]
}

/// Starts a run, and kills it when the vendor was asked some of its requests.
fn kill(runners: &Runners<'_>, command: &str, n_requests: usize, chance: &mut Chance) -> Killed {
    let until = runners.world.n_requests() + chance.below(n_requests) as u64;
    let jitter = BETWEEN.mul_f64(chance.below(1000) as f64 / 1000.0);
    let size = format!("size={SIZE}");
    let mut args = vec![command, "--auto-approve"];
    if command == "apply" {
        args.extend(["--var", &size]);
    }
    let mut child = runners.command(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while runners.world.n_requests() < until && child.try_wait().unwrap().is_none() {
        thread::sleep(Duration::from_millis(5));
    }
    thread::sleep(jitter);
    child.kill().unwrap();
    child.wait().unwrap();
    let unanswered = runners.world.lab.requests().iter().filter(|entry| entry.status.is_none()).count();
    let is_begun = runners.site.path().join(fleet_store::DEFAULT_PATH).exists();
    Killed {
        is_destroy: command == "destroy",
        done: if is_begun { steps_of_last_run(&runners.site) } else { 0 },
        n_open: if is_begun { runners.state().intents.len() } else { 0 },
        n_in_flight: unanswered,
    }
}

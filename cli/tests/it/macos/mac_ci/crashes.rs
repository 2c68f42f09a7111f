//! fleet is killed at a call to one of the services, whatever call it is: before it has an effect, or when it had it and before
//! fleet hears of it. The next run converges; nothing was made twice, and nothing is left when all is gone.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::process::ExitStatusExt as _;
use std::process::Stdio;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use fleet_lab::gate::{Pass, When};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value as Json, json};

use super::{OPTIONS, World, words};
use crate::kills::{each, is_full, tell};

/// So many lives are ended in the usual run.
const SOME: usize = 2;
/// What is given for an hour and made by every run that needs it.
const ISSUED: [&str; 3] = ["/keys", "-token", "/access_tokens"];

/// A call at which fleet is killed: its number in the run, and when.
type Point = (usize, When);

/// All calls of a run, one after the other; of a question that is asked again and again, the first.
fn points(passed: &[Pass]) -> Vec<Point> {
    let mut points = Vec::new();
    for (index, pass) in passed.iter().enumerate() {
        match (pass.changes(), index.checked_sub(1).map(|before| &passed[before])) {
            (true, _) => points.extend([(index + 1, When::Before), (index + 1, When::After)]),
            (false, Some(before)) if before == pass => {}
            (false, _) => points.push((index + 1, When::After)),
        }
    }
    points
}

/// A call, without what is asked for with it.
fn name_of(pass: &Pass) -> String {
    format!("{} {}", pass.method, pass.path)
}

/// How often each thing was made.
fn made<'p>(passed: impl Iterator<Item = &'p Pass>) -> BTreeMap<String, usize> {
    let mut made = BTreeMap::new();
    let is_issued = |pass: &&Pass| ISSUED.iter().any(|issued| pass.path.ends_with(issued));
    for pass in passed.filter(|pass| pass.method == "POST" && pass.changes() && !is_issued(pass)) {
        *made.entry(whichever(&pass.path)).or_default() += 1;
    }
    made
}

/// A path of the vendor for whichever server it is: which one a slot gets differs from one world to the next.
fn whichever(path: &str) -> String {
    let parts: Vec<&str> = path.split('/').collect();
    let of_server = |at: usize| at > 0 && parts[at - 1] == "servers";
    let parts = (0..parts.len()).map(|at| if of_server(at) { "-" } else { parts[at] });
    parts.collect::<Vec<_>>().join("/")
}

/// What each service has of the fleets, without what differs from one world to the next.
fn gist(views: &Json) -> Json {
    let names = |list: &Json| -> Vec<Json> {
        let mut names: Vec<String> =
            list.as_array().unwrap().iter().map(|one| one["name"].to_string()).collect();
        names.sort();
        names.into_iter().map(Json::from).collect()
    };
    json!({
        "kubernetes": views["kubernetes"], "devices": names(&views["devices"]), "runners": names(&views["runners"]),
        "free": views["free"], "networks": names(&views["networks"]), "attached": names(&views["attached"]),
    })
}

/// A run that nobody kills.
struct Undisturbed {
    apply: Vec<Pass>,
    destroy: Vec<Pass>,
    gist: Json,
}

impl Undisturbed {
    fn new() -> Undisturbed {
        let world = World::new(4);
        let gate = world.rented.lab.gate();
        gate.await_number(usize::MAX, When::After, || ());
        world.run("apply", &["--auto-approve"]).ok();
        let apply = gate.passed();
        let gist = gist(&world.views());
        gate.await_number(usize::MAX, When::After, || ());
        world.run("destroy", &["--auto-approve"]).ok();
        Undisturbed { apply, destroy: gate.passed(), gist }
    }
}

/// A run that was killed.
struct Killed {
    /// The calls that had an effect.
    passed: Vec<Pass>,
    /// The call at which it was killed; none if it was done before.
    hit: Option<Pass>,
}

/// Runs fleet, and kills it at a call.
fn killed(world: &World, command: &str, (number, when): Point) -> Killed {
    let gate = world.rented.lab.gate();
    let victim = Arc::new(OnceLock::new());
    let known = Arc::clone(&victim);
    gate.await_number(number, when, move || {
        kill_process(*known.wait(), Signal::KILL).unwrap();
    });
    let words = words(command, "staging.vars.hcl", &[OPTIONS, &["--auto-approve"]].concat());
    let mut fleet = world.rented.site.command_with_path(words);
    fleet.envs(world.rented.environment()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut fleet = fleet.spawn().unwrap();
    victim.set(Pid::from_child(&fleet)).unwrap();
    let ended = fleet.wait().unwrap();
    let mut passed = gate.passed();
    let hit = passed.get(number - 1).cloned();
    let expected = if hit.is_some() { (None, Some(Signal::KILL.as_raw())) } else { (Some(0), None) };
    assert_eq!((ended.code(), ended.signal()), expected, "{command} at {number}: {passed:#?}");
    if when == When::Before && hit.is_some() {
        passed.remove(number - 1);
    }
    gate.await_number(usize::MAX, When::After, || ());
    Killed { passed, hit }
}

/// A life: it is made and it goes, and both times fleet is killed on the way. The calls at which it was killed are told.
fn live(undisturbed: &Undisturbed, apply: Point, destroy: Point) -> [Option<Pass>; 2] {
    let world = World::new(4);
    let nothing = world.views();
    let story = format!(
        "killed at {apply:?}, {:?}, and {destroy:?}, {:?}",
        undisturbed.apply[apply.0 - 1],
        undisturbed.destroy[destroy.0 - 1]
    );
    let gate = world.rented.lab.gate();
    let first = killed(&world, "apply", apply);
    world.run("apply", &["--auto-approve"]).ok();
    let second = gate.passed();
    let again = world.run("plan", &[]).ok();
    assert!(again.starts_with("No changes."), "{story}: {again}");
    assert_eq!(gist(&world.views()), undisturbed.gist, "{story}");
    assert_eq!(
        made(first.passed.iter().chain(&second)),
        made(undisturbed.apply.iter()),
        "{story}: made twice"
    );
    let removed = second.iter().find(|pass| pass.method == "DELETE" && !pass.path.contains("/keys/"));
    assert_eq!(removed, None, "{story}: made, and in the way");

    let last = killed(&world, "destroy", destroy);
    world.run("destroy", &["--auto-approve"]).ok();
    // A key that a killed run could not take back ends by itself.
    world.rented.lab.advance(Duration::from_secs(3700));
    world.check_views(&nothing, &story);
    [first.hit, last.hit]
}

#[test]
fn whatever_call_it_is_killed_at_the_next_run_converges() {
    let undisturbed = Undisturbed::new();
    let (apply, destroy) = (points(&undisturbed.apply), points(&undisturbed.destroy));
    let all = apply.len().max(destroy.len());
    let n_lives = if is_full() { all } else { SOME };
    // Spread over both runs.
    let at = |points: &[Point], life: usize| points[(2 * life + 1) * points.len() / (2 * n_lives)];
    let lives = each(n_lives, 2, |life| live(&undisturbed, at(&apply, life), at(&destroy, life)));
    for (run, (name, points, calls)) in
        [("apply", &apply, &undisturbed.apply), ("destroy", &destroy, &undisturbed.destroy)]
            .into_iter()
            .enumerate()
    {
        let hit: Vec<String> = lives.iter().filter_map(|life| life[run].as_ref()).map(name_of).collect();
        // Questions are repeated as often as it takes, so that a run may be over before the last points of another.
        assert!(2 * hit.len() > n_lives, "{name} was killed at {} of {n_lives} points", hit.len());
        let (n_hit, distinct) = (hit.len(), hit.into_iter().collect::<BTreeSet<_>>());
        tell(&format!(
            "Killed {name} at {n_hit} of {} points in {} calls, which are {} different ones: {distinct:#?}",
            points.len(),
            calls.len(),
            distinct.len()
        ));
    }
}

//! fleet is killed at a call to one of the services, whatever call it is: before it has an effect, or when it had it and before
//! fleet hears of it. The next run converges; nothing was made twice, and nothing is left when all is gone.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::process::ExitStatusExt as _;
use std::process::Stdio;
use std::sync::{Arc, LazyLock, OnceLock};
use std::time::Duration;

use fleet_lab::gate::{Pass, When};
use regex::Regex;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value as Json, json};

use super::{OPTIONS, World, words};
use crate::kills::{each, is_full, tell};

/// So many lives are ended in the usual run.
const SOME: usize = 2;
/// What is given for an hour and made by every run that needs it.
const ISSUED: [&str; 3] = ["/keys", "-token", "/access_tokens"];

/// A call at which fleet is killed.
#[derive(Clone, Debug)]
struct Point {
    name: String,
    /// The first call of that name is 1.
    occurrence: usize,
    when: When,
    /// Whether every run that gets there makes this call. How often it asks before something is so is not said.
    is_certain: bool,
}

/// All calls of a run, one after the other; of a question that is asked again and again, the first.
fn points(passed: &[Pass]) -> Vec<Point> {
    let (mut points, mut occurrences) = (Vec::new(), BTreeMap::<String, usize>::new());
    for (index, pass) in passed.iter().enumerate() {
        let name = name_of(pass);
        let occurrence = *occurrences.entry(name.clone()).and_modify(|so_far| *so_far += 1).or_insert(1);
        let is_certain = pass.changes() || occurrence == 1;
        let at = |when| Point { name: name.clone(), occurrence, when, is_certain };
        let is_repeated = index.checked_sub(1).is_some_and(|before| passed[before] == *pass);
        match pass.changes() {
            true => points.extend([at(When::Before), at(When::After)]),
            false if is_repeated => {}
            false => points.push(at(When::After)),
        }
    }
    points
}

/// A call as it is named in every world: without what services call things that they made.
fn name_of(pass: &Pass) -> String {
    static GIVEN: LazyLock<Regex> =
        LazyLock::new(|| Regex::new("^([0-9a-f]{8}-[0-9a-f-]{27}|[kn][0-9a-f]+CNTRL|[0-9]+)$").unwrap());
    let path: Vec<_> = pass.path.split('/').map(|part| GIVEN.replace(part, "*")).collect();
    let tried = if pass.query.contains("dryRun=") { " (dry run)" } else { "" };
    format!("{} {}{tried}", pass.method, path.join("/"))
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
        gate.begin_anew();
        world.run("apply", &["--auto-approve"]).ok();
        let apply = gate.passed();
        let gist = gist(&world.views());
        gate.begin_anew();
        world.run("destroy", &["--auto-approve"]).ok();
        Undisturbed { apply, destroy: gate.passed(), gist }
    }
}

/// A run that was killed.
struct Killed {
    /// The calls that had an effect.
    passed: Vec<Pass>,
    /// Whether it came to the call at which it was to be killed.
    is_hit: bool,
}

/// Runs fleet, and kills it at a call.
fn killed(world: &World, command: &str, point: &Point) -> Killed {
    let gate = world.rented.lab.gate();
    let victim = Arc::new(OnceLock::new());
    let known = Arc::clone(&victim);
    let (name, mut still) = (point.name.clone(), point.occurrence);
    let is_it = move |pass: &Pass| {
        still -= usize::from(name_of(pass) == name);
        still == 0
    };
    gate.await_that(is_it, point.when, move || kill_process(*known.wait(), Signal::KILL).unwrap());
    let words = words(command, "staging.vars.hcl", &[OPTIONS, &["--auto-approve"]].concat());
    let mut fleet = world.rented.site.command_with_path(words);
    fleet.envs(world.rented.environment()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut fleet = fleet.spawn().unwrap();
    victim.set(Pid::from_child(&fleet)).unwrap();
    let ended = fleet.wait().unwrap();
    let mut passed = gate.passed();
    let mut of_that_name = passed.iter().enumerate().filter(|(_, pass)| name_of(pass) == point.name);
    let hit = of_that_name.nth(point.occurrence - 1).map(|(index, _)| index);
    let expected = if hit.is_some() { (None, Some(Signal::KILL.as_raw())) } else { (Some(0), None) };
    assert_eq!((ended.code(), ended.signal()), expected, "{command} at {point:?}: {passed:#?}");
    if let (When::Before, Some(index)) = (point.when, hit) {
        passed.remove(index);
    }
    gate.begin_anew();
    Killed { passed, is_hit: hit.is_some() }
}

/// The runs that were killed at each of their points, as far as they came there.
#[derive(Default)]
struct Hits {
    hit: Vec<Point>,
    missed: Vec<Point>,
}

impl Hits {
    fn add(&mut self, point: &Point, is_hit: bool) {
        if is_hit { &mut self.hit } else { &mut self.missed }.push(point.clone());
    }

    /// Every call that is made in every run was hit, and it is told which.
    fn check(&self, command: &str, calls: usize, points: usize) {
        let certain: Vec<&Point> = self.missed.iter().filter(|missed| missed.is_certain).collect();
        assert!(certain.is_empty(), "{command} never came to {certain:#?}");
        let distinct: BTreeSet<&str> = self.hit.iter().map(|point| &*point.name).collect();
        let changing = self.hit.iter().filter(|point| point.when == When::Before).count();
        tell(&format!(
            "{command} was killed at {} of {points} points in {calls} calls, {changing} of which change something. {} are \
             different: {distinct:#?}",
            self.hit.len(),
            distinct.len()
        ));
    }
}

/// A life: it is made and it goes, and both times fleet is killed on the way. It is told whether it was.
fn live(undisturbed: &Undisturbed, apply: &Point, destroy: &Point) -> [bool; 2] {
    let world = World::new(4);
    let nothing = world.views();
    let story = format!("killed at {apply:?} and {destroy:?}");
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
    [first.is_hit, last.is_hit]
}

#[test]
fn whatever_call_it_is_killed_at_the_next_run_converges() {
    let undisturbed = Undisturbed::new();
    let (apply, destroy) = (points(&undisturbed.apply), points(&undisturbed.destroy));
    let all = apply.len().max(destroy.len());
    let n_lives = if is_full() { all } else { SOME };
    // Spread over both runs.
    let at = |points: &[Point], life: usize| points[(2 * life + 1) * points.len() / (2 * n_lives)].clone();
    let lives = each(n_lives, 2, |life| {
        let points = [at(&apply, life), at(&destroy, life)];
        let hits = live(&undisturbed, &points[0], &points[1]);
        (points, hits)
    });
    let mut hits = [Hits::default(), Hits::default()];
    for (points, is_hit) in &lives {
        hits.iter_mut().zip(points).zip(is_hit).for_each(|((hits, point), is_hit)| hits.add(point, *is_hit));
    }
    hits[0].check("apply", undisturbed.apply.len(), apply.len());
    hits[1].check("destroy", undisturbed.destroy.len(), destroy.len());
}

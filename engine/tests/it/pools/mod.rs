//! Fleets on pools behind a vendor, from the plan to the machines and back.

mod world;

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::{Arc, Mutex};

use fleet_derive::Schema;
use fleet_engine::apply::{Hands, Pace, apply};
use fleet_engine::attributes::Attributes;
use fleet_engine::config::load;
use fleet_engine::event::Outcome;
use fleet_engine::expand::{Depth, Surroundings, Symbols};
use fleet_engine::host::{Holder, HostThing};
use fleet_engine::interrupt::Interrupt;
use fleet_engine::kind::Kind;
use fleet_engine::plan::{self, Goal, Options, Pooling, Sources};
use fleet_engine::pool::{Machines, Rule, Vendor, VendorReader};
use fleet_engine::provider::Provider;
use fleet_engine::registry::Registry;
use fleet_engine::resource::{BoxFuture, Error};
use fleet_engine::schema::{Entry, Place, Sort};
use fleet_engine::seal::Sealer;
use fleet_engine::state::{State, Store, StoreError, StoreErrorKind, Write};
use fleet_lang::outside::Memory;
use fleet_syntax::{Diagnostic, Sources as Texts};

use self::world::{Api, LEDGER, Ways, World};
use crate::host::Notes;

/// A provider that rents machines out.
struct Rent(Arc<World>);

/// Nothing to say.
#[derive(Clone, Debug, PartialEq, Schema)]
struct NoSettings {}

/// Who logs in.
#[derive(Clone, Debug, PartialEq, Schema)]
struct Ssh {
    /// Who.
    user: Option<String>,
}

impl Provider for Rent {
    const NAME: &'static str = "rent";
    type Settings = NoSettings;
    type Reader = ();
    type Writer = ();
    const KINDS: &'static [&'static dyn Kind<(), ()>] = &[];
    const ON_HOSTS: &'static [&'static dyn HostThing] = &[&Machines("rent_host")];

    async fn reader(&self, _: NoSettings) -> Result<(), Error> {
        Ok(())
    }

    async fn writer(&self, _: NoSettings) -> Result<(), Error> {
        Ok(())
    }

    async fn vendor_reader(&self, _: NoSettings, _: &Rule) -> Result<Arc<dyn VendorReader>, Error> {
        Ok(Arc::new(Api(self.0.clone())))
    }

    async fn vendor(&self, _: NoSettings, _: &Rule) -> Result<Arc<dyn Vendor>, Error> {
        Ok(Arc::new(Api(self.0.clone())))
    }
}

/// A state that can be lost after so many writes: what was under way is cut off there.
struct Disk {
    state: Mutex<State>,
    left: Mutex<usize>,
}

impl Store for Disk {
    fn write(&self, write: Write) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            let mut left = self.left.lock().unwrap();
            if *left == 0 {
                return Err(StoreError::new("the disk is gone").of_kind(StoreErrorKind::Lost));
            }
            *left -= 1;
            assert!(self.state.lock().unwrap().write(write));
            Ok(())
        })
    }
}

/// A fleet, and the world around it.
struct Site {
    world: Arc<World>,
    lineage: &'static str,
    chance: Memory,
    state: Mutex<State>,
    runs: Mutex<u64>,
    size: Mutex<usize>,
    pool: Mutex<&'static str>,
}

/// What came of a run.
struct Ran {
    /// The steps of the plan by address.
    steps: BTreeMap<String, String>,
    pools: BTreeMap<String, Pooling>,
    outcomes: Vec<(String, Outcome)>,
    problems: Vec<Diagnostic>,
}

impl Site {
    fn new(world: &Arc<World>, lineage: &'static str, size: usize) -> Site {
        let state = State { lineage: Some(lineage.into()), ..State::default() };
        let chance = Memory::new();
        // No two states draw the same names.
        let mut drawn = vec![0; 8 * usize::from(lineage.as_bytes()[0])];
        fleet_lang::Outside::random(&chance, &mut drawn);
        Site {
            world: world.clone(),
            lineage,
            chance,
            state: Mutex::new(state),
            runs: Mutex::new(0),
            size: Mutex::new(size),
            pool: Mutex::new(""),
        }
    }

    fn resize(&self, size: usize) {
        *self.size.lock().unwrap() = size;
    }

    fn config(&self) -> String {
        let (size, pool) = (*self.size.lock().unwrap(), *self.pool.lock().unwrap());
        let lineage = self.lineage;
        format!(
            r#"
pool "rent" "minis" {{
  prefix = "pool-"
  type   = "M2"
  {pool}
}}
fleet "runners" {{
  pool     = pool.minis
  size     = {size}
  hostname = "{lineage}-${{host.key}}"
  connection "ssh" {{
    user = "m1"
  }}
  resource "host_note" "motd" {{
    path = "/etc/motd"
    text = "${{host.name}} at ${{host.address}}"
  }}
}}
"#
        )
    }

    fn run(&self, options: &Options) -> Ran {
        self.run_for(options, usize::MAX)
    }

    /// Plans and applies; the state can be written so often.
    fn run_for(&self, options: &Options, writes: usize) -> Ran {
        let files = Memory::new().file("main.fleet.hcl", self.config());
        let (config, problems) = load(&files, Path::new("."), &mut Texts::default());
        assert!(problems.is_empty(), "{problems:?}");
        let ssh = Entry::new(Ssh::schema(), Place::Host, "host");
        let registry = Registry::new()
            .with(Notes)
            .with(Rent(self.world.clone()))
            .with_entry(Sort::Pool, "rent", fleet_engine::pool::rule::entry("rent", "Machines for rent."))
            .with_entry(Sort::Connection, "ssh", ssh)
            .with_hosts(Arc::new(Ways(self.world.clone())));
        let surroundings = Surroundings {
            catalog: &registry,
            outside: &self.chance,
            inputs: HashMap::new(),
            secrets: &Symbols,
            depth: Depth::Instances,
        };
        let sealer = Sealer::new(b"key");
        let clock = &self.world.time;
        let sources = Sources {
            config: &config,
            surroundings: &surroundings,
            readers: &registry,
            sealer: &sealer,
            clock,
            listener: &(),
        };
        let state = self.state.lock().unwrap().clone();
        let planned = match clock.run(plan::plan(&sources, state, options)) {
            Ok(planned) => planned,
            Err(problems) => panic!("{problems:#?}"),
        };
        let acts = planned.plan.steps.iter().filter(|(_, step)| step.action.changes_the_world());
        let steps =
            acts.map(|(address, step)| (address.to_string(), step.action.word().to_owned())).collect();
        let pools =
            planned.plan.pools.iter().map(|(address, it)| (address.to_string(), it.clone())).collect();
        let mut problems = planned.warnings.clone();
        let disk = Disk { state: Mutex::new(self.state.lock().unwrap().clone()), left: Mutex::new(writes) };
        let fence = {
            let mut runs = self.runs.lock().unwrap();
            *runs += 1;
            *runs
        };
        let interrupt = Interrupt::default();
        let hands = Hands {
            readers: &registry,
            writers: &registry,
            store: &disk,
            sealer: &sealer,
            clock,
            listener: &(),
            holder: Holder { lineage: self.lineage.into(), fence, by: "me".into() },
            interrupt: &interrupt,
            pace: Pace::default(),
        };
        let applied = clock.run(apply(planned, &surroundings, &hands, 1));
        *self.state.lock().unwrap() = disk.state.into_inner().unwrap();
        problems.extend(applied.problems);
        let outcomes = applied.ledger.entries.iter();
        let outcomes = outcomes.map(|(object, entry)| (object.to_string(), entry.outcome.clone())).collect();
        Ran { steps, pools, outcomes, problems }
    }

    /// Converges, and all goes well.
    #[track_caller]
    fn converge(&self) -> Ran {
        let ran = self.run(&options());
        for (object, outcome) in &ran.outcomes {
            assert_eq!(*outcome, Outcome::Done, "{object}; {:?} {:#?}", ran.problems, ran.outcomes);
        }
        ran
    }

    /// There is nothing to do, and everything is where it should be.
    #[track_caller]
    fn check_converged(&self) {
        let ran = self.run(&options());
        assert_eq!(ran.steps, BTreeMap::new());
        assert!(ran.outcomes.iter().all(|(_, outcome)| *outcome == Outcome::Done), "{:?}", ran.outcomes);
        assert_eq!(self.state.lock().unwrap().intents.len(), 0);
    }

    /// The machine of a slot, as it is recorded.
    fn machine(&self, slot: usize) -> Option<String> {
        let state = self.state.lock().unwrap();
        let host =
            state.recorded.iter().find(|(it, _)| it.to_string() == format!("fleet.runners[{slot}].host"));
        host.and_then(|(_, record)| record.session.alias.as_deref().map(str::to_owned))
    }
}

fn options() -> Options {
    Options { refresh: true, ..Options::default() }
}

fn replacing(address: &str) -> Options {
    let target = fleet_engine::address::Target::parse(address).unwrap();
    Options { replace: vec![target], ..options() }
}

#[test]
fn a_fleet_is_made_in_one_plan_and_goes_back() {
    let world = World::of(3);
    let site = Site::new(&world, "a", 2);
    let ran = site.converge();
    let created = [
        "fleet.runners[0].host",
        "fleet.runners[0].host_note.motd",
        "fleet.runners[1].host",
        "fleet.runners[1].host_note.motd",
    ];
    assert_eq!(ran.steps, created.iter().map(|it| ((*it).to_owned(), "create".to_owned())).collect());
    let first = |slot: usize| {
        ran.pools[&format!("fleet.runners[{slot}].host")].claim.clone().unwrap().first.unwrap().1
    };
    assert_eq!((first(0), first(1)), ("pool-1".to_owned(), "pool-2".to_owned()));
    assert_eq!(world.books(), ["s1 a-0 fleet.runners[0] owned", "s2 a-1 fleet.runners[1] owned", "s3 free"]);
    assert_eq!(world.file("s1", "/etc/motd").as_deref(), Some("a-0 at 10.0.0.1"));
    assert_eq!((site.machine(0), site.machine(1)), (Some("s1".into()), Some("s2".into())));
    let state = site.state.lock().unwrap().clone();
    assert!(state.recorded.values().all(|record| record.session.alias.is_some()), "{state:#?}");
    site.check_converged();

    site.resize(3);
    assert_eq!(site.converge().steps.len(), 2);
    assert_eq!(world.books()[2], "s3 a-2 fleet.runners[2] owned");
    site.resize(1);
    let ran = site.converge();
    let returns = ran.pools["fleet.runners[2].host"].returns.clone().unwrap();
    assert_eq!((&*returns.pool, returns.deletable_at.as_deref()), ("minis", Some("2026-01-02T00:00:00Z")));
    assert_eq!(world.books(), ["s1 a-0 fleet.runners[0] owned", "s2 free", "s3 free"]);
    assert_eq!(world.sent("reinstall"), 2);
    site.check_converged();

    let ran = site.run(&Options { goal: Goal::Destroy, ..options() });
    assert!(ran.outcomes.iter().all(|(_, outcome)| *outcome == Outcome::Done), "{:?}", ran.outcomes);
    assert_eq!(world.books(), ["s1 free", "s2 free", "s3 free"]);
    assert_eq!(site.state.lock().unwrap().recorded.len(), 0);
}

#[test]
fn a_host_that_is_replaced_goes_back_after_its_successor_came() {
    let world = World::of(2);
    let site = Site::new(&world, "a", 1);
    site.converge();
    let ran = site.run(&replacing("fleet.runners[0].host"));
    assert!(ran.outcomes.iter().all(|(_, outcome)| *outcome == Outcome::Done), "{:?}", ran.outcomes);
    assert_eq!(world.books(), ["s1 free", "s2 a-0 fleet.runners[0] owned"]);
    assert_eq!(world.file("s2", "/etc/motd").as_deref(), Some("a-0 at 10.0.0.2"));
    site.check_converged();
}

#[test]
fn where_none_is_free_other_slots_go_on() {
    let world = World::of(2);
    let site = Site::new(&world, "a", 3);
    *site.pool.lock().unwrap() = "min_free = 1";
    let ran = site.run(&options());
    let told: Vec<&str> = ran.problems.iter().map(|problem| &*problem.summary).collect();
    assert_eq!(told, ["no host is free", "few hosts stay free"], "{:?}", ran.problems);
    assert!(ran.problems[0].detail.contains("name `pool-…`, type M2"), "{}", ran.problems[0].detail);
    assert_eq!(ran.steps.len(), 4);
    assert_eq!(world.books(), ["s1 a-0 fleet.runners[0] owned", "s2 a-1 fleet.runners[1] owned"]);
}

#[test]
fn one_that_was_taken_meanwhile_is_left_alone() {
    let world = World::of(2);
    let (mine, other) = (Site::new(&world, "a", 1), Site::new(&world, "b", 1));
    other.converge();
    // The vendor still shows the name that it had before.
    world.rename_behind("s1", "pool-1");
    let ran = mine.converge();
    assert_eq!(ran.problems.last().map(|problem| &*problem.summary), Some("another host was taken"));
    assert_eq!(world.books()[1], "s2 a-0 fleet.runners[0] owned");
    // Its owner repairs the name, and nobody else does.
    let ran = other.converge();
    assert_eq!(ran.steps, [("fleet.runners[0].host".to_owned(), "update".to_owned())].into());
    assert_eq!(world.books()[0], "s1 b-0 fleet.runners[0] owned");
    other.check_converged();
    mine.check_converged();
}

#[test]
fn a_reinstall_behind_our_back_is_seen_and_made_good_on_the_same_machine() {
    let world = World::of(2);
    let site = Site::new(&world, "a", 1);
    site.converge();
    world.reinstall_behind("s1");
    let ran = site.converge();
    let expected = [("fleet.runners[0].host", "update"), ("fleet.runners[0].host_note.motd", "create")];
    assert_eq!(ran.steps, expected.map(|(address, action)| (address.to_owned(), action.to_owned())).into());
    assert_eq!(world.books(), ["s1 a-0 fleet.runners[0] owned", "s2 free"]);
    assert_eq!(world.file("s1", "/etc/motd").as_deref(), Some("a-0 at 10.0.0.1"));
    site.check_converged();
}

#[test]
fn a_vendor_that_does_not_answer_takes_nothing_away() {
    let world = World::of(1);
    let site = Site::new(&world, "a", 1);
    site.converge();
    *world.silent.lock().unwrap() = Some(Error::permanent("403: not allowed"));
    let before = site.state.lock().unwrap().clone();
    let ran = site.run(&options());
    assert!(ran.problems[0].detail.contains("403"), "{:?}", ran.problems);
    assert_eq!(site.state.lock().unwrap().recorded, before.recorded);
    *world.silent.lock().unwrap() = None;
    site.check_converged();
}

/// Whatever write of the state is the last one, and whichever answers get lost: the next run makes all of it good.
#[test]
fn what_was_cut_off_is_gone_on_with() {
    for lost in [None, Some(1), Some(2)] {
        for writes in 0..60 {
            let world = World::of(3);
            let site = Site::new(&world, "a", 2);
            world.lost.lock().unwrap().extend(lost);
            site.run_for(&options(), writes);
            site.converge();
            let held = |world: &World| world.books().iter().filter(|line| line.ends_with("owned")).count();
            assert_eq!(held(&world), 2, "{writes} {lost:?} {:?}", world.books());
            site.check_converged();
            let requests = world.log.lock().unwrap().len();
            world.lost.lock().unwrap().extend(lost.map(|lost| requests + lost));
            site.resize(0);
            site.run_for(&options(), writes);
            site.converge();
            assert!(
                world.books().iter().all(|line| line.ends_with(" free")),
                "{writes} {lost:?} {:?}",
                world.books()
            );
            assert!(world.sent("reinstall") <= 2, "{writes} {lost:?} {:?}", world.log.lock().unwrap());
            site.check_converged();
            assert_eq!(site.state.lock().unwrap().recorded.len(), 0);
        }
    }
}

#[test]
fn a_ledger_that_cannot_be_read_is_nobody_s_to_remove() {
    let world = World::of(1);
    world.put("s1", LEDGER, "rubbish");
    let site = Site::new(&world, "a", 1);
    let ran = site.run(&options());
    let failed = ran.outcomes.iter().find(|(object, _)| object == "fleet.runners[0].host").unwrap();
    let Outcome::Failed(failure) = &failed.1 else { panic!("{failed:?}") };
    assert!(failure.message.contains("somebody else took it"), "{failure:?}");
    let skipped =
        ran.outcomes.iter().find(|(object, _)| object == "fleet.runners[0].host_note.motd").unwrap();
    assert!(matches!(skipped.1, Outcome::Skipped(_)), "{skipped:?}");
    assert_eq!(world.file("s1", LEDGER).as_deref(), Some("rubbish"));
}

#[test]
fn a_host_can_go_back_without_a_reinstall() {
    let world = World::of(1);
    let site = Site::new(&world, "a", 1);
    *site.pool.lock().unwrap() = "return {\n method = \"scrub\"\n }";
    site.converge();
    site.resize(0);
    site.converge();
    assert_eq!(world.books(), ["s1 free"]);
    assert_eq!((world.sent("reinstall"), world.file("s1", "/etc/motd")), (0, None));
    site.check_converged();
}

/// What a state that was lost had made is known to the host alone.
#[test]
fn what_only_the_host_knows_is_scrubbed_too() {
    let world = World::of(1);
    let site = Site::new(&world, "a", 1);
    *site.pool.lock().unwrap() = "return {\n method = \"scrub\"\n }";
    site.converge();
    let line = world.below("s1", &format!("{LEDGER}.d/")).remove(0);
    site.resize(0);
    // It appears when the plan is made already. The name is made of the address.
    let name = "13cb26094990a214bf012a6f682e22e8";
    world.appears_on_return("s1", &format!("{LEDGER}.d/{name}"), &line.replace("motd", "other"));
    world.appears_on_return("s1", "/etc/other", "left");
    site.converge();
    assert_eq!((world.books(), world.file("s1", "/etc/other")), (vec!["s1 free".to_owned()], None));
    assert_eq!((world.sent("reinstall"), world.sent("reboot")), (0, 0));
}

#[test]
fn nothing_else_is_taken_while_nobody_knows_what_came_of_a_claim() {
    let world = World::of(2);
    let site = Site::new(&world, "a", 1);
    // The claim is noted, and its ledger made; then the run is cut off, and the vendor with it.
    site.run_for(&options(), 2);
    assert_eq!(world.books()[0], "s1 free fleet.runners[0] claiming");
    *world.silent.lock().unwrap() = Some(Error::transient("no answer"));
    let ran = site.run(&options());
    assert_eq!((ran.steps.len(), ran.problems.len()), (0, 1), "{:?}", ran.problems);
    *world.silent.lock().unwrap() = None;
    site.converge();
    assert_eq!(world.books(), ["s1 a-0 fleet.runners[0] owned", "s2 free"]);
    site.check_converged();
}

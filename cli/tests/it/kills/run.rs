//! Plan and apply without the command line around them, so that a test can stand between them, the state and the world.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Mutex;

use fleet_cli::clock::Stopwatch;
use fleet_cli::outside::{Machine, Stage};
use fleet_engine::apply::{Applied, Hands, Pace, apply};
use fleet_engine::config::load;
use fleet_engine::config::model::Config;
use fleet_engine::expand::{Depth, Surroundings, Symbols};
use fleet_engine::host::Holder;
use fleet_engine::interrupt::Interrupt;
use fleet_engine::plan::{Action, Goal, Options, Plan, Planned, Sources, plan};
use fleet_engine::registry::Registry;
use fleet_engine::seal::Sealer;
use fleet_engine::state::State;
use fleet_test_provider::World;
use tokio::runtime::Runtime;

use super::crash::{Crash, Fragile};
use crate::support::{Site, providers};

/// A directory, a world and a state that is kept in memory. What databases make of it is tested with them.
pub(super) struct Bench {
    pub(super) site: Site,
    pub(super) world: World,
    state: Mutex<State>,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// It did all that it was asked to do.
    Done,
    /// It crashed on the way.
    Crashed,
}

impl Bench {
    pub(super) fn new() -> Bench {
        Bench::with(World::start(), State::default())
    }

    /// Another one that is like this one. Files are made anew.
    pub(super) fn copy(&self) -> Bench {
        Bench::with(self.world.copy(), self.state())
    }

    fn with(world: World, state: State) -> Bench {
        let site = Site::empty();
        site.write("world.fleet.hcl", &world.configuration());
        Bench { site, world, state: Mutex::new(state) }
    }

    /// What fleet remembers.
    pub(super) fn state(&self) -> State {
        self.state.lock().unwrap().clone()
    }

    /// Applies or destroys what the directory declares, wave by wave.
    #[track_caller]
    pub(super) fn run(&self, goal: Goal, parallelism: usize, crash: &Crash) -> Ended {
        let (declared, runtime) = (Declared::read(&self.site), runtime());
        let ended = runtime.block_on(declared.waves(&self.state, goal, parallelism, crash));
        // What a crash left under way ends with its threads and its connections.
        drop(runtime);
        self.world.until_quiet();
        ended
    }

    /// What would be done now.
    #[track_caller]
    pub(super) fn plan(&self) -> Plan {
        runtime().block_on(Declared::read(&self.site).plan(self.state(), Goal::Converge)).plan
    }
}

/// Whether a plan leaves everything as it is, the records too.
pub(super) fn is_empty(plan: &Plan) -> bool {
    plan.steps.values().all(|step| step.action == Action::Keep)
        && plan.deposed.is_empty()
        && plan.deferred.is_empty()
        && plan.outputs.is_empty()
}

/// A configuration with all that it takes to plan and apply it.
struct Declared {
    config: Config,
    providers: Registry,
    outside: Machine,
    sealer: Sealer,
    clock: Stopwatch,
}

impl Declared {
    #[track_caller]
    fn read(site: &Site) -> Declared {
        let cwd = site.path().to_path_buf();
        let outside = Machine { cwd: cwd.clone(), home: None, stage: Stage::Planning(0) };
        let (config, problems) = load(&outside, Path::new("."), &mut fleet_syntax::Sources::default());
        assert!(problems.is_empty(), "{problems:?}");
        let (sealer, clock) = (Sealer::new(b"a key"), Stopwatch::start());
        Declared { config, providers: providers(cwd), outside, sealer, clock }
    }

    fn surroundings<'a>(&'a self, outside: &'a Machine) -> Surroundings<'a> {
        let (catalog, inputs) = (&self.providers, HashMap::new());
        Surroundings { catalog, outside, inputs, secrets: &Symbols, depth: Depth::Instances }
    }

    async fn plan(&self, state: State, goal: Goal) -> Planned<'_> {
        let surroundings = self.surroundings(&self.outside);
        let sources = Sources {
            config: &self.config,
            surroundings: &surroundings,
            readers: &self.providers,
            sealer: &self.sealer,
            clock: &self.clock,
            listener: &(),
        };
        let options = Options { goal, refresh: true, ..Options::default() };
        match plan(&sources, state, &options).await {
            Ok(planned) => planned,
            Err(problems) => panic!("{problems:?}"),
        }
    }

    async fn waves(&self, state: &Mutex<State>, goal: Goal, parallelism: usize, crash: &Crash) -> Ended {
        let fragile = Fragile { crash, state, providers: &self.providers };
        let interrupt = Interrupt::new();
        let hands = Hands {
            readers: &self.providers,
            writers: &fragile,
            store: &fragile,
            sealer: &self.sealer,
            clock: &self.clock,
            listener: &(),
            holder: Holder { lineage: "l".into(), fence: 1, by: "me".into() },
            interrupt: &interrupt,
            pace: Pace { parallelism, ..Pace::default() },
        };
        let outside = Machine { stage: Stage::Applying(0), ..self.outside.clone() };
        let surroundings = self.surroundings(&outside);
        for wave in 1.. {
            let before = state.lock().unwrap().clone();
            let planned = self.plan(before, goal).await;
            let is_last = planned.plan.deferred.is_empty() || !planned.plan.changes_anything();
            let Applied { ledger, problems, .. } = tokio::select! {
                applied = apply(planned, &surroundings, &hands, wave) => applied,
                () = crash.happened() => return Ended::Crashed,
            };
            assert!(ledger.all_done() && problems.is_empty(), "{ledger:?} {problems:?}");
            if is_last {
                break;
            }
        }
        Ended::Done
    }
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

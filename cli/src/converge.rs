//! What `plan`, `apply` and `destroy` share: configuration, state and reality → plan.

use std::time::{Duration, UNIX_EPOCH};

use fleet_engine::check::{protected, unsupported};
use fleet_engine::config::model::Output;
use fleet_engine::document::{Context, Document, Header, Options};
use fleet_engine::expand::{Expansion, Settle};
use fleet_engine::observe::observe;
use fleet_engine::plan::{Looker, Plan, Planner};
use fleet_engine::registry::Registry;
use fleet_engine::state::State;
use fleet_engine::{graph, plan};
use fleet_lang::{Outside, Value};
use fleet_store::Backend;
use fleet_syntax::Diagnostics;
use fleet_syntax::diagnostic::has_errors;
use tokio::runtime::Runtime;

use crate::backend::backend;
use crate::configuration::{Configuration, VariableArgs};
use crate::outside::Stage;
use crate::{Env, Failure, diagnostics};

/// What the plan is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Goal {
    /// Reality equals the configuration.
    Converge,
    /// Nothing is left.
    Destroy,
}

impl Goal {
    /// The command.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Goal::Converge => "apply",
            Goal::Destroy => "destroy",
        }
    }
}

/// A plan, and what is shown and saved of it.
pub(crate) struct Planned {
    pub(crate) plan: Plan,
    pub(crate) document: Document,
}

/// A configuration that can be planned, and the way to reality.
pub(crate) struct Site {
    configuration: Configuration,
    pub(crate) providers: Registry,
    pub(crate) runtime: Runtime,
    /// Where the state is kept.
    pub(crate) backend: Backend,
}

impl Site {
    /// Reads the configuration; `None` if something is wrong with it, which was said.
    pub(crate) fn open(env: &mut Env, variables: &VariableArgs) -> Result<Option<Site>, Failure> {
        let mut configuration = Configuration::load(env);
        configuration.read_values(env, variables);
        configuration.diagnostics.extend(unsupported(&configuration.config));
        configuration.outside.stage = Stage::Planning(configuration.outside.now());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let site = Site {
            backend: backend(&configuration.config, &env.cwd)?,
            configuration,
            providers: env.providers(),
            runtime: runtime.map_err(|error| Failure::of("the runtime cannot be started", &error))?,
        };
        Ok(site.tell(env, &site.configuration.diagnostics)?.then_some(site))
    }

    /// Looks at reality and compares; `None` if something is wrong, which was said.
    pub(crate) fn plan(&self, env: &mut Env, state: &State, goal: Goal) -> Result<Option<Planned>, Failure> {
        let mut looker = Looker::new(state, &self.providers);
        let (_, problems) = self.walk(&mut looker);
        if has_errors(&problems) {
            self.tell(env, &problems)?;
            return Ok(None);
        }
        let observed = self.runtime.block_on(observe(&self.providers, looker.questions()));
        let mut planner = Planner::new(state, &observed, &self.providers);
        let (expansion, mut problems) = self.walk(&mut planner);
        let (mut plan, more) = match goal {
            Goal::Converge => {
                planner.plan(&expansion, &graph::build(&expansion, &self.configuration.outside))
            }
            Goal::Destroy => Planner::new(state, &observed, &self.providers).removal(),
        };
        problems.extend(more);
        problems.extend(protected(&plan, &expansion));
        if !self.tell(env, &problems)? {
            return Ok(None);
        }
        let deferred = expansion.deferred.iter();
        let deferred = deferred
            .map(|block| plan::Deferred { address: block.address.clone(), awaits: block.awaits.clone() });
        plan.deferred = deferred.collect();
        let document = self.document(&plan, state, &problems);
        Ok(Some(Planned { plan, document }))
    }

    /// What is shown and saved of a plan.
    fn document(&self, plan: &Plan, state: &State, problems: &Diagnostics) -> Document {
        let configuration = &self.configuration;
        let planned_at = match configuration.outside.stage {
            Stage::Planning(then) | Stage::Applying(then) => then,
            Stage::Evaluating => configuration.outside.now(),
        };
        let header = Header {
            fleet: env!("CARGO_PKG_VERSION").to_owned(),
            planned_at: timestamp(planned_at),
            configuration: configuration.digest(),
            variables: configuration.variables(),
            lineage: state.lineage.as_deref().map(str::to_owned),
            serial: state.serial,
            options: Options::default(),
        };
        let diagnostics = configuration.diagnostics.iter().chain(problems).cloned().collect();
        let context =
            Context { header, diagnostics: &diagnostics, sources: &configuration.sources, keyed: None };
        Document::of(plan, &context)
    }

    /// From now on the plan is applied.
    pub(crate) fn begin_to_apply(&mut self) {
        let stage = &mut self.configuration.outside.stage;
        if let Stage::Planning(then) = *stage {
            *stage = Stage::Applying(then);
        }
    }

    /// Walks the configuration.
    pub(crate) fn walk(&self, settle: &mut dyn Settle) -> (Expansion<'_>, Diagnostics) {
        self.configuration.expand(&self.providers, settle)
    }

    /// Says what is wrong; false if that stops the run. Warnings alone are said by the plan.
    pub(crate) fn tell(&self, env: &mut Env, problems: &Diagnostics) -> Result<bool, Failure> {
        let stops = has_errors(problems);
        if stops {
            diagnostics::report(env, problems, &self.configuration.sources)?;
        }
        Ok(!stops)
    }
}

/// A time in nanoseconds since 1970, as RFC 3339 has it.
fn timestamp(nanoseconds: i128) -> String {
    const END_OF_9999: u64 = 253_402_300_799;
    let since = u64::try_from(nanoseconds / 1_000_000_000).unwrap_or(0).min(END_OF_9999);
    humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_secs(since)).to_string()
}

/// Prints the outputs of the root module.
pub(crate) fn print_outputs(
    env: &mut Env,
    outputs: impl Iterator<Item = (impl std::ops::Deref<Target = Output>, Value)>,
) -> Result<(), Failure> {
    for (output, value) in outputs {
        writeln!(env.stdout, "{} = {}", output.name.name, fleet_lang::print::print(&value))?;
    }
    Ok(())
}

/// A failure of the state.
pub(crate) fn state_failure(error: &(dyn std::error::Error + 'static)) -> Failure {
    Failure::of("state", error)
}

//! What `plan`, `apply` and `destroy` share: configuration, state and reality → plan.

use std::path::PathBuf;

use fleet_engine::check::{protected, unsupported};
use fleet_engine::config::model::{Config, Output};
use fleet_engine::expand::{Expansion, Settle};
use fleet_engine::observe::observe;
use fleet_engine::plan::{Looker, Plan, Planner};
use fleet_engine::state::{State, StoreError};
use fleet_engine::{graph, render};
use fleet_lang::{Outside, Value};
use fleet_providers::Builtin;
use fleet_syntax::Diagnostics;
use fleet_syntax::diagnostic::has_errors;
use fleet_syntax::tree::ExprKind;
use tokio::runtime::Runtime;

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

/// A configuration that can be planned, and the way to reality.
pub(crate) struct Site {
    configuration: Configuration,
    pub(crate) providers: Builtin,
    pub(crate) runtime: Runtime,
    /// The database of the state.
    pub(crate) state_path: PathBuf,
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
            state_path: env.cwd.join(state_path(&configuration.config)?),
            configuration,
            providers: Builtin::new(env.cwd.clone()),
            runtime: runtime.map_err(|error| Failure::of("the runtime cannot be started", &error))?,
        };
        Ok(site.tell(env, &site.configuration.diagnostics)?.then_some(site))
    }

    /// Looks at reality and compares; `None` if something is wrong, which was said.
    pub(crate) fn plan(&self, env: &mut Env, state: &State, goal: Goal) -> Result<Option<Plan>, Failure> {
        let mut looker = Looker::new(state, &self.providers);
        let (_, problems) = self.walk(&mut looker);
        if has_errors(&problems) {
            self.tell(env, &problems)?;
            return Ok(None);
        }
        let observed = self.runtime.block_on(observe(&self.providers, looker.questions()));
        let mut planner = Planner::new(state, &observed, &self.providers);
        let (expansion, mut problems) = self.walk(&mut planner);
        let (plan, more) = match goal {
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
        env.stdout.write_all(render::render(&plan).as_bytes())?;
        for block in &expansion.deferred {
            let awaits =
                block.awaits.as_ref().map_or_else(String::new, |on| format!(", which waits for {on}"));
            writeln!(env.stdout, "Not planned yet: {}{awaits}. Apply again after this.", block.address)?;
        }
        Ok(Some(plan))
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

    /// Says what is wrong; false if that stops the run.
    pub(crate) fn tell(&self, env: &mut Env, problems: &Diagnostics) -> Result<bool, Failure> {
        if !problems.is_empty() {
            diagnostics::report(env, problems, &self.configuration.sources)?;
        }
        Ok(!has_errors(problems))
    }
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
pub(crate) fn state_failure(error: &StoreError) -> Failure {
    Failure::of("state", error)
}

/// Where the settings say that the state is kept.
fn state_path(config: &Config) -> Result<PathBuf, Failure> {
    let backend = config.root().settings.as_ref().and_then(|settings| settings.backend.as_ref());
    let Some(backend) = backend else { return Ok(PathBuf::from(fleet_store::DEFAULT_PATH)) };
    if &*backend.kind.name != "sqlite" {
        let kind = &backend.kind.name;
        return Err(Failure::new(format!("this version cannot keep state in `{kind}`")).help("use `sqlite`"));
    }
    match backend.body.attribute("path").map(|attribute| &attribute.value.kind) {
        None => Ok(PathBuf::from(fleet_store::DEFAULT_PATH)),
        Some(ExprKind::String(path)) => Ok(PathBuf::from(&**path)),
        Some(_) => Err(Failure::new("the path of the state must be a string without expressions in it")),
    }
}

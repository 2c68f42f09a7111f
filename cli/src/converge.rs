//! What `plan`, `apply` and `destroy` share: configuration, state and reality → plan → apply.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use fleet_engine::address::Target;
use fleet_engine::apply::{Applied, Hands, Pace, apply};
use fleet_engine::config::model::Output;
use fleet_engine::document::{self, Context, Document, Fact, Header};
use fleet_engine::event::Listener;
use fleet_engine::expand::secrets_of_providers;
use fleet_engine::host::Holder;
use fleet_engine::interrupt::Interrupt;
use fleet_engine::plan::{self, Examined, Goal, Options, Planned, Sources};
use fleet_engine::registry::Registry;
use fleet_engine::seal::Sealer;
use fleet_engine::state::{State, Store};
use fleet_lang::{Outside, Value};
use fleet_syntax::Diagnostics;
use fleet_syntax::diagnostic::has_errors;
use fleet_transport::Channels;
use tokio::runtime::Runtime;

use crate::clock::Stopwatch;
use crate::configuration::{Configuration, VariableArgs};
use crate::hosts::HostArgs;
use crate::interrupt::Signals;
use crate::outside::{Machine, Stage};
use crate::secrets::{Vault, Wanted};
use crate::settings::{self, Place};
use crate::{Env, Failure, diagnostics, key, memory};

/// A configuration that can be planned, and the way to reality.
pub(crate) struct Site {
    configuration: Configuration,
    vault: Vault,
    /// The secrets that it takes to reach providers.
    provider_secrets: HashSet<Arc<str>>,
    sealer: Sealer,
    pub(crate) providers: Registry,
    pub(crate) runtime: Runtime,
    /// Where the state is kept.
    pub(crate) place: Place,
    /// The connections to hosts.
    pub(crate) channels: Arc<Channels>,
    pub(crate) clock: Stopwatch,
}

/// What a site is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To look; nothing is written.
    Plan,
    /// To change things.
    Apply,
}

/// What a run does besides planning.
pub(crate) struct Running<'a> {
    pub(crate) store: &'a dyn Store,
    pub(crate) listener: &'a dyn Listener,
    pub(crate) interrupt: &'a Interrupt,
    /// On whose behalf hosts are changed.
    pub(crate) holder: Holder,
    pub(crate) pace: Pace,
}

impl Site {
    /// Reads the configuration; `None` if something is wrong with it, which was said.
    pub(crate) fn open(
        env: &mut Env,
        variables: &VariableArgs,
        purpose: Purpose,
        hosts: HostArgs,
    ) -> Result<Option<Site>, Failure> {
        let mut configuration = Configuration::load(env);
        configuration.read_values(env, variables);
        configuration.outside.stage = Stage::Planning(configuration.outside.now());
        let channels = hosts.channels(&env.cwd);
        let providers = env.providers().with_hosts(channels.clone());
        let vault = Vault::new(env, Wanted::All);
        let told = settings::read(&mut configuration, &providers, &vault, &env.cwd);
        let told = told.filter(|_| !has_errors(&configuration.diagnostics));
        let Some(told) = told else {
            diagnostics::report(env, &configuration.diagnostics, &configuration.sources)?;
            return Ok(None);
        };
        Ok(Some(Site {
            vault,
            provider_secrets: secrets_of_providers(&configuration.config, &providers),
            sealer: match purpose {
                Purpose::Plan => key::sealer(&told, &env.cwd)?,
                Purpose::Apply => key::sealer_for_writing(&told, &env.cwd)?,
            },
            place: told.place,
            channels,
            configuration,
            providers,
            runtime: memory::runtime()?,
            clock: Stopwatch::start(),
        }))
    }

    /// The same, where no script of the user is run to look at something.
    pub(crate) fn read_only(self, read_only: bool) -> Site {
        Site { providers: self.providers.read_only(read_only), ..self }
    }

    /// Works on what planning works with, without planning. Only secrets that it takes to reach others are got.
    pub(crate) fn with_sources<T>(
        &self,
        work: impl FnOnce(&Sources<'_, '_>) -> Result<T, Diagnostics>,
    ) -> Result<Result<T, Diagnostics>, Failure> {
        self.vault.want(Wanted::Only(self.provider_secrets.clone()));
        let outside = &self.configuration.outside;
        let surroundings = self.configuration.surroundings(&self.providers, &self.vault, outside);
        let done = work(&Sources {
            config: &self.configuration.config,
            surroundings: &surroundings,
            readers: &self.providers,
            sealer: &self.sealer,
            clock: &self.clock,
            listener: &(),
        });
        self.vault.failure().map_or(Ok(done), Err)
    }

    /// How a host is reached, by its slot or name; or what is wrong.
    pub(crate) fn way_to(&self, state: &State, host: &str) -> Result<Result<Value, Diagnostics>, Failure> {
        self.with_sources(|sources| plan::way_to(sources, state, host))
    }

    /// Ends all connections.
    pub(crate) fn close(&self) {
        self.runtime.block_on(self.channels.close());
    }

    /// Plans as if it were then, in nanoseconds since 1970.
    pub(crate) fn plan_as_of(&mut self, then: i128) {
        self.configuration.outside.stage = Stage::Planning(then);
    }

    /// Looks at reality and compares; or what is wrong.
    pub(crate) fn plan(
        &self,
        state: State,
        options: &Options,
        listener: &dyn Listener,
    ) -> Result<Result<Planned<'_>, Diagnostics>, Failure> {
        self.vault.want(match options.resolve_secrets {
            true => Wanted::All,
            false => Wanted::Only(self.provider_secrets.clone()),
        });
        let outside = &self.configuration.outside;
        let surroundings = self.configuration.surroundings(&self.providers, &self.vault, outside);
        let sources = Sources {
            config: &self.configuration.config,
            surroundings: &surroundings,
            readers: &self.providers,
            sealer: &self.sealer,
            clock: &self.clock,
            listener,
        };
        let planned = self.runtime.block_on(plan::plan(&sources, state, options));
        match self.vault.failure() {
            Some(failure) => Err(failure),
            None => Ok(planned),
        }
    }

    /// Looks at reality and plans nothing; or what is wrong.
    pub(crate) fn examine(
        &self,
        state: State,
        options: &Options,
    ) -> Result<Result<Examined, Diagnostics>, Failure> {
        self.with_sources(|sources| self.runtime.block_on(plan::examine(sources, state, options)))
    }

    /// Does what a plan says.
    pub(crate) fn apply<'c>(
        &'c self,
        planned: Planned<'c>,
        running: &Running<'_>,
        signals: &mut Signals,
        wave: usize,
    ) -> Applied<'c> {
        let stage = match self.configuration.outside.stage {
            Stage::Planning(then) => Stage::Applying(then),
            stage => stage,
        };
        let outside = Machine { stage, ..self.configuration.outside.clone() };
        self.vault.apply();
        let surroundings = self.configuration.surroundings(&self.providers, &self.vault, &outside);
        let hands = Hands {
            readers: &self.providers,
            writers: &self.providers,
            store: running.store,
            sealer: &self.sealer,
            clock: &self.clock,
            listener: running.listener,
            interrupt: running.interrupt,
            holder: running.holder.clone(),
            pace: running.pace,
        };
        self.runtime.block_on(async {
            tokio::select! {
                applied = apply(planned, &surroundings, &hands, wave) => applied,
                never = signals.forward(running.interrupt, running.listener) => match never {},
            }
        })
    }

    /// From now on signals do not end the process but wait for the next apply.
    pub(crate) fn catch_signals(&self) -> Result<Signals, Failure> {
        let _inside = self.runtime.enter();
        Signals::catch().map_err(|error| Failure::of("signals cannot be caught", &error))
    }

    /// Takes back what was issued for this run; what could not be is told.
    pub(crate) fn withdraw_secrets(&self, used: &BTreeSet<Arc<str>>) -> Vec<String> {
        self.vault.withdraw(used)
    }

    /// Why a secret could not be had, if so.
    pub(crate) fn secret_failure(&self) -> Option<Failure> {
        self.vault.failure()
    }

    /// All that was found while planning, as digests.
    pub(crate) fn facts(&self, planned: &Planned<'_>) -> Vec<Fact> {
        let keyed = |bytes: &[u8]| self.sealer.digest(bytes);
        document::all_facts(&planned.plan, &self.providers, Some(&keyed))
    }

    /// What is shown and saved of a plan; with the facts if it is not for people alone.
    pub(crate) fn document(&self, planned: &Planned<'_>, options: &Options, with_facts: bool) -> Document {
        let configuration = &self.configuration;
        let planned_at = match configuration.outside.stage {
            Stage::Planning(then) | Stage::Applying(then) => then,
            Stage::Evaluating => configuration.outside.now(),
        };
        let words = |targets: &[Target]| targets.iter().map(ToString::to_string).collect();
        let header = Header {
            fleet: env!("CARGO_PKG_VERSION").to_owned(),
            planned_at: timestamp(planned_at),
            configuration: configuration.digest(),
            variables: configuration.variables(),
            lineage: planned.state.lineage.as_deref().map(str::to_owned),
            serial: planned.state.serial,
            options: document::Options {
                target: words(&options.targets),
                exclude: words(&options.excludes),
                replace: words(&options.replace),
                host: options.hosts.clone(),
                exclude_host: options.exclude_hosts.clone(),
                accept_host_key: options.accepted.iter().map(ToString::to_string).collect(),
                ignore_rollout: options.ignore_rollout,
                without_looking: !options.refresh,
                resolve_secrets: options.resolve_secrets,
            },
        };
        let diagnostics = configuration.diagnostics.iter().chain(&planned.warnings).cloned().collect();
        let keyed = |bytes: &[u8]| self.sealer.digest(bytes);
        let sources = &configuration.sources;
        let catalog = &self.providers;
        let context =
            Context { header, diagnostics: &diagnostics, catalog, sources, keyed: Some(&keyed), with_facts };
        Document::of(&planned.plan, &context)
    }

    /// Says what is wrong; false if that stops the run.
    pub(crate) fn tell(&self, env: &mut Env, problems: &Diagnostics) -> Result<bool, Failure> {
        if !problems.is_empty() {
            diagnostics::report(env, problems, self.sources())?;
        }
        Ok(!has_errors(problems))
    }

    /// The texts that places lie in.
    pub(crate) fn sources(&self) -> &fleet_syntax::Sources {
        &self.configuration.sources
    }
}

/// The command that has a goal.
pub(crate) fn command_of(goal: Goal) -> &'static str {
    match goal {
        Goal::Converge => "apply",
        Goal::Destroy => "destroy",
        Goal::RefreshOnly => "apply --refresh-only",
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

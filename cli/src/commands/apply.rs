//! `fleet apply`, and what `fleet destroy` shares with it.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use fleet_engine::apply::{Applied, Pace};
use fleet_engine::event::{Event, Ledger, Listener};
use fleet_engine::host::Holder;
use fleet_engine::interrupt::{Interrupt, Urgency};
use fleet_engine::plan::{Goal, Options};
use fleet_engine::state::StoreError;
use fleet_store::{Database, Summary};
use serde::Serialize;

use crate::configuration::VariableArgs;
use crate::converge::{Purpose, Running, Site, command_of, print_outputs};
use crate::hosts::HostArgs;
use crate::memory::LockArgs;
use crate::planning::PlanningArgs;
use crate::progress::{Progress, ProgressArgs, summary};
use crate::reviewed::{Reviewed, Verdict};
use crate::{Env, Exit, Failure, memory, publish};

/// Make reality equal to the configuration
///
/// Shows the plan, asks, and does exactly what the plan says. Every step is written down before it is taken, and what it
/// made is read back before it is recorded. A failed step skips those that depend on it; the others go on.
///
///   fleet apply --var site=desk
///   fleet apply --auto-approve
///   fleet plan --out my.plan && fleet apply my.plan
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct ApplyArgs {
    /// Apply exactly the plan that was saved here with `fleet plan --out`; it was reviewed, so that nobody is asked but
    /// for what it left to be decided later
    #[arg(value_name = "PLAN")]
    plan: Option<PathBuf>,
    /// If something that the plan relied on has moved, do at least what is not affected
    #[arg(long, requires = "plan")]
    partial: bool,
    #[command(flatten)]
    given: Given,
    #[command(flatten)]
    planning: PlanningArgs,
    #[command(flatten)]
    variables: VariableArgs,
}

/// What the user allows.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Given {
    /// Do not ask
    #[arg(long)]
    auto_approve: bool,
    /// How many steps may touch the world at once
    #[arg(long, value_name = "N", default_value_t = Pace::default().parallelism)]
    parallelism: usize,
    /// What to do where a VM or a job of CI runs on a host that is to be given back, replaced or started anew
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = WhenBusy::Refuse)]
    when_busy: WhenBusy,
    /// How long to wait for such work to end, with `--when-busy wait`
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration, default_value = "1h")]
    busy_timeout: Duration,
    /// How long a step may take, such as `10m`
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration)]
    step_timeout: Option<Duration>,
    #[command(flatten)]
    pub(crate) hosts: HostArgs,
    #[command(flatten)]
    pub(crate) lock: LockArgs,
    #[command(flatten)]
    progress: ProgressArgs,
}

/// What to do with hosts where somebody's work runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum WhenBusy {
    /// Leave the host alone, say what runs there, and fail
    Refuse,
    /// Wait until it has ended
    Wait,
    /// Go on, whatever becomes of it
    Proceed,
}

impl Given {
    /// The same, where nobody is asked.
    pub(crate) fn approved(&self) -> Given {
        Given { auto_approve: true, ..self.clone() }
    }

    /// How much at once, and for how long.
    fn pace(&self) -> Pace {
        let when_busy = match self.when_busy {
            WhenBusy::Refuse => fleet_engine::apply::WhenBusy::Refuse,
            WhenBusy::Wait => fleet_engine::apply::WhenBusy::Wait(self.busy_timeout),
            WhenBusy::Proceed => fleet_engine::apply::WhenBusy::Proceed,
        };
        Pace { parallelism: self.parallelism, timeout: self.step_timeout, when_busy, ..Pace::default() }
    }
}

pub(crate) fn apply(env: &mut Env, args: &ApplyArgs) -> Result<Exit, Failure> {
    let Some(path) = &args.plan else {
        return converge(env, &args.variables, args.planning.options(Goal::Converge)?, &args.given, None);
    };
    if !args.planning.is_default() {
        let failure = Failure::new("a saved plan cannot be made another one");
        return Err(failure.help("leave out the options of planning, or plan again with them"));
    }
    let reviewed = Reviewed::read(env, path, args.partial)?;
    converge(env, &args.variables, reviewed.options()?, &args.given, Some(&reviewed))
}

/// Plans, asks unless approved, and applies, wave by wave.
pub(crate) fn converge(
    env: &mut Env,
    variables: &VariableArgs,
    options: Options,
    given: &Given,
    reviewed: Option<&Reviewed>,
) -> Result<Exit, Failure> {
    let Some(mut site) = Site::open(env, variables, Purpose::Apply, given.hosts)? else {
        return Ok(Exit::Failed);
    };
    if let Some(reviewed) = reviewed {
        site.plan_as_of(reviewed.planned_at()?);
    }
    let command = match (options.imports.is_empty(), options.machines.is_empty()) {
        (false, _) => "import",
        (_, false) => "host adopt",
        _ => command_of(options.goal),
    };
    let name = format!("fleet {command}");
    let database = site.runtime.block_on(memory::open(env, &site.place, &name, given.lock))?;
    let progress = Progress::start(env, &given.progress, command, Arc::new(site.clock))?;
    if let Some(told) = memory::recovered(&database) {
        progress.say(&Recovered { r#type: "recovered", steps: database.recovered() });
        writeln!(env.stderr, "{told}")?;
    }
    let mut run = Run {
        database: &database,
        progress: &progress,
        ledger: Ledger::default(),
        used: BTreeSet::new(),
        lost: None,
    };
    let exit = waves(env, &site, options, given, reviewed, &mut run);
    if let Err(failure) = &exit {
        progress.say_failure(failure);
    }
    for told in site.withdraw_secrets(&run.used) {
        writeln!(env.stderr, "warning: {told}")?;
    }
    progress.hear(&Event::Finished { ledger: &run.ledger });
    let (summary, lost) = (run.summary(), run.lost);
    site.close();
    let closed = site.runtime.block_on(database.close(summary));
    let finished = progress.finish();
    // What went wrong first matters most.
    if let Some(error) = lost {
        return Err(memory::stopped(&error));
    }
    let exit = exit?;
    closed.map_err(|error| memory::unclosed(&error))?;
    finished.map(|()| exit)
}

/// A run, and what came of it so far.
struct Run<'a> {
    database: &'a Database,
    progress: &'a Progress,
    ledger: Ledger,
    /// The secrets that were issued and came to use.
    used: BTreeSet<Arc<str>>,
    /// Why the state could not be written any more, if so.
    lost: Option<StoreError>,
}

impl Run<'_> {
    /// As the history tells it.
    fn summary(&self) -> Summary {
        let counts = self.ledger.counts();
        let number = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        Summary {
            failed: number(counts.failed),
            skipped: number(counts.skipped + counts.not_started),
            unknown: number(counts.unknown),
        }
    }
}

/// What programs are told of an earlier run that had lost its state.
#[derive(Serialize)]
struct Recovered {
    r#type: &'static str,
    steps: usize,
}

fn waves(
    env: &mut Env,
    site: &Site,
    mut options: Options,
    given: &Given,
    reviewed: Option<&Reviewed>,
    run: &mut Run<'_>,
) -> Result<Exit, Failure> {
    let Run { database, progress, .. } = *run;
    let interrupt = Interrupt::new();
    let pace = given.pace();
    let mut signals = None;
    let n_excluded = options.excludes.len();
    let mut wave = 1;
    loop {
        let state = site.runtime.block_on(database.read());
        let state = state.map_err(|e| if wave > 1 { memory::stopped(&e) } else { memory::failure(&e) })?;
        let planned = site.plan(state, &options, progress)?;
        progress.pause();
        let planned = match planned {
            Ok(planned) => planned,
            Err(problems) => {
                progress.say_diagnostics(&problems, site.sources());
                site.tell(env, &problems)?;
                return Ok(Exit::Failed);
            }
        };
        let document = site.document(&planned, &options, false);
        if let Some(reviewed) = reviewed.filter(|_| wave == 1) {
            if options.excludes.len() > n_excluded {
                reviewed.covers(&document)?;
            } else if let Verdict::Without(moved, names) =
                reviewed.compare(&document, &site.facts(&planned))?
            {
                writeln!(env.stderr, "left out, with all that depends on it: {names}")?;
                options.excludes.extend(moved);
                continue;
            }
        }
        progress.say_diagnostics(&planned.warnings, site.sources());
        progress.say_planned(wave, &document.summary);
        publish::print_text(env, &document)?;
        let is_blocked = document.is_blocked();
        let (changes, waits) = (planned.plan.changes_anything(), !planned.plan.deferred.is_empty());
        let is_approved = given.auto_approve || (reviewed.is_some() && wave == 1);
        // Who imports or adopts has said what to take in.
        let is_said = !options.imports.is_empty() || !options.machines.is_empty();
        let asks = !document.summary.is_empty() && !is_said && !is_approved;
        if asks && given.progress.json {
            return Err(refused("with `--json` nobody is asked", wave, "add `--auto-approve`"));
        }
        if asks && !ask(env, options.goal)? {
            return Err(refused("not approved", wave, "answer `yes`, or use `--auto-approve`"));
        }
        // It was shown, and takes as much room as the work that follows.
        drop(document);
        let lineage = planned.state.lineage.as_deref().unwrap_or_default().to_owned();
        let holder = Holder { lineage, fence: database.fence(), by: database.holder().to_string() };
        let running = Running { store: database, listener: progress, interrupt: &interrupt, holder, pace };
        let signals = match &mut signals {
            Some(signals) => signals,
            none => none.insert(site.catch_signals()?),
        };
        let said = planned.warnings.clone();
        let Applied { ledger: of_wave, used, expansion, mut problems, lost } =
            site.apply(planned, &running, signals, wave);
        progress.pause();
        // What the plan said already is not said again.
        problems.retain(|problem| !said.contains(problem));
        progress.say_diagnostics(&problems, site.sources());
        let good = site.tell(env, &problems)? && of_wave.all_done() && lost.is_none() && !is_blocked;
        if changes || !of_wave.entries.is_empty() {
            writeln!(env.stdout, "{}", summary(&of_wave))?;
        }
        run.ledger.extend(of_wave);
        run.used.extend(used);
        run.lost = lost;
        if !good || !waits || !changes || interrupt.urgency() > Urgency::None {
            if options.goal == Goal::Converge {
                print_outputs(env, expansion.outputs())?;
            }
            if let Some(failure) = site.secret_failure() {
                return Err(failure);
            }
            return Ok(if good { Exit::Done } else { Exit::Failed });
        }
        wave += 1;
    }
}

/// Nobody agreed to a wave.
fn refused(why: &str, wave: usize, help: &str) -> Failure {
    if wave == 1 {
        return Failure::new(format!("{why}, nothing was done")).help(help);
    }
    Failure::new(format!("{why}; what came before is done, nothing more was done"))
        .help(format!("apply again to go on: {help}"))
}

fn ask(env: &mut Env, goal: Goal) -> Result<bool, Failure> {
    env.ask(match goal {
        Goal::Converge | Goal::RefreshOnly => "Apply this plan?",
        Goal::Destroy => "Destroy all of this?",
    })
}

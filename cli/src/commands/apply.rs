//! `fleet apply`, and what `fleet destroy` shares with it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use fleet_engine::apply::{Applied, Pace};
use fleet_engine::event::{Event, Ledger, Listener};
use fleet_engine::interrupt::{Interrupt, Urgency};
use fleet_engine::plan::{Goal, Options};
use fleet_store::{Database, Holder, Summary};

use crate::configuration::VariableArgs;
use crate::converge::{Purpose, Running, Site, command_of, print_outputs, state_failure};
use crate::planning::PlanningArgs;
use crate::progress::{Progress, ProgressArgs, summary};
use crate::reviewed::{Reviewed, Verdict};
use crate::{Env, Exit, Failure, publish};

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
    /// Apply exactly the plan that was saved here with `fleet plan --out`; it was reviewed, so nobody is asked
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
#[derive(Debug, clap::Args)]
pub(super) struct Given {
    /// Do not ask
    #[arg(long)]
    auto_approve: bool,
    /// How many steps may touch the world at once
    #[arg(long, value_name = "N", default_value_t = Pace::default().parallelism)]
    parallelism: usize,
    /// How long a step may take, such as `10m`
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration)]
    step_timeout: Option<Duration>,
    /// How long to wait for the lock of the state, such as `5m`
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration)]
    lock_timeout: Option<Duration>,
    #[command(flatten)]
    progress: ProgressArgs,
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
pub(super) fn converge(
    env: &mut Env,
    variables: &VariableArgs,
    options: Options,
    given: &Given,
    reviewed: Option<&Reviewed>,
) -> Result<Exit, Failure> {
    let Some(mut site) = Site::open(env, variables, Purpose::Apply)? else { return Ok(Exit::Failed) };
    if let Some(reviewed) = reviewed {
        site.plan_as_of(reviewed.planned_at()?);
    }
    let command = format!("fleet {}", command_of(options.goal));
    let holder = Holder::of_process(command, |name| env.var(name).map(Into::into));
    let opened = site.runtime.block_on(Database::open(&site.backend, &holder, given.lock_timeout));
    let database = opened.map_err(|e| state_failure(&e))?;
    let progress = Progress::start(env, &given.progress, command_of(options.goal), Arc::new(site.clock))?;
    let mut ledger = Ledger::default();
    let exit = waves(env, &site, &database, options, given, reviewed, &progress, &mut ledger);
    progress.hear(&Event::Finished { ledger: &ledger });
    site.runtime.block_on(database.close(Summary::default())).map_err(|e| state_failure(&e))?;
    progress.finish()?;
    exit
}

fn waves(
    env: &mut Env,
    site: &Site,
    database: &Database,
    mut options: Options,
    given: &Given,
    reviewed: Option<&Reviewed>,
    progress: &Progress,
    ledger: &mut Ledger,
) -> Result<Exit, Failure> {
    let interrupt = Interrupt::new();
    let pace = Pace { parallelism: given.parallelism, timeout: given.step_timeout, ..Pace::default() };
    let running = Running { store: database, listener: progress, interrupt: &interrupt, pace };
    let mut signals = None;
    let n_excluded = options.excludes.len();
    let mut wave = 1;
    loop {
        let state = site.runtime.block_on(database.read()).map_err(|e| state_failure(&e))?;
        let Some(planned) = site.plan(env, state, &options, progress)? else { return Ok(Exit::Failed) };
        progress.pause();
        let document = site.document(&planned, &options);
        if let Some(reviewed) = reviewed.filter(|_| wave == 1) {
            if options.excludes.len() > n_excluded {
                reviewed.covers(&document)?;
            } else if let Verdict::Without(moved) = reviewed.compare(&document, &site.facts(&planned))? {
                options.excludes.extend(moved);
                continue;
            }
        }
        publish::print_text(env, &document)?;
        let (changes, waits) = (planned.plan.changes_anything(), !planned.plan.deferred.is_empty());
        let is_approved = given.auto_approve || (reviewed.is_some() && wave == 1);
        if changes && !is_approved && given.progress.json {
            let failure = Failure::new("with `--json` nobody is asked, nothing was done");
            return Err(failure.help("add `--auto-approve`"));
        }
        if changes && !is_approved && !ask(env, options.goal)? {
            let failure = Failure::new("not approved, nothing was done");
            return Err(failure.help("answer `yes`, or use `--auto-approve`"));
        }
        let signals = match &mut signals {
            Some(signals) => signals,
            none => none.insert(site.catch_signals()?),
        };
        let Applied { ledger: of_wave, expansion, problems, .. } =
            site.apply(planned, &running, signals, wave);
        progress.pause();
        let good = site.tell(env, &problems)? && of_wave.all_done();
        if changes {
            writeln!(env.stdout, "{}", summary(&of_wave))?;
        }
        ledger.extend(of_wave);
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

fn ask(env: &mut Env, goal: Goal) -> Result<bool, Failure> {
    let question = match goal {
        Goal::Converge | Goal::RefreshOnly => "Apply this plan?",
        Goal::Destroy => "Destroy all of this?",
    };
    write!(env.stdout, "\n{question} Only `yes` is accepted: ")?;
    env.stdout.flush()?;
    let mut answer = String::new();
    let read = env.stdin.read_line(&mut answer);
    read.map_err(|error| Failure::of("standard input cannot be read", &error))?;
    writeln!(env.stdout)?;
    Ok(answer.trim() == "yes")
}

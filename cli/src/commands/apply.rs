//! `fleet apply`, and what `fleet destroy` shares with it.

use std::collections::BTreeMap;

use fleet_engine::address::Address;
use fleet_engine::apply::{Applier, Hands, Outcome};
use fleet_engine::plan::{Action, Plan, Step};
use fleet_store::{Database, Holder, Summary};

use crate::configuration::VariableArgs;
use crate::converge::{Goal, Planned, Site, print_outputs, state_failure};
use crate::{Env, Exit, Failure, publish};

/// Make reality equal to the configuration
///
/// Shows the plan, asks, and does exactly what the plan says. Every step is written down before it is taken, and what it
/// made is read back before it is recorded. A failed step skips those that depend on it; the others go on.
///
///   fleet apply --var site=desk
///   fleet apply --auto-approve
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct ApplyArgs {
    /// Do not ask
    #[arg(long)]
    auto_approve: bool,
    #[command(flatten)]
    variables: VariableArgs,
}

pub(crate) fn apply(env: &mut Env, args: &ApplyArgs) -> Result<Exit, Failure> {
    converge(env, &args.variables, Goal::Converge, args.auto_approve)
}

/// Plans for a goal, asks unless approved, and applies.
pub(super) fn converge(
    env: &mut Env,
    variables: &VariableArgs,
    goal: Goal,
    approved: bool,
) -> Result<Exit, Failure> {
    let Some(mut site) = Site::open(env, variables)? else { return Ok(Exit::Failed) };
    let holder = Holder::of_process(format!("fleet {}", goal.word()), |name| env.var(name).map(Into::into));
    let opened = site.runtime.block_on(Database::open(&site.backend, &holder, None));
    let mut database = opened.map_err(|e| state_failure(&e))?;
    let state = site.runtime.block_on(database.read()).map_err(|e| state_failure(&e))?;
    let Some(Planned { plan, document }) = site.plan(env, &state, goal)? else { return Ok(Exit::Failed) };
    publish::print_text(env, &document)?;
    if plan.changes_anything() && !approved && !ask(env, goal)? {
        return Err(
            Failure::new("not approved, nothing was done").help("answer `yes`, or use `--auto-approve`")
        );
    }
    site.begin_to_apply();
    let exit = execute(env, &site, &mut database, &plan, goal);
    site.runtime.block_on(database.close(Summary::default())).map_err(|e| state_failure(&e))?;
    exit
}

fn execute(
    env: &mut Env,
    site: &Site,
    database: &mut Database,
    plan: &Plan,
    goal: Goal,
) -> Result<Exit, Failure> {
    let stderr = &mut env.stderr;
    let mut report = |address: &Address, step: &Step, outcome: Option<&Outcome>| {
        // Progress that cannot be written is no reason to stop half-way.
        let _ = write_progress(stderr, address, step, outcome);
    };
    let hands = Hands {
        readers: &site.providers,
        writers: &site.providers,
        store: database,
        wait: &|step| site.runtime.block_on(step),
        report: &mut report,
    };
    let mut applier = Applier::new(plan, hands);
    let walked = (goal == Goal::Converge).then(|| site.walk(&mut applier));
    let outcomes = applier.finish();
    let mut good = outcomes.values().all(|outcome| *outcome == Outcome::Done);
    if let Some((expansion, problems)) = &walked {
        good &= site.tell(env, problems)?;
        if plan.changes_anything() {
            writeln!(env.stdout, "{}", summary(plan, &outcomes))?;
        }
        print_outputs(env, expansion.outputs())?;
    } else if plan.changes_anything() {
        writeln!(env.stdout, "{}", summary(plan, &outcomes))?;
    }
    Ok(if good { Exit::Done } else { Exit::Failed })
}

fn ask(env: &mut Env, goal: Goal) -> Result<bool, Failure> {
    let question = match goal {
        Goal::Converge => "Apply this plan?",
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

fn write_progress(
    out: &mut dyn std::io::Write,
    address: &Address,
    step: &Step,
    outcome: Option<&Outcome>,
) -> std::io::Result<()> {
    let Some((doing, done)) = words(step.action) else { return Ok(()) };
    match outcome {
        None => writeln!(out, "{address}: {doing}"),
        Some(Outcome::Done) => writeln!(out, "{address}: {done}"),
        Some(Outcome::Failed(why)) => writeln!(out, "{address}: failed: {why}"),
        Some(Outcome::Skipped(because)) => {
            writeln!(out, "{address}: skipped, because {because} was not done")
        }
    }
}

fn words(action: Action) -> Option<(&'static str, &'static str)> {
    match action {
        Action::Create => Some(("creating", "created")),
        Action::Update => Some(("updating", "updated")),
        Action::Replace { .. } => Some(("replacing", "replaced")),
        Action::Destroy => Some(("destroying", "destroyed")),
        Action::Keep | Action::Record | Action::Read | Action::Forget => None,
    }
}

/// How it all ended, in one line.
fn summary(plan: &Plan, outcomes: &BTreeMap<Address, Outcome>) -> String {
    let actions = [Action::Create, Action::Update, Action::Replace { create_first: false }, Action::Destroy];
    let done = |action| {
        let of_it = plan.steps.iter().filter(|(_, step)| step.action == action);
        of_it.filter(|(address, _)| outcomes.get(*address) == Some(&Outcome::Done)).count()
    };
    let count = |test: fn(&Outcome) -> bool| outcomes.values().filter(|outcome| test(outcome)).count();
    let mut parts: Vec<(usize, &str)> =
        actions.into_iter().filter_map(|action| Some((done(action), words(action)?.1))).collect();
    parts.push((count(|outcome| matches!(outcome, Outcome::Failed(_))), "failed"));
    parts.push((count(|outcome| matches!(outcome, Outcome::Skipped(_))), "skipped"));
    let parts: Vec<String> =
        parts.into_iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}")).collect();
    format!("Done: {}.", parts.join(", "))
}

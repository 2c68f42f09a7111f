//! `fleet host pause`, `quarantine` and `resume`.

use std::time::SystemTime;

use fleet_engine::state::{Apart, Mark, Write};

use super::chosen;
use crate::configuration::VariableArgs;
use crate::memory::{LockArgs, Memory};
use crate::{Env, Exit, Failure};

/// Leave a host alone until further notice
///
/// The host and all that is on it are left out of every plan and apply, which say so; the other hosts go on. Nobody
/// connects to it. It lasts until `fleet host resume`, for everybody who shares the state. `fleet destroy` takes no notice
/// of it: a paused host is given back like any other.
///
/// Examples:
///   fleet host pause 'runners["c"]' --reason "being repaired, see ticket 17"
///   fleet host pause mini-a
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct PauseArgs {
    #[command(flatten)]
    which: Which,
}

/// Leave a host alone, and give its machine to nobody
///
/// As `fleet host pause`, and more: the host is never given back to its pool, by `fleet destroy` neither, and its machine
/// is chosen for no slot, until `fleet host resume`. For machines that are broken or under investigation.
///
/// Examples:
///   fleet host quarantine mini-a --reason "fans fail"
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct QuarantineArgs {
    #[command(flatten)]
    which: Which,
}

/// Which host, and why.
#[derive(Debug, clap::Args)]
struct Which {
    /// The slot, such as `runners[0]`, the name of the host, or its machine
    #[arg(value_name = "HOST")]
    host: String,
    /// Why, for those who wonder
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    #[command(flatten)]
    lock: LockArgs,
    #[command(flatten)]
    variables: VariableArgs,
}

/// End a pause or a quarantine
///
/// The next plan looks at the host again, and shows what has changed there meanwhile.
///
/// Examples:
///   fleet host resume 'runners["c"]'
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct ResumeArgs {
    /// The slot, such as `runners[0]`, the name of the host, or its machine
    #[arg(value_name = "HOST")]
    host: String,
    #[command(flatten)]
    lock: LockArgs,
    #[command(flatten)]
    variables: VariableArgs,
}

pub(super) fn pause(env: &mut Env, args: &PauseArgs) -> Result<Exit, Failure> {
    set_apart(env, &args.which, Apart::Paused, "fleet host pause")
}

pub(super) fn quarantine(env: &mut Env, args: &QuarantineArgs) -> Result<Exit, Failure> {
    set_apart(env, &args.which, Apart::Quarantined, "fleet host quarantine")
}

fn set_apart(env: &mut Env, which: &Which, apart: Apart, command: &str) -> Result<Exit, Failure> {
    let Some(memory) = Memory::find(env, &which.variables)? else { return Ok(Exit::Failed) };
    let database = memory.open(env, command, which.lock)?;
    let state = memory.read_locked(&database)?;
    let host = chosen::recorded(&state, &which.host)?;
    let who = database.holder();
    let mark = Mark {
        apart,
        machine: state.recorded.get(&host).and_then(|record| record.session.alias.clone()),
        by: format!("{} on {}", who.owner, who.host),
        since: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
        reason: which.reason.clone(),
    };
    let machine = mark.machine.as_deref().unwrap_or("unknown").to_owned();
    let before = state.marks.get(&host).map(|before| before.apart.word());
    memory.write_all(&database, vec![Write::Mark { host: host.clone(), mark: Some(mark) }])?;
    memory.close(database)?;
    let before = before.map(|word| format!(", was {word}")).unwrap_or_default();
    writeln!(env.stdout, "{} ({machine}): {}{before}", host.scope, apart.word())?;
    writeln!(env.stdout, "`fleet host resume '{}'` ends that.", host.scope)?;
    Ok(Exit::Done)
}

pub(super) fn resume(env: &mut Env, args: &ResumeArgs) -> Result<Exit, Failure> {
    let Some(memory) = Memory::find(env, &args.variables)? else { return Ok(Exit::Failed) };
    let database = memory.open(env, "fleet host resume", args.lock)?;
    let state = memory.read_locked(&database)?;
    let host = match chosen::set_apart(&state, &args.host) {
        Ok(host) => host,
        Err(failure) => {
            let Ok(host) = chosen::recorded(&state, &args.host) else { return Err(failure) };
            memory.close(database)?;
            writeln!(env.stdout, "{}: was not set apart", host.scope)?;
            return Ok(Exit::Done);
        }
    };
    let word = state.marks.get(&host).map_or("set apart", |mark| mark.apart.word());
    memory.write_all(&database, vec![Write::Mark { host: host.clone(), mark: None }])?;
    memory.close(database)?;
    writeln!(env.stdout, "{}: not {word} any more", host.scope)?;
    Ok(Exit::Done)
}

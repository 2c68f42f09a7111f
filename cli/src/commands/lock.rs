//! `fleet lock`: who writes, and how to take over from the dead.

use std::time::SystemTime;

use fleet_store::Lease;
use serde::Serialize;

use crate::configuration::VariableArgs;
use crate::memory::{self, Memory};
use crate::{Env, Exit, Failure};

/// See who holds the lock of the state, or take it away
///
/// Whoever changes things holds the lock, so that there is only one at a time. It is renewed as long as its holder lives,
/// and runs out a minute after its end; one that died on this machine is noticed at once.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct LockArgs {
    #[command(subcommand)]
    part: Part,
}

#[derive(Debug, clap::Subcommand)]
enum Part {
    Status(StatusArgs),
    Release(ReleaseArgs),
}

/// Say who holds the lock
///
/// Takes no lock and leaves no trace.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
struct StatusArgs {
    /// Print it as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    variables: VariableArgs,
}

/// Take the lock away from its holder
///
/// Only for a holder that is certainly gone: two that change the same things at once do harm. If it is not gone after
/// all, whatever it still writes to the state is refused. What it had begun is looked at by the next run.
///
/// Shows who holds the lock and asks. With NUMBER, as `fleet lock status` has it, only that holder is meant, and nobody is
/// asked.
///
/// Examples:
///   fleet lock release
///   fleet lock release 17
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
struct ReleaseArgs {
    /// The number of the holder
    number: Option<u64>,
    /// Do not ask, whoever it is
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    variables: VariableArgs,
}

pub(crate) fn lock(env: &mut Env, args: &LockArgs) -> Result<Exit, Failure> {
    match &args.part {
        Part::Status(args) => status(env, args),
        Part::Release(args) => release(env, args),
    }
}

fn status(env: &mut Env, args: &StatusArgs) -> Result<Exit, Failure> {
    let Some(memory) = Memory::find(env, &args.variables)? else { return Ok(Exit::Failed) };
    let lease = lease(&memory)?;
    if args.json {
        let json = serde_json::to_string_pretty(&Status::of(lease.as_ref()));
        let json = json.expect("texts and numbers can be written as JSON");
        writeln!(env.stdout, "{}", fleet_engine::encode::safe_to_print(&json))?;
        return Ok(Exit::Done);
    }
    let text = lease.map_or_else(|| "The state is not locked.".to_owned(), |lease| told(&lease));
    writeln!(env.stdout, "{}", crate::diagnostics::clean(&text).collect::<String>())?;
    Ok(Exit::Done)
}

fn release(env: &mut Env, args: &ReleaseArgs) -> Result<Exit, Failure> {
    let Some(memory) = Memory::find(env, &args.variables)? else { return Ok(Exit::Failed) };
    let Some(lease) = lease(&memory)? else {
        writeln!(env.stdout, "The state is not locked.")?;
        return Ok(Exit::Done);
    };
    match args.number {
        Some(number) if number != lease.fence => {
            let held = format!("the lock is held by number {}, {}", lease.fence, lease.holder);
            let failure = Failure::new(format!("{held}, and not by {number}; nothing was done"));
            return Err(failure.help("see `fleet lock status`"));
        }
        None if !args.force && !ask(env, &lease)? => {
            let failure = Failure::new("not approved, nothing was done");
            return Err(failure.help(format!("answer `yes`, or use `fleet lock release {}`", lease.fence)));
        }
        _ => {}
    }
    let released = memory.runtime.block_on(fleet_store::release(&memory.place.backend, lease.fence));
    let released = released.map_err(|e| memory::failure(&e))?;
    writeln!(env.stdout, "Released: the lock was held by {}.", released.holder)?;
    Ok(Exit::Done)
}

fn lease(memory: &Memory) -> Result<Option<Lease>, Failure> {
    let lease = memory.runtime.block_on(fleet_store::lock_status(&memory.place.backend));
    lease.map_err(|e| memory::failure(&e))
}

fn ask(env: &mut Env, lease: &Lease) -> Result<bool, Failure> {
    writeln!(env.stdout, "{}", crate::diagnostics::clean(&told(lease)).collect::<String>())?;
    env.ask("Take the lock away? Whoever holds it must be gone.")
}

fn told(lease: &Lease) -> String {
    let Lease { holder, since, expires, expired, fence } = lease;
    let until = if *expired {
        "It has run out, so the next run takes it over.".to_owned()
    } else {
        format!("It runs out at {} unless it is renewed.", humantime::format_rfc3339_seconds(*expires))
    };
    format!("The state is locked by {holder}, number {fence}, since {}.\n{until}", memory::moment(*since))
}

/// The lock as programs see it.
#[derive(Serialize)]
struct Status {
    locked: bool,
    #[serde(flatten)]
    by: Option<By>,
}

#[derive(Serialize)]
struct By {
    number: u64,
    owner: String,
    host: String,
    pid: u32,
    job: Option<String>,
    command: String,
    since: String,
    expires: String,
    expired: bool,
}

impl Status {
    fn of(lease: Option<&Lease>) -> Status {
        let time = |time: SystemTime| humantime::format_rfc3339_millis(time).to_string();
        let by = lease.cloned().map(|lease| By {
            number: lease.fence,
            owner: lease.holder.owner,
            host: lease.holder.host,
            pid: lease.holder.pid,
            job: lease.holder.job,
            command: lease.holder.command,
            since: time(lease.since),
            expires: time(lease.expires),
            expired: lease.expired,
        });
        Status { locked: by.is_some(), by }
    }
}

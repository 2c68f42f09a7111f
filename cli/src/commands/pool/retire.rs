//! `fleet pool retire`.

use std::io::Write as _;

use fleet_engine::address::{Key, ScopePath, ScopeStep};
use fleet_engine::encode::safe_to_print;
use fleet_engine::plan::Way;
use fleet_engine::pool::protocol::{Record, Stage};
use fleet_engine::pool::retire::too_early;
use fleet_engine::pool::{Class, Retired};
use fleet_engine::resource::Error;
use fleet_engine::state::State;
use fleet_store::{Database, Summary};
use serde::Serialize;

use super::notes::{Notes, holder};
use super::survey::{Row, Survey, now, survey};
use crate::configuration::VariableArgs;
use crate::converge::{Purpose, Site};
use crate::hosts::HostArgs;
use crate::memory::{self, LockArgs};
use crate::{Env, Exit, Failure};

/// Delete free servers for good
///
/// Gives servers back to the vendor itself: they are deleted with everything on them, leave the pool, and are not paid for
/// any more. Only servers that are free are deleted, after a question that shows what is lost, and none before the time that
/// the vendor names as its `deletable_at`. What somebody has, what nobody knows and what does not answer is left alone.
///
/// Each goes through the protocol of docs/pool.md: it is taken like a host that is claimed, its name is read again, that it
/// will be deleted is written down, and it counts as deleted only when the vendor has it no more. If that is cut off, the
/// same command goes on with it; `fleet apply` only finds out what became of it, and lets a server go that is still there.
///
/// Examples:
///   fleet pool retire pool-0b1c
///   fleet pool retire pool-0b1c pool-77aa --auto-approve --json
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct RetireArgs {
    /// Which, by name or by what the vendor calls them
    #[arg(value_name = "SERVER", required = true)]
    servers: Vec<String>,
    /// Do not ask
    #[arg(long, alias = "auto-approve")]
    yes: bool,
    /// Print what became of each as JSON; nothing is asked then
    #[arg(long, requires = "yes")]
    json: bool,
    #[command(flatten)]
    lock: LockArgs,
    #[command(flatten)]
    hosts: HostArgs,
    #[command(flatten)]
    variables: VariableArgs,
}

/// A server that is to be deleted.
struct Chosen {
    id: String,
    name: String,
    pool: String,
    deletable_at: Option<String>,
    commitment: Option<String>,
    model: Option<String>,
    /// What is kept of a deletion that was cut off.
    begun: Option<Record>,
}

/// What became of a server, as programs see it.
#[derive(Serialize)]
struct Outcome {
    pool: String,
    id: String,
    name: String,
    deletable_at: Option<String>,
    commitment: Option<String>,
    deleted: bool,
    /// Why it is there still.
    why: Option<String>,
    help: Option<String>,
}

pub(super) fn retire(env: &mut Env, args: &RetireArgs) -> Result<Exit, Failure> {
    let opened = Site::open(env, &args.variables, Purpose::Apply, args.hosts)?;
    let Some(site) = opened else { return Ok(Exit::Failed) };
    let database = site.runtime.block_on(memory::open(env, &site.place, "fleet pool retire", args.lock))?;
    let exit = retire_all(env, &site, &database, args);
    site.close();
    let closed = site.runtime.block_on(database.close(Summary::default()));
    let exit = exit?;
    closed.map_err(|error| memory::unclosed(&error))?;
    Ok(exit)
}

fn retire_all(env: &mut Env, site: &Site, database: &Database, args: &RetireArgs) -> Result<Exit, Failure> {
    let state = site.runtime.block_on(database.read()).map_err(|e| memory::failure(&e))?;
    let Some(survey) = survey(env, site, &state)? else { return Ok(Exit::Failed) };
    let mut chosen: Vec<Chosen> = Vec::new();
    for name in &args.servers {
        let one = choose(&survey, name)?;
        if !chosen.iter().any(|other| other.id == one.id) {
            chosen.push(one);
        }
    }
    if !args.json {
        show(env, &survey, &chosen)?;
        if !args.yes && !env.ask("Delete them for good?")? {
            return Err(Failure::new("not approved, nothing was done").help("answer `yes`, or use `--yes`"));
        }
    }
    let mut outcomes = Vec::new();
    for server in chosen {
        let retired = retire_one(site, database, &state, &survey, &server);
        let Chosen { id, name, pool, deletable_at, commitment, .. } = server;
        let (deleted, error) = match retired {
            Ok(Retired::Deleted) => (true, None),
            Ok(Retired::Kept(error)) | Err(error) => (false, Some(error)),
        };
        let (why, help) = error.map(|error| (error.to_string(), error.help)).unzip();
        let outcome =
            Outcome { pool, id, name, deletable_at, commitment, deleted, why, help: help.flatten() };
        if !args.json {
            tell(env, &outcome)?;
        }
        outcomes.push(outcome);
    }
    if args.json {
        let json = serde_json::to_string_pretty(&outcomes).expect("texts can be written as JSON");
        writeln!(env.stdout, "{}", safe_to_print(&json))?;
    }
    Ok(if outcomes.iter().all(|outcome| outcome.deleted) { Exit::Done } else { Exit::Failed })
}

/// The server that somebody named, if it may be deleted.
fn choose(survey: &Survey, named: &str) -> Result<Chosen, Failure> {
    let Survey { rows, ours, .. } = survey;
    let begun = |id: &str| {
        let is_it =
            |record: &&Record| record.identity.server == id && record.progress.stage == Stage::Retiring;
        ours.records.iter().find(is_it).cloned()
    };
    let mut meant = rows.iter().filter(|row| row.id == *named || row.name == *named);
    let Some(row) = meant.next() else {
        // What was deleted when its answer got lost is not listed any more.
        let unknown = || {
            let failure = Failure::new(format!("no server is called `{named}`; nothing was done"));
            failure.help("`fleet pool list` names all of them")
        };
        let record = begun(named).ok_or_else(unknown)?;
        let pool = pool_of(survey, &record).ok_or_else(unknown)?;
        let (id, name) = (named.to_owned(), named.to_owned());
        let begun = Some(record);
        return Ok(Chosen { id, name, pool, deletable_at: None, commitment: None, model: None, begun });
    };
    if let Some(other) = meant.next() {
        let failure = Failure::new(format!("`{named}` may be {} or {}; nothing was done", row.id, other.id));
        return Err(failure.help("name it by its id"));
    }
    let Row { id, name, pool, class, why, deletable_at, commitment, model, zone, .. } = row;
    let begun = begun(id);
    if begun.is_none() {
        if *class != Class::Free {
            let failure = Failure::new(format!("`{named}` is {class}: {why}; nothing was done"));
            let help = match class {
                Class::Mine => "only free servers are deleted: make its fleet smaller, so that it goes back",
                _ => "only free servers are deleted",
            };
            return Err(failure.help(help));
        }
        if zone.is_none() {
            let failure = Failure::new(format!("no vendor stands behind `pool.{pool}`; nothing was done"));
            return Err(failure.help("take the machine out of the configuration"));
        }
        if let Some(Error { message, help, .. }) = too_early(name, deletable_at.as_deref(), now()) {
            let failure = Failure::new(format!("{message}; nothing was done"));
            return Err(help.into_iter().fold(failure, |failure, help| failure.help(help)));
        }
    }
    Ok(Chosen {
        id: id.clone(),
        name: name.clone(),
        pool: pool.clone(),
        deletable_at: deletable_at.clone(),
        commitment: commitment.clone(),
        model: model.clone(),
        begun,
    })
}

/// The pool whose fleet something was begun for.
fn pool_of(survey: &Survey, record: &Record) -> Option<String> {
    let slot = ScopePath::slot_named(&record.identity.slot)?;
    let Some(ScopeStep::Fleet(fleet, _)) = slot.steps().last() else { return None };
    survey.ways.iter().find(|way| way.fleet == *fleet).map(|way| way.pool.to_string())
}

/// What is lost.
fn show(env: &mut Env, survey: &Survey, chosen: &[Chosen]) -> Result<(), Failure> {
    writeln!(env.stdout, "These servers are deleted at their vendor for good, with everything on them:")?;
    for Chosen { id, name, pool, deletable_at, commitment, model, .. } in chosen {
        let model = model.as_deref().unwrap_or("a server");
        let rented = match commitment.as_deref() {
            Some("renewed_monthly") => "rented by the month, and paid for until the end of it",
            _ => "rented by the day",
        };
        let since = deletable_at.as_deref().map(|at| format!(", deletable since {at}")).unwrap_or_default();
        writeln!(env.stdout, "  {name} ({id}): {model} of pool.{pool}, {rented}{since}")?;
    }
    let is_left = |row: &&Row| {
        row.class == Class::Free
            && chosen.iter().any(|one| one.pool == row.pool)
            && !chosen.iter().any(|one| one.id == row.id)
    };
    let left = survey.rows.iter().filter(is_left).count();
    writeln!(
        env.stdout,
        "{left} free servers are left then; another one has to be ordered, for 24 hours at least."
    )?;
    Ok(())
}

fn retire_one(
    site: &Site,
    database: &Database,
    state: &State,
    survey: &Survey,
    server: &Chosen,
) -> Result<Retired, Error> {
    let Chosen { id, pool, begun, .. } = server;
    let to_vendor = |way: &&Way| *way.pool == **pool && way.machine.is_none();
    let no_way = || Error::permanent(format!("no fleet says how the machines of `pool.{pool}` are reached"));
    let way = survey.ways.iter().find(to_vendor).ok_or_else(no_way)?;
    let slot = ScopePath::of_slot(way.fleet.clone(), Key::Text(id.as_str().into()));
    let notes = match begun {
        None => Notes::new(site, database, state, way, &slot),
        Some(record) => {
            let lost = || Error::permanent("what was begun with it is nowhere in the state");
            Notes::of_claim(site, database, state, &record.identity.claim).ok_or_else(lost)?
        }
    };
    let holder = holder(database, state);
    site.runtime.block_on(async {
        let retired = site.providers.retire(way, &holder, &slot, (id, begun.clone()), &notes).await?;
        notes.close().await.map(|()| retired)
    })
}

fn tell(env: &mut Env, outcome: &Outcome) -> Result<(), Failure> {
    let Outcome { name, why, help, .. } = outcome;
    let Some(why) = why else {
        writeln!(env.stdout, "{name}: deleted")?;
        return Ok(());
    };
    let help = help.as_ref().map(|help| format!("; {help}")).unwrap_or_default();
    writeln!(env.stderr, "{name}: not deleted: {why}{help}")?;
    Ok(())
}

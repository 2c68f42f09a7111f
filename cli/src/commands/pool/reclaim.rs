//! `fleet pool reclaim`.

use std::io::Write as _;

use fleet_engine::address::{Key, ScopePath};
use fleet_engine::plan::Way;
use fleet_engine::pool::Remedy;
use fleet_store::{Database, Summary};

use super::notes::{Notes, holder};
use super::survey::{Row, Survey, survey};
use crate::configuration::VariableArgs;
use crate::converge::{Purpose, Site};
use crate::hosts::HostArgs;
use crate::memory::{self, LockArgs};
use crate::{Env, Exit, Failure};

/// Free servers that were left behind
///
/// Some servers do not become free by themselves: a claim that was begun and never ended, ours or one that is older than
/// any claim may be, and a server that somebody gave back and did not name free. `fleet pool list` says which they are.
/// They are freed through the protocol of docs/pool.md, after a question: what is done is written down first, and if it is
/// cut off, `fleet apply` goes on with it. No other server is touched, whatever is named here.
///
/// Examples:
///   fleet pool reclaim
///   fleet pool reclaim pool-0b1c --yes
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct ReclaimArgs {
    /// Only these, by name or by what the vendor calls them; all that can be freed if none is named
    #[arg(value_name = "SERVER")]
    servers: Vec<String>,
    /// Do not ask
    #[arg(long, alias = "auto-approve")]
    yes: bool,
    #[command(flatten)]
    lock: LockArgs,
    #[command(flatten)]
    hosts: HostArgs,
    #[command(flatten)]
    variables: VariableArgs,
}

pub(super) fn reclaim(env: &mut Env, args: &ReclaimArgs) -> Result<Exit, Failure> {
    let opened = Site::open(env, &args.variables, Purpose::Apply, args.hosts)?;
    let Some(site) = opened else { return Ok(Exit::Failed) };
    let database = site.runtime.block_on(memory::open(env, &site.place, "fleet pool reclaim", args.lock))?;
    let exit = reclaim_all(env, &site, &database, args);
    site.close();
    let closed = site.runtime.block_on(database.close(Summary::default()));
    let exit = exit?;
    closed.map_err(|error| memory::unclosed(&error))?;
    Ok(exit)
}

fn reclaim_all(env: &mut Env, site: &Site, database: &Database, args: &ReclaimArgs) -> Result<Exit, Failure> {
    let state = site.runtime.block_on(database.read()).map_err(|e| memory::failure(&e))?;
    let Some(Survey { rows, ways, .. }) = survey(env, site, &state)? else { return Ok(Exit::Failed) };
    let chosen = chosen(&rows, &args.servers)?;
    if chosen.is_empty() {
        writeln!(env.stdout, "No server was left behind.")?;
        return Ok(Exit::Done);
    }
    writeln!(env.stdout, "These servers are taken over from whoever left them, and freed:")?;
    for (row, _) in &chosen {
        writeln!(env.stdout, "  {} ({}): {}", row.name, row.id, row.why)?;
    }
    if !args.yes && !env.ask("Free them?")? {
        return Err(Failure::new("not approved, nothing was done").help("answer `yes`, or use `--yes`"));
    }
    let holder = holder(database, &state);
    let mut exit = Exit::Done;
    for (row, remedy) in chosen {
        let to_vendor = |way: &&Way| *way.pool == *row.pool && way.machine.is_none();
        let Some(way) = ways.iter().find(to_vendor) else { continue };
        let slot = ScopePath::of_slot(way.fleet.clone(), Key::Text(row.id.as_str().into()));
        let notes = Notes::new(site, database, &state, way, &slot);
        let freed = site.providers.reclaim(way, &holder, &slot, (&row.id, remedy), &notes);
        let freed = site.runtime.block_on(async {
            let freed = freed.await?;
            notes.close().await.map(|()| freed)
        });
        let name = &row.name;
        for warning in notes.warnings() {
            writeln!(env.stderr, "{name}: {warning}")?;
        }
        match freed {
            Ok(true) => writeln!(env.stdout, "{name}: free")?,
            Ok(false) => writeln!(env.stdout, "{name}: somebody else was faster, nothing was left to do")?,
            Err(error) => {
                exit = Exit::Failed;
                let help = error.help.as_ref().map(|help| format!("; {help}")).unwrap_or_default();
                writeln!(env.stderr, "{name}: not freed: {error}{help}")?;
            }
        }
    }
    Ok(exit)
}

/// The servers that may be freed, of those that somebody named.
fn chosen<'r>(rows: &'r [Row], named: &[String]) -> Result<Vec<(&'r Row, &'r Remedy)>, Failure> {
    for name in named {
        let mut meant = rows.iter().filter(|row| row.id == *name || row.name == *name);
        let Some(row) = meant.next() else {
            let failure = Failure::new(format!("no server is called `{name}`; nothing was done"));
            return Err(failure.help("`fleet pool list` names all of them"));
        };
        if let Some(other) = meant.next() {
            let failure =
                Failure::new(format!("`{name}` may be {} or {}; nothing was done", row.id, other.id));
            return Err(failure.help("name it by its id"));
        }
        if !matches!(row.remedy, Some(Remedy::Reclaim(_) | Remedy::Finish(_))) {
            let (class, why) = (row.class, &row.why);
            let failure = Failure::new(format!("`{name}` is {class}: {why}; nothing was done"));
            return Err(failure.help("only what was certainly left behind is freed"));
        }
    }
    let is_named = |row: &&Row| named.is_empty() || named.contains(&row.id) || named.contains(&row.name);
    let remedied = rows.iter().filter(is_named).filter_map(|row| Some((row, row.remedy.as_ref()?)));
    Ok(remedied.filter(|(_, remedy)| **remedy != Remedy::Decide).collect())
}

//! `fleet state rm`.

use fleet_engine::state::{Object, Write};

use super::chosen::{nothing, objects, target};
use crate::configuration::VariableArgs;
use crate::memory::{LockArgs, Memory};
use crate::{Env, Exit, Failure};

/// Forget things without destroying them
///
/// Nothing but the state is changed: what is forgotten is still there, and nobody's. As long as it is declared, the next
/// apply tries to make it again; `fleet import` takes it back. A `removed` block does the same as a part of a plan.
///
/// Examples:
///   fleet state rm core_file.motd
///   fleet state rm module.web 'core_file.note["a"]' --dry-run
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct RmArgs {
    /// What to forget: instances, whole blocks or modules
    #[arg(value_name = "ADDRESS", required = true)]
    addresses: Vec<String>,
    /// Say what would be forgotten, and change nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    lock: LockArgs,
    #[command(flatten)]
    variables: VariableArgs,
}

pub(super) fn rm(env: &mut Env, args: &RmArgs) -> Result<Exit, Failure> {
    let wanted = args.addresses.iter().map(|text| target(text)).collect::<Result<Vec<_>, _>>()?;
    let Some(memory) = Memory::find(env, &args.variables)? else { return Ok(Exit::Failed) };
    let mut database = None;
    let state = if args.dry_run {
        memory.read()?
    } else {
        memory.read_locked(database.insert(memory.open(env, "fleet state rm", args.lock)?))?
    };
    let all = objects(&state);
    for target in &wanted {
        if !all.iter().any(|object| target.covers(&object.address)) {
            return Err(nothing(target, &state));
        }
    }
    let chosen = |object: &&Object| wanted.iter().any(|target| target.covers(&object.address));
    let chosen: Vec<&Object> = all.iter().filter(chosen).collect();
    let word = if args.dry_run { "would be forgotten" } else { "forgotten" };
    if let Some(database) = database {
        let writes = chosen.iter().map(|&object| Write::Settle { object: object.clone(), recorded: None });
        memory.write_all(&database, writes.collect())?;
        memory.close(database)?;
    }
    for object in &chosen {
        let begun =
            if state.intents.contains_key(*object) { ", and what was begun there with it" } else { "" };
        writeln!(env.stdout, "{object}: {word}{begun}")?;
    }
    if !args.dry_run {
        writeln!(env.stdout, "Nothing was destroyed: what is forgotten is still there.")?;
    }
    Ok(Exit::Done)
}

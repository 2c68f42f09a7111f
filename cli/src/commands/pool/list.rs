//! `fleet pool list`.

use fleet_engine::encode::safe_to_print;

use super::survey::{Survey, look, print};
use crate::configuration::VariableArgs;
use crate::hosts::HostArgs;
use crate::{Env, Exit, Failure};

/// List every machine of the pools, with its class
///
/// Asks the vendors of the pools for all servers of their project and zone, and each server for its ledger. One machine a
/// line: what it is, its name, model, system and address, which slot has it and since when, and before which time the
/// vendor does not let it be deleted; where there is something to say of it, why it is in its class and what can be done.
/// Nothing is changed, and no lock is taken.
///
/// The classes: `free`, `pending` somebody is claiming it, `mine`, `foreign` another state has it, `returning`,
/// `reinstalling`, `quarantined` it is held back, `unavailable` it does not answer, and `stray` nobody has it and it is not free.
///
/// Examples:
///   fleet pool list
///   fleet pool list minis --json | jq -r '.[] | select(.class == "free") | .name'
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct ListArgs {
    /// Only this pool
    #[arg(value_name = "POOL")]
    pool: Option<String>,
    /// Print it as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    hosts: HostArgs,
    #[command(flatten)]
    variables: VariableArgs,
}

pub(super) fn list(env: &mut Env, args: &ListArgs) -> Result<Exit, Failure> {
    let Some(Survey { mut rows, ours, unused, .. }) = look(env, &args.variables, args.hosts)? else {
        return Ok(Exit::Failed);
    };
    if let Some(pool) = &args.pool {
        let name = pool.strip_prefix("pool.").unwrap_or(pool);
        let is_unused = unused.iter().any(|unused| **unused == *name);
        rows.retain(|row| row.pool == name);
        if rows.is_empty() && is_unused {
            let failure = Failure::new(format!("no fleet takes hosts from `pool.{name}`"));
            return Err(failure.help("only a fleet says how the machines of a pool are reached"));
        }
        if rows.is_empty() {
            return Err(Failure::new(format!("no machine was found in a pool `{name}`")));
        }
    }
    if args.json {
        let json = serde_json::to_string_pretty(&rows).expect("texts can be written as JSON");
        writeln!(env.stdout, "{}", safe_to_print(&json))?;
        return Ok(Exit::Done);
    }
    print(env, &rows, &ours)?;
    for pool in unused.iter().filter(|_| args.pool.is_none()) {
        writeln!(env.stdout, "pool.{pool}\n  not looked at: no fleet says how its machines are reached")?;
    }
    Ok(Exit::Done)
}

//! `fleet state pull`.

use fleet_engine::encode::safe_to_print;

use crate::configuration::VariableArgs;
use crate::memory::{self, Memory};
use crate::{Env, Exit, Failure};

/// Print the whole state as JSON
///
/// A copy to look at or to keep; `fleet state push` puts it back. No secret is in it: of sensitive values the state has
/// digests only.
///
/// Examples:
///   fleet state pull > before.json
///   fleet state pull | jq -r '.resources[].address'
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct PullArgs {
    #[command(flatten)]
    variables: VariableArgs,
}

pub(super) fn pull(env: &mut Env, args: &PullArgs) -> Result<Exit, Failure> {
    let Some(memory) = Memory::find(env, &args.variables)? else { return Ok(Exit::Failed) };
    let json = memory.document()?.to_json().map_err(|e| memory::failure(&e))?;
    writeln!(env.stdout, "{}", safe_to_print(&format!("{json:#}")))?;
    Ok(Exit::Done)
}

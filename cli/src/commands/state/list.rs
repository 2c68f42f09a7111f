//! `fleet state list`.

use super::chosen::{objects, target};
use crate::configuration::VariableArgs;
use crate::memory::Memory;
use crate::{Env, Exit, Failure};

/// List what is recorded, one address a line
///
/// An older object that was replaced and still has to go is marked `(deposed N)`; something that was begun, and whose
/// end nobody knows yet, is marked `(begun)`.
///
/// Examples:
///   fleet state list
///   fleet state list module.web 'core_file.note["a"]'
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct ListArgs {
    /// List only these, and what is in them: instances, whole blocks or modules
    #[arg(value_name = "ADDRESS")]
    addresses: Vec<String>,
    #[command(flatten)]
    variables: VariableArgs,
}

pub(super) fn list(env: &mut Env, args: &ListArgs) -> Result<Exit, Failure> {
    let wanted = args.addresses.iter().map(|text| target(text)).collect::<Result<Vec<_>, _>>()?;
    let Some(memory) = Memory::find(env, &args.variables)? else { return Ok(Exit::Failed) };
    let state = memory.read()?;
    for object in objects(&state) {
        if wanted.is_empty() || wanted.iter().any(|target| target.covers(&object.address)) {
            let begun = if state.intents.contains_key(&object) { " (begun)" } else { "" };
            writeln!(env.stdout, "{object}{begun}")?;
        }
    }
    Ok(Exit::Done)
}

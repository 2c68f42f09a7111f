//! `fleet plan`.

use crate::configuration::VariableArgs;
use crate::converge::{Goal, Site, state_failure};
use crate::{Env, Exit, Failure};

/// Compare the configuration with reality and print what apply would do
///
/// Everything that is declared or recorded is looked at as it is now. Nothing is changed, the state included.
///
/// The signs: `+` is made, `~` is changed in place, `-/+` is made anew, `-` is removed. With nothing to do it prints
/// `No changes.`
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct PlanArgs {
    /// Exit with 2 if there are changes, 0 if there are none
    #[arg(long)]
    detailed_exitcode: bool,
    #[command(flatten)]
    variables: VariableArgs,
}

pub(crate) fn plan(env: &mut Env, args: &PlanArgs) -> Result<Exit, Failure> {
    let Some(site) = Site::open(env, &args.variables)? else { return Ok(Exit::Failed) };
    let state = site.runtime.block_on(fleet_store::read(&site.backend)).map_err(|e| state_failure(&e))?;
    let Some(plan) = site.plan(env, &state, Goal::Converge)? else { return Ok(Exit::Failed) };
    Ok(if args.detailed_exitcode && plan.changes_anything() { Exit::Changes } else { Exit::Done })
}

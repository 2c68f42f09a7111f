//! `fleet plan`.

use std::path::PathBuf;

use fleet_engine::plan::Goal;

use crate::configuration::VariableArgs;
use crate::converge::{Purpose, Site};
use crate::hosts::HostArgs;
use crate::planning::PlanningArgs;
use crate::publish::{self, FormatArgs};
use crate::{Env, Exit, Failure, memory};

/// Compare the configuration with reality and print what apply would do
///
/// Everything that is declared or recorded is looked at as it is now. Nothing is changed, the state included.
///
/// The signs: `+` is made, `~` is changed in place, `-/+` is made anew (`+/-` with the new one first), `-` is removed,
/// `<=` is read during apply, `.` is left alone from now on, `←` is imported, `→` has a new address, `?` is decided
/// once more is known. With nothing to do it prints `No changes.`
///
/// Examples:
///   fleet plan
///   fleet plan --out reviewed.plan && fleet apply reviewed.plan
///   fleet plan --format markdown > comment.md
///   fleet plan --json | jq .summary
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct PlanArgs {
    /// Exit with 2 if there are changes, 0 if there are none
    #[arg(long)]
    detailed_exitcode: bool,
    /// Save the plan to FILE, for `fleet show` and `fleet apply`; nothing secret is in it
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    format: FormatArgs,
    /// Plan to remove everything
    #[arg(long)]
    destroy: bool,
    /// Run no script of yours to look at something (`host_command`): what needs one is left out
    #[arg(long)]
    read_only: bool,
    #[command(flatten)]
    hosts: HostArgs,
    #[command(flatten)]
    planning: PlanningArgs,
    #[command(flatten)]
    variables: VariableArgs,
}

pub(crate) fn plan(env: &mut Env, args: &PlanArgs) -> Result<Exit, Failure> {
    let goal = if args.destroy { Goal::Destroy } else { Goal::Converge };
    let options = args.planning.options(goal)?;
    let Some(site) = Site::open(env, &args.variables, Purpose::Plan, args.hosts)? else {
        return Ok(Exit::Failed);
    };
    let site = site.read_only(args.read_only);
    let state = site.runtime.block_on(fleet_store::read(&site.place.backend));
    let state = state.map_err(|e| memory::failure(&e))?;
    let planned = site.plan(state, &options, &());
    site.close();
    let planned = match planned? {
        Ok(planned) => planned,
        Err(problems) => {
            site.tell(env, &problems)?;
            return Ok(Exit::Failed);
        }
    };
    let document = site.document(&planned, &options, args.out.is_some() || args.format.is_for_programs());
    publish::print(env, &document, &args.format)?;
    if let Some(path) = &args.out {
        publish::save(env, &document, path)?;
    }
    let (changes, is_blocked) = (document.changes_something(), document.is_blocked());
    // The process ends here. To give back very many small things one by one would only take time.
    std::mem::forget((planned, document));
    if is_blocked {
        return Ok(Exit::Failed);
    }
    Ok(if args.detailed_exitcode && changes { Exit::Changes } else { Exit::Done })
}

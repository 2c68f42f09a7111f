//! `fleet destroy`.

use fleet_engine::plan::Goal;

use super::apply::{Given, converge};
use crate::configuration::VariableArgs;
use crate::planning::PlanningArgs;
use crate::{Env, Exit, Failure};

/// Remove everything this configuration has made
///
/// Shows what will go, asks, and removes it, each thing before those it depended on. What was not made by fleet stays.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct DestroyArgs {
    #[command(flatten)]
    given: Given,
    #[command(flatten)]
    planning: PlanningArgs,
    #[command(flatten)]
    variables: VariableArgs,
}

pub(crate) fn destroy(env: &mut Env, args: &DestroyArgs) -> Result<Exit, Failure> {
    converge(env, &args.variables, args.planning.options(Goal::Destroy)?, &args.given, None)
}

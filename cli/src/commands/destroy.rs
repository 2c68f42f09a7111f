//! `fleet destroy`.

use super::apply::converge;
use crate::configuration::VariableArgs;
use crate::converge::Goal;
use crate::{Env, Exit, Failure};

/// Remove everything this configuration has made
///
/// Shows what will go, asks, and removes it, each thing before those it depended on. What was not made by fleet stays.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct DestroyArgs {
    /// Do not ask
    #[arg(long)]
    auto_approve: bool,
    #[command(flatten)]
    variables: VariableArgs,
}

pub(crate) fn destroy(env: &mut Env, args: &DestroyArgs) -> Result<Exit, Failure> {
    converge(env, &args.variables, Goal::Destroy, args.auto_approve)
}

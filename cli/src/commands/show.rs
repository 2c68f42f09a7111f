//! `fleet show`.

use std::path::PathBuf;

use crate::publish::{self, FormatArgs};
use crate::{Env, Exit, Failure};

/// Print a saved plan
///
/// Prints what `fleet plan --out FILE` printed when it saved the plan. The file is all it takes: no configuration, no
/// state, no secrets, and nothing secret is in it.
///
/// Examples:
///   fleet show reviewed.plan
///   fleet show --format markdown reviewed.plan > comment.md
///   fleet show --json reviewed.plan | jq '.steps[] | select(.action == "destroy").address'
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct ShowArgs {
    /// The file that `fleet plan --out` wrote
    file: PathBuf,
    #[command(flatten)]
    format: FormatArgs,
}

pub(crate) fn show(env: &mut Env, args: &ShowArgs) -> Result<Exit, Failure> {
    let document = publish::read(env, &args.file)?;
    publish::print(env, &document, &args.format)?;
    Ok(Exit::Done)
}

//! `fleet secrets`: the secrets of a configuration. One file for each part.

mod check;

use crate::{Env, Exit, Failure};

/// See whether the secrets of the configuration can be had, and are good
///
///   fleet secrets check
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct SecretsArgs {
    #[command(subcommand)]
    part: Part,
}

#[derive(Debug, clap::Subcommand)]
enum Part {
    Check(check::CheckArgs),
}

pub(crate) fn secrets(env: &mut Env, args: &SecretsArgs) -> Result<Exit, Failure> {
    match &args.part {
        Part::Check(args) => check::check(env, args),
    }
}

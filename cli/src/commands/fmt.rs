//! `fleet fmt`.

use crate::{Env, Exit, Failure};

/// Write configuration files in their canonical form
#[derive(Debug, clap::Args)]
pub(crate) struct FmtArgs {}

pub(crate) fn fmt(_env: &mut Env, _args: &FmtArgs) -> Result<Exit, Failure> {
    Err(Failure::new("`fleet fmt` is not part of this build"))
}

//! `fleet apply`.

use crate::{Env, Exit, Failure};

/// Make reality equal to the configuration
#[derive(Debug, clap::Args)]
pub(crate) struct ApplyArgs {}

pub(crate) fn apply(_env: &mut Env, _args: &ApplyArgs) -> Result<Exit, Failure> {
    Err(Failure::new("`fleet apply` is not part of this build"))
}

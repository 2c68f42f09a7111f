//! `fleet validate`.

use crate::{Env, Exit, Failure};

/// Find every mistake in the configuration, without touching anything
#[derive(Debug, clap::Args)]
pub(crate) struct ValidateArgs {}

pub(crate) fn validate(_env: &mut Env, _args: &ValidateArgs) -> Result<Exit, Failure> {
    Err(Failure::new("`fleet validate` is not part of this build"))
}

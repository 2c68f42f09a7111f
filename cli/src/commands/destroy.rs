//! `fleet destroy`.

use crate::{Env, Exit, Failure};

/// Remove everything this configuration has made
#[derive(Debug, clap::Args)]
pub(crate) struct DestroyArgs {}

pub(crate) fn destroy(_env: &mut Env, _args: &DestroyArgs) -> Result<Exit, Failure> {
    Err(Failure::new("`fleet destroy` is not part of this build"))
}

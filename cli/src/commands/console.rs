//! `fleet console`.

use crate::{Env, Exit, Failure};

/// Evaluate expressions
#[derive(Debug, clap::Args)]
pub(crate) struct ConsoleArgs {}

pub(crate) fn console(_env: &mut Env, _args: &ConsoleArgs) -> Result<Exit, Failure> {
    Err(Failure::new("`fleet console` is not part of this build"))
}

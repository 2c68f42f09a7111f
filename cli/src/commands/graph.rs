//! `fleet graph`.

use crate::{Env, Exit, Failure};

/// Print the graph of resources
#[derive(Debug, clap::Args)]
pub(crate) struct GraphArgs {}

pub(crate) fn graph(_env: &mut Env, _args: &GraphArgs) -> Result<Exit, Failure> {
    Err(Failure::new("`fleet graph` is not part of this build"))
}

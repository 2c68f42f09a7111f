//! `fleet version`.

use crate::{Env, Exit, Failure};

/// Print the version
///
/// One line, `fleet` and the version: the same as `fleet --version`.
#[derive(Debug, clap::Args)]
pub(crate) struct VersionArgs {}

pub(crate) fn version(env: &mut Env, _args: &VersionArgs) -> Result<Exit, Failure> {
    writeln!(env.stdout, "fleet {}", env!("CARGO_PKG_VERSION"))?;
    Ok(Exit::Done)
}

//! The way to hosts, for all commands that connect to some.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use fleet_transport::{Channels, Options};

/// How hosts are connected to.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(crate) struct HostArgs {
    /// Keep connections to hosts for so long after the run, such as `10m`, for the next one to use
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration)]
    keep_connections: Option<Duration>,
}

impl HostArgs {
    /// No connection is made yet. Relative paths of files on this machine start at `directory`.
    pub(crate) fn channels(self, directory: &Path) -> Arc<Channels> {
        let directory = directory.to_owned();
        Arc::new(Channels::new(&Options { keep: self.keep_connections, directory }))
    }
}

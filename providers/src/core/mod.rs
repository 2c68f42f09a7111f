//! Provider `core`: things on this machine and in state alone.

use std::path::PathBuf;

use fleet_derive::Schema;
use fleet_engine::kind::{Data, Kind, Of};
use fleet_engine::provider::Provider;
use fleet_engine::resource::Error;

mod file;
mod file_data;
mod value;

/// The provider.
#[derive(Clone, Debug)]
pub struct Core {
    directory: PathBuf,
}

/// Things on the machine that runs fleet, and in its state alone.
///
/// It has no settings, and needs no `provider` block.
///
/// ```hcl
/// provider "core" {}
/// ```
#[derive(Clone, Debug, PartialEq, Schema)]
pub struct Settings {}

/// Looks at this machine. Relative paths start at a directory.
#[derive(Clone, Debug)]
pub struct Looking {
    directory: PathBuf,
}

/// Changes this machine. Relative paths start at a directory.
#[derive(Clone, Debug)]
pub struct Acting {
    directory: PathBuf,
}

impl Core {
    /// Relative paths start at `directory`.
    #[must_use]
    pub fn new(directory: PathBuf) -> Core {
        Core { directory }
    }
}

impl Provider for Core {
    const NAME: &'static str = "core";
    type Settings = Settings;
    type Reader = Looking;
    type Writer = Acting;
    const KINDS: &'static [&'static dyn Kind<Looking, Acting>] =
        &[&Of::<file::File>::KIND, &Of::<value::CoreValue>::KIND];
    const DATA: &'static [&'static dyn Data<Looking>] = &[&Of::<file_data::FileData>::KIND];

    async fn reader(&self, _: Settings) -> Result<Looking, Error> {
        Ok(Looking { directory: self.directory.clone() })
    }

    async fn writer(&self, _: Settings) -> Result<Acting, Error> {
        Ok(Acting { directory: self.directory.clone() })
    }
}

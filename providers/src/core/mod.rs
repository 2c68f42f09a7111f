//! Provider `core`: things on this machine and in state alone. It has no settings.

use std::path::PathBuf;

use fleet_engine::provider::Kinds;
use fleet_engine::resource::Of;

mod file;
mod value;

/// The name of the provider.
pub const NAME: &str = "core";

/// Its kinds.
pub const KINDS: Kinds<Looking, Acting> = &[&Of::<file::File>::KIND, &Of::<value::CoreValue>::KIND];

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

impl Looking {
    /// Looks from a directory.
    #[must_use]
    pub fn new(directory: PathBuf) -> Looking {
        Looking { directory }
    }
}

impl Acting {
    /// Acts from a directory.
    #[must_use]
    pub fn new(directory: PathBuf) -> Acting {
        Acting { directory }
    }
}

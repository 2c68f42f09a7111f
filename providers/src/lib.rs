//! The providers: one folder each, one file a kind.

use std::path::PathBuf;

use fleet_engine::registry::Registry;

mod backends;
pub mod core;
pub mod host;
mod mode;

pub use self::core::Core;
pub use self::host::{Host, Static};

/// All providers that come with fleet; relative paths in their arguments start at `directory`.
#[must_use]
pub fn builtin(directory: PathBuf) -> Registry {
    let registry = host::reach::with_reach(backends::with_backends(Registry::new()));
    registry.with(Core::new(directory)).with(Host).with(Static)
}

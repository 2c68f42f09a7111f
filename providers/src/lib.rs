//! The providers: one folder each, one file a kind.

use std::path::PathBuf;

use fleet_engine::registry::Registry;

mod backends;
pub mod core;

pub use self::core::Core;

/// All providers that come with fleet; relative paths in their arguments start at `directory`.
#[must_use]
pub fn builtin(directory: PathBuf) -> Registry {
    backends::with_backends(Registry::new()).with(Core::new(directory))
}

//! The providers: one folder each, one file a kind.

use std::collections::BTreeMap;
use std::path::PathBuf;

use fleet_engine::registry::Registry;
use fleet_engine::schema::Sort;

mod backends;
pub mod core;
pub mod forgejo;
pub mod github;
pub mod gitlab;
pub mod host;
pub mod kubernetes;
pub mod macos;
mod mode;
pub mod registrar;
pub mod scaleway;
pub mod tailscale;

pub use fleet_engine::cure;

pub use self::core::Core;
pub use self::forgejo::Forgejo;
pub use self::github::Github;
pub use self::gitlab::Gitlab;
pub use self::host::{Host, Static};
pub use self::kubernetes::Kubernetes;
pub use self::macos::Macos;
pub use self::scaleway::Scaleway;
pub use self::tailscale::Tailscale;

/// All providers that come with fleet. Relative paths in their arguments start at `directory`; what their settings leave
/// out may stand in environment variables.
#[must_use]
pub fn builtin(directory: PathBuf, environment: &BTreeMap<String, String>) -> Registry {
    let registry = host::reach::with_reach(backends::with_backends(Registry::new()));
    let registry = registry.with_entry(Sort::Pool, "scaleway", scaleway::pool::pool());
    registry
        .with(Kubernetes::new(directory.clone(), environment))
        .with(Core::new(directory))
        .with(Host)
        .with(Static)
        .with(Macos)
        .with(Github::new(environment))
        .with(Gitlab::new(environment))
        .with(Forgejo::new(environment))
        .with(Tailscale::new(environment))
        .with(Scaleway::new(environment))
}

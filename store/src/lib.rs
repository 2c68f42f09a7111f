//! State on SQLite.
//!
//! Planning calls [`read`], which gives a snapshot and no handle. Apply opens a [`Database`], the one writer.
//!
//! Every commit is on disk before it is reported (write-ahead log, `synchronous=FULL`): no side effect starts before
//! its intent will survive a crash.

mod backend;
mod database;
mod lock;
mod rows;

use std::path::{Path, PathBuf};

use fleet_engine::state::{State, StoreError};

pub use backend::Backend;
pub use database::{Database, Summary};
pub use lock::{Holder, Lease, OpenError};

/// Where state is kept, from the directory that fleet works in, unless the settings say otherwise.
pub const DEFAULT_PATH: &str = ".fleet/state.db";

/// Reads the state. A database that does not exist yet is an empty state.
pub async fn read(backend: &Backend) -> Result<State, StoreError> {
    let Backend::Sqlite(path) = backend else { return Err(backend.cannot("read")) };
    if path.try_exists().map_err(|e| cannot("open", path).because(e))? {
        database::snapshot(path).await
    } else {
        Ok(State::default())
    }
}

fn cannot(verb: &str, path: &Path) -> StoreError {
    StoreError::new(format!("cannot {verb} the state in `{}`", path.display()))
}

/// The file whose lock says that somebody is writing.
fn lock_path(path: &Path) -> PathBuf {
    path.with_added_extension("lock")
}

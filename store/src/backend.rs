//! Where state is kept.

use std::fmt;
use std::path::{Path, PathBuf};

use fleet_engine::state::StoreError;

/// The name of the state in a file, which holds only one.
pub(crate) const ONLY: &str = "default";

/// Where a state is kept.
#[derive(Clone, PartialEq, Eq)]
pub enum Backend {
    /// In a file of its own.
    Sqlite(PathBuf),
    /// In a database that many configurations share.
    Postgres {
        /// How to get there, password included: never shown.
        url: String,
        /// Which configuration it is.
        name: String,
        /// The directory for a recovery file, should the database be lost in the middle of a run.
        recovery: PathBuf,
    },
}

impl Backend {
    /// The name of the state among those that are kept in the same place.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Backend::Sqlite(_) => ONLY,
            Backend::Postgres { name, .. } => name,
        }
    }

    /// The directory of recovery files.
    #[must_use]
    pub fn recovery(&self) -> &Path {
        match self {
            Backend::Sqlite(path) => path.parent().unwrap_or(Path::new("")),
            Backend::Postgres { recovery, .. } => recovery,
        }
    }

    /// The error that something cannot be done here.
    pub(crate) fn cannot(&self, verb: &str) -> StoreError {
        StoreError::new(format!("cannot {verb} {self}"))
    }
}

/// As errors call it.
impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Backend::Sqlite(path) => write!(f, "the state in `{}`", path.display()),
            Backend::Postgres { name, .. } => write!(f, "the state `{name}` in PostgreSQL"),
        }
    }
}

impl fmt::Debug for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Backend::Sqlite(path) => f.debug_tuple("Sqlite").field(path).finish(),
            Backend::Postgres { name, .. } => {
                f.debug_struct("Postgres").field("name", name).finish_non_exhaustive()
            }
        }
    }
}

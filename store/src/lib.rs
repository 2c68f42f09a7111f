//! State on SQLite, one file for each configuration, or on PostgreSQL, which many share. The same tables in both.
//!
//! 1. `backend`, `connection`, `failure`: where state is kept, the two databases behind one face, what they complain of
//! 2. `format`, `schema.sql`: the tables, and how older ones are brought up to date
//! 3. `read`, `rows`: rows → [`State`](fleet_engine::state::State); planning calls [`read()`] and gets no handle
//! 4. `lock`, `lease`, `machine`: who may write, for how long, and when somebody else may
//! 5. `database`, `writer`: [`Database`], the one writer, on a thread of its own
//! 6. `batch`, `sets`: many writes → a handful of statements
//! 7. `recovery`: what was done while the database was lost
//! 8. `history`, `document`, `entry`: who changed what; a whole state as JSON
//!
//! A write returns when it will survive a crash (SQLite: write-ahead log, `synchronous=FULL`; PostgreSQL:
//! `synchronous_commit=on`): no side effect starts before its intent is on disk. Every commit carries the fencing
//! number of its writer and the serial number it found, so that what a former holder of the lock still writes is
//! refused, and a batch whose commit was cut off is never stored twice.

mod backend;
mod batch;
mod connection;
mod database;
mod document;
mod entry;
mod failure;
mod format;
mod history;
mod lease;
mod lock;
mod machine;
mod read;
mod recovery;
mod rows;
mod sets;
#[cfg(test)]
mod tests;
mod writer;

pub use backend::Backend;
pub use database::{Database, Summary};
pub use document::{Document, Mismatch};
pub use history::{Change, End, Run, history};
pub use lease::{lock_status, release};
pub use lock::{Holder, Lease, OpenError};
pub use read::read;

/// Where state is kept, from the directory that fleet works in, unless the settings say otherwise.
pub const DEFAULT_PATH: &str = ".fleet/state.db";

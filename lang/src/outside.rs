//! What an expression may ask of the outside: files, time and chance.

mod memory;

use std::io;
use std::path::{Path, PathBuf};

pub use memory::Memory;

/// The outside as functions such as `file`, `timestamp` and `uuid` see it. Relative paths are relative to the
/// directory the command works in.
pub trait Outside: Send + Sync {
    /// The content of a file.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;

    /// What stands at a path, links followed.
    fn look(&self, path: &Path) -> io::Result<Entry>;

    /// The names in a directory.
    fn list(&self, path: &Path) -> io::Result<Vec<String>>;

    /// The absolute form of a path.
    fn absolute(&self, path: &Path) -> io::Result<PathBuf>;

    /// The absolute path of what really stands there, all links followed: tells loops of links from depth.
    fn real(&self, path: &Path) -> io::Result<PathBuf>;

    /// The user's home directory.
    fn home(&self) -> Option<PathBuf>;

    /// Nanoseconds since 1970 in UTC.
    fn now(&self) -> i128;

    /// Fills the buffer with random bytes.
    fn random(&self, buffer: &mut [u8]);

    /// Whether `timestamp`, `uuid` and `bcrypt`, which answer differently at every call, may answer at all. While
    /// something is planned they may not: what they give is unknown until it is applied.
    fn fickle(&self) -> bool {
        true
    }

    /// When the plan was made, as [`Outside::now`] tells time, if there is one.
    fn planned(&self) -> Option<i128> {
        None
    }
}

/// What stands at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// Something else, such as a socket.
    Other,
}

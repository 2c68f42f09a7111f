//! The machine, as expressions see it: its files, its clock and its randomness.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use fleet_lang::Outside;
use fleet_lang::outside::Entry;

/// This machine, seen from one directory.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Relative paths start here.
    pub cwd: PathBuf,
    /// The user's home directory.
    pub home: Option<PathBuf>,
    /// What the run is doing.
    pub stage: Stage,
}

/// What a run is doing. Functions such as `timestamp` answer nothing while a plan is made: their answer would be
/// another one when it is applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Neither planning nor applying.
    Evaluating,
    /// Making a plan, since then (in nanoseconds since 1970).
    Planning(i128),
    /// Applying a plan that was made then.
    Applying(i128),
}

impl Outside for Machine {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        fs::read(self.cwd.join(path))
    }

    fn look(&self, path: &Path) -> io::Result<Entry> {
        let metadata = fs::metadata(self.cwd.join(path))?;
        Ok(if metadata.is_file() {
            Entry::File
        } else if metadata.is_dir() {
            Entry::Directory
        } else {
            Entry::Other
        })
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        // Names that are not UTF-8 cannot be written in a configuration, so they are not listed either.
        fs::read_dir(self.cwd.join(path))?
            .filter_map(|entry| entry.map(|e| e.file_name().into_string().ok()).transpose())
            .collect()
    }

    fn absolute(&self, path: &Path) -> io::Result<PathBuf> {
        std::path::absolute(self.cwd.join(path))
    }

    fn real(&self, path: &Path) -> io::Result<PathBuf> {
        fs::canonicalize(self.cwd.join(path))
    }

    fn home(&self) -> Option<PathBuf> {
        self.home.clone()
    }

    fn now(&self) -> i128 {
        match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(since) => since.as_nanos() as i128,
            Err(before) => -(before.duration().as_nanos() as i128),
        }
    }

    fn fickle(&self) -> bool {
        !matches!(self.stage, Stage::Planning(_))
    }

    fn planned(&self) -> Option<i128> {
        match self.stage {
            Stage::Evaluating => None,
            Stage::Planning(then) | Stage::Applying(then) => Some(then),
        }
    }

    fn random(&self, buffer: &mut [u8]) {
        getrandom::fill(buffer).expect("the system has randomness");
    }
}

//! The key of the digests that sensitive values are compared by. It never stands in state or plan.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use fleet_engine::seal::Sealer;
use fleet_store::Backend;

use crate::Failure;

const N_BYTES: usize = 32;

/// Where the key is kept: beside the database.
fn path(backend: &Backend, cwd: &Path) -> PathBuf {
    match backend {
        Backend::Sqlite(database) => database.with_file_name("digest.key"),
        Backend::Postgres { .. } => cwd.join(".fleet/digest.key"),
    }
}

/// The sealer of a site. Without a key nothing can be compared with the last apply: everything sensitive is sent again.
pub(crate) fn sealer(backend: &Backend, cwd: &Path) -> Result<Sealer, Failure> {
    let path = path(backend, cwd);
    match fs::read(&path) {
        Ok(key) => Ok(Sealer::new(&key)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Sealer::new(&fresh())),
        Err(error) => Err(Failure::of(format!("cannot read the digest key `{}`", path.display()), &error)),
    }
}

/// The sealer of a site that is about to be changed: makes the key if there is none.
pub(crate) fn sealer_for_writing(backend: &Backend, cwd: &Path) -> Result<Sealer, Failure> {
    let path = path(backend, cwd);
    let make = || -> io::Result<()> {
        fs::create_dir_all(path.parent().unwrap_or(cwd))?;
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        file.write_all(&fresh())?;
        file.sync_all()
    };
    match make() {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            Err(Failure::of(format!("cannot write the digest key `{}`", path.display()), &error))
        }
        _ => sealer(backend, cwd),
    }
}

fn fresh() -> [u8; N_BYTES] {
    let mut key = [0; N_BYTES];
    getrandom::fill(&mut key).expect("the system has randomness");
    key
}

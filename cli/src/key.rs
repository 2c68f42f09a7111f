//! The key of the digests that sensitive values are compared by. It never stands in state or plan.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use fleet_engine::seal::Sealer;
use fleet_store::Backend;

use crate::Failure;
use crate::settings::Told;

const N_BYTES: usize = 32;

/// Where the key is kept, unless the settings name a secret: beside the database.
fn path(backend: &Backend, cwd: &Path) -> PathBuf {
    match backend {
        Backend::Sqlite(database) => database.with_file_name("digest.key"),
        Backend::Postgres { .. } => cwd.join(".fleet/digest.key"),
    }
}

/// The sealer of a site. Without a key nothing can be compared with the last apply: everything sensitive is sent again.
pub(crate) fn sealer(told: &Told, cwd: &Path) -> Result<Sealer, Failure> {
    if let Some(key) = &told.digest_key {
        return Ok(Sealer::new(key.as_bytes()));
    }
    let path = path(&told.place.backend, cwd);
    match fs::read(&path) {
        Ok(key) => Ok(Sealer::new(&key)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Sealer::new(&fresh())),
        Err(error) => Err(Failure::of(format!("cannot read the digest key `{}`", path.display()), &error)),
    }
}

/// The sealer of a site that is about to be changed: makes the key if there is none.
pub(crate) fn sealer_for_writing(told: &Told, cwd: &Path) -> Result<Sealer, Failure> {
    if told.digest_key.is_some() {
        return sealer(told, cwd);
    }
    let path = path(&told.place.backend, cwd);
    if !path.exists()
        && let Err(error) = make(&path)
    {
        let failure = Failure::of(format!("cannot write the digest key `{}`", path.display()), &error);
        return Err(failure.help("nothing was done; secrets are compared by that key, so it has to be kept"));
    }
    sealer(told, cwd)
}

/// Makes a key: whole, or not at all. If somebody else is faster, theirs is kept.
fn make(path: &Path) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(directory)?;
    // Only its owner may read it.
    let mut file = tempfile::NamedTempFile::new_in(directory)?;
    file.write_all(&fresh())?;
    file.as_file().sync_all()?;
    match file.persist_noclobber(path) {
        Err(error) if error.error.kind() != io::ErrorKind::AlreadyExists => Err(error.error),
        _ => Ok(()),
    }
}

fn fresh() -> [u8; N_BYTES] {
    let mut key = [0; N_BYTES];
    getrandom::fill(&mut key).expect("the system has randomness");
    key
}

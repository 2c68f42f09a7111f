//! Where sockets lie on this machine.

use std::fs::{self, DirBuilder};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::geteuid;

use crate::chance;

/// The address of a socket has at most 103 bytes on macOS, and `ssh` adds 17 while it makes one.
const LONGEST: usize = 60;

/// Waits until we are gone, however that came; then ends the connections that are left, and removes their place.
const WATCH: &str = r#"trap "" HUP INT TERM QUIT; read -r l; for s in "$1"/*/s; do if [ -S "$s" ]; then ssh -F /dev/null -S "$s" -O exit fleet; fi; done; if [ -e "$1" ]; then rm -rf -- "$1"; fi"#;

/// A directory that nobody else can see, gone soon after this process.
pub(crate) struct Place {
    path: PathBuf,
    watch: Child,
}

impl Place {
    pub(crate) fn make() -> io::Result<Place> {
        let path = base().join(format!("fleet-{}", &chance::name()[..12]));
        DirBuilder::new().mode(0o700).create(&path)?;
        let watch = Command::new("/bin/sh")
            .args(["-c", WATCH, "fleet-watch"])
            .arg(&path)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn();
        match watch {
            Ok(watch) => Ok(Place { path, watch }),
            Err(error) => {
                let _ = fs::remove_dir(&path);
                Err(error)
            }
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Removes it now.
    pub(crate) async fn close(self) {
        let Place { path, mut watch } = self;
        let _ = tokio::task::spawn_blocking(move || {
            let _ = fs::remove_dir_all(&path);
            drop(watch.stdin.take());
            if let Some(mut stdout) = watch.stdout.take() {
                let _ = stdout.read_to_end(&mut Vec::new());
            }
            let _ = watch.wait();
        })
        .await;
    }
}

/// The directory for connections that are kept: the same for every run of this user, and for nobody else.
pub(crate) fn kept() -> io::Result<PathBuf> {
    let user = geteuid().as_raw();
    let path = base().join(format!("fleet-kept-{user}"));
    match DirBuilder::new().mode(0o700).create(&path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let found = fs::symlink_metadata(&path)?;
    if !found.is_dir() || found.uid() != user || found.mode() & 0o077 != 0 {
        let message = format!("`{}` is not a directory of this user alone", path.display());
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
    }
    Ok(path)
}

/// The directory for temporary files, unless sockets in it would have too long a name.
fn base() -> PathBuf {
    let temporary = std::env::temp_dir();
    let is_short = temporary.as_os_str().len() <= LONGEST;
    if is_short && temporary.is_absolute() { temporary } else { PathBuf::from("/tmp") }
}

//! One process of `ssh` that carries all sessions with a host.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::process::Command;
use tokio::time::timeout;

use super::keys;

/// A connection that nobody uses ends after so long, whatever became of us.
pub(crate) const IDLE: Duration = Duration::from_secs(10);
/// How long a handshake may take after the connection is there.
const PATIENCE: Duration = Duration::from_secs(60);

/// A connection that is up.
pub(crate) struct Master {
    session: Arc<openssh::Session>,
    socket: PathBuf,
    is_kept: bool,
    /// Whether an earlier run made it.
    is_resumed: bool,
}

impl Master {
    pub(crate) fn new(socket: PathBuf, is_kept: bool) -> Master {
        let session = openssh::Session::resume_mux(socket.clone().into_boxed_path(), None);
        Master { session: Arc::new(session), socket, is_kept, is_resumed: false }
    }

    /// One that an earlier run kept.
    pub(super) fn resumed(socket: PathBuf) -> Master {
        Master { is_resumed: true, ..Master::new(socket, true) }
    }

    /// Sees to it that nobody finds it any more. Says whether a new one may do what this one did not: if an earlier run
    /// made it, its host may have gone while nobody looked.
    pub(crate) fn give_up(&self) -> bool {
        if self.is_resumed {
            let _ = (fs::remove_file(&self.socket), fs::remove_file(note(&self.socket)));
        }
        self.is_resumed
    }

    pub(crate) fn session(&self) -> Arc<openssh::Session> {
        self.session.clone()
    }

    /// Whether it is still up.
    pub(crate) async fn answers(&self) -> bool {
        self.session.check().await.is_ok()
    }

    /// Ends it, unless the next run wants it.
    pub(crate) async fn close(self) {
        if !self.is_kept {
            let _ = timeout(Duration::from_secs(3), end(&self.socket)).await;
        }
    }
}

/// Where it stands who is at the other end of a connection that is kept.
pub(super) fn note(socket: &Path) -> PathBuf {
    socket.with_extension("line")
}

/// Connects. The error is what `ssh` complained about.
pub(crate) async fn launch(
    config: &Path,
    socket: &Path,
    log: &Path,
    persist: Duration,
    address: &str,
) -> Result<(), String> {
    let mut command = Command::new("ssh");
    command.arg("-F").arg(config).arg("-S").arg(socket).arg("-E").arg(log).args(["-M", "-f", "-N"]);
    command.arg("-o").arg(format!("ControlPersist={}s", persist.as_secs().max(1)));
    command.args(["-o", "BatchMode=yes", "--"]).arg(address);
    let status = run(&mut command).await?;
    if status { Ok(()) } else { Err(fs::read_to_string(log).unwrap_or_default()) }
}

/// The key that a host shows now, learned by a contact that goes no further.
pub(crate) async fn learn(config: &Path, known: &Path, alias: &str, address: &str) -> Option<String> {
    let mut command = Command::new("ssh");
    command.arg("-F").arg(config).args(["-S", "none", "-o"]);
    command.arg(format!("UserKnownHostsFile={}", known.to_str()?));
    command.args(["-o", "StrictHostKeyChecking=accept-new", "-o", "PreferredAuthentications=none"]);
    command.args(["-o", "BatchMode=yes", "--"]).arg(address).arg("true");
    let _ = run(&mut command).await;
    keys::known(&fs::read_to_string(known).ok()?, alias)
}

/// Runs `ssh` until it ends or went to the background; it hears nothing of keys that are pressed for us.
async fn run(command: &mut Command) -> Result<bool, String> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.process_group(0).kill_on_drop(true);
    let mut child = command.spawn().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => "terminating, there is no program `ssh` on this machine".to_owned(),
        _ => format!("terminating, `ssh` cannot be started: {error}"),
    })?;
    match timeout(PATIENCE, child.wait()).await {
        Ok(Ok(status)) => Ok(status.success()),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err("the handshake timed out".to_owned()),
    }
}

/// Tells a master to end at once: what `ssh -O exit` does, without a process for it.
async fn end(socket: &Path) -> io::Result<()> {
    const HELLO: u32 = 1;
    const VERSION: u32 = 4;
    const TERMINATE: u32 = 0x1000_0005;
    let packet = |kind: u32, word: u32| {
        let mut packet = 8_u32.to_be_bytes().to_vec();
        packet.extend(kind.to_be_bytes());
        packet.extend(word.to_be_bytes());
        packet
    };
    let mut stream = UnixStream::connect(socket).await?;
    stream.write_all(&[packet(HELLO, VERSION), packet(TERMINATE, 0)].concat()).await?;
    // It greets, agrees, and ends.
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).await?;
    Ok(())
}

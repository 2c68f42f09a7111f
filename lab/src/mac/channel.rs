//! What runs on a channel: a shell with three pipes, which take and give no more than the other side can.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use russh::server::{Handle, Msg};
use russh::{ChannelId, ChannelWriteHalf, Sig};
use rustix::process::{Pid, Signal};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::process::{Child, Command};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use tokio::task::AbortHandle;

use super::host::{Known, shell};
use super::stand_in::CONFINE;
use super::terminal::{Terminal, Wanted};
use super::{Mac, confine};

/// So much may wait to be read by a process before whoever sends it is slowed down.
const MUCH: usize = 32 << 20;
/// How long each further piece then takes. The loop of the connection carries what the process prints, too, so it must
/// not stop: the process may read nothing before that is taken.
const SLOW: Duration = Duration::from_millis(2);

/// A process on a channel. When this is dropped, its pipes close.
pub(super) struct Running {
    leader: Pid,
    input: Option<UnboundedSender<Vec<u8>>>,
    waiting: Arc<AtomicUsize>,
    /// Whether it was sent nothing since it last said something.
    has_turn: Arc<AtomicBool>,
    pipes: AbortHandle,
    terminal: Option<Terminal>,
}

impl Running {
    /// Gives it something to read; says whether that is an answer to what it said, or the first that it is given.
    pub(super) async fn feed(&self, data: &[u8]) -> bool {
        let Some(input) = &self.input else { return false };
        let is_turn = self.has_turn.swap(false, Ordering::AcqRel);
        let before = self.waiting.fetch_add(data.len(), Ordering::AcqRel);
        // It may have closed its end.
        let _ = input.send(data.to_vec());
        if before > MUCH && !input.is_closed() {
            tokio::time::sleep(SLOW).await;
        }
        is_turn
    }

    /// There is nothing more to read.
    pub(super) fn end_input(&mut self) {
        self.input = None;
    }

    /// Makes its terminal another size, if it has one.
    pub(super) fn resize(&self, size: (u32, u32)) {
        if let Some(Err(error)) = self.terminal.as_ref().map(|terminal| terminal.resize(size)) {
            tracing::debug!(%error, "a terminal keeps its size");
        }
    }

    /// Sends a signal to it and all that it started.
    pub(super) fn signal(&self, signal: &Sig) {
        let signal = match signal {
            Sig::ABRT => Signal::ABORT,
            Sig::ALRM => Signal::ALARM,
            Sig::HUP => Signal::HUP,
            Sig::INT => Signal::INT,
            Sig::KILL => Signal::KILL,
            Sig::QUIT => Signal::QUIT,
            Sig::TERM => Signal::TERM,
            Sig::USR1 => Signal::USR1,
            _ => return,
        };
        confine::signal(self.leader, signal);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.pipes.abort();
    }
}

/// Starts a command, or a shell that reads commands, as sshd does: by the login shell.
pub(super) fn start(
    mac: &Arc<Mac>,
    user: &str,
    environment: &[(String, String)],
    wanted: Option<&Wanted>,
    command: Option<&[u8]>,
    output: ChannelWriteHalf<Msg>,
    handle: Handle,
) -> io::Result<Running> {
    let mut starting = Command::new(mac.tools.directory.join(CONFINE));
    starting.arg(if wanted.is_some() { confine::TERMINAL } else { confine::PIPES });
    starting.arg(if mac.tools.confinement.is_active() { mac.root().as_os_str() } else { "".as_ref() });
    starting.arg(shell());
    if let Some(command) = command {
        let text = std::str::from_utf8(command).map_err(io::Error::other)?;
        starting.arg("-c").arg(text);
    }
    let home = super::disk::home_of(mac.root(), user);
    starting.env_clear().envs(mac.environment(user)).envs(environment.iter().cloned());
    starting.current_dir(if home.is_dir() { &home } else { mac.root() });
    let (child, ends, terminal) = match wanted {
        None => {
            let (child, ends) = with_pipes(starting)?;
            (child, ends, None)
        }
        Some(wanted) => {
            let (terminal, end) = Terminal::open(wanted.size)?;
            starting.env("TERM", &wanted.kind).stdin(end.try_clone()?).stdout(end.try_clone()?).stderr(end);
            let child = starting.spawn()?;
            let (typed, shown) = terminal.streams()?;
            let ends: Ends = (Box::new(typed), Box::new(shown), Box::new(tokio::io::empty()));
            (child, ends, Some(terminal))
        }
    };
    let (stdin, stdout, stderr) = ends;
    let leader = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
    let leader = leader.ok_or_else(|| io::Error::other("a process without a number"))?;
    let (ended, ends) = oneshot::channel();
    tokio::spawn(wait(child, mac.runs(leader), ended));
    let (input, takes) = unbounded_channel();
    let waiting = Arc::new(AtomicUsize::new(0));
    let reading = read(takes, stdin, waiting.clone());
    let has_turn = Arc::new(AtomicBool::new(true));
    let says = has_turn.clone();
    let pumping = tokio::spawn(async move {
        let out = copy(stdout, output.make_writer(), &says);
        let err = copy(stderr, output.make_writer_ext(Some(1)), &says);
        let id = output.id();
        let prints = async { tokio::join!(out, err) };
        let tells = async {
            if let Ok(status) = ends.await {
                tell(&handle, id, status).await;
            }
        };
        let reads = async {
            reading.await;
            std::future::pending::<()>().await;
        };
        // What it does not read is of no interest once it has ended.
        tokio::select! {
            _ = async { tokio::join!(prints, tells) } => {}
            () = reads => {}
        }
        // The other side may be gone.
        let _ = handle.eof(id).await;
        let _ = handle.close(id).await;
    });
    Ok(Running { leader, input: Some(input), waiting, has_turn, pipes: pumping.abort_handle(), terminal })
}

/// What a process reads and prints.
type Ends = (
    Box<dyn AsyncWrite + Send + Unpin>,
    Box<dyn AsyncRead + Send + Unpin>,
    Box<dyn AsyncRead + Send + Unpin>,
);

fn with_pipes(mut starting: Command) -> io::Result<(Child, Ends)> {
    starting.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = starting.spawn()?;
    match (child.stdin.take(), child.stdout.take(), child.stderr.take()) {
        (Some(stdin), Some(stdout), Some(stderr)) => {
            Ok((child, (Box::new(stdin), Box::new(stdout), Box::new(stderr))))
        }
        _ => Err(io::Error::other("a process without its pipes")),
    }
}

/// Waits for its end, whoever still listens.
async fn wait(mut child: Child, known: Known, ended: oneshot::Sender<ExitStatus>) {
    let status = child.wait().await;
    drop(known);
    if let Ok(status) = status {
        let _ = ended.send(status);
    }
}

/// Lets a process read what arrives.
async fn read(
    mut takes: UnboundedReceiver<Vec<u8>>,
    mut stdin: impl AsyncWrite + Unpin,
    waiting: Arc<AtomicUsize>,
) {
    while let Some(data) = takes.recv().await {
        if stdin.write_all(&data).await.is_err() {
            return;
        }
        waiting.fetch_sub(data.len(), Ordering::AcqRel);
    }
}

async fn copy(mut from: impl AsyncRead + Unpin, to: impl AsyncWrite, says: &AtomicBool) {
    let mut to = Box::pin(to);
    let mut piece = vec![0; 32 << 10];
    while let Ok(count) = from.read(&mut piece).await
        && count > 0
    {
        says.store(true, Ordering::Release);
        // A connection that ended takes nothing more; then the pipe closes, as with sshd.
        if to.write_all(&piece[..count]).await.is_err() || to.flush().await.is_err() {
            return;
        }
    }
}

async fn tell(handle: &Handle, id: ChannelId, status: ExitStatus) {
    let told = match (status.code(), status.signal()) {
        (Some(code), _) => handle.exit_status_request(id, code.cast_unsigned()).await,
        (None, signal) => {
            let name = match signal.unwrap_or_default() {
                1 => Sig::HUP,
                2 => Sig::INT,
                3 => Sig::QUIT,
                6 => Sig::ABRT,
                9 => Sig::KILL,
                11 => Sig::SEGV,
                13 => Sig::PIPE,
                14 => Sig::ALRM,
                15 => Sig::TERM,
                other => Sig::Custom(other.to_string()),
            };
            handle.exit_signal_request(id, name, false, String::new(), String::new()).await
        }
    };
    if told.is_err() {
        tracing::debug!("nobody is left to be told how a command on a Mac ended");
    }
}

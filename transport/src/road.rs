//! The road to a host: what starts a command there. The same for this machine and for one behind OpenSSH.

use std::process::Stdio;
use std::sync::Arc;

use fleet_engine::resource::Error;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use crate::script::frame::quoted;

/// What starts commands.
#[derive(Clone, Debug)]
pub(crate) enum Road {
    /// On this machine.
    Local,
    /// Over a connection that is up.
    Ssh(Arc<openssh::Session>),
}

/// A command that was started, and the ends of its pipes.
pub(crate) struct Channel {
    pub(crate) stdin: Box<dyn AsyncWrite + Send + Sync + Unpin>,
    pub(crate) stdout: Box<dyn AsyncRead + Send + Sync + Unpin>,
    pub(crate) stderr: Box<dyn AsyncRead + Send + Sync + Unpin>,
    process: Process,
}

enum Process {
    Local(tokio::process::Child),
    Ssh(openssh::Child<Arc<openssh::Session>>),
}

/// How a command ended that was given something to read.
pub(crate) struct Ended {
    /// Its status; none if nobody knows.
    pub(crate) status: Option<i32>,
    /// What it complained about.
    pub(crate) complaint: String,
}

impl Road {
    /// Starts a command: constant words, because everybody on the host can see them.
    pub(crate) async fn open(&self, words: &[&str]) -> Result<Channel, Error> {
        match self {
            Road::Local => local(words),
            Road::Ssh(session) => {
                // The login shell may be any; it passes quoted words on and steps aside.
                let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
                let command = format!("exec {}", words.join(" "));
                let mut child = session
                    .clone()
                    .arc_raw_command(command)
                    .stdin(openssh::Stdio::piped())
                    .stdout(openssh::Stdio::piped())
                    .stderr(openssh::Stdio::piped())
                    .spawn()
                    .await
                    .map_err(|error| {
                        Error::transient("no channel can be opened to the host").because(error)
                    })?;
                let pipes = (child.stdin().take(), child.stdout().take(), child.stderr().take());
                let (Some(stdin), Some(stdout), Some(stderr)) = pipes else { return Err(no_pipes()) };
                Ok(Channel {
                    stdin: Box::new(stdin),
                    stdout: Box::new(stdout),
                    stderr: Box::new(stderr),
                    process: Process::Ssh(child),
                })
            }
        }
    }

    /// Runs a command that reads this, and waits for its end.
    pub(crate) async fn feed(&self, words: &[&str], input: &[u8]) -> Result<Ended, Error> {
        Ok(self.open(words).await?.fed(input).await)
    }
}

impl Channel {
    /// Gives the command something to read, and waits for its end.
    pub(crate) async fn fed(mut self, input: &[u8]) -> Ended {
        // It may end without reading everything; its status says why.
        let _ = self.stdin.write_all(input).await;
        self.ended().await
    }

    /// Waits for the end.
    pub(crate) async fn ended(self) -> Ended {
        let Channel { stdin, mut stdout, mut stderr, process } = self;
        drop(stdin);
        let (mut said, mut complaint) = (Vec::new(), Vec::new());
        let _ = tokio::join!(stdout.read_to_end(&mut said), stderr.read_to_end(&mut complaint));
        let status = match process {
            Process::Local(mut child) => child.wait().await.ok().and_then(|status| status.code()),
            Process::Ssh(child) => match child.wait().await {
                Ok(status) => status.code(),
                Err(openssh::Error::Remote(_)) => Some(127),
                Err(_) => None,
            },
        };
        Ended { status, complaint: String::from_utf8_lossy(&complaint).trim().to_owned() }
    }
}

fn local(words: &[&str]) -> Result<Channel, Error> {
    let (program, arguments) = words.split_first().ok_or_else(no_pipes)?;
    let mut command = tokio::process::Command::new(program);
    let started = command
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true)
        .spawn();
    let mut child = started.map_err(|error| {
        Error::permanent(format!("`{program}` cannot be started: {error}")).because(error)
    })?;
    let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (Some(stdin), Some(stdout), Some(stderr)) = pipes else { return Err(no_pipes()) };
    Ok(Channel {
        stdin: Box::new(stdin),
        stdout: Box::new(stdout),
        stderr: Box::new(stderr),
        process: Process::Local(child),
    })
}

fn no_pipes() -> Error {
    Error::permanent("a command was started without its pipes")
}

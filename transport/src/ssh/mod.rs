//! Connections over the real OpenSSH client, with its own agents, jump hosts and configuration.
//!
//! 1. [`config`]: what `ssh` is told. Pure.
//! 2. [`keys`]: host keys and their fingerprints. Pure.
//! 3. [`failure`]: what `ssh` complained about → what is wrong. Pure.
//! 4. [`place`]: where sockets lie; nothing of it outlives this process by much
//! 5. [`agent`]: a key that never touches a disk
//! 6. [`master`]: one process of `ssh` for each connection

mod agent;
mod config;
mod failure;
mod keys;
mod master;
mod place;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use std::{fs, io};

use fleet_engine::host::probe::Line;
use fleet_engine::host::reach::Ssh;
use fleet_engine::resource::Error;
use sha2::{Digest, Sha256};
use tokio::sync::Mutex;

use crate::chance;
use agent::Agents;
use config::{Config, Trust};
pub(crate) use master::Master;
use place::Place;

/// All connections of a run.
pub(crate) struct Masters {
    keep: Option<Duration>,
    opened: Mutex<Option<Opened>>,
    count: AtomicUsize,
}

/// What the first connection needs.
struct Opened {
    place: Place,
    agents: Agents,
}

/// What one connection needs on this machine.
struct Corner {
    directory: PathBuf,
    /// The socket of the agent and the public part of the key in it.
    identity: Option<(PathBuf, PathBuf)>,
    /// Where the socket lies that the next run looks for.
    kept: Option<PathBuf>,
}

impl Masters {
    pub(crate) fn new(keep: Option<Duration>) -> Masters {
        Masters { keep, opened: Mutex::new(None), count: AtomicUsize::new(0) }
    }

    /// Connects to the first address that answers. `seen` is the key of the host that was met before in this run. One that
    /// `is_fresh` is made now, and kept for nobody.
    pub(crate) async fn connect(
        &self,
        slot: &str,
        ssh: &Ssh,
        seen: Option<&str>,
        is_fresh: bool,
    ) -> Result<(Master, Line), Error> {
        let pin = ssh.host_key.as_deref().or(seen).map(keys::plain).transpose()?;
        let mut corner = self.corner(slot, ssh, pin.as_deref()).await?;
        if is_fresh {
            corner.kept = None;
        }
        if let Some(kept) = &corner.kept
            && let Some(found) = resume(kept, ssh).await
        {
            tracing::debug!("a kept connection is used");
            return Ok(found);
        }
        if ssh.addresses.is_empty() {
            return Err(Error::permanent(format!("nobody said where `{slot}` is"))
                .help("give its connection an address"));
        }
        let mut unreachable: Vec<(&str, Error)> = Vec::new();
        for address in &ssh.addresses {
            match self.reach(slot, ssh, address, pin.as_deref(), &corner).await {
                Ok(found) => return Ok(found),
                Err(error) if error.transient => unreachable.push((address, error)),
                Err(error) => return Err(error),
            }
        }
        Err(failure::unreachable(unreachable))
    }

    async fn reach(
        &self,
        slot: &str,
        ssh: &Ssh,
        address: &str,
        pin: Option<&str>,
        corner: &Corner,
    ) -> Result<(Master, Line), Error> {
        let directory = &corner.directory;
        let known = directory.join("k");
        let alias = config::alias(slot);
        let trust = if pin.is_some() { Trust::Pinned } else { Trust::FirstSight };
        let config =
            Config { ssh, address, alias: &alias, known: &known, trust, identity: corner.identity() };
        let place = directory.join("c");
        let lines = pin.map(|pin| format!("{alias} {pin}\n")).unwrap_or_default();
        let written = fs::write(&place, config.text()?).and_then(|()| fs::write(&known, lines));
        written.map_err(|error| no_place(&error))?;
        let persist = self.keep.unwrap_or(master::IDLE);
        tracing::debug!(address, "connecting");
        let socket = match &corner.kept {
            Some(kept) => kept.with_extension(&chance::name()[..8]),
            None => directory.join("s"),
        };
        let launched = master::launch(&place, &socket, &directory.join("l"), persist, address).await;
        let socket = match launched {
            Ok(()) => settle(socket, corner.kept.as_deref()).map_err(|error| no_place(&error))?,
            Err(why) if failure::is_other_key(&why) => {
                let new = master::learn(&place, &directory.join("n"), &alias, address).await;
                return Err(failure::other_key(slot, address, pin, new.as_deref(), &why));
            }
            Err(why) => return Err(failure::of(address, &why)),
        };
        let host_key = keys::known(&fs::read_to_string(&known).unwrap_or_default(), &alias);
        let line = Line {
            address: Some(address.to_owned()),
            host_key,
            pinned: ssh.host_key.is_some(),
            user: ssh.user.clone().unwrap_or_default(),
            ..Line::default()
        };
        if let Some(kept) = &corner.kept {
            let note = format!("{address}\n{}\n", line.host_key.as_deref().unwrap_or_default());
            let _ = fs::write(master::note(kept), note);
        }
        Ok((Master::new(socket, corner.kept.is_some()), line))
    }

    /// The command that opens a shell for a person.
    pub(crate) async fn interactive(&self, slot: &str, ssh: &Ssh, line: &Line) -> Result<Command, Error> {
        let corner = self.corner(slot, ssh, line.host_key.as_deref()).await?;
        let address = line.address.as_deref().unwrap_or_default();
        let (place, known) = (corner.directory.join("i"), corner.directory.join("k"));
        let alias = config::alias(slot);
        let trust = if line.host_key.is_some() { Trust::Pinned } else { Trust::FirstSight };
        let config =
            Config { ssh, address, alias: &alias, known: &known, trust, identity: corner.identity() };
        let pin = line.host_key.as_ref().map(|key| format!("{alias} {key}\n")).unwrap_or_default();
        let written = fs::write(&place, config.for_people()?).and_then(|()| fs::write(&known, pin));
        written.map_err(|error| no_place(&error))?;
        let mut command = Command::new("ssh");
        command.arg("-F").arg(place).arg("-S").arg("none").arg(address);
        Ok(command)
    }

    /// Removes all that was made on this machine.
    pub(crate) async fn close(&self) {
        if let Some(Opened { place, agents }) = self.opened.lock().await.take() {
            drop(agents);
            place.close().await;
        }
    }

    async fn corner(&self, slot: &str, ssh: &Ssh, pin: Option<&str>) -> Result<Corner, Error> {
        let mut opened = self.opened.lock().await;
        let Opened { place, agents } = match &mut *opened {
            Some(opened) => opened,
            none => {
                let place = Place::make().map_err(|error| no_place(&error))?;
                let agents = Agents::new(place.path());
                none.insert(Opened { place, agents })
            }
        };
        let identity = ssh.identity.as_ref().map(|identity| agents.serve(identity)).transpose()?;
        let directory = place.path().join(self.count.fetch_add(1, Ordering::Relaxed).to_string());
        fs::create_dir(&directory).map_err(|error| no_place(&error))?;
        let kept = match self.keep {
            None => None,
            Some(_) => {
                let public = identity.as_ref().and_then(|(_, public)| fs::read(public).ok());
                let name = name(slot, ssh, pin, public.as_deref());
                Some(place::kept().map_err(|error| no_place(&error))?.join(name))
            }
        };
        Ok(Corner { directory, identity, kept })
    }
}

impl Corner {
    fn identity(&self) -> Option<(&Path, &Path)> {
        self.identity.as_ref().map(|(agent, public)| (&**agent, &**public))
    }
}

/// A connection that an earlier run kept, if it still answers.
async fn resume(socket: &Path, ssh: &Ssh) -> Option<(Master, Line)> {
    let note = fs::read_to_string(master::note(socket)).ok()?;
    let mut lines = note.lines().map(str::to_owned);
    let (address, host_key) = (lines.next()?, lines.next().filter(|key| !key.is_empty()));
    let master = Master::resumed(socket.to_owned());
    let answer = tokio::time::timeout(Duration::from_secs(3), master.answers()).await;
    if !answer.unwrap_or_default() {
        master.give_up();
        return None;
    }
    let user = ssh.user.clone().unwrap_or_default();
    Some((
        master,
        Line { address: Some(address), host_key, pinned: ssh.host_key.is_some(), user, ..Line::default() },
    ))
}

/// Gives the socket of a connection that is kept its name. Two runs that connect at once do not get in each other's way:
/// the later one has the name, and the connection of the other ends when it is idle.
fn settle(socket: PathBuf, kept: Option<&Path>) -> io::Result<PathBuf> {
    match kept {
        None => Ok(socket),
        Some(kept) => fs::rename(&socket, kept).map(|()| kept.to_owned()),
    }
}

/// A name for a connection, from everything that makes it what it is.
fn name(slot: &str, ssh: &Ssh, pin: Option<&str>, identity: Option<&[u8]>) -> String {
    let Ssh { addresses, port, user, config, jump, .. } = ssh;
    let mut hash = Sha256::new();
    hash.update(format!("{slot:?}{addresses:?}{port:?}{user:?}{config:?}{jump:?}{pin:?}"));
    hash.update(identity.unwrap_or_default());
    chance::hex(&hash.finalize()[..8])
}

fn no_place(error: &io::Error) -> Error {
    Error::permanent(format!("there is no place for connections on this machine: {error}"))
        .help("see that the directory for temporary files can be written")
}

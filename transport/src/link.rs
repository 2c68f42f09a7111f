//! A connection that is up: the road to a host, and the shell at its end.

use std::path::PathBuf;

use fleet_engine::host::Reach;
use fleet_engine::host::probe::Line;
use fleet_engine::host::reach::Over;
use fleet_engine::resource::Error;
use tokio::sync::Semaphore;

use crate::road::Road;
use crate::script::Root;
use crate::shell::Shell;
use crate::ssh::{Master, Masters};
use crate::upload::Digests;

/// So many hosts are connected to at once: each takes a process and a handshake.
const CONNECTS: usize = 64;

/// What all sessions of a run share.
pub(crate) struct Shared {
    /// Where relative paths of files on this machine start.
    pub(crate) directory: PathBuf,
    pub(crate) digests: Digests,
    pub(crate) masters: Masters,
    connects: Semaphore,
}

/// A connection.
pub(crate) struct Link {
    pub(crate) road: Road,
    pub(crate) line: Line,
    pub(crate) root: Root,
    /// Whether root is logged in.
    pub(crate) is_root: bool,
    pub(crate) user: Shell,
    master: Option<Master>,
}

impl Shared {
    pub(crate) fn new(masters: Masters, directory: PathBuf) -> Shared {
        Shared { directory, digests: Digests::default(), masters, connects: Semaphore::new(CONNECTS) }
    }
}

impl Link {
    /// Connects. `host_key` is what the host proved to be before in the same run; where it `is_fresh`, no connection that
    /// was kept will do.
    pub(crate) async fn make(
        reach: &Reach,
        host_key: Option<&str>,
        is_fresh: bool,
        shared: &Shared,
    ) -> Result<Link, Error> {
        let _turn = shared.connects.acquire().await;
        loop {
            let (road, mut line, master) = match &reach.over {
                Over::Local => (Road::Local, Line::default(), None),
                Over::Ssh(ssh) => {
                    let (master, line) = shared.masters.connect(&reach.slot, ssh, host_key, is_fresh).await?;
                    (Road::Ssh(master.session()), line, Some(master))
                }
            };
            line.lineage.clone_from(&reach.lineage);
            // The environment on this machine is that of whoever runs fleet, who did not mean it.
            let root = match &reach.over {
                Over::Ssh(_) if reach.root.is_empty() => Root::OfSession,
                _ => Root::Given(reach.root.clone()),
            };
            match Shell::open(&road, root.clone(), line.user.is_empty()).await {
                Ok(user) => {
                    let is_root = line.user == "root";
                    return Ok(Link { road, line, root, is_root, user, master });
                }
                Err(_) if master.as_ref().is_some_and(Master::give_up) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Learns who is logged in, from what `id` says: `uid=501(m1) gid=…`. Something that a login shell printed may stand
    /// before it.
    pub(crate) fn greet(&mut self, hello: &str) {
        let said = hello.lines().rev().find_map(|line| line.strip_prefix("uid="));
        let Some((number, rest)) = said.and_then(|said| said.split_once('(')) else { return };
        self.is_root = number == "0";
        rest.split(')').next().unwrap_or_default().clone_into(&mut self.line.user);
    }

    /// Ends it.
    pub(crate) async fn close(self) {
        let Link { user, road, master, .. } = self;
        drop((user, road));
        if let Some(master) = master {
            master.close().await;
        }
    }
}

//! What a vendor does to the machines it rents out. The lab's Macs are one answer to it; with [`NoMachines`] a lab has
//! an API and nothing behind it.

use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::{Arc, Weak};

use fleet_engine::resource::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::clock::Clock;
use crate::kubernetes::Kubelets;
use crate::runners::Runners;
use crate::tailnet::Tailnet;

/// A machine that could not do what it was told, in words.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub struct Failed(pub String);

/// Builds machines.
pub trait Factory: Send + Sync {
    /// Builds a machine, switched off. What a machine of this id left in the directory when the lab stopped is still
    /// there: it is the disk of the machine, and must not change.
    fn build(&self, blueprint: Blueprint) -> BoxFuture<'_, Result<Arc<dyn Machine>, Failed>>;

    /// Whoever knows which agents of Nodes run on its machines, if they can.
    fn kubelets(&self) -> Option<Weak<dyn Kubelets>> {
        None
    }

    /// The runners that agents on its machines are registered as.
    fn runners(&self) -> Runners {
        Runners::default()
    }

    /// The tailnet that its machines join.
    fn tailnet(&self) -> Tailnet {
        Tailnet::default()
    }
}

/// What a machine is, for as long as it is there.
#[derive(Clone, Debug)]
pub struct Blueprint {
    /// What the vendor calls it.
    pub id: String,
    /// What it is, such as `M2-L`.
    pub model: String,
    /// The address at which the vendor says it is. Nothing listens there: whoever connects finds the way from it to
    /// [`Machine::ssh_port`] in the lab's `ssh_config`.
    pub ip: Ipv4Addr,
    /// Everything of it is in here, and it has this directory for itself. It may not be there yet.
    pub directory: PathBuf,
    /// A number of its own for everything that is left to chance.
    pub seed: u64,
    /// The time of the world.
    pub clock: Clock,
}

/// What an installation leaves on a machine.
#[derive(Clone, Debug)]
pub struct Install {
    /// The name of the image, such as `macos-tahoe-26.3`.
    pub os_name: String,
    /// Its version, such as `26.3`.
    pub os_version: String,
    /// Who logs in.
    pub user: String,
    /// That user's password, for `sudo` and for screen sharing.
    pub password: String,
    /// The public keys of the project, `type base64` each.
    pub keys: Vec<String>,
}

/// What may happen to a machine that is on, and that nobody there has done on purpose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Disturbance {
    /// Scanners fill the backlog of its SSH port with half-open connections: nobody gets in any more.
    FillBacklog,
    /// loginwindow is hung up on, and goes away for good.
    HangUp,
    /// The network gives it another name.
    DhcpName(String),
}

/// A machine, as its vendor acts on it. All of it is idempotent: what is already so is no error. Nothing of it may wait
/// for the clock to move: how long things take is the vendor's business, and the clock waits for them.
pub trait Machine: Send + Sync {
    /// Erases everything and installs anew: factory state, and a host key that no earlier installation had. The
    /// machine is off before and after.
    fn install(&self, install: Install) -> BoxFuture<'_, Result<(), Failed>>;

    /// Switches it on. When this ends, it answers to SSH. The vendor's agent replaces the project's keys on it if it is
    /// given any.
    fn boot(&self, keys: Option<Vec<String>>) -> BoxFuture<'_, Result<(), Failed>>;

    /// Switches it off, without asking: connections are cut, processes end, the disk stays.
    fn halt(&self) -> BoxFuture<'_, Result<(), Failed>>;

    /// The port on 127.0.0.1 at which it answers to SSH while it is on; the same for as long as it is there.
    fn ssh_port(&self) -> u16;

    /// Whether it answers to SSH.
    fn is_up(&self) -> bool;

    /// Lets something happen to a machine that is on, of which its vendor knows nothing.
    fn disturb(&self, disturbance: Disturbance) -> Result<(), Failed> {
        Err(Failed(format!("there is no Mac to which {disturbance:?} could happen")))
    }

    /// Everything that can be said about it.
    fn inspect(&self) -> BoxFuture<'_, Value>;
}

/// There are no machines: servers are entries in the vendor's books.
#[derive(Clone, Copy, Debug)]
pub struct NoMachines;

impl Factory for NoMachines {
    fn build(&self, _: Blueprint) -> BoxFuture<'_, Result<Arc<dyn Machine>, Failed>> {
        Box::pin(async { Ok(Arc::new(NoMachine) as Arc<dyn Machine>) })
    }
}

struct NoMachine;

impl Machine for NoMachine {
    fn install(&self, _: Install) -> BoxFuture<'_, Result<(), Failed>> {
        Box::pin(async { Ok(()) })
    }

    fn boot(&self, _: Option<Vec<String>>) -> BoxFuture<'_, Result<(), Failed>> {
        Box::pin(async { Ok(()) })
    }

    fn halt(&self) -> BoxFuture<'_, Result<(), Failed>> {
        Box::pin(async { Ok(()) })
    }

    // The port of discard: nobody answers there.
    fn ssh_port(&self) -> u16 {
        9
    }

    fn is_up(&self) -> bool {
        true
    }

    fn inspect(&self) -> BoxFuture<'_, Value> {
        Box::pin(async { Value::Null })
    }
}

//! What a Mac knows only while it is on: the kernel's variables, launchd's services, the name it goes by.

use std::collections::BTreeMap;

use serde::Serialize;

use super::network::Network;
use super::pf::Pf;
use crate::clock::Time;

/// The state of a Mac that is on.
#[derive(Debug, Serialize)]
pub(super) struct Live {
    /// Which boot this is: a UUID in capitals.
    pub(super) boot_id: String,
    /// When it began.
    pub(super) booted: Time,
    /// The kernel's variables that were set since.
    pub(super) kernel: BTreeMap<String, String>,
    /// What launchd runs or would run, by its target, such as `system/LABEL` or `gui/501/LABEL`.
    pub(super) services: BTreeMap<String, Service>,
    /// The numbers of processes that simulated services have.
    #[serde(skip)]
    next_pid: u32,
    /// The number of whoever is logged in at the screen: whose `gui` domain there is. Nobody at first.
    pub(super) aqua: Option<u32>,
    /// The packet filter.
    pub(super) pf: Pf,
    /// Interfaces and routes.
    pub(super) network: Network,
    /// What commands in shell noted.
    pub(super) notes: BTreeMap<String, String>,
}

/// A service that launchd knows.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Service {
    /// The property list it was made from, as the Mac names it.
    pub(super) path: String,
    /// Its process, if it runs.
    pub(super) pid: Option<u32>,
    /// How often it was started.
    pub(super) runs: u32,
}

impl Live {
    pub(super) fn new(boot_id: String, booted: Time, network: Network) -> Live {
        let (kernel, services, notes) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Live {
            boot_id,
            booted,
            kernel,
            services,
            next_pid: 300,
            aqua: None,
            pf: Pf::at_boot(),
            network,
            notes,
        }
    }

    /// A number for a process that only launchd knows of.
    pub(super) fn new_pid(&mut self) -> u32 {
        self.next_pid += 7;
        self.next_pid
    }
}

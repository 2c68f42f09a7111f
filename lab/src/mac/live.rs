//! What a Mac knows only while it is on: the kernel's variables, what launchd runs, who is at the screen.

use std::collections::BTreeMap;

use serde::Serialize;

use super::builders::tart::Vm;
use super::launchd::{Launchd, Process};
use super::login::Login;
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
    /// What launchd runs or would run.
    pub(super) launchd: Launchd,
    /// The number of whoever is logged in at the screen: whose `gui` domain there is. Nobody at first.
    pub(super) aqua: Option<u32>,
    /// The packet filter.
    pub(super) pf: Pf,
    /// Interfaces and routes.
    pub(super) network: Network,
    /// Who logs people in, who gets in, and what of the settings is in effect.
    pub(super) login: Login,
    /// The VMs that run, by their names.
    pub(super) vms: BTreeMap<String, Vm>,
    /// What it does for others, by what that is.
    pub(super) work: BTreeMap<String, Process>,
    /// What commands in shell noted.
    pub(super) notes: BTreeMap<String, String>,
}

impl Live {
    pub(super) fn new(boot_id: String, booted: Time, network: Network, login: Login) -> Live {
        let (kernel, notes) = (BTreeMap::new(), BTreeMap::new());
        let (vms, work) = (BTreeMap::new(), BTreeMap::new());
        let (launchd, pf) = (Launchd::default(), Pf::at_boot());
        Live { boot_id, booted, kernel, launchd, aqua: None, pf, network, login, vms, work, notes }
    }
}

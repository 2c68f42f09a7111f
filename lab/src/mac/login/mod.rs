//! Who is logged in at a Mac's screen, who may become root, who gets in over the network, and what of the settings is in
//! effect since the boot.
//!
//! 1. [`kcpassword`]: the file with the password of whoever is logged in by itself
//! 2. [`loginwindow`]: the process that logs people in at the screen, and goes away for good when it is hung up on
//! 3. [`tally`]: wrong passwords, which lock an account for a while
//! 4. [`sshd`]: the port that takes connections, until too many of them are half open
//! 5. [`preferences`]: property lists of the system, and those that count only from the next boot on
//!
//! [`Login::begin`] is what a boot leaves. launchd calls [`loginwindow::started`] whenever it starts that program.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

pub(super) mod kcpassword;
pub(super) mod loginwindow;
pub(super) mod preferences;
pub(super) mod sshd;
pub(super) mod tally;

pub(super) use preferences::LocalNetwork;
pub(super) use sshd::Sshd;
pub(super) use tally::Tally;

/// What a Mac that is on knows of all that; a reboot forgets it.
#[derive(Debug, Serialize)]
pub(super) struct Login {
    /// How often loginwindow was started since the boot.
    pub(super) starts: u32,
    /// Wrong passwords.
    pub(super) tally: Tally,
    /// What takes connections.
    pub(super) sshd: Sshd,
    /// The networks that programs may reach without being asked about, as they were at the boot.
    pub(super) local_network: LocalNetwork,
    /// Which servers are asked for the names of some domains: as it was when they were last read.
    pub(super) resolvers: BTreeMap<String, Vec<String>>,
    /// The name that the network gave the Mac, if it did.
    pub(super) dhcp_name: Option<String>,
}

impl Login {
    /// What it is at a boot.
    pub(super) fn begin(root: &Path) -> Login {
        Login {
            starts: 0,
            tally: Tally::default(),
            sshd: Sshd::default(),
            local_network: LocalNetwork::read(root),
            resolvers: preferences::resolvers(root),
            dhcp_name: None,
        }
    }
}

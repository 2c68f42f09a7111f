//! What is in a tailnet.

use std::net::Ipv4Addr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::clock::Time;

/// So long may an ephemeral device be away before it is removed.
const AWAY: Duration = Duration::from_secs(30 * 60);
/// A device that was connected for so long is not ephemeral any more.
const SETTLED: Duration = Duration::from_secs(4 * 3600);

/// A device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    /// What the tailnet calls it, for ever.
    pub node_id: String,
    /// How it wants to be called.
    pub hostname: String,
    /// How it is called: the first part of its whole name.
    pub name: String,
    /// Its address.
    pub address: Ipv4Addr,
    /// Its tags.
    pub tags: Vec<String>,
    /// Whether it is removed once it is away.
    pub is_ephemeral: bool,
    /// Whether it left by itself.
    pub is_logged_out: bool,
    /// When it came.
    pub joined: Time,
    /// Since when it is connected, if it is.
    pub online_since: Option<Time>,
    /// When it was last connected.
    pub last_seen: Time,
    /// What it proves by that it is this one.
    pub node_key: String,
    /// When that expires, if it does: that of a tagged device does not.
    #[serde(default)]
    pub expires: Option<Time>,
}

impl Device {
    pub(super) fn connected(&mut self, is_online: bool, now: Time) {
        if let Some(since) = self.online_since {
            self.is_ephemeral &= now.since(since) < SETTLED;
            self.last_seen = now;
        }
        self.online_since = is_online.then(|| self.online_since.unwrap_or(now));
    }

    pub(super) fn is_over(&self, now: Time) -> bool {
        self.is_ephemeral && self.online_since.is_none() && now.since(self.last_seen) >= AWAY
    }
}

//! What takes connections: launchd owns the port, and starts sshd for each. While too many are half open, nobody gets in
//! on any address, until the job is taken out and put back.

use serde::Serialize;

use crate::mac::Mac;
use crate::mac::live::Live;

/// What launchd calls it.
const TARGET: &str = "system/com.openssh.sshd";
/// So many half-open connections fill the port's backlog.
const BACKLOG: u32 = 128;

/// How the port stands.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(in crate::mac) struct Sshd {
    /// Connections in the state SYN_RCVD.
    half_open: u32,
    /// For which loading of the job: another has a port of its own.
    loading: u64,
}

/// What becomes of somebody who connects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::mac) enum Welcome {
    /// He is served.
    Served,
    /// Nobody answers him.
    Unanswered,
    /// Nobody listens.
    Refused,
}

/// How many connections are half open; none if nobody listens.
pub(in crate::mac) fn half_open(live: &Live) -> Option<u32> {
    let loading = live.launchd.services.get(TARGET)?.loading;
    let Sshd { half_open, loading: of } = live.login.sshd;
    Some(if of == loading { half_open } else { 0 })
}

/// What becomes of somebody who connects now.
pub(in crate::mac) fn welcome(mac: &Mac) -> Welcome {
    match mac.live().as_ref().and_then(half_open) {
        None => Welcome::Refused,
        Some(half_open) if half_open >= BACKLOG => Welcome::Unanswered,
        Some(_) => Welcome::Served,
    }
}

/// The backlog is full from now on.
pub(in crate::mac) fn fill(mac: &Mac) {
    if let Some(live) = &mut *mac.live()
        && let Some(service) = live.launchd.services.get(TARGET)
    {
        live.login.sshd = Sshd { half_open: BACKLOG, loading: service.loading };
    }
}

//! loginwindow: logs in whoever is to be logged in by itself, when it is started anew.
//!
//! A Mac without a screen does not do so at a boot. One that is told a wrong password logs nobody in, says nothing, and
//! puts [`SEALED`] in the place of the password.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use super::kcpassword::{SEALED, decode, encode};
use super::preferences;
use crate::mac::Mac;
use crate::mac::launchd::domain;

/// What launchd calls it.
pub(in crate::mac) const TARGET: &str = "system/com.apple.loginwindow";
/// Where the password is kept.
const KCPASSWORD: &str = "private/etc/kcpassword";
/// Where the name of whoever is to be logged in stands.
const PREFERENCES: &str = "Library/Preferences/com.apple.loginwindow.plist";
/// How long it takes from its start to a session.
const TAKES: Duration = Duration::from_secs(3);
/// What hangs up on a process.
const HANG_UP: i32 = 1;

/// launchd started it: a moment later, whoever is to be logged in by itself is.
pub(in crate::mac) fn started(mac: &Arc<Mac>) {
    let start = {
        let mut live = mac.live();
        let Some(live) = &mut *live else { return };
        live.login.starts += 1;
        (live.boot_id.clone(), live.login.starts)
    };
    if start.1 == 1 {
        // At a boot it waits for somebody at the screen.
        return;
    }
    let starting = Arc::downgrade(mac);
    let clock = mac.clock();
    clock.at(clock.time().after(TAKES), async move {
        if let Some(mac) = starting.upgrade() {
            log_in(&mac, &start);
        }
    });
}

/// The number of its process.
pub(in crate::mac) fn pid(mac: &Mac) -> Option<u32> {
    let live = mac.live();
    Some(live.as_ref()?.launchd.services.get(TARGET)?.process.as_ref()?.pid)
}

/// Logs somebody in, if nothing came between: given the boot, and which start in it that was.
fn log_in(mac: &Arc<Mac>, start: &(String, u32)) {
    let is_same =
        mac.live().as_ref().is_some_and(|live| (&live.boot_id, live.login.starts) == (&start.0, start.1));
    if !is_same || pid(mac).is_none() {
        return;
    }
    let user = preferences::read(mac.root(), PREFERENCES).remove("autoLoginUser");
    let Some(user) = user.and_then(plist::Value::into_string) else { return };
    let file = mac.root().join(KCPASSWORD);
    let Ok(kept) = fs::read(&file) else { return };
    let known = mac.users().into_iter().find(|(name, _)| *name == user).map(|(_, uid)| uid);
    let is_right = mac.installation().is_some_and(|installation| {
        let password = installation.password.as_bytes();
        installation.user == user && decode(&kept).is_some_and(|given| given == password)
    });
    match known {
        Some(uid) if is_right => domain::session_begins(mac, uid),
        _ => {
            if let Err(error) = fs::write(file, encode(SEALED)) {
                tracing::warn!(%error, "a Mac cannot seal a password");
            }
        }
    }
}

/// It ended: whoever was logged in at the screen is not any more.
pub(in crate::mac) fn ended(mac: &Arc<Mac>) {
    domain::session_ends(mac);
}

/// Somebody hangs up on it: it goes away for good, because launchd does not start it again. Whether it was there at all.
pub(in crate::mac) fn hang_up(mac: &Arc<Mac>) -> bool {
    pid(mac).is_some_and(|pid| domain::signal(mac, pid, HANG_UP))
}

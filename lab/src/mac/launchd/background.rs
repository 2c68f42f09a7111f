//! Background Task Management: how often legacy daemons were registered, and what comes of it.
//!
//! macOS keeps a list of what runs in the background, and it outlives reboots. Every time that a legacy daemon is
//! registered by hand counts. What it does with a daemon that comes again and again is nowhere written; it was seen that
//! its `KeepAlive` means nothing any more. The number here is this lab's own.

use crate::mac::Mac;

/// So often may a daemon be registered before its `KeepAlive` is ignored.
pub(in crate::mac) const CAP: u32 = 12;

/// Counts that a daemon was registered; whether that was once too often.
pub(super) fn register(mac: &Mac, label: &str) -> bool {
    let mut disk = mac.disk();
    let Some(count) = disk.registered(label) else { return false };
    *count += 1;
    let is_capped = *count > CAP;
    if let Err(error) = disk.store() {
        tracing::warn!(%error, "a Mac forgets what it registered");
    }
    is_capped
}

/// Whether a daemon was registered too often before.
pub(super) fn is_capped(mac: &Mac, label: &str) -> bool {
    let counts = mac.installation().map(|installation| installation.background).unwrap_or_default();
    counts.get(label).is_some_and(|count| *count > CAP)
}

//! launchd: what it has loaded, what runs, and what becomes of it when it ends.
//!
//! 1. [`job`]: a property list, as launchd reads it
//! 2. [`service`]: what launchd knows of a job that is loaded, and how `launchctl` shows it
//! 3. [`domain`]: loading and unloading, and who may do so
//! 4. [`run`]: starting, ending, starting again: all of it on the lab's clock
//! 5. [`program`]: what a program does once it is started
//! 6. [`signature`]: code signatures, and what the kernel remembers of them
//! 7. [`background`]: how often legacy daemons were registered, and what comes of it
//!
//! launchd knows nothing of what other parts of a Mac do. They say what happens at a start of the Mac in
//! [`AT_BOOT`](super::boot::AT_BOOT), and give programs of the system a life of their own in [`program::BUILT_IN`].

use std::collections::BTreeMap;

use serde::Serialize;

pub(super) mod background;
pub(super) mod domain;
pub(super) mod job;
pub(super) mod program;
pub(super) mod run;
pub(super) mod service;
pub(super) mod signature;

pub(super) use service::{Process, Service};

/// What launchd and the kernel know while the Mac is on.
#[derive(Debug, Default, Serialize)]
pub(super) struct Launchd {
    /// What is loaded, by its target, such as `system/LABEL` or `gui/501/LABEL`.
    pub(super) services: BTreeMap<String, Service>,
    /// What the kernel remembers of code that it ran: the hash of its signature, by the identity of the file.
    pub(super) code: BTreeMap<String, String>,
    /// How many processes there were.
    started: u32,
}

impl Launchd {
    /// A number for a new process: far from those of this machine's own, which shells see, too.
    pub(super) fn new_pid(&mut self) -> u32 {
        self.started += 1;
        50_000 + self.started * 7
    }

    /// All processes, with the targets they run for.
    pub(super) fn processes(&self) -> impl Iterator<Item = (&str, &Process)> {
        self.services
            .iter()
            .filter_map(|(target, service)| Some((target.as_str(), service.process.as_ref()?)))
    }
}

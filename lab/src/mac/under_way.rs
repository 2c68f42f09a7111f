//! The commands that services are at.
//!
//! A process that is killed is done with what it was at in the kernel before it is gone. A command of a Mac is carried out by the
//! lab, which the end of whoever called does not stop; so a service is gone only when its commands are. And a process that was
//! killed may take a while to notice: nothing is begun for it any more.

use std::collections::{BTreeMap, HashSet};
use std::os::unix::net::UnixStream;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};
use rustix::process::Pid;

/// A command that does not end by itself, such as one that reads what nobody writes, is waited for no longer.
const MOST: Duration = Duration::from_secs(10);
/// By this one a service may end itself; it would wait for its own end.
const NOT_WAITED_FOR: &str = "launchctl";

/// How many commands each service is at, by its label.
#[derive(Debug, Default)]
pub(super) struct UnderWay {
    counts: Mutex<BTreeMap<String, usize>>,
    changed: Condvar,
    /// Who led processes that were ended.
    ended: Mutex<HashSet<Pid>>,
}

/// A command of a service, until it is dropped.
pub(super) struct Begun<'a> {
    all: &'a UnderWay,
    label: String,
}

impl UnderWay {
    /// A command of a service begins.
    pub(super) fn begin(&self, label: &str, command: &str) -> Option<Begun<'_>> {
        if label.is_empty() || command == NOT_WAITED_FOR {
            return None;
        }
        *self.counts.lock().unwrap_or_else(PoisonError::into_inner).entry(label.to_owned()).or_default() += 1;
        Some(Begun { all: self, label: label.to_owned() })
    }

    /// Something leads processes, perhaps under the number of one that was ended.
    pub(super) fn begins(&self, leader: Pid) {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner).remove(&leader);
    }

    /// Nothing is begun any more for what this leads.
    pub(super) fn end(&self, leader: Pid) {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner).insert(leader);
    }

    /// Whether whoever called was ended with what led it.
    pub(super) fn is_ended(&self, label: &str, leader: Option<Pid>) -> bool {
        let ended = || self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        !label.is_empty() && leader.is_some_and(|leader| ended().contains(&leader))
    }

    /// Waits until a service, whose processes were killed, is at nothing any more.
    pub(super) fn wait(&self, label: &str) {
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_timeout_while(counts, MOST, |counts| counts.contains_key(label));
        if waited.unwrap_or_else(PoisonError::into_inner).1.timed_out() {
            tracing::warn!(label, "a command outlives the service that called it");
        }
    }
}

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        let mut counts = self.all.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get_mut(&self.label) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.label);
            }
        }
        self.all.changed.notify_all();
    }
}

/// Whether whoever called is there still, to have something done.
pub(super) fn is_there(caller: &UnixStream) -> bool {
    match recv(caller, &mut [0; 1], RecvFlags::PEEK | RecvFlags::DONTWAIT) {
        Ok((length, _)) => length > 0,
        Err(error) => error == Errno::AGAIN,
    }
}

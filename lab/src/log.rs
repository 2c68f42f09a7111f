//! Every request that came, in order, and what became of it.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::clock::Time;
use crate::scaleway::{ErrorType, Operation};

/// A request.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Entry {
    /// Its number, from 1.
    pub number: u64,
    /// What the vendor calls it in `X-Request-Id`.
    pub request_id: String,
    /// When it came.
    pub at: Time,
    /// The access key of whoever asked; none if nobody has the key that was sent.
    pub token: Option<String>,
    /// The HTTP method.
    pub method: String,
    /// The path, and what stands behind the `?`.
    pub path: String,
    /// What was asked for; none if the vendor has no such address.
    pub operation: Option<Operation>,
    /// The server it was about; for an order, the server that was made.
    pub server: Option<String>,
    /// What was sent, secrets left out.
    pub body: Value,
    /// The HTTP status of the answer; none if there was no answer, or none yet.
    pub status: Option<u16>,
    /// The type of the error that was answered.
    pub error: Option<ErrorType>,
    /// When it took effect; none if it changed nothing, or nothing yet.
    pub effect_at: Option<Time>,
    /// The fault that it met.
    pub fault: Option<u64>,
}

/// All of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log {
    entries: Vec<Entry>,
    /// The places of those that changed since they were last written down.
    changed: BTreeSet<usize>,
}

impl Log {
    /// Notes a request; its number is given to it.
    pub(crate) fn add(&mut self, mut entry: Entry) -> u64 {
        entry.number = self.entries.len() as u64 + 1;
        let number = entry.number;
        self.changed.insert(self.entries.len());
        self.entries.push(entry);
        number
    }

    pub(crate) fn change(&mut self, number: u64, change: impl FnOnce(&mut Entry)) {
        let index = usize::try_from(number).unwrap_or(0).checked_sub(1);
        if let Some((index, entry)) = index.and_then(|index| Some((index, self.entries.get_mut(index)?))) {
            change(entry);
            self.changed.insert(index);
        }
    }

    /// Those that changed since this was last asked.
    pub(crate) fn take_changed(&mut self) -> Vec<&Entry> {
        let changed = std::mem::take(&mut self.changed);
        changed.into_iter().filter_map(|index| self.entries.get(index)).collect()
    }

    /// A log from entries as they were written down: the last of a number counts.
    pub(crate) fn from_written(written: Vec<Entry>) -> Log {
        let entries: BTreeMap<u64, Entry> = written.into_iter().map(|entry| (entry.number, entry)).collect();
        Log { entries: entries.into_values().collect(), changed: BTreeSet::new() }
    }

    /// Those after a number.
    pub(crate) fn after(&self, number: u64) -> &[Entry] {
        let skipped = usize::try_from(number).unwrap_or(usize::MAX).min(self.entries.len());
        &self.entries[skipped..]
    }
}

//! How every step of a run ended.

use std::collections::{BTreeMap, btree_map};
use std::time::Duration;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use super::json;
use super::outcome::Outcome;
use crate::plan::Action;
use crate::state::Object;

/// How every step ended that had something to do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    /// The steps.
    pub entries: BTreeMap<Object, Entry>,
    /// How long all of it took.
    pub elapsed: Duration,
}

/// How one step ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What was to be done.
    pub action: Action,
    /// How it ended.
    pub outcome: Outcome,
    /// How long it took; nothing if it did not begin.
    pub elapsed: Duration,
}

/// How many steps ended in which way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the names are those of the outcomes")]
pub struct Counts {
    pub done: usize,
    pub failed: usize,
    pub skipped: usize,
    pub not_started: usize,
    pub unknown: usize,
}

impl Ledger {
    /// Counts the outcomes.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for entry in self.entries.values() {
            counts.add(&entry.outcome);
        }
        counts
    }

    /// How many steps with such an action were done.
    #[must_use]
    pub fn done(&self, such: impl Fn(Action) -> bool) -> usize {
        let done = |entry: &&Entry| entry.outcome == Outcome::Done && such(entry.action);
        self.entries.values().filter(done).count()
    }

    /// Notes how a step ended. A replacement has two parts; the worse one counts, and both take their time.
    pub fn note(&mut self, object: Object, entry: Entry) {
        match self.entries.entry(object) {
            btree_map::Entry::Vacant(vacant) => _ = vacant.insert(entry),
            btree_map::Entry::Occupied(mut known) => {
                let known = known.get_mut();
                let elapsed = known.elapsed.saturating_add(entry.elapsed);
                if entry.outcome.gravity() >= known.outcome.gravity() {
                    *known = entry;
                }
                known.elapsed = elapsed;
            }
        }
    }

    /// Adds a later part of the same run.
    pub fn extend(&mut self, later: Ledger) {
        self.entries.extend(later.entries);
        self.elapsed = self.elapsed.saturating_add(later.elapsed);
    }

    /// Whether everything was done.
    #[must_use]
    pub fn all_done(&self) -> bool {
        self.entries.values().all(|entry| entry.outcome == Outcome::Done)
    }
}

impl Counts {
    /// Counts one more.
    pub fn add(&mut self, outcome: &Outcome) {
        let count = match outcome {
            Outcome::Done => &mut self.done,
            Outcome::Failed(_) => &mut self.failed,
            Outcome::Skipped(_) => &mut self.skipped,
            Outcome::NotStarted => &mut self.not_started,
            Outcome::Unknown(_) => &mut self.unknown,
        };
        *count += 1;
    }

    /// All of them together.
    #[must_use]
    pub fn total(&self) -> usize {
        self.done + self.failed + self.skipped + self.not_started + self.unknown
    }
}

impl Serialize for Ledger {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut ledger = serializer.serialize_struct("Ledger", 3)?;
        ledger.serialize_field("elapsed_ms", &json::in_millis(self.elapsed))?;
        ledger.serialize_field("counts", &self.counts())?;
        ledger.serialize_field("steps", &Steps(&self.entries))?;
        ledger.end()
    }
}

struct Steps<'a>(&'a BTreeMap<Object, Entry>);

#[derive(Serialize)]
struct Row<'a> {
    #[serde(flatten, serialize_with = "json::object")]
    object: &'a Object,
    #[serde(serialize_with = "json::action")]
    action: Action,
    #[serde(flatten)]
    outcome: &'a Outcome,
    #[serde(rename = "elapsed_ms", serialize_with = "json::millis")]
    elapsed: Duration,
}

impl Serialize for Steps<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|(object, entry)| Row {
            object,
            action: entry.action,
            outcome: &entry.outcome,
            elapsed: entry.elapsed,
        }))
    }
}

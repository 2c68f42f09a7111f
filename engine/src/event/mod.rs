//! Everything a user interface may know of a run, as it happens.
//!
//! 1. [`Event`]: what happened; a [`Listener`] hears of it
//! 2. `outcome`: how one step ended
//! 3. `ledger`: how all of them ended
//! 4. `json`: the names of fields in the JSON stream; `docs/reference/events.md` is its manual
//!
//! Events carry names, numbers and the messages of errors, and no values of attributes: what is secret cannot be in
//! one unless an error's message gave it away.

mod json;
mod ledger;
mod outcome;

use std::time::Duration;

use serde::Serialize;

use crate::plan::Action;
use crate::provider::Session;
use crate::state::Object;

pub use ledger::{Counts, Entry, Ledger};
pub use outcome::{Effect, Failure, Outcome};

/// Something that happened.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event<'a> {
    /// The things of one session are being looked at.
    Observing {
        /// Where.
        #[serde(serialize_with = "json::display")]
        session: &'a Session,
        /// How many things.
        questions: usize,
    },
    /// They were looked at.
    Observed {
        /// Where.
        #[serde(serialize_with = "json::display")]
        session: &'a Session,
        /// How many could not be looked at.
        failed: usize,
        /// How long it took.
        #[serde(rename = "elapsed_ms", serialize_with = "json::millis")]
        elapsed: Duration,
    },
    /// A part of the work whose steps are all known begins.
    WaveStarted {
        /// Which part, counted from 1.
        wave: usize,
        /// How many steps with something to do it has.
        steps: usize,
    },
    /// A step begins.
    StepStarted {
        /// Of what.
        #[serde(flatten, serialize_with = "json::object")]
        object: &'a Object,
        /// What is done.
        #[serde(serialize_with = "json::action")]
        action: Action,
    },
    /// A step that has begun waits for something. Told only of waits that do not end at once.
    StepWaiting {
        /// Of what.
        #[serde(flatten, serialize_with = "json::object")]
        object: &'a Object,
        /// What for.
        on: Wait,
    },
    /// A step will be tried again.
    Retrying {
        /// Of what.
        #[serde(flatten, serialize_with = "json::object")]
        object: &'a Object,
        /// The attempt that failed, counted from 1.
        attempt: u32,
        /// How long it will wait before the next.
        #[serde(rename = "after_ms", serialize_with = "json::millis")]
        after: Duration,
        /// Why it failed, with all causes.
        #[serde(rename = "message")]
        why: &'a str,
    },
    /// A step ended, or will not begin.
    StepEnded {
        /// Of what.
        #[serde(flatten, serialize_with = "json::object")]
        object: &'a Object,
        /// What was to be done.
        #[serde(serialize_with = "json::action")]
        action: Action,
        /// How.
        #[serde(flatten)]
        outcome: &'a Outcome,
        /// How long it took.
        #[serde(rename = "elapsed_ms", serialize_with = "json::millis")]
        elapsed: Duration,
    },
    /// Somebody wants the run to end.
    Interrupted {
        /// The first time running steps may end; the second time they are left alone.
        again: bool,
    },
    /// The state can no longer be written; nothing new is begun. Told once more when there is a file with what was done
    /// nevertheless.
    StoreLost {
        /// Why, with all causes.
        message: &'a str,
        /// The file with what the next run has to know.
        #[serde(skip_serializing_if = "Option::is_none")]
        recovery: Option<&'a str>,
    },
    /// All is over.
    Finished {
        /// How everything ended.
        #[serde(flatten)]
        ledger: &'a Ledger,
    },
}

/// What a running step waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Wait {
    /// Its provider or host, to be connected to.
    Connection,
    /// The state, to be written.
    State,
    /// The world, to obey.
    World,
    /// The thing, to be looked at again.
    ReadBack,
    /// The vendor of a pool, to show what is so.
    Vendor,
    /// Requests without an answer, to be void.
    Requests,
    /// A host, to come back or to become clean.
    Host,
}

/// Somebody who wants to know. Called from whatever thread the run is on, so it must not dawdle.
pub trait Listener: Send + Sync {
    /// Is told.
    fn hear(&self, event: &Event<'_>);
}

/// Hears and forgets.
impl Listener for () {
    fn hear(&self, _event: &Event<'_>) {}
}

/// All of them hear, in this order.
impl Listener for [Box<dyn Listener>] {
    fn hear(&self, event: &Event<'_>) {
        for listener in self {
            listener.hear(event);
        }
    }
}

impl Wait {
    /// What people are told.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Wait::Connection => "connecting",
            Wait::State => "writing down",
            Wait::World => "waiting for the answer",
            Wait::ReadBack => "reading back",
            Wait::Vendor => "waiting for the vendor to show what is so",
            Wait::Requests => "waiting for requests without an answer to be void",
            Wait::Host => "waiting for the host",
        }
    }
}

#[cfg(test)]
mod tests;

//! What is remembered between runs: what we made, and what we were about to do.
//!
//! State only helps to find things: what is really there is observed. A row is written after a thing was read back,
//! an intent before a thing is touched. An intent that is still open tells the next run where to look.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use fleet_lang::Value;

use crate::address::Address;
use crate::provider::Session;
use crate::resource::BoxFuture;

/// A snapshot of the state.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// What was made, by address.
    pub recorded: BTreeMap<Address, Recorded>,
    /// What was begun and whose outcome is not known, by address.
    pub intents: BTreeMap<Address, Intent>,
}

/// What we last made or found at an address.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// The session it was made through.
    pub session: Session,
    /// Its kind.
    pub kind: Arc<str>,
    /// The version of the kind's schema.
    pub version: u32,
    /// What was observed after it was made.
    pub value: Value,
    /// What it depended on: it must go before them.
    pub depends_on: Vec<Address>,
}

/// What was about to be done.
#[derive(Clone, Debug, PartialEq)]
pub struct Intent {
    /// What was to be done.
    pub operation: Operation,
    /// The record as it will be if all goes well; of a removal, as it was.
    pub record: Recorded,
}

/// What can be done to a thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Operation {
    Create,
    Update,
    Destroy,
}

/// The state as apply changes it. Each call returns when its effect will survive a crash.
pub trait Store: Send {
    /// Writes down what is about to be done.
    fn begin<'a>(
        &'a mut self,
        address: &'a Address,
        intent: &'a Intent,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Writes down what is there now, `None` if nothing is, and closes the intent.
    fn record<'a>(
        &'a mut self,
        address: &'a Address,
        recorded: Option<&'a Recorded>,
    ) -> BoxFuture<'a, Result<(), StoreError>>;
}

/// Why the state could not be read or written.
#[derive(Debug)]
pub struct StoreError {
    /// What was tried.
    pub message: String,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl StoreError {
    /// Something that could not be done.
    pub fn new(message: impl Into<String>) -> StoreError {
        StoreError { message: message.into(), source: None }
    }

    /// Adds the cause, which the message must not repeat.
    #[must_use]
    pub fn because(self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> StoreError {
        StoreError { source: Some(source.into()), ..self }
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for StoreError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|source| &**source as _)
    }
}

impl Operation {
    /// The word in the journal.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Operation::Create => "create",
            Operation::Update => "update",
            Operation::Destroy => "destroy",
        }
    }

    /// The operation of that word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Operation> {
        [Operation::Create, Operation::Update, Operation::Destroy].into_iter().find(|o| o.word() == word)
    }
}

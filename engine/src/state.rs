//! What is remembered between runs: what we made, and what we were about to do.
//!
//! State only helps to find things: what is really there is observed. A row is written after a thing was read back,
//! an intent before a thing is touched. An intent that is still open tells the next run where to look.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use fleet_lang::Value;

use crate::address::{Address, Item, Target};
use crate::provider::Session;
use crate::resource::BoxFuture;

/// A snapshot of the state.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// The random name of this state; none while nothing was ever written.
    pub lineage: Option<Arc<str>>,
    /// Grows with every change.
    pub serial: u64,
    /// What was made, by address.
    pub recorded: BTreeMap<Address, Recorded>,
    /// Older objects of an address, replaced by newer ones, that still have to go.
    pub deposed: BTreeMap<Address, BTreeMap<u32, Recorded>>,
    /// What was begun and whose outcome is not known.
    pub intents: BTreeMap<Object, Intent>,
    /// The outputs of the root module, as of the last apply.
    pub outputs: BTreeMap<Arc<str>, SavedOutput>,
    /// Hosts that somebody set apart, by their addresses.
    pub marks: BTreeMap<Address, Mark>,
}

/// That somebody set a host apart: it is left alone until somebody says otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// How.
    pub apart: Apart,
    /// Which machine it was.
    pub machine: Option<Arc<str>>,
    /// Who did so.
    pub by: String,
    /// When, as RFC 3339 has it.
    pub since: String,
    /// Why, if that was said.
    pub reason: Option<String>,
}

/// How a host is set apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Apart {
    /// It is left out of plans, until it is to go.
    Paused,
    /// It is left out of all plans, and its machine is given to nobody.
    Quarantined,
}

/// One thing that is remembered: the current object of an address, or an older one that still has to go.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Object {
    /// Whose it is.
    pub address: Address,
    /// The number of the older object; none for the current one.
    pub deposed: Option<u32>,
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
    /// What was observed after it was made. Sensitive parts are null here.
    pub value: Value,
    /// What stands for the sensitive parts, by attribute.
    pub sealed: BTreeMap<Arc<str>, Sealed>,
    /// What it depended on: it must go before them. A missing key means all instances.
    pub depends_on: Arc<[Target]>,
    /// Whether what replaces it is made before it goes.
    pub create_before_destroy: bool,
    /// The installation of the host it lives on.
    pub epoch: Option<Arc<str>>,
}

/// What is kept of something sensitive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sealed {
    /// The keyed digest of what was read back, in hexadecimal digits.
    pub digest: Arc<str>,
    /// The digest of how it is made, for what stays symbolic while planning.
    pub recipe: Option<Arc<str>>,
}

/// An output of the root module.
#[derive(Clone, Debug, PartialEq)]
pub struct SavedOutput {
    /// Its value; none if it is sensitive, which is never stored.
    pub value: Option<Value>,
    /// Whether it must not be shown.
    pub sensitive: bool,
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

/// A change of the state.
#[derive(Clone, Debug, PartialEq)]
pub enum Write {
    /// This is about to be done.
    Begin {
        /// To whom.
        object: Object,
        /// What.
        intent: Intent,
    },
    /// This is there now; closes the intent.
    Settle {
        /// Whose intent.
        object: Object,
        /// What is there; none if nothing is.
        recorded: Option<Recorded>,
    },
    /// Nothing was done of what was begun; closes the intent.
    Withdraw {
        /// To whom.
        object: Object,
    },
    /// The new object of an address is there, and what was recorded is an older one now; closes the intent.
    Depose {
        /// Whose.
        address: Address,
        /// The number of the older object.
        number: u32,
        /// The new one.
        recorded: Recorded,
    },
    /// What was recorded at one address, with its older objects, is at another from now on.
    Move {
        /// The old address.
        from: Address,
        /// The new one.
        to: Address,
    },
    /// The outputs of the root module are these.
    Outputs(BTreeMap<Arc<str>, SavedOutput>),
    /// A host is set apart, or is not any more.
    Mark {
        /// Its address.
        host: Address,
        /// How; none if it is not any more.
        mark: Option<Mark>,
    },
}

/// The state as apply changes it.
pub trait Store: Send + Sync {
    /// Returns when the change will survive a crash. Changes that wait at the same time share a commit.
    fn write(&self, write: Write) -> BoxFuture<'_, Result<(), StoreError>>;
}

/// Why the state could not be read or written. Those who share a commit share its failure.
#[derive(Clone, Debug)]
pub struct StoreError {
    /// What was tried.
    pub message: String,
    /// What sort of trouble it is.
    pub kind: StoreErrorKind,
    /// The file that holds what could not be written, for the next run to settle.
    pub recovery: Option<Arc<str>>,
    source: Option<Arc<dyn std::error::Error + Send + Sync>>,
}

/// What sort of trouble the state is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreErrorKind {
    /// Somebody else took the lock over: what this run still writes is refused.
    Fenced,
    /// The database cannot be reached any more.
    Lost,
    /// There is no room left.
    Full,
    /// It must not be written.
    ReadOnly,
    /// What is there is no database, or not a whole one.
    Damaged,
    /// Anything else.
    Other,
}

impl StoreError {
    /// Something that could not be done.
    pub fn new(message: impl Into<String>) -> StoreError {
        StoreError { message: message.into(), kind: StoreErrorKind::Other, recovery: None, source: None }
    }

    /// Says what sort of trouble it is.
    #[must_use]
    pub fn of_kind(self, kind: StoreErrorKind) -> StoreError {
        StoreError { kind, ..self }
    }

    /// Whether nothing can be written any more: another write would fail as this one did.
    #[must_use]
    pub fn is_final(&self) -> bool {
        self.kind != StoreErrorKind::Other
    }

    /// Adds the cause, which the message must not repeat.
    #[must_use]
    pub fn because(self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> StoreError {
        StoreError { source: Some(Arc::from(source.into())), ..self }
    }
}

impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.address.fmt(f)?;
        self.deposed.map_or(Ok(()), |number| write!(f, " (deposed {number})"))
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

impl State {
    /// What a write makes of it; false if it must be refused, and then nothing changes.
    pub fn write(&mut self, write: Write) -> bool {
        match write {
            Write::Begin { object, intent } => _ = self.intents.insert(object, intent),
            Write::Settle { object, recorded } => {
                self.intents.remove(&object);
                if ends_pause(&object, recorded.as_ref()) {
                    // What is gone cannot wait for anything.
                    self.marks.retain(|host, mark| *host != object.address || mark.apart != Apart::Paused);
                }
                self.put(object, recorded);
            }
            Write::Withdraw { object } => _ = self.intents.remove(&object),
            Write::Depose { address, number, recorded } => {
                let older = Object { address: address.clone(), deposed: Some(number) };
                let current = Object::current(address);
                if self.record(&current).is_some() {
                    if self.record(&older).is_some() {
                        return false;
                    }
                    let before = self.take(&current);
                    self.put(older, before);
                }
                self.intents.remove(&current);
                self.put(current, Some(recorded));
            }
            Write::Move { from, to } => return self.rename(&from, &to),
            Write::Outputs(outputs) => self.outputs = outputs,
            Write::Mark { host, mark: Some(mark) } => _ = self.marks.insert(host, mark),
            Write::Mark { host, mark: None } => _ = self.marks.remove(&host),
        }
        self.serial += 1;
        true
    }

    /// What is recorded of an object.
    #[must_use]
    pub fn record(&self, object: &Object) -> Option<&Recorded> {
        match object.deposed {
            None => self.recorded.get(&object.address),
            Some(number) => self.deposed.get(&object.address)?.get(&number),
        }
    }

    fn rename(&mut self, from: &Address, to: &Address) -> bool {
        let there = |object: &Object| Object { address: to.clone(), ..object.clone() };
        let older = self.deposed.get(from).into_iter().flat_map(BTreeMap::keys).map(|number| Some(*number));
        let objects = std::iter::once(None).chain(older);
        let objects = objects.map(|deposed| Object { address: from.clone(), deposed });
        let records: Vec<Object> = objects.filter(|object| self.record(object).is_some()).collect();
        let begun = self.intents.range(Object::current(from.clone())..).map(|(object, _)| object);
        let intents: Vec<Object> = begun.take_while(|object| object.address == *from).cloned().collect();
        let is_taken = records.iter().any(|object| self.record(&there(object)).is_some())
            || intents.iter().any(|object| self.intents.contains_key(&there(object)))
            || (self.marks.contains_key(from) && self.marks.contains_key(to));
        if is_taken && from != to {
            return false;
        }
        for object in records {
            let record = self.take(&object);
            self.put(there(&object), record);
        }
        for object in intents {
            if let Some(intent) = self.intents.remove(&object) {
                self.intents.insert(there(&object), intent);
            }
        }
        if let Some(mark) = self.marks.remove(from) {
            self.marks.insert(to.clone(), mark);
        }
        self.serial += 1;
        true
    }

    fn take(&mut self, object: &Object) -> Option<Recorded> {
        let Some(number) = object.deposed else { return self.recorded.remove(&object.address) };
        let older = self.deposed.get_mut(&object.address)?;
        let record = older.remove(&number);
        if older.is_empty() {
            self.deposed.remove(&object.address);
        }
        record
    }

    fn put(&mut self, object: Object, record: Option<Recorded>) {
        self.take(&object);
        let Some(record) = record else { return };
        match object.deposed {
            None => self.recorded.insert(object.address, record),
            Some(number) => self.deposed.entry(object.address).or_default().insert(number, record),
        };
    }
}

/// Whether a host is gone, so that nobody pauses it any more.
#[must_use]
pub fn ends_pause(object: &Object, recorded: Option<&Recorded>) -> bool {
    recorded.is_none() && object.deposed.is_none() && object.address.item == Item::Host
}

impl Apart {
    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Apart::Paused => "paused",
            Apart::Quarantined => "quarantined",
        }
    }

    /// What that word stands for.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Apart> {
        [Apart::Paused, Apart::Quarantined].into_iter().find(|apart| apart.word() == word)
    }
}

impl Object {
    /// The current object of an address.
    #[must_use]
    pub fn current(address: Address) -> Object {
        Object { address, deposed: None }
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

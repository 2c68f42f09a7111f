//! Stage 5, plan: declared × recorded × observed → steps with their reasons. Pure.
//!
//! The configuration is walked twice: [`Looker`] finds out where to look, and once that was observed, [`Planner`]
//! compares. The plan is what runs: the same value is shown, approved and executed.

mod compare;
mod look;
mod order;

use std::collections::BTreeMap;
use std::sync::Arc;

use fleet_lang::Value;

use crate::address::{Address, Item};
use crate::attributes::Misfit;
use crate::diff::{Change, get};
use crate::provider::{Readers, Session};
use crate::schema::Entry;
use crate::state::Recorded;

pub use compare::Planner;
pub use look::Looker;

/// What will be done. Steps that keep things as they are stand in it too.
#[derive(Clone, Debug, Default, PartialEq)]
#[must_use]
pub struct Plan {
    /// The steps by address.
    pub steps: BTreeMap<Address, Step>,
    /// The order of the removals, which come last: each thing goes before what it depended on.
    pub removals: Vec<Address>,
}

/// What will be done at one address.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// What.
    pub action: Action,
    /// Why.
    pub why: Why,
    /// The record as it is or will be; its value is unknown where only apply can tell.
    pub record: Recorded,
    /// What is there; wholly known.
    pub before: Option<Value>,
    /// What differs.
    pub changes: Vec<Change>,
    /// What it depended on when it was last recorded.
    pub depended_on: Vec<Address>,
}

/// What is done to a thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Action {
    /// Nothing: it is as it should be.
    Keep,
    /// It is as it should be; only the record is brought up to date.
    Record,
    /// It is made.
    Create,
    /// It is changed in place.
    Update,
    /// It is removed and made anew.
    Replace,
    /// It is removed.
    Destroy,
    /// It is gone, or is another's now: only the record is removed.
    Forget,
}

/// The reason of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// The configuration and reality say so.
    Declared,
    /// It was recorded, but is not there any more.
    Vanished,
    /// It is there without having been recorded.
    Found,
    /// It does not stand in the configuration any more.
    NotDeclared,
    /// Everything is to go.
    Asked,
    /// What was recorded here is the same thing as what is declared there.
    SameAs(Address),
}

impl Plan {
    /// Whether anything in the world will change.
    #[must_use]
    pub fn changes_anything(&self) -> bool {
        self.steps.values().any(|step| step.action.changes_the_world())
    }
}

impl Action {
    /// Whether it does more than to bring records up to date.
    #[must_use]
    pub fn changes_the_world(self) -> bool {
        matches!(self, Action::Create | Action::Update | Action::Replace | Action::Destroy)
    }
}

/// Brings a wish to its normal form, which takes all of it to be known.
pub(crate) fn normal(readers: &dyn Readers, kind: &str, declared: &Value) -> Result<Value, Misfit> {
    if !declared.is_wholly_known() {
        return Ok(declared.clone());
    }
    let normal = readers.normalize(kind, &declared.clone().unmark_deep().0)?;
    let Some(entries) = normal.entries() else { return Ok(normal) };
    let marked = |(name, value): (&Arc<str>, &Value)| {
        (name.clone(), value.clone().mark(get(declared, name).marks_deep()))
    };
    Ok(Value::object(entries.iter().map(marked).collect()))
}

fn session_of(entry: &Entry) -> Session {
    Session { provider: entry.provider.clone(), alias: None }
}

fn kind_of(address: &Address) -> Option<Arc<str>> {
    match &address.item {
        Item::Resource(kind, _) => Some(kind.clone()),
        Item::Data(..) | Item::Host => None,
    }
}

//! Stage 5, plan: declared × recorded × observed → steps with their reasons. Pure.
//!
//! The configuration is walked twice: the first walk finds out where to look (`look`), the second compares with what
//! was observed (`compare`); in between, `begun` settles what earlier runs left open. `finish` adds what is only
//! remembered, `pools` says where machines come from and go to, `choose` leaves out what the user did not choose, and `later` what has to wait for blocks that are not
//! decided yet.
//! `findings` says which known bad states show in what was observed.
//! `refuse` asks kinds about values without looking at anything.
//! [`plan`] is all of it together. The plan is what runs: the same value is shown, approved and executed.

mod apart;
mod begun;
mod choose;
mod compare;
mod dependencies;
mod findings;
mod finish;
mod hosts;
mod ignore;
mod later;
mod look;
mod make;
mod moves;
pub mod pools;
mod rebuild;
mod refuse;
mod rehearse;
mod remembered;
mod slots;
mod unconfirmed;
mod ways;

use std::collections::BTreeMap;
use std::sync::Arc;

use fleet_lang::Value;
use fleet_syntax::Span;

use crate::address::{Address, Item, ScopePath, Target};
use crate::attributes::Misfit;
use crate::diff::{Change, get};
use crate::expand::Imported;
use crate::provider::Readers;
use crate::seal::Recipes;
use crate::state::Recorded;

pub(crate) use apart::is_quarantined;
pub(crate) use compare::{next_number, with_marks};
pub use findings::{Detected, Examined, examine};
pub use hosts::way_to;
pub(crate) use ignore::ignore;
pub(crate) use look::{begun, usable, wished};
pub use make::{Planned, Settings, Sources, plan};
pub use pools::Pooling;
pub use rebuild::{Found, Rebuilt, declared_slots, rebuilt};
pub use refuse::Refusals;
pub use remembered::Remembered;
pub use slots::{Slot, Standing, slots};
pub use ways::{Way, Ways, ways};

/// What will be done. Steps that keep things as they are stand in it too.
#[derive(Clone, Debug, Default, PartialEq)]
#[must_use]
pub struct Plan {
    /// What it is for.
    pub goal: Goal,
    /// The steps by address.
    pub steps: BTreeMap<Address, Step>,
    /// The removals of older objects.
    pub deposed: BTreeMap<Address, BTreeMap<u32, Step>>,
    /// What a following wave decides.
    pub deferred: Vec<Deferred>,
    /// What the user left out.
    pub left_out: BTreeMap<Target, LeftOut>,
    /// The outputs of the root module that change.
    pub outputs: BTreeMap<Arc<str>, OutputChange>,
    /// How often reality was asked again, because an answer decided what else to look at.
    pub extra_rounds: usize,
    /// What else is to be known about how it was looked at.
    pub notes: Vec<String>,
    /// What has to be said even where nothing is to be done, such as what stays as it is on purpose.
    pub standing: Vec<String>,
    /// Where the machines of slots come from and go to, where a vendor stands behind their pool.
    pub pools: BTreeMap<Address, Pooling>,
    /// The known bad states that were seen, in the order of the addresses.
    pub findings: Vec<Detected>,
}

/// What a plan is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Goal {
    /// Reality equals the configuration.
    #[default]
    Converge,
    /// Nothing is left.
    Destroy,
    /// The records equal reality; reality stays as it is.
    RefreshOnly,
}

/// What will be done at one address.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// What.
    pub action: Action,
    /// Why.
    pub why: Why,
    /// The record as it is or will be; its value is unknown where only apply can tell, and sensitive parts are marked.
    pub record: Recorded,
    /// What is there; wholly known.
    pub before: Option<Value>,
    /// What differs between the wish and what is there.
    pub changes: Vec<Change>,
    /// What differs between what was recorded and what is there: it was changed behind our back.
    pub drift: Vec<Change>,
    /// Where it was recorded before.
    pub moved_from: Option<Box<Address>>,
    /// The block that declares it.
    pub declared_at: Option<Span>,
    /// Whether reality was asked; otherwise apply looks before it acts.
    pub looked: bool,
    /// How the arguments are made that are symbols still.
    pub recipes: Recipes,
    /// Whether the record is all there is of it.
    pub lives_in_state: bool,
}

/// What the user wants of a plan.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// What it is for.
    pub goal: Goal,
    /// Only these, and what they need; everything if empty.
    pub targets: Vec<Target>,
    /// Not these, nor what depends on them.
    pub excludes: Vec<Target>,
    /// These are made anew.
    pub replace: Vec<Target>,
    /// Whether what is recorded is looked at; otherwise the record is believed.
    pub refresh: bool,
    /// Whether secrets are got while planning, to see those that changed at their source.
    pub resolve_secrets: bool,
    /// What is taken in besides what `import` blocks say.
    pub imports: Vec<Imported>,
    /// Whether hosts of a fleet may be interrupted all at once, although it says how changes go through it.
    pub ignore_rollout: bool,
    /// Only these hosts, by slot or name; all if empty.
    pub hosts: Vec<String>,
    /// Not these hosts, by slot or name.
    pub exclude_hosts: Vec<String>,
    /// Slots whose hosts may have other keys than those that are recorded: they were installed anew.
    pub accepted: Vec<ScopePath>,
    /// Slots that are to get this machine and no other, if they have none.
    pub machines: BTreeMap<ScopePath, Arc<str>>,
}

/// A block whose instances cannot be told yet, or something that has to wait for one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deferred {
    /// Its name, with the keys of the scopes around.
    pub address: Target,
    /// The reference that decides.
    pub awaits: Option<Arc<str>>,
}

/// Why something is not part of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeftOut {
    /// It is none of the targets, and none of them needs it.
    NotTargeted,
    /// The user excluded it.
    Excluded,
    /// Somebody set its host apart: how, who, when and why.
    Apart(Arc<str>),
    /// It cannot be seen, for this reason.
    Blocked(Arc<str>),
    /// It depends on this, which is left out.
    DependsOn(Target),
    /// This is left out, and depends on it.
    NeededBy(Target),
}

/// How an output of the root module changes.
#[derive(Clone, Debug, PartialEq)]
pub struct OutputChange {
    /// The value as of the last apply; none if there was none, or if it is sensitive.
    pub before: Option<Value>,
    /// The value now; none if the output goes.
    pub after: Option<Value>,
}

/// What is done to a thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Action {
    /// Nothing: it is as it should be.
    Keep,
    /// It is as it should be; only the record is brought up to date.
    Record,
    /// It is read, once what it needs is known.
    Read,
    /// It is made.
    Create,
    /// It is changed in place.
    Update,
    /// It is removed and made anew.
    Replace {
        /// Whether the new one is made before the old one goes.
        create_first: bool,
    },
    /// It is removed.
    Destroy,
    /// It is gone, is another's now, or is not ours to remove: only the record is removed.
    Forget,
}

/// The reason of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// The configuration and reality say so.
    Declared,
    /// It was recorded, but is not there any more.
    Vanished,
    /// A run was cut off while it made or removed it on its host, and it is not there. What that left is cleared.
    CutOff,
    /// It is there without having been recorded.
    Found,
    /// It is taken in under this id.
    Imported(Arc<str>),
    /// It does not stand in the configuration any more.
    NotDeclared,
    /// The user asked for it.
    Asked,
    /// It is there, but is declared under this address now.
    SameAs(Box<Address>),
    /// This changed, and it is replaced with it.
    Triggered(Arc<str>),
    /// The configuration says that it is to be left alone.
    Released,
    /// A newer object took its place.
    Deposed,
}

impl Plan {
    /// Whether anything in the world will change.
    #[must_use]
    pub fn changes_anything(&self) -> bool {
        let older = self.deposed.values().flat_map(BTreeMap::values);
        self.steps.values().chain(older).any(|step| step.action.changes_the_world())
    }
}

impl Action {
    /// Whether it does more than to bring records up to date.
    #[must_use]
    pub fn changes_the_world(self) -> bool {
        matches!(self, Action::Create | Action::Update | Action::Replace { .. } | Action::Destroy)
    }

    /// The word for it in JSON.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Action::Keep => "keep",
            Action::Record => "record",
            Action::Read => "read",
            Action::Create => "create",
            Action::Update => "update",
            Action::Replace { .. } => "replace",
            Action::Destroy => "destroy",
            Action::Forget => "forget",
        }
    }
}

/// Brings a wish to its normal form, which takes all of it to be known.
pub(crate) fn normal(readers: &dyn Readers, kind: &str, declared: &Value) -> Result<Value, Misfit> {
    normalized(declared, |plain| readers.normalize(kind, plain))
}

/// Brings what is known of a wish to its normal form, as if the rest were as it is.
pub(crate) fn normal_beside(readers: &dyn Readers, kind: &str, declared: &Value, before: &Value) -> Value {
    let Some(entries) = declared.entries().filter(|_| !declared.is_wholly_known()) else {
        return declared.clone();
    };
    let fill = |(name, value): (&Arc<str>, &Value)| {
        let value = if value.is_wholly_known() { value.clone() } else { get(before, name) };
        (name.clone(), value)
    };
    let filled = Value::object(entries.iter().map(fill).collect());
    // What cannot be beside what is there may well be beside what will be.
    let Ok(normal) = normal(readers, kind, &filled) else { return declared.clone() };
    let known = |(name, value): (&Arc<str>, &Value)| {
        let value = if value.is_wholly_known() { get(&normal, name) } else { value.clone() };
        (name.clone(), value)
    };
    Value::object(entries.iter().map(known).collect()).mark(declared.marks)
}

/// Brings the arguments of data to their normal form, which takes all of them to be known.
pub(crate) fn normal_data(readers: &dyn Readers, kind: &str, declared: &Value) -> Result<Value, Misfit> {
    normalized(declared, |plain| readers.normalize_data(kind, plain))
}

fn normalized(
    declared: &Value,
    normalize: impl Fn(&Value) -> Result<Value, Misfit>,
) -> Result<Value, Misfit> {
    if !declared.is_wholly_known() {
        return Ok(declared.clone());
    }
    if declared.marks_deep().is_empty() {
        return normalize(declared);
    }
    let normal = normalize(&declared.clone().unmark_deep().0)?;
    let Some(entries) = normal.entries() else { return Ok(normal) };
    let marked = |(name, value): (&Arc<str>, &Value)| {
        (name.clone(), value.clone().mark(get(declared, name).marks_deep()))
    };
    Ok(Value::object(entries.iter().map(marked).collect()))
}

/// The kind of what an address names, if that is something to remember.
pub(crate) fn kind_of(address: &Address) -> Option<Arc<str>> {
    match &address.item {
        Item::Resource(kind, _) => Some(kind.clone()),
        Item::Data(..) | Item::Host => None,
    }
}

/// An error with all its causes on one line.
#[must_use]
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

//! A plan as anybody may see it: everything that a reader wants to know of it, and nothing that is secret.
//!
//! Every form of a plan is made from this alone, so that a saved plan reads the same wherever it is shown. It is
//! plain data with names of its own: a change of the planner does not change the format by accident.
//!
//! 1. [`shown`]: values, with marks in place of what must not be shown and of what is not known
//! 2. [`of`]: a plan → its document; [`secret`]: what of it must not be shown
//! 3. [`facts`]: what the plan relied on, as digests, and which of it has moved since
//! 4. [`pool`]: where the machines of slots come from and go to
//! 5. [`finding`]: known bad states, in a plan and in an examination
//! 6. [`saved`]: the file of `--out`

pub mod facts;
pub mod finding;
pub mod of;
pub mod pool;
pub mod saved;
mod secret;
pub mod shown;

#[cfg(test)]
pub(crate) mod sample;

use litemap::LiteMap;
use serde::{Deserialize, Deserializer, Serialize};

pub use facts::{Fact, Keyed, Moved, all_facts, moved};
pub use finding::{By, Examination, Finding, Unseen};
pub use of::Context;
pub use shown::{Members, Shown};

/// The version of the format. It grows when readers of an older one would misunderstand.
pub const FORMAT: u32 = 1;

/// A plan, fit to be published.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Document {
    /// The version of the format, [`FORMAT`].
    pub format: u32,
    /// What it is for.
    pub goal: Goal,
    /// Where it comes from.
    pub header: Header,
    /// How much there is to do.
    pub summary: Summary,
    /// What will be done, in the order of the addresses. What stays as it is does not stand here.
    pub steps: Vec<Step>,
    /// Blocks whose instances a following wave decides.
    pub deferred: Vec<Deferred>,
    /// What is left out.
    pub left_out: Vec<LeftOut>,
    /// The outputs that change.
    pub outputs: Vec<Output>,
    /// What is worth knowing about the configuration.
    pub warnings: Vec<Warning>,
    /// How often reality was asked again, because an answer decided what else to look at.
    pub extra_rounds: usize,
    /// What else is to be known about how it was looked at.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// What has to be said even where nothing is to be done, such as what stays as it is on purpose.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub standing: Vec<String>,
    /// The known bad states that were seen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// What was found that the plan relies on.
    pub facts: Vec<Fact>,
}

/// What a plan is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Goal {
    /// Reality equals the configuration.
    #[default]
    Converge,
    /// Nothing is left.
    Destroy,
    /// The records equal reality; reality stays as it is.
    RefreshOnly,
}

/// Where a plan comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// The version of fleet.
    pub fleet: String,
    /// When it was made, as RFC 3339 has it.
    pub planned_at: String,
    /// The digest of the configuration.
    pub configuration: String,
    /// The names of the variables that the user gave a value.
    pub variables: Vec<String>,
    /// The random name of the state; none while nothing was ever written.
    pub lineage: Option<String>,
    /// The serial number of the state.
    pub serial: u64,
    /// What the user asked for.
    pub options: Options,
}

/// How the user asked for a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Options {
    /// `--target`
    pub target: Vec<String>,
    /// `--exclude`
    pub exclude: Vec<String>,
    /// `--replace`
    pub replace: Vec<String>,
    /// `--host`
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub host: Vec<String>,
    /// `--exclude-host`
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclude_host: Vec<String>,
    /// `--accept-host-key`
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accept_host_key: Vec<String>,
    /// `--ignore-rollout`: hosts may be interrupted all at once.
    #[serde(default, skip_serializing_if = "is_false")]
    pub ignore_rollout: bool,
    /// `--refresh=false`: reality was not looked at.
    pub without_looking: bool,
    /// `--resolve-secrets`: secrets were got while planning.
    #[serde(default, skip_serializing_if = "is_false")]
    pub resolve_secrets: bool,
}

/// How much there is to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// Things to make.
    pub create: usize,
    /// Things to change in place.
    pub update: usize,
    /// Things to make anew.
    pub replace: usize,
    /// Things to remove.
    pub destroy: usize,
    /// Things to read once what they need is known.
    pub read: usize,
    /// Things that are left alone from now on.
    pub forget: usize,
    /// Things that are taken in; they may count as updated too.
    pub import: usize,
    /// Things that have a new address; they may count as updated too.
    #[serde(rename = "move")]
    pub moved: usize,
    /// Things whose record alone is brought up to date, or removed because they are gone.
    pub record: usize,
    /// Things that stay as they are.
    pub keep: usize,
    /// Blocks that a following wave decides.
    pub deferred: usize,
    /// Things that the user left out.
    pub left_out: usize,
    /// Those of them that cannot be seen.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub blocked: usize,
    /// Outputs that change.
    pub outputs: usize,
}

/// What will be done to one thing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// Its name.
    pub address: String,
    /// The number of an older object of this address, which still has to go.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deposed: Option<u32>,
    /// Its kind.
    pub kind: String,
    /// What.
    pub action: Action,
    /// Of a replacement: whether the new one is made before the old one goes.
    #[serde(default, skip_serializing_if = "is_false")]
    pub create_first: bool,
    /// Why.
    pub reason: Reason,
    /// Its address until now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved_from: Option<String>,
    /// The block that declares it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub declared_at: Option<Place>,
    /// What is there; none if nothing is, or if it stays as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Attributes>,
    /// What will be there; none if nothing will.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Attributes>,
    /// The attributes in which the wish differs from what is there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
    /// What was changed behind our back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drift: Vec<Drift>,
    /// Of the machine of a slot: where it comes from, and where the one before goes to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<pool::Pool>,
}

/// The attributes of a thing by name.
pub type Attributes = LiteMap<String, Shown>;

/// What is done to a thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// It is removed.
    Destroy,
    /// It is removed and made anew.
    Replace,
    /// It is changed in place.
    Update,
    /// It is made.
    Create,
    /// It is read, once what it needs is known.
    Read,
    /// Only its record is removed.
    Forget,
    /// Only its record is brought up to date.
    Record,
}

/// The reason of a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "why", rename_all = "kebab-case")]
pub enum Reason {
    /// The configuration and reality say so.
    Declared,
    /// It was recorded, but is not there any more.
    Vanished,
    /// A run was cut off while it made or removed it on its host, and it is not there. What that left is cleared.
    CutOff,
    /// It is there without having been recorded.
    Found,
    /// It is taken in.
    Imported {
        /// What the import names.
        id: String,
    },
    /// It does not stand in the configuration any more.
    NotDeclared,
    /// The user asked for it.
    Asked,
    /// It is there, but is declared elsewhere now.
    SameAs {
        /// Where.
        address: String,
    },
    /// Something changed, and it is replaced with it.
    Triggered {
        /// What changed.
        by: String,
    },
    /// The configuration says that it is to be left alone.
    Released,
    /// A newer object took its place.
    Deposed,
}

/// An attribute in which the wish differs from what is there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Its name.
    pub attribute: String,
    /// Whether it takes a new object.
    #[serde(default, skip_serializing_if = "is_false")]
    pub forces_replacement: bool,
}

/// An attribute that was changed behind our back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drift {
    /// Its name.
    pub attribute: String,
    /// What was recorded.
    pub before: Shown,
    /// What is there.
    pub after: Shown,
}

/// A place in the configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
}

/// A block whose instances cannot be told yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deferred {
    /// Its name.
    pub address: String,
    /// The reference that decides.
    pub awaits: Option<String>,
}

/// Something that is left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Its name.
    pub address: String,
    /// Why.
    #[serde(flatten)]
    pub because: Because,
}

impl LeftOut {
    fn is_blocked(&self) -> bool {
        matches!(self.because, Because::Blocked { .. })
    }
}

/// Why something was left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "because", rename_all = "kebab-case")]
pub enum Because {
    /// It is none of the targets, and none of them needs it.
    NotTargeted,
    /// The user excluded it.
    Excluded,
    /// Somebody set its host apart.
    Apart {
        /// How, who, when and why.
        how: String,
    },
    /// It depends on something that is left out.
    DependsOn {
        /// On what.
        on: String,
    },
    /// That one stays, and depends on it.
    NeededBy {
        /// Which one.
        by: String,
    },
    /// It cannot be seen, and nobody changes what he cannot see.
    Blocked {
        /// Why.
        why: String,
    },
}

/// How an output changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Output {
    /// Its name.
    pub name: String,
    /// The value as of the last apply; none if there was none, or if it was secret.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "some")]
    pub before: Option<Shown>,
    /// The value from now on; none if the output goes.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "some")]
    pub after: Option<Shown>,
}

/// Something worth knowing about the configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// What, in a few words.
    pub summary: String,
    /// The particulars.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// The thing it was found for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// The text to blame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Place>,
    /// What to do next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
}

impl Document {
    /// Whether something could not be seen, so that nobody knows whether it is as it should be.
    #[must_use]
    pub fn is_blocked(&self) -> bool {
        self.left_out.iter().any(LeftOut::is_blocked)
    }

    /// Whether something would change of what the plan is about.
    #[must_use]
    pub fn changes_something(&self) -> bool {
        let records = self.goal == Goal::RefreshOnly && self.summary.record > 0;
        records || !self.summary.is_empty()
    }

    /// How much there is to do, counted; what stays as it is stands in no step and has to be told.
    #[must_use]
    pub fn count(&self, keep: usize) -> Summary {
        let mut summary = Summary {
            keep,
            deferred: self.deferred.len(),
            left_out: self.left_out.len(),
            blocked: self.left_out.iter().filter(|left_out| left_out.is_blocked()).count(),
            outputs: self.outputs.len(),
            ..Summary::default()
        };
        for step in &self.steps {
            summary.import += usize::from(step.is_imported());
            summary.moved += usize::from(step.moved_from.is_some());
            if step.is_bookkeeping() {
                summary.record += 1;
                continue;
            }
            match step.action {
                Action::Create => summary.create += 1,
                Action::Update => summary.update += 1,
                Action::Replace => summary.replace += 1,
                Action::Destroy => summary.destroy += 1,
                Action::Read => summary.read += 1,
                Action::Forget => summary.forget += 1,
                Action::Record => {}
            }
        }
        summary
    }
}

impl Summary {
    /// Whether there is nothing that a person has to agree to: at most records are brought up to date.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let Summary { create, update, replace, destroy, read, forget, import, moved, .. } = *self;
        let Summary { deferred, outputs, .. } = *self;
        [create, update, replace, destroy, read, forget, import, moved, deferred, outputs]
            .iter()
            .all(|count| *count == 0)
    }
}

impl Step {
    /// Whether it does no more than to bring records up to date with what is so already.
    #[must_use]
    pub fn is_bookkeeping(&self) -> bool {
        match self.action {
            Action::Record => !self.is_imported() && self.moved_from.is_none(),
            Action::Forget => {
                matches!(self.reason, Reason::Vanished | Reason::SameAs { .. } | Reason::Deposed)
            }
            _ => false,
        }
    }

    /// Whether it is taken in.
    #[must_use]
    pub fn is_imported(&self) -> bool {
        matches!(self.reason, Reason::Imported { .. })
    }
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

fn is_false(value: &bool) -> bool {
    !value
}

/// What stands there is a value, null too.
fn some<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Shown>, D::Error> {
    Shown::deserialize(deserializer).map(Some)
}

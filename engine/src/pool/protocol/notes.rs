//! What has to outlive a crash: the record of one host that somebody takes, has or gives back.

use std::fmt;
use std::time::{Duration, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// All that a process needs to go on after a crash. Never found again by a name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Whose claim on which host this is.
    pub identity: Identity,
    /// How far it is.
    pub progress: Progress,
}

/// What stays the same as long as there is a record.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Identity {
    /// What the vendor calls the host for ever.
    pub server: String,
    /// The random name of the state.
    pub lineage: String,
    /// The slot that the host is for, such as `fleet.runners[0]`.
    pub slot: String,
    /// A random name of this claim, never used before.
    pub claim: String,
    /// What the host is called; none in a pool without a vendor, where nothing has a name to write.
    pub names: Option<Names>,
}

/// What a host is called, in turn.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Names {
    /// While it is owned: the name that people know.
    pub own: String,
    /// While it goes back.
    pub returning: String,
    /// When it is free again.
    pub free: String,
    /// What the names of all free hosts start with.
    pub prefix: String,
}

/// How far a record is.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Progress {
    /// What is being done.
    pub stage: Stage,
    /// The installation in which the ledger was made, or is about to be.
    pub epoch: Option<String>,
    /// How the host becomes clean before it is free.
    pub method: Method,
    /// Vendor writes that were begun and of which nobody knows whether, or when, they have an effect.
    pub open: Vec<Open>,
    /// The last process ended by its deadline, and none went on yet.
    pub overdue: bool,
}

/// What is being done with a host.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// It is being taken.
    Claiming,
    /// It is ours.
    Owned,
    /// It goes back, and is not clean yet.
    Leaving,
    /// It is clean, and has to be named free.
    Freeing,
    /// The claim was given up: its ledger has to go.
    Abandoning,
    /// The ledger of a claim that somebody left behind long ago is being taken over, to free the host.
    Taking {
        /// That claim.
        from: String,
    },
    /// It is free, and held so that it can be deleted: somebody asked for that.
    Retiring,
    /// There is nothing left to do.
    Closed,
}

/// How a host becomes clean before it is free.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// It is installed anew.
    Reinstall,
    /// What we manage there is stopped and removed.
    Scrub,
}

/// A vendor write that was begun.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Open {
    /// What is written.
    pub write: Write,
    /// When it was begun, in seconds since 1970: for people.
    pub date: u64,
}

/// What the vendor can be told about a host.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Write {
    /// To give it this name.
    Rename(String),
    /// To restart it.
    Reboot,
    /// To install it anew.
    Reinstall,
    /// To delete it for good.
    Delete,
}

/// What the names of hosts that go back start with, whoever returns them.
pub const RETURNING: &str = "returning-";

impl Names {
    /// The names of a host that a claim calls `own`, in a pool where free names start with `prefix`.
    #[must_use]
    pub fn new(prefix: &str, own: &str, lineage: &str, claim: &str) -> Names {
        Names {
            own: own.to_owned(),
            returning: format!("{RETURNING}{lineage}-{claim}"),
            free: format!("{prefix}{claim}"),
            prefix: prefix.to_owned(),
        }
    }

    /// Whether a host with this name may be taken.
    #[must_use]
    pub fn is_free(&self, name: &str) -> bool {
        name.starts_with(&self.prefix)
    }

    /// Whether we gave this name.
    #[must_use]
    pub fn is_ours(&self, name: &str) -> bool {
        name == self.own || name == self.returning
    }
}

impl Open {
    /// What people are told of it while nobody knows what becomes of it.
    #[must_use]
    pub fn told(&self, server: &str) -> String {
        let sent = humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_secs(self.date));
        format!("unsettled {} on {server}, sent {sent}", self.write)
    }
}

impl fmt::Display for Write {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Write::Rename(_) => "rename",
            Write::Reboot => "reboot",
            Write::Reinstall => "reinstall",
            Write::Delete => "delete",
        })
    }
}

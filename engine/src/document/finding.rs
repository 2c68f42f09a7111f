//! Known bad states as anybody may see them: in a plan, and in an examination of hosts, which plans nothing.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::finding::Cure;
use crate::plan::{Detected, Examined, chain};

/// A known bad state that was seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Its name; `docs/findings.md` tells of each.
    pub name: String,
    /// The slot of the host that is in it; none for what is no host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// What sees it: a thing, or the machine of a slot.
    pub address: String,
    /// What was observed.
    pub evidence: String,
    /// What ends it.
    pub cure: String,
    /// Who does that.
    pub by: By,
    /// The kind whose step does it, where that is not the thing that sees it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Whether this plan does it.
    pub planned: bool,
}

/// Who cures something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum By {
    /// An apply.
    Apply,
    /// A person.
    Person,
}

/// What came of a look at hosts: `fleet doctor`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Examination {
    /// The version of the format, that of [plans](super::FORMAT).
    pub format: u32,
    /// The slots whose hosts were to be looked at.
    pub hosts: Vec<String>,
    /// The known bad states that were seen.
    pub findings: Vec<Finding>,
    /// What could not be seen.
    pub unseen: Vec<Unseen>,
    /// What else is to be known about how it was looked at.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// Things that could not be seen for the same reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unseen {
    /// The slot of their host; none for what is on no host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Their names.
    pub addresses: Vec<String>,
    /// Why.
    pub why: String,
    /// What to do next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
}

impl Finding {
    /// What may be published of it.
    #[must_use]
    pub fn of(detected: &Detected) -> Finding {
        let Detected { address, finding, is_planned } = detected;
        let known = finding.known;
        Finding {
            name: known.name.to_owned(),
            host: address.scope.slot().map(|slot| slot.to_string()),
            address: address.to_string(),
            evidence: finding.evidence.clone(),
            cure: known.cure.text().to_owned(),
            by: match known.cure {
                Cure::Apply(_) | Cure::By(..) => By::Apply,
                Cure::Person(_) => By::Person,
            },
            kind: match known.cure {
                Cure::By(kind, _) => Some(kind.to_owned()),
                Cure::Apply(_) | Cure::Person(_) => None,
            },
            planned: *is_planned,
        }
    }
}

impl Examination {
    /// What may be published of it.
    #[must_use]
    pub fn of(examined: &Examined) -> Examination {
        let mut unseen: BTreeMap<(Option<String>, String), Unseen> = BTreeMap::new();
        for (address, error) in &examined.unseen {
            let host = address.scope.slot().map(|slot| slot.to_string());
            let why = chain(error);
            let help = error.help.clone();
            let nobody = Unseen { host: host.clone(), addresses: Vec::new(), why: why.clone(), help };
            unseen.entry((host, why)).or_insert(nobody).addresses.push(address.to_string());
        }
        Examination {
            format: super::FORMAT,
            hosts: examined.hosts.iter().map(ToString::to_string).collect(),
            findings: examined.detected.iter().map(Finding::of).collect(),
            unseen: unseen.into_values().collect(),
            notes: examined.again.clone(),
        }
    }
}

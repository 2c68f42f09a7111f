//! The ledger of a host: who has it. Made exclusively, with its content, so that the host itself is the arbiter.
//!
//! A line for each word, so that a shell can read it without a tool. Beside it lies a directory with one file for each
//! thing that is managed there, so that what left the configuration is found even where the state is lost.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// Where the ledger lies, if a pool does not say otherwise: a directory that everybody may write to, and that outlives a
/// reboot, on macOS and elsewhere.
pub const PATH: &str = "/var/tmp/fleet/ledger";

/// The first line of a ledger.
pub const HEADER: &str = "fleet-ledger 1";

/// What a ledger says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ledger {
    /// The random name of the state that has the host.
    pub lineage: String,
    /// The slot in it, such as `fleet.runners[0]`.
    pub slot: String,
    /// A random name of this claim.
    pub claim: String,
    /// The highest number of a lock under which somebody worked here.
    pub fence: u64,
    /// The installation it was made in, told by the host key; empty where there is no key, as on this machine itself.
    pub epoch: String,
    /// How far it is.
    pub state: Holding,
    /// When it was made.
    pub since: String,
    /// Who made it, for people.
    pub by: String,
}

/// How far the holder of a host is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Holding {
    /// It takes the host.
    Claiming,
    /// It has the host.
    Owned,
    /// It gives the host back.
    Returning,
}

impl Holding {
    /// The word in a ledger.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Holding::Claiming => "claiming",
            Holding::Owned => "owned",
            Holding::Returning => "returning",
        }
    }

    fn read(word: &str) -> Option<Holding> {
        [Holding::Claiming, Holding::Owned, Holding::Returning].into_iter().find(|hold| hold.word() == word)
    }
}

impl Ledger {
    /// Reads a ledger; none if that is no ledger, or one of a version that this program does not know.
    #[must_use]
    pub fn parse(content: &[u8]) -> Option<Ledger> {
        let text = std::str::from_utf8(content).ok()?;
        let mut lines = text.lines();
        lines.next().filter(|first| *first == HEADER)?;
        let mut words: BTreeMap<&str, &str> = lines.filter_map(|line| line.split_once(' ')).collect();
        let mut word = |name: &str| words.remove(name).map(str::to_owned);
        Some(Ledger {
            lineage: word("lineage")?,
            slot: word("slot")?,
            claim: word("claim")?,
            fence: word("fence")?.parse().ok()?,
            epoch: word("epoch").unwrap_or_default(),
            state: Holding::read(&word("state")?)?,
            since: word("since").unwrap_or_default(),
            by: word("by").unwrap_or_default(),
        })
    }

    /// Whether it was made in this installation. One that does not know its own counts as made where it is.
    #[must_use]
    pub fn is_of(&self, epoch: &str) -> bool {
        self.epoch.is_empty() || self.epoch == epoch
    }

    /// Where the things that are managed are listed, given where the ledger lies.
    #[must_use]
    pub fn inventory(ledger: &str) -> String {
        format!("{ledger}.d")
    }

    /// Where a host notes changes that could have cut it off and that nobody confirmed, given where the ledger lies: a line for
    /// each, with tabs between the name in the inventory, that of the attempt, when it was undone, and what could not be. Of
    /// one that waits to be confirmed, the last two are empty, each behind its tab.
    #[must_use]
    pub fn unconfirmed(ledger: &str) -> String {
        format!("{ledger}.unconfirmed")
    }
}

impl fmt::Display for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Ledger { lineage, slot, claim, fence, epoch, state, since, by } = self;
        writeln!(f, "{HEADER}\nlineage {lineage}\nslot {slot}\nclaim {claim}\nfence {fence}\nepoch {epoch}")?;
        writeln!(f, "state {}\nsince {since}\nby {by}", state.word())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let ledger = Ledger {
            lineage: "l".into(),
            slot: "fleet.runners[\"a b\"]".into(),
            claim: "c".into(),
            fence: 7,
            epoch: "SHA256:k".into(),
            state: Holding::Owned,
            since: "2026-01-01T00:00:00Z".into(),
            by: "me@here".into(),
        };
        assert_eq!(Ledger::parse(ledger.to_string().as_bytes()), Some(ledger));
    }

    #[test]
    fn what_is_no_ledger_is_none() {
        for text in [
            "",
            "fleet-ledger 2\nlineage x\n",
            "fleet-ledger 1\n",
            "fleet-ledger 1\nlineage l\nslot s\nclaim c\nfence x\nstate owned\n",
            "fleet-ledger 1\nlineage l\nslot s\nclaim c\nfence 1\nstate lent\n",
        ] {
            assert_eq!(Ledger::parse(text.as_bytes()), None, "{text}");
        }
        assert_eq!(Ledger::parse(&[0xff]), None);
    }
}

//! The ledger of a host: who has it. Made exclusively, with its content, so that the host itself is the arbiter.
//!
//! A line for each word, so that a shell can read it without a tool. Beside it lies a directory with one file for each
//! thing that is managed there, so that what left the configuration is found even where the state is lost.

use std::collections::BTreeMap;
use std::fmt;

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
    /// How far it is: `claiming`, `owned` or `returning`.
    pub state: String,
    /// When it was made.
    pub since: String,
    /// Who made it, for people.
    pub by: String,
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
            state: word("state")?,
            since: word("since").unwrap_or_default(),
            by: word("by").unwrap_or_default(),
        })
    }

    /// Where the things that are managed are listed, given where the ledger lies.
    #[must_use]
    pub fn inventory(ledger: &str) -> String {
        format!("{ledger}.d")
    }
}

impl fmt::Display for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Ledger { lineage, slot, claim, fence, state, since, by } = self;
        writeln!(f, "{HEADER}\nlineage {lineage}\nslot {slot}\nclaim {claim}\nfence {fence}")?;
        writeln!(f, "state {state}\nsince {since}\nby {by}")
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
            state: "owned".into(),
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
        ] {
            assert_eq!(Ledger::parse(text.as_bytes()), None, "{text}");
        }
        assert_eq!(Ledger::parse(&[0xff]), None);
    }
}

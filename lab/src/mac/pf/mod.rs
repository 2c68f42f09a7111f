//! The packet filter of a Mac's kernel: what `pfctl` loads, shows and flushes, and what becomes of a packet.
//!
//! 1. [`net`]: addresses and networks
//! 2. [`words`], [`grammar`], [`rule`]: a file of rules, as the kernel has them and as they are printed
//! 3. [`load`]: a file comes into force as a whole or not at all
//! 4. [`reference`](mod@reference): who wants the filter to be on
//! 5. [`pass`]: whether a packet passes, and how its address is translated
//!
//! ## What is simulated
//!
//! - The main ruleset and anchors are apart. An anchor's rules are looked at only if the main ruleset calls it.
//! - Tables belong to the ruleset they were defined in. One without `persist` goes with the last rule that uses it; one with
//!   `persist` stays until it is killed: no flush removes it. Who adds an address to a table that is not there makes one
//!   with `persist`.
//! - A table that persists keeps others of its name from being defined: at the scope of the anchor by a definition without
//!   `persist`, at the main scope by any in an anchor. `load anchor` in the main file cannot define a table that its
//!   anchor has in force, or that the same file defined already. All of these are `Resource busy`.
//! - A rule may use a table that nobody defined. It is empty then.
//! - A start loads what Apple delivers, whatever stands in `/etc/pf.conf`, and leaves the filter off.
//!
//! States are not simulated: a packet is judged as the first of its connection.

mod grammar;
mod load;
mod net;
mod pass;
mod reference;
mod rule;
mod words;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Serialize, Serializer};

use crate::clock::Time;
pub(super) use load::{Only, Source};
pub use net::Net;
pub use pass::{Packet, Verdict};
pub(super) use reference::{Released, Unheld};
use rule::{Action, Rule, Section};

/// The main ruleset of a Mac that nobody touched.
const STOCK: &str = "scrub-anchor \"com.apple/*\"\nnat-anchor \"com.apple/*\"\nrdr-anchor \"com.apple/*\"\n\
                     dummynet-anchor \"com.apple/*\"\nanchor \"com.apple/*\"\n";
/// What Apple calls below its own anchor.
const STOCK_BELOW: &str = "anchor \"200.AirDrop/*\"\nanchor \"250.ApplicationFirewall/*\"\n";
/// What InternetSharing puts into the main ruleset while VMs have a network.
const SHARING: &str = "com.apple.internet-sharing";

/// The filter.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Pf {
    references: reference::References,
    /// By the path of their anchor; that of the main ruleset is empty.
    rulesets: BTreeMap<String, Ruleset>,
    /// By the path of their anchor, then by name.
    tables: BTreeMap<String, BTreeMap<String, Table>>,
}

/// The rules of an anchor, in the order of their sections.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Ruleset(Vec<Rule>);

/// A table that is in force.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Table {
    pub(super) persist: bool,
    pub(super) constant: bool,
    pub(super) addresses: BTreeSet<Net>,
}

/// What is wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mistake {
    pub(super) line: usize,
    pub(super) message: String,
}

/// What can be shown of a ruleset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Rules,
    Nat,
    Dummynet,
}

impl Part {
    fn has(self, section: Section) -> bool {
        match self {
            Part::Rules => matches!(section, Section::Scrub | Section::Filter),
            Part::Nat => section == Section::Translation,
            Part::Dummynet => section == Section::Dummynet,
        }
    }
}

impl Serialize for Ruleset {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(ToString::to_string))
    }
}

impl Pf {
    /// The filter of a Mac that was just started.
    pub(super) fn at_boot() -> Pf {
        let mut pf = Pf::default();
        for (anchor, text) in [("", STOCK), ("com.apple", STOCK_BELOW)] {
            let source = Source { name: "stock", text };
            pf.load(anchor, &source, Only::Everything, &|_| None).expect("what Apple delivers can be loaded");
        }
        pf
    }

    /// VMs have a network, or do not any more: what InternetSharing does to the live rules, and nobody else is told.
    pub(super) fn share_internet(&mut self, shares: bool) {
        let main = self.rulesets.entry(String::new()).or_default();
        main.0.retain(|rule| !matches!(&rule.action, Action::Anchor(_, name) if name == SHARING));
        if shares {
            for (section, word) in [(Section::Translation, "nat-anchor"), (Section::Filter, "anchor")] {
                main.0.push(Rule::new(section, Action::Anchor(word, SHARING.to_owned())));
            }
            main.0.sort_by_key(|rule| rule.section);
        }
        let text = "nat-anchor \"shared_v4\"\n";
        let below = "nat on en0 from 192.168.64.0/22 to any -> (en0)\n";
        for (anchor, text) in [(SHARING.to_owned(), text), (format!("{SHARING}/shared_v4"), below)] {
            let source = Source { name: "InternetSharing", text: if shares { text } else { "" } };
            self.load(&anchor, &source, Only::Everything, &|_| None).expect("what Apple loads can be loaded");
        }
    }

    /// The rules of an anchor as they are printed; none if there is no such anchor.
    pub(super) fn show(&self, anchor: &str, part: Part) -> Option<Vec<String>> {
        let ruleset = self.rulesets.get(anchor)?;
        Some(ruleset.0.iter().filter(|rule| part.has(rule.section)).map(ToString::to_string).collect())
    }

    /// Removes rules of one part.
    pub(super) fn flush(&mut self, anchor: &str, part: Part) {
        if let Some(ruleset) = self.rulesets.get_mut(anchor) {
            ruleset.0.retain(|rule| !part.has(rule.section));
        }
        self.tidy();
    }

    /// The anchors right below one; with `deep`, all of them.
    pub(super) fn anchors(&self, below: &str, deep: bool) -> BTreeSet<String> {
        let known = self.rulesets.keys().chain(self.tables.keys()).filter(|path| !path.is_empty());
        // What lies below an anchor makes it one.
        let all = known.flat_map(|path| {
            let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
            ends.map(|end| path[..end].to_owned())
        });
        let prefix = if below.is_empty() { String::new() } else { format!("{below}/") };
        all.filter(|path| path.strip_prefix(&prefix).is_some_and(|rest| deep || !rest.contains('/')))
            .collect()
    }

    /// The tables of an anchor.
    pub(super) fn tables(&self, anchor: &str) -> impl Iterator<Item = (&String, &Table)> {
        self.tables.get(anchor).into_iter().flatten()
    }

    pub(super) fn table(&self, anchor: &str, name: &str) -> Option<&Table> {
        self.tables.get(anchor)?.get(name)
    }

    /// The table, to change what is in it.
    pub(super) fn table_mut(&mut self, anchor: &str, name: &str) -> Option<&mut Table> {
        self.tables.get_mut(anchor)?.get_mut(name)
    }

    /// Makes a table that stays, as one who adds to it by hand does; whether it is new.
    pub(super) fn make_table(&mut self, anchor: &str, name: &str) -> bool {
        let tables = self.tables.entry(anchor.to_owned()).or_default();
        let is_new = !tables.contains_key(name);
        tables.entry(name.to_owned()).or_insert_with(|| Table { persist: true, ..Table::default() });
        is_new
    }

    /// Takes a table out of force, whatever uses it; whether there was one.
    pub(super) fn kill_table(&mut self, anchor: &str, name: &str) -> bool {
        let is_gone = self.tables.get_mut(anchor).is_some_and(|tables| tables.remove(name).is_some());
        self.tidy();
        is_gone
    }

    /// Flushes the tables of an anchor: how many went. Those that persist stay.
    pub(super) fn flush_tables(&mut self, anchor: &str) -> usize {
        let Some(tables) = self.tables.get_mut(anchor) else { return 0 };
        let before = tables.len();
        tables.retain(|_, table| table.persist);
        let gone = before - tables.len();
        self.tidy();
        gone
    }

    /// Whether a rule of its own anchor uses a table.
    pub(super) fn is_referenced(&self, anchor: &str, name: &str) -> bool {
        let rules = self.rulesets.get(anchor).map_or(&[][..], |ruleset| &ruleset.0);
        rules.iter().any(|rule| rule.tables().any(|used| used == name))
    }

    /// What nobody uses any more goes: tables that do not persist, and anchors with nothing in them.
    fn tidy(&mut self) {
        let mut tables = std::mem::take(&mut self.tables);
        for (anchor, tables) in &mut tables {
            tables.retain(|name, table| table.persist || self.is_referenced(anchor, name));
        }
        tables.retain(|_, tables| !tables.is_empty());
        self.tables = tables;
        self.rulesets.retain(|path, ruleset| path.is_empty() || !ruleset.0.is_empty());
    }

    /// Since when it is on; none if it is off.
    pub(super) fn enabled(&self) -> Option<Time> {
        self.references.since()
    }

    pub(super) fn references(&self) -> &reference::References {
        &self.references
    }

    pub(super) fn references_mut(&mut self) -> &mut reference::References {
        &mut self.references
    }
}

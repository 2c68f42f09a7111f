//! A file comes into force as a whole or not at all.

use std::collections::{BTreeMap, BTreeSet};

use super::grammar::{Entry, NoSense, entry};
use super::rule::{Rule, Section};
use super::words::statements;
use super::{Mistake, Pf, Ruleset, Table};

/// A file that is loaded.
#[derive(Clone, Copy, Debug)]
pub(in crate::mac) struct Source<'a> {
    /// What it is called where something is wrong with it.
    pub(in crate::mac) name: &'a str,
    pub(in crate::mac) text: &'a str,
}

/// Which part of a file is loaded; the rest stays in force as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::mac) enum Only {
    Everything,
    /// `-R`.
    Filter,
    /// `-N`.
    Translation,
}

/// Reads a file that another one loads.
type ReadFile<'a> = &'a dyn Fn(&str) -> Option<String>;

/// What a file says of one anchor.
#[derive(Debug, Default)]
struct Read {
    rules: Vec<Rule>,
    /// With the lines of their definitions.
    tables: BTreeMap<String, (usize, Table)>,
    loads: Vec<(usize, String, String)>,
}

/// What is wrong, each with the name of its file.
pub(in crate::mac) type Mistakes = Vec<String>;

impl Pf {
    /// Whether a file can be understood. Nothing is defined, so that nothing can be busy.
    pub(in crate::mac) fn check(source: &Source<'_>, read: ReadFile<'_>) -> Result<(), Mistakes> {
        let found = Read::of(source)?;
        for (line, _, file) in &found.loads {
            let text = read(file).ok_or_else(|| unread(source, *line, file))?;
            Pf::check(&Source { name: file, text: &text }, read)?;
        }
        Ok(())
    }

    /// Loads a file into an anchor; the main ruleset has none.
    pub(in crate::mac) fn load(
        &mut self,
        anchor: &str,
        source: &Source<'_>,
        only: Only,
        read: ReadFile<'_>,
    ) -> Result<(), Mistakes> {
        let mut new = self.clone();
        let found = Read::of(source)?;
        new.take_in(self, anchor, source, only, &found, None)?;
        let mut defined = BTreeSet::new();
        for (line, below, file) in &found.loads {
            let below = join(anchor, below);
            let text = read(file).ok_or_else(|| unread(source, *line, file))?;
            let inner = Source { name: file, text: &text };
            let found = Read::of(&inner)?;
            new.take_in(self, &below, &inner, only, &found, Some(&defined))?;
            defined.extend(found.tables.into_keys().map(|name| (below.clone(), name)));
        }
        new.tidy();
        *self = new;
        Ok(())
    }

    /// Takes over what was read; `before` is what was in force. Where another file loads this one, `defined` are the
    /// tables that the same load has defined so far.
    fn take_in(
        &mut self,
        before: &Pf,
        anchor: &str,
        source: &Source<'_>,
        only: Only,
        found: &Read,
        defined: Option<&BTreeSet<(String, String)>>,
    ) -> Result<(), Mistakes> {
        if only == Only::Everything {
            let busy = found.tables.iter().filter(|(name, (_, table))| {
                let here = before.table(anchor, name);
                let persists_here = here.is_some_and(|here| here.persist && !table.persist);
                let persists_above =
                    !anchor.is_empty() && before.table("", name).is_some_and(|main| main.persist);
                let in_the_way = defined.is_some_and(|defined| {
                    here.is_some() || defined.contains(&(anchor.to_owned(), (*name).clone()))
                });
                persists_here || persists_above || in_the_way
            });
            let mut busy: Vec<(usize, String)> = busy
                .map(|(name, (line, _))| (*line, format!("cannot define table {name}: Resource busy")))
                .collect();
            busy.sort();
            if !busy.is_empty() {
                return Err(busy.into_iter().map(|(line, text)| said(source, line, &text)).collect());
            }
            let tables = self.tables.entry(anchor.to_owned()).or_default();
            tables.retain(|_, table| table.persist);
            tables.extend(found.tables.iter().map(|(name, (_, table))| (name.clone(), table.clone())));
        }
        let is_loaded = |section: Section| match only {
            Only::Everything => true,
            Only::Filter => section != Section::Translation,
            Only::Translation => section == Section::Translation,
        };
        let ruleset: &mut Ruleset = self.rulesets.entry(anchor.to_owned()).or_default();
        ruleset.0.retain(|rule| !is_loaded(rule.section));
        ruleset.0.extend(found.rules.iter().filter(|rule| is_loaded(rule.section)).cloned());
        ruleset.0.sort_by_key(|rule| rule.section);
        Ok(())
    }
}

impl Read {
    fn of(source: &Source<'_>) -> Result<Read, Mistakes> {
        let say = |mistakes: Vec<Mistake>| -> Mistakes {
            mistakes.iter().map(|mistake| said(source, mistake.line, &mistake.message)).collect()
        };
        let (mut found, mut mistakes) = (Read::default(), Vec::new());
        let mut latest = Section::Scrub;
        for statement in statements(source.text).map_err(say)? {
            let line = statement.line;
            match entry(&statement.words) {
                Err(NoSense) => mistakes.push(said(source, line, "syntax error")),
                Ok(Entry::Set) => {}
                Ok(Entry::Load { anchor, file }) => found.loads.push((line, anchor, file)),
                Ok(Entry::Table { name, persist, constant, addresses }) => {
                    found.tables.insert(name, (line, Table { persist, constant, addresses }));
                }
                Ok(Entry::Rules(rules)) => {
                    let section = rules.first().map_or(latest, |rule| rule.section);
                    if section < latest {
                        let order = "Rules must be in order: options, normalization, queueing, translation, filtering";
                        mistakes.push(said(source, line, order));
                    }
                    latest = latest.max(section);
                    found.rules.extend(rules);
                }
            }
        }
        if mistakes.is_empty() { Ok(found) } else { Err(mistakes) }
    }
}

/// The path of an anchor that another one names.
pub(super) fn join(anchor: &str, below: &str) -> String {
    match (anchor, below.strip_prefix('/')) {
        ("", None) => below.to_owned(),
        (_, Some(whole)) => whole.to_owned(),
        (anchor, None) => format!("{anchor}/{below}"),
    }
}

fn said(source: &Source<'_>, line: usize, text: &str) -> String {
    format!("{}:{line}: {text}", source.name)
}

fn unread(source: &Source<'_>, line: usize, file: &str) -> Mistakes {
    vec![format!("pfctl: {file}: No such file or directory"), said(source, line, "error loading anchor")]
}

#[cfg(test)]
mod tests {
    use super::super::Part;
    use super::*;

    const ANCHOR: &str = "table <vms> { 192.168.64.0/22 }\n\nblock drop out quick from <vms> to 10.0.0.0/8\n";

    fn source(text: &str) -> Source<'_> {
        Source { name: "f", text }
    }

    fn load(pf: &mut Pf, anchor: &str, text: &str) -> Result<(), Mistakes> {
        pf.load(anchor, &source(text), Only::Everything, &|_| Some(ANCHOR.to_owned()))
    }

    #[test]
    fn a_file_that_is_wrong_changes_nothing() {
        let mut pf = Pf::at_boot();
        let before = pf.show("", Part::Rules);
        for (text, wrong) in [
            ("anchor \"x\"\nnat on en0 from any to any -> (en0)\n", "f:2: Rules must be in order: "),
            ("pass all\nnonsense\n", "f:2: syntax error"),
            ("pass from $vms\n", "f:1: macro 'vms' not defined"),
        ] {
            let mistakes = load(&mut pf, "", text).unwrap_err();
            assert!(mistakes[0].starts_with(wrong), "{mistakes:?}");
            assert!(Pf::check(&source(text), &|_| None).is_err());
        }
        assert_eq!(pf.show("", Part::Rules), before);
    }

    #[test]
    fn only_what_is_asked_for_is_replaced() {
        let mut pf = Pf::at_boot();
        let (nat, rules) = (pf.show("", Part::Nat), pf.show("", Part::Rules));
        pf.load("", &source("pass all\n"), Only::Filter, &|_| None).unwrap();
        assert_eq!(pf.show("", Part::Nat), nat);
        assert_ne!(pf.show("", Part::Rules), rules);
        pf.load("", &source("nat on en0 from any to any -> (en0)\n"), Only::Translation, &|_| None).unwrap();
        assert_eq!(pf.show("", Part::Nat).unwrap().len(), 1);
        assert_eq!(pf.show("", Part::Rules).unwrap(), ["pass all flags S/SA keep state"]);
    }

    #[test]
    fn tables_are_busy_as_the_kernel_has_it() {
        let busy = Err(vec!["f:1: cannot define table vms: Resource busy".to_owned()]);
        let main = "anchor \"x\"\nload anchor \"x\" from \"f\"\n";
        let mut pf = Pf::at_boot();
        // Again and again at the anchor; in the main file only while the anchor has none.
        assert_eq!(load(&mut pf, "", main), Ok(()));
        assert_eq!(load(&mut pf, "x", ANCHOR), Ok(()));
        assert_eq!(load(&mut pf, "", main), busy);
        assert_eq!(load(&mut pf, "x", ""), Ok(()));
        assert!(pf.table("x", "vms").is_none());
        assert_eq!(load(&mut pf, "", main), Ok(()));
        // Twice in one file.
        assert_eq!(load(&mut pf, "x", ""), Ok(()));
        assert_eq!(load(&mut pf, "", &main.repeat(2)), busy);
        // One that persists, at either scope; a flush does not help.
        for scope in ["x", ""] {
            assert!(pf.make_table(scope, "vms"));
            assert_eq!(load(&mut pf, "x", ANCHOR), busy);
            assert_eq!(pf.flush_tables(scope), 0);
            assert_eq!(load(&mut pf, "x", ANCHOR), busy);
            assert!(pf.kill_table(scope, "vms") && !pf.kill_table(scope, "vms"));
            assert_eq!(load(&mut pf, "x", ANCHOR), Ok(()));
        }
        // What is said to persist may be said again.
        let persist =
            ANCHOR.replace("<vms>", "<vms> persist").replacen("from <vms> persist", "from <vms>", 1);
        assert_eq!(load(&mut pf, "x", &persist), Ok(()));
        assert_eq!(load(&mut pf, "x", &persist), Ok(()));
        assert_eq!(load(&mut pf, "x", ANCHOR), busy);
    }
}

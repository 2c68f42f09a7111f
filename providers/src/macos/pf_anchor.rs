//! `macos_pf_anchor`: rules of the packet filter, in an anchor of their own.

use std::collections::BTreeMap;

use fleet_derive::Schema;
use fleet_engine::attributes::Misfit;
use fleet_engine::finding::{Finding, Known, table};
use fleet_engine::host::edit::{Pattern, blocks, lines, literally, outside};
use fleet_engine::host::{Act, Content, Edit, HostKind, Probe, Reply, Revert, Step};
use fleet_engine::resource::{At, Change, Edge, Error, Resource};

use super::pf_parts::{Anchor, DETECTS, Seen, arm, check_name, findings, normal_nets, only_wish};
use crate::cure;
use crate::host::common::{is_another, named, shared};

/// Rules of the packet filter, in an anchor of their own.
///
/// What counts is what the kernel has in force: rules, tables, and whether the main ruleset calls the anchor at all. The
/// anchor is loaded alone, never the whole of `/etc/pf.conf`: on a Mac that is in use that fails, or takes away what macOS
/// itself put into the main ruleset, such as the network of VMs. If the main ruleset does not call the anchor, it is made
/// to, beside all that is there. Tables of the same names that persist, in the anchor or in the main ruleset, would keep
/// these from being defined, and are killed.
///
/// `/etc/pf.conf` calls the anchor in one block between `# BEGIN NAME` and `# END NAME`. Other calls of it go, with or
/// without markers: two of them make the kernel refuse the whole file. Everything else there survives byte for byte.
///
/// A daemon of launchd, `dev.fleet.pf.NAME`, brings the rules into force at every start, and every minute if something
/// took them away. The filter is on as long as somebody wants it to be: the resource holds a token for that, and gives
/// back this one alone when it is removed.
///
/// An anchor whose name starts with `com.apple/` is called by Apple's own ruleset, and has no block.
///
/// ```hcl
/// pool "static" "desk" {
///   host "mini-a" { address = "10.0.0.11" }
/// }
///
/// fleet "desk" {
///   pool     = pool.desk
///   hosts    = ["mini-a"]
///   hostname = host.key
///   connection "ssh" {}
///
///   resource "macos_pf_anchor" "egress" {
///     name = "ci.runners"
///     tables = {
///       vm_sources  = ["192.168.64.0/22"]
///       blocked_dst = ["10.0.0.0/8", "172.16.0.0/12", "169.254.0.0/16"]
///     }
///     rules = [
///       "block drop out quick from <vm_sources> to <blocked_dst>",
///     ]
///   }
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Schema)]
pub(super) struct PfAnchor {
    /// The name of the anchor.
    #[fleet(replace)]
    name: String,
    /// The tables and the addresses and networks in each. A table of which only the name is known is observed as empty.
    #[fleet(default = BTreeMap::new())]
    tables: BTreeMap<String, Vec<String>>,
    /// The rules, in the order in which they are looked at: each starts with `pass` or `block`. The `<tables>` in them must
    /// be declared. Where others are in force, those are observed as the kernel prints them.
    rules: Vec<String>,
    /// Regular expressions for whole lines of `/etc/pf.conf` that the block takes the place of, such as comments of an
    /// older form. Of these, those are observed that no line matches.
    #[fleet(default = Vec::new())]
    supersedes: Vec<String>,
    /// How `/etc/pf.conf` calls it: `canonical` if in one block of the form that is meant, and below `com.apple/` not at all.
    /// It is there to be observed.
    #[fleet(default = CANONICAL)]
    conf: String,
    /// Whether the filter is on by a token of ours. It is there to be observed.
    #[fleet(default = true)]
    enabled: bool,
    /// Whether the main ruleset in force calls the anchor, so that its rules count. It is there to be observed.
    #[fleet(default = true)]
    evaluated: bool,
    /// Whether the next start of the Mac brings exactly this back. It is there to be observed.
    #[fleet(default = true)]
    at_boot: bool,
    /// Tables that keep those of the anchor from being defined. It is there to be observed.
    #[fleet(default = Vec::new())]
    stray_tables: Vec<String>,
}

/// The file in which macOS keeps the main ruleset.
const CONF: &str = "/etc/pf.conf";
const CANONICAL: &str = "canonical";
const ONE_BLOCK: &str = "1 block";
const NO_BLOCK: &str = "no block";
/// The place of the answer about it.
const CONF_AT: usize = 0;

impl Resource for PfAnchor {
    const NAME: &'static str = "macos_pf_anchor";
    const DETECTS: &'static [&'static Known] =
        &[&table::BUSY_PF_TABLES, &table::DUPLICATED_PF_BLOCK, DETECTS[0], DETECTS[1], DETECTS[2]];

    fn normalize(&mut self) -> Result<(), Misfit> {
        check_name("name", self.name.strip_prefix(super::pf_parts::APPLES).unwrap_or(&self.name), 60)?;
        for (name, nets) in &mut self.tables {
            check_name("tables", name, 31)?;
            normal_nets("tables", nets)?;
        }
        for rule in &mut self.rules {
            *rule = rule.split_whitespace().collect::<Vec<_>>().join(" ");
        }
        self.check_rules()?;
        if let Err(misfit) = Pattern::all(&self.supersedes) {
            return Err(Misfit { attribute: "supersedes".into(), ..misfit });
        }
        only_wish(&[("enabled", self.enabled), ("evaluated", self.evaluated), ("at_boot", self.at_boot)])?;
        if !self.stray_tables.is_empty() {
            return Err(Misfit::new("stray_tables", "it is there to be observed; leave it out"));
        }
        if self.conf != CANONICAL {
            let message = format!("it is there to be observed, and can only be `{CANONICAL}`; leave it out");
            return Err(Misfit::new("conf", message));
        }
        Ok(())
    }

    fn findings(&self) -> Vec<Finding> {
        let mut found = findings(&self.name, !self.rules.is_empty(), self.evaluated, self.enabled);
        if !self.stray_tables.is_empty() {
            found.push(table::BUSY_PF_TABLES.seen_by(self.stray_tables.join(", ")));
        }
        // One block in another form is no more than an older release.
        if self.conf.contains("blocks") || self.conf.contains("without markers") {
            found.push(table::DUPLICATED_PF_BLOCK.seen_by(format!("{CONF} has {}", self.conf)));
        }
        found
    }

    fn edges() -> &'static [Edge] {
        // No VM may start before it is filtered.
        &[Edge::After("macos_sudoers"), Edge::Before("macos_launchd_service")]
    }
}

impl HostKind for PfAnchor {
    fn probe(at: &At<PfAnchor>) -> Result<Probe, Error> {
        let asked = named(at)?;
        let anchor = asked.anchor().ask(asked.tables.keys())?;
        let conf = Probe::new().content(CONF, Content::Whole);
        Ok(anchor.reads().iter().cloned().fold(conf, Probe::and).as_root())
    }

    fn parse(at: &At<PfAnchor>, reply: &Reply) -> Result<Option<PfAnchor>, Error> {
        let asked = named(at)?;
        if is_another(at, |a, b| a.name == b.name) {
            return Ok(None);
        }
        let conf = shared(CONF, reply.path(CONF_AT)?)?;
        let rest = Reply(reply.0[CONF_AT + 1..].to_vec());
        let seen = asked.anchor().see(&rest, asked.tables.keys())?;
        let (conf, supersedes) = asked.read_conf(conf)?;
        let is_called = !asked.anchor().is_apples() && seen.called.0;
        if seen.is_nothing() && conf == NO_BLOCK && !is_called {
            return Ok(None);
        }
        let Seen { tables, strays, enabled, called, .. } = seen.clone();
        Ok(Some(PfAnchor {
            name: asked.name.clone(),
            tables,
            rules: seen.loaded.as_deref().map_or_else(|| seen.rules.clone(), rules_of),
            supersedes,
            conf: if conf == asked.meant_conf() { CANONICAL.to_owned() } else { conf },
            enabled,
            evaluated: called.0,
            at_boot: seen.comes_back(arm()),
            stray_tables: strays,
        }))
    }

    fn steps(self, change: Change<PfAnchor>) -> Result<Vec<Step>, Error> {
        let anchor = self.anchor();
        let (is_kept, has_conf) = match &change {
            Change::Create => (false, false),
            Change::Update { from } => {
                // Any block at all was enough, once.
                let has_block = !cure::is_there("one-block") && from.conf.contains("block");
                let is_same = from.conf == self.conf && from.supersedes == self.supersedes;
                (from.at_boot, is_same || has_block)
            }
        };
        let mut steps = vec![anchor.write_file(&self.file())];
        if !has_conf {
            // First all forms go, then one comes back: at the end, where the order of rules has its place.
            steps.push(self.edit_conf(None));
            if !anchor.is_apples() {
                steps.push(self.edit_conf(Some(self.block())));
            }
        }
        steps.extend(anchor.arm(arm(), is_kept, self.tables.keys()));
        Ok(steps)
    }

    fn remove(observed: PfAnchor) -> Result<Vec<Step>, Error> {
        let mut steps = observed.anchor().disarm(observed.tables.keys());
        steps.push(observed.edit_conf(None));
        Ok(steps)
    }

    fn cuts_access(&self, _: bool) -> Option<Revert> {
        let mut revert = self.anchor().revert(self.tables.keys());
        revert.paths.push(CONF.to_owned());
        Some(revert)
    }
}

impl PfAnchor {
    fn anchor(&self) -> Anchor<'_> {
        Anchor(&self.name)
    }

    /// What is read of a file that is as it should be.
    fn meant_conf(&self) -> &'static str {
        if self.anchor().is_apples() { NO_BLOCK } else { ONE_BLOCK }
    }

    /// What a rule says that the kernel would take and nobody means.
    fn check_rules(&self) -> Result<(), Misfit> {
        let refuse = |message: String| Err(Misfit::new("rules", message));
        if self.rules.is_empty() {
            return refuse("an anchor without rules does nothing; remove the resource instead".into());
        }
        for rule in &self.rules {
            let first = rule.split(' ').next().unwrap_or_default();
            if !matches!(first, "pass" | "block") {
                return refuse(format!(
                    "`{rule}` starts with neither `pass` nor `block`; for translations there is `macos_vm_nat`"
                ));
            }
            if rule.contains(['#', '\\', '$']) {
                return refuse(format!(
                    "`{rule}`: comments, macros and `\\` are not taken; a rule is one line"
                ));
            }
            if let Some(table) = tables_in(rule).find(|table| !self.tables.contains_key(*table)) {
                let known: Vec<String> = self.tables.keys().map(|name| format!("`{name}`")).collect();
                let known = if known.is_empty() { "none is".into() } else { known.join(", ") };
                return refuse(format!(
                    "`{rule}` uses the table <{table}>, which is not declared: it would be empty and never match. Add it to \
                     `tables`; declared: {known}"
                ));
            }
        }
        let is_used =
            |name: &&String| !self.rules.iter().any(|rule| tables_in(rule).any(|used| used == name.as_str()));
        if let Some(unused) = self.tables.keys().find(is_used) {
            let message =
                format!("no rule uses the table <{unused}>, so that the kernel would not keep it; remove it");
            return Err(Misfit::new("tables", message));
        }
        Ok(())
    }

    /// What is loaded.
    fn file(&self) -> String {
        let mut text =
            format!("# The anchor {}, written by fleet: what is changed here is overwritten.\n", self.name);
        for (name, nets) in &self.tables {
            text += &format!("table <{name}> {{ {} }}\n", nets.join(" "));
        }
        for rule in &self.rules {
            text += &format!("{rule}\n");
        }
        text
    }

    fn markers(&self) -> (String, String) {
        (format!("# BEGIN {}", self.name), format!("# END {}", self.name))
    }

    fn call(&self) -> [String; 2] {
        let (name, file) = (&self.name, self.anchor().file());
        [format!("anchor \"{name}\""), format!("load anchor \"{name}\" from \"{file}\"")]
    }

    /// The one form in which `/etc/pf.conf` calls it.
    fn block(&self) -> String {
        let [call, load] = self.call();
        format!("# Managed by fleet: rules in {}.\n{call}\n{load}\n", self.anchor().file())
    }

    /// Strips every form of it from `/etc/pf.conf`, or puts the one in that is meant.
    fn edit_conf(&self, text: Option<String>) -> Step {
        let (begin, end) = self.markers();
        let calls = self.call();
        let calls = calls.iter().filter(|_| cure::is_there("strip-unmarked"));
        let supersedes = calls.map(|line| literally(line)).chain(self.supersedes.iter().cloned());
        let edit = Edit::Block { begin, end, text, supersedes: supersedes.collect() };
        Step::new(Act::Edit { path: CONF.into(), edit }).as_root()
    }

    /// What a `/etc/pf.conf` says of it, and what of `supersedes` no line matches.
    fn read_conf(&self, conf: &[u8]) -> Result<(String, Vec<String>), Error> {
        let (begin, end) = self.markers();
        let unclear = |misfit: Misfit| {
            let error = Error::permanent(format!("`{CONF}` cannot be understood: {misfit}"));
            error.help(format!("put the line `{end}` where the block ends, or remove the line `{begin}`"))
        };
        let found = blocks(conf, &begin, &end).map_err(unclear)?;
        let rest = outside(conf, &begin, &end).map_err(unclear)?;
        let call = self.call();
        let bare = rest.iter().filter(|line| call.iter().any(|call| call.as_bytes() == **line)).count();
        let mut parts = vec![match found[..] {
            [] => NO_BLOCK.to_owned(),
            [one] if one == self.block().as_bytes() => ONE_BLOCK.to_owned(),
            [_] => "1 block of another form".to_owned(),
            _ => format!("{} blocks", found.len()),
        }];
        if bare > 0 {
            parts.push(format!("{bare} line{} without markers", if bare == 1 { "" } else { "s" }));
        }
        if comes_too_early(conf, &begin) {
            parts.push("before rules that must come first".to_owned());
        }
        let mut supersedes = Vec::new();
        for text in &self.supersedes {
            let pattern = Pattern::new(text)?;
            if !rest.iter().any(|line| pattern.is_match(line)) {
                supersedes.push(text.clone());
            }
        }
        Ok((parts.join(", "), supersedes))
    }
}

/// Whether rules follow a block that the kernel takes only before those that filter.
fn comes_too_early(conf: &[u8], begin: &str) -> bool {
    let after = lines(conf).skip_while(|line| *line != begin.as_bytes());
    let mut first_words = after.filter_map(|line| line.split(u8::is_ascii_whitespace).next());
    first_words.any(|word| {
        [&b"scrub"[..], b"scrub-anchor", b"nat", b"nat-anchor", b"rdr", b"rdr-anchor", b"dummynet-anchor"]
            .contains(&word)
    })
}

/// The rules in a file of ours.
fn rules_of(file: &str) -> Vec<String> {
    let is_rule = |line: &&str| !line.is_empty() && !line.starts_with('#') && !line.starts_with("table ");
    file.lines().filter(is_rule).map(str::to_owned).collect()
}

/// The names of tables in a rule.
fn tables_in(rule: &str) -> impl Iterator<Item = &str> {
    rule.split('<').skip(1).filter_map(|rest| Some(rest.split_once('>')?.0.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> PfAnchor {
        let mut anchor = PfAnchor {
            name: "tuist.runners".into(),
            tables: [
                ("vm_sources".into(), vec!["192.168.64.0/22".into()]),
                ("blocked_dst".into(), vec!["172.16.0.0/12".into(), "10.0.0.0/8".into()]),
            ]
            .into(),
            rules: vec!["block drop out  quick from <vm_sources> to <blocked_dst>".into()],
            supersedes: vec!["# Tuist runner VM egress filter.*".into()],
            conf: CANONICAL.into(),
            enabled: true,
            evaluated: true,
            at_boot: true,
            stray_tables: Vec::new(),
        };
        anchor.normalize().unwrap();
        anchor
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        let check = |change: fn(&mut PfAnchor), attribute: &str, says: &str| {
            let mut anchor = sample();
            change(&mut anchor);
            let misfit = anchor.normalize().unwrap_err();
            assert_eq!(misfit.attribute, attribute, "{misfit}");
            assert!(misfit.message.contains(says), "{misfit}");
        };
        check(|a| a.name = "a b".into(), "name", "letters");
        check(|a| a.rules = Vec::new(), "rules", "without rules");
        check(|a| a.rules.push("nat on en0 from any to any -> (en0)".into()), "rules", "`macos_vm_nat`");
        check(
            |a| a.rules.push("pass in from <nobody> to any".into()),
            "rules",
            "<nobody>, which is not declared",
        );
        check(|a| a.rules.push("pass all # really".into()), "rules", "one line");
        check(|a| drop(a.tables.insert("x".into(), Vec::new())), "tables", "no rule uses the table <x>");
        check(|a| drop(a.tables.insert("x y".into(), Vec::new())), "tables", "letters");
        check(
            |a| a.tables.get_mut("vm_sources").unwrap().push("10.1.2.3/8".into()),
            "tables",
            "\"10.0.0.0/8\"",
        );
        check(|a| a.supersedes.push("(".into()), "supersedes", "(");
        check(|a| a.evaluated = false, "evaluated", "observed");
        check(|a| a.stray_tables.push("x".into()), "stray_tables", "observed");
        check(|a| a.conf = "2 blocks".into(), "conf", "`canonical`");
    }

    #[test]
    fn equal_meanings_are_equal() {
        let anchor = sample();
        assert_eq!(anchor.rules, ["block drop out quick from <vm_sources> to <blocked_dst>"]);
        assert_eq!(anchor.tables["blocked_dst"], ["10.0.0.0/8", "172.16.0.0/12"]);
        let mut again = anchor.clone();
        again.normalize().unwrap();
        assert_eq!(again, anchor);
        assert_eq!(rules_of(&anchor.file()), anchor.rules);
        let mut below = PfAnchor { name: "com.apple/ci.x".into(), ..anchor.clone() };
        below.normalize().unwrap();
        assert_eq!((anchor.meant_conf(), below.meant_conf()), (ONE_BLOCK, NO_BLOCK));
    }

    /// What Apple delivers, comments and all.
    const STOCK: &str = "#\n# Default PF configuration file.\n#\n\nscrub-anchor \"com.apple/*\"\nnat-anchor \"com.apple/*\"\n\
        rdr-anchor \"com.apple/*\"\ndummynet-anchor \"com.apple/*\"\nanchor \"com.apple/*\"\n\
        load anchor \"com.apple\" from \"/etc/pf.anchors/com.apple\"\n";
    const BARE: &str =
        "anchor \"tuist.runners\"\nload anchor \"tuist.runners\" from \"/etc/pf.anchors/tuist.runners\"\n";

    /// A file after all that a step of this resource does to it.
    fn edited(anchor: &PfAnchor, before: &str, change: Change<PfAnchor>) -> String {
        let mut file = before.as_bytes().to_vec();
        for step in anchor.clone().steps(change).unwrap() {
            if let Act::Edit { edit, path } = step.act {
                assert_eq!((path.as_str(), step.root), (CONF, true));
                file = edit.apply(&file).unwrap();
            }
        }
        String::from_utf8(file).unwrap()
    }

    #[test]
    fn every_historical_form_becomes_the_one_that_is_meant() {
        let anchor = sample();
        let canonical = format!("{STOCK}# BEGIN tuist.runners\n{}# END tuist.runners\n", anchor.block());
        let marked = format!("# BEGIN tuist.runners\n# old\n{BARE}# END tuist.runners\n");
        let comment = "# Tuist runner VM egress filter (see the wiki)\n";
        for (before, seen) in [
            (STOCK.to_owned(), "no block"),
            (format!("{STOCK}{marked}"), "1 block of another form"),
            (format!("{STOCK}{marked}{marked}"), "2 blocks"),
            (format!("{STOCK}{BARE}"), "no block, 2 lines without markers"),
            (format!("{STOCK}{comment}{BARE}{marked}"), "1 block of another form, 2 lines without markers"),
            (format!("{marked}{STOCK}"), "1 block of another form, before rules that must come first"),
            (canonical.clone(), "1 block"),
        ] {
            let (conf, supersedes) = anchor.read_conf(before.as_bytes()).unwrap();
            assert_eq!(conf, seen);
            assert_eq!(supersedes.is_empty(), before.contains(comment));
            let conf = if conf == ONE_BLOCK { CANONICAL.to_owned() } else { conf };
            let from = PfAnchor { conf, supersedes, ..anchor.clone() };
            assert_eq!(edited(&anchor, &before, Change::Update { from }), canonical, "{before}");
            assert_eq!(edited(&anchor, &before, Change::Create), canonical, "{before}");
            let mut file = before.into_bytes();
            for step in PfAnchor::remove(anchor.clone()).unwrap() {
                if let Act::Edit { edit, .. } = step.act {
                    file = edit.apply(&file).unwrap();
                }
            }
            assert_eq!(String::from_utf8(file).unwrap(), STOCK);
        }
        let open = anchor.read_conf(b"# BEGIN tuist.runners\n").unwrap_err();
        assert!(open.help.is_some_and(|help| help.contains("# END tuist.runners")));
    }

    #[test]
    fn a_daemon_that_is_right_is_left_alone() {
        let anchor = sample();
        let count = |change| anchor.clone().steps(change).unwrap().len();
        assert_eq!(count(Change::Create), 6);
        assert_eq!(count(Change::Update { from: anchor.clone() }), 2);
        assert_eq!(count(Change::Update { from: PfAnchor { at_boot: false, ..anchor.clone() } }), 4);
    }
}

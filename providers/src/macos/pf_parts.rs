//! What the kinds of the packet filter have in common: an anchor in force, and the daemon that keeps it there.
//!
//! Everything of an anchor lies in `/etc/pf.anchors`: its rules, the script that brings them into force, and a record of
//! what the kernel made of them right after they were loaded. The kernel prints rules otherwise than they were written:
//! lists become several rules, what was left out is said. So what is in force is not compared with the rules themselves
//! but with that record, which also holds the very file that it was made from.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use fleet_engine::attributes::Misfit;
use fleet_engine::finding::{Finding, Known, table};
use fleet_engine::host::probe::Found;
use fleet_engine::host::step::{self, Keep};
use fleet_engine::host::{Act, Bytes, Content, Operand, Output, Probe, Reply, Revert, Step, Tool};
use fleet_engine::resource::Error;

use super::job::Job;
use super::service_state::comes_back;
use crate::cure;
use crate::host::common::{regular, sha256, shared};

const ARM: &str = include_str!("pf_arm.sh");
pub(super) const APPLY: &str = include_str!("pf_apply.sh");
pub(super) const REMOVE: &str = include_str!("pf_remove.sh");
/// Keeps what is in force.
const KEEP: &str = concat!(include_str!("pf_in_force.sh"), include_str!("pf_keep.sh"));
/// Brings it back.
const UNDO: &str = concat!(include_str!("pf_in_force.sh"), include_str!("pf_undo.sh"));
/// How many seconds launchd gets to let go of a daemon.
pub(super) const PATIENCE: u32 = 30;
/// Where Apple's own ruleset calls everything.
pub(super) const APPLES: &str = "com.apple/";
/// What divides a record: before it the file, after it what is in force.
const IN_FORCE: &str = "# in force\n";
/// What divides that: the rules, and the tables.
const TABLES: &str = "# tables\n";

/// What brings an anchor into force: on the host, as a program of its own.
pub(super) fn arm() -> &'static str {
    cure::procedure(ARM)
}

/// An anchor, by its path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Anchor<'a>(pub(super) &'a str);

/// What there is of an anchor on a host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    /// Its file.
    pub(super) file: Option<String>,
    /// The file that was loaded last.
    recorded: Option<String>,
    /// The same, if the kernel still has exactly what it made of it.
    pub(super) loaded: Option<String>,
    /// The rules and translations that are in force, as the kernel prints them.
    pub(super) rules: Vec<String>,
    /// The tables that are in force.
    pub(super) tables: BTreeMap<String, Vec<String>>,
    /// The tables of these names that keep others from being defined.
    pub(super) strays: Vec<String>,
    /// Whether the filter is on by a token of ours.
    pub(super) enabled: bool,
    /// Whether the main ruleset calls it for rules, and for translations.
    pub(super) called: (bool, bool),
    /// The script of the daemon.
    pub(super) script: Option<String>,
    /// Whether the property list of the daemon is the one that is meant, and root's, as is its script.
    is_well_kept: bool,
    /// Whether launchd has loaded the daemon as it is meant, and loads it at the next start.
    is_loaded: bool,
    /// Whether anything of the daemon is there.
    has_daemon: bool,
}

impl<'a> Anchor<'a> {
    /// Its last part.
    fn name(self) -> &'a str {
        self.0.rsplit('/').next().unwrap_or(self.0)
    }

    pub(super) fn file(self) -> String {
        format!("/etc/pf.anchors/{}", self.name())
    }

    fn script(self) -> String {
        format!("{}.sh", self.file())
    }

    fn record(self) -> String {
        format!("{}.loaded", self.file())
    }

    fn token(self) -> String {
        format!("/var/run/fleet.pf.{}.token", self.name())
    }

    pub(super) fn label(self) -> String {
        format!("dev.fleet.pf.{}", self.name())
    }

    fn plist_path(self) -> String {
        format!("/Library/LaunchDaemons/{}.plist", self.label())
    }

    /// Whether Apple's ruleset calls it, as all that lies below its own anchor.
    pub(super) fn is_apples(self) -> bool {
        self.0.starts_with(APPLES)
    }

    /// The daemon: at every start, and every minute. Names have no character that would have to be escaped.
    fn plist(self) -> String {
        let (label, script, path) = (self.label(), self.script(), self.0);
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
             <!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n\
             <plist version=\"1.0\">\n<dict>\n\
             \t<key>Label</key>\n\t<string>{label}</string>\n\
             \t<key>ProgramArguments</key>\n\t<array>\n\
             \t\t<string>/bin/sh</string>\n\t\t<string>{script}</string>\n\t\t<string>{path}</string>\n\t</array>\n\
             \t<key>RunAtLoad</key>\n\t<true/>\n\
             \t<key>StartInterval</key>\n\t<integer>60</integer>\n\
             \t<key>StandardErrorPath</key>\n\t<string>/var/log/{label}.log</string>\n\
             </dict>\n</plist>\n"
        )
    }

    /// What to ask about it, with the tables that are looked into. Root alone may ask the filter.
    pub(super) fn ask<'t>(self, tables: impl Iterator<Item = &'t String>) -> Result<Probe, Error> {
        let anchor = || Operand::new(self.0);
        let mut probe = Probe::new()
            .content(self.file(), Content::Whole)
            .content(self.record(), Content::Whole)
            .content(self.script(), Content::Whole)
            .content(self.plist_path(), Content::Digest)
            .content(self.token(), Content::Whole)
            .tool(Tool::Launchctl, [Operand::new(format!("system/{}", self.label()))?])
            .tool(Tool::PfInfo, [])
            .tool(Tool::PfReferences, [])
            .tool(Tool::PfRules, [])
            .tool(Tool::PfNat, [])
            .tool(Tool::PfTables, [])
            .tool(Tool::PfAnchorRules, [anchor()?])
            .tool(Tool::PfAnchorNat, [anchor()?])
            .tool(Tool::PfAnchorTables, [anchor()?])
            .tool(Tool::LaunchctlDisabled, [Operand::new("system")?]);
        for table in tables {
            probe = probe.tool(Tool::PfAnchorTable, [anchor()?, Operand::new(table)?]);
        }
        Ok(probe.as_root())
    }

    /// What the answers mean.
    pub(super) fn see<'t>(
        self,
        reply: &Reply,
        tables: impl Iterator<Item = &'t String>,
    ) -> Result<Seen, Error> {
        let file = text(&self.file(), reply, 0)?;
        let record = text(&self.record(), reply, 1)?.unwrap_or_default();
        let script = text(&self.script(), reply, 2)?;
        let plist = reply.path(3)?;
        let digest = plist.map(|found| regular(&self.plist_path(), found)).transpose()?;
        let digest = digest.and_then(|file| file.digest.clone());
        let token = text(&self.token(), reply, 4)?.unwrap_or_default();
        let printed = reply.output(5)?;
        let meant = self.plist();
        let meant_job = Job::read(meant.as_bytes()).map_err(Error::permanent)?;
        let references = said(reply, 7)?;
        let has_token = references.split_whitespace().any(|word| word == token.trim());
        let main = said(reply, 8)?;
        let call = if self.is_apples() { "com.apple/*" } else { self.0 };
        let has = |lines: &str, call: String| lines.lines().any(|line| line == call);
        let rules = said(reply, 11)? + &said(reply, 12)?;
        let named = named(&said(reply, 13)?);
        let above = named_in(&said(reply, 10)?);
        let mut seen = Seen {
            recorded: record.split_once(IN_FORCE).map(|(file, _)| file.to_owned()),
            loaded: loaded(&record, &rules),
            rules: rules.lines().map(str::to_owned).collect(),
            enabled: said(reply, 6)?.starts_with("Status: Enabled") && has_token,
            called: (
                has(&main, format!("anchor \"{call}\" all")),
                has(&said(reply, 9)?, format!("nat-anchor \"{call}\" all")),
            ),
            is_well_kept: digest == Some(sha256(meant.as_bytes()))
                && is_kept(plist)
                && is_kept(reply.path(2)?),
            has_daemon: printed.status == 0 || script.is_some() || plist.is_some(),
            is_loaded: comes_back(&meant_job, printed, reply.output(14)?),
            script,
            tables: named.keys().map(|name| (name.clone(), Vec::new())).collect(),
            strays: Vec::new(),
            file,
        };
        for (at, table) in tables.enumerate() {
            let shown = reply.output(15 + at)?;
            if let (0, Some(found)) = (shown.status, seen.tables.get_mut(table)) {
                *found = String::from_utf8_lossy(&shown.stdout)
                    .lines()
                    .map(|line| line.trim().to_owned())
                    .collect();
                found.sort();
            }
            if named.get(table).is_some_and(|persists| *persists) {
                seen.strays.push(format!("{table} persists in {}", self.0));
            }
            if above.contains(table) {
                seen.strays.push(format!("{table} in the main ruleset"));
            }
        }
        Ok(seen)
    }

    /// Writes the file, unless it cannot be understood.
    pub(super) fn write_file(self, content: &str) -> Step {
        let check = format!("pfctl -a {} -n -f {{}}", self.0);
        write(self.file(), content, Some(check))
    }

    /// Brings what was written into force, and lets a daemon keep it there that runs this script; `tables` are those that
    /// the file defines.
    pub(super) fn arm<'t>(
        self,
        script: &str,
        is_kept: bool,
        tables: impl Iterator<Item = &'t String>,
    ) -> Vec<Step> {
        let mut steps = Vec::new();
        if !is_kept {
            steps.push(write(self.script(), script, None));
            steps.push(write(self.plist_path(), &self.plist(), None));
        }
        let anew = if is_kept { "" } else { "anew" };
        let words = [self.0, &self.label(), anew, &PATIENCE.to_string()].map(str::to_owned);
        steps.push(procedure(APPLY, words.into_iter().chain(tables.cloned())));
        steps
    }

    /// How a host undoes a change of it by itself: a filter decides who gets in.
    pub(super) fn revert<'t>(self, tables: impl Iterator<Item = &'t String>) -> Revert {
        let words = [self.0, &self.label(), &PATIENCE.to_string()].map(str::to_owned);
        Revert {
            keep: KEEP,
            undo: UNDO,
            arguments: words.into_iter().chain(tables.cloned()).collect(),
            takes: Duration::from_secs(PATIENCE.into()),
            ..Revert::of([self.file(), self.record(), self.script(), self.plist_path()])
        }
    }

    /// Takes all of it away.
    pub(super) fn disarm<'t>(self, tables: impl Iterator<Item = &'t String>) -> Vec<Step> {
        let words = [self.0, &self.label(), &PATIENCE.to_string()].map(str::to_owned);
        let mut steps = vec![procedure(REMOVE, words.into_iter().chain(tables.cloned()))];
        let files = [self.plist_path(), self.script(), self.file()];
        steps.extend(files.map(|path| Step::new(Act::Remove { path }).as_root()));
        steps
    }
}

impl Seen {
    /// Whether nothing of it is there.
    pub(super) fn is_nothing(&self) -> bool {
        self.file.is_none() && self.rules.is_empty() && !self.has_daemon
    }

    /// Whether the next start brings back what was loaded last, by a daemon with this script.
    pub(super) fn comes_back(&self, script: &str) -> bool {
        let is_kept = self.is_well_kept && self.is_loaded && self.script.as_deref() == Some(script);
        is_kept && self.file.is_some() && self.file == self.recorded
    }
}

/// Bad states that all that have an anchor can be in.
pub(super) const DETECTS: [&Known; 3] =
    [&table::PF_ANCHOR_NOT_CALLED, &table::PF_ANCHOR_FLUSHED, &table::PF_OFF];

/// Those that an anchor is in, by whether its rules are in force, the main ruleset calls it, and the filter is on.
pub(super) fn findings(anchor: &str, in_force: bool, evaluated: bool, enabled: bool) -> Vec<Finding> {
    let mut found = Vec::new();
    if !in_force {
        let evidence = format!("`pfctl -a {anchor} -s rules` and `-s nat` do not show what was loaded last");
        found.push(table::PF_ANCHOR_FLUSHED.seen_by(evidence));
    }
    if !evaluated {
        let evidence = format!("the main ruleset in force has no call of {anchor}");
        found.push(table::PF_ANCHOR_NOT_CALLED.seen_by(evidence));
    }
    if !enabled {
        let evidence = "the packet filter is off, or is on by tokens of others alone";
        found.push(table::PF_OFF.seen_by(evidence));
    }
    found
}

/// Who owns what root writes here for everybody to read, and its mode.
const KEPT: (&str, &str, u32) = ("root", "wheel", 0o644);

fn is_kept(found: Option<&Found>) -> bool {
    found.is_some_and(|found| (found.owner.as_str(), found.group.as_str(), found.mode) == KEPT)
}

/// A step of root's that writes a file for everybody to read.
fn write(path: String, content: &str, validate: Option<String>) -> Step {
    let (owner, group, mode) = KEPT;
    let keep = Keep { mode: Some(mode), owner: Some(owner.into()), group: Some(group.into()) };
    let content = step::Content::Bytes(Bytes(content.as_bytes().to_vec()));
    Step::new(Act::Write { path, content, keep, validate }).as_root()
}

pub(super) fn procedure(script: &'static str, arguments: impl Iterator<Item = String>) -> Step {
    let (script, arguments) = (cure::procedure(script), arguments.collect());
    Step::new(Act::Procedure { script, arguments, input: Bytes::default() }).as_root()
}

/// A name that files, labels, rules and scripts can have.
pub(super) fn check_name(attribute: &str, name: &str, most: usize) -> Result<(), Misfit> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let fits = !name.is_empty() && name.len() <= most && name.chars().all(is_plain);
    if fits && name.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        return Ok(());
    }
    let message = format!(
        "`{name}` cannot be a name here: letters, digits, `.`, `_` and `-` are taken, a letter or a digit first, {most} at most"
    );
    Err(Misfit::new(attribute, message))
}

/// A network as the kernel prints it; what its spelling should be, if it is another.
pub(super) fn normal_net(text: &str) -> Result<String, String> {
    let wrong = || format!("`{text}` is no address and no network, such as \"10.0.0.0/8\"");
    let (address, bits) = match text.split_once('/') {
        Some((address, bits)) => (address, Some(bits)),
        None => (text, None),
    };
    let address: IpAddr = address.parse().map_err(|_| wrong())?;
    let most: u32 = if address.is_ipv4() { 32 } else { 128 };
    let bits: u32 = bits.map_or(Ok(most), str::parse).map_err(|_| wrong())?;
    let left = most.checked_sub(bits).ok_or_else(wrong)?;
    let base = match address {
        IpAddr::V4(v4) => {
            Ipv4Addr::from_bits(v4.to_bits() & u32::MAX.checked_shl(left).unwrap_or(0)).to_string()
        }
        IpAddr::V6(v6) => {
            Ipv6Addr::from_bits(v6.to_bits() & u128::MAX.checked_shl(left).unwrap_or(0)).to_string()
        }
    };
    let normal = if left == 0 { base.clone() } else { format!("{base}/{bits}") };
    if base == address.to_string() {
        Ok(normal)
    } else {
        Err(format!("`{text}` has bits beyond its network; write \"{normal}\", or the address alone"))
    }
}

/// Networks in the order of their names, each once.
pub(super) fn normal_nets(attribute: &str, nets: &mut Vec<String>) -> Result<(), Misfit> {
    for net in nets.iter_mut() {
        *net = normal_net(net).map_err(|message| Misfit::new(attribute, message))?;
    }
    nets.sort();
    nets.dedup();
    Ok(())
}

/// What is only there to be seen has one value that can be wished.
pub(super) fn only_wish(wishes: &[(&str, bool)]) -> Result<(), Misfit> {
    match wishes.iter().find(|(_, is)| !is) {
        Some((name, _)) => Err(Misfit::new(
            *name,
            "it is there to be observed, and can only be wished to be true; leave it out",
        )),
        None => Ok(()),
    }
}

/// The text of a file, if it is there.
fn text(path: &str, reply: &Reply, index: usize) -> Result<Option<String>, Error> {
    let found = reply.path(index)?;
    let content = found.map(|_| shared(path, found)).transpose()?;
    Ok(content.map(|content| String::from_utf8_lossy(content).into_owned()))
}

/// How `pfctl` says that there is no such anchor. Of some things it says so and ends well.
const NO_ANCHOR: [&str; 2] = ["Anchor or Ruleset does not exist", "DIOCGETRULES: Invalid argument"];

/// What `pfctl` says: nothing of an anchor that is not there.
fn said(reply: &Reply, index: usize) -> Result<String, Error> {
    let Output { status, stdout, stderr } = reply.output(index)?;
    if *status == 0 {
        return Ok(String::from_utf8_lossy(stdout).into_owned());
    }
    let complaint = String::from_utf8_lossy(stderr);
    if NO_ANCHOR.iter().any(|words| complaint.contains(words)) {
        return Ok(String::new());
    }
    let last = complaint.lines().last().unwrap_or("it said nothing").to_owned();
    Err(Error::permanent(format!("the packet filter cannot be asked: {last}")))
}

/// The file that a record was made from, if what it says is in force is so.
fn loaded(record: &str, rules: &str) -> Option<String> {
    let (file, printed) = record.split_once(IN_FORCE)?;
    let (printed, _) = printed.split_once(TABLES)?;
    (printed == rules && !rules.is_empty()).then(|| file.to_owned())
}

/// The tables in a list with their flags, and whether they persist.
fn named(list: &str) -> BTreeMap<String, bool> {
    let one = |line: &str| {
        let mut words = line.split_whitespace();
        let (flags, name) = (words.next()?, words.next()?);
        Some((name.to_owned(), flags.chars().nth(1) == Some('p')))
    };
    list.lines().filter_map(one).collect()
}

fn named_in(list: &str) -> Vec<String> {
    named(list).into_keys().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_have_one_spelling() {
        for (text, normal) in [
            ("10.0.0.0/8", "10.0.0.0/8"),
            ("1.2.3.4/32", "1.2.3.4"),
            ("1.2.3.4", "1.2.3.4"),
            ("0.0.0.0/0", "0.0.0.0/0"),
            ("fd00::/64", "fd00::/64"),
            ("::1/128", "::1"),
        ] {
            assert_eq!(normal_net(text).as_deref(), Ok(normal));
        }
        for text in ["", "x", "10.0.0.0/33", "10.0.0.0/x", "10/8", "10.0.0.1/8", "fd00::1/64"] {
            assert!(normal_net(text).is_err(), "{text}");
        }
        assert!(normal_net("10.0.0.1/8").unwrap_err().contains("\"10.0.0.0/8\""));
    }

    #[test]
    fn a_record_counts_only_while_it_is_so() {
        let record = "table <a> { }\npass all\n# in force\npass all flags S/SA keep state\n# tables\n# a\n";
        let rules = "pass all flags S/SA keep state\n";
        assert_eq!(loaded(record, rules).as_deref(), Some("table <a> { }\npass all\n"));
        assert_eq!(loaded(record, "pass all no state\n"), None);
        assert_eq!(loaded(record, ""), None);
        assert_eq!(loaded("", rules), None);
        assert_eq!(loaded("pass all\n# in force\n# tables\n", ""), None);
    }

    #[test]
    fn tables_and_their_flags() {
        let found = named("-pa-r-\tssh_allowed\tcom.apple/x\n--a-r-\tvms\tcom.apple/x\n\n");
        assert_eq!(found, [("ssh_allowed".into(), true), ("vms".into(), false)].into());
    }

    #[test]
    fn names_need_no_escapes() {
        for name in ["ci.runners", "a-b_c", "0"] {
            check_name("name", name, 31).unwrap();
        }
        for name in ["", ".a", "-a", "a b", "a/b", "a\"b", "ä", "a&b", &"a".repeat(32)] {
            assert!(check_name("name", name, 31).is_err(), "{name}");
        }
    }
}

//! `pfctl`: loads and shows the rules of the packet filter. What they mean is in [`pf`](crate::mac::pf).

use std::ffi::{OsStr, OsString};
use std::io::Read as _;

use super::options::Options;
use super::{Call, Done, Failure, Outcome};
use crate::clock::Time;
use crate::mac::pf::{Net, Only, Packet, Part, Pf, Released, Source, Unheld};

const USAGE: &str = "usage: pfctl [-AdeghmNnOPqRrvz] [-a anchor] [-D macro=value] [-F modifier]\n\
                     \t[-f file] [-i interface] [-K host | network]\n\t[-k host | network]\n\
                     \t[-o level] [-p device] [-s modifier] [-w interval]\n\
                     \t[-t table -T command [address ...]] [-x level]\n";
const SHOWS: &[&str] =
    &["nat", "rules", "Anchors", "states", "info", "Tables", "References", "dummynet", "all"];
const FLUSHES: &[&str] = &["nat", "dummynet", "rules", "Sources", "states", "info", "Tables", "osfp", "all"];
const TABLES: &[&str] = &["kill", "flush", "add", "delete", "replace", "show", "test"];
/// Said whenever a file is loaded.
const WARNING: &str = "pfctl: Use of -f option, could result in flushing of rules\n\
                       present in the main ruleset added by the system at startup.\n\
                       See /etc/pf.conf for further details.\n\n";
/// Said whatever is done.
const NOISE: &str = "No ALTQ support in kernel\nALTQ related functions disabled\n";

pub(super) fn pfctl(call: &mut Call) -> Outcome {
    let options = Options::read(&call.words, "a:deEf:F:nNqRs:t:T:vX:")
        .map_err(|wrong| Failure { text: format!("pfctl: {}\n{USAGE}", wrong.text()), status: 1 })?;
    if options.found.is_empty() || (!options.operands.is_empty() && !options.has('T')) {
        return Err(Failure { text: USAGE.into(), status: 1 });
    }
    let word = |letter: char| options.argument(letter).map(|word| word.to_string_lossy().into_owned());
    let show = word('s').map(|word| modifier(&word, SHOWS)).transpose()?;
    let flush = word('F').map(|word| modifier(&word, FLUSHES)).transpose()?;
    let command = word('T').map(|word| modifier(&word, TABLES)).transpose()?;
    if command.is_some() != options.has('t') {
        return Err(Failure { text: USAGE.into(), status: 1 });
    }
    if !call.is_root() {
        return Err(call.failure("/dev/pf: Permission denied"));
    }
    let mut work = Work {
        anchor: word('a').unwrap_or_default().trim_matches('/').to_owned(),
        quiet: options.has('q'),
        verbose: options.has('v'),
        checks: options.has('n'),
        call,
    };
    if options.has('f') && !work.quiet {
        work.note(WARNING);
    }
    work.note(NOISE);
    // In this order, however they were given.
    if options.has('d') {
        work.disable()?;
    }
    if let Some(show) = show {
        work.show(show)?;
    }
    if let Some(flush) = flush {
        work.flush(flush)?;
    }
    if let (Some(command), Some(table)) = (command, word('t')) {
        work.table(&table, command, &options.operands)?;
    }
    if let Some(file) = options.argument('f') {
        let only = match (options.has('R'), options.has('N')) {
            (true, false) => Only::Filter,
            (false, true) => Only::Translation,
            _ => Only::Everything,
        };
        work.load(file, only)?;
    }
    if options.has('e') {
        work.enable()?;
    }
    if options.has('E') {
        work.take()?;
    }
    if let Some(token) = word('X') {
        work.release(&token)?;
    }
    Ok(Done::Exit(0))
}

/// `lab-packet DIRECTION INTERFACE PROTOCOL FROM TO[:PORT]`: what becomes of a packet. Says how its address is translated,
/// if it is, and ends well if it passes.
pub(super) fn packet(call: &mut Call) -> Outcome {
    let packet: Packet = call.texts().join(" ").parse().map_err(|wrong: String| call.failure(&wrong))?;
    let verdict = call.mac.judge(&packet).ok_or_else(|| call.failure("this Mac is off"))?;
    let translated = call.mac.translate(&packet);
    call.print(translated.map_or(String::new(), |rule| format!("{rule}\n")))?;
    Ok(Done::Exit(u8::from(!verdict.passes)))
}

/// `lab-share-internet on|off`: what InternetSharing does when VMs come, and after many have gone.
pub(super) fn share_internet(call: &mut Call) -> Outcome {
    let shares = call.texts() == ["on"];
    call.mac.share_internet(shares);
    Ok(Done::Exit(0))
}

/// What is asked to be shown, flushed or done, of which the beginning is enough.
fn modifier(word: &str, known: &[&'static str]) -> Result<&'static str, Failure> {
    let found = known.iter().find(|known| known.starts_with(word));
    found.copied().ok_or_else(|| Failure { text: USAGE.into(), status: 1 })
}

fn fail(text: &str) -> Failure {
    Failure { text: format!("pfctl: {text}"), status: 1 }
}

fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}

/// How long ago something was.
fn ago(now: Time, then: Time) -> String {
    let seconds = now.since(then).as_secs();
    let (days, rest) = (seconds / 86400, seconds % 86400);
    format!("{days} days {:02}:{:02}:{:02}", rest / 3600, rest / 60 % 60, rest % 60)
}

/// A call whose options were understood.
struct Work<'a> {
    call: &'a mut Call,
    anchor: String,
    quiet: bool,
    verbose: bool,
    /// Whether nothing is changed.
    checks: bool,
}

impl Work<'_> {
    /// Says something that is no answer.
    fn note(&mut self, text: &str) {
        use std::io::Write as _;
        // Nobody may be left to read it.
        let _ = self.call.stderr.write_all(text.as_bytes());
    }

    /// The same, unless it is to be quiet.
    fn tell(&mut self, text: &str) {
        if !self.quiet {
            self.note(&format!("{text}\n"));
        }
    }

    /// Does something with the filter.
    fn with<T>(&self, f: impl FnOnce(&mut Pf) -> T) -> Result<T, Failure> {
        let mut live = self.call.mac.live();
        let live = live.as_mut().ok_or_else(|| fail("this Mac is off"))?;
        Ok(f(&mut live.pf))
    }

    fn show(&mut self, what: &str) -> Result<(), Failure> {
        let text = match what {
            "rules" => self.rules(Part::Rules)?,
            "nat" => self.rules(Part::Nat)?,
            "dummynet" => self.rules(Part::Dummynet)?,
            "Anchors" => {
                let deep = self.verbose;
                let anchors = self.with(|pf| pf.anchors(&self.anchor, deep))?;
                anchors.iter().map(|anchor| format!("  {anchor}\n")).collect()
            }
            "Tables" => self.tables()?,
            "info" => self.info()?,
            "References" => self.references()?,
            "states" => String::new(),
            _ => {
                let sections = [
                    ("TRANSLATION RULES:", self.rules(Part::Nat)?),
                    ("FILTER RULES:", self.rules(Part::Rules)?),
                    ("DUMMYNET RULES:", self.rules(Part::Dummynet)?),
                    ("INFO:", self.info()?),
                    ("TABLES:", self.tables()?),
                ];
                let sections: Vec<String> =
                    sections.into_iter().map(|(title, text)| format!("{title}\n{text}")).collect();
                sections.join("\n")
            }
        };
        self.call.print(text)
    }

    fn rules(&mut self, part: Part) -> Result<String, Failure> {
        let rules = self.with(|pf| pf.show(&self.anchor, part))?;
        if rules.is_none() {
            self.note("pfctl: DIOCGETRULES: Invalid argument\n");
        }
        Ok(rules.unwrap_or_default().iter().map(|rule| format!("{rule}\n")).collect())
    }

    fn tables(&self) -> Result<String, Failure> {
        let (anchor, verbose) = (&self.anchor, self.verbose);
        if !anchor.is_empty() && !self.with(|pf| pf.anchors("", true))?.contains(anchor) {
            return Err(fail("Anchor or Ruleset does not exist."));
        }
        self.with(|pf| {
            let tables = pf.tables(anchor).map(|(name, table)| {
                let sign = |is: bool, sign: char| if is { sign } else { '-' };
                let (constant, persist) = (sign(table.constant, 'c'), sign(table.persist, 'p'));
                let used = sign(pf.is_referenced(anchor, name), 'r');
                let scope = if anchor.is_empty() { String::new() } else { format!("\t{anchor}") };
                if verbose {
                    format!("{constant}{persist}a-{used}-\t{name}{scope}\n")
                } else {
                    format!("{name}\n")
                }
            });
            tables.collect()
        })
    }

    fn info(&self) -> Result<String, Failure> {
        let now = self.call.mac.time();
        let since = self.with(|pf| pf.enabled())?;
        let status = since.map_or("Disabled".to_owned(), |since| format!("Enabled for {}", ago(now, since)));
        let mut text = format!("Status: {status:<38}Debug: Urgent\n\n");
        text += "State Table                          Total             Rate\n";
        for name in ["current entries", "searches", "inserts", "removals"] {
            text += &format!("  {name:<39}0               \n");
        }
        Ok(text)
    }

    fn references(&self) -> Result<String, Failure> {
        let now = self.call.mac.time();
        self.with(|pf| {
            let lines: String = pf
                .references()
                .tokens()
                .map(|token| {
                    format!("{:<9}{:<29}{:<25}{}\n", token.pid, "pfctl", token.token, ago(now, token.at))
                })
                .collect();
            if lines.is_empty() {
                return "No pf starter references held\n".to_owned();
            }
            format!(
                "TOKENS:\nPID      Process Name                 TOKEN                    TIMESTAMP\n{lines}"
            )
        })
    }

    fn flush(&mut self, what: &str) -> Result<(), Failure> {
        let is = |wanted: &str| what == wanted || what == "all";
        for (name, part, said) in [
            ("rules", Part::Rules, "rules cleared"),
            ("nat", Part::Nat, "nat cleared"),
            ("dummynet", Part::Dummynet, "dummynet cleared"),
        ] {
            if is(name) {
                let checks = self.checks;
                self.with(|pf| {
                    if !checks {
                        pf.flush(&self.anchor, part);
                    }
                })?;
                self.tell(said);
            }
        }
        if is("Tables") {
            let checks = self.checks;
            let gone = self.with(|pf| if checks { 0 } else { pf.flush_tables(&self.anchor) })?;
            self.tell(&format!("{gone} table{} deleted.", plural(gone)));
        }
        if self.anchor.is_empty() {
            for (name, said) in [
                ("states", "0 states cleared"),
                ("Sources", "source tracking entries cleared"),
                ("info", "pf: statistics cleared"),
            ] {
                if is(name) {
                    self.tell(said);
                }
            }
        }
        Ok(())
    }

    fn table(&mut self, name: &str, command: &str, words: &[OsString]) -> Result<(), Failure> {
        let nets = words.iter().map(|word| {
            let word = word.to_string_lossy();
            word.parse::<Net>().map_err(|()| fail(&format!("cannot parse address {word}")))
        });
        let nets: Vec<Net> = nets.collect::<Result<_, _>>()?;
        let anchor = self.anchor.clone();
        let missing = || fail("Table does not exist.");
        if matches!(command, "add" | "replace") && self.with(|pf| pf.make_table(&anchor, name))? {
            self.tell("1 table created.");
        }
        if command == "kill" {
            if !self.with(|pf| pf.kill_table(&anchor, name))? {
                return Err(missing());
            }
            self.tell("1 table deleted.");
            return Ok(());
        }
        if command == "show" {
            let table = self.with(|pf| pf.table(&anchor, name).cloned())?.ok_or_else(missing)?;
            let lines: String = table.addresses.iter().map(|net| format!("   {net}\n")).collect();
            return self.call.print(lines);
        }
        let count = nets.len();
        let (text, status) = self
            .with(|pf| {
                let table = pf.table_mut(&anchor, name)?;
                let addresses = &mut table.addresses;
                Some(match command {
                    "add" => {
                        let added = nets.iter().filter(|net| addresses.insert(**net)).count();
                        (format!("{added}/{count} addresses added."), 0)
                    }
                    "delete" => {
                        let gone = nets.iter().filter(|net| addresses.remove(net)).count();
                        (format!("{gone}/{count} addresses deleted."), 0)
                    }
                    "replace" => {
                        *addresses = nets.iter().copied().collect();
                        (format!("{count} addresses added."), 0)
                    }
                    "flush" => {
                        let gone = addresses.len();
                        addresses.clear();
                        (format!("{gone} addresses deleted."), 0)
                    }
                    _ => {
                        let found = nets.iter().filter(|net| addresses.contains(net)).count();
                        (format!("{found}/{count} addresses match."), if found == count { 0 } else { 2 })
                    }
                })
            })?
            .ok_or_else(missing)?;
        self.tell(&text);
        if status == 0 { Ok(()) } else { Err(Failure { text: String::new(), status }) }
    }

    fn load(&mut self, file: &OsStr, only: Only) -> Result<(), Failure> {
        let (name, text) = if file == "-" {
            let mut text = String::new();
            self.call.stdin.read_to_string(&mut text).map_err(|error| fail(&error.to_string()))?;
            ("stdin".to_owned(), text)
        } else {
            let root = self.call.mac.root().to_string_lossy().into_owned();
            let name = file.to_string_lossy();
            let name = name.strip_prefix(&root).unwrap_or(&name).to_owned();
            let text = std::fs::read_to_string(self.call.path(file));
            let text = text.map_err(|error| fail(&format!("{name}: {}", super::reason(&error))))?;
            (name, text)
        };
        let read = |path: &str| std::fs::read_to_string(self.call.path(OsStr::new(path))).ok();
        let source = Source { name: &name, text: &text };
        let loaded = if self.checks {
            Pf::check(&source, &read)
        } else {
            self.with(|pf| pf.load(&self.anchor, &source, only, &read))?
        };
        loaded.map_err(|mistakes| {
            let text = mistakes.join("\n");
            let end = "pfctl: Syntax error in config file: pf rules not loaded";
            Failure { text: format!("{text}\n{end}"), status: 1 }
        })
    }

    fn enable(&mut self) -> Result<(), Failure> {
        let now = self.call.mac.time();
        if !self.with(|pf| pf.references_mut().enable(now))? {
            return Err(fail("pf already enabled"));
        }
        self.tell("pf enabled");
        Ok(())
    }

    fn disable(&mut self) -> Result<(), Failure> {
        if !self.with(|pf| pf.references_mut().disable())? {
            return Err(fail("pf not enabled"));
        }
        self.tell("pf disabled");
        Ok(())
    }

    fn take(&mut self) -> Result<(), Failure> {
        let now = self.call.mac.time();
        let token = self.with(|pf| pf.references_mut().take(now))?;
        self.tell(&format!("pf enabled\nToken : {token}"));
        Ok(())
    }

    fn release(&mut self, token: &str) -> Result<(), Failure> {
        match self.with(|pf| pf.references_mut().release(token))? {
            Ok(Released::Off) => self.tell("pf disabled"),
            Ok(Released::Left(count)) => self.tell(&format!(
                "disable request successful. {count} more pf enable reference(s) remaining, pf still enabled."
            )),
            Err(Unheld::Disabled) => return Err(fail("pf not enabled")),
            Err(Unheld::Invalid) => return Err(fail("pf: token invalid")),
        }
        Ok(())
    }
}

//! A statement → what it asks for. As much of the grammar as firewalls of hosts need; the rest is a syntax error.

use std::collections::BTreeSet;

use super::net::Net;
use super::rule::{Action, Direction, End, Host, Rule, Section};
use super::words::Word;

/// What a statement asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    /// `table`.
    Table { name: String, persist: bool, constant: bool, addresses: BTreeSet<Net> },
    /// A rule; several if lists stand in it.
    Rules(Vec<Rule>),
    /// `load anchor`.
    Load { anchor: String, file: String },
    /// `set`: taken, and without effect here.
    Set,
}

/// Nothing that is known.
#[derive(Debug)]
pub(super) struct NoSense;

type Sense<T> = Result<T, NoSense>;

/// Reads a statement.
pub(super) fn entry(words: &[Word]) -> Sense<Entry> {
    let mut line = Line { words };
    let first = line.plain()?;
    let entry = match first {
        "set" => return Ok(Entry::Set),
        "table" => line.table()?,
        "load" => {
            line.expect("anchor")?;
            let anchor = line.name()?;
            line.expect("from")?;
            Entry::Load { anchor, file: line.name()? }
        }
        "scrub-anchor" => line.anchor(Section::Scrub, "scrub-anchor")?,
        "nat-anchor" => line.anchor(Section::Translation, "nat-anchor")?,
        "rdr-anchor" => line.anchor(Section::Translation, "rdr-anchor")?,
        "binat-anchor" => line.anchor(Section::Translation, "binat-anchor")?,
        "dummynet-anchor" => line.anchor(Section::Dummynet, "dummynet-anchor")?,
        "anchor" => line.anchor(Section::Filter, "anchor")?,
        "scrub" => line.rules(Rule::new(Section::Scrub, Action::Other("scrub")))?,
        "nat" => line.rules(Rule::new(Section::Translation, Action::Other("nat")))?,
        "rdr" => line.rules(Rule::new(Section::Translation, Action::Other("rdr")))?,
        "no" => {
            let action = match line.plain()? {
                "nat" => Action::Other("no nat"),
                "rdr" => Action::Other("no rdr"),
                _ => return Err(NoSense),
            };
            line.rules(Rule::new(Section::Translation, action))?
        }
        "pass" => line.rules(Rule::new(Section::Filter, Action::Pass))?,
        "block" => {
            let returns = line.skip("return");
            let _ = !returns && line.skip("drop");
            line.rules(Rule::new(Section::Filter, Action::Block { returns }))?
        }
        _ => return Err(NoSense),
    };
    if line.words.is_empty() { Ok(entry) } else { Err(NoSense) }
}

/// What is left of a statement.
struct Line<'a> {
    words: &'a [Word],
}

impl<'a> Line<'a> {
    fn next(&mut self) -> Sense<&'a Word> {
        let (first, rest) = self.words.split_first().ok_or(NoSense)?;
        self.words = rest;
        Ok(first)
    }

    fn plain(&mut self) -> Sense<&'a str> {
        match self.next()? {
            Word::Plain(text) => Ok(text),
            _ => Err(NoSense),
        }
    }

    /// A name, with quotes or without.
    fn name(&mut self) -> Sense<String> {
        match self.next()? {
            Word::Plain(text) | Word::Quoted(text) => Ok(text.clone()),
            _ => Err(NoSense),
        }
    }

    fn expect(&mut self, word: &str) -> Sense<()> {
        if self.skip(word) { Ok(()) } else { Err(NoSense) }
    }

    fn sign(&mut self, sign: char) -> Sense<()> {
        if self.skip_sign(sign) { Ok(()) } else { Err(NoSense) }
    }

    fn skip(&mut self, word: &str) -> bool {
        let is_it = matches!(self.words.first(), Some(Word::Plain(text)) if text == word);
        if is_it {
            self.words = &self.words[1..];
        }
        is_it
    }

    fn skip_sign(&mut self, sign: char) -> bool {
        let is_it = self.words.first() == Some(&Word::Sign(sign));
        if is_it {
            self.words = &self.words[1..];
        }
        is_it
    }

    /// One of something, or a list of them in braces; commas between them are optional.
    fn list<T>(&mut self, mut one: impl FnMut(&mut Line<'a>) -> Sense<T>) -> Sense<Vec<T>> {
        if !self.skip_sign('{') {
            return Ok(vec![one(self)?]);
        }
        let mut all = Vec::new();
        while !self.skip_sign('}') {
            all.push(one(self)?);
            let _ = self.skip_sign(',');
        }
        if all.is_empty() { Err(NoSense) } else { Ok(all) }
    }

    fn table(&mut self) -> Sense<Entry> {
        self.sign('<')?;
        let name = self.name()?;
        self.sign('>')?;
        // The kernel has room for so much.
        if name.len() > 31 {
            return Err(NoSense);
        }
        let (mut persist, mut constant, mut addresses) = (false, false, BTreeSet::new());
        while let Some(word) = self.words.first() {
            match word {
                Word::Plain(text) if text == "persist" => persist = true,
                Word::Plain(text) if text == "const" => constant = true,
                Word::Plain(text) if text == "counters" => {}
                Word::Sign('{') => {
                    self.words = &self.words[1..];
                    while !self.skip_sign('}') {
                        addresses.insert(self.plain()?.parse().map_err(|()| NoSense)?);
                        let _ = self.skip_sign(',');
                    }
                    continue;
                }
                _ => return Err(NoSense),
            }
            self.words = &self.words[1..];
        }
        Ok(Entry::Table { name, persist, constant, addresses })
    }

    fn anchor(&mut self, section: Section, word: &'static str) -> Sense<Entry> {
        let name = self.name()?;
        self.rules(Rule::new(section, Action::Anchor(word, name)))
    }

    /// All that can stand behind the action, in its order.
    fn rules(&mut self, mut rule: Rule) -> Sense<Entry> {
        if rule.section == Section::Translation && self.skip("pass") {
            rule.action = match rule.action {
                Action::Other("nat") => Action::Other("nat pass"),
                Action::Other("rdr") => Action::Other("rdr pass"),
                _ => return Err(NoSense),
            };
        }
        if self.skip("in") {
            rule.direction = Some(Direction::In);
        } else if self.skip("out") {
            rule.direction = Some(Direction::Out);
        }
        rule.log = self.skip("log");
        rule.quick = self.skip("quick");
        if self.skip("on") {
            rule.on = Some(self.name()?);
        }
        if self.skip("inet") {
            rule.is_v4 = Some(true);
        } else if self.skip("inet6") {
            rule.is_v4 = Some(false);
        }
        let protocols: Vec<Option<String>> = if self.skip("proto") {
            self.list(Line::name)?.into_iter().map(Some).collect()
        } else {
            vec![None]
        };
        let (mut from, mut to) = (vec![End::default()], vec![End::default()]);
        if !self.skip("all") {
            if self.skip("from") {
                from = self.ends()?;
            }
            if self.skip("to") {
                to = self.ends()?;
            }
        }
        self.rest(&mut rule)?;
        let mut rules = Vec::new();
        for protocol in &protocols {
            for from in &from {
                for to in &to {
                    rules.push(Rule { from: from.clone(), to: to.clone(), ..finish(&rule, protocol) });
                }
            }
        }
        rules.iter_mut().try_for_each(check)?;
        Ok(Entry::Rules(rules))
    }

    /// Hosts, and the ports that are meant there.
    fn ends(&mut self) -> Sense<Vec<End>> {
        let hosts = match self.words.first() {
            Some(Word::Plain(text)) if text == "port" => vec![(false, Host::Any)],
            _ => self.list(Line::host)?,
        };
        let ports: Vec<Option<(u16, u16)>> = if self.skip("port") {
            let _ = self.skip_sign('=');
            self.list(Line::ports)?.into_iter().map(Some).collect()
        } else {
            vec![None]
        };
        let end = |(not, host): &(bool, Host)| {
            let (not, host) = (*not, host.clone());
            ports.clone().into_iter().map(move |ports| End { not, host: host.clone(), ports })
        };
        Ok(hosts.iter().flat_map(end).collect())
    }

    fn host(&mut self) -> Sense<(bool, Host)> {
        let not = self.skip_sign('!');
        let host = if self.skip_sign('<') {
            let name = self.name()?;
            self.sign('>')?;
            Host::Table(name)
        } else if self.skip_sign('(') {
            let name = self.name()?;
            self.sign(')')?;
            Host::Interface(name)
        } else {
            match self.plain()? {
                "any" => Host::Any,
                text => Host::Net(text.parse().map_err(|()| NoSense)?),
            }
        };
        Ok((not, host))
    }

    fn ports(&mut self) -> Sense<(u16, u16)> {
        let text = self.plain()?;
        let port = |text: &str| match text {
            "ssh" => Ok(22),
            "domain" => Ok(53),
            "http" | "www" => Ok(80),
            "https" => Ok(443),
            number => number.parse().map_err(|_| NoSense),
        };
        match text.split_once(':') {
            Some((first, last)) => Ok((port(first)?, port(last)?)),
            None => port(text).map(|port| (port, port)),
        }
    }

    /// Where a translation leads, and options.
    fn rest(&mut self, rule: &mut Rule) -> Sense<()> {
        if self.words.first() == Some(&Word::Arrow) {
            self.words = &self.words[1..];
            if rule.section != Section::Translation {
                return Err(NoSense);
            }
            let target = match self.host()? {
                (false, host @ (Host::Interface(_) | Host::Net(_))) => End { host, ..End::default() },
                _ => return Err(NoSense),
            };
            let mut shown = target.to_string();
            if self.skip("port") {
                shown += &format!(" port {}", self.plain()?);
            } else if matches!(target.host, Host::Interface(_)) {
                shown += " round-robin";
            }
            rule.target = Some(shown);
        }
        let mut options = Vec::new();
        while let Ok(word) = self.next() {
            let Word::Plain(word) = word else { return Err(NoSense) };
            match (rule.section, word.as_str()) {
                (Section::Filter, "keep" | "no" | "modulate") => {
                    self.expect("state")?;
                    options.push(format!("{word} state"));
                }
                (Section::Filter, "flags") => options.push(format!("flags {}", self.plain()?)),
                (Section::Filter | Section::Translation, "label") => {
                    options.push(format!("label \"{}\"", self.name()?));
                }
                (Section::Scrub, "max-mss") => {
                    let most: u16 = self.plain()?.parse().map_err(|_| NoSense)?;
                    options.push(format!("max-mss {most}"));
                }
                (Section::Scrub, "no-df") => options.push("no-df".to_owned()),
                (Section::Scrub, "fragment") => self.expect("reassemble")?,
                // What the rule printer adds is taken back.
                (Section::Translation, "round-robin") if rule.target.is_some() => {}
                (Section::Translation, "extfilter") => options.push(format!("extfilter {}", self.plain()?)),
                _ => return Err(NoSense),
            }
        }
        if rule.section == Section::Scrub {
            options.push("fragment reassemble".to_owned());
        }
        rule.tail = options.join(" ");
        Ok(())
    }
}

/// What was left out of a rule that passes: it remembers connections.
fn finish(rule: &Rule, protocol: &Option<String>) -> Rule {
    let mut rule = Rule { protocol: protocol.clone(), ..rule.clone() };
    if rule.action == Action::Pass {
        let is_tcp = rule.protocol.as_deref() != Some("udp") && rule.protocol.as_deref() != Some("icmp");
        let has = |word: &str| rule.tail.contains(word);
        let mut parts = Vec::new();
        if is_tcp && !has("flags ") && !has("no state") {
            parts.push("flags S/SA".to_owned());
        }
        let state = if has("keep state") || has("no state") { "" } else { "keep state" };
        let (before, label) = match rule.tail.find("label ") {
            Some(at) => rule.tail.split_at(at),
            None => (rule.tail.as_str(), ""),
        };
        parts.extend([before.trim_end().to_owned(), state.to_owned(), label.to_owned()]);
        parts.retain(|part| !part.is_empty());
        rule.tail = parts.join(" ");
    }
    rule
}

/// What belongs together: one kind of addresses, ports with protocols that have them, a target where one is needed.
fn check(rule: &mut Rule) -> Sense<()> {
    for end in [rule.from.clone(), rule.to.clone()] {
        if let Host::Net(net) = end.host {
            if rule.is_v4.is_some_and(|is_v4| is_v4 != net.is_v4()) {
                return Err(NoSense);
            }
            rule.is_v4 = Some(net.is_v4());
        }
        if end.ports.is_some() && !matches!(rule.protocol.as_deref(), Some("tcp" | "udp")) {
            return Err(NoSense);
        }
    }
    let needs_target = matches!(rule.action, Action::Other("nat" | "nat pass" | "rdr" | "rdr pass"));
    if needs_target == rule.target.is_some() { Ok(()) } else { Err(NoSense) }
}

#[cfg(test)]
mod tests {
    use super::super::words::statements;
    use super::*;

    fn printed(text: &str) -> Option<Vec<String>> {
        let statements = statements(text).ok()?;
        match entry(&statements[0].words).ok()? {
            Entry::Rules(rules) => Some(rules.iter().map(ToString::to_string).collect()),
            _ => Some(Vec::new()),
        }
    }

    #[test]
    fn rules_are_printed_as_the_kernel_has_them() {
        let check = |text: &str, expected: &[&str]| {
            let shown = printed(text);
            assert_eq!(shown.as_deref(), Some(&expected.map_to_strings()[..]), "{text}");
            // What is printed can be loaded, and is the same then.
            for line in shown.unwrap() {
                assert_eq!(printed(&line), Some(vec![line.clone()]), "{line}");
            }
        };
        check("anchor \"com.apple/*\"", &["anchor \"com.apple/*\" all"]);
        check("scrub-anchor \"com.apple/*\"", &["scrub-anchor \"com.apple/*\" all fragment reassemble"]);
        check("block out quick from <a> to <b>", &["block drop out quick from <a> to <b>"]);
        check("block drop in all", &["block drop in all"]);
        check("block return in log on en0 from any to any", &["block return in log on en0 all"]);
        check(
            "pass in proto tcp from any to any port 22",
            &["pass in proto tcp from any to any port = 22 flags S/SA keep state"],
        );
        check(
            "pass out quick proto { tcp, udp } from <a> to 10.0.0.10/32 port domain keep state",
            &[
                "pass out quick inet proto tcp from <a> to 10.0.0.10 port = 53 flags S/SA keep state",
                "pass out quick inet proto udp from <a> to 10.0.0.10 port = 53 keep state",
            ],
        );
        check(
            "pass in on lo0 proto tcp from any to any port { 22 30000:32767 } no state",
            &[
                "pass in on lo0 proto tcp from any to any port = 22 no state",
                "pass in on lo0 proto tcp from any to any port 30000:32767 no state",
            ],
        );
        check("pass in from any to any label \"x y\"", &["pass in all flags S/SA keep state label \"x y\""]);
        check(
            "nat on en0 from 192.168.64.0/22 to ! 10.0.0.0/8 -> (en0)",
            &["nat on en0 inet from 192.168.64.0/22 to ! 10.0.0.0/8 -> (en0) round-robin"],
        );
        check("no nat on bridge100 from 10.0.0.1 to any", &["no nat on bridge100 inet from 10.0.0.1 to any"]);
        check(
            "scrub in on utun4 proto tcp from any to 10.0.0.0/8 max-mss 1200",
            &["scrub in on utun4 inet proto tcp from any to 10.0.0.0/8 max-mss 1200 fragment reassemble"],
        );
    }

    /// A slice of strings from one of texts.
    trait MapToStrings {
        fn map_to_strings(&self) -> Vec<String>;
    }

    impl MapToStrings for [&str] {
        fn map_to_strings(&self) -> Vec<String> {
            self.iter().map(ToString::to_string).collect()
        }
    }

    #[test]
    fn what_is_no_rule_is_refused() {
        for text in [
            "pas all",
            "block everything",
            "pass in port 22",
            "pass from 10.0.0.0/33 to any",
            "pass in proto tcp from any to any port 70000",
            "pass inet from ::1 to any",
            "nat on en0 from any to any",
            "pass all -> (en0)",
            "table <x> { nonsense }",
            "table x { 10.0.0.0/8 }",
            "table <a-name-that-is-longer-than-the-kernel-has-room-for> { 10.0.0.0/8 }",
            "load anchor \"x\"",
            "anchor",
            "pass all all",
        ] {
            assert_eq!(printed(text), None, "{text}");
        }
        for text in ["table <x> persist", "table <x> const { 1.2.3.4, 10.0.0.0/8 }", "set skip on lo0"] {
            assert_eq!(printed(text), Some(Vec::new()), "{text}");
        }
    }
}

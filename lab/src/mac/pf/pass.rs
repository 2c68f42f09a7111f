//! What becomes of a packet.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::str::FromStr;

use serde::Serialize;

use super::load::join;
use super::rule::{Action, Direction, End, Host, Rule, Section};
use super::{Pf, Ruleset};

/// The first packet of a connection, as `DIRECTION INTERFACE PROTOCOL FROM TO[:PORT]`, such as
/// `out en0 tcp 192.168.64.5 10.0.0.1:443`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    is_in: bool,
    interface: String,
    protocol: String,
    from: IpAddr,
    to: IpAddr,
    port: Option<u16>,
}

/// What the filter says to a packet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// Whether it passes.
    pub passes: bool,
    /// Whether whoever sent it is told that it does not.
    pub returns: bool,
    /// The rule that decided; none if no rule matched, or the filter is off.
    pub by: Option<String>,
}

impl Packet {
    /// A connection to a port of this Mac.
    pub(in crate::mac) fn arriving(interface: &str, from: IpAddr, to: IpAddr, port: u16) -> Packet {
        let (interface, protocol) = (interface.to_owned(), "tcp".to_owned());
        Packet { is_in: true, interface, protocol, from, to, port: Some(port) }
    }
}

impl FromStr for Packet {
    type Err = String;

    fn from_str(text: &str) -> Result<Packet, String> {
        let wrong = || format!("`{text}` is no packet: DIRECTION INTERFACE PROTOCOL FROM TO[:PORT]");
        let words: Vec<&str> = text.split_whitespace().collect();
        let [direction @ ("in" | "out"), interface, protocol, from, to] = words[..] else {
            return Err(wrong());
        };
        let (to, port) = match to.rsplit_once(':') {
            Some((to, port)) if to.parse::<IpAddr>().is_ok() => (to, Some(port)),
            _ => (to, None),
        };
        Ok(Packet {
            is_in: direction == "in",
            interface: interface.to_owned(),
            protocol: protocol.to_owned(),
            from: from.parse().map_err(|_| wrong())?,
            to: to.parse().map_err(|_| wrong())?,
            port: port.map(str::parse).transpose().map_err(|_| wrong())?,
        })
    }
}

impl Pf {
    /// Whether a packet passes; `own` are the addresses of an interface.
    pub(in crate::mac) fn judge(&self, packet: &Packet, own: &dyn Fn(&str) -> Vec<IpAddr>) -> Verdict {
        let mut verdict = Verdict { passes: true, returns: false, by: None };
        if self.enabled().is_some() {
            let walk = Walk { pf: self, packet, own, section: Section::Filter };
            // The last that matches counts, unless one ends it all.
            walk.each("", &mut |rule| {
                verdict = Verdict {
                    passes: rule.action == Action::Pass,
                    returns: rule.action == Action::Block { returns: true },
                    by: Some(rule.to_string()),
                };
                rule.quick
            });
        }
        verdict
    }

    /// The rule by which the address of a packet is translated, if one is.
    pub(in crate::mac) fn translate(
        &self,
        packet: &Packet,
        own: &dyn Fn(&str) -> Vec<IpAddr>,
    ) -> Option<String> {
        let mut found = None;
        if self.enabled().is_some() {
            let walk = Walk { pf: self, packet, own, section: Section::Translation };
            // The first that matches counts.
            walk.each("", &mut |rule| {
                found = rule.target.is_some().then(|| rule.to_string());
                true
            });
        }
        found
    }
}

/// A way through the rules of one section.
struct Walk<'a> {
    pf: &'a Pf,
    packet: &'a Packet,
    own: &'a dyn Fn(&str) -> Vec<IpAddr>,
    section: Section,
}

impl Walk<'_> {
    /// Tells of each rule that matches, until one ends it; whether one did.
    fn each(&self, anchor: &str, tell: &mut dyn FnMut(&Rule) -> bool) -> bool {
        let rules = self.pf.rulesets.get(anchor).map_or(&[][..], |Ruleset(rules)| rules);
        let mut matching = rules.iter().filter(|rule| {
            rule.section == self.section
                && !matches!(rule.action, Action::Other("rdr" | "rdr pass" | "no rdr"))
        });
        matching.any(|rule| {
            self.matches(rule, anchor)
                && match &rule.action {
                    Action::Anchor("rdr-anchor", _) => false,
                    Action::Anchor(_, name) => {
                        self.called(anchor, name).iter().any(|below| self.each(below, tell))
                    }
                    _ => tell(rule),
                }
        })
    }

    /// The anchors that a call means, in their order.
    fn called(&self, anchor: &str, name: &str) -> BTreeSet<String> {
        match name.strip_suffix("/*") {
            Some(above) => self.pf.anchors(&join(anchor, above), false),
            None => [join(anchor, name)].into(),
        }
    }

    fn matches(&self, rule: &Rule, anchor: &str) -> bool {
        let Packet { is_in, interface, protocol, from, to, port } = self.packet;
        let group = interface.trim_end_matches(|c: char| c.is_ascii_digit());
        rule.direction.is_none_or(|direction| (direction == Direction::In) == *is_in)
            && rule.on.as_deref().is_none_or(|on| on == interface || on == group)
            && rule.is_v4.is_none_or(|is_v4| is_v4 == from.is_ipv4())
            && rule.protocol.as_deref().is_none_or(|wanted| wanted == protocol)
            && self.is_at(&rule.from, *from, None, anchor)
            && self.is_at(&rule.to, *to, *port, anchor)
    }

    fn is_at(&self, end: &End, address: IpAddr, port: Option<u16>, anchor: &str) -> bool {
        let is_there = match &end.host {
            Host::Any => true,
            Host::Net(net) => net.contains(address),
            Host::Interface(name) => (self.own)(name).contains(&address),
            // An anchor that has no such table uses that of the main ruleset.
            Host::Table(name) => {
                let table = self.pf.table(anchor, name).or_else(|| self.pf.table("", name));
                table.is_some_and(|table| table.addresses.iter().any(|net| net.contains(address)))
            }
        };
        let is_port =
            end.ports.is_none_or(|(first, last)| port.is_some_and(|at| (first..=last).contains(&at)));
        is_there != end.not && is_port
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Only, Source};
    use super::*;
    use crate::clock::Time;

    fn pf(main: &str, anchors: &[(&str, &str)]) -> Pf {
        let mut pf = Pf::at_boot();
        pf.references_mut().enable(Time::of_this_machine());
        for (anchor, text) in [("", main)].iter().chain(anchors) {
            pf.load(anchor, &Source { name: "f", text }, Only::Everything, &|_| None).unwrap();
        }
        pf
    }

    fn passes(pf: &Pf, packet: &str) -> bool {
        pf.judge(&packet.parse().unwrap(), &|_| vec!["10.0.0.11".parse().unwrap()]).passes
    }

    #[test]
    fn the_last_that_matches_counts_unless_one_is_quick() {
        let main =
            "block in all\npass in quick proto tcp from 100.64.0.0/10 to any port 22\npass in on lo0 all\n";
        let pf = pf(main, &[]);
        assert!(passes(&pf, "in en0 tcp 100.64.1.2 10.0.0.11:22"));
        assert!(!passes(&pf, "in en0 tcp 100.64.1.2 10.0.0.11:23"));
        assert!(!passes(&pf, "in en0 tcp 203.0.113.7 10.0.0.11:22"));
        assert!(passes(&pf, "in lo0 tcp 127.0.0.1 127.0.0.1:22"));
        assert!(passes(&pf, "out en0 tcp 10.0.0.11 203.0.113.7:22"));
        assert!(passes(&Pf::at_boot(), "in en0 tcp 203.0.113.7 10.0.0.11:22"));
    }

    #[test]
    fn an_anchor_counts_only_where_it_is_called() {
        let block = "table <vms> { 192.168.64.0/22 }\nblock drop out quick from <vms> to 10.0.0.0/8\n";
        let stock = "anchor \"com.apple/*\"\n";
        let packet = "out en0 tcp 192.168.64.5 10.0.0.1:443";
        assert!(passes(&pf(stock, &[("ci.runners", block)]), packet));
        assert!(!passes(&pf(&format!("{stock}anchor \"ci.runners\"\n"), &[("ci.runners", block)]), packet));
        assert!(!passes(&pf(stock, &[("com.apple/x", block)]), packet));
        // A star is one step and no more, and not the anchor itself.
        assert!(passes(&pf(stock, &[("com.apple", block)]), packet));
        assert!(passes(&pf(stock, &[("com.apple/x/y", block)]), packet));
    }

    #[test]
    fn the_first_translation_counts() {
        let nat = "nat on en0 from 192.168.64.0/22 to ! 172.16.0.0/22 -> (en0)\n";
        let pf = pf("nat-anchor \"com.apple/*\"\n", &[("com.apple/x", nat)]);
        let translate = |packet: &str| pf.translate(&packet.parse().unwrap(), &|_| Vec::new());
        assert!(translate("out en0 tcp 192.168.64.5 8.8.8.8:443").is_some());
        assert_eq!(translate("out en0 tcp 192.168.64.5 172.16.0.9:443"), None);
        assert_eq!(translate("out en1 tcp 192.168.64.5 8.8.8.8:443"), None);
    }

    #[test]
    fn a_table_that_nobody_defined_is_empty() {
        let pf = pf("block in quick from <nobody> to any\n", &[]);
        assert!(passes(&pf, "in en0 tcp 203.0.113.7 10.0.0.11:22"));
    }
}

//! One rule as the kernel has it, and how `pfctl` prints it: lists are gone, what was left out is said.

use std::fmt;

use super::net::Net;

/// The lists of rules that a ruleset has, in the order in which a file must have them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Section {
    Scrub,
    Translation,
    Dummynet,
    Filter,
}

/// A rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rule {
    pub(super) section: Section,
    pub(super) action: Action,
    /// `in` or `out`; none for both.
    pub(super) direction: Option<Direction>,
    pub(super) log: bool,
    /// Whether nothing after it is looked at once it matches.
    pub(super) quick: bool,
    /// The interface, or the group of interfaces.
    pub(super) on: Option<String>,
    /// Whether it is for IPv4 alone, or for IPv6 alone.
    pub(super) is_v4: Option<bool>,
    pub(super) protocol: Option<String>,
    pub(super) from: End,
    pub(super) to: End,
    /// Where a translation leads.
    pub(super) target: Option<String>,
    /// What else stands at its end.
    pub(super) tail: String,
}

/// What a rule does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// `pass`.
    Pass,
    /// `block drop` or `block return`.
    Block { returns: bool },
    /// `scrub`, `nat`, `no nat`, `rdr` and the like: the words, as they are printed.
    Other(&'static str),
    /// Goes on in another ruleset, or in all those below it: the word and the name.
    Anchor(&'static str, String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    In,
    Out,
}

/// Where a packet comes from or goes to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct End {
    pub(super) not: bool,
    pub(super) host: Host,
    /// From this port to that.
    pub(super) ports: Option<(u16, u16)>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Host {
    #[default]
    Any,
    Table(String),
    Net(Net),
    /// The addresses that an interface has at the moment.
    Interface(String),
}

impl Rule {
    pub(super) fn new(section: Section, action: Action) -> Rule {
        Rule {
            section,
            action,
            direction: None,
            log: false,
            quick: false,
            on: None,
            is_v4: None,
            protocol: None,
            from: End::default(),
            to: End::default(),
            target: None,
            tail: String::new(),
        }
    }

    /// The tables it looks into.
    pub(super) fn tables(&self) -> impl Iterator<Item = &str> {
        [&self.from, &self.to].into_iter().filter_map(|end| match &end.host {
            Host::Table(name) => Some(name.as_str()),
            _ => None,
        })
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.action {
            Action::Pass => f.write_str("pass")?,
            Action::Block { returns: false } => f.write_str("block drop")?,
            Action::Block { returns: true } => f.write_str("block return")?,
            Action::Other(words) => f.write_str(words)?,
            Action::Anchor(word, name) => write!(f, "{word} \"{name}\"")?,
        }
        match self.direction {
            Some(Direction::In) => f.write_str(" in")?,
            Some(Direction::Out) => f.write_str(" out")?,
            None => {}
        }
        if self.log {
            f.write_str(" log")?;
        }
        if self.quick {
            f.write_str(" quick")?;
        }
        if let Some(interface) = &self.on {
            write!(f, " on {interface}")?;
        }
        match self.is_v4 {
            Some(true) => f.write_str(" inet")?,
            Some(false) => f.write_str(" inet6")?,
            None => {}
        }
        if let Some(protocol) = &self.protocol {
            write!(f, " proto {protocol}")?;
        }
        if self.from == End::default() && self.to == End::default() {
            f.write_str(" all")?;
        } else {
            write!(f, " from {} to {}", self.from, self.to)?;
        }
        if let Some(target) = &self.target {
            write!(f, " -> {target}")?;
        }
        if !self.tail.is_empty() {
            write!(f, " {}", self.tail)?;
        }
        Ok(())
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.not {
            f.write_str("! ")?;
        }
        match &self.host {
            Host::Any => f.write_str("any")?,
            Host::Table(name) => write!(f, "<{name}>")?,
            Host::Net(net) => write!(f, "{net}")?,
            Host::Interface(name) => write!(f, "({name})")?,
        }
        match self.ports {
            Some((first, last)) if first == last => write!(f, " port = {first}"),
            Some((first, last)) => write!(f, " port {first}:{last}"),
            None => Ok(()),
        }
    }
}

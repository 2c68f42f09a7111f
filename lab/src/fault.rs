//! Things that go wrong on purpose.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::scaleway::{ErrorType, Operation, Seconds};

/// What goes wrong with some requests: when they take effect, and what is answered, are two things.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// Which requests.
    #[serde(default)]
    pub matching: Matching,
    /// How many of them go well first.
    #[serde(default)]
    pub skip: u32,
    /// How many of them go wrong then; all of them if this is none.
    #[serde(default = "once")]
    pub times: Option<u32>,
    /// When the request takes effect.
    #[serde(default)]
    pub effect: Effect,
    /// What is answered.
    #[serde(default)]
    pub answer: Answer,
    /// How long that takes.
    #[serde(default = "at_once")]
    pub answer_after: Seconds,
    /// The books are read as they were so long ago.
    #[serde(default)]
    pub stale: Option<Seconds>,
}

#[expect(clippy::unnecessary_wraps, reason = "it is the default of a field that may be none")]
fn once() -> Option<u32> {
    Some(1)
}

fn at_once() -> Seconds {
    Seconds::new(0)
}

/// Which requests a fault is for: those for which everything that is said is true.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Matching {
    /// The HTTP method.
    pub method: Option<String>,
    /// The path, in which `*` stands for anything.
    pub path: Option<String>,
    /// What is asked for.
    pub operation: Option<Operation>,
    /// The id of the server it is about.
    pub server: Option<String>,
    /// The access key of whoever asks.
    pub token: Option<String>,
    /// Whether it changes anything.
    pub writes: Option<bool>,
}

/// When a request takes effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// When it comes.
    #[default]
    Now,
    /// Not at all.
    Never,
    /// So much later, if it is still possible then.
    After(Seconds),
}

/// What is answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// What would be right if the request took effect at once.
    #[default]
    Normal,
    /// An error of a type.
    Error(ErrorType),
    /// A status, with a body that is no JSON.
    Status(u16),
    /// The connection ends without an answer.
    Cut,
    /// None, and the connection stays.
    Never,
}

impl Fault {
    /// Nothing goes wrong yet: the one next request of any kind, as it would be anyway.
    #[must_use]
    pub fn new() -> Fault {
        Fault {
            matching: Matching::default(),
            skip: 0,
            times: Some(1),
            effect: Effect::Now,
            answer: Answer::Normal,
            answer_after: Seconds::new(0),
            stale: None,
        }
    }

    /// Refused with an error of a type, without effect.
    #[must_use]
    pub fn refused(error: ErrorType) -> Fault {
        Fault { effect: Effect::Never, answer: Answer::Error(error), ..Fault::new() }
    }

    /// A status such as 500 that says nothing, without effect.
    #[must_use]
    pub fn failed(status: u16) -> Fault {
        Fault { effect: Effect::Never, answer: Answer::Status(status), ..Fault::new() }
    }

    /// It takes effect, and nobody is told.
    #[must_use]
    pub fn unanswered() -> Fault {
        Fault { answer: Answer::Never, ..Fault::new() }
    }

    /// The connection is cut before it takes effect.
    #[must_use]
    pub fn cut_before() -> Fault {
        Fault { effect: Effect::Never, answer: Answer::Cut, ..Fault::new() }
    }

    /// The connection is cut after it took effect.
    #[must_use]
    pub fn cut_after() -> Fault {
        Fault { answer: Answer::Cut, ..Fault::new() }
    }

    /// The connection is cut, and it takes effect later.
    #[must_use]
    pub fn late(by: Duration) -> Fault {
        Fault { effect: Effect::After(Seconds(by)), answer: Answer::Cut, ..Fault::new() }
    }

    /// It takes effect at once, and the answer comes later.
    #[must_use]
    pub fn slow(by: Duration) -> Fault {
        Fault { answer_after: Seconds(by), ..Fault::new() }
    }

    /// What is read is old.
    #[must_use]
    pub fn stale(by: Duration) -> Fault {
        Fault { stale: Some(Seconds(by)), ..Fault::new() }
    }

    /// For one operation only.
    #[must_use]
    pub fn on(mut self, operation: Operation) -> Fault {
        self.matching.operation = Some(operation);
        self
    }

    /// For one server only.
    #[must_use]
    pub fn about(mut self, server: &str) -> Fault {
        self.matching.server = Some(server.to_owned());
        self
    }

    /// For one caller only.
    #[must_use]
    pub fn of(mut self, token: &str) -> Fault {
        self.matching.token = Some(token.to_owned());
        self
    }

    /// For the nth of these requests, counted from 1.
    #[must_use]
    pub fn nth(mut self, number: u32) -> Fault {
        self.skip = number.saturating_sub(1);
        self
    }

    /// For so many of these requests.
    #[must_use]
    pub fn times(mut self, times: u32) -> Fault {
        self.times = Some(times);
        self
    }

    /// For all of these requests, from now on.
    #[must_use]
    pub fn always(mut self) -> Fault {
        self.times = None;
        self
    }
}

impl Default for Fault {
    fn default() -> Fault {
        Fault::new()
    }
}

/// A request, as far as a fault looks at it.
pub(crate) struct Subject<'a> {
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    pub(crate) operation: Operation,
    pub(crate) server: Option<&'a str>,
    pub(crate) token: Option<&'a str>,
}

impl Matching {
    fn holds(&self, subject: &Subject<'_>) -> bool {
        let same = |wanted: &Option<String>, is: Option<&str>| {
            wanted.as_deref().is_none_or(|wanted| is == Some(wanted))
        };
        self.method.as_deref().is_none_or(|method| method.eq_ignore_ascii_case(subject.method))
            && self.path.as_deref().is_none_or(|pattern| fits(pattern, subject.path))
            && self.operation.is_none_or(|operation| operation == subject.operation)
            && same(&self.server, subject.server)
            && same(&self.token, subject.token)
            && self.writes.is_none_or(|writes| writes != subject.operation.reads())
    }
}

/// Whether a text fits a pattern in which `*` stands for anything.
fn fits(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = text.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// A fault that is set, and what came of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Set {
    /// Its number.
    pub id: u64,
    /// What it is.
    pub fault: Fault,
    /// How many requests matched.
    pub matched: u32,
    /// How many went wrong.
    pub hit: u32,
}

/// All faults that are set.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Faults {
    set: Vec<Set>,
    made: u64,
}

impl Faults {
    pub(crate) fn set(&mut self, fault: Fault) -> u64 {
        self.made += 1;
        self.set.push(Set { id: self.made, fault, matched: 0, hit: 0 });
        self.made
    }

    pub(crate) fn all(&self) -> &[Set] {
        &self.set
    }

    /// Takes one back, or all; says how many there were.
    pub(crate) fn clear(&mut self, id: Option<u64>) -> usize {
        let before = self.set.len();
        self.set.retain(|set| id.is_some_and(|id| set.id != id));
        before - self.set.len()
    }

    /// What goes wrong with a request: the first fault that is for it. All that match it count it.
    pub(crate) fn strike(&mut self, subject: &Subject<'_>) -> Option<(u64, Fault)> {
        let mut found = None;
        for set in self.set.iter_mut().filter(|set| set.fault.matching.holds(subject)) {
            set.matched += 1;
            let due = set.matched > set.fault.skip && set.fault.times.is_none_or(|times| set.hit < times);
            if due && found.is_none() {
                set.hit += 1;
                found = Some((set.id, set.fault.clone()));
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (pattern, text, expected) in [
            ("/a/b", "/a/b", true),
            ("/a/b", "/a/bc", false),
            ("/a/*", "/a/bc", true),
            ("*/servers/*", "/zones/x/servers/1", true),
            ("*/servers/*/reboot", "/zones/x/servers/1/reinstall", false),
            ("*/servers/*/reboot", "/zones/x/servers/1/reboot", true),
            ("*", "", true),
            ("", "/", false),
            ("/a*b*b", "/ab", false),
        ] {
            assert_eq!(fits(pattern, text), expected, "{pattern} {text}");
        }
    }

    fn subject(server: &str) -> Subject<'_> {
        let operation = Operation::GetServer;
        Subject { method: "GET", path: "/x", operation, server: Some(server), token: Some("key") }
    }

    #[test]
    fn the_nth_and_so_many() {
        let mut faults = Faults::default();
        faults.set(Fault::failed(500).about("a").nth(2).times(2));
        let hits: Vec<bool> =
            ["a", "b", "a", "a", "a"].map(|one| faults.strike(&subject(one)).is_some()).to_vec();
        assert_eq!(hits, [false, false, true, true, false]);
        assert_eq!((faults.all()[0].matched, faults.all()[0].hit), (4, 2));
    }

    #[test]
    fn one_fault_for_a_request_and_the_next_for_the_next() {
        let mut faults = Faults::default();
        let (first, second) = (faults.set(Fault::failed(500)), faults.set(Fault::failed(502)));
        let struck = [0; 3].map(|_| faults.strike(&subject("a")).map(|(id, _)| id));
        assert_eq!(struck, [Some(first), Some(second), None]);
        assert_eq!(faults.clear(Some(first)), 1);
        assert_eq!(faults.clear(None), 1);
    }

    #[test]
    fn as_json() {
        let text = r#"{"matching":{"operation":"update_server","writes":true},"skip":1,"times":null,
            "effect":{"after":90},"answer":{"error":"transient_state"}}"#;
        let fault: Fault = serde_json::from_str(text).unwrap();
        assert_eq!(fault.times, None);
        assert_eq!(fault.effect, Effect::After(Seconds::new(90)));
        assert_eq!(fault.answer, Answer::Error(ErrorType::TransientState));
        assert_eq!(serde_json::from_str::<Fault>("{}").unwrap(), Fault::new());
        assert!(serde_json::from_str::<Fault>(r#"{"anser":"cut"}"#).is_err());
    }
}

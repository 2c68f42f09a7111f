//! Known bad states: what happened to hosts before, each with a name by which it is found again.
//!
//! 1. [`table`]: all of them, with why they happen and what cures them
//! 2. [`Finding`]: one of them, with what was observed of it. A kind says what it [detects](crate::resource::Resource::DETECTS)
//!    and finds that in what it observed; an [error](crate::resource::Error::known) of a connection may be a sign of one, too
//!
//! Nothing is asked of anybody for this alone: a finding is read out of what a plan observes anyway.

pub mod table;

pub use table::ALL;

/// A bad state that is known by name.
#[derive(Debug, PartialEq, Eq)]
pub struct Known {
    /// The name, which stays: words in lower case with `-` between them.
    pub name: &'static str,
    /// What is seen of it.
    pub seen: &'static str,
    /// Why it happens.
    pub why: &'static str,
    /// What ends it.
    pub cure: Cure,
}

/// What ends a bad state. The texts go on after "cure:".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cure {
    /// A step of apply on whoever saw it.
    Apply(&'static str),
    /// A step of apply on something of this kind on the same host, if one is declared there.
    By(&'static str, &'static str),
    /// A person, because nobody else can.
    Person(&'static str),
}

/// A known bad state, and what was observed of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Which.
    pub known: &'static Known,
    /// What was observed.
    pub evidence: String,
}

impl Known {
    /// The state, with what was observed of it.
    #[must_use]
    pub fn seen_by(&'static self, evidence: impl Into<String>) -> Finding {
        Finding { known: self, evidence: evidence.into() }
    }
}

impl Cure {
    /// What is to be done.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Cure::Apply(text) | Cure::By(_, text) | Cure::Person(text) => text,
        }
    }
}

/// How the trouble of a kind starts, and which known bad state it is a sign of.
pub type Sign = (&'static str, &'static Known);

/// What is detected by signs: for [`DETECTS`](crate::resource::Resource::DETECTS).
#[must_use]
pub const fn detected_by<const N: usize>(signs: &[Sign; N]) -> [&'static Known; N] {
    let mut known = [signs[0].1; N];
    let mut at = 1;
    while at < N {
        known[at] = signs[at].1;
        at += 1;
    }
    known
}

/// Some known bad states and some more, of which there are so many together: for the same.
#[must_use]
pub const fn both<const N: usize>(some: &[&'static Known], more: &[&'static Known]) -> [&'static Known; N] {
    assert!(some.len() + more.len() == N, "it is not told right how many there are together");
    let mut known = [some[0]; N];
    let mut at = 0;
    while at < N {
        known[at] = if at < some.len() { some[at] } else { more[at - some.len()] };
        at += 1;
    }
    known
}

/// The known bad state that trouble is a sign of.
#[must_use]
pub fn in_trouble(signs: &[Sign], trouble: Option<&str>) -> Vec<Finding> {
    let found = trouble.and_then(|trouble| {
        let (_, known) = signs.iter().find(|(start, _)| trouble.starts_with(start))?;
        Some(known.seen_by(trouble))
    });
    found.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_words_and_each_has_one() {
        let names: BTreeSet<&str> = ALL.iter().map(|known| known.name).collect();
        assert_eq!(names.len(), ALL.len());
        for known in ALL {
            let name = known.name;
            assert!(
                name.split('-').all(|word| !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase())),
                "{name}"
            );
            for text in [known.seen, known.why] {
                assert!(text.ends_with('.') && !text.contains('\n'), "{name}: {text}");
            }
            assert!(!known.cure.text().ends_with('.') && !known.cure.text().is_empty(), "{name}");
        }
    }

    #[test]
    fn trouble_is_known_by_how_it_starts() {
        let signs: &[Sign] = &[("it is gone", &table::LOGINWINDOW_GONE)];
        let found = in_trouble(signs, Some("it is gone: for good"));
        assert_eq!(found, [table::LOGINWINDOW_GONE.seen_by("it is gone: for good")]);
        assert_eq!(in_trouble(signs, Some("it is there")), []);
        assert_eq!(in_trouble(signs, None), []);
        let names = detected_by(&[("a", &table::PF_OFF), ("b", &table::CRASH_LOOP)]).map(|known| known.name);
        assert_eq!(names, ["pf-off", "crash-loop"]);
        let three: [&Known; 3] = both(&[&table::XCODE_MISSING], &[&table::PF_OFF, &table::CRASH_LOOP]);
        assert_eq!(three.map(|known| known.name), ["xcode-missing", "pf-off", "crash-loop"]);
    }
}

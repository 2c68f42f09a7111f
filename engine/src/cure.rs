//! Cures by their names, so that a test can take one away and see its incidents come back.
//!
//! What a known incident is cured by has a name. In a procedure it stands between two comments, and what was done instead
//! when the incident happened may stand in a third part, which is a comment as long as the cure is there:
//!
//! ```text
//! # cure restart-kills
//! launchctl kickstart -k "$target"
//! # without restart-kills
//! #- launchctl kickstart "$target"
//! # end restart-kills
//! ```
//!
//! In Rust, [`is_there`] is asked. Nothing but tests calls [`take_away`]; without it every cure is there.

use std::collections::BTreeSet;
use std::sync::OnceLock;

static AWAY: OnceLock<BTreeSet<String>> = OnceLock::new();

/// Takes cures away for as long as this process lives; only the first call counts.
pub fn take_away(names: impl IntoIterator<Item = String>) {
    AWAY.get_or_init(|| names.into_iter().collect());
}

/// Whether a cure is there.
#[must_use]
pub fn is_there(name: &str) -> bool {
    AWAY.get().is_none_or(|away| !away.contains(name))
}

/// A procedure with the cures that are there.
#[must_use]
pub fn procedure(text: &'static str) -> &'static str {
    match AWAY.get() {
        Some(away) if away.iter().any(|name| text.contains(&format!("# cure {name}\n"))) => {
            // Only tests come here, and each for one procedure or two.
            Box::leak(without(text, away).into_boxed_str())
        }
        _ => text,
    }
}

/// The same for a text that a test has read, such as a script of a module.
#[must_use]
pub fn script(text: &str) -> String {
    AWAY.get().map_or_else(|| text.to_owned(), |away| without(text, away))
}

/// The text without some cures.
fn without(text: &str, away: &BTreeSet<String>) -> String {
    let mut kept = String::new();
    // What is left out until which line.
    let (mut skips, mut instead) = (false, false);
    for line in text.lines() {
        let word = |start: &str| line.trim_start().strip_prefix(start).filter(|name| away.contains(*name));
        if word("# cure ").is_some() {
            (skips, instead) = (true, false);
        } else if word("# without ").is_some() {
            (skips, instead) = (false, true);
        } else if word("# end ").is_some() {
            (skips, instead) = (false, false);
        } else if !skips {
            let line = if instead { line.replacen("#- ", "", 1) } else { line.to_owned() };
            kept += &format!("{line}\n");
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cure_is_taken_away_by_its_name() {
        let text = "a\n  # cure one\n  b\n  # without one\n  #- c\n  # end one\n# cure two\nd\n# end two\n";
        let away = |names: &[&str]| without(text, &names.iter().map(|name| (*name).to_owned()).collect());
        assert_eq!(away(&[]), text);
        assert_eq!(away(&["one"]), "a\n  c\n# cure two\nd\n# end two\n");
        assert_eq!(away(&["two"]), "a\n  # cure one\n  b\n  # without one\n  #- c\n  # end one\n");
        assert!(is_there("one"));
    }
}

//! Disagreements that are meant, each with its reason.
//!
//! A line of `known.txt` that starts with `#` is the reason for the lines below it: an expression, `/…/` for all
//! expressions that a pattern finds, or `config NAME`. `| ` goes on with the line above.

use std::cell::Cell;
use std::fs;
use std::path::Path;

use regex::Regex;

/// All accepted disagreements.
pub(super) struct Known(Vec<Entry>);

struct Entry {
    test: Test,
    text: String,
    reason: String,
    used: Cell<bool>,
}

enum Test {
    Exactly,
    Pattern(Regex),
}

impl Known {
    pub(super) fn read(file: &Path) -> Result<Known, String> {
        let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
        Known::parse(&text)
    }

    fn parse(text: &str) -> Result<Known, String> {
        let mut lines: Vec<(String, String)> = Vec::new();
        let (mut reason, mut within) = (String::new(), false);
        for line in text.lines() {
            if let Some(words) = line.strip_prefix('#') {
                if within {
                    reason.clear();
                }
                within = false;
                let space = if reason.is_empty() { "" } else { " " };
                reason = format!("{reason}{space}{}", words.trim());
            } else if let (Some(more), Some((last, _))) = (line.strip_prefix("| "), lines.last_mut()) {
                *last = format!("{last}\n{more}");
            } else if line.is_empty() {
                reason.clear();
            } else {
                within = true;
                lines.push((line.to_owned(), reason.clone()));
            }
        }
        let entries = lines.into_iter().map(|(text, reason)| {
            if reason.is_empty() {
                return Err(format!("known.txt gives no reason for {text}"));
            }
            let pattern = text.strip_prefix('/').and_then(|text| text.strip_suffix('/'));
            let test = match pattern {
                Some(pattern) => Test::Pattern(Regex::new(pattern).map_err(|error| error.to_string())?),
                None => Test::Exactly,
            };
            Ok(Entry { test, text, reason, used: Cell::new(false) })
        });
        Ok(Known(entries.collect::<Result<_, String>>()?))
    }

    /// Why a disagreement about this is meant.
    pub(super) fn reason(&self, about: &str) -> Option<&str> {
        let fits = |entry: &&Entry| match &entry.test {
            Test::Exactly => entry.text == about,
            Test::Pattern(pattern) => pattern.is_match(about),
        };
        let entry = self.0.iter().find(fits)?;
        entry.used.set(true);
        Some(&entry.reason)
    }

    /// Entries that explained nothing. Patterns are left out: whether the generator meets them is chance.
    pub(super) fn stale(&self) -> impl Iterator<Item = &str> {
        let stale = |entry: &&Entry| !entry.used.get() && matches!(entry.test, Test::Exactly);
        self.0.iter().filter(stale).map(|entry| &*entry.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_have_reasons() {
        let known = Known::parse("# one\n# two\na\n/b+/\n\n# three\nc\n| d\n").unwrap();
        assert_eq!(known.reason("a"), Some("one two"));
        assert_eq!(known.reason("abb"), Some("one two"));
        assert_eq!(known.stale().collect::<Vec<_>>(), ["c\nd"]);
        assert_eq!(known.reason("c\nd"), Some("three"));
        assert_eq!(known.reason("x"), None);
        assert!(Known::parse("a\n").is_err());
    }
}

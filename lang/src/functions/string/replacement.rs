//! What a match of a pattern is replaced with.

use regex::Captures;

use super::pattern::Pattern;

/// A text in which `$1`, `$name` and `${name}` stand for what the groups of a pattern matched. A `$` that is followed
/// by nothing of the kind stands for itself, and so does `$$`; a group that does not exist is empty.
pub(super) struct Replacement<'a>(Vec<Piece<'a>>);

enum Piece<'a> {
    Text(&'a str),
    /// The first of these groups that took part in the match.
    Group(Vec<usize>),
}

impl<'a> Replacement<'a> {
    /// Reads a replacement for matches of a pattern.
    pub(super) fn new(text: &'a str, pattern: &Pattern) -> Replacement<'a> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('$') {
            pieces.push(Piece::Text(before));
            if let Some((name, after)) = reference(after) {
                pieces.push(Piece::Group(groups(name, pattern)));
                rest = after;
            } else {
                pieces.push(Piece::Text("$"));
                rest = after.strip_prefix('$').unwrap_or(after);
            }
        }
        pieces.push(Piece::Text(rest));
        Replacement(pieces)
    }

    /// Writes what a match is replaced with.
    pub(super) fn write(&self, captures: &Captures<'_>, out: &mut String) {
        for piece in &self.0 {
            match piece {
                Piece::Text(text) => out.push_str(text),
                Piece::Group(groups) => {
                    let found = groups.iter().find_map(|group| captures.get(*group));
                    out.push_str(found.map_or("", |found| found.as_str()));
                }
            }
        }
    }
}

/// The group name after a `$` and what follows it.
fn reference(text: &str) -> Option<(&str, &str)> {
    let braced = text.strip_prefix('{');
    let start = braced.unwrap_or(text);
    let end = start.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(start.len());
    let (name, after) = start.split_at(end);
    let after = if braced.is_some() { after.strip_prefix('}')? } else { after };
    (!name.is_empty()).then_some((name, after))
}

/// The groups that a name or number stands for. Several may have the same name.
fn groups(name: &str, pattern: &Pattern) -> Vec<usize> {
    let is_number = name.bytes().all(|b| b.is_ascii_digit()) && (name == "0" || !name.starts_with('0'));
    if is_number {
        return name.parse().into_iter().collect();
    }
    let is_named =
        |(index, group): (usize, &Option<String>)| (group.as_deref() == Some(name)).then_some(index + 1);
    pattern.names.iter().enumerate().filter_map(is_named).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replacements_as_in_go() {
        let check = |pattern: &str, text: &str, expected: &str| {
            let pattern = Pattern::new(pattern).unwrap();
            let mut out = String::new();
            Replacement::new(text, &pattern).write(&pattern.regex.captures("hello").unwrap(), &mut out);
            assert_eq!(out, expected, "{text}");
        };
        check("(h)", "$1x", "");
        check("(h)", "${1}x", "hx");
        check("(?P<n>l)", "${n}x", "lx");
        check("(?P<n>l)", "<$n>", "<l>");
        check("(?P<n>x)|(?P<n>l)", "<$n>", "<l>");
        check("l", "$$", "$");
        check("l", "$", "$");
        check("l", "$ a", "$ a");
        check("l", "$0$0", "ll");
        check("(h)|(z)", "[$1$2]", "[h]");
        check("l", "${a-b}", "${a-b}");
        check("l", "${", "${");
        check("l", "${}", "${}");
        check("l", "$9", "");
        check("l", "$99999999999999999999", "");
        check("(h)", "[$01]", "[]");
        check("h", "$é", "");
    }
}

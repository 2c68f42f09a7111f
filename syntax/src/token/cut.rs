//! Where text without an end plainly goes on with something else.
//!
//! These rules only ever see text that cannot be valid, or (inside `${…}`) lines that no expression can hold, so a
//! wrong guess costs an error message its precision and nothing else.

use std::collections::HashMap;

use memchr::memchr;
use unicode_ident::{is_xid_continue, is_xid_start};

/// The last line of a text at which each heredoc marker could end a heredoc.
pub(super) struct Endings<'a> {
    text: &'a str,
    /// Filled at the first heredoc: searching the text for every one of them would be quadratic.
    last: Option<HashMap<&'a str, usize>>,
    /// Where to cut off a heredoc without an end: good for all that start before it.
    next_cut: Option<usize>,
}

impl<'a> Endings<'a> {
    pub(super) fn new(text: &'a str) -> Endings<'a> {
        Endings { text, last: None, next_cut: None }
    }

    /// Where to cut off the heredoc whose text starts at `from`: never, if it has an end.
    pub(super) fn cut(&mut self, from: usize, marker: &str) -> usize {
        let last = self.last.get_or_insert_with(|| {
            let lines = lines(self.text, 0).map(|(start, line)| (line.trim(), start));
            lines
                .filter(|(line, _)| {
                    line.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b) || b >= 0x80)
                })
                .collect()
        });
        match last.get(marker) {
            Some(end) if *end >= from => usize::MAX,
            _ => {
                let cut = self.next_cut.filter(|cut| from <= *cut).unwrap_or_else(|| resume(self.text, from));
                *self.next_cut.insert(cut)
            }
        }
    }
}

/// Whether the line that `rest` starts with ends a heredoc of this marker.
pub(super) fn is_marker(rest: &str, marker: &str) -> bool {
    let rest = rest.trim_start_matches([' ', '\t']);
    rest.strip_prefix(marker).is_some_and(is_blank)
}

/// Whether nothing but spaces stands between here and the end of the line.
pub(super) fn is_blank(rest: &str) -> bool {
    let rest = rest.trim_start_matches([' ', '\t', '\r']);
    rest.is_empty() || rest.starts_with('\n')
}

/// Whether the line that `rest` starts with shows that the template before it lacks its `}`: the start of a block, or,
/// with no bracket open inside the template, an attribute, or a `}` that would leave a quoted string open.
pub(super) fn ends_template(rest: &str, no_bracket: bool, quoted: bool) -> bool {
    if starts_block(rest) {
        return true;
    }
    if !no_bracket {
        return false;
    }
    let rest = rest.trim_start_matches([' ', '\t']);
    if quoted && let Some(rest) = rest.strip_prefix('}') {
        return is_blank(rest);
    }
    let after = after_ident(rest).map(|rest| rest.trim_start_matches([' ', '\t']));
    after.is_some_and(|rest| rest.starts_with('=') && !rest.starts_with("==") && !rest.starts_with("=>"))
}

/// Whether `rest` starts with what can only be a block: a name in the first column, labels, `{`.
pub(crate) fn starts_block(rest: &str) -> bool {
    let Some(mut rest) = after_ident(rest) else { return false };
    loop {
        rest = rest.trim_start_matches([' ', '\t']);
        if rest.starts_with('{') {
            return true;
        }
        rest = if let Some(label) = rest.strip_prefix('"') {
            match label.find(['"', '\n']) {
                Some(end) if label[end..].starts_with('"') => &label[end + 1..],
                _ => return false,
            }
        } else if let Some(rest) = after_ident(rest) {
            rest
        } else {
            return false;
        };
    }
}

/// Where configuration goes on after a heredoc without an end: at the next block, or at the closing brackets before it.
fn resume(text: &str, from: usize) -> usize {
    let mut closers = None;
    for (start, line) in lines(text, from) {
        let trimmed = line.trim();
        if starts_block(line) {
            return closers.unwrap_or(start);
        } else if trimmed.is_empty() || trimmed.starts_with('#') || trimmed.starts_with("//") {
            continue;
        } else if trimmed.bytes().all(|byte| b"}])".contains(&byte)) {
            closers = closers.or(Some(start));
        } else {
            closers = None;
        }
    }
    closers.unwrap_or(text.len())
}

/// What follows the name that a text starts with.
pub(super) fn after_ident(text: &str) -> Option<&str> {
    let mut chars = text.chars();
    chars.next().filter(|c| *c == '_' || is_xid_start(*c))?;
    Some(chars.as_str().trim_start_matches(|c| c == '-' || is_xid_continue(c)))
}

/// The line that a text starts with, without the newline.
pub(super) fn line(text: &str) -> &str {
    &text[..memchr(b'\n', text.as_bytes()).unwrap_or(text.len())]
}

/// The lines of a text from a place on, each with its start and without its newline.
fn lines(text: &str, from: usize) -> impl Iterator<Item = (usize, &str)> {
    let mut at = from;
    std::iter::from_fn(move || {
        let start = at;
        let rest = text.get(start..).filter(|rest| !rest.is_empty())?;
        let line = line(rest);
        at = start + line.len() + 1;
        Some((start, line))
    })
}

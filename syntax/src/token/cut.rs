//! Where text without an end plainly goes on with something else.
//!
//! These rules only ever see text that cannot be valid, or (inside `${…}`) lines that no expression can hold, so a
//! wrong guess costs an error message its precision and nothing else.

use std::collections::HashMap;

use memchr::memchr;
use unicode_ident::{is_xid_continue, is_xid_start};

/// Where the heredocs of a text end, or where they are cut off.
pub(super) struct Endings<'a> {
    text: &'a str,
    /// The last line at which each marker could end a heredoc. Filled at the first heredoc: searching the text for every
    /// one of them would be quadratic.
    last: Option<HashMap<&'a str, usize>>,
    /// Good for all heredocs that start before it.
    resumption: Option<Resumption>,
}

/// Where configuration goes on after a heredoc without an end: at the next block, or at closing brackets before it.
struct Resumption {
    block: usize,
    /// The closing brackets on lines of their own directly before the block: the start of the line of each.
    closers: Vec<usize>,
}

impl<'a> Endings<'a> {
    pub(super) fn new(text: &'a str) -> Endings<'a> {
        Endings { text, last: None, resumption: None }
    }

    /// Whether a heredoc whose text starts at `from` has an end.
    pub(super) fn has_end(&mut self, from: usize, marker: &str) -> bool {
        let last = self.last.get_or_insert_with(|| {
            let is_marker = |line: &str| {
                line.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b) || b >= 0x80)
            };
            let lines = lines(self.text, 0).map(|(start, line)| (line.trim(), start));
            lines.filter(|(line, _)| !line.is_empty() && is_marker(line)).collect()
        });
        last.get(marker).is_some_and(|end| *end >= from)
    }

    /// Where to cut off a heredoc without an end whose text starts at `from`, inside of so many brackets.
    pub(super) fn cut(&mut self, from: usize, brackets: usize) -> usize {
        let cached = self.resumption.take().filter(|resumption| from <= resumption.block);
        let resumption = self.resumption.insert(cached.unwrap_or_else(|| resume(self.text, from)));
        // Of many closing brackets the first ones may be text.
        let first = resumption.closers.len().saturating_sub(brackets);
        resumption.closers.get(first).copied().filter(|closer| from <= *closer).unwrap_or(resumption.block)
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

/// Whether `rest` starts with what can only be a block: a name in the first column, labels, `{`. The words that go on
/// with an expression (`for x in {`, `x in {`, `x if {`) are not in one.
pub(crate) fn starts_block(rest: &str) -> bool {
    let after_word = |text| {
        let rest: &str = after_ident(text)?;
        (!matches!(&text[..text.len() - rest.len()], "for" | "in" | "if")).then_some(rest)
    };
    let Some(mut rest) = after_word(rest) else { return false };
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
        } else if let Some(rest) = after_word(rest) {
            rest
        } else {
            return false;
        };
    }
}

fn resume(text: &str, from: usize) -> Resumption {
    let mut closers = Vec::new();
    for (start, line) in lines(text, from) {
        let trimmed = line.trim();
        if starts_block(line) {
            return Resumption { block: start, closers };
        } else if trimmed.is_empty() || trimmed.starts_with('#') || trimmed.starts_with("//") {
            continue;
        } else if trimmed.bytes().all(|byte| b"}])".contains(&byte)) {
            closers.extend(trimmed.bytes().map(|_| start));
        } else {
            closers.clear();
        }
    }
    Resumption { block: text.len(), closers }
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

//! The few lines of source shown with a diagnostic.
//!
//! A snippet is cut out once and is small, whatever the size of the text it comes from: a line of a megabyte is
//! clipped around the place to blame, and the rest of a span of many lines is left out.

use std::ops::Range;

use fleet_syntax::source::Position;
use fleet_syntax::{Sources, Span};

/// Characters kept in front of the blamed one when more than twice as many stand there.
const BEFORE: usize = 40;
/// Characters kept from the blamed one on, and of the lines above and below.
const AFTER: usize = 80;
/// Stands for what was clipped.
const CLIPPED: char = '…';

/// Lines of source with a part of them to underline.
#[derive(Debug)]
pub(super) struct Snippet<'a> {
    /// The name of the text.
    pub(super) name: &'a str,
    /// Where the blamed text starts.
    pub(super) start: Position,
    /// The blamed line, which may be clipped.
    pub(super) line: String,
    /// What to underline, as bytes of `line`.
    pub(super) highlight: Range<usize>,
    /// The line above and the line below.
    pub(super) above: Option<String>,
    pub(super) below: Option<String>,
}

impl<'a> Snippet<'a> {
    /// Cuts out the lines around the start of `span`.
    pub(super) fn new(sources: &'a Sources, span: Span) -> Snippet<'a> {
        let source = sources.get(span.file);
        let at = source.text.floor_char_boundary(span.start as usize);
        let start = source.position(span.start);
        let range = source.line(start.line).unwrap_or(at..at);
        // The blamed text may be the line ending itself.
        let (before, rest) = source.text[range.clone()].split_at(at.min(range.end) - range.start);
        let (before, clipped_left) = clip_left(before);
        let (rest, clipped_right) = clip(rest);
        let end = source.text.ceil_char_boundary(span.end as usize);
        let (blamed, after) = rest.split_at(end.saturating_sub(at).min(rest.len()));

        let mut line = String::new();
        line.extend(clipped_left.then_some(CLIPPED));
        line.extend(clean(before));
        let first = line.len();
        line.extend(clean(blamed));
        let last = line.len();
        line.extend(clean(after));
        line.extend(clipped_right.then_some(CLIPPED));

        // Neighbours of a line that is shown from its middle on would only confuse.
        let neighbour = |number: Option<u32>| {
            let (text, clipped) = clip(&source.text[source.line(number?)?]);
            (!clipped_left).then(|| clean(text).chain(clipped.then_some(CLIPPED)).collect::<String>())
        };
        let above = neighbour(start.line.checked_sub(1));
        let below = neighbour(start.line.checked_add(1)).filter(|text| !text.is_empty());
        Snippet { name: &source.name, start, line, highlight: first..last, above, below }
    }
}

/// Text with nothing in it that could take hold of a terminal or reorder what a person reads.
pub(crate) fn clean(text: &str) -> impl Iterator<Item = char> {
    text.chars().map(|c| match c {
        '\t' | '\n' => c,
        '\0'..='\x1f' => char::from_u32(0x2400 + c as u32).unwrap_or(char::REPLACEMENT_CHARACTER),
        '\x7f' => '␡',
        '\u{80}'..='\u{9f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            char::REPLACEMENT_CHARACTER
        }
        _ => c,
    })
}

/// The first characters of a text, and whether something is missing.
fn clip(text: &str) -> (&str, bool) {
    match text.char_indices().nth(AFTER) {
        Some((end, _)) => (&text[..end], true),
        None => (text, false),
    }
}

/// The last characters of a text, and whether something is missing.
fn clip_left(text: &str) -> (&str, bool) {
    let mut from_end = text.char_indices().rev();
    let start = from_end.nth(BEFORE - 1).map(|(start, _)| start);
    match (start, from_end.nth(BEFORE)) {
        (Some(start), Some(_)) => (&text[start..], true),
        _ => (text, false),
    }
}

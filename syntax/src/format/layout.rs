//! Tokens → text: how far lines are indented, and in which columns `=` and trailing comments stand.
//!
//! A line has three cells: what comes first, the `= value` of a line that holds a whole value, and a trailing comment.
//! Neighbouring lines that have a cell align it. A heredoc belongs to the line it starts on.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

use super::spacing::{Piece, bracket_change, pieces, space_between};
use crate::token::{Token, TokenKind as K};

/// Cells further right than this are left where they are: nobody reads a column there, and padding every line of a
/// long file up to one very long line would make a text without bounds.
const LAST_COLUMN: usize = 256;

/// The text of the tokens, laid out.
pub(super) fn layout(text: &str, tokens: &[Token]) -> String {
    let mut pieces = pieces(text, tokens);
    end_with_newline(&mut pieces);
    let lines = lines(&pieces);
    space(&mut pieces, &lines);
    indent(&mut pieces, &lines);
    align(&mut pieces, &lines, Line::assignment);
    align(&mut pieces, &lines, Line::comment);
    write(&pieces, text.len())
}

/// A line of the output as indexes of its pieces: `start..assign` comes first, then `assign..comment` holds the
/// `= value`, and `comment..end` the trailing comment and the newline. Cells may be empty.
#[derive(Clone, Copy, Debug)]
struct Line {
    start: usize,
    assign: usize,
    comment: usize,
    end: usize,
}

impl Line {
    fn new(pieces: &[Piece], range: Range<usize>) -> Line {
        let Range { start, end } = range;
        let newline = end - 1;
        // A comment alone on its line is no trailing one.
        let trails = newline > start + 1 && pieces[newline - 1].kind == K::LineComment;
        let comment = if trails { newline - 1 } else { newline };
        // Brackets that stay open make a value of many lines, which aligns with nothing.
        let whole = |at: &usize| net_brackets(&pieces[*at..comment]) == 0;
        let equal = (start + 1..comment).find(|at| pieces[*at].kind == K::Equal);
        Line { start, assign: equal.filter(whole).unwrap_or(comment), comment, end }
    }

    /// Where the `= value` starts, if there is one.
    fn assignment(&self) -> Option<usize> {
        (self.assign < self.comment).then_some(self.assign)
    }

    /// Where the trailing comment stands, if there is one.
    fn comment(&self) -> Option<usize> {
        (self.comment + 1 < self.end).then_some(self.comment)
    }
}

/// The last line gets the newline it lacks, of the kind the text uses.
fn end_with_newline(pieces: &mut Vec<Piece>) {
    if pieces.last().is_some_and(|last| last.kind != K::Newline) {
        let text = pieces.iter().find(|piece| piece.kind == K::Newline).map_or("\n", |piece| piece.text);
        pieces.push(Piece::new(K::Newline, text, None));
    }
}

fn lines(pieces: &[Piece]) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut start = 0;
    for (at, piece) in pieces.iter().enumerate() {
        if piece.kind == K::Newline {
            lines.push(Line::new(pieces, start..at + 1));
            start = at + 1;
        }
    }
    lines
}

/// Spaces inside lines, before anything is aligned.
fn space(pieces: &mut [Piece], lines: &[Line]) {
    for line in lines {
        for at in line.start + 1..line.end {
            pieces[at].space = usize::from(space_between(pieces[at - 1], pieces[at]));
        }
    }
}

/// Two spaces for every line above that left brackets open, however many it opened: `f({` and its `})` are one step.
fn indent(pieces: &mut [Piece], lines: &[Line]) {
    // How many brackets are still open of each line that opened some.
    let mut open: Vec<usize> = Vec::new();
    for line in lines {
        if pieces[line.start].kind == K::Newline {
            continue;
        }
        let code = &pieces[line.start..line.comment];
        // What a heredoc holds does not move the lines after it.
        let heredoc = code.iter().position(|piece| piece.kind == K::OpenHeredoc);
        let net = net_brackets(&code[..heredoc.unwrap_or(code.len())]);
        let mut closed = net.min(0).unsigned_abs();
        while let Some(last) = open.last_mut() {
            if closed < *last {
                *last -= closed;
                break;
            }
            closed -= *last;
            open.pop();
        }
        pieces[line.start].space = 2 * open.len();
        if net > 0 {
            open.push(net.unsigned_abs());
        }
    }
}

/// Moves the cell that starts at `cell` to one column in neighbouring lines that have one.
fn align(pieces: &mut [Piece], lines: &[Line], cell: fn(&Line) -> Option<usize>) {
    for neighbours in lines.chunk_by(|a, b| cell(a).is_some() == cell(b).is_some()) {
        let cells: Vec<(usize, usize)> = neighbours
            .iter()
            .filter_map(|line| cell(line).map(|at| (at, columns(&pieces[line.start..at]))))
            .collect();
        let widths = cells.iter().map(|(_, columns)| *columns);
        let widest = widths.filter(|columns| *columns <= LAST_COLUMN).max().unwrap_or(0);
        for (at, columns) in cells {
            pieces[at].space = widest.saturating_sub(columns) + 1;
        }
    }
}

/// How far the pieces reach, in characters as people count them. A piece of many lines counts from its last line.
fn columns(pieces: &[Piece]) -> usize {
    pieces.iter().fold(0, |columns, piece| match piece.text.rsplit_once('\n') {
        Some((_, last)) => width(last),
        None => columns + piece.space + width(piece.text),
    })
}

fn width(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.graphemes(true).count() }
}

fn net_brackets(pieces: &[Piece]) -> isize {
    pieces.iter().map(|piece| bracket_change(piece.kind)).sum()
}

fn write(pieces: &[Piece], about: usize) -> String {
    let mut out = String::with_capacity(about + about / 8);
    for piece in pieces {
        out.extend(std::iter::repeat_n(' ', piece.space));
        out.push_str(piece.text);
    }
    out
}

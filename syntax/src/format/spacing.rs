//! Which neighbours on a line get a space between them.

use crate::token::{Token, TokenKind as K};

/// A token of the output with what its surroundings make of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece<'a> {
    pub(super) kind: K,
    pub(super) text: &'a str,
    /// Spaces in front, once decided.
    pub(super) space: usize,
    /// Whether a value ends here, so that a `[` right after it is an index and a `-` a subtraction.
    ends_value: bool,
    /// Whether it is a `-` or `!` that belongs to the value after it.
    prefix: bool,
    /// Whether a number stands before it.
    follows_number: bool,
}

/// The pieces of a text, all but the byte order mark and the end.
pub(super) fn pieces<'a>(text: &'a str, tokens: &[Token]) -> Vec<Piece<'a>> {
    let mut pieces = Vec::with_capacity(tokens.len() + 1);
    // The last piece that is neither comment nor newline: a value may go on after both inside brackets.
    let mut last: Option<Piece> = None;
    for token in tokens {
        if matches!(token.kind, K::ByteOrderMark | K::Eof) {
            continue;
        }
        let piece = Piece::new(token.kind, token.text(text), last);
        if !matches!(token.kind, K::Newline | K::LineComment | K::BlockComment) {
            last = Some(piece);
        }
        pieces.push(piece);
    }
    pieces
}

/// Whether a space stands between two neighbours on a line.
pub(super) fn space_between(left: Piece, right: Piece) -> bool {
    match (left.kind, right.kind) {
        (_, K::Newline) => false,
        (K::Ident, K::OpenParen) if left.ends_value => false,
        // `a.0 .1` is two steps, `a.0.1` would be the number 0.1.
        (K::Dot, K::Number) => left.follows_number,
        (K::Dot, _) | (_, K::Dot) | (K::DoubleColon, K::Ident) | (K::Ident, K::DoubleColon) => false,
        (_, K::Comma | K::Ellipsis) => false,
        (K::Comma, _) => true,
        // The text of a template is not ours to change.
        (K::OpenQuote | K::OpenHeredoc | K::QuotedText | K::Text, _)
        | (_, K::CloseQuote | K::CloseHeredoc | K::QuotedText | K::Text) => false,
        (_, K::OpenBracket) if left.ends_value => false,
        _ if left.prefix => false,
        (K::OpenBrace, K::CloseBrace) => false,
        (K::OpenBrace, _) | (_, K::CloseBrace) => true,
        // An object alone in an interpolation: `${ { a = 1 } }` is easier to read than `${{ a = 1 }}`.
        (K::OpenInterpolation | K::OpenDirective, K::OpenBrace) | (K::CloseBrace, K::CloseTemplate) => true,
        (K::CloseTemplate, K::OpenInterpolation | K::OpenDirective) => false,
        _ => bracket_change(left.kind) <= 0 && bracket_change(right.kind) >= 0,
    }
}

/// 1 for an opening bracket, -1 for a closing one, else 0. Template sequences are brackets too.
pub(super) fn bracket_change(kind: K) -> isize {
    match kind {
        K::OpenBrace | K::OpenBracket | K::OpenParen | K::OpenInterpolation | K::OpenDirective => 1,
        K::CloseBrace | K::CloseBracket | K::CloseParen | K::CloseTemplate => -1,
        _ => 0,
    }
}

impl<'a> Piece<'a> {
    /// A piece that comes after `last`, comments and newlines apart.
    pub(super) fn new(kind: K, text: &'a str, last: Option<Piece>) -> Piece<'a> {
        let follows_value = last.is_some_and(|last| last.ends_value);
        let ends_value = match kind {
            K::Ident => !(matches!(text, "in" | "if") && keyword_may_follow(last)),
            K::Star => last.is_some_and(|last| last.kind == K::Dot),
            K::Number | K::CloseBrace | K::CloseBracket | K::CloseParen | K::CloseQuote | K::CloseHeredoc => {
                true
            }
            _ => false,
        };
        let prefix = kind == K::Bang || (kind == K::Minus && !follows_value);
        let follows_number = last.is_some_and(|last| last.kind == K::Number);
        Piece { kind, text, space: 0, ends_value, prefix, follows_number }
    }
}

/// `in` and `if` are keywords after a value (`x in y`, `x if y`, `x... if y`) and at the start of a directive, names
/// elsewhere.
fn keyword_may_follow(last: Option<Piece>) -> bool {
    last.is_some_and(|last| last.ends_value || matches!(last.kind, K::Ellipsis | K::OpenDirective))
}

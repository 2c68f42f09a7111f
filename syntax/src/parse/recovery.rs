//! Brackets, and how the parser finds its feet after an error.
//!
//! After an error the parser is *lost*: it reports nothing more and every rule returns what it has, until a rule with
//! brackets finds its next item or its end ([`Parser::resume`]), or the body finds its next line
//! ([`Parser::resume_line`]). So one mistake is one message.

use super::message::describe;
use super::parser::Parser;
use crate::token::{Token, TokenKind, TokenKind as K, cut};
use crate::{Diagnostic, Span};

const OUTER_CLOSE: &str = "by its indentation this closes what is around it";

/// What parts the items between brackets.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Separator {
    /// There is one item only.
    None,
    Comma,
    CommaOrNewline,
}

/// An open bracket, to be closed.
#[derive(Clone, Copy)]
pub(super) struct Bracket {
    pub(super) open: Token,
    close: TokenKind,
    /// Whether newlines counted before it.
    newlines: bool,
    /// Where its line starts and how far that is indented.
    line_start: usize,
    indentation: usize,
}

impl Parser<'_> {
    /// Takes an opening bracket. Until it is closed, newlines count or not as told.
    pub(super) fn open(&mut self, close: TokenKind, newlines: bool) -> Bracket {
        let bracket = self.open_unseen(self.current(), close);
        self.newlines = newlines;
        self.bump();
        bracket
    }

    /// Goes on as if the token, which was taken already, were an opening bracket.
    pub(super) fn open_unseen(&mut self, open: Token, close: TokenKind) -> Bracket {
        let (newlines, line_start, indentation) = (self.newlines, self.line_start, self.indentation());
        let bracket = Bracket { open, close, newlines, line_start, indentation };
        self.brackets.push(bracket);
        bracket
    }

    /// Leaves a bracket without its end.
    pub(super) fn abandon(&mut self, bracket: Bracket) {
        self.newlines = bracket.newlines;
        self.brackets.pop();
    }

    /// Whether the current token is to be taken for the end of this bracket.
    pub(super) fn at_close(&self, bracket: Bracket) -> bool {
        match self.kind() {
            kind if kind == bracket.close => !self.is_outer_close(),
            K::CloseBrace | K::CloseBracket | K::CloseParen => self.is_mistyped_close(bracket),
            _ => false,
        }
    }

    /// Whether the current closing bracket, by its indentation, belongs to something further out.
    fn is_outer_close(&self) -> bool {
        let (true, Some((inner, outer))) = (self.by_layout, self.brackets.split_last()) else { return false };
        let indentation = self.indentation();
        self.starts_line()
            && indentation < inner.indentation
            && outer.iter().any(|bracket| bracket.indentation == indentation)
    }

    /// Whether the current closing bracket stands where another one should: right below the line that opened it, and
    /// that line opened nothing that it does close.
    fn is_mistyped_close(&self, bracket: Bracket) -> bool {
        let same_line = |other: &&Bracket| other.line_start == bracket.line_start;
        self.starts_line()
            && self.indentation() == bracket.indentation
            && self.line_start != bracket.line_start
            && bracket.close != K::CloseTemplate
            && !self.brackets.iter().rev().take_while(same_line).any(|other| other.close == self.kind())
    }

    /// Whether the current line, by layout, starts a block of the file although something is open.
    pub(super) fn is_outer_block(&self) -> bool {
        self.by_layout && self.starts_file_block()
    }

    fn starts_file_block(&self) -> bool {
        let start = self.current().start as usize;
        start == self.line_start && cut::starts_block(&self.text[start..])
    }

    /// Takes the closing bracket, or says that it is missing and looks for it. Returns where it stands, or where it
    /// should.
    pub(super) fn close(&mut self, bracket: Bracket, wanted: &str) -> Span {
        if !self.lost && !self.at_close(bracket) {
            self.fail_unclosed(bracket, wanted);
        }
        let found = !self.lost || self.resume(bracket, Separator::None);
        if found && self.kind() != bracket.close {
            let wanted = describe(bracket.close, "");
            let diagnostic = Diagnostic { help: None, ..self.expected(&wanted) };
            self.report(diagnostic.related(self.span_of(bracket.open), "to close this"));
        }
        self.abandon(bracket);
        if found {
            let token = self.bump();
            self.span_of(token)
        } else {
            let end = self.since(bracket.open.end).end;
            Span { file: self.file, start: end, end }
        }
    }

    /// Whether no item of this bracket can start here: something else is closed, or the line belongs to a body.
    pub(super) fn cannot_follow(&self, bracket: Bracket) -> bool {
        match self.kind() {
            K::CloseBrace | K::CloseBracket | K::CloseParen => !self.at_close(bracket),
            K::CloseTemplate | K::Eof => true,
            _ => self.is_body_line(bracket),
        }
    }

    /// Whether the line that starts here is plainly one of the body around this bracket: a block at the very left, or,
    /// unless names and braces may stand in the bracket too, an attribute or block no further in than its line.
    fn is_body_line(&self, bracket: Bracket) -> bool {
        if self.kind() != K::Ident || !self.starts_line() || bracket.close == K::CloseTemplate {
            return false;
        }
        let object = bracket.close == K::CloseBrace;
        let left =
            !object && self.indentation() <= bracket.indentation && self.line_start > bracket.line_start;
        self.starts_file_block() || left && self.looks_like_item()
    }

    /// Something stands where an item or the closing bracket should: which of the two is wrong depends on what it is.
    pub(super) fn fail_unclosed(&mut self, bracket: Bracket, wanted: &str) {
        if self.kind() == K::Equal && self.at > 0 && self.tokens[self.at - 1].kind == K::Ident {
            // `a = [1` and on the next line `b = 2`: the name was taken for an item.
            self.at -= 1;
            if !self.is_body_line(bracket) {
                self.at += 1;
            }
        }
        let ends = match self.kind() {
            K::Eof | K::Unclosed | K::CloseTemplate => true,
            // Nothing outside of a template can be closed inside of it.
            K::CloseBrace | K::CloseBracket | K::CloseParen => bracket.close != K::CloseTemplate,
            _ if bracket.close == K::CloseTemplate => self.starts_line() || self.is_end_of_quote(),
            _ => self.is_body_line(bracket),
        };
        if !ends {
            return self.fail_expected(wanted);
        }
        self.unbalanced |= self.kind() == K::Eof;
        let open = self.span_of(bracket.open);
        let text = bracket.open.text(self.text);
        let found = describe(self.kind(), self.current().text(self.text));
        let missing = describe(bracket.close, "");
        let diagnostic =
            Diagnostic::error(open, format!("unclosed `{text}`"), format!("Its {missing} is missing."));
        let note = match self.kind() {
            K::Eof | K::Unclosed => return self.fail(diagnostic),
            kind if kind == bracket.close => OUTER_CLOSE.to_owned(),
            _ => format!("expected {wanted} before {found}"),
        };
        self.fail(diagnostic.related(self.here(), note));
    }

    /// Whether the quote here ends the string around the template that it stands in: `"${a"`.
    fn is_end_of_quote(&self) -> bool {
        let kinds = self.tokens[self.at..].iter().map(|token| token.kind).take(3);
        matches!(
            kinds.collect::<Vec<_>>()[..],
            [K::OpenQuote, K::Unclosed, ..] | [K::OpenQuote, K::QuotedText, K::Unclosed]
        )
    }

    /// A block ends without its `}`.
    pub(super) fn fail_unclosed_block(&mut self, bracket: Bracket, header: Span) {
        self.abandon(bracket);
        self.unbalanced |= self.kind() == K::Eof;
        if self.kind() == K::Eof && self.tokens[self.at - 1].kind == K::Unclosed {
            // Its end may well be in what was cut off there, which was reported.
            return;
        }
        let diagnostic = Diagnostic::error(header, "unclosed block", "Its `}` is missing.");
        let diagnostic = match self.kind() {
            K::Eof => diagnostic,
            K::CloseBrace => diagnostic.related(self.here(), OUTER_CLOSE),
            _ => diagnostic.related(self.here(), "expected `}` before this block"),
        };
        self.report(diagnostic);
    }

    /// Skips to the next separator or to the closing bracket, over whole nested brackets. `false` if something shows
    /// that the bracket will not be closed; the parser is then still lost.
    pub(super) fn resume(&mut self, bracket: Bracket, separator: Separator) -> bool {
        let template = bracket.close == K::CloseTemplate;
        let (mut brackets, mut templates) = (0_usize, 0_usize);
        loop {
            match self.kind() {
                K::Eof | K::Unclosed => break,
                K::OpenInterpolation | K::OpenDirective => templates += 1,
                K::CloseTemplate if templates > 0 => templates -= 1,
                _ if templates > 0 => {}
                K::CloseTemplate if !template => break,
                K::CloseTemplate => return self.found(),
                K::OpenBrace | K::OpenBracket | K::OpenParen => brackets += 1,
                K::CloseBrace | K::CloseBracket | K::CloseParen if brackets == 0 => {
                    if self.at_close(bracket) {
                        return self.found();
                    }
                    // Nothing outside of a template can be closed inside of it.
                    if !template {
                        break;
                    }
                }
                K::CloseBrace | K::CloseBracket | K::CloseParen => brackets -= 1,
                K::Comma if brackets == 0 && separator != Separator::None => return self.found(),
                K::Newline if brackets == 0 && separator == Separator::CommaOrNewline => return self.found(),
                K::Ident if self.is_body_line(bracket) && (brackets == 0 || self.starts_file_block()) => {
                    break;
                }
                _ => {}
            }
            self.step();
        }
        self.gave_up = true;
        false
    }

    fn found(&mut self) -> bool {
        self.lost = false;
        self.skip_trivia();
        true
    }

    /// Skips to the end of the line on which the item of a body ends, or to the `}` that ends the body.
    pub(super) fn resume_line(&mut self, item: usize) {
        self.newlines = true;
        self.lost = false;
        let (mut brackets, mut templates) = (0_usize, 0_usize);
        loop {
            match self.kind() {
                K::Eof => break,
                K::Unclosed => {
                    (brackets, templates) = (0, 0);
                    self.gave_up = true;
                }
                K::OpenInterpolation | K::OpenDirective => templates += 1,
                K::CloseTemplate => templates = templates.saturating_sub(1),
                _ if templates > 0 => {}
                K::Newline if brackets == 0 => break,
                _ if brackets == 0 && self.at > item && self.starts_line() => break,
                K::Ident if self.at > item && self.starts_file_block() => break,
                K::OpenBrace | K::OpenBracket | K::OpenParen => brackets += 1,
                K::CloseBrace if brackets == 0 => break,
                K::CloseBrace | K::CloseBracket | K::CloseParen => brackets = brackets.saturating_sub(1),
                _ => {}
            }
            self.step();
        }
        self.skip_trivia();
        if std::mem::take(&mut self.gave_up) {
            self.skip_remains();
        }
    }

    /// Skips lines that can only be what is left of a string or bracket that was given up.
    fn skip_remains(&mut self) {
        if self.kind() == K::Newline && !self.starts_line() {
            self.bump();
        }
        while !matches!(self.kind(), K::Newline | K::Eof | K::CloseBrace) && !self.looks_like_item() {
            let mut braces = 0_usize;
            loop {
                match self.kind() {
                    K::Newline | K::Eof => break,
                    K::OpenBrace | K::OpenInterpolation | K::OpenDirective => braces += 1,
                    K::CloseBrace if braces == 0 => return,
                    K::CloseBrace | K::CloseTemplate => braces = braces.saturating_sub(1),
                    _ => {}
                }
                self.step();
            }
            self.eat(K::Newline);
        }
    }

    /// What the next line that is not blank starts with.
    pub(super) fn kind_on_next_line(&self) -> TokenKind {
        let mut rest = self.tokens[self.at..].iter().map(|token| token.kind);
        rest.find(|kind| !matches!(kind, K::Newline | K::LineComment | K::BlockComment)).unwrap_or(K::Eof)
    }

    /// Takes a quote that is never closed on a line that ends with `{`, and returns the token with that brace.
    pub(super) fn take_quote_with_brace(&mut self) -> Option<Token> {
        let [quote, text, cut, ..] = self.tokens[self.at..] else { return None };
        let (_, after) = text.text(self.text).rsplit_once('{')?;
        let after = after.trim_start();
        let brace = after.is_empty() || after.starts_with('#') || after.starts_with("//");
        (brace && text.kind == K::QuotedText && cut.kind == K::Unclosed).then(|| {
            for _ in [quote, text, cut] {
                self.bump();
            }
            text
        })
    }

    /// Whether what starts here looks like `name =` or like a block.
    pub(super) fn looks_like_item(&self) -> bool {
        self.kind() == K::Ident
            && (self.tokens.get(self.at + 1).is_some_and(|next| next.kind == K::Equal)
                || cut::starts_block(&self.text[self.current().start as usize..]))
    }
}

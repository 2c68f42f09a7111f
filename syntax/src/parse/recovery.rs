//! Brackets, and how the parser finds its feet after an error.
//!
//! After an error the parser is *lost*: it reports nothing more and every rule returns what it has, until a rule with
//! brackets finds its next item or its end ([`Parser::resume`]), or the body finds its next line
//! ([`Parser::resume_line`]). So one mistake is one message.

use super::message::describe;
use super::parser::Parser;
use crate::token::{Token, TokenKind, TokenKind as K, cut};
use crate::{Diagnostic, Span};

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
        let indentation = if self.layout.is_some() { self.indentation() } else { 0 };
        if let Some(layout) = &mut self.layout {
            layout.push(indentation);
        }
        Bracket { open, close, newlines: self.newlines }
    }

    /// Leaves a bracket without its end.
    pub(super) fn abandon(&mut self, bracket: Bracket) {
        self.newlines = bracket.newlines;
        if let Some(layout) = &mut self.layout {
            layout.pop();
        }
    }

    /// Whether the current token closes this bracket.
    pub(super) fn at_close(&self, bracket: Bracket) -> bool {
        self.kind() == bracket.close && !self.is_outer_close()
    }

    /// Whether the current closing bracket, by its indentation, belongs to something further out.
    fn is_outer_close(&self) -> bool {
        let Some((inner, outer)) = self.layout.as_ref().and_then(|layout| layout.split_last()) else {
            return false;
        };
        if !self.starts_line() {
            return false;
        }
        let indentation = self.indentation();
        indentation < *inner && outer.contains(&indentation)
    }

    /// Whether the current line, by layout, starts a block of the file although something is open.
    pub(super) fn is_outer_block(&self) -> bool {
        self.layout.as_ref().is_some_and(|layout| !layout.is_empty()) && self.starts_file_block()
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
        self.abandon(bracket);
        if found {
            let token = self.bump();
            self.span_of(token)
        } else {
            let end = self.since(bracket.open.end).end;
            Span { file: self.file, start: end, end }
        }
    }

    /// Whether no item of this bracket can start here: something else is closed, or the line is an attribute or block
    /// where no `=` or `{` can follow a name, or, in an object, a block at the very left.
    pub(super) fn cannot_follow(&self, bracket: Bracket) -> bool {
        match self.kind() {
            K::CloseBrace | K::CloseBracket | K::CloseParen => {
                bracket.close != self.kind() || self.is_outer_close()
            }
            K::CloseTemplate | K::Eof => true,
            K::Ident if bracket.close == K::CloseBrace => self.starts_file_block(),
            K::Ident => self.starts_line() && self.looks_like_item(),
            _ => false,
        }
    }

    /// Something stands where an item or the closing bracket should: which of the two is wrong depends on what it is.
    pub(super) fn fail_unclosed(&mut self, bracket: Bracket, wanted: &str) {
        let equals_sign = self.kind() == K::Equal && bracket.close != K::CloseBrace;
        if equals_sign && self.at > 0 && self.tokens[self.at - 1].kind == K::Ident {
            // `a = [1` and on the next line `b = 2`: the name was taken for an item.
            self.at -= 1;
            if !self.starts_line() {
                self.at += 1;
            }
        }
        let next_line = self.starts_line() && self.looks_like_item();
        let ends = match self.kind() {
            K::Eof | K::Unclosed | K::CloseTemplate => true,
            // Nothing outside of a template can be closed inside of it.
            K::CloseBrace | K::CloseBracket | K::CloseParen => bracket.close != K::CloseTemplate,
            _ => false,
        };
        if !(ends || next_line) {
            return self.fail_expected(wanted);
        }
        if self.kind() == K::Eof {
            self.unclosed = true;
        }
        let open = self.span_of(bracket.open);
        let text = bracket.open.text(self.text);
        let found = describe(self.kind(), self.current().text(self.text));
        let missing = describe(bracket.close, "");
        let diagnostic =
            Diagnostic::error(open, format!("unclosed `{text}`"), format!("Its {missing} is missing."));
        self.fail(match self.kind() {
            K::Eof | K::Unclosed => diagnostic,
            _ => diagnostic.related(self.here(), format!("expected {wanted} before {found}")),
        });
    }

    /// A block ends without its `}`.
    pub(super) fn fail_unclosed_block(&mut self, bracket: Bracket, header: Span) {
        self.abandon(bracket);
        self.unclosed |= self.kind() == K::Eof;
        if self.kind() == K::Eof && self.tokens[self.at - 1].kind == K::Unclosed {
            // Its end may well be in what was cut off there, which was reported.
            return;
        }
        let diagnostic = Diagnostic::error(header, "unclosed block", "Its `}` is missing.");
        let diagnostic = match self.kind() {
            K::Eof => diagnostic,
            K::CloseBrace => {
                diagnostic.related(self.here(), "by its indentation this `}` closes what is around it")
            }
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
                kind @ (K::CloseBrace | K::CloseBracket | K::CloseParen) if brackets == 0 => {
                    if kind == bracket.close && !self.is_outer_close() {
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
                K::Ident if !template && self.starts_file_block() => break,
                K::Ident
                    if brackets == 0
                        && !template
                        && separator != Separator::CommaOrNewline
                        && self.starts_line()
                        && self.looks_like_item() =>
                {
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
        let brace = text.kind == K::QuotedText && text.text(self.text).trim_end().ends_with('{');
        (brace && cut.kind == K::Unclosed).then(|| {
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

//! Where the parser stands and what it found wrong.

use std::sync::Arc;

use foldhash::{HashMap, HashMapExt};
use memchr::memrchr;

use super::recovery::Bracket;
use super::{MAX_DEPTH, MAX_ERRORS, literal};
use crate::token::{Token, TokenKind, TokenKind as K};
use crate::tree::{Expr, ExprKind, Ident};
use crate::{Diagnostic, Diagnostics, FileId, Span};

pub(super) struct Parser<'a> {
    pub(super) file: FileId,
    pub(super) text: &'a str,
    pub(super) tokens: Vec<Token>,
    /// The current token: never a comment, and a newline only if newlines count.
    pub(super) at: usize,
    /// Where the last token taken ends that is no newline or comment.
    last_end: u32,
    /// Where the line of the current token starts.
    pub(super) line_start: usize,
    /// Whether newlines count; inside parentheses and brackets they do not.
    pub(super) newlines: bool,
    /// How many nodes of the tree are around what is being parsed.
    depth: usize,
    /// The depth of the deepest node of the expression being parsed.
    peak: usize,
    /// Whether an error was reported and no place to go on was found yet.
    pub(super) lost: bool,
    /// Whether brackets or strings were given up, so that the next lines may be what is left of them.
    pub(super) gave_up: bool,
    /// Whether a bracket was still open at the end of the text, or one was closed that was not open.
    pub(super) unbalanced: bool,
    /// The blocks and brackets around here.
    pub(super) brackets: Vec<Bracket>,
    /// Whether indentation decides what a `}` closes.
    pub(super) by_layout: bool,
    diagnostics: Diagnostics,
    omitted: usize,
    /// Names repeat a lot, so each is kept once.
    names: HashMap<&'a str, Arc<str>>,
}

impl<'a> Parser<'a> {
    pub(super) fn new(file: FileId, text: &'a str, tokens: Vec<Token>) -> Parser<'a> {
        let mut parser = Parser {
            file,
            text,
            tokens,
            at: 0,
            last_end: 0,
            line_start: 0,
            newlines: true,
            depth: 0,
            peak: 0,
            lost: false,
            gave_up: false,
            unbalanced: false,
            brackets: Vec::new(),
            by_layout: false,
            diagnostics: Vec::new(),
            omitted: 0,
            names: HashMap::new(),
        };
        if parser.tokens[0].kind == K::ByteOrderMark {
            parser.line_start = 3;
            parser.at = 1;
        }
        parser.skip_trivia();
        parser
    }

    /// The same text from the start, with an eye on its layout.
    pub(super) fn by_layout(&mut self) -> Parser<'a> {
        let parser = Parser::new(self.file, self.text, std::mem::take(&mut self.tokens));
        Parser { by_layout: true, names: std::mem::take(&mut self.names), ..parser }
    }

    pub(super) fn is_unbalanced(&self) -> bool {
        self.unbalanced
    }

    pub(super) fn error_count(&self) -> usize {
        self.diagnostics.len() + self.omitted
    }

    /// What was found, in the order of the text.
    pub(super) fn finish(mut self) -> Diagnostics {
        self.diagnostics.sort_by_key(|diagnostic| diagnostic.span.map(|span| span.start));
        if self.omitted > 0 {
            let end = self.text.len() as u32;
            let span = Span { file: self.file, start: end, end };
            let (count, s) = (self.omitted, if self.omitted == 1 { "" } else { "s" });
            self.diagnostics.push(Diagnostic::error(
                span,
                format!("{count} more syntax error{s}"),
                format!("Only the first {MAX_ERRORS} errors of a text are shown."),
            ));
        }
        self.diagnostics
    }

    pub(super) fn current(&self) -> Token {
        self.tokens[self.at]
    }

    pub(super) fn kind(&self) -> TokenKind {
        self.tokens[self.at].kind
    }

    /// The kind of the token after the current one.
    pub(super) fn next_kind(&self) -> TokenKind {
        let rest = self.tokens.get(self.at + 1..).unwrap_or_default();
        let next = rest.iter().find(|token| !self.is_trivia(token.kind));
        next.map_or(K::Eof, |token| token.kind)
    }

    pub(super) fn bump(&mut self) -> Token {
        let token = self.current();
        if !matches!(token.kind, K::Newline | K::Unclosed | K::Eof) {
            self.last_end = token.end;
        }
        self.step();
        self.skip_trivia();
        token
    }

    pub(super) fn eat(&mut self, kind: TokenKind) -> bool {
        let found = self.kind() == kind;
        if found {
            self.bump();
        }
        found
    }

    pub(super) fn eat_newlines(&mut self) {
        while self.eat(K::Newline) {}
    }

    /// Newlines mean nothing from here on.
    pub(super) fn ignore_newlines(&mut self) {
        self.newlines = false;
        self.skip_trivia();
    }

    /// Whether the current token is this word.
    pub(super) fn is_word(&self, word: &str) -> bool {
        self.kind() == K::Ident && self.current().text(self.text) == word
    }

    pub(super) fn eat_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        if found {
            self.bump();
        }
        found
    }

    /// Takes one token, whatever it is, and keeps count of lines.
    pub(super) fn step(&mut self) {
        let token = self.tokens[self.at];
        if token.kind == K::Eof {
            return;
        }
        if matches!(token.kind, K::Newline | K::Text | K::OpenHeredoc | K::BlockComment) {
            let text = token.text(self.text).as_bytes();
            if let Some(newline) = memrchr(b'\n', text) {
                self.line_start = token.start as usize + newline + 1;
            }
        }
        self.at += 1;
    }

    pub(super) fn skip_trivia(&mut self) {
        while self.is_trivia(self.kind()) {
            self.step();
        }
    }

    fn is_trivia(&self, kind: TokenKind) -> bool {
        match kind {
            K::LineComment | K::BlockComment => true,
            K::Newline => !self.newlines,
            _ => false,
        }
    }

    /// Whether the current token is the first of its line.
    pub(super) fn starts_line(&self) -> bool {
        let before = &self.text.as_bytes()[self.line_start..self.current().start as usize];
        before.iter().all(|byte| matches!(byte, b' ' | b'\t'))
    }

    pub(super) fn indentation(&self) -> usize {
        let line = &self.text.as_bytes()[self.line_start..];
        // Nobody indents further, and a line of a million brackets must not be measured a million times.
        line.iter().take(100).take_while(|byte| matches!(byte, b' ' | b'\t')).count()
    }

    pub(super) fn span_of(&self, token: Token) -> Span {
        token.span(self.file)
    }

    pub(super) fn here(&self) -> Span {
        self.span_of(self.current())
    }

    /// From a place to the end of what was taken last.
    pub(super) fn since(&self, start: u32) -> Span {
        Span { file: self.file, start, end: self.last_end.max(start) }
    }

    pub(super) fn ident(&mut self, token: Token) -> Ident {
        Ident { name: self.name(token.text(self.text)), span: self.span_of(token) }
    }

    pub(super) fn name(&mut self, text: &'a str) -> Arc<str> {
        Arc::clone(self.names.entry(text).or_insert_with(|| literal::normal(text)))
    }

    /// Goes a level deeper if there is one. Every `true` needs a [`Parser::leave`].
    pub(super) fn enter(&mut self) -> bool {
        if self.depth >= MAX_DEPTH {
            self.too_deep();
            return false;
        }
        self.depth += 1;
        self.peak = self.peak.max(self.depth);
        true
    }

    pub(super) fn leave(&mut self) {
        self.depth -= 1;
    }

    /// Starts to measure an expression; the result goes to [`Parser::measured`].
    pub(super) fn measure(&mut self) -> usize {
        std::mem::replace(&mut self.peak, self.depth)
    }

    pub(super) fn measured(&mut self, before: usize) {
        self.peak = self.peak.max(before);
    }

    /// Puts the expression just measured into one more node.
    pub(super) fn wrap(&mut self) {
        self.peak += 1;
        if self.peak > MAX_DEPTH {
            self.too_deep();
        }
    }

    fn too_deep(&mut self) {
        let detail = format!(
            "Expressions and blocks may nest {MAX_DEPTH} levels deep; each operator of a chain counts."
        );
        self.fail(Diagnostic::error(self.here(), "nested too deeply", detail).help(
            "split it into several local values, or use a function such as `sum` or `anytrue` on a list",
        ));
    }

    /// Notes an error after which parsing goes on as if nothing had happened.
    pub(super) fn report(&mut self, diagnostic: Diagnostic) {
        if self.diagnostics.len() < MAX_ERRORS {
            self.diagnostics.push(diagnostic);
        } else {
            self.omitted += 1;
        }
    }

    /// Notes an error after which the parser is lost, unless it is lost already.
    pub(super) fn fail(&mut self, diagnostic: Diagnostic) {
        if !self.lost {
            self.lost = true;
            self.report(diagnostic);
        }
    }

    pub(super) fn invalid(&self, span: Span) -> Expr {
        Expr { kind: ExprKind::Invalid, span }
    }
}

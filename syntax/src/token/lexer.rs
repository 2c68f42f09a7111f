//! The lexer behind [`tokens`](super::tokens): a loop over bytes with a stack of modes.

use std::ops::Range;

use memchr::{memchr, memchr3, memmem};
use unicode_ident::{is_xid_continue, is_xid_start};

use super::cut::{self, Endings};
use super::{Token, TokenKind, TokenKind as K};

/// What the lexer is inside of. An empty stack is plain configuration.
#[derive(Clone, Copy, Debug)]
pub(super) enum Mode {
    /// `"…`
    Quote,
    /// A heredoc and, if it has no end, where to cut it off.
    Heredoc { marker: Marker, cut: usize },
    /// A bare template: only ever the bottom of the stack.
    Bare,
    /// `${…` or `%{…` with the number of braces and of other brackets open inside, whether it stands in quotes, and
    /// the marker of the heredoc around it (kept here so that no newline has to search the stack). Braces alone decide
    /// where it ends: `${ (1 }` has forgotten a parenthesis and not a brace.
    Template { braces: u32, brackets: u32, quoted: bool, marker: Option<Marker> },
}

/// Where the marker of a heredoc stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Marker {
    start: usize,
    end: usize,
}

impl Marker {
    fn range(self) -> Range<usize> {
        self.start..self.end
    }
}

pub(super) struct Lexer<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    modes: Vec<Mode>,
    tokens: Vec<Token>,
    endings: Endings<'a>,
    bare: bool,
    /// The brackets open outside of templates.
    brackets: usize,
    /// Whether a `*/` may still follow.
    comments_end: bool,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str, mode: Option<Mode>) -> Lexer<'a> {
        Lexer {
            text,
            bytes: text.as_bytes(),
            at: 0,
            modes: mode.into_iter().collect(),
            // Ordinary configuration has a token for every four bytes or so.
            tokens: Vec::with_capacity(text.len() / 3 + 16),
            endings: Endings::new(text),
            bare: mode.is_some(),
            brackets: 0,
            comments_end: true,
        }
    }

    pub(super) fn run(mut self) -> Vec<Token> {
        if self.text.starts_with('\u{feff}') {
            self.push(K::ByteOrderMark, 3);
        }
        while self.at < self.bytes.len() {
            match self.modes.last().copied() {
                None | Some(Mode::Template { .. }) => self.code(),
                Some(Mode::Quote) => self.quoted(),
                Some(Mode::Heredoc { marker, cut }) => self.heredoc(marker, cut),
                Some(Mode::Bare) => self.template_line(),
            }
        }
        if self.modes.iter().any(|mode| !matches!(mode, Mode::Bare)) {
            self.push(K::Unclosed, 0);
        }
        self.push(K::Eof, 0);
        self.tokens
    }

    fn push(&mut self, kind: TokenKind, length: usize) {
        let start = self.at as u32;
        self.at += length;
        self.tokens.push(Token { kind, start, end: self.at as u32 });
    }

    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    /// One token outside of string text.
    fn code(&mut self) {
        let byte = self.bytes[self.at];
        match CLASS[byte as usize] {
            Class::Space => self.at += 1,
            Class::Letter => self.ident(),
            Class::Digit => self.number(),
            Class::Wide => self.wide(),
            Class::Mark => self.mark(byte),
        }
    }

    fn ident(&mut self) {
        let mut end = self.at + 1;
        while let Some(&byte) = self.bytes.get(end) {
            match CLASS[byte as usize] {
                Class::Letter | Class::Digit => end += 1,
                Class::Mark if byte == b'-' => end += 1,
                Class::Wide => match self.wide_at(end).filter(|c| is_xid_continue(*c)) {
                    Some(c) => end += c.len_utf8(),
                    None => break,
                },
                _ => break,
            }
        }
        self.push(K::Ident, end - self.at);
    }

    fn wide(&mut self) {
        let c = self.wide_at(self.at).expect("the lexer stops on character boundaries only");
        if is_xid_start(c) {
            // The loop of `ident` steps over the rest; the first character counts whole.
            let start = self.at as u32;
            self.at += c.len_utf8() - 1;
            self.ident();
            self.tokens.last_mut().expect("a name was just added").start = start;
        } else {
            self.push(K::Invalid, c.len_utf8());
        }
    }

    fn wide_at(&self, at: usize) -> Option<char> {
        self.text[at..].chars().next()
    }

    /// Digits, `.digits` any number of times, an exponent: `a.0.1` must not read as `a` `.0` `.1`, because the
    /// language does not.
    fn number(&mut self) {
        let digits = |mut end: usize| {
            while self.bytes.get(end).is_some_and(u8::is_ascii_digit) {
                end += 1;
            }
            end
        };
        let mut end = digits(self.at);
        while self.bytes.get(end) == Some(&b'.') && digits(end + 1) > end + 1 {
            end = digits(end + 1);
        }
        if let Some(b'e' | b'E') = self.bytes.get(end) {
            let sign = usize::from(matches!(self.bytes.get(end + 1), Some(b'+' | b'-')));
            if digits(end + 1 + sign) > end + 1 + sign {
                end = digits(end + 1 + sign);
            }
        }
        self.push(K::Number, end - self.at);
    }

    /// Operators, brackets, comments, newlines, quotes and heredocs.
    fn mark(&mut self, byte: u8) {
        let (next, third) = (self.peek(1), self.peek(2));
        let (kind, length) = match (byte, next) {
            (b'\n', _) => return self.newline(1),
            (b'\r', b'\n') => return self.newline(2),
            (b'#', _) | (b'/', b'/') => return self.line_comment(),
            (b'/', b'*') => return self.block_comment(),
            (b'"', _) => {
                self.modes.push(Mode::Quote);
                (K::OpenQuote, 1)
            }
            (b'<', b'<') => match self.heredoc_marker() {
                Some(marker) => return self.open_heredoc(marker),
                None => (K::Less, 1),
            },
            (b'{', _) => self.open(K::OpenBrace),
            (b'[', _) => self.open(K::OpenBracket),
            (b'(', _) => self.open(K::OpenParen),
            (b'}', _) => self.close(K::CloseBrace),
            (b']', _) => self.close(K::CloseBracket),
            (b')', _) => self.close(K::CloseParen),
            (b'~', b'}') if matches!(self.modes.last(), Some(Mode::Template { braces: 0, .. })) => {
                self.modes.pop();
                (K::CloseTemplate, 2)
            }
            (b'=', b'=') => (K::EqualEqual, 2),
            (b'=', b'>') => (K::Arrow, 2),
            (b'=', _) => (K::Equal, 1),
            (b'!', b'=') => (K::NotEqual, 2),
            (b'!', _) => (K::Bang, 1),
            (b'<', b'=') => (K::LessEqual, 2),
            (b'<', _) => (K::Less, 1),
            (b'>', b'=') => (K::GreaterEqual, 2),
            (b'>', _) => (K::Greater, 1),
            (b'&', b'&') => (K::And, 2),
            (b'|', b'|') => (K::Or, 2),
            (b':', b':') => (K::DoubleColon, 2),
            (b':', _) => (K::Colon, 1),
            (b'.', b'.') if third == b'.' => (K::Ellipsis, 3),
            (b'.', _) => (K::Dot, 1),
            (b',', _) => (K::Comma, 1),
            (b'?', _) => (K::Question, 1),
            (b'+', _) => (K::Plus, 1),
            (b'-', _) => (K::Minus, 1),
            (b'*', _) => (K::Star, 1),
            (b'/', _) => (K::Slash, 1),
            (b'%', _) => (K::Percent, 1),
            _ => (K::Invalid, 1),
        };
        self.push(kind, length);
    }

    fn open(&mut self, kind: TokenKind) -> (TokenKind, usize) {
        if let Some(Mode::Template { braces, brackets, .. }) = self.modes.last_mut() {
            *(if kind == K::OpenBrace { braces } else { brackets }) += 1;
        } else {
            self.brackets += 1;
        }
        (kind, 1)
    }

    fn close(&mut self, kind: TokenKind) -> (TokenKind, usize) {
        if let Some(Mode::Template { braces, brackets, .. }) = self.modes.last_mut() {
            if kind != K::CloseBrace {
                *brackets = brackets.saturating_sub(1);
            } else if *braces == 0 {
                self.modes.pop();
                return (K::CloseTemplate, 1);
            } else {
                *braces -= 1;
            }
        } else {
            self.brackets = self.brackets.saturating_sub(1);
        }
        (kind, 1)
    }

    /// A newline in code. Inside a template the next line decides whether the template goes on.
    fn newline(&mut self, length: usize) {
        let Some(Mode::Template { braces, brackets, quoted, marker }) = self.modes.last().copied() else {
            return self.push(K::Newline, length);
        };
        let next = &self.text[self.at + length..];
        let heredoc_ends = marker.is_some_and(|marker| cut::is_marker(next, &self.text[marker.range()]));
        if !heredoc_ends && (self.bare || !cut::ends_template(next, braces + brackets == 0, quoted)) {
            return self.push(K::Newline, length);
        }
        self.push(K::Unclosed, 0);
        self.leave_templates();
        self.push(if self.modes.is_empty() { K::Newline } else { K::Text }, length);
    }

    /// Leaves quotes and templates up to the text of the innermost heredoc or bare template, or to plain
    /// configuration.
    fn leave_templates(&mut self) {
        while matches!(self.modes.last(), Some(Mode::Quote | Mode::Template { .. })) {
            self.modes.pop();
        }
    }

    fn line_comment(&mut self) {
        let rest = &self.bytes[self.at..];
        let mut length = memchr(b'\n', rest).unwrap_or(rest.len());
        if length < rest.len() && rest[length - 1] == b'\r' {
            length -= 1;
        }
        self.push(K::LineComment, length);
    }

    fn block_comment(&mut self) {
        let rest = &self.bytes[self.at..];
        let end = if self.comments_end { memmem::find(&rest[2..], b"*/") } else { None };
        match end {
            Some(end) => self.push(K::BlockComment, end + 4),
            None => {
                // Looking for it again after every later `/*` would be quadratic.
                self.comments_end = false;
                let mut length = memchr(b'\n', rest).unwrap_or(rest.len());
                if rest[length - 1] == b'\r' {
                    length -= 1;
                }
                self.push(K::Invalid, length);
            }
        }
    }

    /// The marker if a heredoc opens here: `<<`, perhaps `-`, a name and the end of the line. No expression holds `<<`,
    /// so with something else on that line it is a heredoc still, if only it has an end: the parser will complain.
    fn heredoc_marker(&mut self) -> Option<Marker> {
        let start = self.at + 2 + usize::from(self.peek(2) == b'-');
        let end = self.text.len() - cut::after_ident(&self.text[start..])?.len();
        let marker = Marker { start, end };
        let heredoc =
            cut::is_blank(&self.text[end..]) || self.endings.has_end(end, &self.text[marker.range()]);
        heredoc.then_some(marker)
    }

    fn open_heredoc(&mut self, marker: Marker) {
        let line = cut::line(&self.text[marker.end..]).len();
        let newline = usize::from(marker.end + line < self.bytes.len());
        self.push(K::OpenHeredoc, marker.end + line + newline - self.at);
        let has_end = self.endings.has_end(self.at, &self.text[marker.range()]);
        let cut = if has_end { usize::MAX } else { self.endings.cut(self.at, self.brackets) };
        self.modes.push(Mode::Heredoc { marker, cut });
    }

    fn heredoc(&mut self, marker: Marker, cut: usize) {
        let line_start = self.bytes[self.at - 1] == b'\n';
        if line_start && self.at >= cut {
            self.push(K::Unclosed, 0);
            self.modes.pop();
            // What encloses the heredoc has lost its end, too.
            self.leave_templates();
            return;
        }
        if line_start && cut::is_marker(&self.text[self.at..], &self.text[marker.range()]) {
            let rest = &self.bytes[self.at..];
            let length = memchr(b'\n', rest).unwrap_or(rest.len());
            let carriage_return = usize::from(length < rest.len() && rest[length - 1] == b'\r');
            self.modes.pop();
            return self.push(K::CloseHeredoc, length - carriage_return);
        }
        self.template_line();
    }

    /// Text up to the end of the line or to a template in it, or the opening of that template.
    fn template_line(&mut self) {
        match self.text_length() {
            0 => self.open_template(),
            length => self.push(K::Text, length),
        }
    }

    fn text_length(&self) -> usize {
        let mut end = self.at;
        while let Some(found) = memchr3(b'\n', b'$', b'%', &self.bytes[end..]) {
            end += found;
            if self.bytes[end] == b'\n' {
                return end + 1 - self.at;
            }
            match self.sigils(end) {
                Some(after) => end = after,
                None => return end - self.at,
            }
        }
        self.bytes.len() - self.at
    }

    /// Steps over `$` or `%` signs that are text: `None` if a template opens here. One sign before `{` opens it,
    /// more than one are an escape.
    fn sigils(&self, start: usize) -> Option<usize> {
        let sigil = self.bytes[start];
        let count = self.bytes[start..].iter().take_while(|byte| **byte == sigil).count();
        let brace = self.bytes.get(start + count) == Some(&b'{');
        if brace && count == 1 { None } else { Some(start + count + usize::from(brace)) }
    }

    fn open_template(&mut self) {
        let kind = if self.bytes[self.at] == b'$' { K::OpenInterpolation } else { K::OpenDirective };
        let (quoted, marker) = match self.modes.as_slice() {
            [.., Mode::Template { marker, .. }, Mode::Quote] => (true, *marker),
            [.., Mode::Heredoc { marker, .. }] => (false, Some(*marker)),
            [.., mode] => (matches!(mode, Mode::Quote), None),
            [] => (false, None),
        };
        self.modes.push(Mode::Template { braces: 0, brackets: 0, quoted, marker });
        self.push(kind, 2 + usize::from(self.peek(2) == b'~'));
    }

    fn quoted(&mut self) {
        match self.bytes[self.at] {
            b'"' => {
                self.modes.pop();
                self.push(K::CloseQuote, 1);
            }
            b'\n' => self.cut_quote(),
            b'\r' if self.peek(1) == b'\n' => self.cut_quote(),
            _ => match self.quoted_length() {
                0 => self.open_template(),
                length => self.push(K::QuotedText, length),
            },
        }
    }

    /// A newline ends every string around it: it is likelier that a quote is missing than that a name is.
    fn cut_quote(&mut self) {
        self.push(K::Unclosed, 0);
        self.leave_templates();
    }

    fn quoted_length(&self) -> usize {
        let mut end = self.at;
        while let Some(&byte) = self.bytes.get(end) {
            match byte {
                b'"' | b'\n' => break,
                b'\r' if self.bytes.get(end + 1) == Some(&b'\n') => break,
                b'\\' if matches!(self.bytes.get(end + 1), Some(b' '..=b'~')) => end += 2,
                b'$' | b'%' => match self.sigils(end) {
                    Some(after) => end = after,
                    None => break,
                },
                _ => end += 1,
            }
        }
        end - self.at
    }
}

/// What a byte can start outside of strings.
#[derive(Clone, Copy)]
enum Class {
    Letter,
    Digit,
    Space,
    /// Part of a character beyond ASCII.
    Wide,
    Mark,
}

static CLASS: [Class; 256] = {
    let mut class = [Class::Mark; 256];
    let mut byte = 0;
    while byte < 256 {
        class[byte] = match byte as u8 {
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => Class::Letter,
            b'0'..=b'9' => Class::Digit,
            b' ' | b'\t' => Class::Space,
            0x80..=0xff => Class::Wide,
            _ => Class::Mark,
        };
        byte += 1;
    }
    class
};

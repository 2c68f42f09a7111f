//! Escapes and normal form of string text.

use std::sync::Arc;

use memchr::memchr3;
use unicode_normalization::{UnicodeNormalization, is_nfc};

use super::parser::Parser;
use crate::token::{Token, TokenKind as K};
use crate::{Diagnostic, Span};

/// The text in normal form C, which all strings and names of the language have.
pub(super) fn normal(text: &str) -> Arc<str> {
    if text.is_ascii() || is_nfc(text) { text.into() } else { text.nfc().collect::<String>().into() }
}

/// Whether a piece of quoted text means just what it says.
pub(super) fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| !matches!(byte, b'\\' | b'$' | b'%' | b'\r'))
}

impl<'a> Parser<'a> {
    /// Adds the text that a [`K::QuotedText`] or [`K::Text`] stands for. Only the former has backslashes; `$${` and
    /// `%%{` stand for themselves without the first sign in both.
    pub(super) fn unescape(&mut self, token: Token, out: &mut String) {
        let text = token.text(self.text);
        let quoted = token.kind == K::QuotedText;
        let mut at = 0;
        while let Some(found) = memchr3(b'\\', b'$', b'%', &text.as_bytes()[at..]) {
            out.push_str(&text[at..at + found]);
            at += found;
            let byte = text.as_bytes()[at];
            if byte == b'\\' {
                if quoted {
                    at += self.escape(token.start + at as u32, &text[at + 1..], out);
                } else {
                    out.push('\\');
                    at += 1;
                }
                continue;
            }
            let count = text.as_bytes()[at..].iter().take_while(|other| **other == byte).count();
            let escaped = usize::from(text.as_bytes().get(at + count) == Some(&b'{'));
            out.push_str(&text[at + escaped..at + count]);
            at += count;
        }
        out.push_str(&text[at..]);
        if quoted && let Some(found) = text.find('\r') {
            let start = token.start + found as u32;
            let detail = "A quoted string ends on the line on which it starts.";
            let span = Span { file: self.file, start, end: start + 1 };
            self.report(Diagnostic::error(span, "carriage return in a string", detail).help("write `\\r`"));
        }
    }

    /// Adds the character of the escape whose backslash stands at `start` and returns how many bytes it takes.
    fn escape(&mut self, start: u32, rest: &str, out: &mut String) -> usize {
        let selector = rest.chars().next();
        let length = match selector {
            // The string is cut off here, which is error enough.
            None => return 1,
            Some('n') => return simple('\n', out),
            Some('r') => return simple('\r', out),
            Some('t') => return simple('\t', out),
            Some('"') => return simple('"', out),
            Some('\\') => return simple('\\', out),
            Some('u') => 4,
            Some('U') => 8,
            _ => 0,
        };
        let digits = rest.bytes().skip(1).take(length).take_while(u8::is_ascii_hexdigit).count();
        let bytes = 1 + selector.map_or(0, char::len_utf8) + digits;
        let span = Span { file: self.file, start, end: start + bytes as u32 };
        let escape = format!("\\{}", &rest[..bytes - 1]);
        if length == 0 {
            let detail = "The escapes are `\\n`, `\\r`, `\\t`, `\\\"`, `\\\\`, `\\uXXXX` and `\\UXXXXXXXX`.";
            let help = if matches!(selector, Some('$' | '%')) {
                "to keep a template from being read as one, double its sign: `$${` or `%%{`"
            } else {
                "for a backslash write `\\\\`"
            };
            self.report(Diagnostic::error(span, format!("unknown escape `{escape}`"), detail).help(help));
            return bytes;
        }
        if digits < length {
            let detail = format!("It needs {length} hexadecimal digits.");
            self.report(Diagnostic::error(span, format!("incomplete escape `{escape}`"), detail));
            return bytes;
        }
        let code = u32::from_str_radix(&rest[1..=digits], 16).ok();
        match code.and_then(char::from_u32) {
            Some(character) => out.push(character),
            None => {
                let detail = "No character has this number. Halves of surrogate pairs are not characters.";
                let help = "write characters beyond U+FFFF with eight digits, such as `\\U0001F600`";
                self.report(
                    Diagnostic::error(span, format!("no such character `{escape}`"), detail).help(help),
                );
            }
        }
        bytes
    }
}

fn simple(character: char, out: &mut String) -> usize {
    out.push(character);
    2
}

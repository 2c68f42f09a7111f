//! The words of syntax errors.

use super::parser::Parser;
use crate::token::{TokenKind, TokenKind as K};
use crate::{Diagnostic, Span};

impl Parser<'_> {
    /// An error at the current token, which is not what it should be.
    pub(super) fn fail_expected(&mut self, wanted: &str) {
        let diagnostic = self.expected(wanted);
        self.fail(diagnostic);
    }

    /// The same, with what to do about it, unless the token itself tells.
    pub(super) fn fail_expected_help(&mut self, wanted: &str, help: &str) {
        let diagnostic = self.expected_help(wanted, help);
        self.fail(diagnostic);
    }

    /// Notes an error after which parsing goes on. Out of line like the others here: rules that recurse should not carry
    /// the parts of a message on their stack.
    pub(super) fn complain(&mut self, span: Span, summary: &str, detail: &str, help: &str) {
        self.report(Diagnostic::error(span, summary, detail).help(help));
    }

    pub(super) fn expected_help(&self, wanted: &str, help: &str) -> Diagnostic {
        let diagnostic = self.expected(wanted);
        if self.kind() == K::Invalid { diagnostic } else { diagnostic.help(help) }
    }

    pub(super) fn expected(&self, wanted: &str) -> Diagnostic {
        let token = self.current();
        let text = token.text(self.text);
        let span = match token.kind {
            // A newline has no width to underline, and its line is the one before.
            K::Newline => Span { file: self.file, start: token.start, end: token.start },
            _ => self.span_of(token),
        };
        match token.kind {
            K::Invalid => invalid_character(span, text),
            kind => {
                let found = describe(kind, text);
                let diagnostic = Diagnostic::error(span, format!("expected {wanted}, found {found}"), "");
                match kind {
                    K::Equal => diagnostic.help("to compare two values, write `==`"),
                    K::Less if self.text[token.end as usize..].starts_with('<') => diagnostic
                        .help("a heredoc starts with `<<` and a name that ends its line, such as `<<EOT`"),
                    _ => diagnostic,
                }
            }
        }
    }
}

/// A token as an error names it.
pub(super) fn describe(kind: TokenKind, text: &str) -> String {
    let word = match kind {
        K::Newline => "the end of the line",
        K::Eof => "the end of the file",
        K::OpenQuote | K::CloseQuote | K::QuotedText => "a string",
        K::OpenHeredoc | K::Text | K::CloseHeredoc => "a heredoc",
        K::Unclosed => "a string without an end",
        K::CloseBrace | K::CloseTemplate => "`}`",
        K::CloseBracket => "`]`",
        K::CloseParen => "`)`",
        _ => return format!("`{}`", shortened(text)),
    };
    word.to_owned()
}

/// Enough of a text to recognise it.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn invalid_character(span: Span, text: &str) -> Diagnostic {
    if text.starts_with("/*") {
        return Diagnostic::error(span, "unclosed comment", "No `*/` follows.")
            .help("end it with `*/`, or start it with `#`");
    }
    let character = text.chars().next().unwrap_or_default();
    let (summary, help) = match character {
        '“' | '”' | '„' | '‟' | '«' | '»' => {
            (format!("unexpected quotation mark `{character}`"), "use straight double quotes `\"`")
        }
        '\'' | '‘' | '’' => {
            (format!("unexpected quotation mark `{character}`"), "put strings in double quotes `\"`")
        }
        '`' => (
            "unexpected backtick".to_owned(),
            "put strings in double quotes `\"`, or use a heredoc for several lines",
        ),
        ';' => (
            "unexpected `;`".to_owned(),
            "put each argument on a line of its own; part the items of a list with `,`",
        ),
        '&' => ("unexpected `&`".to_owned(), "write `&&` for a logical and"),
        '|' => ("unexpected `|`".to_owned(), "write `||` for a logical or"),
        '^' => ("unexpected `^`".to_owned(), "use `pow(base, exponent)` for powers"),
        '$' | '%' => (
            format!("unexpected `{character}`"),
            "interpolation works in quoted strings only: outside of them write the expression alone",
        ),
        '\\' => {
            ("unexpected `\\`".to_owned(), "to go on on the next line, put the expression in parentheses")
        }
        '\r' => (
            "carriage return inside a line".to_owned(),
            "end lines with a newline, or with a carriage return and a newline",
        ),
        '\u{feff}' => {
            ("byte order mark inside the text".to_owned(), "remove it: it may only be the first character")
        }
        c if c.is_control() => (format!("control character U+{:04X}", u32::from(c)), "remove it"),
        c if c.is_whitespace() => (format!("unusual space U+{:04X}", u32::from(c)), "use an ordinary space"),
        c => (format!("unexpected character `{c}`"), "remove it, or put it into a string"),
    };
    Diagnostic::error(span, summary, "This character has no meaning here.").help(help)
}

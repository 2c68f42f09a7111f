//! Text → tokens, nothing lost: every byte belongs to a token or is a space or tab between two tokens.
//!
//! Templates nest (`"a${f("b")}"`), so the lexer keeps a stack of modes instead of recursing; its work is linear
//! in the text whatever the text holds.
//!
//! Broken text gives tokens too. A quoted string cannot go on over a line, and a template or heredoc without an end
//! must not swallow the rest of a file, so the lexer cuts them off where the text plainly goes on with something
//! else (see `cut`) and leaves a [`TokenKind::Unclosed`] there for the parser to report.

pub(crate) mod cut;
mod lexer;
#[cfg(test)]
mod tests;

use crate::{FileId, Span};
use lexer::{Lexer, Mode};

/// A piece of a text. Its bytes are `text[start..end]`, both on character boundaries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

/// The kinds of token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TokenKind {
    /// A name: letters, digits, `_` and `-`, not starting with a digit or `-`. Keywords are names too.
    Ident,
    /// Digits with at most one exponent. `1.2.3` is one token and for the parser to refuse.
    Number,
    /// `{`
    OpenBrace,
    /// `}`
    CloseBrace,
    /// `[`
    OpenBracket,
    /// `]`
    CloseBracket,
    /// `(`
    OpenParen,
    /// `)`
    CloseParen,
    /// `+`
    Plus,
    /// `-`
    Minus,
    /// `*`
    Star,
    /// `/`
    Slash,
    /// `%`
    Percent,
    /// `==`
    EqualEqual,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterEqual,
    /// `&&`
    And,
    /// `||`
    Or,
    /// `!`
    Bang,
    /// `?`
    Question,
    /// `:`
    Colon,
    /// `::`
    DoubleColon,
    /// `,`
    Comma,
    /// `.`
    Dot,
    /// `...`
    Ellipsis,
    /// `=>`
    Arrow,
    /// `=`
    Equal,
    /// `"` that opens a string.
    OpenQuote,
    /// `"` that closes a string.
    CloseQuote,
    /// Text inside quotes, escapes as written. Never empty, never holds a newline.
    QuotedText,
    /// `<<EOT` or `<<-EOT` with the rest of its line, newline included. Only spaces may follow the marker, and not even
    /// those in valid text.
    OpenHeredoc,
    /// Text of a heredoc or of a bare template: at most one line, with its newline. Never empty.
    Text,
    /// The line that closes a heredoc: its indentation, the marker and trailing spaces, without the newline.
    CloseHeredoc,
    /// `${` or `${~`
    OpenInterpolation,
    /// `%{` or `%{~`
    OpenDirective,
    /// `}` or `~}` that ends an interpolation or directive.
    CloseTemplate,
    /// `\n` or `\r\n` outside strings and heredocs.
    Newline,
    /// `# …` or `// …`, without the newline (a [`TokenKind::Newline`] follows).
    LineComment,
    /// `/* … */`, which may span lines.
    BlockComment,
    /// The byte order mark at the very start of a text.
    ByteOrderMark,
    /// Characters with no meaning here; neighbours are not joined, except that `/*` without an end goes to the end
    /// of its line.
    Invalid,
    /// Marks, without any bytes, where a string, template or heredoc was cut off because its end is missing.
    Unclosed,
    /// The end of the text, without any bytes; always last.
    Eof,
}

/// The tokens of a configuration text or of an expression.
///
/// Offsets are 32 bits wide: a text of 4 GiB or more must be refused before.
#[must_use]
pub fn tokens(text: &str) -> Vec<Token> {
    Lexer::new(text, None).run()
}

/// Whether a text is a name and nothing else.
#[must_use]
pub fn is_name(text: &str) -> bool {
    cut::after_ident(text) == Some("")
}

/// The tokens of a bare template: text with `${…}` and `%{…}` in it, as `templatefile` reads it.
#[must_use]
pub fn template_tokens(text: &str) -> Vec<Token> {
    Lexer::new(text, Some(Mode::Bare)).run()
}

impl Token {
    /// Where it stands.
    #[must_use]
    pub fn span(self, file: FileId) -> Span {
        Span { file, start: self.start, end: self.end }
    }

    /// Its characters, given the text it came from.
    #[must_use]
    pub fn text(self, text: &str) -> &str {
        &text[self.start as usize..self.end as usize]
    }
}

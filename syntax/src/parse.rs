//! Tokens → tree, every syntax error of a text at once.
//!
//! 1. `parser`: where the parser stands and what it found wrong
//! 2. `recovery`: brackets, and how the parser finds its feet after an error
//! 3. `message`: the words of syntax errors
//! 4. `body`: attributes and blocks
//! 5. `expression`: operators, conditionals and paths
//! 6. `term`: what operators stand between: literals, names, calls and everything in brackets
//! 7. `template`: strings and heredocs, their interpolations and directives
//! 8. `literal`: escapes and normal form of string text
//!
//! An error inside brackets is skipped up to the next item or the closing bracket, an error in an attribute up to the
//! next line. If brackets turn out not to be balanced at the end of the text, it is parsed a second time with an eye on
//! its layout, so that the bracket that lacks its end is named and nothing that follows is swallowed.

mod body;
mod expression;
mod literal;
mod message;
mod parser;
mod recovery;
mod template;
mod term;
#[cfg(test)]
mod tests;

use crate::token::{template_tokens, tokens};
use crate::tree::{Body, Expr, ExprKind};
use crate::{Diagnostic, Diagnostics, FileId, Span};
use parser::Parser;

/// How deep blocks and expressions may nest: the height of any [`Body`] or [`Expr`] this module returns, but for an
/// [`ExprKind::Invalid`] in place of what would be deeper. Each operator of a chain `a + b + c` is a level, as is each
/// bracket.
///
/// Readers of the tree recurse; this much of it fits into the 2 MiB stack of an ordinary thread.
pub const MAX_DEPTH: usize = 200;

/// How many errors are kept for one text; one more says how many were left out.
pub const MAX_ERRORS: usize = 200;

/// The content of a configuration or values file.
///
/// The body holds what could be read, whatever the errors.
#[must_use]
pub fn parse(file: FileId, text: &str) -> (Body, Diagnostics) {
    if let Some(diagnostic) = too_long(file, text) {
        let span = Span { file, start: 0, end: 0 };
        return (
            Body { attributes: Vec::new(), blocks: Vec::new(), span, incomplete: true },
            vec![diagnostic],
        );
    }
    let mut parser = Parser::new(file, text, tokens(text));
    let body = parser.file();
    if !parser.is_unbalanced() {
        return (body, parser.finish());
    }
    let mut second = parser.by_layout();
    let second_body = second.file();
    // In a text without any layout its looks mislead.
    if second.error_count() <= parser.error_count() {
        (second_body, second.finish())
    } else {
        (body, parser.finish())
    }
}

/// A text that is one expression. Newlines mean nothing in it, as between parentheses.
#[must_use]
pub fn parse_expression(file: FileId, text: &str) -> (Expr, Diagnostics) {
    if let Some(diagnostic) = too_long(file, text) {
        return (Expr { kind: ExprKind::Invalid, span: Span { file, start: 0, end: 0 } }, vec![diagnostic]);
    }
    let mut parser = Parser::new(file, text, tokens(text));
    let expr = parser.whole_expression();
    (expr, parser.finish())
}

/// A text that is one template, as `templatefile` and `templatestring` read it.
#[must_use]
pub fn parse_template(file: FileId, text: &str) -> (Expr, Diagnostics) {
    if let Some(diagnostic) = too_long(file, text) {
        return (Expr { kind: ExprKind::Invalid, span: Span { file, start: 0, end: 0 } }, vec![diagnostic]);
    }
    let mut parser = Parser::new(file, text, template_tokens(text));
    let expr = parser.whole_template();
    (expr, parser.finish())
}

fn too_long(file: FileId, text: &str) -> Option<Diagnostic> {
    let span = Span { file, start: 0, end: 0 };
    (u32::try_from(text.len()).is_err())
        .then(|| Diagnostic::error(span, "text too long", "A text may have 4 GiB at most."))
}

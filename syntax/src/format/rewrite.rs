//! The few rewritings of tokens themselves, the ones `terraform fmt` makes.
//!
//! - A bare block label gets quotes.
//! - An argument that is one interpolation and nothing else loses its quotes: `"${x}"` is `x`.
//! - The type of a variable in the spelling of old gets today's: `"list"` is `list(string)`, `list` is `list(any)`.

use std::ops::Range;

use super::spacing::bracket_change;
use crate::Span;
use crate::token::{Token, TokenKind as K};
use crate::tree::{Attribute, Body, Ident};

/// The text with its rewritings, if there are any.
pub(super) fn rewrite(text: &str, tokens: &[Token], body: &Body) -> Option<String> {
    let mut rewriting = Rewriting { text, tokens, edits: Vec::new() };
    rewriting.walk(body);
    rewriting.apply()
}

struct Rewriting<'a> {
    text: &'a str,
    tokens: &'a [Token],
    edits: Vec<(Range<usize>, String)>,
}

impl<'a> Rewriting<'a> {
    /// Collects the edits of a file. Not recursive: blocks nest as deep as the parser lets them.
    fn walk(&mut self, file: &'a Body) {
        let mut bodies = vec![(file, false)];
        while let Some((body, of_variable)) = bodies.pop() {
            for attribute in &body.attributes {
                self.edit(attribute.value.span, |this| this.value(attribute, of_variable));
            }
            for block in &body.blocks {
                for label in &block.labels {
                    self.edit(label.span, |this| this.label(label));
                }
                bodies.push((&block.body, std::ptr::eq(body, file) && &*block.kind.name == "variable"));
            }
        }
    }

    fn edit(&mut self, span: Span, new: impl FnOnce(&Self) -> Option<String>) {
        if let Some(new) = new(self) {
            self.edits.push((span.start as usize..span.end as usize, new));
        }
    }

    fn apply(mut self) -> Option<String> {
        if self.edits.is_empty() {
            return None;
        }
        self.edits.sort_by_key(|(range, _)| range.start);
        let mut out = String::with_capacity(self.text.len() + 8 * self.edits.len());
        let mut done = 0;
        for (range, new) in self.edits {
            out.push_str(&self.text[done..range.start]);
            out.push_str(&new);
            done = range.end;
        }
        out.push_str(&self.text[done..]);
        Some(out)
    }

    fn label(&self, label: &Ident) -> Option<String> {
        let text = self.slice(label.span);
        (!text.starts_with('"')).then(|| format!("\"{text}\""))
    }

    fn value(&self, attribute: &Attribute, of_variable: bool) -> Option<String> {
        if of_variable && &*attribute.name.name == "type" {
            modern_type(self.slice(attribute.value.span)).map(str::to_owned)
        } else {
            self.unwrapped(attribute.value.span)
        }
    }

    /// The value without its quotes if it is one interpolation and nothing else.
    fn unwrapped(&self, value: Span) -> Option<String> {
        let first = self.tokens.partition_point(|token| token.start < value.start);
        let end = self.tokens.partition_point(|token| token.start < value.end);
        let mut inside = interpolated(&self.tokens[first..end])?;
        while let Some(deeper) = interpolated(inside) {
            inside = deeper;
        }
        // A comment beside another lone interpolation would keep it from being unwrapped in this run, not in the next.
        let deeper = interpolated(trim(inside, &[K::Newline, K::LineComment, K::BlockComment]));
        if deeper.is_some() || inside.iter().any(|token| token.kind == K::OpenHeredoc) {
            return None;
        }
        let (open, close) = (inside.first()?, inside.last()?);
        let code = &self.text[open.start as usize..close.end as usize];
        // Without its braces, code that goes on over lines needs parentheses to do so.
        let wrapped = open.kind == K::OpenParen && closes_at_end(inside);
        Some(match close.kind {
            _ if wrapped || !goes_over_lines(inside) => code.to_owned(),
            K::LineComment => format!("({code}\n)"),
            _ => format!("({code})"),
        })
    }

    fn slice(&self, span: Span) -> &'a str {
        &self.text[span.start as usize..span.end as usize]
    }
}

/// What stands between `"${` and `}"`, newlines around it left out, if that is all the tokens are.
fn interpolated(tokens: &[Token]) -> Option<&[Token]> {
    let [quote, tokens @ .., _] = tokens else { return None };
    let [open, inside @ .., _] = tokens else { return None };
    let alone = quote.kind == K::OpenQuote && open.kind == K::OpenInterpolation && closes_at_end(tokens);
    alone.then(|| trim(inside, &[K::Newline]))
}

/// Whether there is a newline. One that ends a comment counts outside of brackets only, as in Terraform.
fn goes_over_lines(tokens: &[Token]) -> bool {
    let mut depth = 0;
    let mut last = K::Newline;
    tokens.iter().any(|token| {
        depth += bracket_change(token.kind);
        let after_comment = std::mem::replace(&mut last, token.kind) == K::LineComment;
        match token.kind {
            K::Newline => !after_comment,
            K::LineComment => depth == 0,
            _ => false,
        }
    })
}

/// Whether the bracket that opens the tokens is closed by the last of them.
fn closes_at_end(tokens: &[Token]) -> bool {
    let mut depth = 0;
    let closing = tokens.iter().position(|token| {
        depth += bracket_change(token.kind);
        depth == 0
    });
    closing.is_some_and(|at| at + 1 == tokens.len())
}

/// The tokens without those of some kinds at both ends.
fn trim<'a>(tokens: &'a [Token], kinds: &[K]) -> &'a [Token] {
    let keep = |token: &Token| !kinds.contains(&token.kind);
    let first = tokens.iter().position(keep).unwrap_or(tokens.len());
    let end = tokens.iter().rposition(keep).map_or(first, |last| last + 1);
    &tokens[first..end]
}

/// What a variable's type in the spelling of old is written like today.
fn modern_type(old: &str) -> Option<&'static str> {
    match old {
        "\"string\"" => Some("string"),
        "\"list\"" => Some("list(string)"),
        "\"map\"" => Some("map(string)"),
        "list" => Some("list(any)"),
        "map" => Some("map(any)"),
        "set" => Some("set(any)"),
        _ => None,
    }
}

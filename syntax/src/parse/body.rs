//! Attributes and blocks.

use std::collections::HashMap;
use std::sync::Arc;

use super::literal::normal;
use super::parser::Parser;
use super::recovery::Bracket;
use crate::token::{Token, TokenKind as K};
use crate::tree::{Attribute, Block, Body, Ident};
use crate::{Diagnostic, Span};

/// Bodies with more attributes than this look for repeated names in a map rather than one by one.
const FEW: usize = 12;

/// A body as it is being read.
struct Items {
    attributes: Vec<Attribute>,
    blocks: Vec<Block>,
    incomplete: bool,
    /// Where each name was first set; used from [`FEW`] attributes on.
    names: HashMap<Arc<str>, Span>,
    lines: Lines,
}

/// How the items of a body lie on lines.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lines {
    /// Each has its own.
    Own,
    /// The first is on the line of the `{`.
    One,
    /// Neither; that was reported.
    Mixed,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Item {
    Attribute,
    Block,
}

impl<'a> Parser<'a> {
    /// The whole text as a body.
    pub(super) fn file(&mut self) -> Body {
        let span = Span { file: self.file, start: 0, end: self.text.len() as u32 };
        self.body(None, span)
    }

    fn body(&mut self, bracket: Option<Bracket>, span: Span) -> Body {
        let own = bracket.is_none() || matches!(self.kind(), K::Newline | K::CloseBrace | K::Eof);
        let mut items = Items {
            attributes: Vec::new(),
            blocks: Vec::new(),
            incomplete: false,
            names: HashMap::new(),
            lines: if own { Lines::Own } else { Lines::One },
        };
        loop {
            self.eat_newlines();
            match self.kind() {
                K::Eof => break,
                K::CloseBrace if bracket.is_some() => break,
                K::CloseBrace => self.stray_brace(),
                _ if bracket.is_some() && self.is_outer_block() => break,
                _ => self.item(bracket, &mut items),
            }
        }
        let Items { mut attributes, mut blocks, incomplete, .. } = items;
        // A tree lives long and most of its lists are short: room for growth would be most of it.
        attributes.shrink_to_fit();
        blocks.shrink_to_fit();
        Body { attributes, blocks, span, incomplete }
    }

    fn stray_brace(&mut self) {
        self.unbalanced = true;
        let detail = "It does not close anything.";
        self.report(Diagnostic::error(self.here(), "unexpected `}`", detail).help("remove it"));
        self.bump();
    }

    /// One attribute or block and the end of its line.
    fn item(&mut self, bracket: Option<Bracket>, items: &mut Items) {
        let start = self.at;
        let item = match self.kind() {
            K::Ident => {
                let token = self.bump();
                let name = self.ident(token);
                self.named_item(name, items)
            }
            K::OpenQuote => self.quoted_name(items),
            _ => {
                self.fail_expected("an argument or a block");
                None
            }
        };
        match item {
            Some(item) if !self.lost => self.end_of_item(item, bracket, items),
            _ => items.incomplete = true,
        }
        if self.lost {
            items.incomplete = true;
            if self.at == start && !matches!(self.kind(), K::CloseBrace | K::Newline) {
                self.bump();
            }
            self.resume_line(start);
        }
    }

    fn named_item(&mut self, name: Ident, items: &mut Items) -> Option<Item> {
        match self.kind() {
            K::Equal => {}
            K::OpenBrace | K::OpenQuote | K::Ident | K::Newline
                if self.kind() != K::Newline || self.kind_on_next_line() == K::OpenBrace =>
            {
                let block = self.block(name)?;
                items.blocks.push(block);
                return Some(Item::Block);
            }
            K::Colon | K::EqualEqual | K::Arrow => {
                let diagnostic = self.expected_help("`=`", &format!("write `{} = …`", name.name));
                self.report(diagnostic);
            }
            _ => {
                self.fail_name(&name);
                return None;
            }
        }
        self.bump();
        let value = self.value();
        let span = self.since(name.span.start);
        self.add_attribute(Attribute { name, value, span }, items);
        Some(Item::Attribute)
    }

    fn fail_name(&mut self, name: &Ident) {
        let name = &name.name;
        if self.kind() == K::Dot {
            let help =
                format!("a name has no dots: to set a part of `{name}`, give all of it, `{name} = {{ … }}`");
            self.fail_expected_help("`=`", &help);
        } else {
            let help = format!("set an argument with `{name} = …`, or open a block with `{name} {{`");
            self.fail_expected_help("`=` or `{`", &help);
        }
    }

    fn add_attribute(&mut self, attribute: Attribute, items: &mut Items) {
        let name = &attribute.name;
        let before = if items.attributes.len() < FEW {
            items.attributes.iter().find(|other| other.name.name == name.name).map(|other| other.name.span)
        } else {
            if items.names.is_empty() {
                let names =
                    items.attributes.iter().map(|other| (Arc::clone(&other.name.name), other.name.span));
                items.names.extend(names);
            }
            items.names.get(&name.name).copied()
        };
        match before {
            Some(before) => {
                let summary = format!("`{}` is set twice", name.name);
                let detail = "An argument can be set once only.";
                let diagnostic =
                    Diagnostic::error(name.span, summary, detail).related(before, "first set here");
                self.report(diagnostic);
            }
            None => {
                if !items.names.is_empty() {
                    items.names.insert(Arc::clone(&name.name), name.span);
                }
                items.attributes.push(attribute);
            }
        }
    }

    /// `"name" = value`: what is meant is clear.
    fn quoted_name(&mut self, items: &mut Items) -> Option<Item> {
        let name = self.quoted_label()?;
        if self.kind() == K::Equal {
            let detail = "The name of an argument is a bare word.";
            let help = format!("write `{} = …`", name.name);
            self.report(Diagnostic::error(name.span, "quoted argument name", detail).help(help));
            return self.named_item(name, items);
        }
        let detail = "A block starts with a bare word, an argument too.";
        self.fail(Diagnostic::error(name.span, "expected an argument or a block, found a string", detail));
        None
    }

    /// What may follow an item: the end of the line, or the end of a one-line block.
    fn end_of_item(&mut self, item: Item, bracket: Option<Bracket>, items: &mut Items) {
        let what = if item == Item::Block { "a block" } else { "an argument" };
        let fits = item == Item::Attribute && matches!(self.kind(), K::CloseBrace | K::Eof);
        if items.lines == Lines::One && !fits {
            items.lines = Lines::Mixed;
            let span = bracket.map_or(self.here(), |bracket| self.span_of(bracket.open));
            let detail = "A block on one line holds one argument at most, and its `}` stands on that line.";
            self.report(
                Diagnostic::error(span, "too much for a one-line block", detail)
                    .help("put the content on lines of its own, between `{` and `}`"),
            );
        }
        if items.lines == Lines::Mixed && self.kind() == K::Comma {
            self.bump();
        }
        match self.kind() {
            K::Newline | K::Eof => {}
            // A block that was not closed ended before this line.
            _ if self.starts_line() => {}
            K::CloseBrace if bracket.is_none() || items.lines != Lines::Own => {}
            _ if items.lines == Lines::Mixed && self.looks_like_item() => {}
            K::CloseBrace if self.by_layout => self.stray_brace(),
            K::CloseBrace => {
                let detail = format!("The line of {what} ends with it.");
                self.report(
                    Diagnostic::error(self.here(), "expected the end of the line, found `}`", detail)
                        .help("put the `}` on a line of its own"),
                );
            }
            K::Comma => {
                self.report(not_parted(self.here(), ","));
                self.bump();
            }
            K::Invalid if self.current().text(self.text) == ";" => {
                self.report(not_parted(self.here(), ";"));
                self.bump();
            }
            K::Ident if self.looks_like_item() => {
                let detail = format!("The line of {what} ends with it.");
                let diagnostic = self.expected("the end of the line");
                self.report(Diagnostic { detail, ..diagnostic }.help("put it on a line of its own"));
            }
            _ => {
                let diagnostic = self.expected(&format!("the end of the line after {what}"));
                self.fail(diagnostic);
            }
        }
    }

    /// A block after the word it starts with.
    fn block(&mut self, kind: Ident) -> Option<Block> {
        let mut labels = Vec::new();
        let (bracket, header) = loop {
            let header = self.since(kind.span.start);
            match self.kind() {
                K::OpenBrace => {
                    self.enter();
                    break (self.open(K::CloseBrace, true), header);
                }
                K::Ident => {
                    let token = self.bump();
                    labels.push(self.ident(token));
                }
                K::OpenQuote => match self.broken_header() {
                    // Labels end with the quote; where it is missing, the brace is part of the string.
                    Some(open) => {
                        self.enter();
                        break (self.open_unseen(open, K::CloseBrace), header);
                    }
                    None => labels.push(self.quoted_label()?),
                },
                K::Newline if self.kind_on_next_line() == K::OpenBrace => {
                    self.eat_newlines();
                    let detail = "The `{` of a block stands on the line of its name.";
                    self.complain(self.here(), "`{` on a line of its own", detail, "move it up");
                }
                _ => {
                    self.fail_header(&kind, &labels);
                    return None;
                }
            }
        };
        if self.lost {
            self.close(bracket, "`}`");
            return None;
        }
        labels.shrink_to_fit();
        let start = bracket.open.end;
        let mut body = self.body(Some(bracket), Span { file: self.file, start, end: start });
        self.leave();
        body.span.end = self.current().start.max(start);
        if self.at_close(bracket) {
            self.close(bracket, "`}`");
        } else {
            body.incomplete = true;
            self.fail_unclosed_block(bracket, header);
        }
        Some(Block { kind, labels, body, header })
    }

    fn fail_header(&mut self, kind: &Ident, labels: &[Ident]) {
        let argument = format!("to set an argument, write `{} = …`; a block needs `{{` and `}}`", kind.name);
        let help = match self.kind() {
            K::Newline | K::Eof if labels.len() == 1 => &argument,
            K::Equal => "a block has no `=` before its `{`",
            K::Dot => "put labels with dots in quotes",
            _ => "a block needs `{` and `}`",
        };
        self.fail_expected_help("`{` or a label", help);
    }

    /// At a quote that is never closed, on a line that ends with `{`: the last token of the string.
    fn broken_header(&mut self) -> Option<Token> {
        let quote = self.current();
        let text = self.take_quote_with_brace()?;
        self.report(unclosed_string(self.span_of(quote)).help("close the label with `\"`"));
        Some(text)
    }

    /// A quoted label or argument name: text only.
    fn quoted_label(&mut self) -> Option<Ident> {
        let start = self.bump().start;
        let mut name = String::new();
        loop {
            match self.kind() {
                K::QuotedText => {
                    let token = self.bump();
                    self.unescape(token, &mut name);
                }
                K::CloseQuote => {
                    self.bump();
                    let span = self.since(start);
                    return Some(Ident { name: normal(&name), span });
                }
                K::OpenInterpolation | K::OpenDirective => {
                    let detail =
                        "The labels of a block are fixed: they are read before anything is evaluated.";
                    self.report(
                        Diagnostic::error(self.here(), "template in a label", detail)
                            .help("write the text itself; for a literal `${` write `$${`"),
                    );
                    self.skip_template();
                    if self.lost {
                        return None;
                    }
                }
                _ => {
                    let span = Span { file: self.file, start, end: start + 1 };
                    self.fail(unclosed_string(span).help("close it with `\"`"));
                    return None;
                }
            }
        }
    }
}

pub(super) fn unclosed_string(quote: Span) -> Diagnostic {
    Diagnostic::error(quote, "unclosed string", "A quoted string ends on the line on which it starts.")
}

fn not_parted(span: Span, mark: &str) -> Diagnostic {
    let detail = "Arguments are parted by newlines.";
    Diagnostic::error(span, format!("expected the end of the line, found `{mark}`"), detail)
        .help(format!("remove the `{mark}`"))
}

//! Strings and heredocs, their interpolations and directives.
//!
//! A template is first read as a flat row of [`Piece`]s. Trim markers and the dedenting of flush heredocs work on
//! neighbouring pieces, whatever their nesting, and a heredoc has a piece of text for each line: `~}` before the end of
//! a line takes that newline away, but not the indentation of the next line. Then directives are matched with their ends.

use std::sync::Arc;

use unicode_ident::is_xid_continue;

use super::body::unclosed_string;
use super::literal::{is_plain, normal};
use super::parser::Parser;
use crate::token::{Token, TokenKind, TokenKind as K};
use crate::tree::{Expr, ExprKind, Ident, TemplateFor, TemplateIf, TemplatePart};
use crate::{Diagnostic, Span, nearest};

/// A piece of a template, before directives are matched.
enum Piece {
    Text(String),
    Interpolation(Expr),
    Directive(Directive, Span),
}

enum Directive {
    If(Expr),
    Else,
    EndIf,
    For(Option<Ident>, Ident, Expr),
    EndFor,
}

/// The directives around a place. They nest without brackets: each is a level until its end.
#[derive(Default)]
struct Nesting {
    open: usize,
    /// Those beyond the limit, which are left out of the template.
    too_deep: usize,
}

/// A directive that waits for its end, with what came before it.
struct Open {
    directive: Directive,
    span: Span,
    before: Vec<TemplatePart>,
    /// The parts before `else`, once that was seen.
    then: Option<Vec<TemplatePart>>,
}

impl<'a> Parser<'a> {
    /// A text that is one template and nothing else.
    pub(super) fn whole_template(&mut self) -> Expr {
        let span = Span { file: self.file, start: 0, end: self.text.len() as u32 };
        self.enter();
        let pieces = self.pieces(K::Eof);
        Expr { kind: self.build(pieces), span }
    }

    pub(super) fn quoted(&mut self) -> Expr {
        let open = self.bump();
        if self.kind() == K::QuotedText && self.next_kind() == K::CloseQuote {
            // By far the most strings: no reason to build a template.
            let text = self.current().text(self.text);
            if is_plain(text) {
                self.bump();
                self.bump();
                return Expr { kind: ExprKind::String(normal(text)), span: self.since(open.start) };
            }
        }
        let pieces = self.pieces(K::CloseQuote);
        if self.lost || self.kind() != K::CloseQuote {
            self.fail_unclosed_quote(open);
            return self.invalid(self.span_of(open));
        }
        self.bump();
        let kind = self.build(pieces);
        Expr { kind, span: self.since(open.start) }
    }

    fn fail_unclosed_quote(&mut self, open: Token) {
        let help = "close it with `\"`; for text of several lines use a heredoc, `<<EOT`";
        self.fail(unclosed_string(self.span_of(open)).help(help));
    }

    pub(super) fn heredoc(&mut self) -> Expr {
        let open = self.bump();
        self.check_marker(open);
        let mut pieces = self.pieces(K::CloseHeredoc);
        if self.kind() != K::CloseHeredoc {
            self.fail_unclosed_heredoc(open);
            return self.invalid(self.span_of(open));
        }
        self.bump();
        if open.text(self.text).starts_with("<<-") {
            dedent(&mut pieces);
        }
        let kind = self.build(pieces);
        Expr { kind, span: self.since(open.start) }
    }

    /// The line that opens a heredoc: the marker, what follows it, and the place of both without spaces around.
    fn heredoc_intro(&self, open: Token) -> (&'a str, &'a str, Span) {
        let intro = open.text(self.text);
        let line = intro.trim_start_matches(['<', '-']).trim_end_matches(['\r', '\n']);
        let end = line.find(|c: char| c != '-' && !is_xid_continue(c)).unwrap_or(line.len());
        let span = Span { end: open.start + intro.trim_end().len() as u32, ..self.span_of(open) };
        (&line[..end], &line[end..], span)
    }

    fn check_marker(&mut self, open: Token) {
        let (marker, rest, span) = self.heredoc_intro(open);
        if !rest.is_empty() {
            let detail =
                format!("The line ends with the marker `{marker}`; the text starts on the next one.");
            let help = "remove what follows the marker, spaces too";
            self.complain(span, "text after the marker of a heredoc", &detail, help);
        }
    }

    fn fail_unclosed_heredoc(&mut self, open: Token) {
        let (marker, _, span) = self.heredoc_intro(open);
        let detail = format!("No line after it consists of `{marker}` alone.");
        let help = format!("end it with a line that holds only `{marker}`");
        self.fail(Diagnostic::error(span, "unclosed heredoc", detail).help(help));
    }

    /// Steps over an interpolation or directive without looking at it.
    pub(super) fn skip_template(&mut self) {
        let bracket = self.open(K::CloseTemplate, false);
        self.lost = true;
        self.close(bracket, "`}`");
    }

    /// All pieces up to the token that ends the template, or to an [`K::Unclosed`] that cuts it off.
    fn pieces(&mut self, end: TokenKind) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let (mut trim, mut nesting) = (false, Nesting::default());
        while self.kind() != end {
            let trim_this = std::mem::take(&mut trim);
            match self.kind() {
                K::QuotedText | K::Text => {
                    let token = self.bump();
                    let mut text = String::new();
                    self.unescape(token, &mut text);
                    if trim_this {
                        text.drain(..text.len() - text.trim_start().len());
                    }
                    pieces.push(Piece::Text(text));
                }
                K::OpenInterpolation | K::OpenDirective => {
                    if self.current().text(self.text).ends_with('~')
                        && let Some(Piece::Text(before)) = pieces.last_mut()
                    {
                        before.truncate(before.trim_end().len());
                    }
                    trim = match self.kind() {
                        K::OpenInterpolation => self.interpolation(&mut pieces),
                        _ => self.directive(&mut pieces, &mut nesting),
                    };
                    if self.lost && (end == K::CloseQuote || self.kind() != K::Unclosed) {
                        break;
                    }
                    if self.lost {
                        // The cut ends all inside of this heredoc, which itself goes on.
                        self.lost = false;
                        self.bump();
                    }
                }
                _ => break,
            }
        }
        for _ in 0..nesting.open {
            self.leave();
        }
        pieces
    }

    /// Reads an interpolation and returns whether the text after it is to be trimmed.
    fn interpolation(&mut self, pieces: &mut Vec<Piece>) -> bool {
        let bracket = self.open(K::CloseTemplate, false);
        let expr = self.expression();
        let close = self.close(bracket, "`}`");
        pieces.push(Piece::Interpolation(expr));
        close.end - close.start == 2
    }

    /// Reads a directive and returns whether the text after it is to be trimmed.
    fn directive(&mut self, pieces: &mut Vec<Piece>, nesting: &mut Nesting) -> bool {
        let bracket = self.open(K::CloseTemplate, false);
        let directive = self.directive_word(nesting);
        let close = self.close(bracket, "`}`");
        let span = self.span_of(bracket.open).to(close);
        pieces.extend(directive.map(|directive| Piece::Directive(directive, span)));
        close.end - close.start == 2
    }

    fn directive_word(&mut self, nesting: &mut Nesting) -> Option<Directive> {
        let token = self.current();
        if self.kind() != K::Ident {
            let help = "a directive is one of `if`, `else`, `endif`, `for` and `endfor`; for a literal `%{` write `%%{`";
            self.fail_expected_help("`if` or `for`", help);
            return None;
        }
        self.bump();
        let word = token.text(self.text);
        match word {
            "if" | "for" => {
                if nesting.too_deep == 0 && self.enter() {
                    nesting.open += 1;
                } else {
                    nesting.too_deep += 1;
                    self.lost = true;
                    return None;
                }
                if word == "if" {
                    Some(Directive::If(self.expression()))
                } else {
                    self.for_intro().map(|(key, value, collection)| Directive::For(key, value, collection))
                }
            }
            "else" => (nesting.too_deep == 0).then_some(Directive::Else),
            "endif" | "endfor" if nesting.too_deep > 0 => {
                nesting.too_deep -= 1;
                None
            }
            "endif" | "endfor" => {
                if nesting.open > 0 {
                    nesting.open -= 1;
                    self.leave();
                }
                Some(if word == "endif" { Directive::EndIf } else { Directive::EndFor })
            }
            _ => {
                self.fail_directive(token);
                None
            }
        }
    }

    fn fail_directive(&mut self, token: Token) {
        let word = token.text(self.text);
        let detail = "A directive is one of `if`, `else`, `endif`, `for` and `endfor`.";
        let help = match nearest(word, ["if", "else", "endif", "for", "endfor"]) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "for the value of an expression write `${…}`, for a literal `%{` write `%%{`".to_owned(),
        };
        let summary = format!("unknown directive `{word}`");
        self.fail(Diagnostic::error(self.span_of(token), summary, detail).help(help));
    }

    /// Matches directives with their ends.
    fn build(&mut self, pieces: Vec<Piece>) -> ExprKind {
        let mut parts = Vec::new();
        let mut open: Vec<Open> = Vec::new();
        let mut literal = None;
        for piece in pieces {
            // A literal that was trimmed to nothing stays: a template with any text but an interpolation is a string.
            if !matches!(piece, Piece::Text(_)) {
                parts.extend(literal.take().map(|text: String| TemplatePart::Literal(normal(&text))));
            }
            match piece {
                Piece::Text(text) => match &mut literal {
                    Some(before) => before.push_str(&text),
                    None => literal = Some(text),
                },
                Piece::Interpolation(expr) => parts.push(TemplatePart::Interpolation(expr)),
                Piece::Directive(directive @ (Directive::If(_) | Directive::For(..)), span) => {
                    open.push(Open { directive, span, before: std::mem::take(&mut parts), then: None });
                }
                Piece::Directive(Directive::Else, span) => match open.last_mut() {
                    Some(Open { directive: Directive::If(_), then: then @ None, .. }) => {
                        *then = Some(std::mem::take(&mut parts));
                    }
                    other => {
                        let other = other.map(|open| open.span);
                        self.report(unmatched(span, "else", other));
                    }
                },
                Piece::Directive(end, span) => match (open.pop(), end) {
                    (
                        Some(Open { directive: Directive::If(condition), span: start, before, then }),
                        Directive::EndIf,
                    ) => {
                        let last = std::mem::replace(&mut parts, before);
                        let (then, otherwise) = match then {
                            Some(then) => (then, last),
                            None => (last, Vec::new()),
                        };
                        let span = start.to(span);
                        parts.push(TemplatePart::If(Box::new(TemplateIf {
                            condition,
                            then,
                            otherwise,
                            span,
                        })));
                    }
                    (
                        Some(Open {
                            directive: Directive::For(key_name, value_name, collection),
                            span: start,
                            before,
                            ..
                        }),
                        Directive::EndFor,
                    ) => {
                        let body = std::mem::replace(&mut parts, before);
                        let span = start.to(span);
                        let part = TemplateFor { key_name, value_name, collection, body, span };
                        parts.push(TemplatePart::For(Box::new(part)));
                    }
                    (other, end) => {
                        let word = if matches!(end, Directive::EndIf) { "endif" } else { "endfor" };
                        self.report(unmatched(span, word, other.as_ref().map(|open| open.span)));
                        open.extend(other);
                    }
                },
            }
        }
        parts.extend(literal.map(|text| TemplatePart::Literal(normal(&text))));
        for Open { directive, span, .. } in open {
            let (word, end) =
                if matches!(directive, Directive::If(_)) { ("if", "endif") } else { ("for", "endfor") };
            self.report(
                Diagnostic::error(
                    span,
                    format!("unclosed `{word}` directive"),
                    "The template ends before it does.",
                )
                .help(format!("end it with `%{{ {end} }}`")),
            );
        }
        match parts.as_slice() {
            [] => ExprKind::String("".into()),
            [TemplatePart::Literal(text)] => ExprKind::String(Arc::clone(text)),
            _ => ExprKind::Template(parts.into()),
        }
    }
}

fn unmatched(span: Span, word: &str, open: Option<Span>) -> Diagnostic {
    let diagnostic = Diagnostic::error(
        span,
        format!("unexpected `{word}` directive"),
        "No directive that it could belong to is open.",
    );
    match open {
        Some(open) => diagnostic.related(open, "the innermost open directive"),
        None => diagnostic,
    }
}

/// Takes the common indentation of all lines away.
///
/// Lines of nothing but spaces do not count and stay as they are. What counts as the start of a line is the piece after
/// one that ends with a newline, so a line whose newline before it was trimmed away keeps its indentation.
fn dedent(pieces: &mut [Piece]) {
    let indentation = |text: &str| text.chars().take_while(|c| c.is_whitespace()).count();
    let mut starts = Vec::new();
    let mut common = usize::MAX;
    let mut line_start = true;
    for (index, piece) in pieces.iter().enumerate() {
        let Piece::Text(text) = piece else {
            if std::mem::take(&mut line_start) {
                common = 0;
            }
            continue;
        };
        let blank = text.ends_with('\n') && text.trim_start().is_empty();
        if std::mem::replace(&mut line_start, text.ends_with('\n')) && !blank {
            common = common.min(indentation(text));
            starts.push(index);
        }
    }
    for index in starts {
        if let Piece::Text(text) = &mut pieces[index] {
            let end = text.char_indices().nth(common).map_or(text.len(), |(end, _)| end);
            text.drain(..end);
        }
    }
}

//! Diagnostics for programs.

use fleet_syntax::{Diagnostic, Severity, Sources, Span};
use serde::Serialize;

use super::count;
use super::snippet::Snippet;

/// Rises when a field changes its meaning or goes away; new fields do not raise it.
const FORMAT_VERSION: &str = "1.0";

#[derive(Serialize)]
struct Document<'a> {
    format_version: &'static str,
    valid: bool,
    error_count: usize,
    warning_count: usize,
    diagnostics: Vec<Item<'a>>,
}

/// One diagnostic.
#[derive(Serialize)]
pub(crate) struct Item<'a> {
    severity: &'static str,
    summary: &'a str,
    detail: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    range: Option<Range<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    snippet: Option<Code>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    related: Vec<Related<'a>>,
}

/// Another place that has to do with it.
#[derive(Serialize)]
struct Related<'a> {
    message: &'a str,
    range: Range<'a>,
}

/// Where it is; the end is one past the last character.
#[derive(Serialize)]
struct Range<'a> {
    filename: &'a str,
    start: Place,
    end: Place,
}

/// Line and column count from 1, in characters; the byte from 0, in the whole text.
#[derive(Serialize)]
struct Place {
    line: u32,
    column: u32,
    byte: u32,
}

/// The first line of the range. Offsets are bytes of `code`.
#[derive(Serialize)]
struct Code {
    context: Option<String>,
    code: String,
    start_line: u32,
    highlight_start_offset: usize,
    highlight_end_offset: usize,
    values: [(); 0],
}

pub(super) fn render(diagnostics: &[&Diagnostic], sources: &Sources) -> String {
    let error_count = count(diagnostics, Severity::Error);
    let document = Document {
        format_version: FORMAT_VERSION,
        valid: error_count == 0,
        error_count,
        warning_count: count(diagnostics, Severity::Warning),
        diagnostics: diagnostics.iter().map(|diagnostic| item(diagnostic, sources)).collect(),
    };
    let mut text = serde_json::to_string_pretty(&document).expect("strings and numbers are always JSON");
    text.push('\n');
    text
}

pub(super) fn item<'a>(diagnostic: &'a Diagnostic, sources: &'a Sources) -> Item<'a> {
    let related = diagnostic.related.iter();
    Item {
        severity: match diagnostic.severity {
            Severity::Warning => "warning",
            Severity::Error => "error",
        },
        summary: &diagnostic.summary,
        detail: &diagnostic.detail,
        help: diagnostic.help.as_deref(),
        address: diagnostic.address.as_deref(),
        range: diagnostic.span.map(|span| range(span, sources)),
        snippet: diagnostic.span.map(|span| code(Snippet::new(sources, span))),
        related: related.map(|(span, message)| Related { message, range: range(*span, sources) }).collect(),
    }
}

fn range(span: Span, sources: &Sources) -> Range<'_> {
    let source = sources.get(span.file);
    let place = |byte| {
        let position = source.position(byte);
        Place { line: position.line, column: position.column, byte }
    };
    Range { filename: &source.name, start: place(span.start), end: place(span.end) }
}

fn code(snippet: Snippet) -> Code {
    Code {
        context: None,
        code: snippet.line,
        start_line: snippet.start.line,
        highlight_start_offset: snippet.highlight.start,
        highlight_end_offset: snippet.highlight.end,
        values: [],
    }
}

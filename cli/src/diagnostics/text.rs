//! Diagnostics for people, drawn by miette.

use std::fmt::{self, Write};

use fleet_syntax::{Diagnostic, Severity, Sources, Span};
use miette::{
    GraphicalReportHandler, GraphicalTheme, LabeledSpan, MietteError, MietteSpanContents, SourceCode,
    SourceSpan, SpanContents,
};

use super::count;
use super::snippet::{Snippet, clean};

/// Where long sentences are wrapped.
const WIDTH: usize = 100;
/// Related texts shown with one diagnostic: a cycle can have thousands, and nobody reads them all.
const RELATED: usize = 16;

pub(super) fn render(diagnostics: &[&Diagnostic], sources: &Sources, color: bool) -> String {
    let theme = if color { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
    let drawing = GraphicalReportHandler::new_themed(theme)
        .with_width(WIDTH)
        .with_break_words(false)
        .with_links(false)
        .without_syntax_highlighting()
        .tab_width(4);
    let mut out = String::new();
    for diagnostic in diagnostics {
        for report in Report::all(diagnostic, sources) {
            drawing
                .render_report(&mut out, &report)
                .expect("a string takes all text, labels lie in snippets");
        }
        out.push('\n');
    }
    if diagnostics.len() > 1 {
        let errors = count(diagnostics, Severity::Error);
        let warnings = count(diagnostics, Severity::Warning);
        out.push_str(&tally(errors, warnings));
    }
    out
}

fn tally(errors: usize, warnings: usize) -> String {
    let of = |n: usize, what: &str| (n > 0).then(|| format!("{n} {what}{}", if n == 1 { "" } else { "s" }));
    let counts: Vec<String> = of(errors, "error").into_iter().chain(of(warnings, "warning")).collect();
    format!("{}\n", counts.join(", "))
}

/// A diagnostic, or a text related to one, as miette sees it.
#[derive(Debug)]
struct Report<'a> {
    severity: miette::Severity,
    summary: String,
    detail: Option<Detail>,
    help: Option<String>,
    lines: Option<Lines<'a>>,
}

/// The particulars, drawn below the summary.
#[derive(Debug)]
struct Detail(String);

/// A snippet as miette reads it: one small text that starts at some line of a large one.
#[derive(Debug)]
struct Lines<'a> {
    snippet: Snippet<'a>,
    text: String,
    first_line: usize,
    label: SourceSpan,
}

impl<'a> Report<'a> {
    /// The diagnostic itself, then what is related to it.
    fn all(diagnostic: &'a Diagnostic, sources: &'a Sources) -> impl Iterator<Item = Report<'a>> {
        let related = diagnostic.related.iter().take(RELATED);
        let related = related.map(|(span, note)| Report::note(note, Some(*span), sources));
        let more = diagnostic.related.len().saturating_sub(RELATED);
        let more = (more > 0).then(|| Report::note(&format!("and {more} more"), None, sources));
        std::iter::once(Report::new(diagnostic, sources)).chain(related).chain(more)
    }

    fn new(diagnostic: &Diagnostic, sources: &'a Sources) -> Report<'a> {
        let mut summary = diagnostic.summary.clone();
        if let Some(address) = &diagnostic.address {
            summary.extend([" (in ", address, ")"]);
        }
        let detail: String = clean(diagnostic.detail.trim()).collect();
        Report {
            severity: match diagnostic.severity {
                Severity::Warning => miette::Severity::Warning,
                Severity::Error => miette::Severity::Error,
            },
            detail: (!detail.is_empty()).then_some(Detail(detail)),
            help: diagnostic.help.as_ref().map(|help| clean(help).collect()),
            ..Report::note(&summary, diagnostic.span, sources)
        }
    }

    fn note(note: &str, span: Option<Span>, sources: &'a Sources) -> Report<'a> {
        Report {
            severity: miette::Severity::Advice,
            summary: clean(note).collect(),
            detail: None,
            help: None,
            lines: span.map(|span| Lines::new(Snippet::new(sources, span))),
        }
    }
}

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.summary)
    }
}

impl std::error::Error for Report<'_> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.detail.as_ref().map(|detail| detail as _)
    }
}

impl miette::Diagnostic for Report<'_> {
    fn severity(&self) -> Option<miette::Severity> {
        Some(self.severity)
    }

    fn help<'b>(&'b self) -> Option<Box<dyn fmt::Display + 'b>> {
        self.help.as_ref().map(|help| Box::new(help) as _)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.lines.as_ref().map(|lines| lines as _)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let label = LabeledSpan::new_with_span(None, self.lines.as_ref()?.label);
        Some(Box::new(std::iter::once(label)))
    }
}

impl fmt::Display for Detail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Detail {}

impl<'a> Lines<'a> {
    fn new(snippet: Snippet<'a>) -> Lines<'a> {
        let mut text = String::new();
        let mut first_line = snippet.start.line as usize;
        if let Some(above) = &snippet.above {
            writeln!(text, "{above}").expect("a string takes all text");
            first_line -= 1;
        }
        let label = (text.len() + snippet.highlight.start, snippet.highlight.len()).into();
        text.push_str(&snippet.line);
        text.push('\n');
        if let Some(below) = &snippet.below {
            writeln!(text, "{below}").expect("a string takes all text");
        }
        Lines { snippet, text, first_line, label }
    }
}

impl SourceCode for Lines<'_> {
    /// All of the snippet, whatever context is asked for: it was cut to measure. Without context, miette is after
    /// the place of the label.
    fn read_span<'b>(
        &'b self,
        _: &SourceSpan,
        before: usize,
        _: usize,
    ) -> Result<Box<dyn SpanContents<'b> + 'b>, MietteError> {
        let (line, column) = match before {
            0 => (self.snippet.start.line as usize, self.snippet.start.column as usize),
            _ => (self.first_line, 1),
        };
        Ok(Box::new(MietteSpanContents::new_named(
            self.snippet.name.to_owned(),
            self.text.as_bytes(),
            (0, self.text.len()).into(),
            line - 1,
            column - 1,
            self.text.lines().count(),
        )))
    }
}

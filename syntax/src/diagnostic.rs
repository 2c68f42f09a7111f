//! What is wrong, where, and what to do about it.
//!
//! All findings speak with one voice: a summary and a help start in lower case and end without a full stop, a detail is
//! made of whole sentences, and names and pieces of configuration stand in backticks.

use crate::Span;

/// Many findings at once: work on configuration collects, it does not stop at the first.
pub type Diagnostics = Vec<Diagnostic>;

/// One finding about the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Whether it stops the run.
    pub severity: Severity,
    /// What is wrong, in a few words.
    pub summary: String,
    /// The particulars; may be empty.
    pub detail: String,
    /// The text to blame.
    pub span: Option<Span>,
    /// Other texts that have to do with it, each with what it has to do with it: the other of two equal names, the
    /// steps of a cycle in their order.
    pub related: Vec<(Span, String)>,
    /// The instance it was found for, when one block stands for many.
    pub address: Option<String>,
    /// What to do next.
    pub help: Option<String>,
}

/// Whether a finding stops the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing; the run goes on.
    Warning,
    /// The run cannot go on.
    Error,
}

impl Diagnostic {
    /// An error about the text under `span`.
    pub fn error(span: Span, summary: impl Into<String>, detail: impl Into<String>) -> Diagnostic {
        Diagnostic {
            severity: Severity::Error,
            summary: summary.into(),
            detail: detail.into(),
            span: Some(span),
            related: Vec::new(),
            address: None,
            help: None,
        }
    }

    /// A warning about the text under `span`.
    pub fn warning(span: Span, summary: impl Into<String>, detail: impl Into<String>) -> Diagnostic {
        Diagnostic { severity: Severity::Warning, ..Diagnostic::error(span, summary, detail) }
    }

    /// Adds what to do next.
    #[must_use]
    pub fn help(self, help: impl Into<String>) -> Diagnostic {
        Diagnostic { help: Some(help.into()), ..self }
    }

    /// Adds another text that has to do with it.
    #[must_use]
    pub fn related(mut self, span: Span, note: impl Into<String>) -> Diagnostic {
        self.related.push((span, note.into()));
        self
    }

    /// Adds the instance it was found for.
    #[must_use]
    pub fn at(self, address: impl Into<String>) -> Diagnostic {
        Diagnostic { address: Some(address.into()), ..self }
    }
}

/// Whether any of the findings stops the run.
#[must_use]
pub fn has_errors(diagnostics: &[Diagnostic]) -> bool {
    diagnostics.iter().any(|d| d.severity == Severity::Error)
}

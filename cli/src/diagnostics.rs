//! Diagnostics as people read them (with the source underlined) and as programs do (JSON).
//!
//! Warnings come first and errors last, where the eye rests when the output has scrolled by; each in source order.
//! The JSON form has the shape of `terraform validate -json`, so that editors that read that can read this.

mod json;
mod snippet;
#[cfg(test)]
mod tests;
mod text;

use std::io::{self, Write};

use fleet_syntax::{Diagnostic, Severity, Sources};

use crate::Env;
pub(crate) use snippet::clean;

/// The diagnostics as text, each followed by an empty line, and how many there are.
#[must_use]
pub fn text(diagnostics: &[Diagnostic], sources: &Sources, color: bool) -> String {
    text::render(&sorted(diagnostics), sources, color)
}

/// The diagnostics as one JSON object, with a newline.
#[must_use]
pub fn json(diagnostics: &[Diagnostic], sources: &Sources) -> String {
    json::render(&sorted(diagnostics), sources)
}

/// The diagnostics one by one, for programs that are told of a run.
pub(crate) fn items<'a>(diagnostics: &'a [Diagnostic], sources: &'a Sources) -> Vec<json::Item<'a>> {
    sorted(diagnostics).into_iter().map(|diagnostic| json::item(diagnostic, sources)).collect()
}

/// Writes the diagnostics to standard error, after all output so far.
pub fn report(env: &mut Env, diagnostics: &[Diagnostic], sources: &Sources) -> io::Result<()> {
    env.stdout.flush()?;
    let text = text(diagnostics, sources, env.color_on_stderr());
    env.stderr.write_all(text.as_bytes())
}

fn sorted(diagnostics: &[Diagnostic]) -> Vec<&Diagnostic> {
    let mut sorted: Vec<&Diagnostic> = diagnostics.iter().collect();
    sorted.sort_by_key(|d| (d.severity, d.span.is_none(), d.span));
    sorted
}

fn count(diagnostics: &[&Diagnostic], severity: Severity) -> usize {
    diagnostics.iter().filter(|d| d.severity == severity).count()
}

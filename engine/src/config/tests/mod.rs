//! Tests of loading: whole texts in, the model or what is wrong with them out.

mod blocks;
mod body;
mod describe;
mod laws;
mod modules;
mod sample;
mod values;

use std::path::Path;

use fleet_lang::outside::Memory;
use fleet_syntax::{Diagnostic, Diagnostics, Severity, Sources};

use super::load;
use super::model::Config;

/// Loads the working directory of an outside.
fn load_all(outside: &Memory) -> (Config, Sources, Diagnostics) {
    let mut sources = Sources::default();
    let (config, diagnostics) = load(outside, Path::new("."), &mut sources);
    (config, sources, diagnostics)
}

/// Loads one file.
fn load_one(text: &str) -> (Config, Sources, Diagnostics) {
    load_all(&Memory::new().file("main.fleet.hcl", text))
}

/// Each finding as `line:column summary`, with the file before it if it is not `main.fleet.hcl`, and `warning` if it
/// is one.
fn findings(diagnostics: &[Diagnostic], sources: &Sources) -> Vec<String> {
    let finding = |diagnostic: &Diagnostic| {
        let place = diagnostic.span.map_or("-".to_owned(), |span| {
            let source = sources.get(span.file);
            let position = source.position(span.start);
            let file = if source.name == "main.fleet.hcl" { "" } else { &format!("{}:", source.name) };
            format!("{file}{}:{}", position.line, position.column)
        });
        let warning = if diagnostic.severity == Severity::Warning { "warning: " } else { "" };
        format!("{place} {warning}{}", diagnostic.summary)
    };
    diagnostics.iter().map(finding).collect()
}

/// Checks all findings about one file.
#[track_caller]
fn check(text: &str, expected: &[&str]) {
    let (_, sources, diagnostics) = load_one(text);
    assert_eq!(findings(&diagnostics, &sources), expected, "in {text}");
    for diagnostic in &diagnostics {
        let (summary, detail) = (&diagnostic.summary, &diagnostic.detail);
        assert!(!summary.ends_with('.') && !summary.starts_with(char::is_uppercase), "{summary}");
        assert!(detail.ends_with('.'), "{summary}: {detail}");
        assert!(diagnostic.help.is_some(), "{summary}: what to do?");
    }
}

/// Checks the help of the only finding about one file.
#[track_caller]
fn check_help(text: &str, expected: &str) {
    let (_, _, diagnostics) = load_one(text);
    let help: Vec<&str> = diagnostics.iter().map(|d| d.help.as_deref().unwrap_or("none")).collect();
    assert_eq!(help, [expected], "in {text}");
}

//! What the texts are thrown at. Whatever the text, none of it may panic or hang.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use fleet_engine::config::load::load;
use fleet_engine::expand::{ArgumentsOnly, Depth, Surroundings, expand};
use fleet_engine::outline::Outline;
use fleet_lang::outside::Memory;
use fleet_lang::{Names, evaluate, print};
use fleet_providers::builtin;
use fleet_syntax::{Sources, format, parse, parse_expression, parse_template};

/// A target by name.
pub(super) type Target = (&'static str, fn(&[u8]));

pub(super) const TARGETS: &[Target] = &[
    ("parse", parse_it),
    ("format", format_it),
    ("evaluate", evaluate_it),
    ("template", template_it),
    ("validate", validate_it),
];

fn parse_it(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let mut sources = Sources::default();
    let file = sources.add("case", &*text);
    let (_, diagnostics) = parse(file, &text);
    for span in diagnostics.iter().filter_map(|diagnostic| diagnostic.span) {
        // Whoever draws a diagnostic cuts the text at its span.
        let _ = (
            sources.text(span),
            sources.get(file).position(span.start),
            sources.get(file).position(span.end),
        );
    }
}

fn format_it(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let file = Sources::default().add("case", &*text);
    if let Ok(once) = format(file, &text) {
        let twice = format(file, &once).expect("what was formatted can be formatted");
        assert_eq!(once, twice, "formatting twice differs from formatting once");
    }
}

fn evaluate_it(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let file = Sources::default().add("case", &*text);
    let (expression, _) = parse_expression(file, &text);
    if let Ok(value) = evaluate(&expression, &Names::default(), &Memory::new()) {
        let _ = print(&value);
    }
}

fn template_it(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let file = Sources::default().add("case", &*text);
    let (expression, _) = parse_template(file, &text);
    let _ = evaluate(&expression, &Names::default(), &Memory::new());
}

fn validate_it(bytes: &[u8]) {
    let outside = Memory::new().file("main.fleet.hcl", bytes);
    let mut sources = Sources::default();
    let (config, _) = load(&outside, Path::new(""), &mut sources);
    let catalog = builtin(PathBuf::from("."), &BTreeMap::new());
    let inputs = HashMap::new();
    let surroundings = Surroundings {
        catalog: &catalog,
        outside: &outside,
        inputs,
        secrets: &fleet_engine::expand::Symbols,
        depth: Depth::Instances,
    };
    let _ = expand(&Outline::of(&config, surroundings.catalog), &surroundings, &mut ArgumentsOnly);
}

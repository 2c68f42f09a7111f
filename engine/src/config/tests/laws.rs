//! Laws of loading, on configurations that were good before something was done to them.

use std::collections::BTreeSet;

use fleet_lang::outside::Memory;
use fleet_syntax::{Diagnostic, Sources};
use proptest::prelude::*;

use super::{findings, load_all, load_one};
use crate::config::model::Module;

const GOOD: &str = include_str!("everything.fleet.hcl");

/// Lines that do not belong into any block.
const NONSENSE: &[&str] = &["", "  wat = 1\n", "  = 2\n", "  a b c\n", "  x = [1,\n", "  \"\n"];

/// The blocks of the good configuration, without the call, whose directory is not there.
fn blocks() -> Vec<String> {
    let mut blocks = vec![String::new()];
    for line in GOOD.lines() {
        let block = blocks.last_mut().expect("there is always one");
        *block += line;
        block.push('\n');
        if line.starts_with('}') || (line.ends_with('}') && !line.starts_with(' ')) {
            blocks.push(String::new());
        }
    }
    blocks.retain(|block| !block.trim().is_empty() && !block.contains("./child"));
    blocks
}

/// All names that a module declares.
fn names(module: &Module) -> BTreeSet<String> {
    let named = |what: &str, names: Vec<&std::sync::Arc<str>>| {
        names.iter().map(|name| format!("{what} {name}")).collect::<Vec<_>>()
    };
    let resources = module.resources.keys().map(|id| format!("{:?} {}.{}", id.mode, id.kind, id.name));
    [
        named("variable", module.variables.keys().collect()),
        named("local", module.locals.keys().collect()),
        named("output", module.outputs.keys().collect()),
        named("check", module.checks.keys().collect()),
        named("secret", module.secrets.keys().collect()),
        named("pool", module.pools.keys().collect()),
        resources.collect(),
    ]
    .concat()
    .into_iter()
    .collect()
}

/// Every place must be one that can be drawn.
fn assert_drawable(diagnostics: &[Diagnostic], sources: &Sources) {
    for diagnostic in diagnostics {
        let related = diagnostic.related.iter().map(|(span, _)| *span);
        for span in diagnostic.span.into_iter().chain(related) {
            let _ = sources.text(span);
            let _ = sources.get(span.file).position(span.end);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever is cut out or put in: no panic, places that can be drawn, and the same findings every time.
    #[test]
    fn any_text_is_loaded(start in 0..GOOD.len(), length in 0..200usize, put in "[{}\"=\\[\\]a-z${ \n]{0,12}") {
        let start = GOOD.floor_char_boundary(start);
        let end = GOOD.floor_char_boundary((start + length).min(GOOD.len()));
        let text = format!("{}{put}{}", &GOOD[..start], &GOOD[end..]);
        let (_, sources, diagnostics) = load_one(&text);
        assert_drawable(&diagnostics, &sources);
        let (_, _, again) = load_one(&text);
        prop_assert_eq!(diagnostics, again);
    }

    /// How blocks are spread over files does not matter.
    #[test]
    fn files_do_not_matter(spread in prop::collection::vec(0..4u8, blocks().len())) {
        let (config, sources, diagnostics) = load_one(&blocks().concat());
        prop_assert_eq!(findings(&diagnostics, &sources), [""; 0]);
        let outside = (0..4).fold(Memory::new(), |outside, file| {
            let blocks = blocks().into_iter().zip(&spread).filter(|(_, place)| **place == file);
            let text: String = blocks.map(|(block, _)| block).collect();
            outside.file(format!("{file}.fleet.hcl"), text)
        });
        let (spread, sources, diagnostics) = load_all(&outside);
        prop_assert_eq!(findings(&diagnostics, &sources), [""; 0]);
        prop_assert_eq!(names(config.root()), names(spread.root()));
    }

    /// A line that is missing or nonsense makes findings in its own block, and takes away no name of another.
    #[test]
    fn a_mistake_stays_in_its_block(block in 0..blocks().len(), line in 0..20usize, put in prop::sample::select(NONSENSE)) {
        let mut all = blocks();
        let (before, _, _) = load_one(&all.concat());
        let lines: Vec<&str> = all[block].lines().collect();
        // The lines that hold the block together are left alone.
        let inner = |text: &&str| text.contains('=') && !text.contains('{') && !text.contains('}');
        let Some(index) = (0..lines.len()).cycle().skip(line).take(lines.len()).find(|index| inner(&lines[*index]))
        else { return Ok(()) };
        let broken: String = lines.iter().enumerate().map(|(at, text)| {
            if at == index { put.to_owned() } else { format!("{text}\n") }
        }).collect();
        let first = all[..block].concat().lines().count() as u32 + 1;
        let last = first + broken.lines().count() as u32;
        all[block] = broken;
        let (config, sources, diagnostics) = load_one(&all.concat());
        for diagnostic in &diagnostics {
            let at = diagnostic.span.map(|span| sources.get(span.file).position(span.start).line);
            prop_assert!(at.is_some_and(|at| (first..=last).contains(&at)), "{diagnostic:?} not in {first}..={last}");
        }
        let lost: Vec<_> = names(before.root()).difference(&names(config.root())).cloned().collect();
        // A local is its line.
        prop_assert!(lost.iter().all(|name| name.starts_with("local")), "{lost:?}");
    }
}

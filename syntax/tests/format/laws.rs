//! What holds of every text.

use fleet_syntax::token::{TokenKind, tokens};
use fleet_syntax::tree::{Body, Expr, ExprKind, TemplatePart};
use fleet_syntax::{FileId, format, parse};
use proptest::prelude::*;
use proptest::strategy::ValueTree;

use crate::generate::file;

/// The tree without what formatting may change: spans, and the quotes around a lone interpolation with the
/// parentheses that may replace them.
fn meaning(text: &str) -> String {
    let (mut body, errors) = parse(FileId(0), text);
    assert!(errors.is_empty(), "{errors:?} in\n{text}");
    unwrap_values(&mut body);
    without_spans(&format!("{body:?}"))
}

fn unwrap_values(body: &mut Body) {
    for attribute in &mut body.attributes {
        attribute.value = bare(attribute.value.clone());
    }
    for block in &mut body.blocks {
        unwrap_values(&mut block.body);
    }
}

fn bare(value: Expr) -> Expr {
    match value.kind {
        ExprKind::Parens(inner) => bare(*inner),
        ExprKind::Template(ref parts) => match &**parts {
            [TemplatePart::Interpolation(inner)] => bare(inner.clone()),
            _ => value,
        },
        _ => value,
    }
}

fn without_spans(debug: &str) -> String {
    let mut pieces = debug.split("Span {");
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |out, piece| out + piece.split_once('}').map_or("", |(_, rest)| rest))
}

fn comments(text: &str) -> Vec<&str> {
    let tokens = tokens(text).into_iter();
    let comments = tokens.filter(|t| matches!(t.kind, TokenKind::LineComment | TokenKind::BlockComment));
    comments.map(|token| token.text(text)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn formatting(text in file()) {
        let Ok(formatted) = format(FileId(0), &text) else { return Ok(()) };
        prop_assert_eq!(meaning(&text), meaning(&formatted), "the meaning of\n{}\nchanged in\n{}", text, formatted);
        prop_assert_eq!(comments(&text), comments(&formatted));
        prop_assert_eq!(&format(FileId(0), &formatted).unwrap(), &formatted, "not idempotent on\n{}", text);
    }

    #[test]
    fn never_panics(text in "[a-z \"${}%\\[\\](),.=\\-*/#<~\\n\\r\té]{0,60}|\\PC{0,60}") {
        if let Ok(formatted) = format(FileId(0), &text) {
            prop_assert_eq!(&format(FileId(0), &formatted).unwrap(), &formatted);
        }
    }
}

#[test]
fn most_generated_files_are_free_of_errors() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let good = (0..200).filter(|_| {
        let text = file().new_tree(&mut runner).unwrap().current();
        format(FileId(0), &text).is_ok()
    });
    assert!(good.count() > 120);
}

//! Laws about all texts.

use proptest::prelude::*;

use super::hostile::height;
use super::{FILE, errors};
use crate::Span;
use crate::parse::{MAX_DEPTH, parse, parse_expression, parse_template};
use crate::tree::{Body, Expr, ExprKind, Step};

/// Nothing panics, and all places are places of the text.
fn assert_sound(text: &str) {
    let (body, diagnostics) = parse(FILE, text);
    errors(text, &diagnostics);
    assert_body(text, &body);
    for (expr, diagnostics) in [parse_expression(FILE, text), parse_template(FILE, text)] {
        errors(text, &diagnostics);
        assert_expr(text, &expr);
        assert!(height(&expr) <= MAX_DEPTH + usize::from(!diagnostics.is_empty()));
        assert!(!has_invalid(&expr) || !diagnostics.is_empty(), "nothing is said about {text:?}");
    }
}

fn assert_span(text: &str, span: Span) {
    assert!(text.get(span.start as usize..span.end as usize).is_some(), "{span:?} is no place in {text:?}");
}

fn assert_body(text: &str, body: &Body) {
    assert_span(text, body.span);
    for attribute in &body.attributes {
        assert_span(text, attribute.span);
        assert_span(text, attribute.name.span);
        assert_expr(text, &attribute.value);
    }
    for block in &body.blocks {
        assert_span(text, block.header);
        block.labels.iter().for_each(|label| assert_span(text, label.span));
        assert_body(text, &block.body);
    }
}

fn assert_expr(text: &str, expr: &Expr) {
    assert_span(text, expr.span);
    for child in children(expr) {
        assert_expr(text, child);
    }
}

fn has_invalid(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Invalid) || children(expr).into_iter().any(has_invalid)
}

fn children(expr: &Expr) -> Vec<&Expr> {
    match &expr.kind {
        ExprKind::Path(path) => {
            let keys = path.steps.iter().filter_map(|step| match step {
                Step::Index(key, _) => Some(key),
                _ => None,
            });
            keys.chain([&path.base]).collect()
        }
        ExprKind::Call(call) => call.args.iter().collect(),
        ExprKind::Tuple(items) => items.iter().collect(),
        ExprKind::Object(items) => items.iter().flat_map(|item| [&item.key, &item.value]).collect(),
        ExprKind::For(e) => [&e.collection, &e.value].into_iter().chain(&e.key).chain(&e.condition).collect(),
        ExprKind::Unary(_, operand) | ExprKind::Parens(operand) => vec![operand],
        ExprKind::Binary(binary) => vec![&binary.left, &binary.right],
        ExprKind::Conditional(c) => vec![&c.condition, &c.then, &c.otherwise],
        _ => Vec::new(),
    }
}

const PIECES: &[&str] = &[
    "\"",
    "${",
    "${~",
    "%{",
    "%{ if ",
    "%{ for a in b }",
    "%{ endif }",
    "%{ else }",
    "%{ endfor }",
    "}",
    "~}",
    "\n",
    "\r\n",
    "\n  ",
    "<<E\n",
    "<<-E\n",
    "E\n",
    " ",
    "a",
    "é",
    "e\u{301}",
    "1.5",
    "=",
    "==",
    "=>",
    "{",
    "[",
    "(",
    ")",
    "]",
    "#",
    "//",
    "/*",
    "*/",
    "\\",
    "\\u00e9",
    "$",
    "%",
    "…",
    "a \"b\" {\n",
    "a = ",
    "\u{feff}",
    "\0",
    ".",
    ".*",
    "[*]",
    ".0",
    "...",
    "::",
    ":",
    "?",
    "!",
    "-",
    "*",
    ",",
    "for ",
    " in ",
    " if ",
    "null",
    "f(",
    "&&",
    "|",
    "'",
    "“",
    ";",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn any_text_is_read_soundly(text in any::<String>()) {
        assert_sound(&text);
    }

    #[test]
    fn any_near_configuration_is_read_soundly(pieces in prop::collection::vec(prop::sample::select(PIECES), 0..60)) {
        assert_sound(&pieces.concat());
    }

    /// Cutting and joining valid text gives the mistakes that people make.
    #[test]
    fn any_damaged_configuration_is_read_soundly(cuts in prop::collection::vec((0_usize..2000, 0_usize..40), 1..6)) {
        let mut text = include_str!("broken.hcl").to_owned();
        for (start, length) in cuts {
            let start = text.floor_char_boundary(start.min(text.len()));
            let end = text.floor_char_boundary((start + length).min(text.len()));
            text.replace_range(start..end, "");
        }
        assert_sound(&text);
    }
}

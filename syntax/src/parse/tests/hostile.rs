//! Texts made to break a parser: each gives a tree or an error in linear time and on an ordinary stack.

use super::{FILE, errors};
use crate::parse::{MAX_DEPTH, MAX_ERRORS, parse, parse_expression, parse_template};
use crate::tree::{Expr, ExprKind, Step, TemplatePart};

const MANY: usize = 50_000;

/// The number of nodes from this one to the deepest below it.
pub(super) fn height(expr: &Expr) -> usize {
    let all = |items: &[&Expr]| items.iter().map(|item| height(item)).max().unwrap_or(0);
    let below = match &expr.kind {
        ExprKind::Template(items) => parts_height(items),
        ExprKind::Path(path) => {
            let keys = path.steps.iter().filter_map(|step| match step {
                Step::Index(key, _) => Some(height(key)),
                _ => None,
            });
            keys.max().unwrap_or(0).max(height(&path.base))
        }
        ExprKind::Call(call) => all(&call.args.iter().collect::<Vec<_>>()),
        ExprKind::Tuple(items) => all(&items.iter().collect::<Vec<_>>()),
        ExprKind::Object(items) => {
            all(&items.iter().flat_map(|item| [&item.key, &item.value]).collect::<Vec<_>>())
        }
        ExprKind::For(expr) => {
            let optional = expr.key.iter().chain(&expr.condition);
            all(&[&expr.collection, &expr.value].into_iter().chain(optional).collect::<Vec<_>>())
        }
        ExprKind::Unary(_, operand) | ExprKind::Parens(operand) => height(operand),
        ExprKind::Binary(binary) => all(&[&binary.left, &binary.right]),
        ExprKind::Conditional(c) => all(&[&c.condition, &c.then, &c.otherwise]),
        _ => 0,
    };
    below + 1
}

fn parts_height(parts: &[TemplatePart]) -> usize {
    let part_height = |part: &TemplatePart| match part {
        TemplatePart::Literal(_) => 0,
        TemplatePart::Interpolation(expr) => height(expr),
        TemplatePart::If(part) => {
            1 + parts_height(&part.then).max(parts_height(&part.otherwise)).max(height(&part.condition))
        }
        TemplatePart::For(part) => 1 + parts_height(&part.body).max(height(&part.collection)),
    };
    parts.iter().map(part_height).max().unwrap_or(0)
}

/// `open` and `close` so many times around `a`.
fn nested(open: &str, close: &str, count: usize) -> String {
    format!("{}a{}", open.repeat(count), close.repeat(count))
}

const NESTS: [(&str, &str); 16] = [
    ("(", ")"),
    ("[", "]"),
    ("{b = ", "}"),
    ("{(", ") = 1}"),
    ("f(", ")"),
    ("a[", "]"),
    ("-", ""),
    ("!", ""),
    ("a ? b : ", ""),
    ("", " ? b : c"),
    ("1 + (", ")"),
    ("", " + 1"),
    ("\"${", "}\""),
    ("\"b${", "}\""),
    ("[for b in ", " : b]"),
    ("{for b in c : b => ", "}"),
];

#[test]
fn nesting_has_a_limit_and_one_error_beyond_it() {
    for (open, close) in NESTS {
        for count in [1, 10, 30] {
            let text = nested(open, close, count);
            let (expr, diagnostics) = parse_expression(FILE, &text);
            assert_eq!(errors(&text, &diagnostics), [""; 0]);
            assert!(height(&expr) > count && height(&expr) <= MAX_DEPTH, "{open} {close}");
        }
        for count in [MAX_DEPTH + 1, MANY] {
            let text = nested(open, close, count);
            let (expr, diagnostics) = parse_expression(FILE, &text);
            let summaries: Vec<&str> = diagnostics.iter().map(|d| &*d.summary).collect();
            assert_eq!(summaries, ["nested too deeply"], "{open} {close} {count}");
            assert!(height(&expr) <= MAX_DEPTH + 1, "{open} {close}");
        }
    }
}

#[test]
fn the_limit_is_exact() {
    // The name is a node of its own.
    for (count, fits) in [(MAX_DEPTH - 1, true), (MAX_DEPTH, false)] {
        for (open, close) in [("(", ")"), ("", " + 1"), ("[", "]"), ("-", ""), ("a[", "]")] {
            let text = nested(open, close, count);
            let (expr, diagnostics) = parse_expression(FILE, &text);
            assert_eq!(diagnostics.is_empty(), fits, "{open} {close} {count}");
            assert!(!fits || height(&expr) == MAX_DEPTH, "{open} {close} {}", height(&expr));
        }
    }
}

#[test]
fn operands_of_long_sums_do_not_add_up() {
    let text = vec!["a.b * c * d[0] * -1"; 150].join(" + ");
    let (expr, diagnostics) = parse_expression(FILE, &text);
    assert_eq!(errors(&text, &diagnostics), [""; 0]);
    assert_eq!(height(&expr), 154);
}

#[test]
fn blocks_and_directives_nest_as_deep() {
    let blocks = |count: usize| format!("{}{}", " a {\n".repeat(count), " }\n".repeat(count));
    assert_eq!(parse(FILE, &blocks(MAX_DEPTH)).1, []);
    let text = blocks(MANY);
    assert_eq!(
        errors(&text, &parse(FILE, &text).1),
        [format!("{}:4 \"{{\" nested too deeply", MAX_DEPTH + 1)]
    );
    let directives = |count: usize| format!("{}{}", "%{ if a }".repeat(count), "%{ endif }".repeat(count));
    assert_eq!(parse_template(FILE, &directives(MAX_DEPTH - 2)).1, []);
    let (expr, diagnostics) = parse_template(FILE, &directives(MANY));
    let summaries: Vec<&str> = diagnostics.iter().map(|d| &*d.summary).collect();
    // The condition of the last that fits, and the first that does not.
    assert_eq!(summaries, ["nested too deeply"; 2]);
    assert!(height(&expr) <= MAX_DEPTH + 1);
}

#[test]
fn wide_texts_are_fine() {
    let check = |text: String| {
        assert_eq!(parse(FILE, &text).1, []);
    };
    check(format!("a = [{}]", "1, ".repeat(MANY)));
    check(format!("a = {{{}}}", "b = 1\n".repeat(MANY)));
    check(format!("a = f({}1)", "1, ".repeat(MANY)));
    check(format!("a = b{}", ".c[0]".repeat(MANY)));
    check(format!("a = \"{}\"", "b${c}".repeat(MANY)));
    check(format!("a = <<E\n{}E\n", "b ${c}\n".repeat(MANY)));
    check(format!("a = 1{}", "0".repeat(MANY)));
    check(format!("a = \"{}\"", "\\n".repeat(MANY)));
    check((0..MANY).map(|n| format!("a{n} = 1\n")).collect());
    check((0..MANY).map(|n| format!("a \"b{n}\" {{}}\n")).collect());
    check(format!("a {} {{}}", "\"b\"".repeat(MANY)));
    check(format!("a = b{}(1)", "::c".repeat(MANY)));
    check("\n".repeat(MANY) + &"# c\n".repeat(MANY));
}

#[test]
fn broken_texts_take_linear_time() {
    let pieces = [
        "[",
        "]",
        "(",
        ")",
        "{",
        "}",
        "{\n",
        "}\n",
        "a",
        "a\n",
        "a = ",
        "a = [\n",
        "a = {\n",
        "a {\n",
        "a \"b\" {\n",
        "\"",
        "\"a\n",
        "\"${",
        "\"${\n",
        "<<E\n",
        "<<E\n${",
        "a = <<E\n",
        "a = \"${b\n",
        "%{",
        "1+",
        "1+(",
        "a ? ",
        "a ? b : ",
        "-",
        "a.",
        "a[",
        "f(",
        "f(1\n",
        "f(\na = 1\n",
        "[for a in ",
        "{a = ",
        "{a = [",
        ",",
        ";",
        "/*",
        "\\",
        "“",
        "\0",
        "= ",
        "a = 1 b = 2 ",
        "a { b = 1\n",
        "1.1.1 ",
        "[\n}\n",
        "a = [\n}\n",
        "  a = (\n  ]\n",
        "a \"b\n",
        "a \"b {\n",
    ];
    for piece in pieces {
        for text in [
            piece.repeat(MANY / 5),
            format!("x = {}", piece.repeat(MANY / 5)),
            format!("x {{\n{}", piece.repeat(MANY / 5)),
        ] {
            assert!(parse(FILE, &text).1.len() <= MAX_ERRORS + 1);
        }
        let text = piece.repeat(MANY / 5);
        assert!(parse_expression(FILE, &text).1.len() <= MAX_ERRORS + 1);
        assert!(parse_template(FILE, &text).1.len() <= MAX_ERRORS + 1);
    }
}

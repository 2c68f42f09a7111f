//! What valid texts mean.

use super::{FILE, errors, show};
use crate::parse::{parse, parse_expression};
use crate::tree::{ExprKind, Step};

#[track_caller]
fn check(text: &str, expected: &str) {
    let (expr, diagnostics) = parse_expression(FILE, text);
    assert_eq!(errors(text, &diagnostics), [""; 0], "{text}");
    assert_eq!(show::expr(&expr), expected, "{text}");
}

#[track_caller]
fn check_body(text: &str, expected: &str) {
    let (body, diagnostics) = parse(FILE, text);
    assert_eq!(errors(text, &diagnostics), [""; 0], "{text}");
    assert!(!body.incomplete);
    assert_eq!(show::body(&body), expected, "{text}");
}

#[test]
fn operators_bind_as_in_terraform() {
    check("1 + 2 * 3 - 4 / 5 % 6", "((1 + (2 * 3)) - ((4 / 5) % 6))");
    check("a || b && c == d != e < f <= g + h", "(a || (b && ((c == d) != ((e < f) <= (g + h)))))");
    check("1 < 2 == 3 > 4", "((1 < 2) == (3 > 4))");
    check("!a == b", "((!a) == b)");
    check("-a.b[0] + --1 - -1", "(((-a.b[0]) + (-(-1))) - (-1))");
    check("!!a || -b", "((!(!a)) || (-b))");
    check("a - b", "(a - b)");
    check("a-b", "a-b");
    check("(1 + 2) * 3", "(P(1 + 2) * 3)");
}

#[test]
fn conditionals_nest_to_the_right() {
    check("a ? b : c ? d : e", "(a ? b : (c ? d : e))");
    check("a ? b ? 1 : 2 : 3", "(a ? (b ? 1 : 2) : 3)");
    check("a == b || c ? d + 1 : e", "(((a == b) || c) ? (d + 1) : e)");
}

#[test]
fn constants_and_names() {
    check("[null, true, false, for, if, in]", "[null, true, false, for, if, in]");
    check("null(true(1))", "null(true(1))");
    check("[1, 1.50, 1e3, 1E-3, 01, 0.1e+10]", "[1, 1.50, 1e3, 1E-3, 01, 0.1e+10]");
    check("e\u{301}.x", "\u{e9}.x");
}

#[test]
fn paths() {
    check("a.b[c].d[0][\"e\"]", "a.b[c].d[0][\"e\"]");
    check("a.0.b", "a[0].b");
    check("a.0 .1", "a[0][1]");
    check("a.*.b.0[1].c", "a.*.b[0][1].c");
    check("a [ * ] . b . * . c", "a[*].b.*.c");
    check("a[*][*][0]", "a[*][*][0]");
    check("a.*.b[0].*", "a.*.b[0].*");
    check("[1][0]", "[1][0]");
    check("{a = 1}.a", "{a = 1}.a");
    check("f(1).a[*]", "f(1).a[*]");
    check("(a).b", "Pa.b");
    check("\"x\".y", "\"x\".y");
    check("a\n.b\n[0]", "a.b[0]");
    check("a.for.null", "a.for.null");
}

#[test]
fn the_span_tells_the_old_index_from_the_new() {
    let (expr, _) = parse_expression(FILE, "a.0[1]");
    let ExprKind::Path(path) = expr.kind else { panic!("not a path") };
    let [Step::Index(old, old_span), Step::Index(new, new_span)] = &path.steps[..] else {
        panic!("not two indexes")
    };
    assert_eq!((old.span.start, old.span.end, old_span.start, old_span.end), (2, 3, 1, 3));
    assert_eq!((new.span.start, new.span.end, new_span.start, new_span.end), (4, 5, 3, 6));
}

#[test]
fn calls() {
    check("f()", "f()");
    check("f (1, 2,)", "f(1, 2)");
    check("f(\n1\n,\n2\n)", "f(1, 2)");
    check("f(a, b...)", "f(a, b...)");
    check("core::upper(a)", "core::upper(a)");
    check("a :: b :: c (1)", "a::b::c(1)");
}

#[test]
fn tuples_and_objects() {
    check("[]", "[]");
    check("[1, [2,], {}]", "[1, [2], {}]");
    check("[\n1\n,\n# two\n2,\n]", "[1, 2]");
    check("{a = 1, b : 2}", "{a = 1, b = 2}");
    check("{\n\na = 1 # one\nb = 2,\n\nc = [\n3\n]\n}", "{a = 1, b = 2, c = [3]}");
    check(
        "{null = 1, true = 2, (a) = 3, \"b\" = 4, 5 = 6, f(1) = 7}",
        "{null = 1, true = 2, Pa = 3, \"b\" = 4, 5 = 6, f(1) = 7}",
    );
    check("{a.b = c.d}", "{a.b = c.d}");
    check("{a ? b : c = 1}", "{(a ? b : c) = 1}");
    check("{a = b ? c : d}", "{a = (b ? c : d)}");
    check("{a = (\n1\n)}", "{a = P1}");
    check("{a = 1, a = 2}", "{a = 1, a = 2}");
}

#[test]
fn constant_words_are_plain_names_as_keys() {
    let (expr, _) = parse_expression(FILE, "{null = null}");
    let ExprKind::Object(items) = expr.kind else { panic!("not an object") };
    assert!(matches!(items[0].key.kind, ExprKind::Variable(_)));
    assert!(matches!(items[0].value.kind, ExprKind::Null));
}

#[test]
fn for_expressions() {
    check("[for v in l : v]", "<for v in l : v>");
    check("[for k, v in l : v if k > 1]", "<for k, v in l : v if (k > 1)>");
    check("{for v in l : v => f(v)... if v}", "<for v in l : v => f(v)... if v>");
    check("[\nfor a in [1]\n:\na\n]", "<for a in [1] : a>");
    check("{\n\n  for a in b :\n  a\n  =>\n  c\n  if\n  d\n}", "<for a in b : a => c if d>");
    check("[for for in in : if]", "<for for in in : if>");
    check("[for a in b : [for c in a : c]]", "<for a in b : <for c in a : c>>");
}

#[test]
fn bodies() {
    check_body("", "");
    check_body("\u{feff}a = 1", "a = 1");
    check_body("a = 1\r\nb = 2\r\n", "a = 1; b = 2");
    check_body("# c\n\na = 1 // d\n/* e */ b = /* f\n*/ 2", "a = 1; b = 2");
    check_body("a {}\na \"b\" c \"d\" {\n}\n", r#"a {  }; a "b" "c" "d" {  }"#);
    check_body("a { b = [\n1\n] }", "a { b = [1] }");
    check_body("a { # c\nb = 1\nd {\ne = {\nf = 1\n}\n}\n}", "a { b = 1; d { e = {f = 1} } }");
    check_body("a \"\\u0062$${c}\" {}", r#"a "b${c}" {  }"#);
    check_body("for = 1\nif = 2\nnull = 3\nfor \"x\" {}", r#"for = 1; if = 2; null = 3; for "x" {  }"#);
    check_body("a = <<E\nx\nE\nb = 1", r#"a = "x\n"; b = 1"#);
}

#[test]
fn spans_cover_what_they_name() {
    let text = "a = 1\nkind \"l\" m { # c\n  b = (f(x)[0].y ? -1 : \"s${z}\") # d\n}\n";
    let (body, diagnostics) = parse(FILE, text);
    assert_eq!(errors(text, &diagnostics), [""; 0]);
    let at = |span: crate::Span| &text[span.start as usize..span.end as usize];
    assert_eq!(at(body.span), text);
    assert_eq!(at(body.attributes[0].span), "a = 1");
    let block = &body.blocks[0];
    assert_eq!(at(block.header), "kind \"l\" m");
    assert_eq!(at(block.labels[0].span), "\"l\"");
    assert_eq!(at(block.body.span), " # c\n  b = (f(x)[0].y ? -1 : \"s${z}\") # d\n");
    let b = &block.body.attributes[0];
    assert_eq!(at(b.span), "b = (f(x)[0].y ? -1 : \"s${z}\")");
    let ExprKind::Parens(inner) = &b.value.kind else { panic!("no parentheses") };
    assert_eq!(
        (at(b.value.span), at(inner.span)),
        ("(f(x)[0].y ? -1 : \"s${z}\")", "f(x)[0].y ? -1 : \"s${z}\"")
    );
    let ExprKind::Conditional(conditional) = &inner.kind else { panic!("no conditional") };
    assert_eq!(at(conditional.condition.span), "f(x)[0].y");
    assert_eq!(at(conditional.then.span), "-1");
    assert_eq!(at(conditional.otherwise.span), "\"s${z}\"");
    let ExprKind::Path(path) = &conditional.condition.kind else { panic!("no path") };
    let ExprKind::Call(call) = &path.base.kind else { panic!("no call") };
    assert_eq!((at(path.base.span), at(call.name.span), at(call.close)), ("f(x)", "f", ")"));
}

/// `fmt` takes interpolations off, so what brackets hold must not depend on what stands around them.
#[test]
fn a_splat_may_span_lines_wherever_it_stands() {
    for text in ["b = a[ # c\n*]\n", "b = (a[ # c\n*])\n", "b = a[*\n]\n"] {
        let (_, diagnostics) = parse(FILE, text);
        assert_eq!(errors(text, &diagnostics), [""; 0], "{text}");
    }
}

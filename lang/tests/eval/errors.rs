//! What is said about a wrong expression, and which part of it is blamed.

use fleet_lang::{Names, Value};

use super::{evaluate_in, names};

/// An error that says `expected` somewhere and underlines `blamed`.
#[track_caller]
fn check_error(text: &str, expected: &str, blamed: &str) {
    check_errors(text, &[(expected, blamed)]);
}

/// All the errors of an expression, in the order of the text.
#[track_caller]
fn check_errors(text: &str, expected: &[(&str, &str)]) {
    let diagnostics = evaluate_in(&Names::default(), text).expect_err(text);
    let shown: Vec<String> = diagnostics.iter().map(|d| format!("{d:?}")).collect();
    assert_eq!(diagnostics.len(), expected.len(), "{text}: {shown:#?}");
    for (diagnostic, (message, blamed)) in diagnostics.iter().zip(expected) {
        let said = format!(
            "{}: {} {}",
            diagnostic.summary,
            diagnostic.detail,
            diagnostic.help.as_deref().unwrap_or_default()
        );
        assert!(said.contains(message), "{text}: `{message}` is not in: {said}");
        let span = diagnostic.span.expect("every error has a place");
        assert_eq!(&text[span.start as usize..span.end as usize], *blamed, "{text}: {said}");
    }
}

#[test]
fn operators() {
    check_error(r#"1 + "a""#, "right side of `+`", r#""a""#);
    check_error("[1] * 2", "left side of `*`", "[1]");
    check_error("null - 1", "The left side of `-` is null, but must be a number", "null");
    check_error("0 / 0", "undefined calculation", "0 / 0");
    check_error("1 + 0 / 0", "undefined calculation", "0 / 0");
    check_error("!5", "operand of `!`", "5");
    check_error("-[]", "operand of `-`", "[]");
    check_error("true && 1", "right side of `&&`", "1");
}

#[test]
fn every_problem_is_reported_once() {
    check_errors("[1 + [], 2 + {}]", &[("right side", "[]"), ("right side", "{}")]);
    check_errors("(1 + []) * (2 + {}) + 1", &[("right side", "[]"), ("right side", "{}")]);
    check_errors("(1 + []).a[0] == null ? 1 : 2", &[("right side", "[]")]);
    check_errors("-(1 + [])", &[("right side", "[]")]);
    check_errors("[for x in [1, 2, 3] : x + []]", &[("right side", "[]")]);
    check_errors("[1, 2][*].a", &[("A number has no attributes", "a")]);
    check_errors("nope(1 + [])", &[("no function `nope`", "nope"), ("right side", "[]")]);
    check_errors(r#""x${null}${[]}""#, &[("null", "null"), ("into a text", "[]")]);
}

#[test]
fn names_that_the_scope_does_not_have() {
    check_error("nope", "Nothing here is called `nope`", "nope");
    check_error("nope.a[0]", "Nothing here is called `nope`", "nope");
    check_error("true ? 1 : nope", "Nothing here is called `nope`", "nope");
    let known = names([("region", Value::from("eu"))]);
    let error = evaluate_in(&known, "regoin").expect_err("unknown");
    assert_eq!(error[0].help.as_deref(), Some("did you mean `region`?"));
}

#[test]
fn conditionals() {
    check_error("true ? 1 : true", "the true result is number, the false result is bool", "1 : true");
    check_error(
        "true ? { a = 1 } : { a = true }",
        "`.a` of the true result is number",
        "{ a = 1 } : { a = true }",
    );
    check_error("true ? [1, [1]] : [2, 3]", "`[1]` of the true result", "[1, [1]] : [2, 3]");
    check_error("null ? 1 : 2", "null condition", "null");
    check_error("5 ? 1 : 2", "must be true or false", "5");
    check_error("false ? 1 : (2 + [])", "right side", "[]");
}

#[test]
fn paths() {
    check_error("{ name = 1 }.nmae", "did you mean `name`?", "nmae");
    check_error("{ a = 1, b = 2 }.zzzz", "it has `a`, `b`", "zzzz");
    check_error(r#"{ name = 1 }["nmae"]"#, "did you mean `name`?", r#""nmae""#);
    check_error("null.a", "This value is null", "a");
    check_error("null[0]", "index into null", "[0]");
    check_error("[1, 2][5]", "the last one has the index 1", "5");
    check_error("[1][5]", "one element", "5");
    check_error("[][0]", "is empty", "0");
    check_error("[1][-1]", "counts from 0", "-1");
    check_error("[1][0.5]", "must be whole", "0.5");
    check_error("[1][null]", "null as a key", "null");
    check_error("[{ a = 1 }].a", "`[*].a`", "a");
    check_error(r#""text".a"#, "A string has no attributes", "a");
    check_error("(5)[0]", "A number has no elements", "[0]");
    check_error("(true ? null : [1])[*]", "splat of null", "[*]");
}

#[test]
fn loops() {
    check_error("[for x in null : x]", "but is null", "null");
    check_error("[for x in 5 : x]", "but is a number", "5");
    check_error("{ for x in [1, 2] : \"a\" => x }", "The key \"a\" is produced by two elements", "\"a\"");
    check_error("{ for x in [1, 2] : \"a\" => x }", "write `...`", "\"a\"");
    check_error("{ for x in [1] : null => x }", "null as a key", "null");
    check_error("{ for x in [1] : [] => x }", "unsuitable key", "[]");
    check_error("[for x in [1] : x if 5]", "must be true or false", "5");
    check_error("[for x in [] : x if null]", "null condition", "null");
}

#[test]
fn keys_of_objects() {
    check_error("{ (null) = 1 }", "null as a key", "(null)");
    check_error("{ ([]) = 1 }", "unsuitable key", "([])");
    check_error("{ a.b = 1 }", "ambiguous key", "a.b");
}

#[test]
fn calls() {
    check_error("nope()", "no function `nope`", "nope");
    check_error("uper(\"a\")", "did you mean `upper`?", "uper");
    check_error("upper()", "but `text` is missing", ")");
    check_error("upper(\"a\", 1, 2)", "takes 1 argument, but gets 3", "1, 2");
    check_error("upper([])", "The argument `text` of `upper` is unsuitable", "[]");
    check_error("upper(null)", "must not be null", "null");
    check_error("upper([\"a\", \"b\"]...)", "takes 1 argument, but gets 2", "[\"a\", \"b\"]");
    check_error("max({ a = 1 }...)", "must be a list, set or tuple", "{ a = 1 }");
    check_error("max(null...)", "but is null", "null");
}

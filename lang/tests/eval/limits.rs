//! Expressions that would take all memory or stack give an error or an answer.

use fleet_lang::outside::Memory;
use fleet_lang::print::print;
use fleet_lang::{Names, Type, Value};
use fleet_syntax::FileId;
use fleet_syntax::parse::{MAX_DEPTH, parse_expression};

use super::{evaluate_in, names};

#[track_caller]
fn check_error(scope: &Names, text: &str, expected: &str) {
    let errors = evaluate_in(scope, text).expect_err("too large");
    assert!(errors.iter().any(|error| error.summary.contains(expected)), "{errors:?}");
}

#[test]
fn templates() {
    let scope = names([
        ("many", Value::list(Type::Number, (0..1024).map(Value::from).collect())),
        ("text", Value::from("x".repeat(1 << 20).as_str())),
    ]);
    check_error(&scope, "\"%{ for a in many }${text}%{ endfor }\"", "template result too long");
}

#[test]
fn long_chains() {
    let sum = vec!["1"; MAX_DEPTH - 1].join(" + ");
    assert_eq!(evaluate_in(&Names::default(), &sum), Ok(Value::from(MAX_DEPTH as i64 - 1)));
    let all = vec!["true"; MAX_DEPTH - 1].join(" && ");
    assert_eq!(evaluate_in(&Names::default(), &all), Ok(Value::from(true)));
}

#[test]
fn many_splats() {
    let splats = |count| format!("null{}", "[*]".repeat(count));
    assert!(evaluate_in(&Names::default(), &splats(32)).is_ok());
    check_error(&Names::default(), &splats(33), "too many splats");
}

#[test]
fn nesting_as_deep_as_the_parser_lets_it() {
    let depth = MAX_DEPTH - 2;
    let nested = |open: &str, inner: &str, close: &str| {
        format!("{}{inner}{}", open.repeat(depth), close.repeat(depth))
    };
    for text in [
        nested("[", "1", "]"),
        nested("(", "1", ")"),
        nested("{ a = ", "1", "}"),
        nested("-", "1", ""),
        nested("1 + (", "1", ")"),
        nested("[0][", "0", "]"),
        nested("upper(", "1", ")"),
        nested("try(", "1", ")"),
        nested("true ? ", "1", " : 1"),
        nested("[for x in [1] : ", "x", "]"),
        nested("{ for x in [1] : x => ", "x", "}"),
        nested("\"a${", "1", "}\""),
        nested("\"%{ if true }a${", "1", "}%{ endif }\""),
        nested("\"%{ for x in [1] }a${", "1", "}%{ endfor }\""),
    ] {
        let start = &text[..40];
        let (expr, problems) = parse_expression(FileId(0), &text);
        assert!(problems.is_empty() || problems[0].summary == "nested too deeply", "{start}: {problems:?}");
        let value = fleet_lang::evaluate(&expr, &Names::default(), &Memory::default());
        if problems.is_empty() {
            assert!(!print(&value.expect(start)).is_empty());
        }
    }
}

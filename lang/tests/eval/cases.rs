//! Expressions and what Terraform 1.11.4 prints for them: `> expression`, then the printed value, or `error`.

use fleet_lang::Names;
use fleet_lang::print::print;
use fleet_syntax::FileId;
use fleet_syntax::parse::parse_expression;

/// Checks every case of a file, and reports all that differ.
fn check_all(cases: &str) {
    let mut wrong = Vec::new();
    for case in format!("\n{cases}").split("\n> ").skip(1) {
        let (text, expected) = case.split_once('\n').expect("an expression and its value");
        let given = answer(text);
        if given.trim_end() != expected.trim_end() {
            wrong.push(format!("{text}\n  expected {expected}\n  but got {given}"));
        }
    }
    assert!(wrong.is_empty(), "{} differ\n{}", wrong.len(), wrong.join("\n"));
}

fn answer(text: &str) -> String {
    if !parse_expression(FileId(0), text).1.is_empty() {
        return "error".into();
    }
    super::evaluate_in(&Names::default(), text).map_or_else(|_| "error".into(), |value| print(&value))
}

#[test]
fn literals() {
    check_all(include_str!("../cases/literals.txt"));
}

#[test]
fn operators() {
    check_all(include_str!("../cases/operators.txt"));
}

#[test]
fn conditionals() {
    check_all(include_str!("../cases/conditionals.txt"));
}

#[test]
fn loops() {
    check_all(include_str!("../cases/loops.txt"));
}

#[test]
fn paths() {
    check_all(include_str!("../cases/paths.txt"));
}

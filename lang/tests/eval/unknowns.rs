//! What is said of a result while something it is made of is not known yet.

use fleet_lang::{Kind, Type, Unknown, Value};

use super::{evaluate_in, names, object};

fn scope() -> fleet_lang::Names {
    let thing = object(&[("name", Type::String), ("size", Type::Number)]);
    names([
        ("s", Value::awaiting(Type::String, "core_value.s")),
        ("n", Value::awaiting(Type::Number, "core_value.n")),
        ("b", Value::awaiting(Type::Bool, "core_value.b")),
        ("any", Value::awaiting(Type::Any, "core_value.any")),
        ("list", Value::awaiting(Type::list(thing.clone()), "core_value.list")),
        ("set", Value::awaiting(Type::set(Type::String), "core_value.set")),
        ("map", Value::awaiting(Type::map(Type::Number), "core_value.map")),
        ("tuple", Value::awaiting(Type::tuple([Type::Number, Type::String]), "core_value.tuple")),
        ("thing", Value::awaiting(thing, "core_value.thing")),
    ])
}

/// The result is unknown, of that type, and waits for that reference.
#[track_caller]
fn check(text: &str, ty: Type, awaits: &str) {
    let value = evaluate_in(&scope(), text).expect(text);
    let Kind::Unknown(unknown) = value.kind else { panic!("{text} is known: {value:?}") };
    let awaits = Some(format!("core_value.{awaits}").into());
    assert_eq!(*unknown, Unknown { ty, awaits, not_null: unknown.not_null }, "{text}");
}

/// The result is known.
#[track_caller]
fn check_known(text: &str, expected: impl Into<Value>) {
    assert_eq!(evaluate_in(&scope(), text).expect(text), expected.into(), "{text}");
}

#[test]
fn operators() {
    check("n + 1", Type::Number, "n");
    check("1 + s", Type::Number, "s");
    check("n * 0", Type::Number, "n");
    check("any < n", Type::Bool, "any");
    check("n - any", Type::Number, "n");
    check("-n", Type::Number, "n");
    check("!any", Type::Bool, "any");
    check("false && b", Type::Bool, "b");
    check("true || b", Type::Bool, "b");
    check("s == \"a\"", Type::Bool, "s");
    check("any == null", Type::Bool, "any");
    check_known("s == 1", false);
    check_known("(s == \"a\") == null", false);
}

#[test]
fn conditionals() {
    check("b ? 1 : 2", Type::Number, "b");
    check("b ? 1 : \"a\"", Type::String, "b");
    check("b ? [1] : []", Type::list(Type::Number), "b");
    check("b ? null : 1", Type::Number, "b");
    check("any ? 1 : 2", Type::Number, "any");
    check("true ? s : 1", Type::String, "s");
    check("true ? n : \"a\"", Type::String, "n");
    check("true ? any : 1", Type::Number, "any");
    check("b ? 1 + [] : 2", Type::Number, "b");
    check_known("b ? 1 : 1", 1);
    check_known("true ? 1 : any", 1);
    check_known("false ? s : 1", "1");
}

#[test]
fn paths() {
    check("thing.name", Type::String, "thing");
    check("thing[\"size\"]", Type::Number, "thing");
    check("thing[s]", Type::Any, "thing");
    check("{ a = 1 }[s]", Type::Any, "s");
    check("map.a", Type::Number, "map");
    check("map[s]", Type::Number, "map");
    check("list[0]", object(&[("name", Type::String), ("size", Type::Number)]), "list");
    check("list[0].name", Type::String, "list");
    check("list[n].name", Type::String, "list");
    check("tuple[1]", Type::String, "tuple");
    check("tuple[n]", Type::Any, "tuple");
    check("[1, 2][n]", Type::Any, "n");
    check("(true ? [1] : [1, 2])[n]", Type::Number, "n");
    check("any.a.b[0]", Type::Any, "any");
    check("any[s]", Type::Any, "any");
    check("list[*].size", Type::list(Type::Number), "list");
    check("list.*.size", Type::list(Type::Number), "list");
    check("list[*]", Type::list(object(&[("name", Type::String), ("size", Type::Number)])), "list");
    check("set[*]", Type::list(Type::String), "set");
    check("tuple[*]", Type::tuple([Type::Number, Type::String]), "tuple");
    check("any[*].a", Type::Any, "any");
    check("thing[*].name", Type::Any, "thing");
    check("s[*]", Type::Any, "s");
    assert!(evaluate_in(&scope(), "thing.nope").is_err());
    assert!(evaluate_in(&scope(), "tuple[2]").is_err());
    assert!(evaluate_in(&scope(), "list[*].nope").is_err());
    assert!(evaluate_in(&scope(), "thing[*].nope").is_err());
    assert!(evaluate_in(&scope(), "n.a").is_err());
    assert!(evaluate_in(&scope(), "set[0]").is_err());
}

#[test]
fn a_template_is_not_null_and_so_makes_one_element() {
    let value = evaluate_in(&scope(), "\"x${s}\"[*]").expect("a tuple");
    assert_eq!(value.items().map(<[Value]>::len), Some(1));
}

#[test]
fn loops() {
    check("[for x in list : x.name]", Type::Any, "list");
    check("[for x in any : x]", Type::Any, "any");
    check("[for x in [1, 2] : x if b]", Type::Any, "b");
    check("{ for x in [1, 2] : s => x }", Type::Any, "s");
    check("{ for x in [1, 2] : s => x... }", Type::Any, "s");
    check("{ (s) = 1 }", Type::Any, "s");
    check("[for x in [s, n] : x][1]", Type::Number, "n");
    check_known("[for x in [s, n] : 1][0]", 1);
    assert!(evaluate_in(&scope(), "[for x in n : x]").is_err());
}

#[test]
fn templates() {
    check("\"a${s}\"", Type::String, "s");
    check("\"${any}\"", Type::Any, "any");
    check("\"a${n}${s}\"", Type::String, "n");
    check("\"%{ if b }a%{ endif }\"", Type::String, "b");
    check("\"%{ for x in list }${x.name}%{ endfor }\"", Type::String, "list");
    check("\"%{ for x in [1] }${s}%{ endfor }\"", Type::String, "s");
    check_known("\"%{ if false }${s}%{ endif }\"", "");
    assert!(evaluate_in(&scope(), "\"${s}${null}\"").is_err());
}

#[test]
fn calls() {
    check("upper(s)", Type::String, "s");
    check("upper(any)", Type::String, "any");
    check("max(1, n, any)", Type::Number, "n");
    check("max(list...)", Type::Any, "list");
    assert!(evaluate_in(&scope(), "upper(thing)").is_err());
}

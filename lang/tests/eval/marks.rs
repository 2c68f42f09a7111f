//! What is computed from a sensitive value is sensitive.

use fleet_lang::{Marks, Names, Type, Value};

use super::{evaluate_in, names};

fn scope() -> Names {
    let sensitive = |value: Value| value.mark(Marks::SENSITIVE);
    names([
        ("s", sensitive("a".into())),
        ("n", sensitive(1.into())),
        ("b", sensitive(true.into())),
        ("tuple", sensitive(Value::tuple([Value::from(1), Value::from(2)]))),
        ("list", sensitive(Value::list(Type::Number, vec![1.into(), 2.into()]))),
        ("object", sensitive(Value::object([("a".into(), Value::from(1))].into()))),
        ("inner", Value::tuple([sensitive(1.into()), Value::from(2)])),
        ("later", Value::unknown(Type::String).mark(Marks::SENSITIVE)),
        ("passing", Value::from("x").mark(Marks::EPHEMERAL)),
    ])
}

#[track_caller]
fn check(text: &str, marks: Marks) {
    assert_eq!(evaluate_in(&scope(), text).expect(text).marks, marks, "{text}");
}

#[test]
fn the_whole_result_is_marked() {
    for text in [
        "n + 1",
        "1 + n",
        "-n",
        "!b",
        "n == 1",
        "n != 2",
        "1 < n",
        "b && true",
        "b ? 1 : 2",
        "true ? n : 1",
        "false ? n : 1",
        "tuple[0]",
        "[1, 2][n]",
        "tuple[*]",
        "list[*]",
        "list[0]",
        "object.a",
        "object[\"a\"]",
        "{ a = 1 }[s]",
        "\"x${s}\"",
        "\"x${later}\"",
        "\"%{ if b }x%{ endif }\"",
        "\"%{ if false }${s}%{ endif }\"",
        "\"%{ for x in list }x%{ endfor }\"",
        "[for x in tuple : 1]",
        "[for x in list : 1]",
        "{ for k, v in object : k => 1 }",
        "{ (s) = 1 }",
        "{ for x in [s] : x => 1 }",
        "{ for x in [s] : x => 1... }",
        "[for x in [1] : x if b]",
        "[for x in [1] : x if !b]",
        "inner[0]",
        "inner == [1, 2]",
        "later == 1",
        "upper(s)",
        "upper(later)",
        "max(1, n)",
        "max(tuple...)",
        "max(inner...)",
        "\"%{ for x in [s] }${x}%{ endfor }\"",
    ] {
        check(text, Marks::SENSITIVE);
    }
}

#[test]
fn marks_stay_on_the_element() {
    check("[n]", Marks::NONE);
    check("inner", Marks::NONE);
    check("inner[1]", Marks::NONE);
    check("inner[*]", Marks::NONE);
    check("{ a = n }", Marks::NONE);
    check("{ a = n }.a", Marks::SENSITIVE);
    check("[for x in inner : x]", Marks::NONE);
    check("[for x in inner : x][0]", Marks::SENSITIVE);
    check("true ? [1] : inner", Marks::NONE);
}

#[test]
fn marks_add_up() {
    check("\"${s}${passing}\"", Marks::SENSITIVE | Marks::EPHEMERAL);
    check("passing == s", Marks::SENSITIVE | Marks::EPHEMERAL);
}

#[test]
fn errors_keep_secrets() {
    let secret = names([
        ("key", Value::from("hunter2").mark(Marks::SENSITIVE)),
        ("map", Value::map(Type::Number, [("hunter2".into(), 1.into())].into()).mark(Marks::SENSITIVE)),
    ]);
    for text in [
        "{ a = 1 }[key]",
        "map.hunter3",
        "map[\"hunter3\"]",
        "{ for x in [1, 2] : key => x }",
        "1 + key",
        "[1][key]",
        "key ? 1 : 2",
        "parseint(key, 10)",
    ] {
        let errors = evaluate_in(&secret, text).expect_err(text);
        assert!(!format!("{errors:?}").contains("hunter2"), "{text}: {errors:?}");
    }
}

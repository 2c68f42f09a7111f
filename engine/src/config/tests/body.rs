//! Bodies against schemas.

use fleet_lang::eval::Names;
use fleet_lang::outside::Memory;
use fleet_lang::{Entries, Evaluator, Marks, Type, Value, print};
use fleet_syntax::{Sources, Span};

use super::findings;
use crate::config::body::{self, Ephemeral};
use crate::schema::{Attribute, Nested, Nesting, Presence, Schema};

fn nested(nesting: Nesting, schema: Schema) -> Nested {
    Nested { nesting, min: 0, max: None, schema }
}

fn schema(attributes: &[(&str, Attribute)], blocks: Vec<(&str, Nested)>) -> Schema {
    Schema {
        doc: String::new(),
        attributes: attributes.iter().map(|(name, attribute)| ((*name).into(), attribute.clone())).collect(),
        blocks: blocks.into_iter().map(|(name, nested)| (name.into(), nested)).collect(),
    }
}

fn sample() -> Schema {
    let x = Attribute::new(Type::Number, Presence::Required);
    let inner = || schema(&[("x", x.clone())], vec![]);
    let open = schema(&[("v", Attribute::new(Type::Any, Presence::Optional))], vec![]);
    let deep = schema(&[("x", x.clone())], vec![("list", nested(Nesting::List, inner()))]);
    schema(
        &[
            (
                "need",
                Attribute {
                    doc: "What is needed. And more.".into(),
                    ..Attribute::new(Type::String, Presence::Required)
                },
            ),
            ("text", Attribute::new(Type::String, Presence::Optional)),
            (
                "port",
                Attribute { default: Some(22.into()), ..Attribute::new(Type::Number, Presence::Optional) },
            ),
            ("result", Attribute::new(Type::String, Presence::Computed)),
            ("choice", Attribute::new(Type::Bool, Presence::OptionalComputed)),
            ("secret", Attribute { sensitive: true, ..Attribute::new(Type::String, Presence::Optional) }),
            ("token", Attribute { write_only: true, ..Attribute::new(Type::String, Presence::Optional) }),
        ],
        vec![
            ("single", nested(Nesting::Single, inner())),
            ("list", Nested { min: 1, max: Some(3), ..nested(Nesting::List, inner()) }),
            ("set", nested(Nesting::Set, inner())),
            ("map", nested(Nesting::Map, inner())),
            ("open", nested(Nesting::List, open)),
            ("deep", nested(Nesting::List, deep)),
        ],
    )
}

/// What is wrong by the text alone, what is wrong by its values, and the value.
fn decode(text: &str) -> (Vec<String>, Vec<String>, Value) {
    let mut sources = Sources::default();
    let file = sources.add("main.fleet.hcl", text);
    let (body, syntax) = fleet_syntax::parse(file, text);
    assert_eq!(syntax, []);
    let header = Span { file, start: 0, end: 0 };
    let static_findings = findings(&body::check(&body, &sample(), header), &sources);
    let scope = Names(Entries::from([
        ("unknown".into(), Value::awaiting(Type::list(Type::Number), "core_value.a.output")),
        ("sensitive".into(), Value::from("s").mark(Marks::SENSITIVE)),
        ("ephemeral".into(), Value::from("e").mark(Marks::EPHEMERAL)),
        ("items".into(), Value::tuple(vec![1.into(), 2.into()]).mark(Marks::SENSITIVE)),
    ]));
    let outside = Memory::new();
    let mut evaluator = Evaluator::new(&scope, &outside);
    let value = body::decode(&body, &sample(), header, Ephemeral::WriteOnly, &mut evaluator);
    (static_findings, findings(&evaluator.into_diagnostics(), &sources), value)
}

const GOOD: &str = "need = 1\nlist {\nx = 1\n}\n";

/// Checks what is wrong with additions to a good body.
#[track_caller]
fn check(text: &str, by_text: &[&str], by_value: &[&str]) {
    let (found_by_text, found_by_value, _) = decode(&format!("{GOOD}{text}"));
    assert_eq!(found_by_text, by_text, "by text: {text}");
    assert_eq!(found_by_value, by_value, "by value: {text}");
}

/// Checks the printed value of one attribute or block of a good body with additions.
#[track_caller]
fn gives(text: &str, name: &str, expected: &str) {
    check(text, &[], &[]);
    let (_, _, value) = decode(&format!("{GOOD}{text}"));
    let printed = print(&value.entries().unwrap()[name]);
    assert_eq!(printed.split_whitespace().collect::<Vec<_>>().join(" "), expected, "{text}");
}

#[test]
fn attributes() {
    gives("", "need", "\"1\"");
    gives("", "text", "tostring(null)");
    gives("", "port", "22");
    gives("port = null", "port", "22");
    gives("port = \"23\"", "port", "23");
    gives("", "result", "tostring(null)");
    gives("", "choice", "tobool(null)");
    gives("choice = \"true\"", "choice", "true");
    gives("text = unknown[0]", "text", "(known after apply)");
    gives("secret = \"x\"", "secret", "(sensitive value)");
    gives("token = ephemeral", "token", "(ephemeral value)");
    check("port = \"x\"", &[], &["5:8 unsuitable value for `port`"]);
    check("text = ephemeral", &[], &["5:8 ephemeral value is stored"]);
    check("result = 1", &["5:1 `result` is a result"], &[]);
    check("tekst = 1\nsingle = {}", &["5:1 unknown argument `tekst`", "6:1 `single` is a block"], &[]);
    let (by_text, by_value, _) = decode("need = null\nlist {\nx = 1\n}");
    assert_eq!((by_text.len(), by_value), (0, vec!["1:8 missing argument `need`".to_owned()]));
    let (by_text, by_value, value) = decode("");
    assert_eq!(by_text, ["1:1 missing argument `need`", "1:1 missing block `list`"]);
    assert_eq!(by_value, [""; 0]);
    assert!(value.entries().unwrap()["need"].is_null());
}

#[test]
fn blocks() {
    gives("", "list", "tolist([ { \"x\" = 1 }, ])");
    gives("list {\nx = 2\n}", "list", "tolist([ { \"x\" = 1 }, { \"x\" = 2 }, ])");
    gives("", "set", "toset([])");
    gives(
        "set {\nx = 2\n}\nset {\nx = 1\n}\nset {\nx = 2\n}",
        "set",
        "toset([ { \"x\" = 1 }, { \"x\" = 2 }, ])",
    );
    gives("map \"a\" {\nx = 2\n}", "map", "tomap({ \"a\" = { \"x\" = 2 } })");
    gives("single {\nx = 2\n}", "single", "{ \"x\" = 2 }");
    gives("open {\nv = 1\n}\nopen {\nv = \"a\"\n}", "open", "[ { \"v\" = 1 }, { \"v\" = \"a\" }, ]");
    let (_, _, value) = decode(GOOD);
    assert!(value.entries().unwrap()["single"].is_null());
    check("single {\nx = 1\n}\nsingle {\nx = 1\n}", &["8:1 too many blocks `single`"], &[]);
    check(&"list {\nx = 1\n}\n".repeat(4), &["11:1 too many blocks `list`"], &[]);
    check("set {}", &["5:1 missing argument `x`"], &[]);
    check(
        "set \"a\" {\nx = 1\n}\nmap {\nx = 1\n}",
        &["5:5 label too many", "8:1 `map` without a label"],
        &[],
    );
    check("map \"a\" {\nx = 1\n}\nmap \"a\" {\nx = 1\n}", &[], &["8:5 label is used twice"]);
    check("sett {}\ntext {}", &["5:1 unknown block `sett`", "6:1 `text` is not a block"], &[]);
}

#[test]
fn dynamic_blocks() {
    let made = |word: &str, rest: &str| format!("dynamic \"{word}\" {{\n{rest}\n}}");
    gives(
        &made("list", "for_each = [5, 6]\ncontent {\nx = list.key + list.value\n}"),
        "list",
        "tolist([ { \"x\" = 1 }, { \"x\" = 5 }, { \"x\" = 7 }, ])",
    );
    gives(
        &made(
            "map",
            "for_each = { a = 1 }\niterator = it\nlabels = [\"l${it.key}\"]\ncontent {\nx = it.value\n}",
        ),
        "map",
        "tomap({ \"la\" = { \"x\" = 1 } })",
    );
    gives(
        &made("set", "for_each = toset([\"3\"])\ncontent {\nx = set.key + set.value\n}"),
        "set",
        "toset([ { \"x\" = 6 }, ])",
    );
    gives(
        &made(
            "deep",
            "for_each = [1]\ncontent {\nx = 0\ndynamic \"list\" {\nfor_each = [2]\ncontent {\nx = deep.value + list.value\n}\n}\n}",
        ),
        "deep",
        "tolist([ { \"list\" = tolist([ { \"x\" = 3 }, ]) \"x\" = 0 }, ])",
    );
    gives(&made("set", "for_each = []\ncontent {\nx = 1\n}"), "set", "toset([])");
    gives(&made("set", "for_each = unknown\ncontent {\nx = set.value\n}"), "set", "(known after apply)");
    gives(&made("set", "for_each = items\ncontent {\nx = set.value\n}"), "set", "(sensitive value)");
    let content = "content {\nx = 1\n}";
    check(&made("list", &format!("for_each = [1, 2, 3]\n{content}")), &[], &["5:9 too many blocks `list`"]);
    check(
        &made("set", &format!("for_each = null\n{content}")),
        &[],
        &["6:12 unsuitable value for `for_each`"],
    );
    check(&made("set", &format!("for_each = 5\n{content}")), &[], &["6:12 unsuitable value for `for_each`"]);
    check(&made("set", "for_each = unknown\ncontent {\nx = [1]\n}"), &[], &["8:5 unsuitable value for `x`"]);
    check(&made("set", content), &["5:1 `dynamic` is not complete"], &[]);
    check(&made("sett", &format!("for_each = []\n{content}")), &["5:9 unknown block `sett`"], &[]);
    check(&made("map", &format!("for_each = []\n{content}")), &["5:9 labels of `map`"], &[]);
    check(
        &made("set", &format!("for_each = []\niterator = \"it\"\nx = 1\nset {{}}\n{content}\n{content}")),
        &[
            "7:12 not a name",
            "8:1 unknown argument `x`",
            "9:1 unknown block `set`",
            "13:1 second `content` block",
        ],
        &[],
    );
    check(
        &made("set", "for_each = []\ncontent {\ny = 1\n}"),
        &["8:1 unknown argument `y`", "5:1 missing argument `x`"],
        &[],
    );
    check(
        &made("map", "for_each = [1, 2]\nlabels = [\"same\"]\ncontent {\nx = 1\n}"),
        &[],
        &["7:11 label is used twice"],
    );
    check(
        &made("map", "for_each = [1]\nlabels = [sensitive]\ncontent {\nx = 1\n}"),
        &[],
        &["7:11 sensitive label"],
    );
}

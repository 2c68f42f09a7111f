//! Tables of calls with what Terraform 1.11 answers: the value as the console prints it, with its white space squeezed,
//! and its type; or `error`.
//!
//! Tables about text say that their answers are JSON, which keeps white space.
//!
//! An answer is indented below its call. Lines that start with `#` are remarks; where we differ on purpose, the remark
//! says what Terraform answers and why we do not.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use fleet_lang::outside::Memory;
use fleet_lang::{Entries, Evaluator, Marks, Names, Type, Value, functions, print};
use fleet_syntax::{Sources, parse_expression};

/// Names that the calls may use: `local.NAME` stands for what the expression does. `u…` is unknown, `p…` is partly so.
const LOCALS: &[(&str, &str)] = &[
    ("us", "tostring(local.ua)"),
    ("un", "tonumber(local.ua)"),
    ("ub", "tobool(local.ua)"),
    ("ul", "tolist(local.ua)"),
    ("um", "tomap(local.ua)"),
    ("puls", "tolist([local.us, \"a\"])"),
    ("put", "[\"a\", local.us]"),
    ("pset", "toset([local.us, \"a\"])"),
    ("pm", "tomap({ a = local.us, b = \"b\" })"),
    ("po", "{ a = local.us, b = \"b\" }"),
    ("sl", "sensitive([\"a\", \"b\"])"),
    ("lst", "tolist([\"a\", \"b\", \"c\"])"),
    ("tpl", "\"hi $${name}\""),
    ("tpl2", "\"hi $${\""),
    ("tpo", "{ a = \"o $${name}\" }"),
    ("tpn", "null"),
    ("tlone", "\"$${name}\""),
    ("tlst", "[\"$${name}\"]"),
    ("trec", "\"$${templatestring(name, {})}\""),
    ("trec2", "\"$${templatefile(\\\"h.tmpl\\\", {name=1})}\""),
    ("num", "5"),
];

#[test]
fn collection() {
    check("collection", printed);
}

#[test]
fn set() {
    check("set", printed);
}

#[test]
fn ip_network() {
    check("ip_network", printed);
}

#[test]
fn filesystem() {
    check("filesystem", printed);
}

#[test]
fn template() {
    check("template", printed);
}

#[test]
fn conversion() {
    check("conversion", printed);
}

#[test]
fn numeric() {
    check("numeric", json);
}

#[test]
fn string() {
    check("string", json);
}

#[test]
fn encoding() {
    check("encoding", json);
}

#[test]
fn date_time() {
    check("date_time", json);
}

#[test]
fn crypto() {
    check("crypto", json);
}

#[test]
fn unknown() {
    check("unknown", printed);
}

#[test]
fn examples() {
    let outside = Memory::new()
        .file("hello.txt", "hello world")
        .file("hello.tftpl", "Hello, ${name}")
        .file("etc/app.conf", "");
    let mut wrong = Vec::new();
    for function in functions::all() {
        for (example, expected) in function.examples {
            let answer = evaluate(example, &Names::default(), &outside).map(|value| print(&value));
            if answer.as_deref() != Ok(expected) {
                wrong.push(format!("{example}\n{expected}\n{answer:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

fn check(table: &str, answer: fn(&str, &Names, &Memory) -> (String, String)) {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/functions").join(table).with_extension("txt");
    let text = fs::read_to_string(path).expect("the table is there");
    let (outside, scope) = (files(), scope());
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).collect();
    let (mut cases, mut wrong) = (0, Vec::new());
    for pair in lines.chunks(2) {
        let [call, expected] = pair else { panic!("the last call has no answer") };
        let expected = expected.strip_prefix("    ").expect("answers are indented");
        let (answer, reasons) = answer(call, &scope, &outside);
        cases += 1;
        if answer != expected {
            wrong.push(format!("{call}\n    {expected}\n    {answer} {reasons}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {cases} answers are wrong:\n{}", wrong.len(), wrong.join("\n"));
}

fn printed(call: &str, scope: &Names, outside: &Memory) -> (String, String) {
    match evaluate(call, scope, outside) {
        Ok(value) => {
            let text = print(&value);
            (
                format!("{} : {}", text.split_whitespace().collect::<Vec<_>>().join(" "), value.ty()),
                String::new(),
            )
        }
        Err(reasons) => ("error".into(), reasons),
    }
}

fn json(call: &str, scope: &Names, outside: &Memory) -> (String, String) {
    match evaluate(&format!("jsonencode({call})"), scope, outside) {
        Ok(value) => (value.as_str().unwrap_or("unknown").to_owned(), String::new()),
        Err(reasons) => ("error".into(), reasons),
    }
}

fn evaluate(text: &str, scope: &Names, outside: &Memory) -> Result<Value, String> {
    let mut sources = Sources::default();
    let file = sources.add("call", text);
    let (expr, mut diagnostics) = parse_expression(file, text);
    let mut evaluator = Evaluator::new(scope, outside);
    let value = evaluator.evaluate(&expr);
    diagnostics.extend(evaluator.into_diagnostics());
    if diagnostics.is_empty() { Ok(value) } else { Err(format!("{diagnostics:?}")) }
}

fn scope() -> Names {
    let mut locals = Entries::from([
        (Arc::from("ua"), Value::awaiting(Type::Any, "core_value.a.output")),
        (Arc::from("usl"), Value::awaiting(Type::list(Type::String), "core_value.a.output")),
        (Arc::from("uss"), Value::awaiting(Type::set(Type::String), "core_value.a.output")),
    ]);
    let variables = Entries::from([
        (Arc::from("s"), Value::from("secret").mark(Marks::SENSITIVE)),
        (Arc::from("e"), Value::from("eph").mark(Marks::EPHEMERAL)),
    ]);
    let names = |locals: &Entries| {
        Names(Entries::from([
            ("local".into(), Value::object(locals.clone())),
            ("var".into(), Value::object(variables.clone())),
        ]))
    };
    for (name, expression) in LOCALS {
        let value = evaluate(expression, &names(&locals), &files()).expect(name);
        locals.insert((*name).into(), value);
    }
    names(&locals)
}

/// The files that the calls read.
fn files() -> Memory {
    let tree = [
        "a.txt",
        "b.txt",
        "ab.txt",
        ".dot",
        "sub/a.txt",
        "sub/c.tf",
        "sub/deep/d.txt",
        ".hid/h.txt",
        "other/a.txt",
        "we[i]rd/x",
        "st*r",
        "br{a,b}",
        "back\\slash",
        "é/é.txt",
        "a-b",
        "com,ma",
    ];
    let files: &[(&str, &[u8])] = &[
        ("h.tmpl", b"hello ${name}!\n"),
        ("lone.tmpl", b"${items}"),
        ("for.tmpl", b"%{ for x in items ~}\n- ${x}\n%{ endfor ~}\n"),
        ("rec.tmpl", b"${templatefile(\"h.tmpl\",{name=\"x\"})}"),
        ("rec2.tmpl", b"${templatestring(name,{})}"),
        ("undef.tmpl", b"a ${undefined} b"),
        ("tryundef.tmpl", b"${try(undefined, 1)}"),
        ("bad.tmpl", b"${ 1 + }"),
        ("bin", b"\xff\xfe"),
        ("plain.txt", b"plain\n"),
        ("nfc.txt", "é e\u{301}".as_bytes()),
        ("empty", b""),
        ("file.tmpl", b"${file(\"plain.txt\")}"),
        ("var.tmpl", b"${var.s}"),
        ("bom.txt", b"\xef\xbb\xbfbom"),
        ("inf.tmpl", b"${1/0}"),
        ("null.tmpl", b"x${null}"),
        ("nofn.tmpl", b"${nope(1)}"),
        ("core.tmpl", b"${core::upper(name)}${path.module}"),
    ];
    let memory = files.iter().fold(Memory::new(), |memory, (path, content)| memory.file(path, *content));
    tree.iter()
        .fold(memory, |memory, path| memory.file(format!("t/{path}"), ""))
        .file("/home/user/.profile", "")
        .link("t/lnk", "sub")
        .link("t/fl", "a.txt")
        .link("t/broken", "/nonexistent")
}

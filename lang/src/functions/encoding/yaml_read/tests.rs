//! What the real Terraform makes of these texts.

use super::super::json;
use super::*;

/// The document as JSON; nothing where it is refused.
fn check(text: &str, expected: Option<&str>) {
    let written = decode(text).ok().map(|value| {
        let mut out = String::new();
        json::encode(&value, &mut out).unwrap();
        out
    });
    assert_eq!(written.as_deref(), expected, "{text:?}");
}

#[test]
fn documents_as_terraform_reads_them() {
    check("a: 1", Some(r#"{"a":1}"#));
    check("a: yes", Some(r#"{"a":true}"#));
    check(
        "[yes, no, on, off, y, n, Y, N, Yes, NO, On, OFF, true, True, TRUE, tRue, false]",
        Some(
            r#"[true,false,true,false,true,false,true,false,true,false,true,false,true,true,true,"tRue",false]"#,
        ),
    );
    check(r#"[~, null, Null, NULL, nUll, ""]"#, Some(r#"[null,null,null,null,"nUll",""]"#));
    check("a:", Some(r#"{"a":null}"#));
    check("[.nan]", None);
    check(
        r#"[2024-01-02, 2024-01-02T03:04:05Z, "2024-01-02", 2024-1-2, 2024-01-02 03:04:05, 2024-01-02t03:04:05z, 2024-01-02 03:04:05 +1, 2024-01-02T03:04:05.5+01:00, 2024-13-02]"#,
        Some(
            r#"["2024-01-02T00:00:00Z","2024-01-02T03:04:05Z","2024-01-02","2024-01-02T00:00:00Z","2024-01-02T03:04:05Z","2024-01-02t03:04:05z","2024-01-02 03:04:05 +1","2024-01-02T03:04:05+01:00","2024-13-02"]"#,
        ),
    );
    check(
        "[2024-01-02T03:04:05.123456789Z, 2024-01-02 03:04:05.5, 2024-1-2T3:4:5Z, 12:30, 12:30:45, 190:20:30, 2001-12-14t21:59:43.10-05:00, 2001-12-14 21:59:43.10 -5]",
        Some(
            r#"["2024-01-02T03:04:05Z","2024-01-02T03:04:05Z","2024-01-02T03:04:05Z","12:30","12:30:45","190:20:30","2001-12-14T21:59:43-05:00","2001-12-14 21:59:43.10 -5"]"#,
        ),
    );
    check("{a: 1, a: 2}", Some(r#"{"a":2}"#));
    check(r#"{a: 1, "a": 2}"#, Some(r#"{"a":2}"#));
    check("a: 1\na: 2", Some(r#"{"a":2}"#));
    check("a: &x 1\nb: *x", Some(r#"{"a":1,"b":1}"#));
    check("a: &x {p: 1}\nb:\n  <<: *x\n  q: 2", Some(r#"{"a":{"p":1},"b":{"p":1,"q":2}}"#));
    check("a: &x {p: 1}\nb:\n  p: 3\n  <<: *x\n  q: 2", Some(r#"{"a":{"p":1},"b":{"p":1,"q":2}}"#));
    check("a: &x {p: 1}\nb: &y {p: 2, r: 5}\nc:\n  <<: [*x, *y]\n  q: 2", None);
    check("a: {<<: {p: 1}, q: 2}", Some(r#"{"a":{"p":1,"q":2}}"#));
    check("a: {<<: 5}", None);
    check("a: {<<: [5]}", None);
    check(r#"a: {"<<": {p: 1}}"#, Some(r#"{"a":{"p":1}}"#));
    check("a: &x [*x]", None);
    check("&x a: *x", None);
    check("a: *nope", None);
    check("- 1\n- a\n- [x, y]\n- {k: v}", Some(r#"[1,"a",["x",true],{"k":"v"}]"#));
    check("- - 1\n  - 2\n- 3", Some("[[1,2],3]"));
    check(
        "a: |\n  x\n  y\nb: >\n  p\n  q\n\n  r\nc: |-\n  z\n\nd: |+\n  z\n\ne: 1",
        Some(r#"{"a":"x\ny\n","b":"p q\nr\n","c":"z","d":"z\n\n","e":1}"#),
    );
    check("'it''s'", Some(r#""it's""#));
    check("a b: c d", Some(r#"{"a b":"c d"}"#));
    check("a: b: c", None);
    check("a:b", Some(r#""a:b""#));
    check("{a:b}", Some(r#"{"a:b":null}"#));
    check("{a: b,}", Some(r#"{"a":"b"}"#));
    check("[a, , b]", None);
    check("[a,]", Some(r#"["a"]"#));
    check("# comment only", None);
    check("", None);
    check("---", Some("null"));
    check("--- a", Some(r#""a""#));
    check("--- a\n...", Some(r#""a""#));
    check("--- a\n--- b", None);
    check("a\n...\nb", None);
    check("%YAML 1.1\n--- a", Some(r#""a""#));
    check("%TAG ! tag:x,2000:\n--- !foo a", None);
    check("!!str 5", Some(r#""5""#));
    check(r#"!!int "5""#, Some(r#""5""#));
    check(r#"!!int "x""#, None);
    check("!!float 5", Some("5"));
    check(r#"!!bool "true""#, Some(r#""true""#));
    check(r#"!!bool "yes""#, Some(r#""yes""#));
    check(r#"!!bool "x""#, None);
    check(r#"!!null """#, Some(r#""""#));
    check("!!null x", Some("null"));
    check("!!binary aGk=", Some(r#""aGk=""#));
    check("!!binary /w==", Some(r#""/w==""#));
    check(r#"!!binary "a b""#, None);
    check("!!timestamp 2024-01-02", Some(r#""2024-01-02T00:00:00Z""#));
    check("!!timestamp x", None);
    check("!!map {a: 1}", Some(r#"{"a":1}"#));
    check("!!seq [1]", Some("[1]"));
    check("!!set {a, b}", None);
    check("!!omap [a: 1]", None);
    check("!!foo a", None);
    check("!foo a", None);
    check("! a", None);
    check("! 5", None);
    check("!<tag:yaml.org,2002:str> 5", Some(r#""5""#));
    check("1: a", Some(r#"{"1":"a"}"#));
    check("true: a", Some(r#"{"true":"a"}"#));
    check("~: a", None);
    check("1.50: a", Some(r#"{"1.5":"a"}"#));
    check("[a]: b", None);
    check("{a: b}: c", None);
    check("? a\n: b", Some(r#"{"a":"b"}"#));
    check("? a", Some(r#"{"a":null}"#));
    check("? [a]\n: b", None);
    check("2024-01-02: x", Some(r#"{"2024-01-02T00:00:00Z":"x"}"#));
    check("0x1F: x", Some(r#"{"31":"x"}"#));
    check("yes: x", Some(r#"{"true":"x"}"#));
    check("- a: 1\n  b: 2\n- c", Some(r#"[{"a":1,"b":2},"c"]"#));
    check("a:\n- 1\n- 2", Some(r#"{"a":[1,2]}"#));
    check("a:\n\t- 1", None);
    check("a: \t1", Some(r#"{"a":1}"#));
    check("a: 1 # c", Some(r#"{"a":1}"#));
    check("a: 1# c", Some(r#"{"a":"1# c"}"#));
    check(r#"a: "x" # c"#, Some(r#"{"a":"x"}"#));
    check("a: 'x\n  y'", Some(r#"{"a":"x y"}"#));
    check("a: x\n  y\n\n  z", Some(r#"{"a":"x y\nz"}"#));
    check("a: \"x\n  y\\\\\n  z\"", Some(r#"{"a":"x y\\ z"}"#));
    check("@a", None);
    check("`a", None);
    check("%a", None);
    check("a: @x", None);
    check("a: %x", None);
    check("a: -", None);
    check("- -", Some("[[null]]"));
    check("-", Some("[null]"));
    check("[- a]", None);
    check("a: [", None);
    check("a: }", None);
    check(r#""abc"#, None);
    check("'abc", None);
    check(r#"a: "\q""#, None);
    check("*a", None);
    check("&a", Some("null"));
    check("&a b", Some(r#""b""#));
    check("!!str", Some(r#""""#));
    check("- !!str", Some(r#"[""]"#));
    check("a: !!str", Some(r#"{"a":""}"#));
    check("a: |2\n    x\n   y", Some(r#"{"a":"  x\n y"}"#));
    check("a: |9\n    x", None);
    check("a: |0\n  x", None);
    check("a: >-\n  x\n   y\n  z", Some(r#"{"a":"x\n y\nz"}"#));
    check("key: [a, b]: c", None);
    check("a: 1\n b: 2", None);
    check("a:\n  b: 1\n c: 2", None);
    check("a: 1\nb", None);
    check("{a, b: 1}", Some(r#"{"a":null,"b":1}"#));
    check("{a: , b: 1}", Some(r#"{"a":null,"b":1}"#));
    check("[a: 1, b]", Some(r#"[{"a":1},"b"]"#));
    check("[? a : 1]", Some(r#"[{"a":1}]"#));
    check("{? a : 1}", Some(r#"{"a":1}"#));
    check("{? a}", Some(r#"{"a":null}"#));
    check(r#""a": 1"#, Some(r#"{"a":1}"#));
    check(r#""a":1"#, None);
    check(r#"{"a":1}"#, Some(r#"{"a":1}"#));
    check("{'a':1}", Some(r#"{"a":1}"#));
    check(r#"["a":1]"#, Some(r#"[{"a":1}]"#));
    check(r#"a: """#, Some(r#"{"a":""}"#));
    check("\u{feff}a: 1", Some(r#"{"a":1}"#));
    check("\u{0}", None);
    check("a: é", Some(r#"{"a":"é"}"#));
    check("a: 😀", Some(r#"{"a":"😀"}"#));
    check("x: 1e-5", Some(r#"{"x":0.00001}"#));
    check("x: 123456789012345678901234567890", Some(r#"{"x":123456789012345678901234567890}"#));
    check("x: 0.1", Some(r#"{"x":0.1}"#));
    check("x: 0.12345678901234567890123456789", Some(r#"{"x":0.12345678901234567890123456789}"#));
    check("x: 18446744073709551615", Some(r#"{"x":18446744073709551615}"#));
    check("x: 18446744073709551616", Some(r#"{"x":18446744073709551616}"#));
    check("x: -9223372036854775809", Some(r#"{"x":-9223372036854775809}"#));
    check("x: 1e20", Some(r#"{"x":100000000000000000000}"#));
    check(
        "x: 1.7976931348623157e400",
        Some(
            r#"{"x":17976931348623157000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000}"#,
        ),
    );
    check("x: 0xFFFFFFFFFFFFFFFFFF", None);
    check("x: 0x7FFFFFFFFFFFFFFF", Some(r#"{"x":9223372036854775807}"#));
    check(
        "x: 0b111111111111111111111111111111111111111111111111111111111111111111111",
        Some(r#"{"x":"0b111111111111111111111111111111111111111111111111111111111111111111111"}"#),
    );
    check("x: 0o7777777777777777777777777777", None);
    check("x: 685_230.15", Some(r#"{"x":"685_230.15"}"#));
    check("x: 1_2", Some(r#"{"x":"1_2"}"#));
    check("x: 12e03", Some(r#"{"x":12000}"#));
    check("x: -2E+05", Some(r#"{"x":-200000}"#));
    check("x: 1.e5", Some(r#"{"x":100000}"#));
    check("x: .e5", Some(r#"{"x":".e5"}"#));
    check("x: +.5", Some(r#"{"x":0.5}"#));
    check("x: 1e", Some(r#"{"x":"1e"}"#));
    check("x: 0777", Some(r#"{"x":777}"#));
    check("x: 0.", Some(r#"{"x":0}"#));
    check("x: .", Some(r#"{"x":"."}"#));
    check("x: -", None);
    check("x: --", Some(r#"{"x":"--"}"#));
    check("x: 1-2", Some(r#"{"x":"1-2"}"#));
    check("x: =", Some(r#"{"x":"="}"#));
    check("x: <<", Some(r#"{"x":"\u003c\u003c"}"#));
    check("x: !", None);
    check("x: ?", None);
    check("x: ? a", None);
    check("x: :", None);
    check("x: ::", None);
    check("x: a:b", Some(r#"{"x":"a:b"}"#));
    check("x: a :b", Some(r#"{"x":"a :b"}"#));
    check("x: a #b", Some(r#"{"x":"a"}"#));
    check("x: a#b", Some(r#"{"x":"a#b"}"#));
    check("x: 'a' b", None);
    check("x: [a]b", None);
    check("x: {a: 1} b", None);
    check(r#"x: "a" "b""#, None);
    check("- x\n  y", Some(r#"["x y"]"#));
    check("- x\n-y", None);
    check("a: [x\n, y]", Some(r#"{"a":["x",true]}"#));
    check("a: {x: 1,\n y: 2}", Some(r#"{"a":{"true":2,"x":1}}"#));
    check(r#"a: "e\u0301""#, Some(r#"{"a":"é"}"#));
    check("\"e\\u0301\": 1\n\"\\u00e9\": 2", Some(r#"{"é":2}"#));
    check("a: >\n\n  x", Some(r#"{"a":"\nx"}"#));
    check("a: |\n\n  x", Some(r#"{"a":"\nx"}"#));
    check("a: |\n  x\n  \n  y", Some(r#"{"a":"x\n\ny"}"#));
    check("a: |\n  x\n   \n  y\n", Some(r#"{"a":"x\n \ny\n"}"#));
    check("a: |\n x\n\n\n", Some(r#"{"a":"x\n"}"#));
    check("a: &x\n  b: 1\nc: *x", Some(r#"{"a":{"b":1},"c":{"b":1}}"#));
    check("a: &x !!str 5", Some(r#"{"a":"5"}"#));
    check("a: !!str &x 5", Some(r#"{"a":"5"}"#));
    check("- &a 1\n- &a 2\n- *a", Some("[1,2,2]"));
    check("a: *x b", None);
    check("{*x: 1}", None);
    check("a: &x 1\n*x : 2", None);
    check("a: 1\r\nb: 2\r\n", Some(r#"{"a":1,"b":2}"#));
    check("a: |\r\n  x\r\n  y\r\n", Some(r#"{"a":"x\ny\n"}"#));
    check("a: 1\rb: 2", Some(r#"{"a":1,"b":2}"#));
    check("a:\n  - b\n  -c", None);
    check("null", Some("null"));
    check("no", Some("false"));
    check(r#""no""#, Some(r#""no""#));
    check("1", Some("1"));
    check("1.0", Some("1"));
    check("-0", Some("-0"));
    check("-0.0", Some("-0"));
    check("+1", Some("1"));
    check("1_000", Some(r#""1_000""#));
    check("'1'", Some(r#""1""#));
    check("a\nb", Some(r#""a b""#));
    check("a\n b\n\n\n c", Some(r#""a b\n\nc""#));
    check("a: [\n  x\n]", Some(r#"{"a":["x"]}"#));
    check("a: {\n  x: 1\n}", Some(r#"{"a":{"x":1}}"#));
    check("a: {\n  x: 1\n}\nb: 2", Some(r#"{"a":{"x":1},"b":2}"#));
    check("a:\n  b: [\n    1,\n    2\n  ]\n", Some(r#"{"a":{"b":[1,2]}}"#));
    check("[\n1,\n2\n]", Some("[1,2]"));
    check("{\n\"a\": 1,\n\"b\": [\n1\n]\n}", Some(r#"{"a":1,"b":[1]}"#));
    check("- [\n  a\n]\n- b", Some(r#"[["a"],"b"]"#));
    check("a: \"x\n  y\"", Some(r#"{"a":"x y"}"#));
    check("- {a: 1,\n   b: 2}", Some(r#"[{"a":1,"b":2}]"#));
    check("a: |\n  x\n\n  y\n\n\nb: 1", Some(r#"{"a":"x\n\ny\n","b":1}"#));
    check("{\n\t\"a\": [\n\t\t1,\n\t\t2\n\t]\n}", Some(r#"{"a":[1,2]}"#));
    check("{\n\t\"a\":\t1\n}", Some(r#"{"a":1}"#));
    check("a:\n  - b: 1\n    c: 2\n  - d\n", Some(r#"{"a":[{"b":1,"c":2},"d"]}"#));
    check("x:\n- a:\n  - b\n  - c\ny: 1", Some(r#"{"true":1,"x":[{"a":["b","c"]}]}"#));
    check("a: !!binary |\n  aGVs\n  bG8=\n", Some(r#"{"a":"aGVs\nbG8=\n"}"#));
    check(
        "key: >-\n  folded text\n  more\n\n  para\nkey2: |\n  #!/bin/sh\n  echo hi\n",
        Some("{\"key\":\"folded text more\\npara\",\"key2\":\"#!/bin/sh\\necho hi\\n\"}"),
    );
    check("a: \"multi\n  line \\\n  esc\"\n", Some(r#"{"a":"multi line esc"}"#));
    check("- |\n a\n- >\n b\n c\n", Some(r#"["a\n","b c\n"]"#));
    check("a: 'don''t'\n", Some(r#"{"a":"don't"}"#));
    check(r"a: b\nc", Some(r#"{"a":"b\\nc"}"#));
    check("a: \"tab\there\"", Some(r#"{"a":"tab\there"}"#));
    check("a:   # comment\n  - 1", Some(r#"{"a":[1]}"#));
    check("a: [1, 2, # c\n  3]", Some(r#"{"a":[1,2,3]}"#));
    check("a: &anc\n  - 1\nb: *anc\n", Some(r#"{"a":[1],"b":[1]}"#));
    check("<<: {a: 1}\nb: 2", Some(r#"{"a":1,"b":2}"#));
    check("? |\n  block\n: v", Some(r#"{"block\n":"v"}"#));
    check("a: -1\nb: - 2", None);
    check("a: ?x\nb: :y", Some(r#"{"a":"?x","b":":y"}"#));
    check("a: x: y", None);
    check(r#"a: "x": y"#, None);
    check("a: {b: c: d}", None);
    check("- a: b\n- c: d\n  e: f", Some(r#"[{"a":"b"},{"c":"d","e":"f"}]"#));
    check("a: |\n\n\n  x\n", Some(r#"{"a":"\n\nx\n"}"#));
    check("a: |\n   x\n  y\n", None);
    check("a: >\n  x\n  \n  y\n", Some(r#"{"a":"x\ny\n"}"#));
    check("a: 'x'\n  b: 1", None);
    check("a: 1\n  b: 1", None);
    check("a\n:\n b", None);
    check("[a, b\n, c]\n", Some(r#"["a","b","c"]"#));
    check("{a: [b, {c: [d]}]}", Some(r#"{"a":["b",{"c":["d"]}]}"#));
    check("--- # c\na: 1\n... # d\n", Some(r#"{"a":1}"#));
    check("a: !!float 1\n", Some(r#"{"a":1}"#));
    check(r#"a: "\u00e9\x41\n""#, Some(r#"{"a":"éA\n"}"#));
    check("a: ''\nb: \"\"\nc:\nd: ~", Some(r#"{"a":"","b":"","c":null,"d":null}"#));
    check("- - - a\n    - b\n  - c\n- d", Some(r#"[[["a","b"],"c"],"d"]"#));
    check("a: \"x\\\n   \\  y\"", Some(r#"{"a":"x  y"}"#));
    check(r#"a: "   x   ""#, Some(r#"{"a":"   x   "}"#));
    check("a:    x   ", Some(r#"{"a":"x"}"#));
    check("a: x  # c", Some(r#"{"a":"x"}"#));
    check("'a b': 1", Some(r#"{"a b":1}"#));
    check(r#""a b" : 1"#, Some(r#"{"a b":1}"#));
    check("a : 1", Some(r#"{"a":1}"#));
    check("a  :  1", Some(r#"{"a":1}"#));
    check("{a : 1}", Some(r#"{"a":1}"#));
    check("[a: 1]", Some(r#"[{"a":1}]"#));
    check("[{a: 1}, {b: 2}]", Some(r#"[{"a":1},{"b":2}]"#));
    check("- a\n\n- b\n", Some(r#"["a","b"]"#));
    check("# c\n- a # d\n# e\n- b", Some(r#"["a","b"]"#));
    check("a:\n\n\n  b: 1", Some(r#"{"a":{"b":1}}"#));
    check("a: |-\n  x\n   y\n\n  z\n# comment\nb: 1", Some(r#"{"a":"x\n y\n\nz","b":1}"#));
    check("a: |\n  x\n # less\nb: 1", Some(r#"{"a":"x\n","b":1}"#));
    check("a: |\n  x\n# c\n  y\n", None);
    check("a: [a,b,c,]", Some(r#"{"a":["a","b","c"]}"#));
    check("a: {a,b,c,}", Some(r#"{"a":{"a":null,"b":null,"c":null}}"#));
    check("a: {a: 1, }", Some(r#"{"a":{"a":1}}"#));
    check("%TAG !e! tag:example.com,2000:\n---\na: 1", Some(r#"{"a":1}"#));
    check("a: !e!x 1", None);
}

#[test]
fn bombs_are_refused() {
    assert!(decode(&"[".repeat(100_000)).is_err());
    assert!(decode(&format!("{}{}", "[".repeat(501), "]".repeat(501))).is_err());
    assert!(decode(&"- ".repeat(100_000)).is_err());
    let mut laughs = "a0: &a0 [x, x]\n".to_owned();
    let mut ladder = "a0: &a0 [x]\n".to_owned();
    for level in 1..600 {
        laughs.push_str(&format!("a{level}: &a{level} [*a{0}, *a{0}]\n", level - 1));
        ladder.push_str(&format!("a{level}: &a{level} [*a{0}]\n", level - 1));
    }
    assert!(decode(&laughs).unwrap_err().contains("nodes"));
    assert!(decode(&ladder).unwrap_err().contains("nested"));
}

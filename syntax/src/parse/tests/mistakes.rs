//! What is said about invalid texts: one message for each mistake, at the right place, and nothing else.

use super::{FILE, errors, show};
use crate::parse::{MAX_ERRORS, parse, parse_expression, parse_template};

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    let (_, diagnostics) = parse(FILE, text);
    assert_eq!(errors(text, &diagnostics), expected, "{text}");
}

/// One mistake in an attribute, after which the next line is read as if nothing had happened.
#[track_caller]
fn check_value(value: &str, expected: &str) {
    let text = format!("b {{\n  x = {value}\n  y = 1\n}}\nz = 2\n");
    let (body, diagnostics) = parse(FILE, &text);
    assert_eq!(errors(&text, &diagnostics), [expected], "{text}");
    assert_eq!(body.attributes.len(), 1, "{text}");
    assert_eq!(body.blocks[0].body.attributes.last().map(|a| &*a.name.name), Some("y"), "{text}");
}

#[test]
fn mistakes_in_expressions() {
    check_value("", r#"2:7 "" expected a value, found the end of the line"#);
    check_value("1 +", r#"2:10 "" expected a value, found the end of the line"#);
    check_value("1 +\n    2", r#"2:10 "" expected a value, found the end of the line"#);
    check_value("5 5", r#"2:9 "5" expected the end of the line after an argument, found `5`"#);
    check_value("a = b", r#"2:9 "=" expected the end of the line after an argument, found `=`"#);
    check_value("]", r#"2:7 "]" expected a value, found `]`"#);
    check_value("a ? b", r#"2:12 "" expected `:`, found the end of the line"#);
    check_value("a.", r#"2:9 "" expected a name after `.`, found the end of the line"#);
    check_value("a.0.1", r#"2:8 ".0.1" unsuitable index `.0.1`"#);
    check_value("a[]", r#"2:8 "[]" index without a key"#);
    check_value("a.*.b.*", r#"2:12 ".*" `.*` inside of `.*`"#);
    check_value("1.2.3", r#"2:7 "1.2.3" malformed number"#);
    check_value("(1", r#"2:7 "(" unclosed `(`"#);
    check_value("(1 +", r#"2:7 "(" unclosed `(`"#);
    check_value("[1, 2", r#"2:7 "[" unclosed `[`"#);
    check_value("[1, 2,", r#"2:7 "[" unclosed `[`"#);
    check_value("f(1,", r#"2:8 "(" unclosed `(`"#);
    check_value("a[", r#"2:8 "[" unclosed `[`"#);
    check_value("[1 2]", r#"2:10 "2" expected `,` or `]`, found `2`"#);
    check_value("[1,,2]", r#"2:10 "," expected a value, found `,`"#);
    check_value("[1, 2)", r#"2:7 "[" unclosed `[`"#);
    check_value("[\n    1\n  }", r#"4:3 "}" expected `]`, found `}`"#);
    check_value("f(a = 1)", r#"2:11 "=" expected `,` or `)`, found `=`"#);
    check_value("f(\n    a = 1,\n    b = 2\n  )", r#"3:7 "=" expected `,` or `)`, found `=`"#);
    check_value("f(a..., b)", r#"2:13 "," expected `)` after `...`, found `,`"#);
    check_value("a::b", r#"2:11 "" expected `(` after the function `a::b`, found the end of the line"#);
    check_value("{ a = 1 b = 2 }", r#"2:15 "b" expected `,`, a newline or `}`, found `b`"#);
    check_value("{ a 1 }", r#"2:11 "1" expected `=` after the key, found `1`"#);
    check_value("{\n    a\n    = 1\n  }", r#"3:6 "" expected `=` after the key, found the end of the line"#);
    check_value("\n  {\n  a = 1\n  }", r#"2:7 "" expected a value, found the end of the line"#);
    check_value("{ for = 1 }", r#"2:13 "=" expected a name after `for`, found `=`"#);
    check_value("[for x y]", r#"2:14 "y" expected `in` after the names of `for`, found `y`"#);
    check_value("[for x in y z]", r#"2:19 "z" expected `:` after the collection of `for`, found `z`"#);
    check_value("[for x in y : x => x]", r#"2:23 "=>" expected `]`, found `=>`"#);
    check_value("[for x in y : x...]", r#"2:22 "..." `...` in `[for …]`"#);
    check_value("{for x in y : x}", r#"2:22 "}" expected `=>` after the key, found `}`"#);
    check_value("[for x in y : x, 1]", r#"2:22 "," expected `]`, found `,`"#);
    check_value("1,", r#"2:8 "," expected the end of the line, found `,`"#);
    check_value("1;", r#"2:8 ";" expected the end of the line, found `;`"#);
}

#[test]
fn characters_without_a_meaning() {
    check_value("“a”", r#"2:7 "“" unexpected quotation mark `“`"#);
    check_value("'a b'", r#"2:7 "'" unexpected quotation mark `'`"#);
    check_value("`a`", r#"2:7 "`" unexpected backtick"#);
    check_value("a & b", r#"2:9 "&" unexpected `&`"#);
    check_value("a | b", r#"2:9 "|" unexpected `|`"#);
    check_value("${a}", r#"2:7 "$" unexpected `$`"#);
    check_value("1\0", r#"2:8 "\0" control character U+0000"#);
    check_value("1\u{a0}", "2:8 \"\\u{a0}\" unusual space U+00A0");
    check_value("1 /* c", r#"2:9 "/* c" unclosed comment"#);
    check("\u{feff}a = \u{feff}1", &["1:6 \"\\u{feff}\" byte order mark inside the text"]);
}

#[test]
fn mistakes_in_strings() {
    check_value("\"a", r#"2:7 "\"" unclosed string"#);
    check_value("\"a\n  more text, and\n  the end\"", r#"2:7 "\"" unclosed string"#);
    check_value("[\n  \"a,\n  \"b\",\n  ]", r#"3:3 "\"" unclosed string"#);
    check_value("\"a\\", r#"2:7 "\"" unclosed string"#);
    check_value(r#""a\q""#, r#"2:9 "\\q" unknown escape `\q`"#);
    check_value(r#""\${a}""#, r#"2:8 "\\$" unknown escape `\$`"#);
    check_value(r#""\u12x""#, r#"2:8 "\\u12" incomplete escape `\u12`"#);
    check_value(r#""\ud83d""#, r#"2:8 "\\ud83d" no such character `\ud83d`"#);
    check_value("\"a\rb\"", r#"2:9 "\r" carriage return in a string"#);
    check_value(r#""${a""#, r#"2:8 "${" unclosed `${`"#);
    check_value("\"${a", r#"2:8 "${" unclosed `${`"#);
    check_value(r#""${a b}c""#, r#"2:12 "b" expected `}`, found `b`"#);
    check_value(r#""${}""#, r#"2:10 "}" expected a value, found `}`"#);
    check_value(r#""${ [1, (2 ] }""#, r#"2:15 "(" unclosed `(`"#);
    check_value(r#""%{ if a }b""#, r#"2:8 "%{ if a }" unclosed `if` directive"#);
    check_value(r#""%{ endif }""#, r#"2:8 "%{ endif }" unexpected `endif` directive"#);
    check_value(
        r#""%{ if a }%{ else }%{ else }%{ endif }""#,
        r#"2:26 "%{ else }" unexpected `else` directive"#,
    );
    check_value(r#""%{ fro a in b }""#, r#"2:11 "fro" unknown directive `fro`"#);
    check_value(r#""%{ if a }b%{ endif c }""#, r#"2:27 "c" expected `}`, found `c`"#);
}

#[test]
fn mistakes_in_heredocs() {
    check_value("<<E \na\nE", r#"2:7 "<<E" text after the marker of a heredoc"#);
    check_value("<<E x\na\nE", r#"2:7 "<<E x" text after the marker of a heredoc"#);
    check_value("<<E\n${a\nE", r#"3:1 "${" unclosed `${`"#);
    check_value("<<E\n${a\nmore\nE", r#"3:1 "${" unclosed `${`"#);
    check_value("<<-E\n  ${f(\"a}\n  E", r#"3:7 "\"" unclosed string"#);
    let text = "a {\n  x = <<E\n  }\n  text\n}\nb {\n  y = 1\n}\n";
    let (body, diagnostics) = parse(FILE, text);
    assert_eq!(errors(text, &diagnostics), [r#"2:7 "<<E" unclosed heredoc"#]);
    assert_eq!(show::body(&body), "a { x = INVALID }; b { y = 1 }");
}

#[test]
fn mistakes_in_bodies() {
    check("a = 1 b = 2\nc = 3", &[r#"1:7 "b" expected the end of the line, found `b`"#]);
    check("a {} b {}", &[r#"1:6 "b" expected the end of the line, found `b`"#]);
    check("a = 1\nb = 2\na = 3", &[r#"3:1 "a" `a` is set twice"#]);
    check("\"a\" = 1", &[r#"1:1 "\"a\"" quoted argument name"#]);
    check("a: 1\nb == 2\n", &[r#"1:2 ":" expected `=`, found `:`"#, r#"2:3 "==" expected `=`, found `==`"#]);
    check("a.b = 1", &[r#"1:2 "." expected `=`, found `.`"#]);
    check(
        "a 1\nb\n",
        &[
            r#"1:3 "1" expected `=` or `{`, found `1`"#,
            r#"2:2 "" expected `=` or `{`, found the end of the line"#,
        ],
    );
    check("a b\nc = 1", &[r#"1:4 "" expected `{` or a label, found the end of the line"#]);
    check("a b.c {\n}\nd = 1", &[r#"1:4 "." expected `{` or a label, found `.`"#]);
    check("a \"b\" = {\n  c = 1\n}\nd = 1", &[r#"1:7 "=" expected `{` or a label, found `=`"#]);
    check("a \"b\"\n{\n  c = 1\n}\n", &[r#"2:1 "{" `{` on a line of its own"#]);
    check("a \"${b}\" {\n}\n", &[r#"1:4 "${" template in a label"#]);
    check("a \"b {\n  c = 1\n}\nd = 1", &[r#"1:3 "\"" unclosed string"#]);
    check("\"a\" \"b\" {\n}\nc = 1", &[r#"1:1 "\"a\"" expected an argument or a block, found a string"#]);
    check(
        "0 = 1\n[1]\nc = 1",
        &[
            r#"1:1 "0" expected an argument or a block, found `0`"#,
            r#"2:1 "[" expected an argument or a block, found `[`"#,
        ],
    );
    check(
        "a = 1 {\n  b = 2\n}\nc = 1",
        &[r#"1:7 "{" expected the end of the line after an argument, found `{`"#],
    );
    check("}\na = 1", &[r#"1:1 "}" unexpected `}`"#]);
}

#[test]
fn one_line_blocks() {
    let too_much = |place: &str| format!("{place} \"{{\" too much for a one-line block");
    check("a { b = 1\n}", &[&too_much("1:3")]);
    check("a { b = 1 c = 2 }\nd = 1", &[&too_much("1:3")]);
    check("a { b = 1, c = 2 }\nd = 1", &[&too_much("1:3")]);
    check("a { b {} }\nd = 1", &[&too_much("1:3")]);
    check("a {\n  b = 1 }\nd = 1", &[r#"2:9 "}" expected the end of the line, found `}`"#]);
}

#[test]
fn what_is_not_closed_does_not_swallow_what_follows() {
    let check_rest = |text: &str, expected: &[&str], meaning: &str| {
        let (body, diagnostics) = parse(FILE, text);
        assert_eq!(errors(text, &diagnostics), expected, "{text}");
        assert_eq!(show::body(&body), meaning, "{text}");
    };
    check_rest(
        "a {\n  b = 1\n\nc {\n  d = 1\n}\n",
        &[r#"1:1 "a" unclosed block"#],
        "a { b = 1 }; c { d = 1 }",
    );
    check_rest(
        "a {\n  b {\n    c = 1\n}\nd \"e\" {\n}\n",
        &[r#"2:3 "b" unclosed block"#],
        r#"a { b { c = 1 } }; d "e" {  }"#,
    );
    check_rest(
        "a {\n  b = {\n    c = 1\n  d = 2\n}\ne {\n}\n",
        &[r#"2:7 "{" unclosed `{`"#],
        "a { b = {c = 1, d = 2} }; e {  }",
    );
    check_rest(
        "a {\n  b = [\n    1,\n\nc {\n}\n",
        &[r#"1:1 "a" unclosed block"#, r#"2:7 "[" unclosed `[`"#],
        "a { b = [1] }; c {  }",
    );
    check_rest("a {\n  b = 1\n  }\n}\nc = 1\n", &[r#"4:1 "}" unexpected `}`"#], "c = 1; a { b = 1 }");
    check_rest(
        "a {\n  b = { c = 1 }}\n}\nd = 1\n",
        &[r#"2:16 "}" unexpected `}`"#],
        "d = 1; a { b = {c = 1} }",
    );
    // Without any layout to go by, the first reading stands.
    check_rest("a {\nb {\n}\n}\nc {\nd {\n}\n", &[r#"5:1 "c" unclosed block"#], "a { b {  } }; c { d {  } }");
}

#[test]
fn incomplete_bodies_say_so() {
    let (body, _) = parse(FILE, "a {\n  b 1\n}\nc {\n  d = 1\n}\n");
    assert_eq!(body.blocks.iter().map(|block| block.body.incomplete).collect::<Vec<_>>(), [true, false]);
    assert!(!body.incomplete);
}

#[test]
fn all_mistakes_of_a_file_are_reported() {
    let text = include_str!("broken.hcl");
    // A comment `#!` names the errors of its line, `#^` those of the line above.
    let notes = |(line, text): (usize, &'static str)| {
        let below = text.split_once("#! ").map(|(_, notes)| (line + 1, notes));
        below.or_else(|| text.split_once("#^ ").map(|(_, notes)| (line, notes)))
    };
    let expected: Vec<String> = (text.lines().enumerate().filter_map(notes))
        .flat_map(|(line, notes)| notes.split(" ## ").map(move |note| format!("{line} {note}")))
        .collect();
    let (body, diagnostics) = parse(FILE, text);
    let found: Vec<String> = errors(text, &diagnostics)
        .iter()
        .map(|error| {
            let (line, rest) = error.split_once(':').expect("line:column");
            format!("{line} {}", rest.split_once("\" ").expect("the text underlined").1)
        })
        .collect();
    assert_eq!(found, expected);
    assert_eq!(body.blocks.len(), 9);
}

#[test]
fn expressions_and_templates_alone() {
    let check = |text: &str, expected: &[&str]| {
        let (_, diagnostics) = parse_expression(FILE, text);
        assert_eq!(errors(text, &diagnostics), expected, "{text}");
    };
    check("", &[r#"1:1 "" expected a value, found the end of the file"#]);
    check("1\n2", &[r#"2:1 "2" expected the end of the expression, found `2`"#]);
    check("a = 1", &[r#"1:3 "=" expected the end of the expression, found `=`"#]);
    check("(1", &[r#"1:1 "(" unclosed `(`"#]);
    check("\"a", &[r#"1:1 "\"" unclosed string"#]);
    let check = |text: &str, expected: &[&str]| {
        let (_, diagnostics) = parse_template(FILE, text);
        assert_eq!(errors(text, &diagnostics), expected, "{text}");
    };
    check("a ${b c} ${d", &[r#"1:7 "c" expected `}`, found `c`"#, r#"1:10 "${" unclosed `${`"#]);
    check("%{ for a in b }\n", &[r#"1:1 "%{ for a in b }" unclosed `for` directive"#]);
    check("a\n%{ else }", &[r#"2:1 "%{ else }" unexpected `else` directive"#]);
}

#[test]
fn errors_are_counted_but_not_all_kept() {
    let text = "a = \n".repeat(MAX_ERRORS + 50);
    let (_, diagnostics) = parse(FILE, &text);
    assert_eq!(diagnostics.len(), MAX_ERRORS + 1);
    // The name is repeated, too: two errors a line but for the first.
    assert_eq!(diagnostics[MAX_ERRORS].summary, format!("{} more syntax errors", MAX_ERRORS + 99));
}

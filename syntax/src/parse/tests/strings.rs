//! What strings, heredocs and templates mean. The expected texts are Terraform's.

use super::{FILE, errors, show};
use crate::parse::{parse_expression, parse_template};

#[track_caller]
fn check(text: &str, expected: &str) {
    let (expr, diagnostics) = parse_expression(FILE, text);
    assert_eq!(errors(text, &diagnostics), [""; 0], "{text}");
    assert_eq!(show::expr(&expr), expected, "{text}");
}

#[track_caller]
fn check_template(text: &str, expected: &str) {
    let (expr, diagnostics) = parse_template(FILE, text);
    assert_eq!(errors(text, &diagnostics), [""; 0], "{text}");
    assert_eq!(show::expr(&expr), expected, "{text}");
}

#[test]
fn escapes() {
    check(r#""""#, r#""""#);
    check(r#""\n\r\t\"\\\u00e9\U0001F600""#, r#""\n\r\t\"\\é😀""#);
    check(r#""$${a} $$${b} $$$${c} %%{d} $ $$ % %%x $%""#, r#""${a} $${b} $$${c} %{d} $ $$ % %%x $%""#);
    check("\"e\u{301}\"", "\"\u{e9}\"");
    check(r#""e\u0301""#, "\"\u{e9}\"");
    check("\"a\tb\0\u{1}\"", r#""a\tb\0\u{1}""#);
}

#[test]
fn interpolation() {
    check(r#""${a}""#, "`${a}`");
    check(r#""a${b}c""#, r#"`"a" ${b} "c"`"#);
    check(r#""${"${"x"}"}""#, r#"`${`${"x"}`}`"#);
    check("\"${\n  a\n}\"", "`${a}`");
    check(r#""$%{if a}b%{endif}""#, r#"`"$" <if a: "b" else >`"#);
    check(r#""${f({a = "}"})}""#, r#"`${f({a = "}"})}`"#);
}

#[test]
fn directives() {
    check(r#""%{if a}b%{else}c%{endif}""#, r#"`<if a: "b" else "c">`"#);
    check(r#""%{for a in b}${a},%{endfor}""#, r#"`<for a in b: ${a} ",">`"#);
    check(
        r#""%{ for a, b in c }%{ if a }x%{ endif }%{ endfor }y""#,
        r#"`<for a, b in c: <if a: "x" else >> "y"`"#,
    );
}

#[test]
fn trim_markers() {
    check(r#""a  \n  ${~ b ~}  \n c""#, r#"`"a" ${b} "c"`"#);
    check(r#""a ${~ 1}${2 ~} b""#, r#"`"a" ${1} ${2} "b"`"#);
    check(r#""  ${~ 1 ~} ${~ 2 ~}  ""#, r#"`"" ${1} "" ${2} ""`"#);
    check(r#""%{ if a ~} b %{~ else ~} c %{~ endif ~} d""#, r#"`<if a: "b" else "c"> "d"`"#);
    // A text trimmed to nothing still makes it a string.
    check(r#"" ${~ a}""#, r#"`"" ${a}`"#);
    check(r#""${~ a ~}""#, "`${a}`");
}

#[test]
fn heredocs() {
    check("<<E\nE\n", r#""""#);
    check("<<E\na\n  b\nE\n", r#""a\n  b\n""#);
    check("<<E\na\r\nE\r\n", r#""a\r\n""#);
    check("<<E\n\\n \"x\" $${a} $$ ${1}\n  E  \n", r#"`"\\n \"x\" ${a} $$ " ${1} "\n"`"#);
    check("f(<<E\na\nE\n, 1)", r#"f("a\n", 1)"#);
    check("[<<A\na\nA\n, <<B\nb\nB\n]", r#"["a\n", "b\n"]"#);
    // Inside a heredoc only the rest of the line is trimmed.
    check("<<E\na  \n   ${~ 1 ~}  \n  b\nE\n", r#"`"a  \n" ${1} "  b\n"`"#);
    check(
        "<<E\n  %{ if true ~}\n    a\n  %{ endif ~}\n  b\nE\n",
        r#"`"  " <if true: "    a\n  " else > "  b\n"`"#,
    );
}

#[test]
fn flush_heredocs() {
    check("<<-E\n    a\n   \n\n      b\n   E\n", r#""a\n   \n\n  b\n""#);
    check("<<-E\n\t  a\n    b\n   E\n", r#""a\n b\n""#);
    check("<<-E\n\n    a\n  E\n", r#""\na\n""#);
    check("<<-E\n  a${1}\n ${2}\n  E\n", r#"`" a" ${1} "\n" ${2} "\n"`"#);
    check("<<-E\n    ${1} b\n      c\n    E\n", r#"`"" ${1} " b\n  c\n"`"#);
    check("<<-E\n  a\n\u{a0}\u{a0}\u{a0}b\n  E\n", "\"a\\n\\u{a0}b\\n\"");
    check("<<-E\r\n  a\r\n\r\n   b\r\n  E\r\n", r#""a\r\n\r\n b\r\n""#);
    // A line after a trimmed newline keeps its indentation.
    check(
        "<<-E\n  %{ if true ~}\n    a\n  %{ endif ~}\n  b\n  E\n",
        r#"`"" <if true: "    a\n" else > "  b\n"`"#,
    );
    check("<<-E\n    a\n   ${~ 1}\n  b\n  E\n", r#"`"    a\n" ${1} "\n  b\n"`"#);
    check(
        "<<-E\n  a\n    %{~ if true }\n  b\n  %{~ endif }\n  E\n",
        r#"`"  a\n" <if true: "\n  b\n" else > "\n"`"#,
    );
}

#[test]
fn bare_templates() {
    check_template("", r#""""#);
    check_template("a \"b\" \\n\n", r#""a \"b\" \\n\n""#);
    check_template("${a}", "`${a}`");
    check_template("\u{feff}a${b}", r#"`"a" ${b}`"#);
    check_template(
        "%{ for a in b ~}\n  ${a}\n%{ endfor ~}\nend\n",
        r#"`<for a in b: "  " ${a} "\n"> "end\n"`"#,
    );
    check_template("a = ${\n  b\n}\n", r#"`"a = " ${b} "\n"`"#);
}

use proptest::prelude::*;

use super::{Token, TokenKind as K, template_tokens, tokens};

/// The tokens but the last as `Kind text`, one after another.
fn show(text: &str, tokens: &[Token]) -> String {
    let (end, rest) = tokens.split_last().expect("there is always an end");
    assert_eq!((end.kind, end.start as usize, end.end as usize), (K::Eof, text.len(), text.len()));
    rest.iter().map(|t| format!("{:?} {:?}", t.kind, t.text(text))).collect::<Vec<_>>().join(" | ")
}

#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(show(text, &tokens(text)), expected, "{text:?}");
}

/// Nothing but spaces and tabs lies between tokens, and they follow one another.
fn assert_lossless(text: &str, tokens: &[Token]) {
    let mut at = 0;
    for token in tokens {
        let (start, end) = (token.start as usize, token.end as usize);
        assert!(at <= start && start <= end, "{token:?} goes back in {text:?}");
        let between = text.get(at..start).expect("tokens start and end between characters");
        assert!(between.bytes().all(|b| b == b' ' || b == b'\t'), "{between:?} lost in {text:?}");
        assert!(text.get(start..end).is_some(), "{token:?} cuts a character of {text:?}");
        assert!(start < end || matches!(token.kind, K::Unclosed | K::Eof), "{token:?} is empty");
        at = end;
    }
    assert_eq!(tokens.last().map(|t| (t.kind, t.end as usize)), Some((K::Eof, text.len())));
}

#[test]
fn names_numbers_and_operators() {
    check("a_b-c9 é-1", r#"Ident "a_b-c9" | Ident "é-1""#);
    check("_x 9a", r#"Ident "_x" | Number "9" | Ident "a""#);
    check(
        "1.5e+3 1e 0.1.2 1...",
        r#"Number "1.5e+3" | Number "1" | Ident "e" | Number "0.1.2" | Number "1" | Ellipsis "...""#,
    );
    check("1.a 1.", r#"Number "1" | Dot "." | Ident "a" | Number "1" | Dot ".""#);
    check(
        "a==b=>c=d",
        r#"Ident "a" | EqualEqual "==" | Ident "b" | Arrow "=>" | Ident "c" | Equal "=" | Ident "d""#,
    );
    check("!a!=b", r#"Bang "!" | Ident "a" | NotEqual "!=" | Ident "b""#);
    check(
        "<<=>>=&&||",
        r#"Less "<" | LessEqual "<=" | Greater ">" | GreaterEqual ">=" | And "&&" | Or "||""#,
    );
    check("a::b:c", r#"Ident "a" | DoubleColon "::" | Ident "b" | Colon ":" | Ident "c""#);
    check("&|;'~\0", r#"Invalid "&" | Invalid "|" | Invalid ";" | Invalid "'" | Invalid "~" | Invalid "\0""#);
    check("“\u{feff}", "Invalid \"“\" | Invalid \"\\u{feff}\"");
}

#[test]
fn lines_and_comments() {
    check("a # b\r\nc", r##"Ident "a" | LineComment "# b" | Newline "\r\n" | Ident "c""##);
    check(
        "// x\n/* y\nz */ 1",
        r#"LineComment "// x" | Newline "\n" | BlockComment "/* y\nz */" | Number "1""#,
    );
    check("/*/ a\n/* b", r#"Invalid "/*/ a" | Newline "\n" | Invalid "/* b""#);
    check("a\rb", r#"Ident "a" | Invalid "\r" | Ident "b""#);
    check("\u{feff}a", "ByteOrderMark \"\\u{feff}\" | Ident \"a\"");
}

#[test]
fn quoted_strings() {
    check(r#""""#, r#"OpenQuote "\"" | CloseQuote "\"""#);
    check(r#""a\"b""#, r#"OpenQuote "\"" | QuotedText "a\\\"b" | CloseQuote "\"""#);
    check(
        r#""a${f("b${{c={}}}")~}d""#,
        r#"OpenQuote "\"" | QuotedText "a" | OpenInterpolation "${" | Ident "f" | OpenParen "(" | OpenQuote "\"" | QuotedText "b" | OpenInterpolation "${" | OpenBrace "{" | Ident "c" | Equal "=" | OpenBrace "{" | CloseBrace "}" | CloseBrace "}" | CloseTemplate "}" | CloseQuote "\"" | CloseParen ")" | CloseTemplate "~}" | QuotedText "d" | CloseQuote "\"""#,
    );
    check(
        r#""%{~ if a }$${b}$$${c}%%{d}$%$""#,
        r#"OpenQuote "\"" | OpenDirective "%{~" | Ident "if" | Ident "a" | CloseTemplate "}" | QuotedText "$${b}$$${c}%%{d}$%$" | CloseQuote "\"""#,
    );
    check(
        "\"${\n1\n}\"",
        r#"OpenQuote "\"" | OpenInterpolation "${" | Newline "\n" | Number "1" | Newline "\n" | CloseTemplate "}" | CloseQuote "\"""#,
    );
}

#[test]
fn heredocs_have_one_token_a_line() {
    check(
        "<<EOT\na\n${b} c\r\n  EOT \n1",
        r#"OpenHeredoc "<<EOT\n" | Text "a\n" | OpenInterpolation "${" | Ident "b" | CloseTemplate "}" | Text " c\r\n" | CloseHeredoc "  EOT " | Newline "\n" | Number "1""#,
    );
    check("<<-E\r\nE\r\n", r#"OpenHeredoc "<<-E\r\n" | CloseHeredoc "E" | Newline "\r\n""#);
    check("<<E\nEE\nE", r#"OpenHeredoc "<<E\n" | Text "EE\n" | CloseHeredoc "E""#);
    check("<<E a", r#"Less "<" | Less "<" | Ident "E" | Ident "a""#);
    check("<<E a\nE", r#"OpenHeredoc "<<E a\n" | CloseHeredoc "E""#);
    check("<<E", r#"OpenHeredoc "<<E" | Unclosed """#);
    check(
        "<<E\n${<<E\nx\nE\n}\nE",
        r#"OpenHeredoc "<<E\n" | OpenInterpolation "${" | OpenHeredoc "<<E\n" | Text "x\n" | CloseHeredoc "E" | Newline "\n" | CloseTemplate "}" | Text "\n" | CloseHeredoc "E""#,
    );
}

#[test]
fn bare_templates() {
    let text = "a \"\n%{ if x ~}\n$${b}%{ endif }";
    assert_eq!(
        show(text, &template_tokens(text)),
        r#"Text "a \"\n" | OpenDirective "%{" | Ident "if" | Ident "x" | CloseTemplate "~}" | Text "\n" | Text "$${b}" | OpenDirective "%{" | Ident "endif" | CloseTemplate "}""#
    );
}

#[test]
fn templates_go_on_over_lines_in_the_first_column() {
    for text in [
        "\"${[\nfor x in {\n} : x]}\"",
        "\"${[for x\nin {} : x\nif {}.a]}\"",
        "\"${[for\nx in {} :\nnull if {}]}\"",
        "\"%{ for x\nin {} }%{ endfor }\"",
    ] {
        assert!(tokens(text).iter().all(|token| token.kind != K::Unclosed), "{text}");
    }
}

#[test]
fn text_without_an_end_is_cut_off() {
    // A newline ends all strings that are open.
    check(
        "a = \"b\nc",
        r#"Ident "a" | Equal "=" | OpenQuote "\"" | QuotedText "b" | Unclosed "" | Newline "\n" | Ident "c""#,
    );
    check(
        "\"${\"\nc",
        r#"OpenQuote "\"" | OpenInterpolation "${" | OpenQuote "\"" | Unclosed "" | Newline "\n" | Ident "c""#,
    );
    // An attribute, the end of a block, or a block: the template before it has no end.
    check(
        "\"${a\nb = 1",
        r#"OpenQuote "\"" | OpenInterpolation "${" | Ident "a" | Unclosed "" | Newline "\n" | Ident "b" | Equal "=" | Number "1""#,
    );
    check(
        "\"${a\n}\n",
        r#"OpenQuote "\"" | OpenInterpolation "${" | Ident "a" | Unclosed "" | Newline "\n" | CloseBrace "}" | Newline "\n""#,
    );
    check(
        "\"${a(\nb {",
        r#"OpenQuote "\"" | OpenInterpolation "${" | Ident "a" | OpenParen "(" | Unclosed "" | Newline "\n" | Ident "b" | OpenBrace "{""#,
    );
    // The marker ends a heredoc even when a template in it is open.
    check(
        "<<E\n${a(\nE\n1",
        r#"OpenHeredoc "<<E\n" | OpenInterpolation "${" | Ident "a" | OpenParen "(" | Unclosed "" | Text "\n" | CloseHeredoc "E" | Newline "\n" | Number "1""#,
    );
    // A heredoc without an end stops before the closing brackets that lead to the next block.
    check(
        "{<<E\n}\na\n  }\n}\n\nb {",
        r#"OpenBrace "{" | OpenHeredoc "<<E\n" | Text "}\n" | Text "a\n" | Text "  }\n" | Unclosed "" | CloseBrace "}" | Newline "\n" | Newline "\n" | Ident "b" | OpenBrace "{""#,
    );
    check("<<E\na", r#"OpenHeredoc "<<E\n" | Text "a" | Unclosed """#);
    check("\"a", r#"OpenQuote "\"" | QuotedText "a" | Unclosed """#);
}

#[test]
fn hostile_texts_take_linear_time() {
    for piece in [
        "<<A\n",
        "\"",
        "\"${",
        "\"${\n",
        "/*",
        "/*\n",
        "${",
        "<<A\n${",
        "<<A\n${\n",
        "[",
        "}\n",
        "$",
        "\\",
        "a\n",
        "<<-",
        "<<a",
        "<<a ",
        "<<a",
        "<<a ",
    ] {
        let text = piece.repeat(50_000);
        assert_lossless(&text, &tokens(&text));
        assert_lossless(&text, &template_tokens(&text));
    }
    let many_markers: String = (0..50_000).map(|n| format!("x = <<E{n}\n")).collect();
    assert_lossless(&many_markers, &tokens(&many_markers));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn no_byte_is_lost(text in any::<String>()) {
        assert_lossless(&text, &tokens(&text));
        assert_lossless(&text, &template_tokens(&text));
    }

    #[test]
    fn no_byte_of_near_configuration_is_lost(pieces in prop::collection::vec(
        prop::sample::select(vec!["\"", "${", "%{", "}", "~}", "\n", "\r\n", "<<E\n", "<<-E\n", "E", " ", "a", "é", "1.5", "=", "{", "[", "(", ")", "]", "#", "//", "/*", "*/", "\\", "$", "%", "…", "a \"b\" {\n", "\u{feff}", "\0"]),
        0..40,
    )) {
        let text = pieces.concat();
        assert_lossless(&text, &tokens(&text));
        assert_lossless(&text, &template_tokens(&text));
    }
}

#[test]
fn names() {
    for name in ["a", "_", "a-b", "é1", "null", "A_9-"] {
        assert!(super::is_name(name), "{name}");
    }
    for text in ["", "1a", "-a", "a b", "a.b", "a\n", "$a"] {
        assert!(!super::is_name(text), "{text}");
    }
}

use fleet_syntax::{Diagnostic, FileId, Sources, Span};
use insta::assert_snapshot;

use super::{json, text};

/// A text in which `«…»` marks the span of the diagnostic to make.
fn marked(sources: &mut Sources, name: &str, marked: &str) -> Span {
    let start = marked.find('«').unwrap();
    let end = marked.find('»').unwrap() - '«'.len_utf8();
    let file = sources.add(name, marked.replace(['«', '»'], ""));
    Span { file, start: start as u32, end: end as u32 }
}

/// The text form of one error at the marked place.
fn shown(text_with_mark: &str) -> String {
    let mut sources = Sources::default();
    let span = marked(&mut sources, "main.fleet.hcl", text_with_mark);
    text(&[Diagnostic::error(span, "no such thing", "")], &sources, false)
}

fn samples() -> (Sources, Vec<Diagnostic>) {
    let mut sources = Sources::default();
    let second = marked(
        &mut sources,
        "b.fleet.hcl",
        "resource \"core_file\" \"motd\" {\n  «pth» = \"/etc/motd\"\n}\n",
    );
    let first = Span { start: 9, end: 20, ..second };
    let unused = marked(&mut sources, "c.fleet.hcl", "locals {\n  «unused» = 1\n}\n");
    let diagnostics = vec![
        Diagnostic::error(second, "unsupported argument", "The kind core_file has no argument named \"pth\".")
            .help("did you mean `path`?"),
        Diagnostic { span: None, ..Diagnostic::error(first, "no state", "The state file is missing.") },
        Diagnostic::warning(unused, "unused local value", ""),
        Diagnostic::error(
            first,
            "impossible kind",
            "A sentence that is long enough to be wrapped, since it goes on and on about a matter that could have \
             been put in far fewer words.\n\nAnd a second paragraph.",
        )
        .related(unused, "because of this one")
        .related(second, "and that one")
        .at("fleet.runners[0].core_file.motd"),
    ];
    (sources, diagnostics)
}

#[test]
fn for_people() {
    let (sources, diagnostics) = samples();
    assert_snapshot!(text(&diagnostics, &sources, false));
}

#[test]
fn for_people_in_colour() {
    let (sources, diagnostics) = samples();
    assert_snapshot!(text(&diagnostics[..1], &sources, true).replace('\x1b', "ESC"));
}

#[test]
fn for_programs() {
    let (sources, diagnostics) = samples();
    assert_snapshot!(json(&diagnostics, &sources));
}

#[test]
fn nothing_wrong() {
    let sources = Sources::default();
    assert_eq!(text(&[], &sources, false), "");
    assert_snapshot!(json(&[], &sources));
}

#[test]
fn a_long_cycle_is_not_shown_whole() {
    let mut sources = Sources::default();
    let span = marked(&mut sources, "x", "«a» = b\n");
    let cycle = (0..1000)
        .fold(Diagnostic::error(span, "cycle", ""), |cycle, i| cycle.related(span, format!("step {i}")));
    let shown = text(std::slice::from_ref(&cycle), &sources, false);
    assert!(shown.contains("step 15") && !shown.contains("step 16"), "{shown}");
    assert!(shown.contains("and 984 more"), "{shown}");
    assert!(json(&[cycle], &sources).contains("step 999"));
}

#[test]
fn odd_places() {
    let cases = [
        ("the very start", "«»a = 1\nb = 2\n"),
        ("an empty text", "«»"),
        ("the end without newline", "a = «»"),
        ("the end after newline", "a = 1\n«»"),
        ("the line ending", "a =«\n»b = 2\n"),
        ("CRLF", "a = 1\r\nb = «oops»\r\nc = 3\r\n"),
        ("a CRLF line ending", "a =«\r\n»b = 2\r\n"),
        ("tabs", "block {\n\ta\t= «oops»\n}\n"),
        ("many lines", "a = 1\nb = «[\n  1,\n  2,\n]»\nc = 3\n"),
        ("wide characters", "名前 = \"日本語\" + «oops»\n"),
        ("control characters", "a = \"\x1b[31m\u{202e}\0\" + «oops»\n"),
    ];
    let out: String = cases.iter().map(|(what, text)| format!("== {what}\n{}", shown(text))).collect();
    assert_snapshot!(out);
}

#[test]
fn a_long_line_is_clipped() {
    let long = "x".repeat(1 << 20);
    let cases = [
        format!("above\na = \"«{long}»\"\nbelow\n"),
        format!("above\na = \"{long}é\" + «oops» + \"é{long}\"\nbelow\n"),
        format!("{long}\na = «oops»\n{long}\n"),
    ];
    let out: String = cases.iter().map(|text| shown(text)).collect();
    assert_snapshot!(out);
}

#[test]
fn a_clipped_line_is_highlighted_in_json_too() {
    let mut sources = Sources::default();
    let long = "é".repeat(1000);
    let span = marked(&mut sources, "x", &format!("a = \"{long}\" + «oops»\n"));
    let document: serde_json::Value =
        serde_json::from_str(&json(&[Diagnostic::error(span, "s", "d")], &sources)).unwrap();
    let snippet = &document["diagnostics"][0]["snippet"];
    let offset = |name: &str| snippet[name].as_u64().unwrap() as usize;
    let code = snippet["code"].as_str().unwrap();
    assert_eq!(&code[offset("highlight_start_offset")..offset("highlight_end_offset")], "oops");
    assert_eq!(document["diagnostics"][0]["range"]["start"]["column"], 1010);
}

#[test]
fn a_span_beside_characters_is_widened_to_them() {
    let mut sources = Sources::default();
    sources.add("x", "a = \"é\"\n");
    let span = Span { file: FileId(0), start: 6, end: 6 };
    assert!(text(&[Diagnostic::error(span, "s", "")], &sources, false).contains("x:1:6"));
}

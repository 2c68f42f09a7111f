//! How values change, one by one.

use std::sync::Arc;

use crate::document::{Action, Attributes, Change, Document, Reason, Shown, Step};
use crate::render::{Colour, text};

fn t(text: &str) -> Shown {
    Shown::Text(text.into())
}

fn n(number: i64) -> Shown {
    Shown::Number(number.to_string().into())
}

fn map<const N: usize>(entries: [(&str, Shown); N]) -> Shown {
    Shown::Map(entries.map(|(name, value)| (Arc::from(name), value)).into_iter().collect())
}

fn list<const N: usize>(items: [Shown; N]) -> Shown {
    Shown::List(items.into())
}

fn attributes(value: Shown) -> Attributes {
    Attributes::from_iter([("a".to_owned(), value)])
}

fn document(before: Option<Shown>, after: Shown) -> Document {
    let action = if before.is_some() { Action::Update } else { Action::Create };
    let step = Step {
        address: "x.y".to_owned(),
        deposed: None,
        kind: "x".to_owned(),
        action,
        create_first: false,
        reason: Reason::Declared,
        moved_from: None,
        declared_at: None,
        before: before.map(attributes),
        after: Some(attributes(after)),
        changes: vec![Change { attribute: "a".to_owned(), forces_replacement: false }],
        drift: Vec::new(),
        pool: None,
    };
    Document { steps: vec![step], ..Document::default() }
}

/// The lines between the name of the thing and the sum, without the indentation that all share.
fn body(document: &Document) -> String {
    let text = text(document, Colour::Plain);
    let lines = text.lines().skip(1).take_while(|line| !line.is_empty());
    lines.map(|line| line.strip_prefix("    ").unwrap().to_owned() + "\n").collect()
}

#[track_caller]
fn check(before: Shown, after: Shown, expected: &str) {
    let expected = expected.trim_start_matches('\n');
    assert_eq!(body(&document(Some(before), after)).trim_end(), expected.trim_end());
}

#[track_caller]
fn check_new(value: Shown, expected: &str) {
    let expected = expected.trim_start_matches('\n');
    assert_eq!(body(&document(None, value)).trim_end(), expected.trim_end());
}

#[test]
fn simple_values_stand_on_one_line() {
    check(n(1), n(2), "~ a = 1 → 2");
    check(t("x"), t("y\n"), r#"~ a = "x" → "y\n""#);
    check(Shown::Null, t("y"), r#"+ a = "y""#);
    check(t("x"), Shown::Null, r#"- a = "x""#);
    check(Shown::Bool(true), t("true"), r#"~ a = true → "true""#);
    check(list([]), map([]), "~ a = [] → {}");
}

#[test]
fn what_is_not_known_says_what_it_waits_for() {
    let waits = |on: &str| Shown::Unknown { awaits: Some(on.into()) };
    check(t("x"), waits("b.c.d"), r#"~ a = "x" → (known after apply: b.c.d)"#);
    check(t("x"), Shown::Unknown { awaits: None }, r#"~ a = "x" → (known after apply)"#);
    check(
        map([("k", n(1)), ("l", n(2))]),
        map([("k", waits("b.c.d")), ("l", n(2))]),
        "
~ a = {
    ~ k = 1 → (known after apply: b.c.d)
    # 1 unchanged entry not shown
  }",
    );
}

#[test]
fn what_is_hidden_is_not_said_to_be_the_same() {
    check(Shown::Sensitive, Shown::Sensitive, "~ a = (sensitive value)  # changes");
    check(
        map([("k", Shown::Sensitive)]),
        map([("k", Shown::Sensitive)]),
        "~ a = { k = (sensitive value) }  # changes where it is hidden",
    );
    check(
        map([("k", Shown::Sensitive), ("l", n(1)), ("m", n(3))]),
        map([("k", Shown::Sensitive), ("l", n(2)), ("m", n(3))]),
        "
~ a = {
    ~ l = 1 → 2
    # 1 unchanged entry not shown
    # 1 entry hidden, changed or not
  }",
    );
}

#[test]
fn lists_are_compared_by_what_stays_in_order() {
    check(
        list([t("a"), t("b"), t("c")]),
        list([t("b"), t("c"), t("d")]),
        r#"
~ a = [
    - [0] = "a"
    + [2] = "d"
    # 2 unchanged elements not shown
  ]"#,
    );
    check(
        list([map([("port", n(1)), ("to", n(2))])]),
        list([map([("port", n(3)), ("to", n(2))])]),
        "
~ a = [
    ~ [0] = {
        ~ port = 1 → 3
        # 1 unchanged entry not shown
      }
  ]",
    );
}

#[test]
fn sets_are_compared_by_what_is_in_them() {
    check(
        Shown::Set(vec![t("a"), t("b")]),
        Shown::Set(vec![t("b"), t("c")]),
        r#"
~ a = [
    - "a"
    + "c"
    # 1 unchanged element not shown
  ]"#,
    );
}

#[test]
fn names_are_aligned_and_quoted_if_they_must_be() {
    check(
        map([("long_name", n(1)), ("b c", n(1)), ("x", n(1))]),
        map([("long_name", n(2)), ("b c", n(2)), ("x", n(1)), ("\u{1b}", n(0))]),
        r#"
~ a = {
    + "\x1b"    = 0
    ~ "b c"     = 1 → 2
    ~ long_name = 1 → 2
    # 1 unchanged entry not shown
  }"#,
    );
}

#[test]
fn what_is_new_is_shown_as_a_whole() {
    let long = t("a text that takes some room on its line, so that two of them do not fit");
    check_new(list([n(1), t("x"), Shown::Null]), r#"+ a = [1, "x", null]"#);
    check_new(
        map([("k", list([long.clone()])), ("word", list([]))]),
        r#"
+ a = {
    + k    = [
        + "a text that takes some room on its line, so that two of them do not fit"
      ]
    + word = []
  }"#,
    );
    check(
        n(1),
        list([long]),
        r#"
- a = 1
+ a = [
    + "a text that takes some room on its line, so that two of them do not fit"
  ]"#,
    );
}

#[test]
fn texts_change_line_by_line() {
    check(
        t("one\ntwo\nthree\nfour\nfive\nsix\nseven\n"),
        t("one\ntwo\nthree\nfour\nfive\n6\nseven\neight"),
        "
~ a = 7 → 8 lines, 1 removed, 2 added:
    # 2 unchanged lines not shown
      three
      four
      five
    - six
    + 6
      seven
    + eight
    # no newline at the end",
    );
    check(
        t("a\nb"),
        t("a\nb\n"),
        "
~ a = 2 lines, 1 removed, 1 added, only white space differs:
      a
    - b
    # no newline at the end
    + b",
    );
    check_new(
        t("a\n\n\tb\n"),
        "
+ a = 3 lines:
    + a
    +
    + \tb",
    );
}

#[test]
fn what_does_not_print_is_escaped_in_the_whole_text() {
    check(
        t("a\\n\r\nb\n"),
        t("a\\n\nb\n"),
        r"
~ a = 2 lines, 1 removed, 1 added, with escapes, only white space differs:
    - a\\n\r
    + a\\n
      b",
    );
    check(t("\u{1b}[31m"), t("\u{202e}x"), r#"~ a = "\x1b[31m" → "\u202ex""#);
}

#[test]
fn long_texts_of_one_line_are_cut_where_they_are_the_same() {
    let long = |odd: &str| t(&format!("{}{odd}{}", "x".repeat(100), "y".repeat(100)));
    check(
        long("1"),
        long("22"),
        r#"~ a = …84 same…"xxxxxxxxxxxxxxxx1yyyyyyyyyyyyyyyy"…84 same… → …84 same…"xxxxxxxxxxxxxxxx22yyyyyyyyyyyyyyyy"…84 same…"#
            .replace(" → ", "\n    → ")
            .as_str(),
    );
    check_new(t(&"z".repeat(500)), &format!("+ a = \"{}\"… (and 100 more characters)", "z".repeat(400)));
}

#[test]
fn json_in_texts_is_shown_as_what_it_means() {
    let json =
        |port: &str| t(&format!(r#"{{"name":"something long","ports":[{port}],"more":{{"deep":true}}}}"#));
    check(
        json("80"),
        json("443, 80"),
        r#"
~ a = jsonencode({
    ~ ports = [
        + [0] = 443
        # 1 unchanged element not shown
      ]
    # 2 unchanged entries not shown
  })"#,
    );
    // What it means is the same, so the texts are shown.
    check(
        t(r#"{"name":"something long","ports":[80],"more":{"deep":true}}"#),
        t(r#"{"name":"something long","ports":[80], "more":{"deep":true}}"#),
        r#"
~ a = "{\"name\":\"something long\",\"ports\":[80],\"more\":{\"deep\":true}}"
    → "{\"name\":\"something long\",\"ports\":[80], \"more\":{\"deep\":true}}""#,
    );
    // Numbers that reading would round are never shown as what they mean.
    check(
        t(r#"{"name":"something long that is longer","n":1.00000000000000000001}"#),
        t(r#"{"name":"something long that is longer","n":1.00000000000000000002}"#),
        r#"~ a = "{\"name\":\"something long that is longer\",\"n\":1.00000000000000000001}"
    → "{\"name\":\"something long that is longer\",\"n\":1.00000000000000000002}""#,
    );
}

#[test]
fn the_same_long_text_is_shown_once() {
    let lines = |odd: &str| t(&format!("{}{odd}\n", "line\n".repeat(20)));
    let mut document = document(None, lines("x"));
    let mut again = document.steps[0].clone();
    again.address = "x.z".to_owned();
    document.steps.push(again);
    let text = text(&document, Colour::Plain);
    assert_eq!(text.matches("+ line\n").count(), 20, "{text}");
    assert!(text.contains("  + x.z\n    + a = 21 lines, the same as in x.y.a\n"), "{text}");
}

//! A plan with something of everything, in every form.

use insta::assert_snapshot;

use crate::document::sample::{document_of, plan};
use crate::document::{Document, saved};
use crate::plan::Plan;
use crate::render::{Colour, json, markdown, text};

#[test]
fn as_text() {
    assert_snapshot!(text(&document_of(&plan()), Colour::Plain));
}

#[test]
fn as_text_in_colour() {
    assert_snapshot!(text(&document_of(&plan()), Colour::Ansi).replace('\x1b', "␛"));
}

#[test]
fn as_json() {
    let json = json(&document_of(&plan()));
    assert_eq!(serde_json::from_str::<Document>(&json).unwrap(), document_of(&plan()));
    assert_snapshot!(json);
}

#[test]
fn as_markdown() {
    assert_snapshot!(markdown(&document_of(&plan())));
}

#[test]
fn saved_and_shown_it_reads_the_same() {
    let document = document_of(&plan());
    let file = saved::write(&document);
    let shown = saved::read(&file).unwrap();
    assert_eq!(shown, document);
    assert_eq!(text(&shown, Colour::Plain), text(&document, Colour::Plain));
    assert_snapshot!(String::from_utf8(file).unwrap());
}

#[test]
fn with_nothing_to_do_it_says_so() {
    let mut empty = document_of(&Plan::default());
    empty.warnings.clear();
    assert_eq!(text(&empty, Colour::Plain), "No changes.\n");
}

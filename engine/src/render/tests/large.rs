//! Plans of thousands of steps: nothing is lost in the text, and a page says what it could not hold.

use std::collections::HashSet;

use crate::document::sample::{address, document_of, object, plan, script, step};
use crate::document::{Document, saved};
use crate::plan::{Action, Plan, Why};
use crate::render::markdown::{GITHUB_LIMIT, length};
use crate::render::{Colour, markdown, text};

/// So many files to make, of so many lines each.
fn files(n: usize, lines: usize) -> Document {
    let mut plan = Plan::default();
    for i in 0..n {
        let content: String = (0..lines).map(|line| format!("line {line} of file {i}\n")).collect();
        let file = object([("content", (&*content).into()), ("path", (&*format!("/f/{i}")).into())]);
        let name = address(&format!("core_file.many[{i}]"));
        plan.steps.insert(name, step(Action::Create, Why::Declared, None, file));
    }
    Document { warnings: Vec::new(), ..document_of(&plan) }
}

/// How many things a page says that it shows in part, by name only and not at all.
fn cut(page: &str) -> [usize; 3] {
    ["shown in part", "shown by name only", "not shown at all"].map(|words| {
        let before = page.split_once(&format!(" {words}")).map(|(before, _)| before);
        before.map_or(0, |before| before.rsplit(' ').next().unwrap().parse().unwrap())
    })
}

#[test]
fn every_step_stands_in_the_text() {
    let document = files(3_000, 3);
    let text = text(&document, Colour::Plain);
    let lines: HashSet<&str> = text.lines().map(str::trim_start).collect();
    for i in 0..3_000 {
        assert!(lines.contains(&*format!("+ core_file.many[{i}]")));
        assert!(lines.contains(&*format!("+ line 2 of file {i}")));
    }
    assert!(text.ends_with("\nPlan: 3000 to create.\n"));
}

#[test]
fn a_page_shows_names_before_particulars_and_says_what_it_cut() {
    let check = |n: usize, lines: usize, expected: [std::ops::Range<usize>; 3]| {
        let page = markdown(&files(n, lines));
        assert!(length(&page) <= GITHUB_LIMIT);
        assert!(length(&page) > GITHUB_LIMIT - 4_096, "{n} × {lines}: there is more to show");
        let cut = cut(&page);
        for (cut, expected) in cut.iter().zip(&expected) {
            assert!(expected.contains(cut), "{n} × {lines}: {cut} is not in {expected:?}");
        }
        let lines: HashSet<&str> = page.lines().collect();
        let named = (0..n).filter(|i| lines.contains(&*format!("+ core_file.many[{i}]"))).count();
        assert_eq!(named, n - cut[2]);
        let whole = (0..n).filter(|i| lines.contains(&*format!("+     path    = \"/f/{i}\""))).count();
        assert_eq!(whole, n - cut[0] - cut[1] - cut[2]);
    };
    // All fit by name, and some of them as a whole.
    check(1_000, 3, [0..1, 500..1_000, 0..1]);
    // Not even the names fit.
    check(5_000, 3, [0..1, 1_000..4_000, 1_000..4_000]);
    // Each of them alone is too long for a page.
    check(40, 1_500, [3..6, 30..40, 0..1]);
}

#[test]
fn one_long_text_is_shown_in_part() {
    let page = markdown(&files(1, 9_000));
    assert_eq!(cut(&page), [1, 0, 0]);
    assert!(page.contains("+         line 0 of file 0\n"));
    assert!(page.contains(" more lines do not fit here\n"));
}

#[test]
fn a_large_plan_is_saved_small() {
    let mut plan = plan();
    let file = object([("content", script("x"))]);
    for i in 0..500 {
        let name = address(&format!("core_file.many[{i}]"));
        plan.steps.insert(name, step(Action::Create, Why::Declared, None, file.clone()));
    }
    let document = document_of(&plan);
    let saved = saved::write(&document);
    assert!(saved.len() < 100_000, "{}", saved.len());
    assert!(saved::read(&saved) == Ok(document));
}

//! What holds for every document, whatever stands in it.

use std::sync::Arc;

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use pulldown_cmark::{Event, Parser, Tag};

use crate::document::{
    Action, Attributes, Because, By, Change, Deferred, Document, Drift, FORMAT, Finding, Goal, Header,
    LeftOut, Options, Output, Place, Reason, Shown, Step, Warning, saved,
};
use crate::render::markdown::{GITHUB_LIMIT, length, within};
use crate::render::{Colour, json, markdown, text};

/// Pieces that would do harm in a terminal or on a page, and pieces that are shown in ways of their own.
const PIECES: [&str; 24] = [
    "",
    "plain",
    "\x1b[31mred\x1b[0m",
    "\x1b]0;title\x07",
    "\u{9b}31m",
    "\u{202e}txt.exe",
    "\r",
    "\n",
    "\n```\n",
    "````",
    "~~~\n",
    "</code></summary></details>",
    "<script>alert(1)</script>",
    "<!--",
    "@everyone #1",
    "[x](http://y)",
    "é日本語🚀",
    "\t",
    "\\x1b",
    "\"quoted\" ${x} %{y}",
    "\n- a\n+ b\n# c\n",
    r#"{"a":[1,2,{"b":"c and more of it, so that it is long"}],"d":null}"#,
    r#"{"a":[1,3,{"b":"c and more of it, so that it is long"}],"e":true}"#,
    "a line that goes on and on, and then goes on some more, as lines sometimes do, to the right",
];

fn string() -> impl Strategy<Value = String> {
    let usual = vec(select(PIECES.to_vec()), 0..4).prop_map(|pieces| pieces.concat());
    let long = (vec(select(PIECES.to_vec()), 1..4), 10..40_usize);
    prop_oneof![
        6 => usual,
        1 => any::<String>(),
        1 => long.prop_map(|(pieces, n)| (pieces.concat() + "\n").repeat(n)),
    ]
}

fn shown() -> impl Strategy<Value = Shown> {
    let leaf = prop_oneof![
        4 => string().prop_map(|text| Shown::Text(text.into())),
        1 => Just(Shown::Null),
        1 => any::<bool>().prop_map(Shown::Bool),
        1 => (-3..100_i64).prop_map(|n| Shown::Number(n.to_string().into())),
        1 => Just(Shown::Number("1.5".into())),
        1 => Just(Shown::Sensitive),
        1 => Just(Shown::Ephemeral),
        1 => option::of(string()).prop_map(|awaits| Shown::Unknown { awaits: awaits.map(Arc::from) }),
    ];
    leaf.prop_recursive(3, 24, 5, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(Shown::List),
            vec(inner.clone(), 0..5).prop_map(Shown::Set),
            btree_map(string().prop_map(Arc::from), inner, 0..5)
                .prop_map(|members| Shown::Map(members.into_iter().collect())),
        ]
    })
}

/// Attributes before and after, with the names of those said to change. Some are the same on both sides.
fn attributes() -> impl Strategy<Value = (Attributes, Attributes, Vec<Change>)> {
    let name = prop_oneof![3 => select(["a", "path", "content", "mode"].to_vec()).prop_map(String::from), 1 => string()];
    let one = (shown(), shown(), 0..4_u8, any::<bool>());
    btree_map(name, one, 0..5).prop_map(|all| {
        let (mut before, mut after, mut changes) = (Attributes::new(), Attributes::new(), Vec::new());
        for (name, (old, new, fate, forces_replacement)) in all {
            if fate > 0 {
                changes.push(Change { attribute: name.clone(), forces_replacement });
            }
            let new = if fate == 1 { old.clone() } else { new };
            before.insert(name.clone(), old);
            after.insert(name, new);
        }
        (before, after, changes)
    })
}

fn reason() -> impl Strategy<Value = Reason> {
    prop_oneof![
        Just(Reason::Declared),
        Just(Reason::Vanished),
        Just(Reason::CutOff),
        Just(Reason::Found),
        Just(Reason::NotDeclared),
        Just(Reason::Asked),
        Just(Reason::Released),
        Just(Reason::Deposed),
        string().prop_map(|id| Reason::Imported { id }),
        string().prop_map(|address| Reason::SameAs { address }),
        string().prop_map(|by| Reason::Triggered { by }),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    use Action::{Create, Destroy, Forget, Read, Record, Replace, Update};
    let action = select(vec![Create, Destroy, Forget, Read, Record, Replace, Replace, Update, Update]);
    let drift = (string(), shown(), shown());
    let drift = drift.prop_map(|(attribute, before, after)| Drift { attribute, before, after });
    let rest = (option::of(0..9_u32), option::weighted(0.2, string()), any::<bool>(), vec(drift, 0..2));
    (string(), action, reason(), attributes(), rest).prop_map(
        |(address, action, reason, (before, after, changes), (deposed, moved_from, create_first, drift))| {
            Step {
                address,
                deposed,
                kind: "core_file".to_owned(),
                action,
                create_first,
                reason,
                moved_from,
                declared_at: None,
                before: (action != Action::Create).then_some(before),
                after: (action != Action::Destroy).then_some(after),
                changes,
                drift,
                pool: None,
            }
        },
    )
}

fn left_out() -> impl Strategy<Value = LeftOut> {
    let because = prop_oneof![
        Just(Because::NotTargeted),
        Just(Because::Excluded),
        string().prop_map(|how| Because::Apart { how }),
        string().prop_map(|by| Because::NeededBy { by }),
        string().prop_map(|why| Because::Blocked { why }),
        string().prop_map(|on| Because::DependsOn { on }),
    ];
    let address = prop_oneof![string(), (0..9).prop_map(|n| format!("module.m[{n}].core_file.a[{n}]"))];
    (address, because).prop_map(|(address, because)| LeftOut { address, because })
}

fn warning() -> impl Strategy<Value = Warning> {
    let place = (string(), 0..9_u32).prop_map(|(file, line)| Place { file, line });
    (string(), string(), option::of(string()), option::of(place), option::of(string()))
        .prop_map(|(summary, detail, address, at, help)| Warning { summary, detail, address, at, help })
}

fn finding() -> impl Strategy<Value = Finding> {
    let by = (select(vec![By::Apply, By::Person]), option::of(string()), any::<bool>());
    (string(), option::of(string()), string(), string(), string(), by).prop_map(
        |(name, host, address, evidence, cure, (by, kind, planned))| Finding {
            name,
            host,
            address,
            evidence,
            cure,
            by,
            kind,
            planned,
        },
    )
}

fn documents() -> impl Strategy<Value = Document> {
    let goal = select(vec![Goal::Converge, Goal::Converge, Goal::Destroy, Goal::RefreshOnly]);
    let header = (string(), string(), string(), any::<bool>());
    let output = (string(), option::of(shown()), option::of(shown()));
    let output = output.prop_map(|(name, before, after)| Output { name, before, after });
    let deferred = (string(), option::of(string()));
    let deferred = deferred.prop_map(|(address, awaits)| Deferred { address, awaits });
    let warned = (vec(warning(), 0..2), vec(finding(), 0..3));
    let lists = (vec(deferred, 0..3), vec(left_out(), 0..6), vec(output, 0..3), warned);
    (goal, header, vec(step(), 0..6), lists, 0..3_usize, 0..9_usize).prop_map(
        |(goal, (fleet, planned_at, configuration, without_looking), steps, lists, extra_rounds, keep)| {
            let (deferred, left_out, outputs, (warnings, findings)) = lists;
            let options = Options { without_looking, ..Options::default() };
            let header = Header { fleet, planned_at, configuration, options, ..Header::default() };
            let mut document = Document {
                format: FORMAT,
                goal,
                header,
                steps,
                deferred,
                left_out,
                outputs,
                warnings,
                findings,
                extra_rounds,
                ..Document::default()
            };
            document.summary = document.count(keep);
            document
        },
    )
}

/// The text without the colours that we write, and with any others.
fn without_colours(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\x1b[") {
        plain.push_str(before);
        let (code, after) = after.split_once('m').unwrap();
        assert!(code.chars().all(|c| c.is_ascii_digit() || c == ';'), "{code:?}");
        rest = after;
    }
    plain + rest
}

/// The number before some words in a text, 0 if they do not stand there.
fn number_before(text: &str, words: &str) -> usize {
    let Some((before, _)) = text.split_once(&format!(" {words}")) else { return 0 };
    before.rsplit(' ').next().unwrap().parse().unwrap()
}

/// Checks that a page is made of headings, folds and code blocks, one for each fold, and of nothing else.
fn check_page(page: &str) {
    let (mut folds, mut ends, mut blocks, mut in_code) = (0, 0, 0, false);
    for event in Parser::new(page) {
        match event {
            Event::Start(Tag::CodeBlock(_)) => (blocks, in_code) = (blocks + 1, true),
            Event::End(pulldown_cmark::TagEnd::CodeBlock) => in_code = false,
            Event::Html(html) | Event::InlineHtml(html) => {
                folds += html.matches("<details").count();
                ends += html.matches("</details>").count();
                assert!(!html.contains("script") || html.contains("&#60;script"), "{html}");
            }
            Event::Text(text) if !in_code => {
                let ours = |c: char| c.is_ascii_alphanumeric() || " .,:;-()=".contains(c);
                assert!(text.chars().all(ours) && !text.contains("everyone"), "{text}");
            }
            Event::Start(Tag::Link { .. } | Tag::Image { .. } | Tag::List(_)) => panic!("in {page}"),
            _ => {}
        }
    }
    assert_eq!((folds, blocks), (ends, folds), "{page}");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn nothing_speaks_to_the_terminal_but_our_colours(document in documents()) {
        let plain = text(&document, Colour::Plain);
        let odd = |c: &char| !fleet_lang::print::is_printable(*c) && *c != '\n' && *c != '\t';
        prop_assert_eq!(plain.chars().find(odd), None);
        prop_assert_eq!(without_colours(&text(&document, Colour::Ansi)), plain);
        // A large one is compressed, and nothing that a terminal is shown.
        let file = String::from_utf8(saved::write(&document)).unwrap_or_default();
        for other in [json(&document), markdown(&document), file] {
            prop_assert_eq!(other.chars().find(odd), None);
        }
    }

    #[test]
    fn the_last_line_sums_up(document in documents()) {
        let plain = text(&document, Colour::Plain);
        let last = plain.lines().last().unwrap();
        let of = |action| document.steps.iter().filter(|step| step.action == action).count();
        prop_assert_eq!(number_before(last, "to create"), of(Action::Create));
        prop_assert_eq!(number_before(last, "to update"), of(Action::Update));
        prop_assert_eq!(number_before(last, "to replace"), of(Action::Replace));
        prop_assert_eq!(number_before(last, "to destroy"), of(Action::Destroy));
        prop_assert_eq!(number_before(last, "to read"), of(Action::Read));
        let forget = document.steps.iter().filter(|step| {
            step.action == Action::Forget && !step.is_bookkeeping()
        });
        prop_assert_eq!(number_before(last, "to forget"), forget.count());
        let imports = document.steps.iter().filter(|step| step.is_imported()).count();
        prop_assert_eq!(number_before(last, "to import"), imports);
        let moves = document.steps.iter().filter(|step| step.moved_from.is_some()).count();
        prop_assert_eq!(number_before(last, "to move"), moves);
        prop_assert_eq!(number_before(last, "to decide later"), document.deferred.len());
        prop_assert_eq!(number_before(last, "left out"), document.left_out.len());
        prop_assert_eq!(number_before(last, "output"), document.outputs.len());
        prop_assert_eq!(last.starts_with("No changes"), document.summary.is_empty());
        // Nobody says that nothing changes where something cannot be seen.
        prop_assert_eq!(last.starts_with("No changes."), document.summary.is_empty() && !document.is_blocked());
        prop_assert!(last.starts_with("No changes") || last.starts_with("Plan: "));
        let sums = plain.lines().filter(|line| line.starts_with("Plan: ") || line.starts_with("No changes"));
        prop_assert_eq!(sums.count(), 1);
    }

    #[test]
    fn every_step_is_named(document in documents()) {
        let plain = text(&document, Colour::Plain);
        for step in document.steps.iter().filter(|step| !step.is_bookkeeping()) {
            prop_assert!(plain.contains(&crate::render::line::clean(&step.address)));
        }
    }

    #[test]
    fn a_page_cannot_be_broken_out_of_and_fits(document in documents()) {
        let page = markdown(&document);
        prop_assert!(length(&page) <= GITHUB_LIMIT);
        check_page(&page);
        let small = within(&document, 4_096);
        prop_assert!(length(&small) <= 4_096, "{} {small}", length(&small));
        check_page(&small);
        let cut = small.contains("**Cut to fit");
        prop_assert_eq!(cut, small != page, "{}", small);
    }

    #[test]
    fn a_saved_plan_reads_the_same(document in documents()) {
        let shown = saved::read(&saved::write(&document)).unwrap();
        prop_assert_eq!(text(&shown, Colour::Ansi), text(&document, Colour::Ansi));
        prop_assert_eq!(markdown(&shown), markdown(&document));
        prop_assert_eq!(&shown, &document);
        prop_assert_eq!(serde_json::from_str::<Document>(&json(&document)).unwrap(), document);
    }
}

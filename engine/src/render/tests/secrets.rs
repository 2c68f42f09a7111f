//! No form of a plan holds what is secret, in any spelling; and the search for it would find it.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use fleet_lang::{Marks, Type, Value};
use proptest::prelude::*;

use crate::diff::Change;
use crate::document::sample::{self, address, document_of, object, plan};
use crate::document::saved;
use crate::plan::{Action, OutputChange, Plan, Step, Why};
use crate::render::{Colour, json, markdown, text};
use crate::state::Sealed;

/// Everything that is made of a plan.
fn forms(plan: &Plan) -> Vec<String> {
    let document = document_of(plan);
    let file = saved::write(&document);
    assert!(file.len() < 1 << 20, "it would be compressed, and nothing would be found in it");
    vec![
        text(&document, Colour::Plain),
        text(&document, Colour::Ansi),
        json(&document),
        markdown(&document),
        String::from_utf8(file).unwrap(),
    ]
}

/// The spellings of a secret, at least one of which stands wherever it leaks.
fn spellings(secret: &str) -> Vec<String> {
    let url: String = secret.bytes().fold(String::new(), |text, byte| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
            text + &char::from(byte).to_string()
        }
        _ => text + &format!("%{byte:02X}"),
    });
    let json = serde_json::to_string(secret).unwrap();
    let mut all = vec![
        secret.to_owned(),
        json[1..json.len() - 1].to_owned(),
        url.clone(),
        url.to_lowercase(),
        hex::encode(secret),
        hex::encode_upper(secret),
    ];
    // Where a secret stands inside something that was encoded, the first and last digits are another's too.
    for shift in 0..3 {
        let bytes = [&b"\0\0"[..shift], secret.as_bytes()].concat();
        for digits in [STANDARD_NO_PAD.encode(&bytes), URL_SAFE_NO_PAD.encode(&bytes)] {
            all.push(digits[4.min(digits.len())..digits.len() - 4].to_owned());
        }
    }
    all
}

fn leaks(plan: &Plan, secret: &str) -> usize {
    let spellings = spellings(secret);
    forms(plan).iter().filter(|form| spellings.iter().any(|spelling| form.contains(spelling))).count()
}

/// A value with a secret somewhere in it, marked there.
fn planted(secret: &str) -> BoxedStrategy<Value> {
    let marks = prop_oneof![Just(Marks::SENSITIVE), Just(Marks::EPHEMERAL)];
    let secret = secret.to_owned();
    let text = prop_oneof![Just(secret.clone()), Just(format!("line\n{secret}\nline\n"))];
    let leaf = (text, marks).prop_map(|(text, marks)| Value::from(&*text).mark(marks));
    leaf.prop_recursive(3, 8, 2, |inner| {
        prop_oneof![
            inner.clone().prop_map(|value| Value::tuple([Value::from("other"), value])),
            inner.clone().prop_map(|value| object([("in", value), ("other", 1.into())])),
            inner.prop_map(|value| Value::map(value.ty(), [("key".into(), value)].into())),
        ]
    })
    .boxed()
}

/// A plan that does everything to things with a secret, as the planner makes it: the wish and the changes are marked,
/// what is observed is not, and the record of what goes says where the secret was.
fn plan_with(value: &Value, hidden: bool) -> Plan {
    let bare = value.clone().unmark_deep().0;
    let with = |a: &Value| object([("a", a.clone()), ("b", "open".into())]);
    let (wish, observed) = if hidden { (with(value), with(&bare)) } else { (with(&bare), with(&bare)) };
    let mark = |value: Value| if hidden { value.mark(Marks::SENSITIVE) } else { value };
    let change =
        |before: Value, after: Value| Change { name: "a".into(), before, after, forces_replace: true };
    let after = wish.entries().unwrap()["a"].clone();
    let made = |action, before: Option<Value>| Step {
        changes: vec![change(mark(Value::from("old")), after.clone())],
        drift: vec![change(Value::null_of(Type::String), bare.clone())],
        ..sample::step(action, Why::Declared, before, wish.clone())
    };
    let gone = |action| {
        let mut step = sample::step(action, Why::NotDeclared, Some(observed.clone()), with(&Value::null()));
        step.drift = vec![change(Value::null(), bare.clone())];
        if hidden {
            step.record.sealed = [("a.in[0]".into(), Sealed { digest: "00".into(), recipe: None })].into();
        }
        step
    };
    let mut plan = Plan::default();
    let replace = Action::Replace { create_first: false };
    for (name, step) in [
        ("x.create", made(Action::Create, None)),
        ("x.update", made(Action::Update, Some(observed.clone()))),
        ("x.replace", made(replace, Some(observed.clone()))),
        ("x.read", made(Action::Read, None)),
        ("x.record", made(Action::Record, Some(observed.clone()))),
        ("x.destroy", gone(Action::Destroy)),
        ("x.forget", gone(Action::Forget)),
        ("x.settled", gone(Action::Record)),
    ] {
        plan.steps.insert(address(name), step);
    }
    let change = OutputChange { before: Some(bare.clone()), after: Some(after) };
    plan.outputs.insert("changed".into(), change);
    plan
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn nothing_secret_is_in_any_form(
        (secret, value) in "[a-z\"<&é\\\\ ]{16,24}".prop_flat_map(|secret| (Just(secret.clone()), planted(&secret)))
    ) {
        prop_assert_eq!(leaks(&plan_with(&value, true), &secret), 0);
        // The text cuts and folds what is long, but never all of it.
        prop_assert_eq!(leaks(&plan_with(&value, false), &secret), 5, "the search finds what is not hidden");
    }
}

#[test]
fn what_the_schema_calls_secret_is_hidden_without_any_mark() {
    let secret = "hidden by its schema";
    let login = object([("password", secret.into()), ("user", "ci".into())]);
    let before =
        object([("a", secret.into()), ("b", "open".into()), ("login", Value::list(login.ty(), vec![login]))]);
    let mut after = before.entries().unwrap().clone();
    after.insert("b".into(), "other".into());
    let after = Value::object(after);
    let mut plan = Plan::default();
    let replace = Action::Replace { create_first: true };
    let actions = [Action::Create, Action::Update, replace, Action::Destroy, Action::Forget, Action::Record];
    for (i, action) in actions.into_iter().enumerate() {
        let mut step = sample::step(action, Why::Declared, Some(before.clone()), after.clone());
        step.record.kind = "test_vault".into();
        step.changes = sample::changes(&before, &after, &["b"]);
        step.drift = vec![Change {
            name: "a".into(),
            before: "x".into(),
            after: secret.into(),
            forces_replace: false,
        }];
        plan.steps.insert(address(&format!("test_vault.v[{i}]")), step);
    }
    assert_eq!(leaks(&plan, secret), 0);
    let shown = text(&document_of(&plan), Colour::Plain);
    assert!(shown.contains("{ password = (sensitive value), user = \"ci\" }"), "{shown}");
    plan.steps.values_mut().for_each(|step| step.record.kind = "other".into());
    assert_eq!(leaks(&plan, secret), 5, "the search finds what is not hidden");
}

#[test]
fn an_output_that_was_secret_is_named_as_it_goes() {
    let mut plan = Plan::default();
    plan.outputs.insert("password".into(), OutputChange { before: None, after: None });
    let shown = text(&document_of(&plan), Colour::Plain);
    assert!(shown.contains("- password = (sensitive value)"), "{shown}");
}

#[test]
fn the_sample_holds_nothing_secret() {
    assert_eq!(leaks(&plan(), sample::SECRET), 0);
    assert_eq!(leaks(&plan(), "another secret"), 0);
}

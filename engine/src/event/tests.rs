//! The JSON of events, as programs rely on it.

use std::time::Duration;

use serde_json::{Value as Json, json};

use super::*;
use crate::address::{Address, Item, Key};

fn object(name: &str, deposed: Option<u32>) -> Object {
    let item = Item::Resource("core_value".into(), name.into());
    Object { address: Address { scope: Default::default(), item, key: Some(Key::Index(0)) }, deposed }
}

#[track_caller]
fn check(event: Event<'_>, expected: impl Into<Json>) {
    assert_eq!(serde_json::to_value(event).unwrap(), expected.into());
}

#[test]
fn every_event_has_a_type_and_flat_fields() {
    let session = Session { alias: Some("b".into()), ..Session::of("core") };
    check(
        Event::Observing { session: &session, questions: 3 },
        json!({"type": "observing", "session": "core.b", "questions": 3}),
    );
    check(
        Event::Observed { session: &session, failed: 1, elapsed: Duration::from_millis(1500) },
        json!({"type": "observed", "session": "core.b", "failed": 1, "elapsed_ms": 1500}),
    );
    check(
        Event::StepStarted { object: &object("a", None), action: Action::Replace { create_first: true } },
        json!({"type": "step_started", "address": "core_value.a[0]", "action": "replace"}),
    );
    check(
        Event::StepWaiting { object: &object("a", Some(2)), on: Wait::ReadBack },
        json!({"type": "step_waiting", "address": "core_value.a[0]", "deposed": 2, "on": "read_back"}),
    );
    check(Event::Interrupted { again: false }, json!({"type": "interrupted", "again": false}));
    check(
        Event::StoreLost { message: "gone", recovery: None },
        json!({"type": "store_lost", "message": "gone"}),
    );
}

#[test]
fn outcomes_are_flat() {
    let because = object("b", None).address;
    let failure = Failure::new("it broke").effect(Effect::Perhaps).help("look");
    let cases = [
        (Outcome::Done, json!({"outcome": "done"})),
        (
            Outcome::Failed(failure),
            json!({"outcome": "failed", "message": "it broke", "help": "look", "effect": "perhaps"}),
        ),
        (Outcome::Skipped(because), json!({"outcome": "skipped", "because": "core_value.b[0]"})),
        (Outcome::NotStarted, json!({"outcome": "not_started"})),
        (Outcome::Unknown("cut".into()), json!({"outcome": "unknown", "message": "cut"})),
    ];
    for (outcome, mut expected) in cases {
        let object = object("a", None);
        let elapsed = Duration::from_secs(1);
        for (key, value) in [
            ("type", json!("step_ended")),
            ("address", json!("core_value.a[0]")),
            ("action", json!("create")),
            ("elapsed_ms", json!(1000)),
        ] {
            expected[key] = value;
        }
        check(
            Event::StepEnded { object: &object, action: Action::Create, outcome: &outcome, elapsed },
            expected,
        );
    }
}

#[test]
fn a_ledger_counts_and_lists_what_it_holds() {
    let entry = |outcome| Entry { action: Action::Create, outcome, elapsed: Duration::from_millis(7) };
    let mut ledger = Ledger { elapsed: Duration::from_secs(2), ..Ledger::default() };
    assert!(ledger.all_done());
    ledger.entries.insert(object("a", None), entry(Outcome::Done));
    ledger.entries.insert(object("b", Some(1)), entry(Outcome::Unknown("cut".into())));
    assert!(!ledger.all_done());
    assert_eq!(ledger.counts(), Counts { done: 1, unknown: 1, ..Counts::default() });
    assert_eq!(ledger.counts().total(), 2);
    assert_eq!(ledger.done(|action| action == Action::Create), 1);
    assert_eq!(ledger.done(|action| action == Action::Destroy), 0);
    check(
        Event::Finished { ledger: &ledger },
        json!({
            "type": "finished",
            "elapsed_ms": 2000,
            "counts": {"done": 1, "failed": 0, "skipped": 0, "not_started": 0, "unknown": 1},
            "steps": [
                {"address": "core_value.a[0]", "action": "create", "outcome": "done", "elapsed_ms": 7},
                {"address": "core_value.b[0]", "deposed": 1, "action": "create", "outcome": "unknown",
                 "message": "cut", "elapsed_ms": 7},
            ],
        }),
    );
}

#[test]
fn of_two_parts_of_a_step_the_worse_one_counts() {
    let outcomes = [
        Outcome::Done,
        Outcome::NotStarted,
        Outcome::Skipped(object("b", None).address),
        Outcome::Failed(Failure::new("no")),
        Outcome::Unknown("no answer".into()),
    ];
    let second = Duration::from_secs(1);
    for (i, first) in outcomes.iter().enumerate() {
        for (j, then) in outcomes.iter().enumerate() {
            let mut ledger = Ledger::default();
            for outcome in [first, then] {
                let action = Action::Replace { create_first: false };
                let entry = Entry { action, outcome: outcome.clone(), elapsed: second };
                ledger.note(object("a", None), entry);
            }
            let entry = &ledger.entries[&object("a", None)];
            assert_eq!((&entry.outcome, entry.elapsed), (&outcomes[i.max(j)], 2 * second));
        }
    }
}

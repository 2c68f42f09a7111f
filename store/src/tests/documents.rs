//! Documents that must not take the place of a state, and the history.

use fleet_engine::state::{Object, Operation, State, Store, Write};

use super::{Place, address, begin, close, current, on_both, record, settle};
use crate::{Change, Document, Mismatch, Summary, history};

#[test]
fn only_a_later_version_of_a_state_takes_its_place() {
    let state = |lineage: &str, serial, recorded: &[&str]| State {
        lineage: Some(lineage.into()),
        serial,
        recorded: recorded.iter().map(|text| (address(text), record("x"))).collect(),
        ..State::default()
    };
    let check = |state: State, current: State, expected: Result<(), Mismatch>| {
        assert_eq!(Document { state, fence: 1 }.check(&current), expected);
    };
    let a = &["core_file.a"][..];
    check(state("one", 3, a), state("two", 0, &[]), Ok(()));
    check(state("one", 3, a), State::default(), Ok(()));
    check(state("one", 3, a), state("one", 2, a), Ok(()));
    check(state("one", 3, a), state("one", 3, a), Ok(()));
    check(state("one", 3, a), state("one", 3, &[]), Err(Mismatch::SameSerial(3)));
    check(state("one", 3, a), state("one", 4, a), Err(Mismatch::Older { document: 3, state: 4 }));
    check(state("one", 3, a), state("two", 2, a), Err(Mismatch::Lineage));
}

#[test]
fn what_is_no_document_is_refused() {
    let check = |text: &str, expected: &str| {
        assert_eq!(Document::parse(text).unwrap_err().to_string(), expected, "{text}");
    };
    check("", "this is not the document of a state");
    check("[]", "this is not the document of a state");
    check(r#"{"format":1}"#, "this is not the document of a state");
    check(r#"{"format":7}"#, "the document has format 7, and this fleet knows format 1");
    let entry = r#"{"address":"core_file.a","provider":"core","kind":"core_file","version":1,"value":
        {"type":"bool","value":true}}"#;
    let twice = format!(r#"{{"format":1,"lineage":"x","serial":1,"fence":1,"resources":[{entry},{entry}]}}"#);
    check(&twice, "the document has two of `core_file.a`");
    let strange = twice.replace("core_file.a", "core file");
    check(&strange, "the state holds something that cannot be read: `core file`");
}

#[tokio::test]
async fn the_history_tells_who_changed_what() {
    on_both(async |place| {
        assert_eq!(history(&place.backend, 10, true).await.unwrap(), []);
        let database = place.open().await;
        let destroy = Write::Begin {
            object: current("core_file.a"),
            intent: fleet_engine::state::Intent { operation: Operation::Destroy, record: record("x") },
        };
        let gone = |text| Write::Settle { object: current(text), recorded: None };
        for write in [
            begin("core_file.a"),
            settle("core_file.a", "made"),
            begin("core_file.b"),
            gone("core_file.b"),
            Write::Move { from: address("core_file.a"), to: address("core_file.c") },
            Write::Depose { address: address("core_file.c"), number: 0, recorded: record("new") },
            destroy,
            gone("core_file.a"),
            gone("core_file.c"),
        ] {
            database.write(write).await.unwrap();
        }
        let summary = Summary { failed: 1, skipped: 2, unknown: 3 };
        database.close(summary).await.unwrap();
        // Another run, which is cut off.
        drop(place.open().await);

        let runs = history(&place.backend, 10, true).await.unwrap();
        let [second, first] = &runs[..] else { panic!("{runs:?}") };
        assert_eq!((second.fence, &second.end, second.changes.len()), (2, &None, 0));
        assert_eq!((first.fence, first.serial_from, &*first.command), (1, 0, "fleet test"));
        let end = first.end.as_ref().unwrap();
        assert_eq!((end.serial, end.summary), (9, summary));
        let changes: Vec<(String, Change)> =
            first.changes.iter().map(|(object, change)| (object.address.to_string(), *change)).collect();
        let change = |text: &str, change| (text.to_owned(), change);
        assert_eq!(
            changes,
            [
                change("core_file.a", Change::Created),
                change("core_file.b", Change::Failed),
                change("core_file.c", Change::Moved),
                change("core_file.c", Change::Recorded),
                change("core_file.a", Change::Destroyed),
                change("core_file.c", Change::Forgotten),
            ]
        );
        assert!(first.changes.iter().all(|(object, _)| *object == Object::current(object.address.clone())));
        assert_eq!(first.counts.values().sum::<u64>(), 6);
        assert_eq!(history(&place.backend, 1, false).await.unwrap().len(), 1);
    })
    .await;
}

#[tokio::test]
async fn a_document_takes_the_place_of_all_there_was() {
    on_both(async |place| {
        let origin = Place::sqlite();
        let database = origin.open().await;
        database.write(settle("core_file.new", "x")).await.unwrap();
        database.write(begin("core_file.open")).await.unwrap();
        close(database).await;
        let document = Document::read(&origin.backend).await.unwrap();

        let database = place.open().await;
        database.write(settle("core_file.old", "x")).await.unwrap();
        database.write(begin("core_file.old")).await.unwrap();
        database.replace(document.clone()).await.unwrap();
        assert_eq!(database.read().await.unwrap(), document.state);
        // The holder goes on from there.
        database.write(settle("core_file.open", "y")).await.unwrap();
        close(database).await;
        let state = crate::read(&place.backend).await.unwrap();
        assert_eq!((state.lineage, state.serial), (document.state.lineage, document.state.serial + 1));
        assert!(Document::read(&place.backend).await.unwrap().fence > document.fence);
    })
    .await;
}

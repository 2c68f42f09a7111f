//! Whatever is written, both databases hold what the model holds, and a crash takes nothing of it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use fleet_engine::address::{ScopePath, Target};
use fleet_engine::provider::Session;
use fleet_engine::state::{
    Apart, Intent, Mark, Object, Operation, Recorded, SavedOutput, Sealed, State, Store, StoreErrorKind,
    Write,
};
use fleet_lang::{Number, Type, Value};
use fleet_test_postgres::Server;
use proptest::prelude::*;

use super::{Place, address, close, dead_holder, write_all};
use crate::{Backend, Database, Document};

const ADDRESSES: [&str; 5] = [
    "core_file.a",
    "core_file.a[\"x\"]",
    "module.m[\"é \\\"quoted\\\" $${x}\\n\"].core_value.v[18446744073709551615]",
    "fleet.runners[0].host",
    "data.core_file.d",
];

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<String>().prop_map(|text| text.as_str().into()),
        Just("\u{0}\\u0000\u{ffff}'\"".into()),
        any::<i64>().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        Just(Value::null()),
        Just(Value::null_of(Type::String)),
        Just(Number::parse("0.1e-300").unwrap().into()),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::tuple),
            prop::collection::btree_map("[a-z\u{e9} ]{0,3}", inner, 0..3).prop_map(|items| {
                Value::object(items.into_iter().map(|(name, value)| (name.into(), value)).collect())
            }),
        ]
    })
}

fn word() -> impl Strategy<Value = Arc<str>> {
    "[a-z]{1,3}".prop_map(Arc::from)
}

fn targets() -> impl Strategy<Value = Arc<[Target]>> {
    let target = prop::sample::select(&["module.m", "core_file.a", "core_file.a[1]", "fleet.runners[0]"][..]);
    prop::collection::vec(target, 0..3)
        .prop_map(|texts| texts.into_iter().map(|text| Target::parse(text).unwrap()).collect())
}

prop_compose! {
    fn record()(
        provider in word(),
        alias in prop::option::of(word()),
        scope in prop::sample::select(&["", "module.m[\"k\"]", "fleet.runners[0].module.n"][..]),
        kind in word(),
        version in any::<u32>(),
        value in value(),
        sealed in prop::collection::btree_map(word(), (word(), prop::option::of(word())), 0..2),
        depends_on in targets(),
        create_before_destroy in any::<bool>(),
        epoch in prop::option::of(word()),
    ) -> Recorded {
        let scope = ScopePath::parse(scope).unwrap();
        let seal = |(digest, recipe)| Sealed { digest, recipe };
        let sealed = sealed.into_iter().map(|(path, parts)| (path, seal(parts))).collect();
        let session = Session { provider, alias, scope };
        Recorded { session, kind, version, value, sealed, depends_on, create_before_destroy, epoch }
    }
}

fn object() -> impl Strategy<Value = Object> {
    (prop::sample::select(&ADDRESSES[..]), prop::option::weighted(0.3, 0..3_u32))
        .prop_map(|(text, deposed)| Object { address: address(text), deposed })
}

prop_compose! {
    fn mark()(
        apart in prop::sample::select(&[Apart::Paused, Apart::Quarantined][..]),
        machine in prop::option::of(word()),
        by in "[a-z' ]{0,4}",
        reason in prop::option::of("[^\u{0}]{0,4}"),
    ) -> Mark {
        Mark { apart, machine, by, since: "2026-01-01T00:00:00Z".into(), reason }
    }
}

fn write() -> impl Strategy<Value = Write> {
    let operation = prop::sample::select(&[Operation::Create, Operation::Update, Operation::Destroy][..]);
    let output = (prop::option::of(value()), any::<bool>())
        .prop_map(|(value, sensitive)| SavedOutput { value, sensitive });
    prop_oneof![
        4 => (object(), operation, record()).prop_map(|(object, operation, record)| {
            Write::Begin { object, intent: Intent { operation, record } }
        }),
        6 => (object(), prop::option::weighted(0.7, record()))
            .prop_map(|(object, recorded)| Write::Settle { object, recorded }),
        2 => object().prop_map(|object| Write::Withdraw { object }),
        2 => (object(), 0..3_u32, record()).prop_map(|(object, number, recorded)| {
            Write::Depose { address: object.address, number, recorded }
        }),
        1 => (object(), object())
            .prop_map(|(from, to)| Write::Move { from: from.address, to: to.address }),
        1 => prop::collection::btree_map(word(), output, 0..3).prop_map(Write::Outputs),
        2 => (object(), prop::option::weighted(0.7, mark()))
            .prop_map(|(object, mark)| Write::Mark { host: object.address, mark }),
    ]
}

/// Writes that wait together, one group after the other.
fn groups() -> impl Strategy<Value = Vec<Vec<Write>>> {
    prop::collection::vec(prop::collection::vec(write(), 1..8), 0..6)
}

fn config(usual: u32, full: u32) -> ProptestConfig {
    let cases = if std::env::var_os("FLEET_FULL").is_some() { full } else { usual };
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

fn wait<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

/// Does the writes and the same to the model, and compares. The model knows no lineage.
async fn agree(place: &Place, groups: Vec<Vec<Write>>) -> State {
    let database = place.open().await;
    let mut model = database.read().await.unwrap();
    for group in groups {
        let accepted: Vec<bool> = group.iter().map(|write| model.write(write.clone())).collect();
        let outcomes = write_all(&database, group).await;
        let stored: Vec<bool> = outcomes.iter().map(Result::is_ok).collect();
        assert_eq!(stored, accepted, "{outcomes:?}");
        for refused in outcomes.into_iter().filter_map(Result::err) {
            assert_eq!(refused.kind, StoreErrorKind::Other);
        }
    }
    assert_eq!(database.read().await.unwrap(), model);
    close(database).await;
    assert_eq!(crate::read(&place.backend).await.unwrap(), model, "after closing");
    model
}

proptest! {
    #![proptest_config(config(32, 500))]

    #[test]
    fn sqlite_is_the_model(groups in groups()) {
        wait(agree(&Place::sqlite(), groups));
    }

    #[test]
    fn a_document_carries_all(groups in groups()) {
        wait(async {
            let place = Place::sqlite();
            let state = agree(&place, groups).await;
            let document = Document::read(&place.backend).await.unwrap();
            prop_assert_eq!(&document.state, &state);
            let read = Document::parse(&document.to_json().unwrap().to_string()).unwrap();
            prop_assert_eq!(&read, &document);
            // Carried to another place, it is the same state.
            let other = Place::sqlite();
            let database = other.open().await;
            database.replace(document.clone()).await.unwrap();
            prop_assert!(database.fence() <= document.fence || document.fence == 0);
            close(database).await;
            let copy = Document::read(&other.backend).await.unwrap();
            prop_assert_eq!(&copy.state, &state);
            prop_assert!(copy.fence > document.fence, "the number of holders never goes back");
            Ok(())
        })?;
    }
}

#[test]
fn postgresql_is_the_model() {
    // One database for all cases: many configurations share it and do not see each other.
    let url = Server::shared().database();
    let mut runner = proptest::test_runner::TestRunner::new(config(32, 500));
    runner
        .run(&groups(), |groups| {
            wait(agree(&Place::at(url.clone()), groups));
            Ok(())
        })
        .unwrap();
}

/// Copies the files of a database, as a crash at this moment would leave them.
fn image(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

proptest! {
    #![proptest_config(config(12, 200))]

    #[test]
    fn a_crash_takes_nothing_that_was_acknowledged(writes in prop::collection::vec(write(), 1..12)) {
        wait(async {
            let place = Place::sqlite();
            let database = Database::open(&place.backend, &dead_holder(), None).await.unwrap();
            let mut model = database.read().await.unwrap();
            for (i, write) in writes.into_iter().enumerate() {
                let accepted = model.write(write.clone());
                prop_assert_eq!(database.write(write).await.is_ok(), accepted);
                let image_of = place.path().join(format!("crash-{i}"));
                image(&place.path().join(".fleet"), &image_of);
                let crashed = Backend::Sqlite(image_of.join("state.db"));
                prop_assert_eq!(&crate::read(&crashed).await.unwrap(), &model);
                let next = Database::open(&crashed, &super::holder(), None).await.unwrap();
                prop_assert_eq!(&next.read().await.unwrap(), &model);
                close(next).await;
            }
            Ok(())
        })?;
    }
}

#[test]
fn a_write_that_cannot_be_stored_does_not_take_others_with_it() {
    wait(async {
        let place = Place::sqlite();
        let database = place.open().await;
        let secret = Value::from("x").mark(fleet_lang::Marks::SENSITIVE);
        let bad = Write::Settle {
            object: super::current("core_file.bad"),
            recorded: Some(Recorded { value: secret, ..super::record("x") }),
        };
        let writes = vec![super::settle("core_file.a", "1"), bad, super::settle("core_file.b", "2")];
        let outcomes = write_all(&database, writes).await;
        assert_eq!(outcomes.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, false, true]);
        let state = database.read().await.unwrap();
        assert_eq!(
            state.recorded.keys().map(ToString::to_string).collect::<Vec<_>>(),
            ["core_file.a", "core_file.b"]
        );
        assert_eq!(state.outputs, BTreeMap::new());
    });
}

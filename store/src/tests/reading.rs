//! Reading for a plan: no lock, no trace.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use fleet_engine::address::Target;
use fleet_engine::state::{Object, Recorded, State, Store, Write};
use fleet_test_postgres::Server;

use super::{Place, address, close, dead_holder, on_both, record, settle, write_all};
use crate::{Backend, Database};

/// Every file with its bytes. What a log is indexed by is scratch: those who read keep their place there.
fn files(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let files = entries.filter(|path| !path.to_string_lossy().ends_with("-shm"));
    files.map(|path| (path.display().to_string(), fs::read(&path).unwrap())).collect()
}

#[tokio::test]
async fn a_file_that_is_not_there_is_not_made() {
    let place = Place::sqlite();
    assert_eq!(crate::read(&place.backend).await.unwrap(), State::default());
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn tables_that_are_not_there_are_not_made() {
    let place = Place::postgres();
    assert_eq!(crate::read(&place.backend).await.unwrap(), State::default());
    let Backend::Postgres { url, .. } = &place.backend else { unreachable!() };
    let database = url.rsplit('/').next().unwrap();
    let schemas = Server::shared().sql(database, "SELECT count(*) FROM pg_namespace WHERE nspname = 'fleet'");
    assert_eq!(schemas, "0");
}

#[tokio::test]
async fn very_many_rows_are_read_like_a_few() {
    on_both(async |place| {
        let database = place.open().await;
        let mut expected = State::default();
        let mut writes = Vec::new();
        for number in 0..2_500_u32 {
            // Keys that both databases, and we, may well sort in ways of their own.
            let name = format!(
                "core_file.x[\"{}é{number}\"]",
                ["a", "B", "_", "-", "\u{1e}\u{1f}"][number as usize % 5]
            );
            let depends_on = [Target::parse(&format!("core_file.y[{}]", number % 1_500)).unwrap()];
            let recorded =
                Recorded { depends_on: depends_on.into(), ..record(&format!("{number}\u{1e}\u{1f}")) };
            let object = Object { address: address(&name), deposed: None };
            writes.push(Write::Settle { object, recorded: Some(recorded.clone()) });
            expected.recorded.insert(address(&name), recorded);
            for deposed in (1..=number % 3).filter(|_| number % 10 == 0) {
                let object = Object { address: address(&name), deposed: Some(deposed) };
                writes.push(Write::Settle { object, recorded: Some(record("old")) });
                expected.deposed.entry(address(&name)).or_default().insert(deposed, record("old"));
            }
        }
        for written in write_all(&database, writes).await {
            written.unwrap();
        }
        let read = database.read().await.unwrap();
        assert!(read.recorded == expected.recorded && read.deposed == expected.deposed);
        close(database).await;
    })
    .await;
}

#[tokio::test]
async fn a_closed_file_stays_as_it_is() {
    let place = Place::sqlite();
    let database = place.open().await;
    database.write(settle("core_file.a", "x")).await.unwrap();
    close(database).await;
    let directory = place.path().join(".fleet");
    let before = files(&directory);
    assert_eq!(before.len(), 1, "nothing but the file itself");
    assert_eq!(crate::read(&place.backend).await.unwrap().recorded.len(), 1);
    assert!(files(&directory) == before);
}

#[tokio::test]
async fn what_a_crash_has_left_stays_as_it_is() {
    let place = Place::sqlite();
    let database = Database::open(&place.backend, &dead_holder(), None).await.unwrap();
    database.write(settle("core_file.a", "x")).await.unwrap();
    let crash = place.path().join("crash");
    fs::create_dir(&crash).unwrap();
    for (path, bytes) in files(&place.path().join(".fleet")) {
        fs::write(crash.join(Path::new(&path).file_name().unwrap()), bytes).unwrap();
    }
    let before = files(&crash);
    assert_eq!(before.len(), 2, "the file and its log");
    let crashed = Backend::Sqlite(crash.join("state.db"));
    assert_eq!(crate::read(&crashed).await.unwrap().recorded.len(), 1);
    assert!(files(&crash) == before);
}

#[tokio::test]
async fn a_reader_does_not_wait_for_the_writer_and_sees_what_is_committed() {
    on_both(async |place| {
        let database = place.open().await;
        for i in 0..5 {
            database.write(settle(&format!("core_file.a[{i}]"), "x")).await.unwrap();
            let state = crate::read(&place.backend).await.unwrap();
            assert_eq!((state.recorded.len(), state.serial), (i + 1, i as u64 + 1));
        }
    })
    .await;
}

#[tokio::test]
async fn one_who_may_only_read_can_plan() {
    let place = Place::postgres();
    let database = place.open().await;
    database.write(settle("core_file.a", "x")).await.unwrap();
    close(database).await;
    let Backend::Postgres { url, name, recovery } = &place.backend else { unreachable!() };
    let sql = "CREATE ROLE viewer LOGIN PASSWORD 'viewer'; GRANT USAGE ON SCHEMA fleet TO viewer; \
               GRANT SELECT ON ALL TABLES IN SCHEMA fleet TO viewer";
    Server::shared().sql(url.rsplit('/').next().unwrap(), sql);
    let url = url.replace("fleet:only-for-tests@", "viewer:viewer@");
    let viewer = Backend::Postgres { url, name: name.clone(), recovery: recovery.clone() };
    assert_eq!(crate::read(&viewer).await.unwrap().recorded.len(), 1);
    let refused = Database::open(&viewer, &super::holder(), None).await.unwrap_err();
    assert_eq!(refused.to_string(), format!("cannot lock {viewer}"));
}

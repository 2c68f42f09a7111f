//! Older tables are brought up to date, newer ones refused.

use fleet_engine::state::{Apart, Intent, Mark, Operation, Recorded, State, Write};
use fleet_lang::Value;

use super::{Place, address, close, current, on_both};
use crate::connection::Connection;

/// A file as format 1 had it.
const FIRST: &str = r#"
CREATE TABLE meta (
  format  INTEGER NOT NULL,
  lineage TEXT    NOT NULL,
  serial  INTEGER NOT NULL
);
CREATE TABLE resources (
  address    TEXT    NOT NULL PRIMARY KEY,
  provider   TEXT    NOT NULL,
  alias      TEXT,
  kind       TEXT    NOT NULL,
  version    INTEGER NOT NULL,
  value      TEXT    NOT NULL,
  depends_on TEXT    NOT NULL
);
CREATE TABLE journal (
  address    TEXT    NOT NULL PRIMARY KEY,
  operation  TEXT    NOT NULL,
  provider   TEXT    NOT NULL,
  alias      TEXT,
  kind       TEXT    NOT NULL,
  version    INTEGER NOT NULL,
  value      TEXT    NOT NULL,
  depends_on TEXT    NOT NULL
);
INSERT INTO meta VALUES (1, '5c7b0d9e-52c5-4f4b-8a51-9e44a1b1f0aa', 41);
INSERT INTO resources VALUES (
  'core_file.a', 'core', 'other', 'core_file', 1,
  '{"type":["object",{"content":"string"}],"value":{"content":"x\u0000y"}}',
  '["module.m[\"a.b\"].core_value.v"]'
);
INSERT INTO resources VALUES (
  'module.m["a.b"].core_value.v', 'core', NULL, 'core_value', 3, '{"type":"number","value":7}', '[]'
);
INSERT INTO journal VALUES (
  'core_file.b', 'create', 'core', NULL, 'core_file', 1, '{"type":"any","value":null}', '["core_file.a"]'
);
"#;

async fn made(sql: &'static str) -> Place {
    let place = Place::sqlite();
    std::fs::create_dir_all(place.path().join(".fleet")).unwrap();
    let mut connection = Connection::write(&place.backend).await.unwrap();
    connection.script(sql).await.unwrap();
    connection.close().await.unwrap();
    place
}

fn expected() -> State {
    let record = |value: Value, depends_on: &[&str]| Recorded {
        session: fleet_engine::provider::Session::of("core"),
        value,
        depends_on: depends_on.iter().map(|t| fleet_engine::address::Target::parse(t).unwrap()).collect(),
        ..super::record("")
    };
    let v = "module.m[\"a.b\"].core_value.v";
    State {
        lineage: Some("5c7b0d9e-52c5-4f4b-8a51-9e44a1b1f0aa".into()),
        serial: 41,
        recorded: [
            (address("core_file.a"), super::record("x\u{0}y")),
            (address(v), Recorded { kind: "core_value".into(), version: 3, ..record(7.into(), &[]) }),
        ]
        .into(),
        intents: [(
            current("core_file.b"),
            Intent { operation: Operation::Create, record: record(Value::null(), &["core_file.a"]) },
        )]
        .into(),
        ..State::default()
    }
}

#[tokio::test]
async fn a_file_of_format_1_is_read_as_it_is_and_upgraded_without_loss() {
    let place = made(FIRST).await;
    let file = place.path().join(".fleet/state.db");
    let before = std::fs::read(&file).unwrap();
    assert_eq!(crate::read(&place.backend).await.unwrap(), expected());
    assert!(std::fs::read(&file).unwrap() == before, "reading has changed the file");

    let database = place.open().await;
    assert_eq!(database.read().await.unwrap(), expected());
    close(database).await;
    assert_eq!(crate::read(&place.backend).await.unwrap(), expected());
    assert_eq!(place.open().await.fence(), 2, "opened a second time");
}

#[tokio::test]
async fn tables_of_format_2_are_read_as_they_are_and_upgraded_without_loss() {
    on_both(async |place| {
        let database = place.open().await;
        super::write_all(&database, vec![super::settle("core_file.a", "1")]).await;
        let before = database.read().await.unwrap();
        close(database).await;
        let mut connection = Connection::write(&place.backend).await.unwrap();
        connection.script("DROP TABLE marks; UPDATE meta SET format = 2").await.unwrap();
        connection.close().await.unwrap();
        assert_eq!(crate::read(&place.backend).await.unwrap(), before);
        assert_eq!(crate::history(&place.backend, 9, false).await.unwrap().len(), 1);

        let database = place.open().await;
        assert_eq!((database.read().await.unwrap(), database.fence()), (before.clone(), 2));
        let mark = Mark {
            apart: Apart::Paused,
            machine: None,
            by: "ada".into(),
            since: "2026-01-01T00:00:00Z".into(),
            reason: None,
        };
        let host = address("fleet.a[0].host");
        super::write_all(&database, vec![Write::Mark { host: host.clone(), mark: Some(mark.clone()) }]).await;
        close(database).await;
        assert_eq!(crate::read(&place.backend).await.unwrap().marks, [(host, mark)].into());
    })
    .await;
}

#[tokio::test]
async fn a_format_of_the_future_is_refused() {
    on_both(async |place| {
        close(place.open().await).await;
        let mut connection = Connection::write(&place.backend).await.unwrap();
        connection.script("UPDATE meta SET format = 9").await.unwrap();
        connection.close().await.unwrap();
        let expected = format!(
            "{} has format 9, and this fleet knows formats up to 3; use a newer fleet",
            place.backend
        );
        assert_eq!(crate::read(&place.backend).await.unwrap_err().to_string(), expected);
        assert_eq!(place.refused().await.to_string(), expected);
    })
    .await;
}

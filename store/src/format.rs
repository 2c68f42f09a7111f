//! The version of the tables: made, checked, brought up to date.
//!
//! Format 1 was SQLite alone, with one state in a file and the dependencies in each row. Format 2
//! had no `marks.sql`.

use fleet_engine::address::Target;
use fleet_engine::provider::Session;
use fleet_engine::state::{Intent, Object, Recorded, State, StoreError};

use crate::Backend;
use crate::batch::{Author, Batch};
use crate::connection::{Arg, Connection, Row};
use crate::failure::of_sqlx;
use crate::rows::{self, Common};
use crate::sets::Sets;

/// The format that this version writes.
pub(crate) const FORMAT: i64 = 3;

/// What is new in it.
const MARKS: &str = include_str!("marks.sql");

/// Which tables there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// None yet.
    None,
    /// Those of format 1.
    First,
    /// Those of `schema.sql` alone.
    Second,
    /// Those of `schema.sql` and `marks.sql`.
    Current,
}

/// Finds out which tables there are; those of a newer version are refused.
pub(crate) async fn find(connection: &mut Connection, backend: &Backend) -> Result<Format, StoreError> {
    let exists = match connection {
        Connection::Sqlite(_) => "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'meta'",
        Connection::Postgres(_) => {
            "SELECT 1 FROM pg_catalog.pg_tables WHERE schemaname = 'fleet' AND tablename = 'meta'"
        }
    };
    let failed = |e| of_sqlx(&e, backend, "read");
    if connection.rows(exists, &[]).await.map_err(failed)?.is_empty() {
        return Ok(Format::None);
    }
    let meta = connection.rows("SELECT CAST(format AS BIGINT) FROM meta", &[]).await.map_err(failed)?;
    let format: i64 = rows::column(meta.first().ok_or_else(|| rows::damaged("meta"))?, 0)?;
    match format {
        FORMAT => Ok(Format::Current),
        1 => Ok(Format::First),
        2 => Ok(Format::Second),
        _ => {
            let known = format!("this fleet knows formats up to {FORMAT}");
            let help = if format > FORMAT { "; use a newer fleet" } else { "" };
            Err(StoreError::new(format!("{backend} has format {format}, and {known}{help}")))
        }
    }
}

/// Sees to it that the tables are there, in the current format. Several may do so at once.
pub(crate) async fn ensure(connection: &mut Connection, backend: &Backend) -> Result<(), StoreError> {
    if find(connection, backend).await? == Format::Current {
        return Ok(());
    }
    let failed = |e| of_sqlx(&e, backend, "make");
    connection.begin().await.map_err(failed)?;
    let made = make(connection, backend).await;
    match made {
        Ok(()) => connection.end(Ok(())).await.map_err(failed),
        Err(error) => {
            // What is wrong was said by the first error.
            let _ = connection.end::<()>(Err(sqlx::Error::RowNotFound)).await;
            Err(error)
        }
    }
}

/// Inside a transaction.
async fn make(connection: &mut Connection, backend: &Backend) -> Result<(), StoreError> {
    let failed = |e| of_sqlx(&e, backend, "make");
    if let Connection::Postgres(_) = connection {
        // Statements that make tables do not wait for each other by themselves. The number stands for "fleet".
        connection.rows("SELECT pg_advisory_xact_lock(435711370612)", &[]).await.map_err(failed)?;
    }
    // Somebody else may have been faster.
    let before = match find(connection, backend).await? {
        Format::Current => return Ok(()),
        Format::None => None,
        Format::First => Some(read_first(connection, backend).await?),
        Format::Second => {
            connection.script(MARKS).await.map_err(failed)?;
            let raise = "UPDATE meta SET format = $1";
            return connection.run(raise, &[Arg::Int(FORMAT)]).await.map(drop).map_err(failed);
        }
    };
    if before.is_some() {
        let drop = "DROP TABLE meta; DROP TABLE resources; DROP TABLE journal;";
        connection.script(drop).await.map_err(failed)?;
    }
    if let Connection::Postgres(_) = connection {
        let schema = "SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = 'fleet'";
        // Asking first spares users who may not make schemas, where somebody else has made it for them.
        if connection.rows(schema, &[]).await.map_err(failed)?.is_empty() {
            connection.script("CREATE SCHEMA fleet").await.map_err(failed)?;
        }
    }
    connection.script(include_str!("schema.sql")).await.map_err(failed)?;
    connection.script(MARKS).await.map_err(failed)?;
    connection.run("INSERT INTO meta (format) VALUES ($1)", &[Arg::Int(FORMAT)]).await.map_err(failed)?;
    let Some(state) = before else { return Ok(()) };
    let lineage = state.lineage.as_deref().ok_or_else(|| rows::damaged("lineage"))?;
    let serial = i64::try_from(state.serial).map_err(|_| rows::damaged("serial"))?;
    let insert = "INSERT INTO states (name, lineage, serial, fence) VALUES ($1, $2, $3, 0)";
    let args = [Arg::Text(backend.name()), Arg::Text(lineage), Arg::Int(serial)];
    connection.run(insert, &args).await.map_err(failed)?;
    let batch =
        Batch::of_state(&state, &mut Sets::default()).map_err(|e| rows::damaged("value").because(e))?;
    let author = Author { state: backend.name(), fence: 0, run: "" };
    batch.send(connection, author).await.map_err(failed)
}

/// Reads the tables of format 1, as far as they have what there is today.
pub(crate) async fn read_first(connection: &mut Connection, backend: &Backend) -> Result<State, StoreError> {
    let failed = |e| of_sqlx(&e, backend, "read");
    let meta = connection.rows("SELECT lineage, serial FROM meta", &[]).await.map_err(failed)?;
    let meta = meta.first().ok_or_else(|| rows::damaged("meta"))?;
    let mut state = State {
        lineage: Some(rows::column::<&str>(meta, 0)?.into()),
        serial: rows::number(meta, 1)?,
        ..State::default()
    };
    let mut common = Common::default();
    let resources = "SELECT address, provider, alias, kind, version, value, depends_on FROM resources";
    for row in connection.rows(resources, &[]).await.map_err(failed)? {
        state.recorded.insert(rows::address(rows::column(&row, 0)?)?, first_record(&row, &mut common)?);
    }
    let journal = "SELECT address, provider, alias, kind, version, value, depends_on, operation FROM journal";
    for row in connection.rows(journal, &[]).await.map_err(failed)? {
        let object = Object::current(rows::address(rows::column(&row, 0)?)?);
        let operation = rows::operation(rows::column(&row, 7)?)?;
        state.intents.insert(object, Intent { operation, record: first_record(&row, &mut common)? });
    }
    Ok(state)
}

fn first_record(row: &Row, common: &mut Common) -> Result<Recorded, StoreError> {
    let alias = rows::column::<Option<&str>>(row, 2)?.map(Into::into);
    let depends_on: std::sync::Arc<[Target]> = common.targets(rows::column(row, 6)?)?;
    Ok(Recorded {
        session: Session { alias, ..Session::of(rows::column::<&str>(row, 1)?) },
        kind: rows::column::<&str>(row, 3)?.into(),
        version: rows::number(row, 4)?,
        value: rows::value(rows::column(row, 5)?)?,
        sealed: [].into(),
        depends_on,
        create_before_destroy: false,
        epoch: None,
    })
}

//! The state as it is in the database.

use fleet_engine::state::{Intent, Object, State, StoreError};

use crate::Backend;
use crate::connection::{Arg, Connection};
use crate::failure::of_sqlx;
use crate::format::{self, Format};
use crate::rows::{self, Common, MARK_READ, MarkText, RECORD_READ, Record, Set};

/// Reads the state for planning: takes no lock and leaves no trace. What does not exist yet is an empty state.
pub async fn read(backend: &Backend) -> Result<State, StoreError> {
    let Some(mut connection) = Connection::read(backend).await? else { return Ok(State::default()) };
    let state = snapshot(&mut connection, backend).await;
    // Nothing was written, so nothing can be lost by a connection that does not close.
    let _ = connection.close().await;
    state
}

/// Reads the whole state in one transaction: all of it is of one moment.
pub(crate) async fn snapshot(connection: &mut Connection, backend: &Backend) -> Result<State, StoreError> {
    connection.begin_reading().await.map_err(|e| of_sqlx(&e, backend, "read"))?;
    let state = match format::find(connection, backend).await {
        Ok(Format::None) => Ok(State::default()),
        Ok(Format::First) => format::read_first(connection, backend).await,
        Ok(Format::Second) => all(connection, backend).await,
        Ok(Format::Current) => match all(connection, backend).await {
            Ok(state) => with_marks(connection, backend, state).await,
            error => error,
        },
        Err(error) => Err(error),
    };
    let ended = connection.end(Ok(())).await.map_err(|e| of_sqlx(&e, backend, "read"));
    let state = state?;
    ended.map(|()| state)
}

async fn all(connection: &mut Connection, backend: &Backend) -> Result<State, StoreError> {
    let failed = |e| of_sqlx(&e, backend, "read");
    let name = [Arg::Text(backend.name())];
    let states = "SELECT lineage, serial FROM states WHERE name = $1";
    let states = connection.rows(states, &name).await.map_err(failed)?;
    let Some(row) = states.first() else { return Ok(State::default()) };
    let mut state = State {
        lineage: Some(rows::column::<&str>(row, 0)?.into()),
        serial: rows::number(row, 1)?,
        ..State::default()
    };

    let mut common = Common::default();
    let add = |chunk: &str| {
        rows::each(chunk).try_for_each(|row| {
            let (set, targets): (Set<'_>, &str) = row?;
            common.add_set(&set, targets)
        })
    };
    let all = ("dependencies", "TRUE");
    connection.chunks(all, (&["digest"], "targets"), "digest", backend, add).await?;
    let mut recorded = Vec::new();
    let add = |chunk: &str| {
        for row in rows::each::<Record<'_>>(chunk) {
            let (row, value) = row?;
            let (object, record) = common.record(&row, value)?;
            recorded.push((object.address, record));
        }
        Ok(())
    };
    let current = ("resources", "deposed = -1");
    connection.chunks(current, (&RECORD_READ, "value"), "address", backend, add).await?;
    // They come nearly in order, which a tree that is built in one go makes use of.
    state.recorded = recorded.into_iter().collect();
    for row in few(connection, "resources", "deposed <> -1", &RECORD_READ, backend).await? {
        let (row, value) = rows::halves::<Record<'_>>(&row)?;
        let (object, record) = common.record(&row, value)?;
        if let Object { address, deposed: Some(number) } = object {
            state.deposed.entry(address).or_default().insert(number, record);
        }
    }
    let columns = [&RECORD_READ[..], &["operation"]].concat();
    for row in few(connection, "journal", "TRUE", &columns, backend).await? {
        let (row, value) = rows::halves::<Record<'_>>(&row)?;
        let operation = rows::operation(row.operation.as_deref().unwrap_or_default())?;
        let (object, record) = common.record(&row, value)?;
        state.intents.insert(object, Intent { operation, record });
    }
    let outputs = "SELECT name, value, sensitive FROM outputs WHERE state = $1";
    for row in connection.rows(outputs, &name).await.map_err(failed)? {
        let output = rows::output(rows::column(&row, 1)?, rows::column(&row, 2)?)?;
        state.outputs.insert(rows::column::<&str>(&row, 0)?.into(), output);
    }
    Ok(state)
}

/// The same with the hosts that somebody set apart.
async fn with_marks(
    connection: &mut Connection,
    backend: &Backend,
    mut state: State,
) -> Result<State, StoreError> {
    let array = connection.array(&MARK_READ);
    let sql = format!("SELECT {array} FROM marks WHERE state = $1");
    let found = connection.rows(&sql, &[Arg::Text(backend.name())]).await;
    for row in found.map_err(|e| of_sqlx(&e, backend, "read"))? {
        let (host, mark) = rows::json::<MarkText>(rows::column(&row, 0)?)?.mark()?;
        state.marks.insert(host, mark);
    }
    Ok(state)
}

/// Records of which there are few, each as a text.
async fn few(
    connection: &mut Connection,
    table: &str,
    filter: &str,
    columns: &[&str],
    backend: &Backend,
) -> Result<Vec<String>, StoreError> {
    let array = connection.array_with((columns, "value"));
    let sql = format!("SELECT {array} FROM {table} WHERE state = $1 AND {filter}");
    let rows = connection.rows(&sql, &[Arg::Text(backend.name())]).await;
    rows.map_err(|e| of_sqlx(&e, backend, "read"))?.iter().map(|row| rows::column(row, 0)).collect()
}

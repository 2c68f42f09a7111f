//! The state as it is in the database.

use fleet_engine::state::{Intent, Object, State, StoreError};

use crate::Backend;
use crate::connection::{Arg, Connection};
use crate::failure::of_sqlx;
use crate::format::{self, Format};
use crate::rows::{self, Common, RECORD_READ, Record, Set};

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
        Ok(Format::Current) => all(connection, backend).await,
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
        let (sets, taken) = Set::of_chunk(chunk)?;
        sets.iter().try_for_each(|set| common.add_set(set)).map(|()| taken)
    };
    connection.chunks("dependencies", &["digest", "targets"], ("digest", None), backend, add).await?;
    let key = ("address", Some("deposed"));
    let mut recorded = Vec::new();
    let add = |chunk: &str| {
        let (records, taken) = Record::of_chunk(chunk)?;
        for row in records {
            let (Object { address, deposed }, record) = common.record(&row)?;
            match deposed {
                None => recorded.push((address, record)),
                Some(number) => _ = state.deposed.entry(address).or_default().insert(number, record),
            }
        }
        Ok(taken)
    };
    connection.chunks("resources", &RECORD_READ, key, backend, add).await?;
    // They come nearly in order, which a tree that is built in one go makes use of.
    state.recorded = recorded.into_iter().collect();
    let columns = [&RECORD_READ[..], &["operation"]].concat();
    let add = |chunk: &str| {
        let (records, taken) = Record::of_chunk(chunk)?;
        for row in records {
            let operation = rows::operation(row.operation.as_deref().unwrap_or_default())?;
            let (object, record) = common.record(&row)?;
            state.intents.insert(object, Intent { operation, record });
        }
        Ok(taken)
    };
    connection.chunks("journal", &columns, key, backend, add).await?;
    let outputs = "SELECT name, value, sensitive FROM outputs WHERE state = $1";
    for row in connection.rows(outputs, &name).await.map_err(failed)? {
        let output = rows::output(rows::column(&row, 1)?, rows::column(&row, 2)?)?;
        state.outputs.insert(rows::column::<&str>(&row, 0)?.into(), output);
    }
    Ok(state)
}

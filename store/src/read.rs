//! The state as it is in the database.

use fleet_engine::state::{Intent, State, StoreError};

use crate::Backend;
use crate::connection::{Arg, Connection, Row};
use crate::failure::of_sqlx;
use crate::format::{self, Format};
use crate::rows::{self, Common};

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
    let sets = "SELECT digest, targets FROM dependencies WHERE state = $1";
    let add = |row: &Row| common.add_set(rows::column(row, 0)?, rows::column(row, 1)?);
    connection.each(sets, &name, backend, add).await?;
    let resources = "SELECT address, deposed, provider, alias, scope, kind, version, value, sealed, depends_on, \
                     create_before_destroy, epoch FROM resources WHERE state = $1";
    let mut recorded = Vec::new();
    let add = |row: &Row| {
        let object = common.object(row)?;
        let record = common.record(row, 2)?;
        match object.deposed {
            None => recorded.push((object.address, record)),
            Some(number) => _ = state.deposed.entry(object.address).or_default().insert(number, record),
        }
        Ok(())
    };
    connection.each(resources, &name, backend, add).await?;
    // They come nearly in order, which a tree that is built in one go makes use of.
    state.recorded = recorded.into_iter().collect();
    let journal = "SELECT address, deposed, provider, alias, scope, kind, version, value, sealed, depends_on, \
                   create_before_destroy, epoch, operation FROM journal WHERE state = $1";
    for row in connection.rows(journal, &name).await.map_err(failed)? {
        let operation = rows::operation(rows::column(&row, 12)?)?;
        let object = common.object(&row)?;
        state.intents.insert(object, Intent { operation, record: common.record(&row, 2)? });
    }
    let outputs = "SELECT name, value, sensitive FROM outputs WHERE state = $1";
    for row in connection.rows(outputs, &name).await.map_err(failed)? {
        let output = rows::output(rows::column(&row, 1)?, rows::column(&row, 2)?)?;
        state.outputs.insert(rows::column::<&str>(&row, 0)?.into(), output);
    }
    Ok(state)
}

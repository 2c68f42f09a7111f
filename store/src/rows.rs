//! Rows ↔ what the engine knows.

use std::collections::BTreeMap;

use fleet_engine::address::{Address, Target};
use fleet_engine::encode::{Unwritable, from_json, to_json};
use fleet_engine::provider::Session;
use fleet_engine::state::{Intent, Object, Operation, Recorded, StoreError};
use serde_json::Value as Json;
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

/// The columns that resources and journal share, ready to be bound.
pub(crate) struct Columns {
    pub(crate) provider: String,
    pub(crate) alias: Option<String>,
    pub(crate) kind: String,
    pub(crate) version: i64,
    pub(crate) value: String,
    pub(crate) depends_on: String,
}

impl Columns {
    pub(crate) fn of(recorded: &Recorded) -> Result<Columns, Unwritable> {
        let depends_on: Vec<Json> = recorded.depends_on.iter().map(|a| a.to_string().into()).collect();
        Ok(Columns {
            provider: recorded.session.provider.to_string(),
            alias: recorded.session.alias.as_ref().map(ToString::to_string),
            kind: recorded.kind.to_string(),
            version: i64::from(recorded.version),
            value: to_json(&recorded.value)?.to_string(),
            depends_on: Json::Array(depends_on).to_string(),
        })
    }
}

/// Reads the rows of `resources`.
pub(crate) fn recorded(rows: &[SqliteRow]) -> Result<BTreeMap<Address, Recorded>, StoreError> {
    rows.iter().map(|row| Ok((address(row)?, record(row)?))).collect()
}

/// Reads the rows of `journal`.
pub(crate) fn intents(rows: &[SqliteRow]) -> Result<BTreeMap<Object, Intent>, StoreError> {
    let intent = |row: &SqliteRow| {
        let word: String = column(row, "operation")?;
        let operation = Operation::from_word(&word).ok_or_else(|| damaged(&word))?;
        Ok((Object::current(address(row)?), Intent { operation, record: record(row)? }))
    };
    rows.iter().map(intent).collect()
}

fn record(row: &SqliteRow) -> Result<Recorded, StoreError> {
    let provider: String = column(row, "provider")?;
    let alias: Option<String> = column(row, "alias")?;
    let kind: String = column(row, "kind")?;
    let version: u32 = column(row, "version")?;
    let depends_on: Vec<String> = json(&column::<String>(row, "depends_on")?)?;
    Ok(Recorded {
        session: Session { alias: alias.map(Into::into), ..Session::of(provider) },
        kind: kind.into(),
        version,
        value: from_json(&json(&column::<String>(row, "value")?)?)
            .map_err(|e| damaged("value").because(e))?,
        depends_on: depends_on.iter().map(|text| target(text)).collect::<Result<_, _>>()?,
        sealed: BTreeMap::new(),
        create_before_destroy: false,
        epoch: None,
    })
}

fn address(row: &SqliteRow) -> Result<Address, StoreError> {
    parse(&column::<String>(row, "address")?)
}

fn parse(text: &str) -> Result<Address, StoreError> {
    Address::parse(text).ok_or_else(|| damaged(text))
}

fn target(text: &str) -> Result<Target, StoreError> {
    let address = parse(text)?;
    Ok(Target { scope: address.scope, item: Some(address.item), key: address.key })
}

fn json<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(|e| damaged("JSON").because(e))
}

fn column<'r, T>(row: &'r SqliteRow, name: &'static str) -> Result<T, StoreError>
where
    T: sqlx::Decode<'r, sqlx::Sqlite> + sqlx::Type<sqlx::Sqlite>,
{
    row.try_get(name).map_err(|e| damaged(name).because(e))
}

fn damaged(what: &str) -> StoreError {
    StoreError::new(format!("the state holds something that cannot be read: `{what}`"))
}

//! A whole state as one JSON document: to look at, to keep, to carry to another place.

use std::collections::BTreeMap;
use std::fmt;

use fleet_engine::encode::{from_json, to_json};
use fleet_engine::state::{Intent, SavedOutput, State, StoreError};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::Backend;
use crate::connection::{Arg, Connection};
use crate::entry::{Entry, Name};
use crate::failure::of_sqlx;
use crate::format::{self, Format};
use crate::rows::{self, MarkText, damaged};

/// The version of the document.
const FORMAT: u32 = 1;

/// A state with all that belongs to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// The state.
    pub state: State,
    /// The fencing number of the last holder of its lock. It never goes back, wherever the state is kept.
    pub fence: u64,
}

/// Why a document must not take the place of a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mismatch {
    /// It is not a later or earlier version of that state, but another one.
    Lineage,
    /// The state was changed since.
    Older {
        /// The serial number of the document.
        document: u64,
        /// The serial number of the state.
        state: u64,
    },
    /// Both say they are the same version, and they differ.
    SameSerial(u64),
}

#[derive(Deserialize, Serialize)]
struct Text {
    format: u32,
    lineage: Option<String>,
    serial: u64,
    fence: u64,
    resources: Vec<Resource>,
    #[serde(default)]
    intents: Vec<Begun>,
    #[serde(default)]
    outputs: BTreeMap<String, Output>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    marks: Vec<MarkText>,
}

#[derive(Deserialize, Serialize)]
struct Resource {
    #[serde(flatten)]
    name: Name,
    #[serde(flatten)]
    entry: Entry,
}

#[derive(Deserialize, Serialize)]
struct Begun {
    operation: String,
    #[serde(flatten)]
    resource: Resource,
}

#[derive(Deserialize, Serialize)]
struct Output {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    value: Option<Json>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    sensitive: bool,
}

impl Document {
    /// Reads the document of a state. Takes no lock and leaves no trace.
    pub async fn read(backend: &Backend) -> Result<Document, StoreError> {
        let Some(mut connection) = Connection::read(backend).await? else {
            return Ok(Document { state: State::default(), fence: 0 });
        };
        let fence = fence(&mut connection, backend).await;
        let state = crate::read::snapshot(&mut connection, backend).await;
        // Nothing was written, so nothing can be lost by a connection that does not close.
        let _ = connection.close().await;
        Ok(Document { state: state?, fence: fence? })
    }

    /// Writes it.
    pub fn to_json(&self) -> Result<Json, StoreError> {
        let unwritable = |e| StoreError::new("the state cannot be written as JSON").because(e);
        let state = &self.state;
        let resource = |name, record| Ok(Resource { name, entry: Entry::of(record).map_err(unwritable)? });
        let mut resources = Vec::new();
        for (address, record) in &state.recorded {
            resources.push(resource(Name::new(address, None), record)?);
        }
        for (address, objects) in &state.deposed {
            for (number, record) in objects {
                resources.push(resource(Name::new(address, Some(*number)), record)?);
            }
        }
        let mut intents = Vec::new();
        for (object, intent) in &state.intents {
            let resource = resource(Name::of(object), &intent.record)?;
            intents.push(Begun { operation: intent.operation.word().into(), resource });
        }
        let mut outputs = BTreeMap::new();
        for (name, output) in &state.outputs {
            let value = output.value.as_ref().map(to_json).transpose().map_err(unwritable)?;
            outputs.insert(name.to_string(), Output { value, sensitive: output.sensitive });
        }
        let text = Text {
            format: FORMAT,
            lineage: state.lineage.as_deref().map(Into::into),
            serial: state.serial,
            fence: self.fence,
            resources,
            intents,
            outputs,
            marks: state.marks.iter().map(|(host, mark)| MarkText::of(host, mark)).collect(),
        };
        Ok(serde_json::to_value(text).expect("texts and numbers can be written as JSON"))
    }

    /// Reads what [`Document::to_json`] wrote.
    pub fn parse(text: &str) -> Result<Document, StoreError> {
        let not_one = || StoreError::new("this is not the document of a state");
        let json: Json = serde_json::from_str(text).map_err(|e| not_one().because(e))?;
        match json.get("format").and_then(Json::as_u64) {
            Some(format) if format == u64::from(FORMAT) => {}
            Some(format) => {
                let known = format!("this fleet knows format {FORMAT}");
                return Err(StoreError::new(format!("the document has format {format}, and {known}")));
            }
            None => return Err(not_one()),
        }
        let text: Text = serde_json::from_value(json).map_err(|e| not_one().because(e))?;
        let mut state =
            State { lineage: text.lineage.map(Into::into), serial: text.serial, ..State::default() };
        for Resource { name, entry } in text.resources {
            let object = name.object()?;
            let record = entry.recorded()?;
            let before = match object.deposed {
                None => state.recorded.insert(object.address, record),
                Some(number) => state.deposed.entry(object.address).or_default().insert(number, record),
            };
            if before.is_some() {
                return Err(StoreError::new(format!("the document has two of `{}`", name.address())));
            }
        }
        for Begun { operation, resource } in text.intents {
            let operation = rows::operation(&operation)?;
            let intent = Intent { operation, record: resource.entry.recorded()? };
            state.intents.insert(resource.name.object()?, intent);
        }
        for (name, Output { value, sensitive }) in text.outputs {
            let value =
                value.as_ref().map(from_json).transpose().map_err(|e| damaged("a value").because(e))?;
            state.outputs.insert(name.into(), SavedOutput { value, sensitive });
        }
        for mark in text.marks {
            let (host, mark) = mark.mark()?;
            state.marks.insert(host, mark);
        }
        Ok(Document { state, fence: text.fence })
    }

    /// Whether it may take the place of a state: as a later version of it, or where nothing is yet.
    pub fn check(&self, current: &State) -> Result<(), Mismatch> {
        let (ours, theirs) = (self.state.serial, current.serial);
        let untouched = State { lineage: current.lineage.clone(), ..State::default() };
        if *current == untouched {
            Ok(())
        } else if self.state.lineage != current.lineage {
            Err(Mismatch::Lineage)
        } else if ours < theirs {
            Err(Mismatch::Older { document: ours, state: theirs })
        } else if ours == theirs && self.state != *current {
            Err(Mismatch::SameSerial(ours))
        } else {
            Ok(())
        }
    }

    /// The least number for the holder of the lock that puts it in the place of a state.
    pub(crate) fn least_fence(&self) -> i64 {
        i64::try_from(self.fence).unwrap_or(i64::MAX - 1).saturating_add(1)
    }

    /// Makes room inside a transaction, and says which fencing number its holder has from now on.
    pub(crate) async fn take_place(
        &self,
        connection: &mut Connection,
        state: &str,
        held: i64,
    ) -> Result<i64, sqlx::Error> {
        let name = Arg::Text(state);
        for sql in [
            "DELETE FROM resources WHERE state = $1",
            "DELETE FROM journal WHERE state = $1",
            "DELETE FROM dependencies WHERE state = $1",
            "DELETE FROM marks WHERE state = $1",
        ] {
            connection.run(sql, &[name]).await?;
        }
        let fence = held.max(self.least_fence());
        for sql in [
            "UPDATE states SET fence = $3 WHERE name = $1 AND fence = $2",
            "UPDATE locks SET fence = $3 WHERE state = $1 AND fence = $2",
            "UPDATE runs SET fence = $3 WHERE state = $1 AND fence = $2",
        ] {
            connection.run(sql, &[name, Arg::Int(held), Arg::Int(fence)]).await?;
        }
        if let Some(lineage) = &self.state.lineage {
            let sql = "UPDATE states SET lineage = $2 WHERE name = $1";
            connection.run(sql, &[name, Arg::Text(lineage)]).await?;
        }
        Ok(fence)
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Mismatch::Lineage => f.write_str("the document is of another state: its lineage differs"),
            Mismatch::Older { document, state } => {
                write!(
                    f,
                    "the state was changed since: its serial number is {state}, the document's {document}"
                )
            }
            Mismatch::SameSerial(serial) => {
                write!(f, "the document differs from the state, although both have serial number {serial}")
            }
        }
    }
}

impl std::error::Error for Mismatch {}

async fn fence(connection: &mut Connection, backend: &Backend) -> Result<u64, StoreError> {
    if matches!(format::find(connection, backend).await?, Format::None | Format::First) {
        return Ok(0);
    }
    let sql = "SELECT fence FROM states WHERE name = $1";
    let rows = connection.rows(sql, &[Arg::Text(backend.name())]).await;
    let rows = rows.map_err(|e| of_sqlx(&e, backend, "read"))?;
    rows.first().map_or(Ok(0), |row| rows::number(row, 0))
}

//! Rows ↔ what the engine knows.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use fleet_engine::address::{self, Address, Target};
use fleet_engine::encode::{Decoder, Unwritable, to_text};
use fleet_engine::provider::Session;
use fleet_engine::state::{Apart, Mark, Object, Operation, Recorded, SavedOutput, Sealed, StoreError};
use fleet_lang::Value;
use foldhash::HashMap;
use serde::{Deserialize, Serialize};

use crate::connection::{BETWEEN_ROWS, Cell, Column, Row, WITHIN_ROW};

/// What stands in the column `deposed` for the current object of an address.
pub(crate) const CURRENT: i64 = -1;

/// The columns that name an object.
pub(crate) const OBJECT: [Column; 2] = [Column::Text("address"), Column::Int("deposed")];

/// The columns of a record, in the order in which they are read.
pub(crate) const RECORD: [Column; 10] = [
    Column::Text("provider"),
    Column::Text("alias"),
    Column::Text("scope"),
    Column::Text("kind"),
    Column::Int("version"),
    Column::Text("value"),
    Column::Text("sealed"),
    Column::Text("depends_on"),
    Column::Int("create_before_destroy"),
    Column::Text("epoch"),
];

/// A row of a batch that names an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct Key {
    pub(crate) address: String,
    pub(crate) deposed: i64,
}

/// The columns of a record, ready to be sent.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Columns {
    provider: String,
    alias: Option<String>,
    scope: String,
    kind: String,
    version: u32,
    value: String,
    sealed: Option<String>,
    depends_on: String,
    create_before_destroy: u8,
    epoch: Option<String>,
}

/// A record as it is read, without its value: see [`Connection::array`](crate::connection::Connection::array).
#[derive(Debug, Deserialize)]
pub(crate) struct Record<'a> {
    #[serde(borrow)]
    address: Cow<'a, str>,
    deposed: i64,
    #[serde(borrow)]
    provider: Cow<'a, str>,
    alias: Option<String>,
    #[serde(borrow)]
    scope: Cow<'a, str>,
    #[serde(borrow)]
    kind: Cow<'a, str>,
    version: u32,
    sealed: Option<String>,
    #[serde(borrow)]
    depends_on: Cow<'a, str>,
    create_before_destroy: i64,
    epoch: Option<String>,
    /// Of an intent.
    #[serde(default)]
    pub(crate) operation: Option<String>,
}

/// A set of dependencies as it is read, without its targets.
#[derive(Debug, Deserialize)]
pub(crate) struct Set<'a> {
    #[serde(borrow)]
    digest: Cow<'a, str>,
}

/// The columns of a record, as [`Record`] has them.
pub(crate) const RECORD_READ: [&str; 11] = [
    "address",
    "deposed",
    "provider",
    "alias",
    "scope",
    "kind",
    "version",
    "sealed",
    "depends_on",
    "create_before_destroy",
    "epoch",
];

/// The columns of a mark, as [`MarkText`] has them.
pub(crate) const MARK_READ: [&str; 6] = ["address", "apart", "machine", "owner", "since", "reason"];

/// A host that is set apart, as it is written.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct MarkText {
    pub(crate) address: String,
    apart: String,
    machine: Option<String>,
    owner: String,
    since: String,
    reason: Option<String>,
}

/// How the digests of sensitive values are written.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct SealedText {
    digest: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    recipe: Option<String>,
}

/// What rows have in common.
#[derive(Debug, Default)]
pub(crate) struct Common {
    addresses: address::Reader,
    values: Decoder,
    /// The sets of dependencies by their digest.
    sets: HashMap<String, Arc<[Target]>>,
}

impl MarkText {
    pub(crate) fn of(host: &Address, mark: &Mark) -> MarkText {
        MarkText {
            address: host.to_string(),
            apart: mark.apart.word().to_owned(),
            machine: mark.machine.as_deref().map(str::to_owned),
            owner: mark.by.clone(),
            since: mark.since.clone(),
            reason: mark.reason.clone(),
        }
    }

    /// Which host it is, and how it is set apart.
    pub(crate) fn mark(self) -> Result<(Address, Mark), StoreError> {
        let mark = Mark {
            apart: self.apart()?,
            machine: self.machine.map(Into::into),
            by: self.owner,
            since: self.since,
            reason: self.reason,
        };
        Ok((address(&self.address)?, mark))
    }

    pub(crate) fn apart(&self) -> Result<Apart, StoreError> {
        Apart::from_word(&self.apart).ok_or_else(|| damaged(&self.apart))
    }
}

impl Key {
    pub(crate) fn of(object: &Object) -> Key {
        Key { address: object.address.to_string(), deposed: object.deposed.map_or(CURRENT, i64::from) }
    }
}

impl Columns {
    /// `depends_on` is the digest of the set.
    pub(crate) fn of(recorded: &Recorded, depends_on: &str) -> Result<Columns, Unwritable> {
        let text = |text: &Arc<str>| text.to_string();
        let sealed = sealed_texts(&recorded.sealed);
        let sealed = serde_json::to_string(&sealed).expect("texts can be written as JSON");
        Ok(Columns {
            provider: text(&recorded.session.provider),
            alias: recorded.session.alias.as_ref().map(text),
            scope: recorded.session.scope.to_string(),
            kind: text(&recorded.kind),
            version: recorded.version,
            value: to_text(&recorded.value)?,
            sealed: (!recorded.sealed.is_empty()).then_some(sealed),
            depends_on: depends_on.to_owned(),
            create_before_destroy: recorded.create_before_destroy.into(),
            epoch: recorded.epoch.as_ref().map(text),
        })
    }
}

impl Common {
    /// Whose a record is, and what it says.
    pub(crate) fn record(&mut self, row: &Record<'_>, value: &str) -> Result<(Object, Recorded), StoreError> {
        let object = self.object(&row.address, row.deposed)?;
        let Common { addresses, values, sets } = self;
        let scope = addresses.scope(&row.scope).ok_or_else(|| damaged(&row.scope))?;
        let mut word = |text: &str| addresses.word(text);
        let sealed = match &row.sealed {
            Some(text) => sealed(json(text)?),
            None => BTreeMap::new(),
        };
        let recorded = Recorded {
            session: Session {
                provider: word(&row.provider),
                alias: row.alias.as_deref().map(&mut word),
                scope,
            },
            kind: word(&row.kind),
            version: row.version,
            value: values.value(value).map_err(|e| damaged("a value").because(e))?,
            sealed,
            depends_on: sets.get(&*row.depends_on).cloned().ok_or_else(|| damaged(&row.depends_on))?,
            create_before_destroy: row.create_before_destroy != 0,
            epoch: row.epoch.as_deref().map(&mut word),
        };
        Ok((object, recorded))
    }

    /// An object by its columns.
    pub(crate) fn object(&mut self, address: &str, deposed: i64) -> Result<Object, StoreError> {
        let number = || u32::try_from(deposed).map_err(|_| damaged(&deposed.to_string()));
        let deposed = if deposed == CURRENT { None } else { Some(number()?) };
        Ok(Object { address: self.addresses.address(address).ok_or_else(|| damaged(address))?, deposed })
    }

    /// Keeps a set of dependencies for the records that follow.
    pub(crate) fn add_set(&mut self, set: &Set<'_>, targets: &str) -> Result<(), StoreError> {
        let targets = self.targets(targets)?;
        self.sets.insert(set.digest.clone().into_owned(), targets);
        Ok(())
    }

    /// Reads a set of dependencies.
    pub(crate) fn targets(&mut self, text: &str) -> Result<Arc<[Target]>, StoreError> {
        let target = |text: &String| self.addresses.target(text).ok_or_else(|| damaged(text));
        json::<Vec<String>>(text)?.iter().map(target).collect()
    }
}

pub(crate) fn sealed_texts(sealed: &BTreeMap<Arc<str>, Sealed>) -> BTreeMap<String, SealedText> {
    let text = |sealed: &Sealed| SealedText {
        digest: sealed.digest.to_string(),
        recipe: sealed.recipe.as_ref().map(ToString::to_string),
    };
    sealed.iter().map(|(path, sealed)| (path.to_string(), text(sealed))).collect()
}

pub(crate) fn sealed(texts: BTreeMap<String, SealedText>) -> BTreeMap<Arc<str>, Sealed> {
    let sealed =
        |text: SealedText| Sealed { digest: text.digest.into(), recipe: text.recipe.map(Into::into) };
    texts.into_iter().map(|(path, text)| (path.into(), sealed(text))).collect()
}

pub(crate) fn operation(word: &str) -> Result<Operation, StoreError> {
    Operation::from_word(word).ok_or_else(|| damaged(word))
}

pub(crate) fn output(value: Option<&str>, sensitive: i64) -> Result<SavedOutput, StoreError> {
    Ok(SavedOutput { value: value.map(self::value).transpose()?, sensitive: sensitive != 0 })
}

pub(crate) fn address(text: &str) -> Result<Address, StoreError> {
    Address::parse(text).ok_or_else(|| damaged(text))
}

pub(crate) fn value(text: &str) -> Result<Value, StoreError> {
    Decoder::default().value(text).map_err(|e| damaged("a value").because(e))
}

pub(crate) fn number<T: TryFrom<i64>>(row: &Row, place: usize) -> Result<T, StoreError> {
    let number: i64 = column(row, place)?;
    T::try_from(number).map_err(|_| damaged(&number.to_string()))
}

pub(crate) fn column<'r, T: Cell<'r>>(row: &'r Row, place: usize) -> Result<T, StoreError> {
    row.get(place).map_err(|e| damaged(&format!("column {place}")).because(e))
}

pub(crate) fn json<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(|e| damaged("JSON").because(e))
}

/// The columns of a row and the JSON beside them, see [`Connection::array`](crate::connection::Connection::array).
pub(crate) fn halves<'a, T: Deserialize<'a>>(row: &'a str) -> Result<(T, &'a str), StoreError> {
    let (columns, value) = row.split_once(WITHIN_ROW).ok_or_else(|| damaged("half a row"))?;
    Ok((json(columns)?, value))
}

/// The rows of a chunk, see [`Connection::chunks`](crate::connection::Connection::chunks).
pub(crate) fn each<'a, T: Deserialize<'a>>(
    chunk: &'a str,
) -> impl Iterator<Item = Result<(T, &'a str), StoreError>> {
    chunk.split(BETWEEN_ROWS).filter(|row| !row.is_empty()).map(halves)
}

pub(crate) fn damaged(what: &str) -> StoreError {
    StoreError::new(format!("the state holds something that cannot be read: `{what}`"))
}

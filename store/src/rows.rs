//! Rows ↔ what the engine knows.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use fleet_engine::address::{Address, ScopePath, Target};
use fleet_engine::encode::{Unwritable, from_json, to_json};
use fleet_engine::provider::Session;
use fleet_engine::state::{Object, Operation, Recorded, SavedOutput, Sealed, StoreError};
use fleet_lang::Value;
use serde::{Deserialize, Serialize};

use crate::connection::{Cell, Column, Row};

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

/// How the digests of sensitive values are written.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct SealedText {
    digest: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    recipe: Option<String>,
}

/// Words that many rows share, so that they are held once.
#[derive(Debug, Default)]
pub(crate) struct Words(HashSet<Arc<str>>);

/// What rows have in common.
#[derive(Debug, Default)]
pub(crate) struct Common {
    pub(crate) words: Words,
    scopes: BTreeMap<String, ScopePath>,
    /// The sets of dependencies by their digest.
    pub(crate) sets: BTreeMap<String, Arc<[Target]>>,
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
            value: to_json(&recorded.value)?.to_string(),
            sealed: (!recorded.sealed.is_empty()).then_some(sealed),
            depends_on: depends_on.to_owned(),
            create_before_destroy: recorded.create_before_destroy.into(),
            epoch: recorded.epoch.as_ref().map(text),
        })
    }
}

impl Words {
    pub(crate) fn word(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.0.get(text) {
            return known.clone();
        }
        let word: Arc<str> = text.into();
        self.0.insert(word.clone());
        word
    }
}

impl Common {
    /// Reads the columns of a record, the first of which stands at `first`.
    pub(crate) fn record(&mut self, row: &Row, first: usize) -> Result<Recorded, StoreError> {
        let Common { words, scopes, sets } = self;
        let scope: &str = column(row, first + 2)?;
        let scope = match scopes.get(scope) {
            Some(known) => known.clone(),
            None => {
                let path = ScopePath::parse(scope).ok_or_else(|| damaged(scope))?;
                scopes.insert(scope.to_owned(), path.clone());
                path
            }
        };
        let sealed = match column::<Option<&str>>(row, first + 6)? {
            Some(text) => sealed(json(text)?),
            None => BTreeMap::new(),
        };
        let set: &str = column(row, first + 7)?;
        Ok(Recorded {
            session: Session {
                provider: words.word(column(row, first)?),
                alias: column::<Option<&str>>(row, first + 1)?.map(|alias| words.word(alias)),
                scope,
            },
            kind: words.word(column(row, first + 3)?),
            version: number(row, first + 4)?,
            value: value(column(row, first + 5)?)?,
            sealed,
            depends_on: sets.get(set).cloned().ok_or_else(|| damaged(set))?,
            create_before_destroy: column::<i64>(row, first + 8)? != 0,
            epoch: column::<Option<&str>>(row, first + 9)?.map(|epoch| words.word(epoch)),
        })
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

/// Reads the address and the number of an older object.
pub(crate) fn object(row: &Row) -> Result<Object, StoreError> {
    let deposed: i64 = column(row, 1)?;
    let deposed = if deposed == CURRENT { None } else { Some(number(row, 1)?) };
    Ok(Object { address: address(column(row, 0)?)?, deposed })
}

pub(crate) fn operation(word: &str) -> Result<Operation, StoreError> {
    Operation::from_word(word).ok_or_else(|| damaged(word))
}

pub(crate) fn output(value: Option<&str>, sensitive: i64) -> Result<SavedOutput, StoreError> {
    Ok(SavedOutput { value: value.map(self::value).transpose()?, sensitive: sensitive != 0 })
}

/// Reads a set of dependencies.
pub(crate) fn targets(text: &str) -> Result<Arc<[Target]>, StoreError> {
    let target = |text: &String| Target::parse(text).ok_or_else(|| damaged(text));
    json::<Vec<String>>(text)?.iter().map(target).collect()
}

pub(crate) fn address(text: &str) -> Result<Address, StoreError> {
    Address::parse(text).ok_or_else(|| damaged(text))
}

pub(crate) fn value(text: &str) -> Result<Value, StoreError> {
    from_json(&json(text)?).map_err(|e| damaged("a value").because(e))
}

pub(crate) fn number<T: TryFrom<i64>>(row: &Row, place: usize) -> Result<T, StoreError> {
    let number: i64 = column(row, place)?;
    T::try_from(number).map_err(|_| damaged(&number.to_string()))
}

pub(crate) fn column<'r, T: Cell<'r>>(row: &'r Row, place: usize) -> Result<T, StoreError> {
    row.get(place).map_err(|e| damaged(&format!("column {place}")).because(e))
}

fn json<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(|e| damaged("JSON").because(e))
}

pub(crate) fn damaged(what: &str) -> StoreError {
    StoreError::new(format!("the state holds something that cannot be read: `{what}`"))
}

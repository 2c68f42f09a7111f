//! Records as JSON that people may read: for documents and recovery files.

use std::collections::BTreeMap;
use std::sync::Arc;

use fleet_engine::address::{Address, ScopePath, Target};
use fleet_engine::encode::{Unwritable, from_json, to_json};
use fleet_engine::provider::Session;
use fleet_engine::state::{Object, Recorded, StoreError};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::rows::{self, SealedText, damaged};

/// What names an object.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Name {
    address: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    deposed: Option<u32>,
}

/// A record.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Entry {
    provider: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    alias: Option<String>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    scope: String,
    kind: String,
    version: u32,
    value: Json,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    sealed: BTreeMap<String, SealedText>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    depends_on: Vec<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    create_before_destroy: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    epoch: Option<String>,
}

impl Name {
    pub(crate) fn new(address: &Address, deposed: Option<u32>) -> Name {
        Name { address: address.to_string(), deposed }
    }

    pub(crate) fn of(object: &Object) -> Name {
        Name::new(&object.address, object.deposed)
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    pub(crate) fn object(&self) -> Result<Object, StoreError> {
        Ok(Object { address: rows::address(&self.address)?, deposed: self.deposed })
    }
}

impl Entry {
    pub(crate) fn of(recorded: &Recorded) -> Result<Entry, Unwritable> {
        let text = |text: &Arc<str>| text.to_string();
        Ok(Entry {
            provider: text(&recorded.session.provider),
            alias: recorded.session.alias.as_ref().map(text),
            scope: recorded.session.scope.to_string(),
            kind: text(&recorded.kind),
            version: recorded.version,
            value: to_json(&recorded.value)?,
            sealed: rows::sealed_texts(&recorded.sealed),
            depends_on: recorded.depends_on.iter().map(ToString::to_string).collect(),
            create_before_destroy: recorded.create_before_destroy,
            epoch: recorded.epoch.as_ref().map(text),
        })
    }

    pub(crate) fn recorded(self) -> Result<Recorded, StoreError> {
        let target = |text: &String| Target::parse(text).ok_or_else(|| damaged(text));
        Ok(Recorded {
            session: Session {
                provider: self.provider.into(),
                alias: self.alias.map(Into::into),
                scope: ScopePath::parse(&self.scope).ok_or_else(|| damaged(&self.scope))?,
            },
            kind: self.kind.into(),
            version: self.version,
            value: from_json(&self.value).map_err(|e| damaged("a value").because(e))?,
            sealed: rows::sealed(self.sealed),
            depends_on: self.depends_on.iter().map(target).collect::<Result<_, _>>()?,
            create_before_destroy: self.create_before_destroy,
            epoch: self.epoch.map(Into::into),
        })
    }
}

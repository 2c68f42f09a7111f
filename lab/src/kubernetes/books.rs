//! All objects, with the version of each change: what lists and watches are made of.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::access::Bearer;
use super::kinds::Kind;
use crate::clock::Time;

/// Changes that watches can still ask for.
const KEPT: usize = 10_000;

/// Everything the server knows.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Books {
    objects: BTreeMap<String, Value>,
    pub(super) bearers: BTreeMap<String, Bearer>,
    version: u64,
    /// Changes up to this one are forgotten.
    forgotten: u64,
    #[serde(skip)]
    changes: VecDeque<Change>,
    /// How many ids were made.
    made: u64,
    pub(super) seed: u64,
}

/// Something that happened to an object.
#[derive(Clone, Debug)]
pub(super) struct Change {
    pub(super) version: u64,
    pub(super) sort: Sort,
    pub(super) kind: &'static Kind,
    pub(super) object: Value,
    /// What it was before, which decides whether a selector lost it.
    pub(super) before: Option<Value>,
}

/// What happened to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    Added,
    Modified,
    Deleted,
}

fn place(kind: &Kind, namespace: Option<&str>) -> String {
    let namespace = if kind.namespaced { namespace.unwrap_or_default() } else { "" };
    format!("{}/{}/{namespace}/", kind.group, kind.plural)
}

impl Books {
    /// The last change.
    pub(super) fn version(&self) -> u64 {
        self.version
    }

    pub(super) fn get(&self, kind: &Kind, namespace: Option<&str>, name: &str) -> Option<&Value> {
        self.objects.get(&format!("{}{name}", place(kind, namespace)))
    }

    /// All objects of a kind, in a namespace or everywhere, in the order of their names.
    pub(super) fn all<'b>(&'b self, kind: &Kind, namespace: Option<&str>) -> impl Iterator<Item = &'b Value> {
        let start = match namespace {
            Some(_) => place(kind, namespace),
            None => format!("{}/{}/", kind.group, kind.plural),
        };
        let range = self.objects.range(start.clone()..);
        range.take_while(move |(key, _)| key.starts_with(&start)).map(|(_, object)| object)
    }

    /// All objects of all kinds.
    pub(super) fn everything(&self) -> impl Iterator<Item = &Value> {
        self.objects.values()
    }

    /// Puts an object in its place; with the version that it has from now on.
    pub(super) fn put(&mut self, kind: &'static Kind, mut object: Value) -> Value {
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        let key = key_of(kind, &object);
        let before = self.objects.insert(key, object.clone());
        let sort = if before.is_some() { Sort::Modified } else { Sort::Added };
        self.note(sort, kind, object.clone(), before);
        object
    }

    /// Takes an object away.
    pub(super) fn remove(&mut self, kind: &'static Kind, object: &Value) {
        let Some(mut gone) = self.objects.remove(&key_of(kind, object)) else { return };
        self.version += 1;
        gone["metadata"]["resourceVersion"] = json!(self.version.to_string());
        self.note(Sort::Deleted, kind, gone.clone(), Some(gone));
    }

    fn note(&mut self, sort: Sort, kind: &'static Kind, object: Value, before: Option<Value>) {
        self.changes.push_back(Change { version: self.version, sort, kind, object, before });
        if self.changes.len() > KEPT
            && let Some(oldest) = self.changes.pop_front()
        {
            self.forgotten = oldest.version;
        }
    }

    /// What happened after a version; none if that is forgotten.
    pub(super) fn since(&self, version: u64) -> Option<impl Iterator<Item = &Change>> {
        (version >= self.forgotten)
            .then(|| self.changes.iter().filter(move |change| change.version > version))
    }

    /// Forgets all changes: whoever asks for what came after an older version is told to begin anew.
    pub(super) fn forget(&mut self) {
        self.changes.clear();
        // So that the present version is not forgotten with them.
        self.forgotten = self.version;
    }

    /// An id that no other object has.
    pub(super) fn uid(&mut self) -> String {
        self.made += 1;
        let name = format!("{}/{}", self.seed, self.made);
        uuid::Uuid::new_v5(&uuid::Uuid::NAMESPACE_OID, name.as_bytes()).to_string()
    }

    /// A word that nobody can guess.
    pub(super) fn secret(&mut self) -> String {
        let mut bytes = [0; 24];
        // A machine without chance has nothing secret.
        let _ = getrandom::fill(&mut bytes);
        format!("lab.{}.{}", self.uid(), bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
    }
}

fn key_of(kind: &Kind, object: &Value) -> String {
    let metadata = &object["metadata"];
    format!(
        "{}{}",
        place(kind, metadata["namespace"].as_str()),
        metadata["name"].as_str().unwrap_or_default()
    )
}

/// A moment, as objects have it.
pub(super) fn stamp(time: Time) -> String {
    let text = time.to_string();
    text.split_once('.').map_or(text.clone(), |(seconds, _)| format!("{seconds}Z"))
}

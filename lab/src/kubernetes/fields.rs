//! Sets of fields: which leaves an object has, and how `managedFields` writes them.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::{Map, Value, json};

use super::lists::{List, keys_of, list_at};

/// One step of a path. Keys and values of lists are kept as text, which can be compared.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Step {
    /// A field of a map.
    Field(String),
    /// The item of a list that has these keys.
    Key(String),
    /// The value in a list that is a set.
    Value(String),
}

/// The place of a leaf.
pub(super) type Path = Vec<Step>;

/// Leaves, and items of keyed lists as such.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Fields(pub(super) BTreeSet<Path>);

/// What nobody owns: it says which object it is.
const NOBODYS: &[&[&str]] = &[
    &["apiVersion"],
    &["kind"],
    &["metadata", "creationTimestamp"],
    &["metadata", "deletionGracePeriodSeconds"],
    &["metadata", "deletionTimestamp"],
    &["metadata", "generation"],
    &["metadata", "managedFields"],
    &["metadata", "name"],
    &["metadata", "namespace"],
    &["metadata", "resourceVersion"],
    &["metadata", "selfLink"],
    &["metadata", "uid"],
];

impl Fields {
    /// All leaves of an object of a kind.
    pub(super) fn of(kind: &str, object: &Value) -> Fields {
        let mut fields = Fields::default();
        fields.add(kind, object, &mut Vec::new(), "");
        fields.0.retain(|path| !NOBODYS.iter().any(|words| is_at(path, words)));
        fields
    }

    /// The same without its status, or of its status alone.
    pub(super) fn of_part(kind: &str, object: &Value, status: bool) -> Fields {
        let mut fields = Fields::of(kind, object);
        fields.0.retain(|path| (path.first() == Some(&Step::Field("status".to_owned()))) == status);
        fields
    }

    fn add(&mut self, kind: &str, value: &Value, path: &mut Path, pattern: &str) {
        let list = match value {
            Value::Object(map) if !map.is_empty() => {
                for (name, inner) in map {
                    path.push(Step::Field(name.clone()));
                    self.add(kind, inner, path, &join(pattern, name));
                    path.pop();
                }
                return;
            }
            Value::Array(_) => list_at(kind, pattern),
            _ => List::Whole,
        };
        match (list, value) {
            (List::Keyed(keys), Value::Array(items))
                if items.iter().all(|item| keys_of(item, keys).is_some()) =>
            {
                for item in items {
                    let Some(key) = key_of(item, keys) else { continue };
                    path.push(Step::Key(key));
                    self.0.insert(path.clone());
                    if item.as_object().is_some_and(|map| !map.is_empty()) {
                        self.add(kind, item, path, &join(pattern, "*"));
                    }
                    path.pop();
                }
            }
            (List::Set, Value::Array(items)) => {
                for item in items {
                    path.push(Step::Value(item.to_string()));
                    self.0.insert(path.clone());
                    path.pop();
                }
            }
            _ => {
                self.0.insert(path.clone());
            }
        }
    }

    /// As `fieldsV1` has it.
    pub(super) fn to_json(&self) -> Value {
        let mut root = Map::new();
        for path in &self.0 {
            let mut here = &mut root;
            for step in path {
                let inner = here.entry(step.to_string()).or_insert_with(|| json!({}));
                here = match inner {
                    Value::Object(map) => map,
                    other => {
                        *other = json!({});
                        other.as_object_mut().expect("it was just made")
                    }
                };
            }
            if matches!(path.last(), Some(Step::Key(_))) {
                here.insert(".".to_owned(), json!({}));
            }
        }
        Value::Object(root)
    }

    /// Reads `fieldsV1`.
    pub(super) fn from_json(json: &Value) -> Fields {
        let mut fields = Fields::default();
        fields.read(json, &mut Vec::new());
        fields
    }

    fn read(&mut self, json: &Value, path: &mut Path) {
        let empty = Map::new();
        let map = json.as_object().unwrap_or(&empty);
        if map.is_empty() && !path.is_empty() {
            self.0.insert(path.clone());
        }
        for (name, inner) in map {
            if name == "." {
                self.0.insert(path.clone());
                continue;
            }
            let step = match name.split_once(':') {
                Some(("f", name)) => Step::Field(name.to_owned()),
                Some(("k", key)) => Step::Key(key.to_owned()),
                Some(("v", value)) => Step::Value(value.to_owned()),
                _ => continue,
            };
            path.push(step);
            self.read(inner, path);
            path.pop();
        }
    }
}

/// A step, as `fieldsV1` writes it.
impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Field(name) => write!(f, "f:{name}"),
            Step::Key(key) => write!(f, "k:{key}"),
            Step::Value(value) => write!(f, "v:{value}"),
        }
    }
}

/// A path, as messages have it: `.spec.ports[port=80,protocol="TCP"].targetPort`.
pub(super) fn shown(path: &[Step]) -> String {
    let step = |step: &Step| match step {
        Step::Field(name) => format!(".{name}"),
        Step::Value(value) => format!("[={value}]"),
        Step::Key(key) => {
            let key: Map<String, Value> = serde_json::from_str(key).unwrap_or_default();
            let parts: Vec<String> = key.iter().map(|(name, value)| format!("{name}={value}")).collect();
            format!("[{}]", parts.join(","))
        }
    };
    path.iter().map(step).collect()
}

fn is_at(path: &[Step], words: &[&str]) -> bool {
    path.len() >= words.len()
        && path.iter().zip(words).all(|(step, word)| matches!(step, Step::Field(name) if name == word))
}

pub(super) fn join(pattern: &str, name: &str) -> String {
    if pattern.is_empty() { name.to_owned() } else { format!("{pattern}.{name}") }
}

/// What is at a path of an object.
pub(super) fn value_at<'v>(kind: &str, object: &'v Value, path: &[Step]) -> Option<&'v Value> {
    let (mut here, mut pattern) = (object, String::new());
    for step in path {
        (here, pattern) = match step {
            Step::Field(name) => (here.get(name)?, join(&pattern, name)),
            Step::Key(key) => {
                let List::Keyed(keys) = list_at(kind, &pattern) else { return None };
                let is_it = |item: &&Value| key_of(item, keys).as_ref() == Some(key);
                (here.as_array()?.iter().find(is_it)?, join(&pattern, "*"))
            }
            Step::Value(value) => {
                (here.as_array()?.iter().find(|item| item.to_string() == *value)?, join(&pattern, "*"))
            }
        };
    }
    Some(here)
}

/// The keys of an item, as a step has them.
fn key_of(item: &Value, keys: &[(&'static str, Option<&'static str>)]) -> Option<String> {
    Some(Value::Object(keys_of(item, keys)?).to_string())
}

/// Takes what is at a path out of an object; maps and lists that are empty then go, too.
pub(super) fn remove_at(kind: &str, object: &mut Value, path: &[Step]) {
    remove(kind, object, path, "");
}

fn remove(kind: &str, here: &mut Value, path: &[Step], pattern: &str) -> bool {
    let Some((step, rest)) = path.split_first() else { return true };
    match step {
        Step::Field(name) => {
            let Some(map) = here.as_object_mut() else { return false };
            let Some(inner) = map.get_mut(name) else { return false };
            if remove(kind, inner, rest, &join(pattern, name)) {
                map.remove(name);
            }
            map.is_empty() && !pattern.is_empty()
        }
        Step::Key(key) => {
            let List::Keyed(keys) = list_at(kind, pattern) else { return false };
            let Some(items) = here.as_array_mut() else { return false };
            let is_it = |item: &Value| key_of(item, keys).as_ref() == Some(key);
            let Some(at) = items.iter().position(is_it) else { return false };
            if rest.is_empty() {
                items.remove(at);
            } else if let Some(item) = items.get_mut(at) {
                // An item stays as long as somebody owns it, whatever is left of it.
                remove(kind, item, rest, &join(pattern, "*"));
            }
            items.is_empty()
        }
        Step::Value(_) => {
            let Some(items) = here.as_array_mut() else { return false };
            items.retain(|item| Step::Value(item.to_string()) != *step);
            items.is_empty()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn service() -> Value {
        json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": { "name": "a", "labels": { "x": "y" }, "finalizers": ["f/1"] },
            "spec": { "type": "ExternalName", "ports": [{ "name": "ssh", "port": 22 }, { "port": 80, "protocol": "UDP" }] },
        })
    }

    #[test]
    fn leaves_are_written_and_read_again() {
        let fields = Fields::of("Service", &service());
        let shown: Vec<String> = fields.0.iter().map(|path| shown(path)).collect();
        assert_eq!(
            shown,
            [
                ".metadata.finalizers[=\"f/1\"]",
                ".metadata.labels.x",
                ".spec.ports[port=22,protocol=\"TCP\"]",
                ".spec.ports[port=22,protocol=\"TCP\"].name",
                ".spec.ports[port=22,protocol=\"TCP\"].port",
                ".spec.ports[port=80,protocol=\"UDP\"]",
                ".spec.ports[port=80,protocol=\"UDP\"].port",
                ".spec.ports[port=80,protocol=\"UDP\"].protocol",
                ".spec.type",
            ]
        );
        let json = fields.to_json();
        assert_eq!(Fields::from_json(&json), fields);
        assert_eq!(json["f:spec"]["f:ports"]["k:{\"port\":22,\"protocol\":\"TCP\"}"]["."], json!({}));
    }

    #[test]
    fn what_is_taken_out_leaves_no_empty_shells() {
        let mut object = service();
        // An item goes with all that is in it.
        for path in &Fields::of("Service", &service()).0 {
            assert!(value_at("Service", &service(), path).is_some(), "{}", shown(path));
            remove_at("Service", &mut object, path);
            assert_eq!(value_at("Service", &object, path), None, "{}", shown(path));
        }
        assert_eq!(object, json!({ "apiVersion": "v1", "kind": "Service", "metadata": { "name": "a" } }));
    }
}

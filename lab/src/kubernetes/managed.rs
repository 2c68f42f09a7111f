//! Who owns which field: server-side apply, and what other writes do to ownership. Pure.
//!
//! Every leaf of an object may have owners. Whoever applies owns what it applies; what it does not apply any more, and
//! nobody else owns, goes. Whoever writes in another way owns what it changed, and takes it from all others.

use serde_json::{Value, json};

use super::fields::join;
use super::fields::{Fields, Path, Step, remove_at, shown, value_at};
use super::lists::{List, keys_of, list_at};
use super::patch;

/// Who writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Manager {
    /// Its name.
    pub(super) name: String,
    /// Whether it applies.
    pub(super) applies: bool,
    /// The version of the kind that it speaks of.
    pub(super) api_version: String,
    /// Whether it writes the status at its own path.
    pub(super) status: bool,
}

/// A field that somebody else owns and that would be changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Conflict {
    /// Who owns it, in the words of the server.
    pub(super) with: String,
    /// The field.
    pub(super) field: String,
}

/// One entry of `managedFields`.
#[derive(Clone, Debug)]
struct Entry {
    manager: Manager,
    fields: Fields,
    time: Value,
}

fn read(object: &Value) -> Vec<Entry> {
    let entries = object["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
    let entry = |json: Value| Entry {
        manager: Manager {
            name: json["manager"].as_str().unwrap_or_default().to_owned(),
            applies: json["operation"] == "Apply",
            api_version: json["apiVersion"].as_str().unwrap_or_default().to_owned(),
            status: json["subresource"] == "status",
        },
        fields: Fields::from_json(&json["fieldsV1"]),
        time: json["time"].clone(),
    };
    entries.into_iter().map(entry).collect()
}

fn write(object: &mut Value, entries: Vec<Entry>) {
    let json = |entry: Entry| {
        let mut json = json!({
            "manager": entry.manager.name,
            "operation": if entry.manager.applies { "Apply" } else { "Update" },
            "apiVersion": entry.manager.api_version,
            "time": entry.time,
            "fieldsType": "FieldsV1",
            "fieldsV1": entry.fields.to_json(),
        });
        if entry.manager.status {
            json["subresource"] = json!("status");
        }
        json
    };
    let entries: Vec<Value> =
        entries.into_iter().filter(|entry| !entry.fields.0.is_empty()).map(json).collect();
    let Some(metadata) = object["metadata"].as_object_mut() else { return };
    if entries.is_empty() {
        metadata.remove("managedFields");
    } else {
        metadata.insert("managedFields".to_owned(), Value::Array(entries));
    }
}

/// What becomes of an object when somebody applies this to it. Without force, a field of somebody else is not changed.
pub(super) fn apply(
    kind: &str,
    live: &Value,
    wish: &Value,
    by: &Manager,
    force: bool,
    now: &str,
) -> Result<Value, Vec<Conflict>> {
    let wished = Fields::of_part(kind, wish, by.status);
    let mut entries = read(live);
    let mut conflicts = Vec::new();
    for entry in entries.iter_mut().filter(|entry| entry.manager != *by) {
        let taken: Vec<Path> = entry
            .fields
            .0
            .iter()
            .filter(|path| {
                wished.0.contains(*path) && !matches!(path.last(), Some(Step::Key(_) | Step::Value(_)))
            })
            .filter(|path| value_at(kind, live, path) != value_at(kind, wish, path))
            .cloned()
            .collect();
        for path in taken {
            conflicts.push(Conflict { with: entry.manager.described(), field: shown(&path) });
            entry.fields.0.remove(&path);
        }
    }
    if !force && !conflicts.is_empty() {
        return Err(conflicts);
    }
    let mut object = live.clone();
    overlay(kind, &mut object, &part(wish, by.status), "");
    let before = entries.iter().find(|entry| entry.manager == *by).map(|entry| entry.fields.clone());
    for path in before.unwrap_or_default().0.difference(&wished.0) {
        let is_kept = |entry: &Entry| {
            entry.manager != *by && entry.fields.0.iter().any(|owned| owned.starts_with(path))
        };
        // An item of which more than its key is wished now is still there.
        let is_wished = wished.0.iter().any(|other| other.starts_with(path));
        if !is_wished && !entries.iter().any(is_kept) {
            remove_at(kind, &mut object, path);
        }
    }
    let old = entries.iter().position(|entry| entry.manager == *by);
    match old {
        Some(at) if entries[at].fields == wished => {}
        Some(at) => {
            entries[at].fields = wished;
            entries[at].time = json!(now);
        }
        None => entries.push(Entry { manager: by.clone(), fields: wished, time: json!(now) }),
    }
    write(&mut object, entries);
    Ok(object)
}

/// Ownership after an object was changed in another way.
pub(super) fn update(kind: &str, before: &Value, after: &mut Value, by: &Manager, now: &str) {
    let (old, new) = (Fields::of(kind, before), Fields::of(kind, after));
    let changed: Vec<Path> = new
        .0
        .iter()
        .filter(|path| !old.0.contains(*path) || value_at(kind, before, path) != value_at(kind, after, path))
        // An item whose inside changed is the same item.
        .filter(|path| !(old.0.contains(*path) && matches!(path.last(), Some(Step::Key(_)))))
        .cloned()
        .collect();
    let mut entries = read(before);
    for entry in &mut entries {
        entry.fields.0.retain(|path| {
            let is_there = new.0.contains(path) || value_at(kind, after, path).is_some();
            is_there && (entry.manager == *by || !changed.contains(path))
        });
    }
    if !changed.is_empty() {
        let at = entries.iter().position(|entry| entry.manager == *by);
        let at = at.unwrap_or_else(|| {
            entries.push(Entry { manager: by.clone(), fields: Fields::default(), time: json!(now) });
            entries.len() - 1
        });
        entries[at].fields.0.extend(changed);
        entries[at].time = json!(now);
    }
    write(after, entries);
}

/// The status alone, or everything else.
fn part(wish: &Value, status: bool) -> Value {
    let map = wish.as_object().cloned().unwrap_or_default();
    let is_kept = |name: &str| (name == "status") == status;
    Value::Object(map.into_iter().filter(|(name, _)| is_kept(name)).collect())
}

/// Puts what is wished over what is there, lists by their keys.
fn overlay(kind: &str, target: &mut Value, wish: &Value, pattern: &str) {
    let list = if wish.is_array() { list_at(kind, pattern) } else { List::Whole };
    match (wish, list) {
        (Value::Object(map), _) if target.is_object() => {
            for (name, wish) in map {
                if name == "managedFields" && pattern == "metadata" {
                    continue;
                }
                let here =
                    target.as_object_mut().expect("it is a map").entry(name.clone()).or_insert(Value::Null);
                overlay(kind, here, wish, &join(pattern, name));
            }
        }
        (Value::Array(items), List::Keyed(keys)) if target.is_array() => {
            let all = target.as_array_mut().expect("it is a list");
            for wish in items {
                let key = keys_of(wish, keys);
                match all.iter_mut().find(|item| key.is_some() && keys_of(item, keys) == key) {
                    Some(here) => overlay(kind, here, wish, &join(pattern, "*")),
                    None => all.push(wish.clone()),
                }
            }
        }
        (Value::Array(items), List::Set) if target.is_array() => {
            let all = target.as_array_mut().expect("it is a list");
            for item in items {
                if !all.contains(item) {
                    all.push(item.clone());
                }
            }
        }
        _ => patch::merge(target, wish),
    }
}

impl Manager {
    fn described(&self) -> String {
        let using = if self.applies { String::new() } else { format!(" using {}", self.api_version) };
        let status = if self.status { " with subresource \"status\"" } else { "" };
        format!("conflict with \"{}\"{using}{status}", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by(name: &str, applies: bool) -> Manager {
        Manager { name: name.to_owned(), applies, api_version: "v1".to_owned(), status: false }
    }

    fn map(data: Value) -> Value {
        let mut map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" } });
        map["data"] = data;
        map
    }

    fn made(data: Value, name: &str) -> Value {
        apply("ConfigMap", &map(json!({})), &map(data), &by(name, true), false, "t").unwrap()
    }

    fn apply_to(live: &Value, data: Value, name: &str, force: bool) -> Result<Value, Vec<Conflict>> {
        apply("ConfigMap", live, &map(data), &by(name, true), force, "t")
    }

    #[test]
    fn what_is_not_applied_any_more_goes_and_what_others_own_stays() {
        let live = made(json!({ "a": "1", "b": "1" }), "x");
        let live = apply_to(&live, json!({ "b": "1", "c": "1" }), "y", false).unwrap();
        assert_eq!(live["data"], json!({ "a": "1", "b": "1", "c": "1" }));
        let live = apply_to(&live, json!({}), "x", false).unwrap();
        assert_eq!(live["data"], json!({ "b": "1", "c": "1" }), "b has another owner");
        let same = apply_to(&live, json!({ "b": "1", "c": "1" }), "y", false).unwrap();
        assert_eq!(same, live, "applied twice is applied once");
    }

    #[test]
    fn a_conflict_names_the_owner_and_the_field_and_force_takes_it() {
        let live = made(json!({ "a": "1" }), "x");
        let conflict = apply_to(&live, json!({ "a": "2" }), "y", false).unwrap_err();
        assert_eq!(conflict, [Conflict { with: "conflict with \"x\"".into(), field: ".data.a".into() }]);
        let taken = apply_to(&live, json!({ "a": "2" }), "y", true).unwrap();
        assert_eq!(taken["data"]["a"], "2");
        let back = apply_to(&taken, json!({ "a": "1" }), "x", false).unwrap_err();
        assert_eq!(back[0].with, "conflict with \"y\"");

        // An edit takes what it changed.
        let mut edited = live.clone();
        edited["data"]["a"] = json!("3");
        update("ConfigMap", &live, &mut edited, &by("kubectl-edit", false), "t");
        let conflict = apply_to(&edited, json!({ "a": "1" }), "x", false).unwrap_err();
        assert_eq!(conflict[0].with, "conflict with \"kubectl-edit\" using v1");
        assert!(apply_to(&edited, json!({ "a": "3" }), "x", false).is_ok(), "the same value is no conflict");
    }

    #[test]
    fn items_of_keyed_lists_have_owners_of_their_own() {
        let service = |ports: Value| json!({ "apiVersion": "v1", "kind": "Service", "metadata": { "name": "a" }, "spec": { "ports": ports } });
        let apply = |live: &Value, ports: Value, name: &str| {
            super::apply("Service", live, &service(ports), &by(name, true), false, "t")
        };
        let live = apply(&service(json!([])), json!([{ "port": 22, "name": "ssh" }]), "x").unwrap();
        let live = apply(&live, json!([{ "port": 80, "name": "web" }]), "y").unwrap();
        assert_eq!(live["spec"]["ports"].as_array().unwrap().len(), 2);
        let live = apply(&live, json!([{ "port": 23, "name": "telnet" }]), "x").unwrap();
        let ports: Vec<_> =
            live["spec"]["ports"].as_array().unwrap().iter().map(|port| port["port"].clone()).collect();
        assert_eq!(ports, [json!(80), json!(23)]);
    }
}

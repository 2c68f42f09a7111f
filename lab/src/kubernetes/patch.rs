//! The three patches that change an object as they say: merge patches, strategic merge patches and JSON patches.
//!
//! What each is, is told by its content type. Server-side apply is none of them: see [`managed`](super::managed).

use serde_json::{Map, Value};

use super::fields::join;
use super::lists::{List, keys_of, list_at};

/// A merge patch: maps are merged, null takes a field away, everything else is replaced.
pub(super) fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Some(map) = target.as_object_mut() else { return };
    for (name, wish) in patch {
        if wish.is_null() {
            map.remove(name);
        } else {
            merge(map.entry(name.clone()).or_insert(Value::Null), wish);
        }
    }
}

/// A strategic merge patch: as a merge patch, but known lists are merged by their keys, and `$patch` says what happens to
/// a map or an item.
pub(super) fn strategic(kind: &str, target: &mut Value, patch: &Value) {
    strategic_at(kind, target, patch, "");
}

fn strategic_at(kind: &str, target: &mut Value, patch: &Value, pattern: &str) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if patch.get("$patch").is_some_and(|word| word == "replace") {
        *target = Value::Object(patch.iter().filter(|(name, _)| !name.starts_with('$')).map(pair).collect());
        return;
    }
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Some(map) = target.as_object_mut() else { return };
    for (name, wish) in patch {
        if let Some(list) = name.strip_prefix("$deleteFromPrimitiveList/") {
            let gone = wish.as_array().cloned().unwrap_or_default();
            if let Some(items) = map.get_mut(list).and_then(Value::as_array_mut) {
                items.retain(|item| !gone.contains(item));
            }
            continue;
        }
        // The order of what is merged by keys means nothing, and what is kept was told by null already.
        if name.starts_with('$') {
            continue;
        }
        let inner = join(pattern, name);
        let is_deleted = wish.get("$patch").is_some_and(|word| word == "delete");
        if wish.is_null() || is_deleted {
            map.remove(name);
            continue;
        }
        let here = map.entry(name.clone()).or_insert(Value::Null);
        match (wish, list_at(kind, &inner)) {
            (Value::Array(items), List::Keyed(keys)) => merge_items(kind, here, items, keys, &inner),
            (Value::Array(items), List::Set) => {
                let mut all = here.as_array().cloned().unwrap_or_default();
                all.extend(items.iter().filter(|item| !all.contains(item)).cloned().collect::<Vec<_>>());
                *here = Value::Array(all);
            }
            _ => strategic_at(kind, here, wish, &inner),
        }
    }
}

fn merge_items(
    kind: &str,
    here: &mut Value,
    items: &[Value],
    keys: &[(&'static str, Option<&'static str>)],
    pattern: &str,
) {
    let mut all = here.as_array().cloned().unwrap_or_default();
    // A strategic patch knows an item by its first key alone.
    let first = &keys[..1];
    for wish in items {
        let word = wish.get("$patch").and_then(Value::as_str);
        if word == Some("replace") {
            all.clear();
            continue;
        }
        let key = keys_of(wish, first);
        let at = all.iter().position(|item| key.is_some() && keys_of(item, first) == key);
        match (at, word) {
            (Some(at), Some("delete")) => {
                all.remove(at);
            }
            (None, Some("delete")) => {}
            (Some(at), _) => strategic_at(kind, &mut all[at], wish, &join(pattern, "*")),
            (None, _) => all.push(wish.clone()),
        }
    }
    *here = Value::Array(all);
}

fn pair((name, value): (&String, &Value)) -> (String, Value) {
    (name.clone(), value.clone())
}

/// A JSON patch; what is wrong with it, if it cannot be done.
pub(super) fn json(target: &mut Value, patch: &Value) -> Result<(), String> {
    let steps = patch.as_array().ok_or("a JSON patch is a list")?;
    for step in steps {
        let text = |name: &str| step.get(name).and_then(Value::as_str).unwrap_or_default();
        let path: Vec<String> = pointer(text("path"))?;
        let value = step.get("value").cloned();
        match (text("op"), value) {
            ("add", Some(value)) => add(target, &path, value)?,
            ("replace", Some(value)) => {
                *find(target, &path).ok_or_else(|| missing(text("path")))? = value;
            }
            ("remove", _) => {
                take(target, &path).ok_or_else(|| missing(text("path")))?;
            }
            ("test", Some(value)) if find(target, &path).is_some_and(|found| *found == value) => {}
            ("test", Some(_)) => return Err(format!("testing value {} failed", text("path"))),
            ("copy", _) => {
                let from = find(target, &pointer(text("from"))?).cloned();
                add(target, &path, from.ok_or_else(|| missing(text("from")))?)?;
            }
            ("move", _) => {
                let from = take(target, &pointer(text("from"))?);
                add(target, &path, from.ok_or_else(|| missing(text("from")))?)?;
            }
            (op, _) => return Err(format!("a JSON patch cannot `{op}` like this")),
        }
    }
    Ok(())
}

fn missing(path: &str) -> String {
    format!("the path {path} is not there")
}

fn pointer(text: &str) -> Result<Vec<String>, String> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let words = text.strip_prefix('/').ok_or_else(|| format!("`{text}` is no path"))?;
    Ok(words.split('/').map(|word| word.replace("~1", "/").replace("~0", "~")).collect())
}

fn find<'v>(value: &'v mut Value, path: &[String]) -> Option<&'v mut Value> {
    path.iter().try_fold(value, |here, word| match here {
        Value::Object(map) => map.get_mut(word),
        Value::Array(items) => items.get_mut(word.parse::<usize>().ok()?),
        _ => None,
    })
}

fn take(value: &mut Value, path: &[String]) -> Option<Value> {
    let (last, before) = path.split_last()?;
    match find(value, before)? {
        Value::Object(map) => map.remove(last),
        Value::Array(items) => {
            let at = last.parse::<usize>().ok().filter(|at| *at < items.len())?;
            Some(items.remove(at))
        }
        _ => None,
    }
}

fn add(value: &mut Value, path: &[String], new: Value) -> Result<(), String> {
    let Some((last, before)) = path.split_last() else {
        *value = new;
        return Ok(());
    };
    let gone = || missing(&format!("/{}", path.join("/")));
    match find(value, before).ok_or_else(gone)? {
        Value::Object(map) => {
            map.insert(last.clone(), new);
        }
        Value::Array(items) if last == "-" => items.push(new),
        Value::Array(items) => {
            let at = last.parse::<usize>().ok().filter(|at| *at <= items.len()).ok_or_else(gone)?;
            items.insert(at, new);
        }
        _ => return Err(gone()),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn merge_patches() {
        let cases = [
            (json!({ "a": { "b": 1, "c": 2 } }), json!({ "a": { "b": null } }), json!({ "a": { "c": 2 } })),
            (json!({ "a": [1, 2] }), json!({ "a": [3] }), json!({ "a": [3] })),
            (json!({ "a": 1 }), json!({ "b": { "c": null, "d": 1 } }), json!({ "a": 1, "b": { "d": 1 } })),
        ];
        for (mut target, patch, expected) in cases {
            merge(&mut target, &patch);
            assert_eq!(target, expected);
        }
    }

    #[test]
    fn strategic_patches() {
        let ports = |ports: Value| json!({ "spec": { "ports": ports } });
        let cases = [
            (
                ports(json!([{ "port": 22, "name": "ssh" }, { "port": 80 }])),
                ports(json!([{ "port": 22, "name": "shell" }, { "port": 443 }])),
                ports(json!([{ "port": 22, "name": "shell" }, { "port": 80 }, { "port": 443 }])),
            ),
            (
                ports(json!([{ "port": 22 }, { "port": 80 }])),
                ports(json!([{ "port": 22, "$patch": "delete" }])),
                ports(json!([{ "port": 80 }])),
            ),
            (
                json!({ "metadata": { "finalizers": ["a", "b"] } }),
                json!({ "metadata": { "$deleteFromPrimitiveList/finalizers": ["a"], "$setElementOrder/finalizers": [] } }),
                json!({ "metadata": { "finalizers": ["b"] } }),
            ),
            (
                json!({ "spec": { "selector": { "a": "b" } } }),
                json!({ "spec": { "selector": { "c": "d", "$patch": "replace" } } }),
                json!({ "spec": { "selector": { "c": "d" } } }),
            ),
            (
                json!({ "spec": { "taints": [1] } }),
                json!({ "spec": { "taints": [2] } }),
                json!({ "spec": { "taints": [2] } }),
            ),
        ];
        for (mut target, patch, expected) in cases {
            strategic("Service", &mut target, &patch);
            assert_eq!(target, expected);
        }
    }

    #[test]
    fn json_patches() {
        let start = || json!({ "a": [1, 2], "b": { "c/d": 1 } });
        let done = |patch: Value| {
            let mut target = start();
            json(&mut target, &patch).map(|()| target)
        };
        assert_eq!(
            done(json!([{ "op": "add", "path": "/a/1", "value": 9 }, { "op": "remove", "path": "/b/c~1d" }])),
            Ok(json!({ "a": [1, 9, 2], "b": {} }))
        );
        assert_eq!(
            done(
                json!([{ "op": "test", "path": "/a/0", "value": 1 }, { "op": "replace", "path": "/a", "value": 0 }])
            ),
            Ok(json!({ "a": 0, "b": { "c/d": 1 } }))
        );
        assert_eq!(
            done(
                json!([{ "op": "move", "from": "/a/0", "path": "/b/x" }, { "op": "add", "path": "/a/-", "value": 3 }])
            ),
            Ok(json!({ "a": [2, 3], "b": { "c/d": 1, "x": 1 } }))
        );
        for wrong in [
            json!({}),
            json!([{ "op": "remove", "path": "/x" }]),
            json!([{ "op": "replace", "path": "/a/7", "value": 1 }]),
            json!([{ "op": "test", "path": "/a/0", "value": 2 }]),
            json!([{ "op": "add", "path": "a", "value": 2 }]),
        ] {
            assert!(done(wrong.clone()).is_err(), "{wrong}");
        }
    }
}

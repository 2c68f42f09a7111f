//! Which fields of an object are ours, and what is in them. Pure.
//!
//! A server writes some values in its own way, fills fields in and merges lists with what others put there. So what is
//! there is compared with what an apply of the same wish would make of it, and shown in the words of the wish where both
//! are the same.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};

use super::json::texts;

/// The fields by which an item of a list is known, the first that it has.
const KEYS: [&str; 7] = ["name", "type", "key", "port", "containerPort", "mountPath", "uid"];

/// What is there of a wish, in its words: `made` is what applying it would make.
pub(super) fn seen(wish: &Json, made: &Json, live: &Json) -> Json {
    if made == live {
        return wish.clone();
    }
    match (wish, made, live) {
        (Json::Object(wish), Json::Object(made), Json::Object(live)) => {
            let field = |(name, wish): (&String, &Json)| {
                let (made, live) = (made.get(name), live.get(name));
                let seen = match (made, live) {
                    (None, None) => wish.clone(),
                    (Some(made), Some(live)) => seen(wish, made, live),
                    (None, Some(live)) => live.clone(),
                    // A map in which nothing is left is left out; it is the fields in it that are missing.
                    (Some(made @ Json::Object(inner)), None) if wish.is_object() && !inner.is_empty() => {
                        seen(wish, made, &Json::Object(Map::new()))
                    }
                    (Some(_), None) => return None,
                };
                Some((name.clone(), seen))
            };
            Json::Object(wish.iter().filter_map(field).collect())
        }
        (Json::Array(wish), Json::Array(made), Json::Array(live)) => Json::Array(items(wish, made, live)),
        _ => live.clone(),
    }
}

/// The items of a list. Others may have put theirs between ours, unless the list is ours as a whole.
fn items(wish: &[Json], made: &[Json], live: &[Json]) -> Vec<Json> {
    let is_whole = made.len() == wish.len();
    let has_keys = made.iter().chain(live).all(|item| key(item).is_some());
    if is_whole && live.len() == wish.len() && !has_keys {
        return wish.iter().zip(made).zip(live).map(|((wish, made), live)| seen(wish, made, live)).collect();
    }
    let known = |wish: &Json, all: &[Json]| {
        let found = all.iter().find(|item| key(item).is_some() && key(item) == key(wish));
        found.or_else(|| all.iter().find(|item| *item == wish)).cloned()
    };
    if is_whole {
        // In the order in which they are there, also those that should not be.
        let is_same = |one: &Json, other: &Json| key(one).is_some() && key(one) == key(other);
        let item = |(place, there): (usize, &Json)| {
            let at = made.iter().position(|made| made == there);
            let at = at.or_else(|| made.iter().position(|made| is_same(made, there)));
            // Of as many, one that is called otherwise is compared with what has its place and is nowhere else.
            let is_free = |at: &usize| !live.iter().any(|other| is_same(other, &made[*at]));
            let at = at.or_else(|| Some(place).filter(|at| live.len() == made.len() && is_free(at)));
            at.map_or_else(|| there.clone(), |at| seen(&wish[at], &made[at], there))
        };
        return live.iter().enumerate().map(item).collect();
    }
    let item = |wish: &Json| {
        let live = known(wish, live)?;
        Some(known(wish, made).map_or_else(|| live.clone(), |made| seen(wish, &made, &live)))
    };
    let is_going = |live: &&Json| {
        !made.iter().any(|made| made == *live || (key(made).is_some() && key(made) == key(live)))
    };
    let going = live.iter().filter(is_going).cloned();
    wish.iter().filter_map(item).chain(going).collect()
}

fn key(item: &Json) -> Option<(&'static str, &Json)> {
    KEYS.iter().find_map(|name| Some((*name, item.get(*name)?)))
}

/// Adds what is there and would go if the wish were applied: it was applied once and is not wished any more, or somebody
/// put it into what is ours as a whole.
pub(super) fn add_what_would_go(seen: &mut Json, made: &Json, live: &Json) {
    let (Json::Object(seen), Json::Object(made), Json::Object(live)) = (seen, made, live) else { return };
    for (name, live) in live {
        match (seen.get_mut(name), made.get(name)) {
            (Some(seen), Some(made)) => add_what_would_go(seen, made, live),
            (None, None) => {
                seen.insert(name.clone(), live.clone());
            }
            _ => {}
        }
    }
}

/// The labels of an object that are ours: those that we applied, and those that are wished.
pub(super) fn labels(
    live: &Json,
    manager: &str,
    wished: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let applied = applied(live, manager).map(|fields| &fields["f:metadata"]["f:labels"]);
    let is_ours = |name: &String| {
        wished.contains_key(name) || applied.is_some_and(|fields| !fields[format!("f:{name}")].is_null())
    };
    texts(&live["metadata"]["labels"]).into_iter().filter(|(name, _)| is_ours(name)).collect()
}

/// What a manager owns of an object by applying, as it is there; nothing if it owns nothing.
pub(super) fn owned(live: &Json, manager: &str) -> Option<Json> {
    Some(of_fields(applied(live, manager)?.as_object()?, live))
}

/// The fields that a manager owns by applying, as the server writes them.
fn applied<'j>(live: &'j Json, manager: &str) -> Option<&'j Json> {
    let entries = live["metadata"]["managedFields"].as_array()?;
    let is_ours = |entry: &&Json| {
        entry["manager"] == manager && entry["operation"] == "Apply" && entry["subresource"].is_null()
    };
    Some(&entries.iter().find(is_ours)?["fieldsV1"])
}

fn of_fields(fields: &Map<String, Json>, live: &Json) -> Json {
    let inner = |fields: &Json, live: &Json| match fields.as_object().filter(|fields| is_split(fields)) {
        Some(fields) => of_fields(fields, live),
        None => live.clone(),
    };
    if let Json::Array(all) = live {
        let is_named = |item: &&Json| {
            fields.keys().any(|name| match name.split_once(':') {
                Some(("v", value)) => serde_json::from_str::<Json>(value).is_ok_and(|value| value == **item),
                Some(("k", keys)) => has_keys(item, keys),
                _ => false,
            })
        };
        let item = |item: &Json| {
            let own = fields
                .iter()
                .find(|(name, _)| name.strip_prefix("k:").is_some_and(|keys| has_keys(item, keys)));
            own.map_or_else(|| item.clone(), |(_, fields)| inner(fields, item))
        };
        return Json::Array(all.iter().filter(is_named).map(item).collect());
    }
    let field = |(name, fields): (&String, &Json)| {
        let name = name.strip_prefix("f:")?;
        Some((name.to_owned(), inner(fields, live.get(name)?)))
    };
    Json::Object(fields.iter().filter_map(field).collect())
}

/// Whether something is said of what is inside.
fn is_split(fields: &Map<String, Json>) -> bool {
    fields.keys().any(|name| name != ".")
}

fn has_keys(item: &Json, keys: &str) -> bool {
    let keys: Map<String, Json> = serde_json::from_str(keys).unwrap_or_default();
    // A protocol that is left out is TCP.
    let has = |(name, value): (&String, &Json)| {
        item.get(name) == Some(value) || (name == "protocol" && value == "TCP" && item.get(name).is_none())
    };
    !keys.is_empty() && keys.iter().all(has)
}

/// Adds what is owned and stands at no place of what is seen: it was applied once, and is not wished any more.
pub(super) fn add_what_is_left(seen: &mut Json, wish: &Json, owned: Json) {
    let (Json::Object(seen), Json::Object(owned)) = (seen, owned) else { return };
    for (name, left) in owned {
        match (seen.get_mut(&name), wish.get(&name)) {
            (Some(seen), Some(wish)) => add_what_is_left(seen, wish, left),
            (None, None) => {
                seen.insert(name, left);
            }
            _ => {}
        }
    }
}

/// Who holds back what is being deleted. A namespace is held in its description, too.
pub(super) fn finalizers(live: &Json) -> Vec<String> {
    let of = |part: &'static str| live[part]["finalizers"].as_array().into_iter().flatten();
    let more = (live["kind"] == "Namespace").then(|| of("spec"));
    let all = of("metadata").chain(more.into_iter().flatten());
    all.filter_map(|name| Some(name.as_str()?.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_there_is_told_in_the_words_of_the_wish() {
        let cases = [
            // Nothing differs: defaults and other spellings are the server's business.
            (
                json!({ "cpu": "1000m" }),
                json!({ "cpu": "1", "more": 1 }),
                json!({ "cpu": "1", "more": 1 }),
                json!({ "cpu": "1000m" }),
            ),
            // One field differs.
            (
                json!({ "a": "1", "b": "2" }),
                json!({ "a": "1", "b": "2" }),
                json!({ "a": "1", "b": "3", "c": 1 }),
                json!({ "a": "1", "b": "3" }),
            ),
            // One is gone.
            (
                json!({ "a": "1", "b": "2" }),
                json!({ "a": "1", "b": "2" }),
                json!({ "a": "1" }),
                json!({ "a": "1" }),
            ),
            // All in a map is gone, and with it the map.
            (
                json!({ "data": { "a": "1" } }),
                json!({ "data": { "a": "1" } }),
                json!({}),
                json!({ "data": {} }),
            ),
            // Others have items, too.
            (
                json!([{ "port": 22 }]),
                json!([{ "port": 80 }, { "port": 22, "protocol": "TCP" }]),
                json!([{ "port": 80 }, { "port": 22, "protocol": "UDP" }]),
                json!([{ "port": 22 }]),
            ),
            // One of ours is not wished any more, and others have theirs.
            (
                json!([{ "port": 22 }]),
                json!([{ "port": 443 }, { "port": 22 }]),
                json!([{ "port": 443 }, { "port": 22 }, { "port": 80 }]),
                json!([{ "port": 22 }, { "port": 80 }]),
            ),
            // The list is ours as a whole.
            (json!(["a", "b"]), json!(["a", "b"]), json!(["a"]), json!(["a"])),
            (json!(["a"]), json!(["a"]), json!(["a", "x"]), json!(["a", "x"])),
            (
                json!([{ "name": "a", "v": "1" }]),
                json!([{ "name": "a", "v": "1", "d": 0 }]),
                json!([{ "name": "a", "v": "2", "d": 0 }]),
                json!([{ "name": "a", "v": "2" }]),
            ),
            (
                json!([{ "name": "a" }, { "name": "b" }]),
                json!([{ "name": "a", "d": 0 }, { "name": "b", "d": 0 }]),
                json!([{ "name": "a", "d": 0 }, { "name": "x", "d": 0 }]),
                json!([{ "name": "a" }, { "name": "x" }]),
            ),
            // What has a name is compared with what has the same one, wherever it stands.
            (
                json!([{ "name": "a", "v": "1" }, { "name": "b", "v": "1" }]),
                json!([{ "name": "a", "v": "1", "d": 0 }, { "name": "b", "v": "1", "d": 0 }]),
                json!([{ "name": "b", "v": "1", "d": 0 }, { "name": "a", "v": "2", "d": 0 }]),
                json!([{ "name": "b", "v": "1" }, { "name": "a", "v": "2" }]),
            ),
        ];
        for (wish, made, live, expected) in cases {
            assert_eq!(seen(&wish, &made, &live), expected, "{wish} {live}");
        }
    }

    #[test]
    fn what_an_apply_would_take_away_is_shown() {
        let wish = json!({ "spec": { "selector": { "a": "1" } } });
        let made = json!({ "spec": { "selector": { "a": "1" }, "x": 1 }, "status": {}, "theirs": 1 });
        let live = json!({ "spec": { "selector": { "a": "1", "b": "2" }, "x": 1 }, "status": {}, "theirs": 1, "old": 1 });
        let mut found = seen(&wish, &made, &live);
        add_what_would_go(&mut found, &made, &live);
        assert_eq!(found, json!({ "spec": { "selector": { "a": "1", "b": "2" } }, "old": 1 }));
    }

    #[test]
    fn labels_are_ours_that_we_applied_or_wish() {
        let live = |fields: Json| {
            json!({ "metadata": {
                "labels": { "a": "1", "b": "2", "c": "3" },
                "managedFields": [{ "manager": "fleet", "operation": "Apply", "fieldsV1": fields }],
            } })
        };
        let wished = BTreeMap::from([("a".to_owned(), "x".to_owned())]);
        let names = |fields: Json| labels(&live(fields), "fleet", &wished).into_keys().collect::<Vec<_>>();
        assert_eq!(names(json!({ "f:metadata": { "f:labels": { ".": {}, "f:b": {} } } })), ["a", "b"]);
        // Whoever applied no labels at all owns none.
        assert_eq!(names(json!({ "f:metadata": { "f:labels": {} } })), ["a"]);
    }

    #[test]
    fn ours_is_what_we_applied() {
        let live = json!({
            "metadata": {
                "labels": { "a": "1", "b": "2" },
                "managedFields": [
                    { "manager": "fleet", "operation": "Update", "fieldsV1": { "f:spec": {} } },
                    { "manager": "fleet", "operation": "Apply", "fieldsV1": {
                        "f:metadata": { "f:labels": { "f:a": {} }, "f:finalizers": { "v:\"x\"": {} } },
                        "f:spec": { "f:ports": { "k:{\"port\":22,\"protocol\":\"TCP\"}": { ".": {}, "f:port": {} } } },
                    } },
                ],
                "finalizers": ["x", "y"],
            },
            "spec": { "ports": [{ "port": 22, "protocol": "TCP" }, { "port": 80, "protocol": "TCP" }], "type": "x" },
        });
        let expected = json!({
            "metadata": { "labels": { "a": "1" }, "finalizers": ["x"] }, "spec": { "ports": [{ "port": 22 }] },
        });
        assert_eq!(owned(&live, "fleet"), Some(expected.clone()));
        assert_eq!(owned(&live, "other"), None);
        let mut seen = json!({ "spec": { "ports": [] } });
        add_what_is_left(&mut seen, &json!({ "spec": { "ports": [] } }), expected);
        assert_eq!(
            seen,
            json!({ "metadata": { "labels": { "a": "1" }, "finalizers": ["x"] }, "spec": { "ports": [] } })
        );
    }
}

//! Objects as values of the language, and back.

use fleet_lang::{Kind, Number, Value};
use serde_json::{Map, Value as Json};

/// A wholly known value as JSON.
pub(super) fn of_value(value: &Value) -> Json {
    match &value.kind {
        Kind::Null(_) | Kind::Unknown(_) => Json::Null,
        Kind::Bool(truth) => Json::Bool(*truth),
        Kind::Number(number) => of_number(number),
        Kind::String(text) => Json::String(text.to_string()),
        Kind::List(_) | Kind::Set(_) | Kind::Tuple(_) => {
            Json::Array(value.items().into_iter().flatten().map(of_value).collect())
        }
        Kind::Map(_) | Kind::Object(_) => {
            let entries = value.entries().into_iter().flatten();
            // What is null is not said.
            let entries = entries.filter(|(_, entry)| !entry.is_null());
            Json::Object(entries.map(|(name, entry)| (name.to_string(), of_value(entry))).collect())
        }
    }
}

fn of_number(number: &Number) -> Json {
    let whole = number.to_i64().map(Json::from);
    whole.unwrap_or_else(|| serde_json::Number::from_f64(number.to_f64()).map_or(Json::Null, Json::Number))
}

/// JSON as a value: lists are tuples, maps are objects.
pub(super) fn to_value(json: &Json) -> Value {
    match json {
        Json::Null => Value::null(),
        Json::Bool(truth) => (*truth).into(),
        Json::Number(number) => match number.as_i64() {
            Some(whole) => whole.into(),
            None => Number::parse(&number.to_string())
                .map_or_else(Value::null, |number| Kind::Number(number).into()),
        },
        Json::String(text) => Kind::String(text.as_str().into()).into(),
        Json::Array(items) => Value::tuple(items.iter().map(to_value).collect::<Vec<_>>()),
        Json::Object(map) => {
            Value::object(map.iter().map(|(name, json)| (name.as_str().into(), to_value(json))).collect())
        }
    }
}

/// The text at a path of fields; empty if there is none.
pub(super) fn text<'j>(json: &'j Json, path: &[&str]) -> &'j str {
    path.iter().fold(json, |here, name| &here[*name]).as_str().unwrap_or_default()
}

/// A map of texts.
pub(super) fn texts(json: &Json) -> std::collections::BTreeMap<String, String> {
    let entries = json.as_object().into_iter().flatten();
    entries.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect()
}

/// The name and labels of an object that is applied. Whoever applies an empty map owns the map, so no labels are none.
pub(super) fn metadata(name: &str, labels: &std::collections::BTreeMap<String, String>) -> Json {
    let mut metadata = serde_json::json!({ "name": name });
    if !labels.is_empty() {
        metadata["labels"] = serde_json::json!(labels);
    }
    metadata
}

/// Takes a field out of a map in an object, and the map if it is empty then.
pub(super) fn take(json: &mut Json, map: &str, name: &str) -> Option<Json> {
    let inner = json.get_mut(map)?.as_object_mut()?;
    let taken = inner.remove(name);
    if inner.is_empty() {
        json.as_object_mut().and_then(|outer: &mut Map<String, Json>| outer.remove(map));
    }
    taken
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn objects_are_values_and_values_are_objects() {
        let json = json!({ "a": [1, "b", true, { "c": 1.5 }], "d": {} });
        assert_eq!(of_value(&to_value(&json)), json);
        let with_null = json!({ "a": null, "b": { "c": null } });
        assert_eq!(of_value(&to_value(&with_null)), json!({ "b": {} }));
    }
}

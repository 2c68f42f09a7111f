//! What `kubectl get` shows of a list, where the server says so: of events it shows everything but their names.

use serde_json::{Value, json};

use super::route::Call;

/// Its heading, and what stands in it for an object.
type Column = (&'static str, fn(&Value) -> String);

/// The columns, and where in an event they come from.
const EVENT: &[Column] = &[
    ("Last Seen", |event| said(&event["lastTimestamp"])),
    ("Type", |event| said(&event["type"])),
    ("Reason", |event| said(&event["reason"])),
    ("Object", |event| {
        let object = &event["involvedObject"];
        format!("{}/{}", said(&object["kind"]).to_lowercase(), said(&object["name"]))
    }),
    ("Message", |event| said(&event["message"])),
];

fn said(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The table of a list, for whoever asks for one; of all other kinds `kubectl` makes it itself.
pub(super) fn of(call: &Call, accept: &str, list: &Value) -> Option<Value> {
    if call.verb != "list" || call.kind.kind != "Event" || !accept.contains("as=Table") {
        return None;
    }
    let column = |(name, _): &Column| json!({ "name": name, "type": "string", "format": "", "description": "", "priority": 0 });
    let row = |event: &Value| {
        let cells: Vec<String> = EVENT.iter().map(|(_, cell)| cell(event)).collect();
        let object = json!({
            "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": event["metadata"],
        });
        json!({ "cells": cells, "object": object })
    };
    let columns: Vec<Value> = EVENT.iter().map(column).collect();
    let rows: Vec<Value> = list["items"].as_array()?.iter().map(row).collect();
    Some(json!({
        "kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": list["metadata"],
        "columnDefinitions": columns, "rows": rows,
    }))
}

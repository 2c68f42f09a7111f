//! What the server says of itself: its version, its groups, its kinds.

use serde_json::{Value, json};

use super::kinds::{KINDS, Kind, Sub, api_version, groups};
use super::refusal::Refusal;

/// The version whose ways the lab has.
const MINOR: &str = "33";

/// What is answered at a path that is no object's: JSON, or words.
pub(super) fn answer(path: &str) -> Result<Value, Refusal> {
    let words: Vec<&str> = path.split('/').filter(|word| !word.is_empty()).collect();
    Ok(match *words.as_slice() {
        [] => {
            let paths = ["/api", "/api/v1", "/apis", "/healthz", "/livez", "/readyz", "/version"];
            json!({ "paths": paths })
        }
        ["healthz" | "livez" | "readyz", ..] => json!("ok"),
        ["version"] => json!({
            "major": "1", "minor": MINOR, "gitVersion": format!("v1.{MINOR}.0-lab"), "gitCommit": "", "gitTreeState": "clean",
            "buildDate": "2025-01-01T00:00:00Z", "goVersion": "none", "compiler": "none", "platform": "lab",
        }),
        ["api"] => json!({ "kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": [] }),
        ["apis"] => {
            let all: Vec<Value> =
                groups().into_iter().filter(|(group, _)| !group.is_empty()).map(group).collect();
            json!({ "kind": "APIGroupList", "apiVersion": "v1", "groups": all })
        }
        ["apis", name] => {
            let found = groups().into_iter().find(|(group, _)| *group == name && !name.is_empty());
            let mut found = group(found.ok_or_else(Refusal::no_such_path)?);
            found["kind"] = json!("APIGroup");
            found["apiVersion"] = json!("v1");
            found
        }
        ["api", version] => resources("", version)?,
        ["apis", group, version] => resources(group, version)?,
        _ => return Err(Refusal::no_such_path()),
    })
}

fn group((name, version): (&str, &str)) -> Value {
    let version = json!({ "groupVersion": api_version(name, version), "version": version });
    json!({ "name": name, "versions": [version], "preferredVersion": version })
}

fn resources(group: &str, version: &str) -> Result<Value, Refusal> {
    if !groups().contains(&(group, version)) {
        return Err(Refusal::no_such_path());
    }
    let kinds = KINDS.iter().filter(|kind| (kind.group, kind.version) == (group, version));
    let all: Vec<Value> = kinds
        .flat_map(|kind| [whole(kind)].into_iter().chain(kind.subs.iter().map(|sub| part(kind, sub))))
        .collect();
    let version = api_version(group, version);
    Ok(json!({ "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version, "resources": all }))
}

fn whole(kind: &Kind) -> Value {
    let mut json = json!({
        "name": kind.plural, "singularName": kind.singular, "namespaced": kind.namespaced, "kind": kind.kind,
        "verbs": kind.verbs,
    });
    if !kind.short.is_empty() {
        json["shortNames"] = json!(kind.short);
    }
    json
}

fn part(kind: &Kind, sub: &Sub) -> Value {
    let mut json = json!({
        "name": format!("{}/{}", kind.plural, sub.name), "singularName": "", "namespaced": kind.namespaced,
        "kind": sub.kind.map_or(kind.kind, |(_, _, kind)| kind), "verbs": sub.verbs,
    });
    if let Some((group, version, _)) = sub.kind {
        json["group"] = json!(group);
        json["version"] = json!(version);
    }
    json
}

//! What two tools have made of the same text: kept, compared, and handed from one to the other.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Value as Json, json};

use super::tool::Tool;
use crate::Outcome;

/// Values by the addresses of what holds them, without the names of kinds.
type Ends = BTreeMap<String, Json>;

/// Keeps the state that fleet has come to.
pub(crate) fn keep_of_fleet(directory: &Path, to: &Path) -> Outcome {
    let mut pull = Tool::Fleet.command(directory);
    let output = pull.args(["state", "pull"]).output().map_err(|e| format!("cannot start fleet: {e}"))?;
    if !output.status.success() {
        return Err(format!("`fleet state pull` ended with {}", output.status));
    }
    write(to, &output.stdout)
}

/// Keeps the state that Terraform has come to.
pub(crate) fn keep_of_terraform(directory: &Path, to: &Path) -> Outcome {
    let text = fs::read(directory.join("terraform.tfstate"));
    write(to, &text.map_err(|e| format!("Terraform has left no state: {e}"))?)
}

/// Whether both hold the same values; says how many.
pub(crate) fn equal(fleet: &Path, terraform: &Path) -> Result<usize, String> {
    let (ours, theirs) = (of_fleet(&read(fleet)?), of_terraform(&read(terraform)?));
    if let Some((address, _)) = ours.iter().find(|(address, value)| theirs.get(*address) != Some(*value)) {
        return Err(format!("Terraform has another value than fleet at {address}"));
    }
    if ours.len() != theirs.len() {
        return Err(format!("fleet has {} values, Terraform {}", ours.len(), theirs.len()));
    }
    Ok(ours.len())
}

/// Gives Terraform the state that it would have come to.
pub(crate) fn give_to_terraform(fleet: &Path, directory: &Path) -> Outcome {
    let mut resources: BTreeMap<(String, String), Vec<Json>> = BTreeMap::new();
    for (address, value) in of_fleet(&read(fleet)?) {
        let (module, local) = address.rsplit_once('/').unwrap_or(("", &address));
        let (name, key) = local.split_once('[').unwrap_or((local, ""));
        let dynamic = json!({ "value": value, "type": type_of(&value) });
        let mut instance = json!({
            "schema_version": 0,
            "attributes": { "id": format!("id of {address}"), "input": dynamic, "output": dynamic, "triggers_replace": null },
            "sensitive_attributes": [],
        });
        if let Some(key) = key.strip_suffix(']') {
            instance["index_key"] = serde_json::from_str(key).unwrap_or_default();
        }
        resources.entry((module.to_owned(), name.to_owned())).or_default().push(instance);
    }
    let resource = |((module, name), instances): ((String, String), Vec<Json>)| {
        let provider = "provider[\"terraform.io/builtin/terraform\"]";
        let mut resource = json!({
            "mode": "managed", "type": "terraform_data", "name": name, "provider": provider, "instances": instances,
        });
        if !module.is_empty() {
            resource["module"] = module.into();
        }
        resource
    };
    let state = json!({
        "version": 4,
        "terraform_version": "1.11.4",
        "serial": 1,
        "lineage": "b0000000-0000-0000-0000-000000000000",
        "outputs": {},
        "resources": resources.into_iter().map(resource).collect::<Vec<_>>(),
        "check_results": null,
    });
    for name in [".terraform.tfstate.lock.info", "terraform.tfstate.backup"] {
        // They are there only if an apply was ended.
        let _ = fs::remove_file(directory.join(name));
    }
    write(&directory.join("terraform.tfstate"), state.to_string().as_bytes())
}

fn of_fleet(state: &Json) -> Ends {
    let end = |resource: &Json| {
        let address = resource["address"].as_str()?;
        let (module, local) = match address.rsplit_once(".core_value.") {
            Some((module, local)) => (format!("{module}/"), local),
            None => (String::new(), address.strip_prefix("core_value.")?),
        };
        Some((module + local, resource["value"]["value"]["output"].clone()))
    };
    state["resources"].as_array().into_iter().flatten().filter_map(end).collect()
}

fn of_terraform(state: &Json) -> Ends {
    let mut ends = Ends::new();
    for resource in state["resources"].as_array().into_iter().flatten() {
        let module = resource["module"].as_str().map(|module| format!("{module}/")).unwrap_or_default();
        let name = resource["name"].as_str().unwrap_or_default();
        for instance in resource["instances"].as_array().into_iter().flatten() {
            let key = instance.get("index_key").map(|key| format!("[{key}]")).unwrap_or_default();
            ends.insert(format!("{module}{name}{key}"), instance["attributes"]["output"]["value"].clone());
        }
    }
    ends
}

/// The type of a value as Terraform's state has it.
fn type_of(value: &Json) -> Json {
    match value {
        Json::Bool(_) => json!("bool"),
        Json::Number(_) => json!("number"),
        Json::Object(entries) => {
            let types: serde_json::Map<String, Json> =
                entries.iter().map(|(name, value)| (name.clone(), type_of(value))).collect();
            json!(["object", types])
        }
        Json::Array(items) => json!(["tuple", items.iter().map(type_of).collect::<Vec<_>>()]),
        Json::String(_) | Json::Null => json!("string"),
    }
}

fn read(path: &Path) -> Result<Json, String> {
    let text = fs::read(path).map_err(|e| format!("cannot read {}: {e}", path.display()))?;
    serde_json::from_slice(&text).map_err(|e| format!("{} is not JSON: {e}", path.display()))
}

fn write(path: &Path, text: &[u8]) -> Outcome {
    fs::write(path, text).map_err(|e| format!("cannot write {}: {e}", path.display()))
}

//! What the server makes of an object before it keeps it, and what it does not let in.
//!
//! The lab has no schemas of fields: a field that the real server does not know is kept here.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Map, Value, json};

use super::kinds::Kind;
use super::refusal::{Cause, Refusal};
use super::select::Selector;

/// What stays as it was made.
const IMMUTABLE: &[(&str, &str, &str)] = &[
    ("ClusterRoleBinding", "roleRef", "cannot change roleRef"),
    ("RoleBinding", "roleRef", "cannot change roleRef"),
    ("RuntimeClass", "handler", "field is immutable"),
    ("Secret", "type", "field is immutable"),
    ("Deployment", "spec.selector", "field is immutable"),
    ("DaemonSet", "spec.selector", "field is immutable"),
    ("Pod", "spec.nodeName", "pod updates may not change fields other than those that are listed"),
];

/// Kinds whose objects count the versions of their description.
const COUNTED: &[&str] =
    &["Cluster", "DaemonSet", "Deployment", "Machine", "PodDisruptionBudget", "ProxyGroup"];

/// Maps and lists that are not kept when nothing is in them: those of every object, and those of some kinds.
const LEFT_OUT_IF_EMPTY: &[(&str, &[&str])] = &[
    ("", &["metadata.labels", "metadata.annotations", "metadata.finalizers", "metadata.ownerReferences"]),
    ("ConfigMap", &["data", "binaryData"]),
    ("Secret", &["data"]),
    ("Service", &["spec.selector", "spec.ports"]),
    ("Node", &["spec.taints"]),
    ("ClusterRoleBinding", &["subjects"]),
    ("RoleBinding", &["subjects"]),
];

/// Leaves out what was left empty, and fills in what was left out.
pub(super) fn complete(kind: &Kind, object: &mut Value) {
    let own = LEFT_OUT_IF_EMPTY.iter().filter(|(of, _)| of.is_empty() || *of == kind.kind);
    for path in own.flat_map(|(_, paths)| paths.iter()) {
        leave_out_if_empty(object, path);
    }
    match kind.kind {
        "Secret" => {
            let plain = object.as_object_mut().and_then(|map| map.remove("stringData"));
            let encoded =
                plain.as_ref().and_then(Value::as_object).into_iter().flatten().map(|(name, text)| {
                    (name.clone(), json!(BASE64_STANDARD.encode(text.as_str().unwrap_or_default())))
                });
            let encoded: Map<String, Value> = encoded.collect();
            if !encoded.is_empty() {
                let data = entry(object, "data", json!({}));
                data.as_object_mut().into_iter().for_each(|data| data.extend(encoded.clone()));
            }
            entry(object, "type", json!("Opaque"));
        }
        "Namespace" => {
            let name = object["metadata"]["name"].clone();
            entry(entry(&mut object["metadata"], "labels", json!({})), "kubernetes.io/metadata.name", name);
            entry(entry(object, "spec", json!({})), "finalizers", json!(["kubernetes"]));
            entry(entry(object, "status", json!({})), "phase", json!("Active"));
        }
        "Service" => {
            let spec = entry(object, "spec", json!({}));
            entry(spec, "type", json!("ClusterIP"));
            entry(spec, "sessionAffinity", json!("None"));
            for port in spec["ports"].as_array_mut().into_iter().flatten() {
                entry(port, "protocol", json!("TCP"));
                let number = port["port"].clone();
                entry(port, "targetPort", number);
            }
            entry(object, "status", json!({ "loadBalancer": {} }));
        }
        "Deployment" => {
            let spec = entry(object, "spec", json!({}));
            entry(spec, "replicas", json!(1));
            entry(spec, "progressDeadlineSeconds", json!(600));
        }
        "Pod" => {
            let spec = entry(object, "spec", json!({}));
            entry(spec, "restartPolicy", json!("Always"));
            entry(spec, "terminationGracePeriodSeconds", json!(30));
            entry(entry(object, "status", json!({})), "phase", json!("Pending"));
        }
        "ClusterRoleBinding" | "RoleBinding" => {
            entry(&mut object["roleRef"], "apiGroup", json!("rbac.authorization.k8s.io"));
            for subject in object["subjects"].as_array_mut().into_iter().flatten() {
                if subject["kind"] != "ServiceAccount" {
                    entry(subject, "apiGroup", json!("rbac.authorization.k8s.io"));
                }
            }
        }
        _ => {}
    }
}

fn leave_out_if_empty(object: &mut Value, path: &str) {
    let (outer, name) = path.split_once('.').map_or((None, path), |(outer, name)| (Some(outer), name));
    let map = match outer {
        Some(outer) => object.get_mut(outer),
        None => Some(object),
    };
    let Some(map) = map.and_then(Value::as_object_mut) else { return };
    let is_empty = match map.get(name) {
        Some(Value::Object(inner)) => inner.is_empty(),
        Some(Value::Array(items)) => items.is_empty(),
        Some(Value::Null) => true,
        _ => false,
    };
    if is_empty {
        map.remove(name);
    }
}

/// A field of a map, which is put there if it is missing.
fn entry<'v>(value: &'v mut Value, name: &str, default: Value) -> &'v mut Value {
    if !value.is_object() {
        *value = json!({});
    }
    let map = value.as_object_mut().expect("it was just made");
    map.entry(name.to_owned()).or_insert(default)
}

/// Whether an object can be, and can become so.
pub(super) fn check(kind: &Kind, before: Option<&Value>, object: &Value) -> Result<(), Refusal> {
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    let mut causes = Vec::new();
    if !is_name(kind, name) {
        let why = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', \
                   and must start and end with an alphanumeric character";
        causes.push(Cause::invalid("metadata.name", &json!(name), why));
    }
    for (label, value) in object["metadata"]["labels"].as_object().into_iter().flatten() {
        if !value.as_str().is_some_and(is_label_value) {
            let why = "a valid label must be an empty string or consist of at most 63 alphanumeric characters, '-', '_' or '.', \
                       and must start and end with an alphanumeric character";
            causes.push(Cause::invalid(&format!("metadata.labels[{label}]"), value, why));
        }
    }
    match kind.kind {
        "Service" => check_service(&object["spec"], &mut causes),
        "Pod" => check_containers(&object["spec"], "spec", &mut causes),
        "Secret" => check_secret(object, name, &mut causes),
        "ClusterRoleBinding" | "RoleBinding"
            if object["roleRef"]["name"].as_str().is_none_or(str::is_empty) =>
        {
            causes.push(Cause::required("roleRef.name"));
        }
        "Deployment" | "DaemonSet" => check_template(&object["spec"], &mut causes),
        _ => {}
    }
    if let Some(before) = before {
        check_change(kind, before, object, &mut causes);
    }
    if causes.is_empty() { Ok(()) } else { Err(Refusal::invalid(kind, name, &causes)) }
}

/// What may not change.
fn check_change(kind: &Kind, before: &Value, object: &Value, causes: &mut Vec<Cause>) {
    for (of, path, why) in IMMUTABLE.iter().filter(|(of, ..)| *of == kind.kind) {
        let at = |value: &Value| path.split('.').fold(value.clone(), |here, word| here[word].clone());
        let (old, new) = (at(before), at(object));
        if old != new && !(*of == "Pod" && old.is_null()) {
            causes.push(Cause::invalid(path, &new, why));
        }
    }
    let provider = |value: &Value| value["spec"]["providerID"].as_str().unwrap_or_default().to_owned();
    let (old, new) = (provider(before), provider(object));
    if kind.kind == "Node" && !old.is_empty() && old != new {
        let why = "node updates may not change providerID except from \"\" to valid";
        causes.push(Cause::forbidden("spec.providerID", why));
    }
    let finalizers = |value: &Value| value["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
    let was_deleted = !before["metadata"]["deletionTimestamp"].is_null();
    if was_deleted && finalizers(object).iter().any(|new| !finalizers(before).contains(new)) {
        let why = "no new finalizers can be added if the object is being deleted";
        causes.push(Cause::forbidden("metadata.finalizers", why));
    }
}

fn check_service(spec: &Value, causes: &mut Vec<Cause>) {
    let kind = spec["type"].as_str().unwrap_or_default();
    let ports = spec["ports"].as_array().cloned().unwrap_or_default();
    match kind {
        "ExternalName" if spec["externalName"].as_str().is_none_or(str::is_empty) => {
            causes.push(Cause::required("spec.externalName"));
        }
        "ClusterIP" | "NodePort" | "LoadBalancer" if ports.is_empty() && spec["clusterIP"] != "None" => {
            causes.push(Cause::required("spec.ports"));
        }
        "ClusterIP" | "NodePort" | "LoadBalancer" | "ExternalName" => {}
        _ => causes.push(Cause::invalid(
            "spec.type",
            &spec["type"],
            "supported values: ClusterIP, ExternalName, LoadBalancer, NodePort",
        )),
    }
    for (at, port) in ports.iter().enumerate() {
        if !port["port"].as_u64().is_some_and(|port| (1..=65535).contains(&port)) {
            let why = "must be between 1 and 65535, inclusive";
            causes.push(Cause::invalid(&format!("spec.ports[{at}].port"), &port["port"], why));
        }
        if ports.len() > 1 && port["name"].as_str().is_none_or(str::is_empty) {
            causes.push(Cause::required(&format!("spec.ports[{at}].name")));
        }
    }
}

/// What pods are made of has to be pods that are selected.
fn check_template(spec: &Value, causes: &mut Vec<Cause>) {
    if spec["selector"].is_null() {
        causes.push(Cause::required("spec.selector"));
    }
    let template = &spec["template"];
    if !Selector::of_labels(&spec["selector"]).takes(template) {
        let labels = &template["metadata"]["labels"];
        let why = "`selector` does not match template `labels`";
        causes.push(Cause::invalid("spec.template.metadata.labels", labels, why));
    }
    check_containers(&template["spec"], "spec.template.spec", causes);
}

fn check_containers(spec: &Value, path: &str, causes: &mut Vec<Cause>) {
    let all = spec["containers"].as_array().cloned().unwrap_or_default();
    if all.is_empty() {
        causes.push(Cause::required(&format!("{path}.containers")));
    }
    for (at, container) in all.iter().enumerate() {
        for field in ["name", "image"].into_iter().filter(|field| container[*field].is_null()) {
            causes.push(Cause::required(&format!("{path}.containers[{at}].{field}")));
        }
    }
}

/// A text that is none, with its path: every client has to write these as texts.
pub(super) fn mistyped(kind: &Kind, object: &Value) -> Option<String> {
    let data = if matches!(kind.kind, "ConfigMap" | "Secret") { &object["data"] } else { &Value::Null };
    let maps = [
        ("metadata.labels", &object["metadata"]["labels"]),
        ("metadata.annotations", &object["metadata"]["annotations"]),
        ("data", data),
    ];
    maps.into_iter().find_map(|(path, map)| {
        let (name, value) = map.as_object()?.iter().find(|(_, value)| !value.is_string())?;
        Some(format!(".{path}.{name}: expected string, got {value}"))
    })
}

fn is_label_value(text: &str) -> bool {
    let is_inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let is_end = |c: Option<char>| c.is_none_or(|c| c.is_ascii_alphanumeric());
    text.len() <= 63
        && text.chars().all(is_inner)
        && is_end(text.chars().next())
        && is_end(text.chars().next_back())
}

fn check_secret(object: &Value, name: &str, causes: &mut Vec<Cause>) {
    for (key, value) in object["data"].as_object().into_iter().flatten() {
        let is_encoded = value.as_str().is_some_and(|text| BASE64_STANDARD.decode(text).is_ok());
        if !is_encoded {
            let field = format!("data.{key}");
            causes.push(Cause {
                reason: "FieldValueInvalid",
                field,
                message: "Invalid value: no base64".to_owned(),
            });
        }
    }
    let account = &object["metadata"]["annotations"]["kubernetes.io/service-account.name"];
    if object["type"] == "kubernetes.io/service-account-token" && account.is_null() {
        causes.push(Cause::required("metadata.annotations[kubernetes.io/service-account.name]"));
    }
    if object["type"] == "bootstrap.kubernetes.io/token" && !name.starts_with("bootstrap-token-") {
        causes.push(Cause::invalid(
            "metadata.name",
            &json!(name),
            "must be in the form bootstrap-token-<id>",
        ));
    }
}

/// Whether objects of a kind may be called so. Roles may have more in their names than others.
fn is_name(kind: &Kind, name: &str) -> bool {
    // These are parts of names in DNS.
    if matches!(kind.kind, "Namespace" | "Service") && (name.len() > 63 || name.contains('.')) {
        return false;
    }
    if kind.group == "rbac.authorization.k8s.io" {
        return !name.is_empty() && name != "." && name != ".." && !name.contains(['/', '%']);
    }
    let is_inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let is_label = |part: &str| {
        !part.is_empty() && part.chars().all(is_inner) && !part.starts_with('-') && !part.ends_with('-')
    };
    name.len() <= 253 && name.split('.').all(is_label)
}

/// The number of the description, after it became this.
pub(super) fn generation(kind: &Kind, before: Option<&Value>, object: &Value) -> Option<u64> {
    if !COUNTED.contains(&kind.kind) {
        return None;
    }
    let Some(before) = before else { return Some(1) };
    let last = before["metadata"]["generation"].as_u64().unwrap_or(1);
    Some(if before["spec"] == object["spec"] { last } else { last + 1 })
}

//! Why something is refused: the `Status` objects of the API, with the words of the real server where clients read them.

use std::time::Duration;

use serde_json::{Value, json};

use super::kinds::Kind;
use super::managed::Conflict;

/// A request that is refused.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Refusal {
    pub(super) code: u16,
    reason: &'static str,
    message: String,
    details: Value,
    pub(super) retry_after: Option<Duration>,
}

/// What is wrong with one field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cause {
    pub(super) reason: &'static str,
    pub(super) field: String,
    pub(super) message: String,
}

impl Cause {
    pub(super) fn required(field: &str) -> Cause {
        Cause { reason: "FieldValueRequired", field: field.to_owned(), message: "Required value".to_owned() }
    }

    pub(super) fn invalid(field: &str, value: &Value, why: &str) -> Cause {
        let message = format!("Invalid value: {value}: {why}");
        Cause { reason: "FieldValueInvalid", field: field.to_owned(), message }
    }

    pub(super) fn forbidden(field: &str, why: &str) -> Cause {
        Cause { reason: "FieldValueForbidden", field: field.to_owned(), message: format!("Forbidden: {why}") }
    }
}

fn about(kind: &Kind, name: &str) -> Value {
    json!({ "name": name, "group": kind.group, "kind": kind.plural })
}

impl Refusal {
    fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Refusal {
        Refusal { code, reason, message: message.into(), details: Value::Null, retry_after: None }
    }

    fn of(self, details: Value) -> Refusal {
        Refusal { details, ..self }
    }

    pub(super) fn bad_request(message: impl Into<String>) -> Refusal {
        Refusal::new(400, "BadRequest", message)
    }

    pub(super) fn unauthorized() -> Refusal {
        Refusal::new(401, "Unauthorized", "Unauthorized")
    }

    /// Somebody may not do this.
    pub(super) fn denied(
        user: &str,
        verb: &str,
        kind: &Kind,
        sub: Option<&str>,
        place: Place<'_>,
    ) -> Refusal {
        let Place { namespace, name } = place;
        let resource = sub.map_or(kind.plural.to_owned(), |sub| format!("{}/{sub}", kind.plural));
        let scope = match namespace {
            Some(namespace) => format!("in the namespace \"{namespace}\""),
            None => "at the cluster scope".to_owned(),
        };
        let named = if name.is_empty() { String::new() } else { format!(" \"{name}\"") };
        let message = format!(
            "{}{named} is forbidden: User \"{user}\" cannot {verb} resource \"{resource}\" in API group \"{}\" {scope}",
            kind.qualified(),
            kind.group
        );
        Refusal::new(403, "Forbidden", message).of(about(kind, name))
    }

    /// Somebody may not see a path that is no object's.
    pub(super) fn denied_path(user: &str, path: &str) -> Refusal {
        let message = format!("forbidden: User \"{user}\" cannot get path \"{path}\"");
        Refusal::new(403, "Forbidden", message).of(json!({}))
    }

    /// Admission does not let it in.
    pub(super) fn not_admitted(kind: &Kind, name: &str, why: &str) -> Refusal {
        let message = format!("{} \"{name}\" is forbidden: {why}", kind.qualified());
        Refusal::new(403, "Forbidden", message).of(about(kind, name))
    }

    /// The namespace is being deleted.
    pub(super) fn terminating(kind: &Kind, name: &str, why: &str, namespace: &str) -> Refusal {
        let refusal = Refusal::not_admitted(kind, name, why);
        let message = format!("namespace {namespace} is being terminated");
        let mut details = about(kind, name);
        details["causes"] =
            json!([{ "reason": "NamespaceTerminating", "message": message, "field": "metadata.namespace" }]);
        refusal.of(details)
    }

    pub(super) fn not_found(kind: &Kind, name: &str) -> Refusal {
        let message = format!("{} \"{name}\" not found", kind.qualified());
        Refusal::new(404, "NotFound", message).of(about(kind, name))
    }

    pub(super) fn no_such_path() -> Refusal {
        Refusal::new(404, "NotFound", "the server could not find the requested resource").of(json!({}))
    }

    pub(super) fn no_such_verb() -> Refusal {
        let message = "the server does not allow this method on the requested resource";
        Refusal::new(405, "MethodNotAllowed", message).of(json!({}))
    }

    pub(super) fn already_exists(kind: &Kind, name: &str) -> Refusal {
        let message = format!("{} \"{name}\" already exists", kind.qualified());
        Refusal::new(409, "AlreadyExists", message).of(about(kind, name))
    }

    /// Somebody else was faster.
    pub(super) fn outdated(kind: &Kind, name: &str) -> Refusal {
        let message = format!(
            "Operation cannot be fulfilled on {} \"{name}\": the object has been modified; please apply your changes to the latest version and try again",
            kind.qualified()
        );
        Refusal::new(409, "Conflict", message).of(about(kind, name))
    }

    /// What a request takes for granted is not so.
    pub(super) fn precondition(kind: &Kind, name: &str, why: &str) -> Refusal {
        let message = format!("Operation cannot be fulfilled on {} \"{name}\": {why}", kind.qualified());
        Refusal::new(409, "Conflict", message).of(about(kind, name))
    }

    /// Fields that are applied have other owners.
    pub(super) fn conflicts(conflicts: &[Conflict]) -> Refusal {
        let causes: Vec<Value> = conflicts
            .iter()
            .map(|conflict| {
                json!({ "reason": "FieldManagerConflict", "message": conflict.with, "field": conflict.field })
            })
            .collect();
        let told = match conflicts {
            [one] => format!("Apply failed with 1 conflict: {}: {}", one.with, one.field),
            _ => {
                let mut owners: Vec<&str> = conflicts.iter().map(|conflict| &*conflict.with).collect();
                owners.dedup();
                let owner = |owner: &&str| {
                    let theirs = conflicts.iter().filter(|conflict| conflict.with == **owner);
                    let fields: Vec<String> =
                        theirs.map(|conflict| format!("- {}", conflict.field)).collect();
                    format!("{}:\n{}", capital(owner), fields.join("\n"))
                };
                let owners: Vec<String> = owners.iter().map(owner).collect();
                format!("Apply failed with {} conflicts: {}", conflicts.len(), owners.join("\n"))
            }
        };
        Refusal::new(409, "Conflict", told).of(json!({ "causes": causes }))
    }

    /// The object cannot be so.
    pub(super) fn invalid(kind: &Kind, name: &str, causes: &[Cause]) -> Refusal {
        let told: Vec<String> =
            causes.iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect();
        let told = if told.len() == 1 { told.concat() } else { format!("[{}]", told.join(", ")) };
        let message = format!("{} \"{name}\" is invalid: {told}", full_kind(kind));
        let causes: Vec<Value> = causes
            .iter()
            .map(|cause| json!({ "reason": cause.reason, "message": cause.message, "field": cause.field }))
            .collect();
        let details = json!({ "name": name, "group": kind.group, "kind": kind.kind, "causes": causes });
        Refusal::new(422, "Invalid", message).of(details)
    }

    /// What is asked for is older than what is kept.
    pub(super) fn expired(message: impl Into<String>) -> Refusal {
        Refusal::new(410, "Expired", message)
    }

    pub(super) fn unsupported(kind: &str) -> Refusal {
        let message = format!("the body of the request was in an unknown format: {kind}");
        Refusal::new(415, "UnsupportedMediaType", message)
    }

    /// Not now.
    pub(super) fn too_many(message: &str, seconds: u64) -> Refusal {
        let refusal = Refusal::new(429, "TooManyRequests", message);
        let refusal = refusal.of(json!({ "retryAfterSeconds": seconds }));
        Refusal { retry_after: Some(Duration::from_secs(seconds)), ..refusal }
    }

    /// An eviction that a budget does not allow now.
    pub(super) fn budget(name: &str) -> Refusal {
        let message = "Cannot evict pod as it would violate the pod's disruption budget.";
        let cause = format!("The disruption budget {name} needs more healthy pods than there are");
        Refusal::new(429, "TooManyRequests", message)
            .of(json!({ "causes": [{ "reason": "DisruptionBudget", "message": cause }] }))
    }

    /// An object that is applied has fields of other types: the server takes that for its own fault.
    pub(super) fn untyped(message: &str) -> Refusal {
        Refusal::new(500, "", message)
    }

    pub(super) fn internal(message: &str) -> Refusal {
        Refusal::new(500, "InternalError", format!("Internal error occurred: {message}"))
    }

    /// The object that is answered.
    pub(super) fn status(&self) -> Value {
        let mut status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.message, "reason": self.reason, "code": self.code,
        });
        if !self.details.is_null() {
            status["details"] = self.details.clone();
        }
        status
    }
}

/// Where something is that somebody may not touch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'a> {
    pub(super) namespace: Option<&'a str>,
    pub(super) name: &'a str,
}

fn full_kind(kind: &Kind) -> String {
    if kind.group.is_empty() { kind.kind.to_owned() } else { format!("{}.{}", kind.kind, kind.group) }
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

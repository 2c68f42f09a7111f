//! What the errors of the server mean: what is gone, what somebody else owns, what can be tried again.

use std::fmt;
use std::io;
use std::time::Duration;

use fleet_engine::resource::Error;
use kube::core::Status;
use serde_json::Value as Json;

/// The most of a text that is repeated.
const LONGEST: usize = 600;

/// How long a server that fails is left alone.
const PAUSE: Duration = Duration::from_secs(2);

/// What stands in the place of a secret.
const HIDDEN: &str = "(secret)";

/// Why something was not done, or is not known.
#[derive(Debug)]
pub(super) enum Refusal {
    /// It is not there.
    Gone(Error),
    /// Fields of somebody else would be changed.
    Owned(Error),
    /// Not now: a budget, or too many requests.
    Later(Error),
    /// Whether it would be taken, nobody can say before it is sent: who is asked about it cannot rehearse.
    Unrehearsed(Error),
    /// The namespace that it is in is being deleted.
    Ending(Error),
    /// Everything else.
    Failed(Error),
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Error {
        match refusal {
            Refusal::Gone(error)
            | Refusal::Owned(error)
            | Refusal::Later(error)
            | Refusal::Unrehearsed(error)
            | Refusal::Ending(error)
            | Refusal::Failed(error) => error,
        }
    }
}

/// What an error of the client means to whoever was `doing` something.
pub(super) fn explain(doing: &str, error: kube::Error) -> Refusal {
    match error {
        // What such a program prints may be secret.
        kube::Error::Auth(_) => {
            let error = Error::permanent(format!("{doing}: the kubeconfig's way to log in failed"));
            Refusal::Failed(
                error.help("run the program that the kubeconfig names in `exec`, or get a new token"),
            )
        }
        kube::Error::RustlsTls(_) | kube::Error::TlsRequired => {
            let error =
                Error::permanent(format!("{doing}: the certificates of the kubeconfig cannot be used"));
            Refusal::Failed(error.help("check `certificate-authority-data` and the client certificate, which has to be one of X.509 v3"))
        }
        kube::Error::HyperError(error) => Refusal::Failed(unanswered(doing, &error)),
        kube::Error::Service(error) => Refusal::Failed(unanswered(doing, &*error)),
        _ => Refusal::Failed(Error::permanent(format!("{doing}: the answer cannot be understood"))),
    }
}

/// No answer in time.
pub(super) fn too_slow(doing: &str, patience: Duration) -> Refusal {
    let error = Error::transient(format!("{doing}: no answer within {} s", patience.as_secs()));
    Refusal::Failed(error.after(PAUSE))
}

/// Something came that is no JSON.
pub(super) fn no_json(doing: &str) -> Refusal {
    let error = Error::permanent(format!("{doing}: what was answered is no object"));
    Refusal::Failed(error.help("check that `server` of the kubeconfig is a Kubernetes API server"))
}

/// Nothing came back: whether it had an effect, nobody knows; the engine looks before it tries again.
fn unanswered(doing: &str, error: &(dyn std::error::Error + 'static)) -> Error {
    let mut chain: Vec<&(dyn std::error::Error + 'static)> = vec![error];
    while let Some(source) = chain.last().and_then(|last| last.source()) {
        chain.push(source);
    }
    let said = chain.last().map(ToString::to_string).unwrap_or_default();
    let is_certificate = chain.iter().any(|error| error.to_string().contains("certificate"));
    if is_certificate {
        let error = Error::permanent(format!("{doing}: the server cannot be trusted: {said}"));
        return error.help("check `certificate-authority-data` of the kubeconfig");
    }
    let kind = chain.iter().find_map(|error| Some(error.downcast_ref::<io::Error>()?.kind()));
    let is_nobody = matches!(
        kind,
        Some(
            io::ErrorKind::ConnectionRefused
                | io::ErrorKind::HostUnreachable
                | io::ErrorKind::NetworkUnreachable
        )
    );
    let message = format!("{doing}: no answer: {said}");
    if is_nobody { Error::unreachable(message) } else { Error::transient(message).after(PAUSE) }
}

/// What an answer means that is no success. `sent` is what must not be repeated.
pub(super) fn of_status(doing: &str, status: &Status, header: Option<Duration>, sent: &[String]) -> Refusal {
    let said = clean(&status.message, sent);
    let said = if said.is_empty() { format!("it answered {}", status.code) } else { said };
    let message = format!("{doing}: {said}");
    let details = status.details.as_ref();
    let causes = details.map_or(&[][..], |details| &details.causes);
    let owners: Vec<String> = causes
        .iter()
        .filter(|cause| cause.reason == "FieldManagerConflict")
        .map(|cause| format!("`{}`: {}", cause.field, clean(&cause.message, sent)))
        .collect();
    let after = details.map(|details| u64::from(details.retry_after_seconds)).filter(|seconds| *seconds > 0);
    let after = after.map(Duration::from_secs).max(header);
    match (status.code, &*status.reason) {
        (404, _) => Refusal::Gone(Error::permanent(message)),
        (409, _) if !owners.is_empty() => {
            let message = format!("{doing}: somebody else owns what would be changed: {}", owners.join("; "));
            let help = "leave these fields out, let their owner change them, or take them over with `force = true`";
            Refusal::Owned(Error::permanent(message).help(help))
        }
        (409, "AlreadyExists") => {
            Refusal::Failed(Error::permanent(message).help("import what is there, or choose another name"))
        }
        // Somebody else was faster: what is there now is looked at again.
        (409 | 410, _) => Refusal::Failed(Error::transient(message).after(PAUSE)),
        (401, _) => Refusal::Failed(Error::permanent(message).help(
            "the token is not known or has expired: get a new one, or a kubeconfig that logs in with `exec`; what was done is recorded, and the next run goes on from there",
        )),
        (403, _) if causes.is_empty() && said.contains(" cannot ") => Refusal::Failed(
            Error::permanent(message).help("give the account of the kubeconfig this permission with a Role and a binding"),
        ),
        (403, _) if causes.iter().any(|cause| cause.reason == "NamespaceTerminating") => {
            let error = Error::permanent(message);
            Refusal::Ending(error.help("its namespace is being deleted: wait until it is gone, and run this again"))
        }
        (403, _) => Refusal::Failed(Error::permanent(message).help("the cluster's own rules refuse it")),
        (400, _) if said.ends_with(" does not support dry run") => Refusal::Unrehearsed(Error::permanent(message)),
        (422 | 400, _) => Refusal::Failed(Error::permanent(message).help("the object cannot be as it is written")),
        // A server says so of an object whose fields are of other types, although it is none of its faults.
        (500, _) if said.starts_with("failed to create typed patch object") => {
            Refusal::Failed(Error::permanent(message).help("the object cannot be as it is written"))
        }
        (429, _) => Refusal::Later(Error::transient(message).after(after.unwrap_or(PAUSE))),
        (500.., _) => Refusal::Failed(Error::transient(message).after(after.unwrap_or(PAUSE))),
        _ => Refusal::Failed(Error::permanent(message)),
    }
}

/// What others wrote, in one line, without what was secret in what was sent.
fn clean(text: &str, sent: &[String]) -> String {
    let text = sent.iter().fold(text.to_owned(), |text, secret| text.replace(secret.as_str(), HIDDEN));
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").chars().filter(|c| !c.is_control()).take(LONGEST).collect()
}

/// The texts in an object that may be secret: those in the data of Secrets, and wherever something is called a value.
pub(super) fn delicate(object: &Json) -> Vec<String> {
    fn all(json: &Json, found: &mut Vec<String>) {
        match json {
            Json::String(text) if text.len() > 3 => found.push(text.clone()),
            Json::Array(items) => items.iter().for_each(|item| all(item, found)),
            Json::Object(map) => map.values().for_each(|value| all(value, found)),
            _ => {}
        }
    }
    fn walk(json: &Json, found: &mut Vec<String>) {
        match json {
            Json::Array(items) => items.iter().for_each(|item| walk(item, found)),
            Json::Object(map) => {
                for (name, inner) in map {
                    match &**name {
                        "data" | "stringData" | "value" | "token" | "password" => all(inner, found),
                        _ => walk(inner, found),
                    }
                }
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    walk(object, &mut found);
    // A part of another would leave the rest of it.
    found.sort_by_key(|text| std::cmp::Reverse(text.len()));
    found
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Gone(error)
            | Refusal::Owned(error)
            | Refusal::Later(error)
            | Refusal::Unrehearsed(error)
            | Refusal::Ending(error)
            | Refusal::Failed(error) => error.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// What a `Status` of a server comes to: which sort of refusal, whether it is tried again and when, and what is said.
    #[test]
    fn every_answer_is_an_error_that_helps_or_a_retry() {
        let check = |status: Json, sort: &str, after: Option<u64>, said: &str, help: &str| {
            let status: Status = serde_json::from_value(status).unwrap();
            let refusal = of_status("cannot apply it", &status, None, &[]);
            let found = match &refusal {
                Refusal::Gone(_) => "gone",
                Refusal::Owned(_) => "owned",
                Refusal::Later(_) => "later",
                Refusal::Unrehearsed(_) => "unrehearsed",
                Refusal::Ending(_) => "ending",
                Refusal::Failed(_) => "failed",
            };
            let error = Error::from(refusal);
            assert_eq!(found, sort, "{error}");
            assert_eq!(error.transient, after.is_some(), "{error}");
            assert_eq!(error.retry_after, after.map(Duration::from_secs), "{error}");
            assert!(error.message.contains(said), "{error}");
            assert!(error.help.unwrap_or_default().contains(help), "{}", error.message);
        };
        check(
            json!({ "code": 404, "reason": "NotFound", "message": "x not found" }),
            "gone",
            None,
            "not found",
            "",
        );
        let conflict = json!({
            "code": 409, "reason": "Conflict", "message": "Apply failed with 1 conflict",
            "details": { "causes": [
                { "reason": "FieldManagerConflict", "message": "conflict with \"helm\"", "field": ".data.a" },
            ] },
        });
        check(conflict, "owned", None, "`.data.a`: conflict with \"helm\"", "force = true");
        check(
            json!({ "code": 409, "reason": "Conflict", "message": "modified" }),
            "failed",
            Some(2),
            "modified",
            "",
        );
        check(
            json!({ "code": 409, "reason": "AlreadyExists", "message": "is" }),
            "failed",
            None,
            "is",
            "import",
        );
        check(
            json!({ "code": 410, "reason": "Expired", "message": "too old" }),
            "failed",
            Some(2),
            "too old",
            "",
        );
        check(
            json!({ "code": 422, "reason": "Invalid", "message": "spec.x: bad" }),
            "failed",
            None,
            "spec.x",
            "written",
        );
        let busy = json!({
            "code": 429, "reason": "TooManyRequests", "message": "slow", "details": { "retryAfterSeconds": 7 },
        });
        check(busy, "later", Some(7), "slow", "");
        check(
            json!({ "code": 401, "reason": "Unauthorized", "message": "Unauthorized" }),
            "failed",
            None,
            "Unauth",
            "expired",
        );
        let denied = json!({ "code": 403, "reason": "Forbidden", "message": "nodes is forbidden: User \"u\" cannot list x" });
        check(denied, "failed", None, "User \"u\" cannot list", "permission");
        let refused = json!({ "code": 403, "reason": "Forbidden", "message": "denied by policy: no" });
        check(refused, "failed", None, "denied by policy", "own rules");
        let ending = json!({
            "code": 403, "reason": "Forbidden", "message": "pods \"a\" is forbidden: being terminated",
            "details": { "causes": [{ "reason": "NamespaceTerminating", "message": "m", "field": "metadata.namespace" }] },
        });
        check(ending, "ending", None, "being terminated", "namespace is being deleted");
        let typed = json!({ "code": 500, "message": "failed to create typed patch object (a/b; /v1, Kind=ConfigMap): .data.a: expected string, got 1" });
        check(typed, "failed", None, ".data.a: expected string", "written");
        let unsure = json!({ "code": 400, "reason": "BadRequest", "message": "admission webhook \"a.b\" does not support dry run" });
        check(unsure, "unrehearsed", None, "\"a.b\"", "");
        check(json!({ "code": 500, "message": "oops" }), "failed", Some(2), "oops", "");
        check(json!({ "code": 503 }), "failed", Some(2), "it answered 503", "");
    }

    #[test]
    fn what_is_sent_is_not_repeated() {
        let object = json!({
            "kind": "Secret", "stringData": { "a": "topsecret" }, "data": { "b": "dG9wc2VjcmV0" },
            "spec": { "containers": [{ "name": "container", "env": [{ "name": "X", "value": "hidden-too" }] }] },
        });
        let sent = delicate(&object);
        let text = "Invalid value: \"topsecret\" dG9wc2VjcmV0 hidden-too container\n\u{1b}[0m";
        assert_eq!(clean(text, &sent), "Invalid value: \"(secret)\" (secret) (secret) container [0m");
    }
}

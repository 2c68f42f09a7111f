//! Waiting until an object is as it should be, or gone.
//!
//! A watch says that something happened, and then the object is looked at again. So a watch that expires, or that ends, or that
//! is not allowed costs a moment, and nothing is missed.

use std::time::{Duration, Instant};

use fleet_engine::resource::Error;
use serde_json::Value as Json;

use super::client::{Looking, Place};
use super::json::text;
use super::owned::finalizers;

/// How long something is waited for, unless somebody says otherwise.
pub(super) const PATIENCE: Duration = Duration::from_secs(300);

/// The pause before the next look where no watch tells when.
const PAUSE: Duration = Duration::from_millis(500);

/// Looks at an object until something is true of it. If that does not happen in time: what it was like in the end.
async fn until(
    looking: &Looking,
    place: &Place<'_>,
    patience: Duration,
    is_so: impl Fn(Option<&Json>) -> bool,
) -> Result<Result<(), Option<Json>>, Error> {
    let end = Instant::now() + patience;
    loop {
        let live = looking.get(place).await?;
        if is_so(live.as_ref()) {
            return Ok(Ok(()));
        }
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(Err(live));
        }
        if !looking.hears_of(place, live.as_ref(), left).await {
            tokio::time::sleep(PAUSE.min(left)).await;
        }
    }
}

/// Waits until an object is gone that is being deleted; who holds it back is told.
pub(super) async fn gone(
    looking: &Looking,
    place: &Place<'_>,
    uid: &str,
    patience: Duration,
) -> Result<(), Error> {
    // Somebody may make another of the same name.
    let is_other = |live: &Json| !uid.is_empty() && text(live, &["metadata", "uid"]) != uid;
    let ended = until(looking, place, patience, |live| live.is_none_or(is_other)).await?;
    let Err(left) = ended else { return Ok(()) };
    let held = left.as_ref().map(finalizers).unwrap_or_default();
    let waited = humantime::format_duration(patience);
    if held.is_empty() {
        let error = Error::permanent(format!("{place} is being deleted, and still there after {waited}"));
        return Err(error.help("see who has to end it first, and run this again"));
    }
    let held = held.join("`, `");
    let remains = left.as_ref().map(remains).unwrap_or_default();
    let message = format!(
        "{place} is being deleted, and the finalizer `{held}` holds it, still after {waited}{remains}"
    );
    Err(Error::permanent(message).help(
        "whoever set the finalizer has to finish its work; if that is gone for good, remove the finalizer by hand; then run this again",
    ))
}

/// What a namespace that is being deleted says of itself: what is left in it, and who holds that.
fn remains(live: &Json) -> String {
    let all = live["status"]["conditions"].as_array().into_iter().flatten();
    let true_ones = all.filter(|one| live["kind"] == "Namespace" && one["status"] == "True");
    true_ones.map(|one| format!("; {}", text(one, &["message"]).trim_end_matches('.'))).collect()
}

/// Waits until conditions are true.
pub(super) async fn come_true(
    looking: &Looking,
    place: &Place<'_>,
    conditions: &[String],
    patience: Duration,
) -> Result<(), Error> {
    if conditions.is_empty() {
        return Ok(());
    }
    // What is gone is waited for no longer.
    let is_so =
        |live: Option<&Json>| live.is_none_or(|live| conditions.iter().all(|name| is_true(live, name)));
    match until(looking, place, patience, is_so).await? {
        Ok(()) => Ok(()),
        Err(left) => {
            let left = left.unwrap_or_default();
            let missing = conditions.iter().filter(|name| !is_true(&left, name));
            let missing: Vec<String> = missing.map(|name| told(&left, name)).collect();
            let waited = humantime::format_duration(patience);
            let message =
                format!("{place} was applied, and is not yet {} after {waited}", missing.join(", "));
            Err(Error::permanent(message)
                .help("see who keeps it; run this again, or give a longer `timeout`"))
        }
    }
}

/// What a condition that is missing says of itself.
fn told(live: &Json, condition: &str) -> String {
    let all = live["status"]["conditions"].as_array().into_iter().flatten();
    let said: String =
        all.filter(|one| one["type"] == condition).map(|one| text(one, &["message"])).collect();
    if said.is_empty() { format!("`{condition}`") } else { format!("`{condition}` ({said})") }
}

/// Whether a condition is true of an object as it is now.
pub(super) fn is_true(live: &Json, condition: &str) -> bool {
    let all = live["status"]["conditions"].as_array().into_iter().flatten();
    let is_it = |one: &&Json| one["type"] == condition && one["status"] == "True";
    all.filter(is_it).any(|one| {
        // What is said of an older version of it is not yet true of this one.
        let seen =
            one["observedGeneration"].as_u64().or_else(|| live["status"]["observedGeneration"].as_u64());
        seen.is_none_or(|seen| live["metadata"]["generation"].as_u64().is_none_or(|now| seen >= now))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_condition_is_true_of_what_was_seen() {
        let live = |status: Json| json!({ "metadata": { "generation": 2 }, "status": status });
        let one = |status: &str, seen: Json| json!({ "type": "Ready", "status": status, "observedGeneration": seen, "message": "soon" });
        for (live, expected) in [
            (live(json!({ "conditions": [one("True", json!(2))] })), true),
            (live(json!({ "conditions": [one("True", json!(1))] })), false),
            (live(json!({ "conditions": [one("False", json!(2))] })), false),
            (live(json!({ "conditions": [one("True", Json::Null)], "observedGeneration": 1 })), false),
            (live(json!({ "conditions": [one("True", Json::Null)] })), true),
            (live(json!({})), false),
        ] {
            assert_eq!(is_true(&live, "Ready"), expected, "{live}");
        }
        assert_eq!(told(&live(json!({ "conditions": [one("False", json!(2))] })), "Ready"), "`Ready` (soon)");
    }

    #[test]
    fn a_namespace_says_what_remains_in_it() {
        let condition = |kind: &str, status: &str, message: &str| json!({ "type": kind, "status": status, "message": message });
        let namespace = json!({
            "kind": "Namespace", "metadata": { "finalizers": ["a.b/c"] }, "spec": { "finalizers": ["kubernetes"] },
            "status": { "conditions": [
                condition("NamespaceContentRemaining", "True", "Some resources are remaining."),
                condition("NamespaceDeletionContentFailure", "False", "All content successfully deleted"),
                condition("NamespaceFinalizersRemaining", "True", "Some content has finalizers"),
            ] },
        });
        assert_eq!(remains(&namespace), "; Some resources are remaining; Some content has finalizers");
        assert_eq!(finalizers(&namespace), ["a.b/c", "kubernetes"]);
        let other = json!({ "kind": "Volume", "metadata": {}, "spec": { "finalizers": ["x"] }, "status": { "conditions": [condition("Ready", "True", "m")] } });
        assert_eq!((remains(&other), finalizers(&other).len()), (String::new(), 0));
    }
}

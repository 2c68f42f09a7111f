//! Draining a Node: nothing new comes, and what is there is asked to go, as budgets allow.

use std::time::{Duration, Instant};

use fleet_engine::resource::Error;
use serde_json::{Value as Json, json};

use super::client::{Acting, Resource};
use super::json::text;
use super::owned::finalizers;
use super::refusal::Refusal;

/// How often it is looked whether pods are gone.
const PAUSE: Duration = Duration::from_secs(1);

fn nodes() -> Resource {
    Resource::core("Node", "nodes", false)
}

pub(super) fn pods() -> Resource {
    Resource::core("Pod", "pods", true)
}

/// A pod that is still there, and why.
pub(super) struct Left {
    pod: String,
    why: String,
}

/// What is known of a cordon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cordon {
    /// Pods may come.
    None,
    /// We keep them away.
    Ours,
    /// Somebody else keeps them away.
    Theirs,
}

impl Cordon {
    /// Whose a cordon is, the server knows: whoever changed the field last.
    pub(super) fn of(node: &Json, manager: &str) -> Cordon {
        let entries = node["metadata"]["managedFields"].as_array().into_iter().flatten();
        let is_ours = |entry: &Json| {
            entry["manager"] == manager && !entry["fieldsV1"]["f:spec"]["f:unschedulable"].is_null()
        };
        match node["spec"]["unschedulable"] == true {
            false => Cordon::None,
            true if entries.into_iter().any(is_ours) => Cordon::Ours,
            true => Cordon::Theirs,
        }
    }
}

/// Lets nothing new onto a Node.
pub(super) async fn cordon(acting: &Acting, name: &str) -> Result<(), Error> {
    match set_cordon(acting, name, json!({}), true).await {
        Ok(()) | Err(Refusal::Gone(_)) => Ok(()),
        Err(refusal) => Err(refusal.into()),
    }
}

/// Keeps new pods away from a Node or lets them come, if it is still the one of these metadata.
pub(super) async fn set_cordon(
    acting: &Acting,
    name: &str,
    metadata: Json,
    is_closed: bool,
) -> Result<(), Refusal> {
    let closed = is_closed.then_some(true);
    let patch = json!({ "metadata": metadata, "spec": { "unschedulable": closed } });
    acting.merge(&nodes().one("", name), &patch).await.map(drop)
}

/// Evicts all pods of a Node and waits until they are gone; those that are left at the deadline.
pub(super) async fn drain(acting: &Acting, name: &str, within: Duration) -> Result<Vec<Left>, Error> {
    let begun = Instant::now();
    loop {
        let selector = format!("spec.nodeName={name}");
        let all = acting.looking.list(&pods().all(None), &[("fieldSelector", &selector)]).await?;
        let mut left = Vec::new();
        for pod in all.iter().filter(|pod| must_go(pod)) {
            left.extend(evict(acting, pod).await?);
        }
        if left.is_empty() || begun.elapsed() >= within {
            return Ok(left);
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Pods of DaemonSets come back, static ones are the agent's own, and what is over disturbs nobody.
fn must_go(pod: &Json) -> bool {
    let owners = pod["metadata"]["ownerReferences"].as_array().into_iter().flatten();
    let is_daemon =
        owners.into_iter().any(|owner| owner["kind"] == "DaemonSet" && owner["controller"] == true);
    let is_static = !pod["metadata"]["annotations"]["kubernetes.io/config.mirror"].is_null();
    let is_over = matches!(text(pod, &["status", "phase"]), "Succeeded" | "Failed");
    let is_held = !finalizers(pod).is_empty() && !pod["metadata"]["deletionTimestamp"].is_null();
    !is_daemon && !is_static && (!is_over || is_held)
}

/// Asks one pod to go; it is told as left until it is gone.
async fn evict(acting: &Acting, pod: &Json) -> Result<Option<Left>, Error> {
    let (namespace, name) = (text(pod, &["metadata", "namespace"]), text(pod, &["metadata", "name"]));
    let left = |why: String| Some(Left { pod: format!("{namespace}/{name}"), why });
    if !pod["metadata"]["deletionTimestamp"].is_null() {
        let held = finalizers(pod);
        let why = if held.is_empty() {
            "it is ending".to_owned()
        } else {
            format!("the finalizer `{}` holds it", held.join("`, `"))
        };
        return Ok(left(why));
    }
    let eviction = json!({
        "apiVersion": "policy/v1", "kind": "Eviction", "metadata": { "name": name, "namespace": namespace },
        "deleteOptions": { "preconditions": { "uid": text(pod, &["metadata", "uid"]) } },
    });
    let place = pods().one(namespace, name).sub("eviction");
    match acting.create(&place, &eviction, &acting.looking.manager).await {
        Ok(_) => Ok(left("it is ending".to_owned())),
        Err(Refusal::Gone(_)) => Ok(None),
        // A budget does not let it go now.
        Err(Refusal::Later(error)) => Ok(left(error.message)),
        Err(Refusal::Ending(_)) => Ok(left("its namespace is being deleted".to_owned())),
        // Another of the same name: it is seen in the next round.
        Err(Refusal::Failed(error)) if error.transient => Ok(left(error.message)),
        Err(refusal) => Err(refusal.into()),
    }
}

/// Pods that are left, in words.
pub(super) fn told(left: &[Left]) -> String {
    let told: Vec<String> = left.iter().map(|left| format!("`{}` ({})", left.pod, left.why)).collect();
    told.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cordon_is_whose_field_it_is() {
        let node = |closed: bool, manager: &str| {
            let fields = json!({ "f:spec": { "f:unschedulable": {} } });
            let entry = json!({ "manager": manager, "operation": "Update", "fieldsV1": fields });
            let other =
                json!({ "manager": "fleet", "operation": "Apply", "fieldsV1": { "f:spec": { "f:x": {} } } });
            json!({ "metadata": { "managedFields": [other, entry] }, "spec": { "unschedulable": closed } })
        };
        assert_eq!(Cordon::of(&node(true, "fleet"), "fleet"), Cordon::Ours);
        assert_eq!(Cordon::of(&node(true, "kubectl-cordon"), "fleet"), Cordon::Theirs);
        assert_eq!(Cordon::of(&node(false, "fleet"), "fleet"), Cordon::None);
        assert_eq!(Cordon::of(&json!({ "spec": { "unschedulable": true } }), "fleet"), Cordon::Theirs);
    }

    #[test]
    fn what_must_go() {
        let pod = |metadata: Json, phase: &str| json!({ "metadata": metadata, "status": { "phase": phase } });
        let owned = json!({ "ownerReferences": [{ "kind": "DaemonSet", "controller": true }] });
        let mirror = json!({ "annotations": { "kubernetes.io/config.mirror": "x" } });
        let held = json!({ "deletionTimestamp": "t", "finalizers": ["x"] });
        for (pod, expected) in [
            (pod(json!({}), "Running"), true),
            (pod(json!({}), "Pending"), true),
            (pod(json!({}), "Succeeded"), false),
            (pod(owned, "Running"), false),
            (pod(mirror, "Running"), false),
            (pod(held, "Succeeded"), true),
        ] {
            assert_eq!(must_go(&pod), expected, "{pod}");
        }
    }
}

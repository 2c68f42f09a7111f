//! `kubernetes_stuck_pods`: pods that cannot go because nobody is left to let them.

use std::time::{Duration, SystemTime};

use fleet_derive::Schema;
use fleet_engine::attributes::Misfit;
use fleet_engine::finding::{Finding, Known, table};
use fleet_engine::resource::{ApiKind, At, Change, Error, Resource};
use futures_util::future::join_all;
use serde_json::{Value as Json, json};

use super::client::{self, Acting, Looking};
use super::drain::pods;
use super::json::text;
use super::owned::finalizers;
use super::refusal::Refusal;

/// Pods that are being deleted and that a finalizer holds, although whoever set it is gone: found, and set free.
///
/// An agent on a Mac holds its pods with a finalizer until their virtual machines are cleaned up. When the Mac is gone, nobody
/// takes it away, and such pods stay for ever. A pod counts as stuck when it was to be gone for longer than `after`, has the
/// finalizer, and its Node is gone or not ready. A plan shows their names as a difference; apply takes that one finalizer off
/// those pods, and off no others. Removing this resource changes nothing.
///
/// ```hcl
/// resource "kubernetes_stuck_pods" "vms" {
///   finalizer = "example.com/vm-cleanup"
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Schema)]
pub(super) struct StuckPods {
    /// The finalizer that is taken away.
    #[fleet(replace)]
    finalizer: String,
    /// How long ago a pod must have been to be gone.
    #[fleet(default = "10m")]
    after: String,
    /// The pods that are stuck, as `namespace/name`: none, once this was applied.
    #[fleet(default = Vec::new())]
    stuck: Vec<String>,
}

impl Resource for StuckPods {
    const NAME: &'static str = "kubernetes_stuck_pods";
    const LIVES_IN_STATE: bool = true;
    const DETECTS: &'static [&'static Known] = &[&table::PODS_HELD];

    fn findings(&self) -> Vec<Finding> {
        let told = || format!("the finalizer `{}` holds {}", self.finalizer, self.stuck.join(", "));
        let found = (!self.stuck.is_empty()).then(|| table::PODS_HELD.seen_by(told()));
        found.into_iter().collect()
    }

    fn normalize(&mut self) -> Result<(), Misfit> {
        if !self.finalizer.contains('/') {
            return Err(Misfit::new(
                "finalizer",
                "a finalizer has a domain, such as `example.com/vm-cleanup`",
            ));
        }
        if humantime::parse_duration(&self.after).is_err() {
            return Err(Misfit::new("after", "a duration is a text with a unit, such as `10m`"));
        }
        if !self.stuck.is_empty() {
            return Err(Misfit::new("stuck", "it is found out, and cannot be wished"));
        }
        Ok(())
    }
}

impl ApiKind for StuckPods {
    type Reader = Looking;
    type Writer = Acting;

    async fn observe(reader: &Looking, batch: Vec<At<StuckPods>>) -> Vec<Result<Option<StuckPods>, Error>> {
        join_all(batch.into_iter().map(|at| observe(reader, at))).await
    }

    async fn apply(self, writer: &Acting, _: Change<StuckPods>) -> Result<StuckPods, Error> {
        for pod in find(&writer.looking, &self).await? {
            let left: Vec<String> =
                finalizers(&pod).into_iter().filter(|name| *name != self.finalizer).collect();
            let (namespace, name) =
                (text(&pod, &["metadata", "namespace"]), text(&pod, &["metadata", "name"]));
            // Somebody who changed it meanwhile is a reason to look again.
            let version = text(&pod, &["metadata", "resourceVersion"]);
            let patch = json!({ "metadata": { "finalizers": left, "resourceVersion": version } });
            match writer.merge(&pods().one(namespace, name), &patch).await {
                Ok(_) | Err(Refusal::Gone(_)) => {}
                Err(refusal) => return Err(refusal.into()),
            }
        }
        Ok(self)
    }

    async fn destroy(_: &Acting, _: StuckPods) -> Result<(), Error> {
        Ok(())
    }
}

async fn observe(reader: &Looking, at: At<StuckPods>) -> Result<Option<StuckPods>, Error> {
    let asked = match at {
        At::Recorded(asked) | At::Begun { wish: asked, .. } => asked,
        // Nothing of it is in the cluster but what it finds there.
        At::Declared(_) | At::Id(_) => return Ok(None),
    };
    let mut stuck: Vec<String> = find(reader, &asked)
        .await?
        .iter()
        .map(|pod| format!("{}/{}", text(pod, &["metadata", "namespace"]), text(pod, &["metadata", "name"])))
        .collect();
    stuck.sort();
    Ok(Some(StuckPods { stuck, ..asked }))
}

async fn find(looking: &Looking, asked: &StuckPods) -> Result<Vec<Json>, Error> {
    let nodes = looking.list(&client::Resource::core("Node", "nodes", false).all(None), &[]).await?;
    let all = looking.list(&pods().all(None), &[]).await?;
    let after = humantime::parse_duration(&asked.after).unwrap_or(Duration::from_secs(600));
    let now = looking.now().await?;
    Ok(all.into_iter().filter(|pod| is_stuck(pod, &nodes, &asked.finalizer, after, now)).collect())
}

fn is_stuck(pod: &Json, nodes: &[Json], finalizer: &str, after: Duration, now: SystemTime) -> bool {
    let deleted = humantime::parse_rfc3339(text(pod, &["metadata", "deletionTimestamp"])).ok();
    let is_overdue = deleted.is_some_and(|end| now.duration_since(end).is_ok_and(|age| age > after));
    let node =
        nodes.iter().find(|node| text(node, &["metadata", "name"]) == text(pod, &["spec", "nodeName"]));
    let is_kept = node.is_some_and(|node| {
        let conditions = node["status"]["conditions"].as_array().into_iter().flatten();
        conditions.into_iter().any(|one| one["type"] == "Ready" && one["status"] == "True")
    });
    is_overdue && !is_kept && finalizers(pod).iter().any(|held| held == finalizer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_is_stuck_when_nobody_is_left_to_let_it_go() {
        let now = humantime::parse_rfc3339("2026-01-01T01:00:00Z").unwrap();
        let pod = |deleted: &str, finalizer: &str| {
            json!({
                "metadata": { "deletionTimestamp": deleted, "finalizers": [finalizer] }, "spec": { "nodeName": "n" },
            })
        };
        let node = |ready: &str| json!({ "metadata": { "name": "n" }, "status": { "conditions": [{ "type": "Ready", "status": ready }] } });
        let old = "2026-01-01T00:00:00Z";
        for (pod, nodes, expected) in [
            (pod(old, "x/y"), vec![], true),
            (pod(old, "x/y"), vec![node("Unknown")], true),
            (pod(old, "x/y"), vec![node("True")], false),
            (pod(old, "x/z"), vec![], false),
            (pod("2026-01-01T00:55:00Z", "x/y"), vec![], false),
            (json!({ "metadata": { "finalizers": ["x/y"] } }), vec![], false),
        ] {
            assert_eq!(
                is_stuck(&pod, &nodes, "x/y", Duration::from_secs(600), now),
                expected,
                "{pod} {nodes:?}"
            );
        }
    }
}

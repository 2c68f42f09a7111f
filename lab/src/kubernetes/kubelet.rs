//! The agents of nodes: each keeps its Node as long as it runs, with the token that it was given.
//!
//! An agent that is not there any more is not heard of, and after a while its Node is `Unknown`. So is one whose token is
//! good no more. Labels that begin as the agent's own do, and that it does not set, it takes away.

use std::collections::BTreeMap;
use std::sync::Weak;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::access::User;
use super::books::{Books, stamp};
use super::controllers::condition;
use super::kinds::Kind;
use super::route::Call;
use crate::clock::Time;

/// How often an agent tells that it is there.
pub(super) const BEAT: Duration = Duration::from_secs(10);

/// For how long it is believed without.
const PATIENCE: Duration = Duration::from_secs(40);

/// An agent that runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kubelet {
    /// The name of its Node.
    pub node: String,
    /// What it shows to the server.
    pub token: String,
    /// Where its machine is.
    pub address: Option<String>,
    /// What it writes where the Node has none.
    pub provider_id: Option<String>,
    /// What it sets.
    pub labels: BTreeMap<String, String>,
    /// How the labels begin that are its alone.
    pub own_labels: Option<String>,
}

/// Whoever knows which agents run.
pub trait Kubelets: Send + Sync {
    /// Those that run now.
    fn running(&self) -> Vec<Kubelet>;

    /// From now on they run the Pods of a cluster.
    fn serve(&self, pods: Weak<dyn Pods>);
}

/// Whoever knows which Pods are to run where.
pub trait Pods: Send + Sync {
    /// The Pods on a Node that are not over, as their VMs are called.
    fn on(&self, node: &str) -> Vec<String>;
}

impl Books {
    /// An agent tells that it is there, if it may.
    pub(super) fn beat(&mut self, kubelet: &Kubelet, now: Time) {
        let Some(nodes) = Kind::named("Node") else { return };
        let Ok(user) = self.authenticate(Some(&kubelet.token), now) else { return };
        let known = self.get(nodes, None, &kubelet.node).cloned();
        let verb = if known.is_some() { "patch" } else { "create" };
        if !self.may_keep(&user, verb, nodes, &kubelet.node) {
            return;
        }
        let node = known.unwrap_or_else(|| {
            let metadata =
                json!({ "name": kubelet.node, "uid": self.uid(), "creationTimestamp": stamp(now) });
            self.put(nodes, json!({ "apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": {} }))
        });
        self.amend(nodes, &node, ("tart-kubelet", false), now, |node| kubelet.tell(node, now));
        self.renew(kubelet, &node, now);
    }

    fn may_keep(&self, user: &User, verb: &'static str, kind: &'static Kind, name: &str) -> bool {
        let call = Call { verb, kind, namespace: None, name: name.to_owned(), sub: None, query: Vec::new() };
        self.authorize(user, &call).is_ok()
    }

    fn renew(&mut self, kubelet: &Kubelet, node: &Value, now: Time) {
        let Some(leases) = Kind::named("Lease") else { return };
        let known = self.get(leases, Some("kube-node-lease"), &kubelet.node).cloned();
        let uid = known.as_ref().and_then(|lease| lease["metadata"]["uid"].as_str()).map(str::to_owned);
        let uid = uid.unwrap_or_else(|| self.uid());
        let owner = json!({ "apiVersion": "v1", "kind": "Node", "name": kubelet.node, "uid": node["metadata"]["uid"] });
        let metadata = json!({
            "name": kubelet.node, "namespace": "kube-node-lease", "uid": uid, "creationTimestamp": stamp(now), "ownerReferences": [owner],
        });
        let spec = json!({
            "holderIdentity": kubelet.node, "leaseDurationSeconds": PATIENCE.as_secs(), "renewTime": now.to_string(),
        });
        self.put(leases, json!({ "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec }));
    }

    /// The Pods on a Node that are not over.
    pub(super) fn pods_on(&self, node: &str) -> Vec<String> {
        let Some(pods) = Kind::named("Pod") else { return Vec::new() };
        let is_over = |pod: &Value| matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
        let here = self.all(pods, None).filter(|pod| pod["spec"]["nodeName"] == node && !is_over(pod));
        let part = |pod: &Value, name: &str| pod["metadata"][name].as_str().unwrap_or_default().to_owned();
        here.map(|pod| format!("{}-{}", part(pod, "namespace"), part(pod, "name"))).collect()
    }

    /// Nodes that were not heard of for long are `Unknown`.
    pub(super) fn miss(&mut self, now: Time) {
        let Some(nodes) = Kind::named("Node") else { return };
        let all: Vec<Value> = self.all(nodes, None).cloned().collect();
        for node in all {
            let last =
                ready(&node).and_then(|ready| ready["lastHeartbeatTime"].as_str()?.parse::<Time>().ok());
            let is_missed = last.is_some_and(|last| now.since(last) > PATIENCE);
            if is_missed && condition(&node, "Ready") != Some("Unknown") {
                self.amend(nodes, &node, ("kube-controller-manager", true), now, |node| {
                    let conditions = node["status"]["conditions"].as_array_mut().into_iter().flatten();
                    for condition in conditions.filter(|condition| condition["type"] == "Ready") {
                        condition["status"] = json!("Unknown");
                        condition["reason"] = json!("NodeStatusUnknown");
                        condition["message"] = json!("Kubelet stopped posting node status.");
                        condition["lastTransitionTime"] = json!(stamp(now));
                    }
                });
            }
        }
    }
}

fn ready(node: &Value) -> Option<&Value> {
    node["status"]["conditions"].as_array()?.iter().find(|condition| condition["type"] == "Ready")
}

impl Kubelet {
    /// Writes what it knows of its machine into its Node.
    fn tell(&self, node: &mut Value, now: Time) {
        let mut labels: Map<String, Value> =
            node["metadata"]["labels"].as_object().cloned().unwrap_or_default();
        let usual = [
            ("kubernetes.io/arch", "arm64"),
            ("kubernetes.io/os", "darwin"),
            ("kubernetes.io/hostname", &*self.node),
        ];
        let own = self.labels.iter().map(|(name, value)| (&**name, &**value));
        let all: Vec<(&str, &str)> = usual.into_iter().chain(own).collect();
        if let Some(start) = &self.own_labels {
            labels.retain(|name, _| !name.starts_with(start) || all.iter().any(|(known, _)| known == name));
        }
        labels.extend(all.iter().map(|(name, value)| ((*name).to_owned(), json!(value))));
        node["metadata"]["labels"] = Value::Object(labels);
        if let Some(provider_id) = self.provider_id.as_ref().filter(|_| node["spec"]["providerID"].is_null())
        {
            node["spec"]["providerID"] = json!(provider_id);
        }
        let since = ready(node)
            .filter(|ready| ready["status"] == "True")
            .map(|ready| ready["lastTransitionTime"].clone());
        let ready = json!({
            "type": "Ready", "status": "True", "reason": "KubeletReady", "message": "the agent of the lab is there",
            "lastHeartbeatTime": stamp(now), "lastTransitionTime": since.unwrap_or_else(|| json!(stamp(now))),
        });
        let mut addresses = vec![json!({ "type": "Hostname", "address": self.node })];
        addresses
            .extend(self.address.iter().map(|address| json!({ "type": "InternalIP", "address": address })));
        let room = json!({ "cpu": "8", "memory": "14336Mi", "pods": "2" });
        node["status"] = json!({
            "conditions": [ready], "addresses": addresses, "capacity": room, "allocatable": room,
            "nodeInfo": {
                "architecture": "arm64", "operatingSystem": "darwin", "kubeletVersion": "v1.33.0-tart", "osImage": "macOS",
                "kernelVersion": "", "machineID": "", "systemUUID": "", "bootID": "", "containerRuntimeVersion": "tart://2",
                "kubeProxyVersion": "",
            },
        });
    }
}

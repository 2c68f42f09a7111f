//! What happens by itself in a cluster, a moment after something changed.
//!
//! | who | what |
//! |---|---|
//! | accounts | every namespace has an account `default`; Secrets for tokens are filled, and go with their account |
//! | tokens for joining | go when they expire |
//! | namespaces | one that is deleted takes everything in it along |
//! | owners | what only belongs to what is gone goes, too |
//! | pods | run on the node they are on, and end there when they are deleted; go with a node that is gone |
//! | deployments | are available |
//! | budgets | say how many pods may go |

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use super::books::{Books, stamp};
use super::kinds::{KINDS, Kind};
use super::managed::{self, Manager};
use super::remove::finalizers;
use crate::clock::Time;

/// Who these are to the owners of fields.
const CONTROLLERS: &str = "kube-controller-manager";

/// The text of base64.
pub(super) fn decoded(value: &Value) -> Option<String> {
    String::from_utf8(BASE64_STANDARD.decode(value.as_str()?).ok()?).ok()
}

impl Books {
    /// Everything that is to be done now; when something is due next, if that is known.
    pub(super) fn tend(&mut self, authority: &str, now: Time) -> Option<Time> {
        self.tend_accounts(authority, now);
        let expiry = self.tend_joining(now);
        self.tend_namespaces(now);
        self.tend_owned(now);
        let ending = self.tend_pods(now);
        self.tend_deployments(now);
        self.tend_budgets(now);
        [expiry, ending].into_iter().flatten().min()
    }

    fn every(&self, kind: &str) -> Vec<(&'static Kind, Value)> {
        let kind = Kind::named(kind);
        kind.into_iter()
            .flat_map(|kind| self.all(kind, None).map(move |object| (kind, object.clone())))
            .collect()
    }

    /// Changes an object, as one of those who do so by themselves.
    pub(super) fn amend(
        &mut self,
        kind: &'static Kind,
        object: &Value,
        by: (&str, bool),
        now: Time,
        edit: impl FnOnce(&mut Value),
    ) {
        let mut after = object.clone();
        edit(&mut after);
        if after == *object {
            return;
        }
        let (name, status) = by;
        let by = Manager { name: name.to_owned(), applies: false, api_version: kind.api_version(), status };
        managed::update(kind.kind, object, &mut after, &by, &stamp(now));
        self.put(kind, after);
    }

    fn tend_accounts(&mut self, authority: &str, now: Time) {
        let Some(accounts) = Kind::named("ServiceAccount") else { return };
        for (_, namespace) in self.every("Namespace") {
            let name = namespace["metadata"]["name"].as_str().unwrap_or_default();
            let is_active = namespace["metadata"]["deletionTimestamp"].is_null();
            if is_active && self.get(accounts, Some(name), "default").is_none() {
                let metadata = json!({
                    "name": "default", "namespace": name, "uid": self.uid(), "creationTimestamp": stamp(now),
                });
                self.put(
                    accounts,
                    json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata }),
                );
            }
        }
        for (kind, secret) in self.every("Secret") {
            if secret["type"] != "kubernetes.io/service-account-token" {
                continue;
            }
            let metadata = &secret["metadata"];
            let (namespace, name) =
                (metadata["namespace"].as_str(), metadata["name"].as_str().unwrap_or_default());
            let annotations = &metadata["annotations"];
            let account = annotations["kubernetes.io/service-account.name"].as_str().unwrap_or_default();
            let uid = &annotations["kubernetes.io/service-account.uid"];
            let Some(account) = self.get(accounts, namespace, account).cloned() else {
                self.begin_removal(kind, &secret, None, now);
                continue;
            };
            if !uid.is_null() && *uid != account["metadata"]["uid"] {
                self.begin_removal(kind, &secret, None, now);
            } else if secret["data"]["token"].is_null() {
                let token = self.give_token(&account, Some(name), None);
                self.amend(kind, &secret, (CONTROLLERS, false), now, |secret| {
                    secret["metadata"]["annotations"]["kubernetes.io/service-account.uid"] =
                        account["metadata"]["uid"].clone();
                    let encode = |text: &str| json!(BASE64_STANDARD.encode(text));
                    secret["data"]["token"] = encode(&token);
                    secret["data"]["ca.crt"] = encode(authority);
                    secret["data"]["namespace"] = encode(namespace.unwrap_or_default());
                });
            }
        }
    }

    fn tend_joining(&mut self, now: Time) -> Option<Time> {
        let mut next = None;
        for (kind, secret) in self.every("Secret") {
            let end = decoded(&secret["data"]["expiration"]).and_then(|end| end.parse::<Time>().ok());
            match end.filter(|_| secret["type"] == "bootstrap.kubernetes.io/token") {
                Some(end) if end <= now => {
                    self.begin_removal(kind, &secret, None, now);
                }
                Some(end) => next = Some(next.map_or(end, |next: Time| next.min(end))),
                None => {}
            }
        }
        next
    }

    fn tend_namespaces(&mut self, now: Time) {
        for (kind, namespace) in self.every("Namespace") {
            if namespace["metadata"]["deletionTimestamp"].is_null() {
                continue;
            }
            let name = namespace["metadata"]["name"].as_str().unwrap_or_default();
            for inner in KINDS.iter().filter(|kind| kind.namespaced) {
                let all: Vec<Value> = self.all(inner, Some(name)).cloned().collect();
                for object in all {
                    self.begin_removal(inner, &object, None, now);
                }
            }
            let is_empty = KINDS
                .iter()
                .filter(|kind| kind.namespaced)
                .all(|kind| self.all(kind, Some(name)).next().is_none());
            if is_empty && finalizers(&namespace).is_empty() {
                self.remove(kind, &namespace);
            } else if !is_empty {
                self.tell_what_remains(kind, &namespace, now);
            }
        }
    }

    /// A namespace that cannot go says what is left in it, and who holds that.
    fn tell_what_remains(&mut self, kind: &'static Kind, namespace: &Value, now: Time) {
        let name = namespace["metadata"]["name"].as_str().unwrap_or_default();
        let (mut left, mut holders) = (Vec::new(), BTreeMap::<String, usize>::new());
        for inner in KINDS.iter().filter(|kind| kind.namespaced) {
            let all: Vec<&Value> = self.all(inner, Some(name)).collect();
            if !all.is_empty() {
                left.push(format!("{} has {} resource instances", inner.qualified(), all.len()));
            }
            for holder in all.into_iter().flat_map(finalizers) {
                *holders.entry(holder.as_str().unwrap_or_default().to_owned()).or_default() += 1;
            }
        }
        let held: Vec<String> =
            holders.iter().map(|(name, count)| format!("{name} in {count} resource instances")).collect();
        let condition = |kind: &str, message: String, is_so: bool| json!({ "type": kind, "status": if is_so { "True" } else { "False" }, "message": message });
        let conditions = json!([
            condition(
                "NamespaceContentRemaining",
                format!("Some resources are remaining: {}", left.join(", ")),
                !left.is_empty()
            ),
            condition(
                "NamespaceFinalizersRemaining",
                format!("Some content in the namespace has finalizers remaining: {}", held.join(", ")),
                !held.is_empty()
            ),
        ]);
        self.amend(kind, namespace, (CONTROLLERS, true), now, |namespace| {
            namespace["status"]["conditions"] = conditions;
        });
    }

    fn tend_owned(&mut self, now: Time) {
        let known: Vec<Value> = self.everything().map(|object| object["metadata"]["uid"].clone()).collect();
        for kind in KINDS {
            let all: Vec<Value> = self.all(kind, None).cloned().collect();
            for object in all {
                let owners = object["metadata"]["ownerReferences"].as_array().cloned().unwrap_or_default();
                if !owners.is_empty() && !owners.iter().any(|owner| known.contains(&owner["uid"])) {
                    self.begin_removal(kind, &object, None, now);
                }
            }
        }
    }

    fn tend_pods(&mut self, now: Time) -> Option<Time> {
        let mut next = None;
        let nodes = Kind::named("Node")?;
        for (kind, pod) in self.every("Pod") {
            let Some(node) = pod["spec"]["nodeName"].as_str() else { continue };
            let node = self.get(nodes, None, node).cloned();
            let is_deleted = !pod["metadata"]["deletionTimestamp"].is_null();
            match node {
                None if !is_deleted => {
                    self.begin_removal(kind, &pod, Some(0), now);
                }
                // An agent that is gone ends nothing.
                Some(node) if is_deleted && condition(&node, "Ready") != Some("Unknown") => {
                    self.end_pod(kind, &pod);
                }
                None => self.end_pod(kind, &pod),
                Some(_) if is_deleted => {}
                Some(_) if pod["status"]["phase"] == "Pending" => {
                    self.amend(kind, &pod, ("kubelet", true), now, |pod| {
                        pod["status"] = json!({
                            "phase": "Running", "startTime": stamp(now),
                            "conditions": [{ "type": "Ready", "status": "True", "lastTransitionTime": stamp(now) }],
                        });
                    });
                }
                Some(_) => {}
            }
            if is_deleted {
                // Its node may answer later.
                next = Some(now.after(std::time::Duration::from_secs(5)));
            }
        }
        next
    }

    /// A pod that was to end ended; it stays as long as somebody holds it.
    fn end_pod(&mut self, kind: &'static Kind, pod: &Value) {
        if !finalizers(pod).is_empty() {
            if pod["metadata"]["deletionGracePeriodSeconds"].as_u64().is_some_and(|grace| grace > 0) {
                let mut ended = pod.clone();
                ended["metadata"]["deletionGracePeriodSeconds"] = json!(0);
                ended["status"]["phase"] = json!("Succeeded");
                self.put(kind, ended);
            }
            return;
        }
        self.remove(kind, pod);
    }

    fn tend_deployments(&mut self, now: Time) {
        for (kind, object) in self.every("Deployment") {
            let (replicas, seen) =
                (object["spec"]["replicas"].clone(), object["metadata"]["generation"].clone());
            if object["status"]["observedGeneration"] == seen {
                continue;
            }
            self.amend(kind, &object, (CONTROLLERS, true), now, |object| {
                object["status"] = json!({
                    "observedGeneration": seen, "replicas": replicas, "readyReplicas": replicas,
                    "updatedReplicas": replicas, "availableReplicas": replicas,
                    "conditions": [{
                        "type": "Available", "status": "True", "reason": "MinimumReplicasAvailable",
                        "lastTransitionTime": stamp(now),
                    }],
                });
            });
        }
    }

    fn tend_budgets(&mut self, now: Time) {
        for (kind, budget) in self.every("PodDisruptionBudget") {
            let allowed = self.allowed(&budget);
            self.amend(kind, &budget, (CONTROLLERS, true), now, |budget| {
                budget["status"]["disruptionsAllowed"] = json!(allowed);
            });
        }
    }
}

/// What a condition of an object says.
pub(super) fn condition<'v>(object: &'v Value, kind: &str) -> Option<&'v str> {
    let conditions = object["status"]["conditions"].as_array()?;
    conditions.iter().find(|condition| condition["type"] == kind)?["status"].as_str()
}

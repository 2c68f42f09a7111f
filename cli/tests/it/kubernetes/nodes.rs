//! `kubernetes_node` and `kubernetes_stuck_pods`: what an agent keeps, and what it leaves behind.

use std::fs;
use std::time::Duration;

use fleet_engine::schema::Sort;
use serde_json::{Value as Json, json};

use super::laws::{check_drift, everything};
use super::{Cluster, FOUND_THERE, example};

/// A Node as an agent keeps it, made by hand: in a real cluster no Mac is at hand.
pub(super) fn register(cluster: &Cluster, name: &str, beat: &str) {
    cluster.create(&json!({
        "apiVersion": "v1", "kind": "Node", "metadata": { "name": name, "labels": { "kubernetes.io/os": "darwin" } },
    }));
    pulse(cluster, name, "True", beat);
}

/// An agent says something of its Node. `kubectl` of old clients changes no status, so the path is written out.
pub(super) fn pulse(cluster: &Cluster, name: &str, ready: &str, beat: &str) {
    let mut node = cluster.object("node", name).unwrap();
    // Others may write at the same time.
    node["metadata"].as_object_mut().unwrap().remove("resourceVersion");
    node["status"] = json!({
        "conditions": [{
            "type": "Ready", "status": ready, "reason": "Test", "message": "",
            "lastHeartbeatTime": beat, "lastTransitionTime": beat,
        }],
        "addresses": [{ "type": "InternalIP", "address": "10.0.0.7" }],
    });
    let ran = cluster.kubectl_with(
        &["replace", "--raw", &format!("/api/v1/nodes/{name}/status"), "-f", "-"],
        &node.to_string(),
    );
    assert!(ran.status.success(), "{}", super::text(&ran.stderr));
}

/// Far enough from now on that no clock of a test calls it old.
pub(super) const FRESH: &str = "2999-01-01T00:00:00Z";
const OLD: &str = "2020-01-01T00:00:00Z";

pub(super) fn node(name: &str, more: &str) -> String {
    format!("resource \"kubernetes_node\" \"mini\" {{\n  name = \"{name}\"\n{more}}}\n")
}

#[test]
pub(super) fn a_node_is_waited_for_labelled_and_named() {
    let cluster = Cluster::new("");
    let name = cluster.namespace.clone();
    let id = "scaleway://apple-silicon/fr-par-1/11111111-2222-3333-4444-555555555555";
    let text = example(Sort::Resource, "kubernetes_node").replace("\"mini-0\"", &format!("\"{name}\""));
    assert!(text.contains(id) && text.contains(&name), "{text}");
    cluster.configure(&text);
    assert_eq!(cluster.actions(&[]), ["create"]);
    // Nobody registers it.
    let complaint = cluster.fleet(&["apply", "--auto-approve", "--step-timeout", "3s"]).failed();
    assert!(complaint.contains("kubernetes_node.mini"), "{complaint}");
    register(&cluster, &name, FRESH);
    let before = everything(&cluster);
    assert_eq!(cluster.changes(), ["labels", "provider_id"]);
    assert_eq!(everything(&cluster), before, "a plan changes nothing");
    cluster.run("apply").ok();
    let made = cluster.object("node", &name).unwrap();
    assert_eq!(made["spec"]["providerID"], id);
    assert_eq!(made["metadata"]["labels"]["example.com/fleet"], "runners");
    assert_eq!(made["metadata"]["labels"]["kubernetes.io/os"], "darwin", "the agent's own");
    cluster.check_converged();

    // Behind our back.
    let label = || {
        cluster.kubectl(&["label", "node", &name, "--overwrite", "example.com/fleet=other", "theirs=x"]);
    };
    check_drift(&cluster, "labels", label, &["labels"]);
    assert_eq!(cluster.object("node", &name).unwrap()["metadata"]["labels"]["theirs"], "x");
    pulse(&cluster, &name, "False", FRESH);
    assert_eq!(cluster.changes(), ["ready", "trouble"]);
    check_finding(&cluster, "its condition `Ready` is `False` (Test)");
    pulse(&cluster, &name, "True", OLD);
    // A lease is as good as a beat; nobody renews one here.
    assert_eq!(cluster.changes(), ["ready", "trouble"], "an agent that is not heard of is not there");
    check_finding(&cluster, "its agent was last heard of at 2020-01-01T00:00:00Z");
    pulse(&cluster, &name, "True", FRESH);
    cluster.check_converged();

    // It is another machine: told, and left alone.
    cluster.configure(&text.replace("1111-", "9999-").replace("11111111", "99999999"));
    let complaint = cluster.fleet(&["plan"]).complaint();
    assert!(complaint.contains("cannot be changed"), "{complaint}");
    assert_eq!(cluster.object("node", &name).unwrap()["spec"]["providerID"], id);
    cluster.configure(&text);
    fs::remove_dir_all(cluster.site.path().join(".fleet")).unwrap();
    assert_eq!(cluster.actions(&[]), ["record"]);
    cluster.run("apply").ok();
    cluster.run("destroy").ok();
    assert_eq!(cluster.object("node", &name), None);
    assert_eq!(cluster.run("destroy").ok(), "No changes.\n");
}

/// A plan says what is wrong with the Node.
#[track_caller]
fn check_finding(cluster: &Cluster, seen: &str) {
    let plan = cluster.plan(&[]);
    let found = &plan["findings"][0];
    assert_eq!(found["name"], FOUND_THERE[0], "{plan}");
    assert!(found.to_string().contains(seen), "{found}");
}

pub(super) fn pod(cluster: &Cluster, name: &str, node: &str, metadata: &Json) {
    let mut object = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "name": name, "labels": { "app": name } },
        "spec": {
            "nodeName": node, "terminationGracePeriodSeconds": 0, "automountServiceAccountToken": false,
            "containers": [{ "name": "c", "image": "example.com/c" }], "tolerations": [{ "operator": "Exists" }],
        },
    });
    for (key, value) in metadata.as_object().unwrap() {
        object["metadata"][key] = value.clone();
    }
    // A pod needs an account, which whoever keeps the namespace may not have made yet, or never makes.
    cluster.kubectl_with(&["-n", &cluster.namespace, "create", "serviceaccount", "default"], "");
    cluster.create(&object);
}

#[test]
fn a_node_is_drained_before_it_goes_and_what_is_left_is_told() {
    let cluster = Cluster::new("");
    let name = cluster.namespace.clone();
    register(&cluster, &name, FRESH);
    cluster.configure(&node(&name, "  drain_timeout = \"3s\"\n"));
    cluster.run("apply").ok();
    pod(&cluster, "held", &name, &json!({ "finalizers": ["example.com/hold"] }));
    let complaint = cluster.run("destroy").complaint();
    assert!(complaint.contains("held") && complaint.contains("example.com/hold"), "{complaint}");
    let kept = cluster.object("node", &name).unwrap();
    assert_eq!(kept["spec"]["unschedulable"], true, "nothing new comes");
    cluster.patch("pod", "held", r#"{"metadata":{"finalizers":null}}"#);
    cluster.run("destroy").ok();
    assert_eq!(cluster.object("node", &name), None);
    assert_eq!(cluster.object("pod", "held"), None);
}

#[test]
fn a_node_that_stayed_after_all_gets_pods_again() {
    let cluster = Cluster::new("");
    let name = cluster.namespace.clone();
    register(&cluster, &name, FRESH);
    let text = node(&name, "  drain_timeout = \"1s\"\n");
    cluster.configure(&text);
    cluster.run("apply").ok();
    let is_cordoned = || cluster.object("node", &name).unwrap()["spec"]["unschedulable"] == true;
    let fail = || {
        pod(&cluster, "held", &name, &json!({ "finalizers": ["example.com/hold"] }));
        cluster.run("destroy").failed();
        cluster.patch("pod", "held", r#"{"metadata":{"finalizers":null}}"#);
        assert!(is_cordoned());
    };
    fail();
    assert_eq!(cluster.changes(), ["cordoned"]);
    cluster.run("apply").ok();
    assert!(!is_cordoned());
    cluster.check_converged();

    // What somebody else cordoned stays so, also where we wanted to remove it since.
    cluster.kubectl(&["cordon", &name]);
    for _ in 0..2 {
        assert_eq!(cluster.changes(), [] as [String; 0]);
        let told = cluster.fleet(&["plan"]).told();
        assert!(told.contains("is cordoned, and not by fleet"), "{told}");
        cluster.run("apply").ok();
        assert!(is_cordoned());
        fail();
    }
    cluster.kubectl(&["uncordon", &name]);
    cluster.run("apply").ok();
    cluster.check_converged();

    // It may be wished.
    let closed = text.replace("\n}", "\n  cordoned = true\n}");
    cluster.configure(&closed);
    assert_eq!(cluster.changes(), ["cordoned"]);
    cluster.run("apply").ok();
    assert!(is_cordoned());
    check_drift(&cluster, "uncordon", || _ = cluster.kubectl(&["uncordon", &name]), &["cordoned"]);
    cluster.configure(&text);
    cluster.run("apply").ok();
    assert!(!is_cordoned());
    cluster.run("destroy").ok();
}

#[test]
fn a_node_that_may_go_with_its_pods_does_and_they_are_told() {
    let cluster = Cluster::new("");
    let name = cluster.namespace.clone();
    register(&cluster, &name, FRESH);
    cluster.configure(&node(&name, "  drain_timeout = \"2s\"\n  delete_undrained = true\n"));
    cluster.run("apply").ok();
    pod(&cluster, "held", &name, &json!({ "finalizers": ["example.com/hold"] }));
    let told = cluster.run("destroy").told();
    assert!(told.contains(&format!("`{name}/held`")) && told.contains("example.com/hold"), "{told}");
    assert!(told.contains("was deleted with them"), "{told}");
    assert_eq!(cluster.object("node", &name), None);
    cluster.patch("pod", "held", r#"{"metadata":{"finalizers":null}}"#);
}

#[test]
fn a_budget_is_waited_for_and_told_if_it_never_allows_it() {
    let cluster = Cluster::new("");
    let name = cluster.namespace.clone();
    register(&cluster, &name, FRESH);
    let text = node(&name, "  drain_timeout = \"3s\"\n");
    cluster.configure(&text);
    cluster.run("apply").ok();
    pod(&cluster, "kept", &name, &json!({}));
    // Budgets are for pods that run.
    let mut running = cluster.object("pod", "kept").unwrap();
    running["metadata"].as_object_mut().unwrap().remove("resourceVersion");
    running["status"] = json!({
        "phase": "Running", "conditions": [{ "type": "Ready", "status": "True" }],
    });
    let path = format!("/api/v1/namespaces/{name}/pods/kept/status");
    let ran = cluster.kubectl_with(&["replace", "--raw", &path, "-f", "-"], &running.to_string());
    assert!(ran.status.success(), "{}", super::text(&ran.stderr));
    cluster.create(&json!({
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": { "name": "all" },
        "spec": { "minAvailable": 1, "selector": { "matchLabels": { "app": "kept" } } },
    }));
    let complaint = cluster.run("destroy").complaint();
    assert!(complaint.contains(&format!("`{name}/kept`")) && complaint.contains("budget"), "{complaint}");
    assert!(complaint.contains("it was not deleted"), "{complaint}");
    assert!(cluster.object("node", &name).is_some() && cluster.object("pod", "kept").is_some());
    // It allows it while it is waited for.
    cluster.configure(&text.replace("\"3s\"", "\"1m\""));
    cluster.run("apply").ok();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_secs(2));
            cluster.kubectl(&["-n", &name, "delete", "poddisruptionbudget", "all"]);
        });
        cluster.run("destroy").ok();
    });
    assert!(cluster.object("node", &name).is_none() && cluster.object("pod", "kept").is_none());
}

#[test]
fn labels_that_an_agent_takes_away_are_refused() {
    let cluster = Cluster::new(&node(
        "any",
        "  agent_labels = [\"tuist.dev/\"]\n  labels = { \"tuist.dev/fleet\" = \"x\" }\n",
    ));
    let complaint = cluster.fleet(&["plan"]).complaint();
    assert!(complaint.contains("let the agent set it"), "{complaint}");
}

#[test]
pub(super) fn pods_that_nobody_lets_go_are_found_and_set_free() {
    let cluster = Cluster::new("");
    let name = cluster.namespace.clone();
    // Others in the same cluster are not set free.
    let finalizer = format!("example.com/vm-cleanup-of-{name}");
    register(&cluster, &name, FRESH);
    pod(&cluster, "stuck", &name, &json!({ "finalizers": [&finalizer, "example.com/other"] }));
    pod(&cluster, "fine", &name, &json!({}));
    let text = example(Sort::Resource, "kubernetes_stuck_pods");
    let text = text.replace("\"example.com/vm-cleanup\"", &format!("\"{finalizer}\"\n  after = \"0s\""));
    assert!(text.contains("after"), "{text}");
    cluster.configure(&text);
    let before = everything(&cluster);
    cluster.run("apply").ok();
    assert_eq!(everything(&cluster), before, "nothing is stuck yet");
    cluster.check_converged();
    cluster.kubectl(&["-n", &name, "delete", "pod", "stuck", "--wait=false", "--grace-period=0", "--force"]);
    cluster.check_converged();
    // The Mac is gone.
    cluster.kubectl(&["delete", "node", &name, "--wait=false"]);
    std::thread::sleep(Duration::from_millis(1500));
    let plan = cluster.plan(&[]);
    assert!(plan.to_string().contains(&format!("{name}/stuck")), "{plan}");
    assert_eq!(plan["findings"][0]["name"], FOUND_THERE[1]);
    cluster.run("apply").ok();
    let left = cluster.object("pod", "stuck").unwrap();
    assert_eq!(left["metadata"]["finalizers"], json!(["example.com/other"]), "only that one");
    cluster.check_converged();
    cluster.patch("pod", "stuck", r#"{"metadata":{"finalizers":null}}"#);
    // What is watched over is nothing that could be lost.
    let before = everything(&cluster);
    fs::remove_dir_all(cluster.site.path().join(".fleet")).unwrap();
    cluster.run("apply").ok();
    cluster.check_converged();
    cluster.run("destroy").ok();
    assert_eq!(everything(&cluster), before);
    assert_eq!(cluster.run("destroy").ok(), "No changes.\n");
}

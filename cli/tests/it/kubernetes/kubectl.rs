//! `kubectl` itself against the server: what people use beside fleet.

use fleet_lab::kubernetes::kinds::KINDS;
use serde_json::{Value as Json, json};

use super::{Cluster, text};

#[test]
fn get_describe_patch_delete_and_apply() {
    let cluster = Cluster::new("");
    let name = cluster.namespace.clone();
    let within = |words: &[&str]| {
        let words: Vec<&str> = ["-n", &*name].iter().chain(words).copied().collect();
        cluster.kubectl(&words)
    };
    assert!(cluster.kubectl(&["version"]).contains("Server Version"));
    assert!(cluster.kubectl(&["api-resources"]).contains("configmaps"));
    assert!(cluster.kubectl(&["get", "namespaces"]).contains(&name));

    let map = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "labels": { "x": "y" } }, "data": { "k": "1" },
    });
    let apply = |object: &Json, more: &[&str]| {
        let words = ["-n", &*name, "apply", "--server-side", "--validate=false", "-f", "-"];
        let words: Vec<&str> = words.iter().chain(more).copied().collect();
        cluster.kubectl_with(&words, &object.to_string())
    };
    let applied = apply(&map, &[]);
    assert!(text(&applied.stdout).contains("configmap/a serverside-applied"), "{}", text(&applied.stderr));
    assert_eq!(within(&["get", "configmap", "a", "-o", "jsonpath={.data.k}"]), "1");
    assert!(within(&["get", "cm", "-l", "x=y"]).contains('a'));
    assert!(!within(&["get", "cm", "-l", "x!=y", "-o", "name"]).contains("configmap/a"));

    // Patches of all sorts.
    within(&["patch", "configmap", "a", "-p", r#"{"data":{"k":"2"}}"#]);
    within(&["patch", "configmap", "a", "--type=merge", "-p", r#"{"data":{"m":"1"}}"#]);
    within(&[
        "patch",
        "configmap",
        "a",
        "--type=json",
        "-p",
        r#"[{"op":"add","path":"/data/j","value":"1"}]"#,
    ]);
    within(&["label", "configmap", "a", "more=1"]);
    within(&["annotate", "configmap", "a", "note=1"]);
    let found: Json = serde_json::from_str(&within(&["get", "configmap", "a", "-o", "json"])).unwrap();
    assert_eq!(found["data"], json!({ "k": "2", "m": "1", "j": "1" }));
    assert_eq!(found["metadata"]["labels"], json!({ "x": "y", "more": "1" }));

    // What was patched has another owner now.
    let conflict = apply(&map, &["--field-manager=kubectl"]);
    let told = text(&conflict.stderr);
    assert!(!conflict.status.success() && told.contains("conflict") && told.contains(".data.k"), "{told}");
    let forced = apply(&map, &["--field-manager=kubectl", "--force-conflicts"]);
    assert!(forced.status.success(), "{}", text(&forced.stderr));
    assert_eq!(within(&["get", "configmap", "a", "-o", "jsonpath={.data.k}"]), "1");

    // A Node, described.
    let node = json!({
        "apiVersion": "v1", "kind": "Node", "metadata": { "name": name, "labels": { "kubernetes.io/os": "darwin" } },
        "spec": { "providerID": "x://1" },
    });
    assert!(apply(&node, &[]).status.success());
    let described = cluster.kubectl(&["describe", "node", &name]);
    for expected in ["kubernetes.io/os=darwin", "ProviderID:", "x://1", "Unschedulable:      false"] {
        assert!(described.contains(expected), "{expected}: {described}");
    }
    assert!(cluster.kubectl(&["cordon", &name]).contains("cordoned"));
    let refused =
        cluster.kubectl_with(&["patch", "node", &name, "-p", r#"{"spec":{"providerID":"x://2"}}"#], "");
    let told = text(&refused.stderr);
    assert!(told.contains("node updates may not change providerID except from"), "{told}");

    // Deletion waits until it is gone.
    assert!(cluster.kubectl(&["delete", "node", &name]).contains("deleted"));
    assert!(within(&["delete", "configmap", "a"]).contains("deleted"));
    assert_eq!(within(&["get", "configmap", "a", "--ignore-not-found"]), "");
    let missing = cluster.kubectl_with(&["-n", &name, "get", "configmap", "a"], "");
    assert!(text(&missing.stderr).contains("configmaps \"a\" not found"));
}

/// An object of every kind that the lab serves, of which there is nothing but what it needs.
fn one_of_each(name: &str) -> Vec<Json> {
    let object = |api_version: &str, kind: &str, more: Json| {
        let mut object = json!({ "apiVersion": api_version, "kind": kind, "metadata": { "name": name } });
        object.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        object
    };
    let containers = json!([{ "name": "c", "image": "example.com/c" }]);
    let matching = json!({ "matchLabels": { "app": "x" } });
    let template = json!({ "metadata": { "labels": { "app": "x" } }, "spec": { "containers": containers } });
    let rbac = "rbac.authorization.k8s.io/v1";
    let role = |kind: &str| json!({ "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name } });
    let rules = json!({ "rules": [{ "apiGroups": [""], "resources": ["pods"], "verbs": ["get"] }] });
    vec![
        object("v1", "ConfigMap", json!({ "data": { "a": "1" } })),
        object(
            "v1",
            "Event",
            json!({ "involvedObject": { "kind": "Pod", "name": "x", "namespace": name }, "reason": "Test" }),
        ),
        object("v1", "Node", json!({})),
        object(
            "v1",
            "Pod",
            json!({ "spec": { "containers": containers, "automountServiceAccountToken": false } }),
        ),
        object("v1", "Secret", json!({ "data": { "a": "eA==" } })),
        object("v1", "ServiceAccount", json!({})),
        object(
            "v1",
            "Service",
            json!({ "spec": { "type": "ExternalName", "externalName": "a.example.com" } }),
        ),
        object("apps/v1", "DaemonSet", json!({ "spec": { "selector": matching, "template": template } })),
        object(
            "apps/v1",
            "Deployment",
            json!({ "spec": { "replicas": 0, "selector": matching, "template": template } }),
        ),
        object("coordination.k8s.io/v1", "Lease", json!({ "spec": { "holderIdentity": "x" } })),
        object("node.k8s.io/v1", "RuntimeClass", json!({ "handler": "x" })),
        object(
            "policy/v1",
            "PodDisruptionBudget",
            json!({ "spec": { "minAvailable": 1, "selector": matching } }),
        ),
        object(rbac, "ClusterRole", rules.clone()),
        object(rbac, "ClusterRoleBinding", role("ClusterRole")),
        object(rbac, "Role", rules),
        object(rbac, "RoleBinding", role("Role")),
        object("cluster.x-k8s.io/v1beta1", "Cluster", json!({ "spec": {} })),
        object(
            "cluster.x-k8s.io/v1beta1",
            "Machine",
            json!({ "spec": { "clusterName": "x", "bootstrap": {} } }),
        ),
        object("tailscale.com/v1alpha1", "ProxyGroup", json!({ "spec": { "type": "egress" } })),
    ]
}

#[test]
fn every_kind_is_applied_seen_patched_and_deleted() {
    let cluster = Cluster::new("");
    let name = &*cluster.namespace;
    let all = one_of_each(name);
    // A Namespace is what every test is in.
    let is_tried = |kind: &str| kind == "Namespace" || all.iter().any(|object| object["kind"] == kind);
    // What is only asked is kept nowhere.
    let kept = KINDS.iter().filter(|kind| kind.verbs.contains(&"get"));
    let missing: Vec<_> = kept.map(|kind| kind.kind).filter(|kind| !is_tried(kind)).collect();
    assert_eq!(missing, [] as [&str; 0]);
    // A pod needs an account, which whoever keeps the namespace may not have made yet, or never makes.
    cluster.kubectl_with(&["-n", name, "create", "serviceaccount", "default"], "");
    // Not every cluster has what others bring along.
    let served = cluster.kubectl(&["api-resources", "--no-headers"]);
    for object in all {
        let (kind, version) = (object["kind"].as_str().unwrap(), object["apiVersion"].as_str().unwrap());
        let is_it = |line: &&str| {
            let words: Vec<&str> = line.split_whitespace().collect();
            words.ends_with(&[kind]) && words.contains(&version)
        };
        let Some(line) = served.lines().find(is_it) else {
            assert!(version.contains(".x-k8s.io") || version.contains("tailscale"), "{kind} is not served");
            continue;
        };
        let (version, group) =
            version.split_once('/').map_or((version, ""), |(group, version)| (version, group));
        let plural = line.split_whitespace().next().unwrap();
        let full = if group.is_empty() { plural.to_owned() } else { format!("{plural}.{version}.{group}") };
        let within = |words: &[&str]| {
            let words: Vec<&str> = ["-n", name].iter().chain(words).copied().collect();
            cluster.kubectl(&words)
        };
        let apply = ["-n", name, "apply", "--server-side", "--validate=false", "-f", "-"];
        let applied = cluster.kubectl_with(&apply, &object.to_string());
        assert!(text(&applied.stdout).contains("serverside-applied"), "{kind}: {}", text(&applied.stderr));
        within(&["patch", &full, name, "--type=merge", "-p", r#"{"metadata":{"labels":{"seen":"yes"}}}"#]);
        assert!(within(&["get", &full, "-l", "seen=yes", "-o", "name"]).contains(name), "{kind}");
        let live: Json = serde_json::from_str(&within(&["get", &full, name, "-o", "json"])).unwrap();
        assert_eq!((&live["kind"], &live["apiVersion"]), (&object["kind"], &object["apiVersion"]));
        assert_eq!(live["metadata"]["labels"]["seen"], "yes", "{kind}");
        assert!(within(&["delete", &full, name]).contains("deleted"), "{kind}");
        assert_eq!(within(&["get", &full, name, "--ignore-not-found"]), "", "{kind}");
    }
}

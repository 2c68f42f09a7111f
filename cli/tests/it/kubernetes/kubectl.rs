//! `kubectl` itself against the server: what people use beside fleet.

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

//! The other kinds: the laws on their examples, and what each is for.

use std::fs;

use fleet_engine::schema::Sort;
use serde_json::{Value as Json, json};

use super::manifest::walk;
use super::{Cluster, example, text};
use crate::laws::search::Search;

/// An object anywhere in the cluster; none if it is not there.
fn anywhere(cluster: &Cluster, namespace: &str, kind: &str, name: &str) -> Option<Json> {
    let words = ["-n", namespace, "get", kind, name, "--ignore-not-found", "-o", "json"];
    let out = cluster.kubectl(&words);
    (!out.trim().is_empty()).then(|| serde_json::from_str(&out).unwrap())
}

/// The text in a field of a Secret.
fn decoded(object: &Json, field: &str) -> String {
    use base64::Engine as _;
    let encoded = object["data"][field].as_str().unwrap_or_default();
    text(&base64::prelude::BASE64_STANDARD.decode(encoded).unwrap())
}

/// A kubeconfig that only tests know, from the Secret of a token: it must not be found anywhere.
fn check_secret(cluster: &Cluster, secrets: &[&str]) {
    let search = Search::new(secrets);
    let ran = cluster.site.fleet(["plan", "--json", "--log", "trace"]);
    search.check("stdout", ran.stdout.as_bytes());
    search.check("stderr", ran.stderr.as_bytes());
    for path in walk(cluster.site.path()) {
        if !path.starts_with(cluster.site.path().join("kubectl-cache")) {
            search.check(&path.display().to_string(), &fs::read(&path).unwrap());
        }
    }
}

/// The names of a test are its own: clusters are shared.
fn own(cluster: &Cluster, text: &str, name: &str) -> String {
    text.replace(&format!("\"{name}\"\n"), &format!("\"{}\"\n", cluster.namespace))
}

/// Apply, nothing to do, found again without a state, destroy, nothing left to do.
fn check_laws(cluster: &Cluster, made: impl Fn() -> bool, found: &str) {
    assert_eq!(cluster.actions(&[]), ["create"]);
    assert!(!made(), "a plan makes nothing");
    cluster.run("apply").ok();
    assert!(made());
    cluster.check_converged();
    assert_eq!(cluster.run("apply").ok(), "No changes.\n");
    fs::remove_dir_all(cluster.site.path().join(".fleet")).unwrap();
    assert_eq!(cluster.actions(&[]), [found]);
    cluster.run("apply").ok();
    cluster.check_converged();
    cluster.run("destroy").ok();
    assert!(!made(), "it is gone");
    assert_eq!(cluster.run("destroy").ok(), "No changes.\n");
}

#[test]
fn a_node_identity_is_an_account_with_a_token_and_a_role() {
    let cluster = Cluster::new("");
    cluster.configure(&own(
        &cluster,
        &example(Sort::Resource, "kubernetes_node_identity"),
        "tart-kubelet-mini-0",
    ));
    let name = cluster.namespace.clone();
    let made = || {
        let parts = [
            cluster.object("serviceaccount", &name).is_some(),
            cluster.object("secret", &format!("{name}-token")).is_some(),
            anywhere(&cluster, "default", "clusterrolebinding", &name).is_some(),
        ];
        assert!(parts.iter().all(|part| *part == parts[0]), "{parts:?}");
        parts[0]
    };
    check_laws(&cluster, made, "record");

    // The kubeconfig works, and may do what its role may.
    cluster.create(&json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": { "name": name },
        "rules": [{ "apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"] }],
    }));
    let text = format!(
        "resource \"kubernetes_node_identity\" \"mini\" {{\n  name = \"{name}\"\n  cluster_role = \"{name}\"\n}}\n\n\
         resource \"core_file\" \"kubeconfig\" {{\n  path = \"given\"\n  content = kubernetes_node_identity.mini.kubeconfig\n}}\n"
    );
    cluster.configure(&text);
    cluster.run("apply").ok();
    cluster.check_converged();
    let given = cluster.site.path().join("given").display().to_string();
    let as_given = |words: &[&str]| {
        let words: Vec<&str> = ["--kubeconfig", &given].iter().chain(words).copied().collect();
        cluster.kubectl_with(&words, "")
    };
    assert!(as_given(&["-n", &name, "get", "configmaps"]).status.success());
    assert!(!as_given(&["-n", &name, "get", "secrets"]).status.success());
    // The token is nowhere but there.
    let token = decoded(&cluster.object("secret", &format!("{name}-token")).unwrap(), "token");
    fs::rename(&given, cluster.site.path().join("kubectl-cache/given")).unwrap();
    check_secret(&cluster, &[&token]);
    fs::rename(cluster.site.path().join("kubectl-cache/given"), &given).unwrap();

    // A token that somebody deleted is made anew, and a binding, too.
    cluster.kubectl(&["-n", &name, "delete", "secret", &format!("{name}-token")]);
    assert!(cluster.changes().contains(&"token".to_owned()), "{:?}", cluster.changes());
    cluster.run("apply").ok();
    cluster.check_converged();
    cluster.kubectl(&["delete", "clusterrolebinding", &name]);
    assert_eq!(cluster.changes(), ["cluster_role"]);
    cluster.run("apply").ok();
    cluster.check_converged();
    // Another role takes another binding, which the same account has.
    cluster.configure(&text.replace(&format!("cluster_role = \"{name}\""), "cluster_role = \"view\""));
    assert_eq!(cluster.changes(), ["cluster_role"]);
    cluster.run("apply").ok();
    cluster.check_converged();
    cluster.run("destroy").ok();
    assert!(!made());
    cluster.kubectl(&["delete", "clusterrole", &name]);
}

#[test]
fn a_bootstrap_token_is_made_once_and_known_to_nobody_else() {
    let cluster = Cluster::new("");
    let text = example(Sort::Resource, "kubernetes_bootstrap_token");
    let text = text.replace("name   = \"join\"", &format!("name   = \"{}\"", cluster.namespace));
    cluster.configure(&text);
    let selector = format!("fleet.dev/bootstrap-token={}", cluster.namespace);
    let all = || -> Vec<Json> {
        let out = cluster.kubectl(&["-n", "kube-system", "get", "secrets", "-l", &selector, "-o", "json"]);
        let list: Json = serde_json::from_str(&out).unwrap();
        list["items"].as_array().unwrap().clone()
    };
    check_laws(&cluster, || !all().is_empty(), "record");
    cluster.run("apply").ok();
    let made = all();
    assert_eq!(made.len(), 1);
    assert_eq!(made[0]["type"], "bootstrap.kubernetes.io/token");
    assert_eq!(decoded(&made[0], "auth-extra-groups"), "system:bootstrappers:macs");
    check_secret(&cluster, &[&decoded(&made[0], "token-secret")]);
    // What it is for can change; the token stays.
    cluster.configure(&text.replace("ttl ", "description = \"for the macs\"\n  ttl "));
    assert_eq!(cluster.changes(), ["description"]);
    cluster.run("apply").ok();
    assert_eq!(decoded(&all()[0], "token-secret"), decoded(&made[0], "token-secret"));
    cluster.check_converged();
    cluster.run("destroy").ok();
    assert_eq!(all(), [] as [Json; 0]);
}

#[test]
fn an_egress_service_leaves_its_destination_to_the_operator() {
    let cluster = Cluster::new(&example(Sort::Resource, "kubernetes_egress_service"));
    check_laws(&cluster, || cluster.object("service", "mini-0").is_some(), "record");
    cluster.run("apply").ok();
    let placeholder = cluster.object("service", "mini-0").unwrap()["spec"]["externalName"].clone();
    assert!(placeholder.as_str().is_some_and(|name| !name.is_empty()));
    // The operator writes where it leads to, and what it thinks of it.
    let theirs = r#"{"spec":{"externalName":"ts-mini-0.operators.svc.cluster.local"},"metadata":{"annotations":{"operator":"x"}}}"#;
    cluster.patch("service", "mini-0", theirs);
    assert_eq!(cluster.changes(), [] as [String; 0]);
    cluster.run("apply").ok();
    let name = cluster.object("service", "mini-0").unwrap()["spec"]["externalName"].clone();
    assert_eq!(name, "ts-mini-0.operators.svc.cluster.local");
    // What is ours comes back.
    let cases = [
        (r#"{"metadata":{"annotations":{"tailscale.com/tailnet-fqdn":"x.y.z"}}}"#, "fqdn"),
        (r#"{"metadata":{"annotations":{"tailscale.com/proxy-group":"x"}}}"#, "proxy_group"),
        (r#"{"spec":{"ports":[{"name":"ssh","port":2222}]}}"#, "ports"),
    ];
    for (patch, attribute) in cases {
        cluster.patch("service", "mini-0", patch);
        assert_eq!(cluster.changes(), [attribute], "{patch}");
        cluster.run("apply").ok();
        cluster.check_converged();
    }
    let kept = cluster.object("service", "mini-0").unwrap();
    assert_eq!(kept["spec"]["externalName"], "ts-mini-0.operators.svc.cluster.local");
    cluster.run("destroy").ok();
}

#[test]
fn a_capi_connection_is_usable_and_complete() {
    let cluster = Cluster::new("");
    cluster.configure(&example(Sort::Resource, "kubernetes_capi_connection"));
    check_laws(&cluster, || cluster.object("secret", "macs-kubeconfig").is_some(), "record");
    cluster.run("apply").ok();
    let secret = cluster.object("secret", "macs-kubeconfig").unwrap();
    assert_eq!(secret["metadata"]["labels"]["cluster.x-k8s.io/cluster-name"], "macs");
    let kubeconfig: Json = serde_json::from_str(&decoded(&secret, "value")).unwrap();
    let server = kubeconfig["clusters"][0]["cluster"]["server"].as_str().unwrap();
    assert!(server.starts_with("https://") && server.ends_with(":443"), "{server}");
    let token = kubeconfig["users"][0]["user"]["token"].as_str().unwrap();
    check_secret(&cluster, &[token]);
    // With it, Nodes can be seen and the server can be probed, from where fleet is.
    let here =
        cluster.kubectl(&["config", "view", "--minify", "-o", "jsonpath={.clusters[0].cluster.server}"]);
    let given = decoded(&secret, "value").replace(server, here.trim());
    cluster.site.write("kubectl-cache/given", &given);
    let path = cluster.site.path().join("kubectl-cache/given").display().to_string();
    for words in [["get", "--raw", "/"], ["get", "--raw", "/api/v1/nodes"]] {
        let words: Vec<&str> = ["--kubeconfig", &path].iter().chain(&words).copied().collect();
        let ran = cluster.kubectl_with(&words, "");
        assert!(ran.status.success(), "{}", super::text(&ran.stderr));
    }
    let denied = cluster.kubectl_with(&["--kubeconfig", &path, "get", "--raw", "/api/v1/secrets"], "");
    assert!(!denied.status.success());
    // What is taken from it is put back.
    cluster.patch("secret", "macs-kubeconfig", r#"{"data":{"value":"eA=="}}"#);
    assert!(cluster.changes().contains(&"complete".to_owned()), "{:?}", cluster.changes());
    cluster.run("apply").ok();
    cluster.check_converged();
    cluster.run("destroy").ok();
}

/// A Node as an agent keeps it, made by hand: in a real cluster no Mac is at hand.
fn register(cluster: &Cluster, name: &str, beat: &str) {
    cluster.create(&json!({
        "apiVersion": "v1", "kind": "Node", "metadata": { "name": name, "labels": { "kubernetes.io/os": "darwin" } },
    }));
    pulse(cluster, name, "True", beat);
}

/// An agent says something of its Node. `kubectl` of old clients changes no status, so the path is written out.
fn pulse(cluster: &Cluster, name: &str, ready: &str, beat: &str) {
    let mut node = anywhere(cluster, "default", "node", name).unwrap();
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
const FRESH: &str = "2999-01-01T00:00:00Z";
const OLD: &str = "2020-01-01T00:00:00Z";

fn node(name: &str, more: &str) -> String {
    format!("resource \"kubernetes_node\" \"mini\" {{\n  name = \"{name}\"\n{more}}}\n")
}

#[test]
fn a_node_is_waited_for_labelled_and_named() {
    let cluster = Cluster::new("");
    let name = cluster.namespace.clone();
    let id = "scaleway://apple-silicon/fr-par-1/11111111-2222-3333-4444-555555555555";
    let text = node(
        &name,
        &format!("  labels = {{ \"example.com/fleet\" = \"runners\" }}\n  provider_id = \"{id}\"\n"),
    );
    cluster.configure(&text);
    assert_eq!(cluster.actions(&[]), ["create"]);
    // Nobody registers it.
    let complaint = cluster.site.fleet(["apply", "--auto-approve", "--step-timeout", "3s"]).failed();
    assert!(complaint.contains("kubernetes_node.mini"), "{complaint}");
    register(&cluster, &name, FRESH);
    cluster.run("apply").ok();
    let made = anywhere(&cluster, "default", "node", &name).unwrap();
    assert_eq!(made["spec"]["providerID"], id);
    assert_eq!(made["metadata"]["labels"]["example.com/fleet"], "runners");
    assert_eq!(made["metadata"]["labels"]["kubernetes.io/os"], "darwin", "the agent's own");
    cluster.check_converged();

    // Behind our back.
    cluster.kubectl(&["label", "node", &name, "--overwrite", "example.com/fleet=other", "theirs=x"]);
    assert_eq!(cluster.changes(), ["labels"]);
    cluster.run("apply").ok();
    cluster.check_converged();
    pulse(&cluster, &name, "False", FRESH);
    assert_eq!(cluster.changes(), ["ready"]);
    pulse(&cluster, &name, "True", OLD);
    // A lease is as good as a beat; nobody renews one here.
    assert_eq!(cluster.changes(), ["ready"], "an agent that is not heard of is not there");
    pulse(&cluster, &name, "True", FRESH);
    cluster.check_converged();

    // It is another machine: told, and left alone.
    cluster.configure(&text.replace("1111-", "9999-").replace("11111111", "99999999"));
    let complaint = cluster.site.fleet(["plan"]).complaint();
    assert!(complaint.contains("cannot be changed"), "{complaint}");
    assert_eq!(anywhere(&cluster, "default", "node", &name).unwrap()["spec"]["providerID"], id);
    cluster.configure(&text);
    fs::remove_dir_all(cluster.site.path().join(".fleet")).unwrap();
    assert_eq!(cluster.actions(&[]), ["record"]);
    cluster.run("apply").ok();
    cluster.run("destroy").ok();
    assert_eq!(anywhere(&cluster, "default", "node", &name), None);
    assert_eq!(cluster.run("destroy").ok(), "No changes.\n");
}

fn pod(cluster: &Cluster, name: &str, node: &str, metadata: &Json) {
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
    let kept = anywhere(&cluster, "default", "node", &name).unwrap();
    assert_eq!(kept["spec"]["unschedulable"], true, "nothing new comes");
    cluster.patch("pod", "held", r#"{"metadata":{"finalizers":null}}"#);
    cluster.run("destroy").ok();
    assert_eq!(anywhere(&cluster, "default", "node", &name), None);
    assert_eq!(cluster.object("pod", "held"), None);
}

#[test]
fn labels_that_an_agent_takes_away_are_refused() {
    let cluster = Cluster::new(&node(
        "any",
        "  agent_labels = [\"tuist.dev/\"]\n  labels = { \"tuist.dev/fleet\" = \"x\" }\n",
    ));
    let complaint = cluster.site.fleet(["plan"]).complaint();
    assert!(complaint.contains("let the agent set it"), "{complaint}");
}

#[test]
fn pods_that_nobody_lets_go_are_found_and_set_free() {
    let cluster = Cluster::new("");
    let name = cluster.namespace.clone();
    // Others in the same cluster are not set free.
    let finalizer = format!("example.com/vm-cleanup-of-{name}");
    register(&cluster, &name, FRESH);
    pod(&cluster, "stuck", &name, &json!({ "finalizers": [&finalizer, "example.com/other"] }));
    pod(&cluster, "fine", &name, &json!({}));
    let text = format!(
        "resource \"kubernetes_stuck_pods\" \"vms\" {{\n  finalizer = \"{finalizer}\"\n  after = \"0s\"\n}}\n"
    );
    cluster.configure(&text);
    cluster.run("apply").ok();
    cluster.check_converged();
    cluster.kubectl(&["-n", &name, "delete", "pod", "stuck", "--wait=false", "--grace-period=0", "--force"]);
    cluster.check_converged();
    // The Mac is gone.
    cluster.kubectl(&["delete", "node", &name, "--wait=false"]);
    std::thread::sleep(std::time::Duration::from_millis(1500));
    let plan = cluster.plan(&[]);
    assert!(plan.to_string().contains(&format!("{name}/stuck")), "{plan}");
    assert_eq!(plan["findings"][0]["name"], super::FOUND_THERE);
    cluster.run("apply").ok();
    let left = cluster.object("pod", "stuck").unwrap();
    assert_eq!(left["metadata"]["finalizers"], json!(["example.com/other"]), "only that one");
    cluster.check_converged();
    cluster.patch("pod", "stuck", r#"{"metadata":{"finalizers":null}}"#);
    cluster.run("destroy").ok();
}

#[test]
fn data_is_read_and_changes_nothing() {
    let text = example(Sort::Data, "kubernetes_object");
    let cluster = Cluster::new(&format!(
        "{text}\noutput \"phase\" {{\n  value = data.kubernetes_object.node.object.status.phase\n}}\n"
    ));
    cluster.run("apply").ok();
    assert!(cluster.site.fleet(["output"]).ok().contains("Active"));
    let missing = text.replace("\"kube-system\"", "\"not-there\"");
    cluster.configure(&missing);
    let complaint = cluster.site.fleet(["plan"]).failed();
    assert!(complaint.contains("not-there"), "{complaint}");
    cluster.configure(&missing.replace("kind  ", "optional = true\n  kind  "));
    cluster.run("apply").ok();
    // What a Secret holds is not shown.
    cluster.create(&json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "word" }, "stringData": { "word": "not-for-everybody" },
    }));
    cluster.configure(
        "data \"kubernetes_object\" \"word\" {\n  api_version = \"v1\"\n  kind = \"Secret\"\n  name = \"word\"\n}\n\n\
         output \"word\" {\n  value = data.kubernetes_object.word.object.data.word\n}\n",
    );
    let complaint = cluster.site.fleet(["plan"]).failed();
    assert!(complaint.contains("sensitive"), "{complaint}");
}

#[test]
fn a_missing_permission_is_told_with_who_may_not_do_what() {
    let cluster = Cluster::new("");
    let name = cluster.namespace.clone();
    cluster.create(&json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": "weak" } }));
    cluster.create(&json!({
        "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/service-account-token",
        "metadata": { "name": "weak-token", "annotations": { "kubernetes.io/service-account.name": "weak" } },
    }));
    let filled = (0..100).find_map(|_| {
        std::thread::sleep(std::time::Duration::from_millis(100));
        let secret = cluster.object("secret", "weak-token")?;
        secret["data"]["token"].is_string().then(|| decoded(&secret, "token"))
    });
    let token = filled.unwrap();
    let admin = cluster.site.read("kubeconfig");
    let view = cluster.kubectl(&["config", "view", "--raw", "--minify", "-o", "json"]);
    let mut config: Json = serde_json::from_str(&view).unwrap();
    config["users"][0]["user"] = json!({ "token": token });
    cluster.site.write("kubeconfig", &config.to_string());
    cluster.configure(
        "resource \"kubernetes_manifest\" \"a\" {\n  manifest = {\n    apiVersion = \"v1\"\n    kind = \"ConfigMap\"\n    \
         metadata = { name = \"a\" }\n  }\n}\n",
    );
    let complaint = cluster.site.fleet(["plan"]).complaint();
    let who = format!("system:serviceaccount:{name}:weak");
    assert!(complaint.contains(&who) && complaint.contains("configmaps"), "{complaint}");
    assert!(!complaint.contains(&token), "{complaint}");
    // A token that is good no more.
    config["users"][0]["user"] = json!({ "token": "not-a-token" });
    cluster.site.write("kubeconfig", &config.to_string());
    let complaint = cluster.site.fleet(["plan"]).complaint();
    assert!(complaint.contains("expired"), "{complaint}");
    cluster.site.write("kubeconfig", &admin);
}

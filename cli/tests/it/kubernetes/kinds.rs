//! The other kinds: the laws on their examples, and what each is for.

use fleet_engine::schema::Sort;
use serde_json::{Value as Json, json};

use super::laws::{check_drift, check_secret};
use super::{Cluster, decoded, example};

/// Whether all parts of the identity of a test are there, or none.
pub(super) fn is_identity_made(cluster: &Cluster) -> bool {
    let name = &*cluster.namespace;
    let parts = [
        cluster.object("serviceaccount", name).is_some(),
        cluster.object("secret", &format!("{name}-token")).is_some(),
        cluster.object("clusterrolebinding", name).is_some(),
    ];
    assert!(parts.iter().all(|part| *part == parts[0]), "{parts:?}");
    parts[0]
}

/// The bootstrap tokens of a test.
pub(super) fn bootstrap_tokens(cluster: &Cluster) -> Vec<Json> {
    let selector = format!("fleet.dev/bootstrap-token={}", cluster.namespace);
    let out = cluster.kubectl(&["-n", "kube-system", "get", "secrets", "-l", &selector, "-o", "json"]);
    let list: Json = serde_json::from_str(&out).unwrap();
    list["items"].as_array().unwrap().clone()
}

/// The names of a test are its own: clusters are shared.
pub(super) fn own(cluster: &Cluster, text: &str, name: &str) -> String {
    text.replace(&format!("\"{name}\"\n"), &format!("\"{}\"\n", cluster.namespace))
}

#[test]
fn a_node_identity_is_an_account_with_a_token_and_a_role() {
    let cluster = Cluster::new("");
    let name = cluster.namespace.clone();
    let made = || is_identity_made(&cluster);

    // The kubeconfig works, and may do what its role may.
    cluster.create(&json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": { "name": name },
        "rules": [{ "apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"] }],
    }));
    let text = format!(
        "resource \"kubernetes_node_identity\" \"mini\" {{\n  name = \"{name}\"\n  cluster_role = \"{name}\"\n  labels = {{ team = \"ci\" }}\n}}\n\n\
         resource \"core_file\" \"kubeconfig\" {{\n  path = \"kubectl-cache/given\"\n  content = kubernetes_node_identity.mini.kubeconfig\n}}\n"
    );
    cluster.configure(&text);
    cluster.run("apply").ok();
    cluster.check_converged();
    let given = cluster.site.path().join("kubectl-cache/given").display().to_string();
    let as_given = |words: &[&str]| {
        let words: Vec<&str> = ["--kubeconfig", &given].iter().chain(words).copied().collect();
        cluster.kubectl_with(&words, "")
    };
    assert!(as_given(&["-n", &name, "get", "configmaps"]).status.success());
    assert!(!as_given(&["-n", &name, "get", "secrets"]).status.success());
    // The token is nowhere but there.
    let token = decoded(&cluster.object("secret", &format!("{name}-token")).unwrap(), "token");
    check_secret(&cluster, &[&token]);

    // What is changed behind our back is shown, and put right.
    let token = format!("{name}-token");
    let subjects = json!({ "subjects": [{ "kind": "ServiceAccount", "name": "other", "namespace": name }] });
    let delete = |kind: &str, name: &str| {
        cluster.kubectl(&["-n", &cluster.namespace, "delete", kind, name]);
    };
    check_drift(&cluster, "token", || delete("secret", &token), &["content", "token"]);
    check_drift(&cluster, "account", || delete("serviceaccount", &name), &["content", "token"]);
    check_drift(&cluster, "binding", || delete("clusterrolebinding", &name), &["cluster_role"]);
    let bind = || cluster.patch("clusterrolebinding", &name, &subjects.to_string());
    for kind in ["serviceaccount", "clusterrolebinding"] {
        let label = || cluster.patch(kind, &name, r#"{"metadata":{"labels":{"team":"x"}}}"#);
        check_drift(&cluster, kind, label, &["labels"]);
    }
    let label = || cluster.patch("secret", &token, r#"{"metadata":{"labels":{"team":null}}}"#);
    check_drift(&cluster, "labels of the token", label, &["labels"]);
    check_drift(&cluster, "another is bound", bind, &["cluster_role"]);
    // A binding of that name that is for others, too, is theirs: it stays.
    let others = json!({ "subjects": [
        { "kind": "ServiceAccount", "name": name, "namespace": name },
        { "kind": "ServiceAccount", "name": "other", "namespace": name },
    ] });
    cluster.patch("clusterrolebinding", &name, &others.to_string());
    let told = cluster.run("destroy").told();
    assert!(told.contains("alone, and stays: it lets") && told.contains("/other` do what"), "{told}");
    assert!(cluster.object("clusterrolebinding", &name).is_some());
    assert_eq!(cluster.object("serviceaccount", &name), None);
    cluster.kubectl(&["delete", "clusterrolebinding", &name]);
    // A role that is not there is told.
    cluster.configure(
        &text.replace(&format!("cluster_role = \"{name}\""), "cluster_role = \"not-there-at-all\""),
    );
    let told = cluster.fleet(&["plan"]);
    assert!(told.stdout.contains("no ClusterRole `not-there-at-all`"), "{}{}", told.stdout, told.stderr);
    cluster.configure(&text);
    cluster.run("apply").ok();
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
fn a_binding_of_somebody_else_is_not_taken() {
    let identity = |name: &str| {
        format!(
            "resource \"kubernetes_node_identity\" \"mini\" {{\n  name = \"{name}\"\n  cluster_role = \"view\"\n}}\n"
        )
    };
    let capi =
        |_: &str| "resource \"kubernetes_capi_connection\" \"macs\" {\n  cluster = \"macs\"\n}\n".to_owned();
    type Text = fn(&str) -> String;
    let cases: [(Text, Text); 2] =
        [(identity, str::to_owned), (capi, |namespace| format!("{namespace}-macs-capi-remote"))];
    for (text, name) in cases {
        let cluster = Cluster::new("");
        let name = name(&cluster.namespace);
        let theirs = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": { "name": name },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view" },
            "subjects": [{ "kind": "User", "name": "somebody", "apiGroup": "rbac.authorization.k8s.io" }],
        });
        cluster.create(&theirs);
        let before = cluster.object("clusterrolebinding", &name);
        cluster.configure(&text(&cluster.namespace));
        for words in [&["plan"][..], &["apply", "--auto-approve"]] {
            let complaint = cluster.fleet(words).complaint();
            assert!(complaint.contains("is somebody else's: it is for User `somebody`"), "{complaint}");
        }
        assert_eq!(cluster.object("clusterrolebinding", &name), before);
        cluster.kubectl(&["delete", "clusterrolebinding", &name]);
        cluster.run("apply").ok();
        cluster.run("destroy").ok();
    }
}

#[test]
fn a_bootstrap_token_is_made_once_and_known_to_nobody_else() {
    let cluster = Cluster::new("");
    let text = example(Sort::Resource, "kubernetes_bootstrap_token");
    let text = own(&cluster, &text, "join");
    cluster.configure(&text);
    let all = || bootstrap_tokens(&cluster);
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
    let change = |patch: &str| {
        let name = all()[0]["metadata"]["name"].as_str().unwrap().to_owned();
        cluster.kubectl(&["-n", "kube-system", "patch", "secret", &name, "--type=merge", "-p", patch]);
    };
    let groups = r#"{"data":{"auth-extra-groups":"c3lzdGVtOmJvb3RzdHJhcHBlcnM6eA=="}}"#;
    check_drift(&cluster, "groups", || change(groups), &["groups"]);
    let description = r#"{"data":{"description":"eA=="}}"#;
    check_drift(&cluster, "description", || change(description), &["description"]);
    // One that has expired is made anew, and is not left behind.
    change(r#"{"data":{"expiration":"MjAyMC0wMS0wMVQwMDowMDowMFo="}}"#);
    assert_eq!(cluster.actions(&[]), ["create"]);
    cluster.run("apply").ok();
    assert_eq!(all().len(), 1);
    assert_ne!(decoded(&all()[0], "token-secret"), decoded(&made[0], "token-secret"));
    cluster.check_converged();
    cluster.run("destroy").ok();
    assert_eq!(all(), [] as [Json; 0]);
}

#[test]
fn an_egress_service_leaves_its_destination_to_the_operator() {
    let cluster = Cluster::new(&example(Sort::Resource, "kubernetes_egress_service"));
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
        (
            r#"{"spec":{"ports":[{"name":"ssh","port":22,"protocol":"UDP"},{"name":"node-exporter","port":9100}]}}"#,
            "ports",
        ),
        (r#"{"metadata":{"labels":{"team":"x"}}}"#, "labels"),
    ];
    let labelled = example(Sort::Resource, "kubernetes_egress_service")
        .replace("  name ", "  labels = { team = \"ci\" }\n  name ");
    cluster.configure(&labelled);
    cluster.run("apply").ok();
    for (patch, attribute) in cases {
        check_drift(&cluster, patch, || cluster.patch("service", "mini-0", patch), &[attribute]);
    }
    let kept = cluster.object("service", "mini-0").unwrap();
    assert_eq!(kept["spec"]["externalName"], "ts-mini-0.operators.svc.cluster.local");
    cluster.run("destroy").ok();
}

#[test]
fn a_capi_connection_is_usable_and_complete() {
    let cluster = Cluster::new("");
    cluster.configure(&example(Sort::Resource, "kubernetes_capi_connection"));
    cluster.run("apply").ok();
    let secret = cluster.object("secret", "macs-kubeconfig").unwrap();
    assert_eq!(secret["metadata"]["labels"]["cluster.x-k8s.io/cluster-name"], "macs");
    let kubeconfig: Json = serde_json::from_str(&decoded(&secret, "value")).unwrap();
    let server = kubeconfig["clusters"][0]["cluster"]["server"].as_str().unwrap();
    assert!(server.starts_with("https://") && server.ends_with(":443"), "{server}");
    let token = kubeconfig["users"][0]["user"]["token"].as_str().unwrap();
    check_secret(&cluster, &[token]);
    // With it, Nodes can be seen and the server can be probed, from where fleet is.
    let here = cluster.kubectl(&["config", "view", "--raw", "--minify", "--flatten", "-o", "json"]);
    let here: Json = serde_json::from_str(&here).unwrap();
    let mut given = kubeconfig.clone();
    given["clusters"][0]["cluster"] = here["clusters"][0]["cluster"].clone();
    cluster.site.write("kubectl-cache/given", &given.to_string());
    let path = cluster.site.path().join("kubectl-cache/given").display().to_string();
    for words in [["get", "--raw", "/"], ["get", "--raw", "/api/v1/nodes"]] {
        let words: Vec<&str> = ["--kubeconfig", &path].iter().chain(&words).copied().collect();
        let ran = cluster.kubectl_with(&words, "");
        assert!(ran.status.success(), "{}", super::text(&ran.stderr));
    }
    let denied = cluster.kubectl_with(&["--kubeconfig", &path, "get", "--raw", "/api/v1/secrets"], "");
    assert!(!denied.status.success());
    // Whatever of it somebody changes, it is whole again.
    let name = format!("{}-macs-capi-remote", cluster.namespace);
    let elsewhere = decoded(&secret, "value").replace(server, "https://elsewhere:443");
    let elsewhere = base64::Engine::encode(&base64::prelude::BASE64_STANDARD, elsewhere);
    let delete = |kind: &str, name: &str| {
        cluster.kubectl(&["-n", &cluster.namespace, "delete", kind, name]);
    };
    let value = |value: &str| {
        cluster.patch("secret", "macs-kubeconfig", &json!({ "data": { "value": value } }).to_string());
    };
    let label = r#"{"metadata":{"labels":{"cluster.x-k8s.io/cluster-name":"x"}}}"#;
    let whole = &["complete"];
    check_drift(&cluster, "no kubeconfig", || value("eA=="), whole);
    check_drift(&cluster, "another server", || value(&elsewhere), whole);
    check_drift(&cluster, "label", || cluster.patch("secret", "macs-kubeconfig", label), whole);
    check_drift(&cluster, "rules", || cluster.patch("clusterrole", &name, r#"{"rules":[]}"#), whole);
    check_drift(&cluster, "binding", || delete("clusterrolebinding", &name), whole);
    check_drift(&cluster, "token", || delete("secret", &format!("{name}-token")), whole);
    check_drift(&cluster, "Secret", || delete("secret", "macs-kubeconfig"), whole);
    cluster.run("destroy").ok();
}

#[test]
pub(super) fn data_is_read_and_changes_nothing() {
    let text = example(Sort::Data, "kubernetes_object");
    let cluster = Cluster::new(&format!(
        "{text}\noutput \"phase\" {{\n  value = data.kubernetes_object.node.object.status.phase\n}}\n"
    ));
    cluster.run("apply").ok();
    assert!(cluster.fleet(&["output"]).ok().contains("Active"));
    let missing = text.replace("\"kube-system\"", "\"not-there\"");
    cluster.configure(&missing);
    let complaint = cluster.fleet(&["plan"]).failed();
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
    let complaint = cluster.fleet(&["plan"]).failed();
    assert!(complaint.contains("sensitive"), "{complaint}");
}

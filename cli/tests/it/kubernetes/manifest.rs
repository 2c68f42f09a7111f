//! `kubernetes_manifest`: the laws, and what others do to the same objects.

use std::fs;

use fleet_engine::schema::Sort;
use serde_json::{Value as Json, json};

use super::laws::check_drift;
use super::{Cluster, example, walk};
use crate::laws::search::Search;

fn settings(data: &str, more: &str) -> String {
    format!(
        "resource \"kubernetes_manifest\" \"settings\" {{\n  manifest = {{\n    apiVersion = \"v1\"\n    kind = \"ConfigMap\"\n    \
         metadata = {{ name = \"settings\" }}\n    data = {data}\n  }}\n{more}}}\n"
    )
}

fn data(cluster: &Cluster) -> Json {
    cluster.object("configmap", "settings").map_or(Json::Null, |object| object["data"].clone())
}

#[test]
fn a_field_that_somebody_else_took_is_a_conflict_that_names_them() {
    let cluster = Cluster::new(&settings("{ a = \"1\", b = \"1\" }", ""));
    cluster.run("apply").ok();
    cluster.patch("configmap", "settings", r#"{"data":{"a":"2"}}"#);
    for command in ["plan", "apply"] {
        let ran = cluster.fleet(if command == "plan" { &["plan"] } else { &["apply", "--auto-approve"] });
        let complaint = ran.complaint();
        assert!(complaint.contains("would be refused") && complaint.contains(".data.a"), "{complaint}");
        assert!(complaint.contains("kubectl-patch"), "{complaint}");
    }
    assert_eq!(data(&cluster), json!({ "a": "2", "b": "1" }), "nothing was changed");
    // Whoever says so takes it over, and exactly that field is shown.
    cluster.configure(&settings("{ a = \"1\", b = \"1\" }", "  force = true\n"));
    let plan = cluster.fleet(&["plan"]).ok();
    assert!(plan.contains("\"2\"") && plan.contains("\"1\""), "{plan}");
    cluster.run("apply").ok();
    assert_eq!(data(&cluster), json!({ "a": "1", "b": "1" }));
    cluster.check_converged();
}

#[test]
fn every_field_that_is_changed_behind_our_back_is_shown_and_only_that() {
    let text = example(Sort::Resource, "kubernetes_manifest");
    let cluster = Cluster::new(&text.replace("  manifest", "  force = true\n  manifest"));
    cluster.run("apply").ok();
    let cases = [
        (r#"{"data":{"level":"debug"}}"#, r#"~ level = "debug" → "info""#),
        (r#"{"data":{"level":null}}"#, r#"+ level = "info""#),
        (r#"{"metadata":{"labels":{"team":"x"}}}"#, r#"~ team = "x" → "ci""#),
    ];
    for (patch, expected) in cases {
        check_drift(&cluster, patch, || cluster.patch("configmap", "settings", patch), &["manifest"]);
        // The same again, to see which of its fields are shown.
        cluster.patch("configmap", "settings", patch);
        let plan = cluster.fleet(&["plan"]).ok();
        let (_, plan) = plan.split_once("What apply will do:").unwrap();
        let is_field = |line: &&str| line.starts_with(['~', '+', '-']) && !line.ends_with('{');
        let shown: Vec<&str> = plan.lines().map(str::trim).filter(is_field).skip(1).collect();
        assert_eq!(shown, [expected], "{plan}");
        cluster.run("apply").ok();
    }
    // What others put elsewhere in it is theirs.
    cluster.patch("configmap", "settings", r#"{"data":{"theirs":"x"},"metadata":{"labels":{"theirs":"x"}}}"#);
    cluster.check_converged();
    // Gone is gone.
    cluster.kubectl(&["-n", &cluster.namespace, "delete", "configmap", "settings"]);
    assert_eq!(cluster.actions(&[]), ["create"]);
    cluster.run("apply").ok();
    assert_eq!(data(&cluster), json!({ "level": "info" }));
}

#[test]
fn what_is_not_wished_any_more_goes_and_what_is_others_stays() {
    let cluster = Cluster::new(&settings("{ a = \"1\", b = \"1\" }", ""));
    cluster.run("apply").ok();
    cluster.patch("configmap", "settings", r#"{"data":{"theirs":"x"}}"#);
    cluster.configure(&settings("{ a = \"3\" }", ""));
    assert_eq!(cluster.actions(&[]), ["update"]);
    cluster.run("apply").ok();
    assert_eq!(data(&cluster), json!({ "a": "3", "theirs": "x" }));
    cluster.check_converged();
}

#[test]
fn another_name_is_another_object() {
    let cluster = Cluster::new(&settings("{ a = \"1\" }", ""));
    cluster.run("apply").ok();
    cluster.configure(&settings("{ a = \"1\" }", "").replace("name = \"settings\"", "name = \"other\""));
    assert_eq!(cluster.actions(&[]), ["replace"]);
    cluster.run("apply").ok();
    assert_eq!(data(&cluster), Json::Null);
    assert!(cluster.object("configmap", "other").is_some());
    cluster.check_converged();
}

/// Applies an object behind our back.
fn apply_as(cluster: &Cluster, manager: &str, object: &Json) {
    let manager = format!("--field-manager={manager}");
    let words =
        ["-n", &*cluster.namespace, "apply", "--server-side", "--validate=false", &manager, "-f", "-"];
    let applied = cluster.kubectl_with(&words, &object.to_string());
    assert!(applied.status.success(), "{}", super::text(&applied.stderr));
}

#[test]
fn what_somebody_else_applied_is_theirs() {
    let cluster = Cluster::new(&settings("{ a = \"1\" }", ""));
    let theirs = |value: &str| json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "settings" }, "data": { "a": value } });
    apply_as(&cluster, "their-controller", &theirs("2"));
    let complaint = cluster.run("apply").complaint();
    assert!(complaint.contains("`.data.a`: conflict with \"their-controller\""), "{complaint}");
    assert!(complaint.contains("`force = true`"), "{complaint}");
    assert_eq!(data(&cluster), json!({ "a": "2" }));
    // Two who want the same are at peace.
    apply_as(&cluster, "their-controller", &theirs("1"));
    cluster.run("apply").ok();
    cluster.check_converged();
}

#[test]
fn defaults_and_merged_lists_are_no_differences() {
    let text = "resource \"kubernetes_manifest\" \"web\" {\n  manifest = {\n    apiVersion = \"v1\"\n    kind = \"Service\"\n    \
                metadata = { name = \"web\" }\n    spec = {\n      selector = { app = \"web\" }\n      \
                ports = [{ name = \"http\", port = 80 }]\n    }\n  }\n}\n";
    let cluster = Cluster::new(text);
    cluster.run("apply").ok();
    assert_eq!(cluster.object("service", "web").unwrap()["spec"]["ports"][0]["protocol"], "TCP");
    cluster.check_converged();
    // Another owner adds a port of its own.
    let theirs = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": { "name": "web" },
        "spec": { "ports": [{ "name": "https", "port": 443, "protocol": "TCP" }] },
    });
    apply_as(&cluster, "theirs", &theirs);
    assert_eq!(cluster.object("service", "web").unwrap()["spec"]["ports"].as_array().unwrap().len(), 2);
    cluster.check_converged();
}

#[test]
fn a_finalizer_that_blocks_is_named_and_the_next_run_goes_on() {
    let held = settings("{ a = \"1\" }", "  timeout = \"2s\"\n").replace(
        "metadata = { name = \"settings\" }",
        "metadata = { name = \"settings\", finalizers = [\"example.com/hold\"] }",
    );
    let cluster = Cluster::new(&held);
    cluster.run("apply").ok();
    let check_named = |command: &str| {
        let complaint = cluster.run(command).complaint();
        assert!(complaint.contains("the finalizer `example.com/hold` holds it"), "{complaint}");
        let object = cluster.object("configmap", "settings").unwrap();
        assert!(!object["metadata"]["deletionTimestamp"].is_null());
    };
    check_named("destroy");
    // What is being deleted is not taken for what is wished, and nothing is made of it before it is gone.
    assert_eq!(cluster.actions(&[]), ["update"]);
    check_named("apply");
    cluster.patch("configmap", "settings", r#"{"metadata":{"finalizers":null}}"#);
    cluster.run("destroy").ok();
    assert_eq!(cluster.object("configmap", "settings"), None);
}

/// Says something of a Service, as whoever keeps it does.
fn check(cluster: &Cluster, status: &str) {
    let mut service = cluster.object("service", "web").unwrap();
    service["metadata"].as_object_mut().unwrap().remove("resourceVersion");
    service["status"]["conditions"] = json!([{
        "type": "example.com/Checked", "status": status, "reason": "Test", "message": "somebody looks at it",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }]);
    let path = format!("/api/v1/namespaces/{}/services/web/status", cluster.namespace);
    let ran = cluster.kubectl_with(&["replace", "--raw", &path, "-f", "-"], &service.to_string());
    assert!(ran.status.success(), "{}", super::text(&ran.stderr));
}

#[test]
fn conditions_are_waited_for() {
    let text = "resource \"kubernetes_manifest\" \"web\" {\n  conditions = [\"example.com/Checked\"]\n  timeout = \"3s\"\n  manifest = {\n    \
                apiVersion = \"v1\"\n    kind = \"Service\"\n    metadata = { name = \"web\" }\n    \
                spec = { type = \"ExternalName\", externalName = \"web.example.com\" }\n  }\n}\n";
    let cluster = Cluster::new(text);
    let complaint = cluster.run("apply").complaint();
    assert!(complaint.contains("not yet `example.com/Checked`"), "{complaint}");
    check(&cluster, "False");
    assert_eq!(cluster.changes(), ["conditions"]);
    let complaint = cluster.run("apply").complaint();
    assert!(complaint.contains("(somebody looks at it)"), "{complaint}");
    // Somebody says so while it is waited for.
    cluster.configure(&text.replace("\"3s\"", "\"1m\""));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(std::time::Duration::from_secs(1));
            check(&cluster, "True");
        });
        cluster.run("apply").ok();
    });
    cluster.check_converged();
    cluster.run("destroy").ok();
    assert_eq!(cluster.object("service", "web"), None);
}

#[test]
fn a_port_that_is_not_wished_any_more_goes_and_that_of_others_stays() {
    let text = |ports: &str| {
        format!(
            "resource \"kubernetes_manifest\" \"web\" {{\n  manifest = {{\n    apiVersion = \"v1\"\n    kind = \"Service\"\n    \
             metadata = {{ name = \"web\" }}\n    spec = {{ selector = {{ app = \"web\" }}, ports = [{ports}] }}\n  }}\n}}\n"
        )
    };
    let (http, ssh) = ("{ name = \"http\", port = 80 }", "{ name = \"ssh\", port = 22 }");
    let cluster = Cluster::new(&text(&format!("{http}, {ssh}")));
    cluster.run("apply").ok();
    let theirs = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": { "name": "web" },
        "spec": { "ports": [{ "name": "https", "port": 443, "protocol": "TCP" }] },
    });
    apply_as(&cluster, "theirs", &theirs);
    cluster.check_converged();
    cluster.configure(&text(http));
    assert_eq!(cluster.changes(), ["manifest"]);
    cluster.run("apply").ok();
    let mut ports: Vec<i64> = cluster.object("service", "web").unwrap()["spec"]["ports"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|port| port["port"].as_i64())
        .collect();
    ports.sort_unstable();
    assert_eq!(ports, [80, 443]);
    cluster.check_converged();
}

#[test]
fn what_spans_the_cluster_is_in_no_namespace() {
    let cluster = Cluster::new("");
    let text = format!(
        "resource \"kubernetes_manifest\" \"role\" {{\n  manifest = {{\n    apiVersion = \"rbac.authorization.k8s.io/v1\"\n    \
         kind = \"ClusterRole\"\n    metadata = {{ name = \"{}\" }}\n    \
         rules = [{{ apiGroups = [\"\"], resources = [\"nodes\"], verbs = [\"get\"] }}]\n  }}\n}}\n",
        cluster.namespace
    );
    cluster.configure(&text.replace("  manifest", "  namespace = \"default\"\n  manifest"));
    let complaint = cluster.fleet(&["plan"]).complaint();
    assert!(complaint.contains("is in no namespace"), "{complaint}");
    cluster.configure(&text);
    cluster.run("apply").ok();
    // Where other objects are is nothing to it.
    cluster.provider("");
    cluster
        .site
        .write("cluster.fleet.hcl", "provider \"kubernetes\" {\n  kubeconfig_path = \"kubeconfig\"\n}\n");
    cluster.check_converged();
    cluster.run("destroy").ok();
}

#[test]
fn what_cannot_be_is_refused_with_the_reason() {
    let cluster = Cluster::new("");
    let cases = [
        (
            settings("{ a = \"1\" }", "").replace("name = \"settings\"", "name = \"Not A Name\""),
            "metadata.name",
        ),
        (settings("{ a = 1 }", ""), ".data.a: expected string"),
        (settings("{}", "").replace("ConfigMap", "Nothing"), "no kind `Nothing`"),
        (settings("{}", "  namespace = \"nowhere-at-all\"\n"), "nowhere-at-all"),
    ];
    for (text, expected) in cases {
        cluster.configure(&text);
        let complaint = cluster.fleet(&["apply", "--auto-approve", "--step-timeout", "4s"]).complaint();
        assert!(complaint.contains(expected), "{expected}: {complaint}");
    }
}

/// A pod of a class that has to be there before every server lets it in, whatever else one asks of pods.
fn pod(class: &str, more: &str) -> String {
    format!(
        "resource \"kubernetes_manifest\" \"pod\" {{\n{more}  manifest = {{\n    apiVersion = \"v1\"\n    kind = \"Pod\"\n    \
         metadata = {{ name = \"one\" }}\n    spec = {{\n      runtimeClassName = \"{class}\"\n      \
         automountServiceAccountToken = false\n      containers = [{{ name = \"c\", image = \"example.com/c\" }}]\n    }}\n  }}\n}}\n"
    )
}

/// A cluster in which pods find the account that they run as. Whoever keeps the namespace may have made it, or never make it.
fn cluster_with_account() -> Cluster {
    let cluster = Cluster::new("");
    cluster.kubectl_with(&["-n", &cluster.namespace, "create", "serviceaccount", "default"], "");
    cluster
}

#[test]
fn what_the_cluster_does_not_let_in_is_said_in_the_plan_and_nothing_is_made() {
    let cluster = cluster_with_account();
    let service = "resource \"kubernetes_manifest\" \"web\" {\n  manifest = {\n    apiVersion = \"v1\"\n    kind = \"Service\"\n    \
                   metadata = { name = \"web\" }\n    spec = { ports = [{ name = \"http\", port = 70000, protocol = \"TCP\" }] }\n  \
                   }\n}\n";
    for (text, kind, name, expected) in [
        (pod("nowhere", ""), "pod", "one", "RuntimeClass \"nowhere\" not found"),
        (service.to_owned(), "service", "web", "spec.ports[0].port"),
    ] {
        cluster.configure(&text);
        for words in [&["plan"][..], &["apply", "--auto-approve"]] {
            let complaint = cluster.fleet(words).complaint();
            assert!(complaint.contains("would be refused") && complaint.contains(expected), "{complaint}");
        }
        assert_eq!(cluster.object(kind, name), None);
    }
}

#[test]
fn what_an_earlier_step_makes_possible_is_no_reason_to_refuse_the_plan() {
    let cluster = cluster_with_account();
    let class = format!(
        "resource \"kubernetes_manifest\" \"class\" {{\n  manifest = {{\n    apiVersion = \"node.k8s.io/v1\"\n    \
         kind = \"RuntimeClass\"\n    metadata = {{ name = \"{0}\" }}\n    handler = \"runs-it\"\n  }}\n}}\n",
        cluster.namespace
    );
    let pod = pod(&cluster.namespace, "  depends_on = [kubernetes_manifest.class]\n");
    cluster.configure(&format!("{class}\n{pod}"));
    let told = cluster.fleet(&["plan"]);
    assert!(told.stdout.contains("would be refused as things are"), "{}{}", told.stdout, told.stderr);
    cluster.run("apply").ok();
    assert!(cluster.object("pod", "one").is_some());
    cluster.run("destroy").ok();
    assert_eq!(cluster.object("pod", "one"), None);
}

#[test]
fn a_namespace_that_cannot_go_says_who_holds_it() {
    let cluster = Cluster::new("");
    cluster.create(&json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "held", "finalizers": ["example.com/hold"] },
    }));
    let text = format!(
        "resource \"kubernetes_manifest\" \"space\" {{\n  timeout = \"3s\"\n  manifest = {{\n    apiVersion = \"v1\"\n    \
         kind = \"Namespace\"\n    metadata = {{ name = \"{0}\", labels = {{ team = \"ci\" }} }}\n  }}\n}}\n",
        cluster.namespace
    );
    cluster.configure(&text);
    cluster.run("apply").ok();
    let complaint = cluster.run("destroy").complaint();
    assert!(complaint.contains("the finalizer `kubernetes` holds it"), "{complaint}");
    cluster.patch("configmap", "held", r#"{"metadata":{"finalizers":null}}"#);
}

#[test]
fn a_secret_is_nowhere_but_in_the_cluster() {
    const SECRET: &str = "correct-horse-battery-staple";
    let text = "secret \"word\" {\n  from = \"file:word\"\n}\n\nresource \"kubernetes_manifest\" \"secret\" {\n  manifest = {\n    \
                apiVersion = \"v1\"\n    kind = \"Secret\"\n    metadata = { name = \"word\" }\n    \
                stringData = { word = secret.word }\n  }\n}\n";
    let cluster = Cluster::new(text);
    cluster.site.write("word", SECRET);
    let search = Search::new(&[SECRET]);
    let check = |words: &[&str]| {
        let ran = cluster.fleet(words);
        search.check("stdout", ran.stdout.as_bytes());
        search.check("stderr", ran.stderr.as_bytes());
        ran
    };
    check(&["plan", "--json"]).ok();
    check(&["apply", "--auto-approve", "--log", "trace", "--json-into", "events"]).ok();
    let kept = cluster.object("secret", "word").unwrap();
    assert_eq!(kept["data"]["word"], "Y29ycmVjdC1ob3JzZS1iYXR0ZXJ5LXN0YXBsZQ==");
    check(&["plan", "--log", "trace"]).ok();
    cluster.check_converged();
    cluster.patch("secret", "word", r#"{"data":{"word":"eA=="}}"#);
    // The secret is not known to a plan, so only apply learns of the other owner.
    assert!(check(&["plan"]).ok().contains("kubernetes_manifest.secret"));
    let complaint = check(&["apply", "--auto-approve"]).failed();
    assert!(complaint.contains("kubectl"), "{complaint}");
    let all = walk(cluster.site.path());
    assert!(all.len() > 3);
    for path in all.iter().filter(|path| {
        !path.ends_with("word") && !path.starts_with(cluster.site.path().join("kubectl-cache"))
    }) {
        search.check(&path.display().to_string(), &fs::read(path).unwrap());
    }
    // Another word is sent.
    cluster.site.write("word", "another-word-that-is-long");
    cluster.configure(&text.replace("  manifest", "  force = true\n  manifest"));
    cluster.run("apply").ok();
    let kept = cluster.object("secret", "word").unwrap();
    assert_eq!(kept["data"]["word"], "YW5vdGhlci13b3JkLXRoYXQtaXMtbG9uZw==");
    cluster.run("destroy").ok();
}

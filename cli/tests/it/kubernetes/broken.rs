//! What goes wrong on purpose, always in the lab, whatever `FLEET_TEST_KUBECONFIG` says: a real cluster cannot be told to.

use std::time::{Duration, Instant};

use fleet_lab::kubernetes::{Fault, Wrong};
use serde_json::json;

use super::Cluster;
use super::fields::CASES;
use super::nodes::{FRESH, node, pod, register};

const SETTINGS: &str = "resource \"kubernetes_manifest\" \"settings\" {\n  manifest = {\n    apiVersion = \"v1\"\n    kind = \"ConfigMap\"\n    \
                        metadata = { name = \"settings\" }\n    data = { a = \"1\" }\n  }\n}\n";

/// The changes of ConfigMaps that were asked for, and how each ended.
fn writes(cluster: &Cluster) -> Vec<Option<u16>> {
    let all = cluster.server().requests();
    let is_one = |path: &str| path.contains("/configmaps");
    let all = all.into_iter().filter(|entry| entry.writes && !entry.dry_run && is_one(&entry.path));
    all.map(|entry| entry.status).collect()
}

#[test]
fn what_may_pass_is_tried_again() {
    let cases = [
        (Wrong::Conflict, vec![Some(409), Some(201)]),
        (Wrong::Expired, vec![Some(410), Some(201)]),
        (Wrong::TooMany(1), vec![Some(429), Some(201)]),
        (Wrong::Internal, vec![Some(500), Some(201)]),
        (Wrong::CutBefore, vec![None, Some(201)]),
        // It was made, which is seen before anything is done again.
        (Wrong::CutAfter, vec![None]),
    ];
    for (wrong, expected) in cases {
        let cluster = Cluster::in_lab(SETTINGS);
        let server = cluster.server();
        server.fault(Fault::new(wrong.clone()).on("patch", "configmaps"));
        cluster.run("apply").ok();
        assert_eq!(writes(&cluster), expected, "{wrong:?}");
        cluster.check_converged();
    }
}

/// What each kind that writes changes first.
const FIRST: [(&str, &str); 6] = [
    ("kubernetes_bootstrap_token", "secrets"),
    ("kubernetes_capi_connection", "serviceaccounts"),
    ("kubernetes_egress_service", "services"),
    ("kubernetes_manifest", "services"),
    ("kubernetes_node", "nodes"),
    ("kubernetes_node_identity", "serviceaccounts"),
];

#[test]
fn every_kind_tries_again_what_may_pass_and_says_what_will_not() {
    let refused = [
        (Wrong::Invalid("metadata.odd".into()), "metadata.odd: Required value"),
        (Wrong::NotAdmitted("denied by the policy of the house".into()), "denied by the policy of the house"),
        (Wrong::Unauthorized, "the token is not known or has expired"),
    ];
    for (kind, text, _) in CASES {
        // This one changes only what it finds.
        let Some((_, resource)) = FIRST.iter().find(|(of, _)| of == kind) else {
            assert_eq!(*kind, "kubernetes_stuck_pods");
            continue;
        };
        let cluster = Cluster::in_lab("");
        cluster.configure(&text(&cluster));
        let server = cluster.server();
        for (wrong, expected) in &refused {
            server.fault(Fault::new(wrong.clone()).on("patch", resource).always());
            let complaint = cluster.run("apply").complaint();
            assert!(complaint.contains(expected), "{kind}: {complaint}");
            server.clear_faults();
        }
        for wrong in [Wrong::Conflict, Wrong::TooMany(1), Wrong::CutAfter] {
            server.fault(Fault::new(wrong).on("patch", resource));
        }
        cluster.run("apply").ok();
        cluster.check_converged();
        cluster.run("destroy").ok();
    }
}

#[test]
fn what_the_server_would_not_take_is_said_by_the_plan() {
    for (wrong, expected) in [
        (Wrong::Invalid("data.a".into()), "data.a: Required value"),
        (Wrong::NotAdmitted("denied by the policy of the house".into()), "denied by the policy of the house"),
    ] {
        let cluster = Cluster::in_lab(SETTINGS);
        let server = cluster.server();
        server.fault(Fault::new(wrong.clone()).on("patch", "configmaps").rehearsed().always());
        let complaint = cluster.fleet(&["plan"]).complaint();
        assert!(
            complaint.contains(expected) && complaint.contains("kubernetes_manifest.settings"),
            "{complaint}"
        );
        cluster.run("apply").failed();
        assert_eq!(writes(&cluster), [], "{wrong:?}: nothing is tried that is known to fail");
    }
}

#[test]
fn a_server_that_says_when_is_not_asked_before() {
    let cluster = Cluster::in_lab(SETTINGS);
    cluster.server().fault(Fault::new(Wrong::TooMany(4)).on("patch", "configmaps"));
    let begun = Instant::now();
    cluster.run("apply").ok();
    assert_eq!(writes(&cluster), [Some(429), Some(201)]);
    assert!(begun.elapsed() >= Duration::from_secs(4), "{:?}", begun.elapsed());
}

#[test]
fn a_list_that_is_forgotten_is_begun_anew() {
    let cluster =
        Cluster::in_lab("resource \"kubernetes_bootstrap_token\" \"join\" {\n  name = \"join\"\n}\n");
    cluster.server().fault(Fault::new(Wrong::Expired).on("list", "secrets").times(2));
    cluster.run("apply").ok();
    cluster.check_converged();
}

#[test]
fn what_will_not_pass_is_said_and_not_tried_again() {
    let cases = [
        (Wrong::Invalid("data.a".into()), "data.a: Required value"),
        (Wrong::NotAdmitted("denied by the policy of the house".into()), "denied by the policy of the house"),
        (Wrong::Unauthorized, "the token is not known or has expired"),
    ];
    for (wrong, expected) in cases {
        let cluster = Cluster::in_lab(SETTINGS);
        let server = cluster.server();
        server.fault(Fault::new(wrong.clone()).on("patch", "configmaps").always());
        let complaint = cluster.run("apply").complaint();
        assert!(complaint.contains(expected), "{complaint}");
        assert_eq!(writes(&cluster).len(), 1, "{wrong:?}");
        server.clear_faults();
        cluster.run("apply").ok();
        cluster.check_converged();
    }
}

#[test]
fn what_cannot_be_seen_is_neither_forgotten_nor_made_again() {
    let cluster = Cluster::in_lab(SETTINGS);
    let server = cluster.server();
    cluster.run("apply").ok();
    let before = writes(&cluster);
    for wrong in [Wrong::Unauthorized, Wrong::NotAdmitted("not for you".into())] {
        server.fault(Fault::new(wrong).on("get", "configmaps").always());
        let complaint = cluster.run("apply").failed();
        assert!(complaint.contains("cannot be observed"), "{complaint}");
        server.clear_faults();
    }
    assert_eq!(writes(&cluster), before);
    cluster.check_converged();
}

#[test]
fn a_watch_that_expires_is_begun_anew() {
    // It expires at once, always; its server is gone; somebody may not watch.
    for wrong in [Wrong::Expired, Wrong::CutBefore, Wrong::NotAdmitted("not for you".into())] {
        let text = SETTINGS.replace("  manifest", "  timeout = \"1m\"\n  manifest");
        let cluster = Cluster::in_lab(
            &text.replace("name = \"settings\"", "name = \"settings\", finalizers = [\"a.b/c\"]"),
        );
        let server = cluster.server();
        cluster.run("apply").ok();
        server.fault(Fault::new(wrong.clone()).on("watch", "configmaps").always());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_secs(1));
                // What was watched so far is forgotten, and then what is waited for happens.
                server.forget_changes();
                cluster.patch("configmap", "settings", r#"{"metadata":{"finalizers":null}}"#);
            });
            cluster.run("destroy").ok();
        });
        let watches = server.requests().into_iter().filter(|entry| entry.verb == "watch").count();
        assert!(watches > 0, "{wrong:?}");
        assert_eq!(cluster.object("configmap", "settings"), None, "{wrong:?}");
    }
}

#[test]
fn a_token_that_expires_in_the_middle_stops_the_rest_and_the_next_run_goes_on() {
    let two = |name: &str| SETTINGS.replace("\"settings\"", &format!("\"{name}\""));
    let second =
        two("second").replace("  manifest = {", "  depends_on = [kubernetes_manifest.first]\n  manifest = {");
    let cluster = Cluster::in_lab(&format!("{}\n{second}", two("first")));
    let server = cluster.server();
    let mut fault = Fault::new(Wrong::Unauthorized).on("patch", "configmaps").always();
    fault.skip = 1;
    server.fault(fault);
    let complaint = cluster.run("apply").complaint();
    assert!(complaint.contains("the next run goes on from there"), "{complaint}");
    assert!(
        cluster.object("configmap", "first").is_some() && cluster.object("configmap", "second").is_none()
    );
    server.clear_faults();
    assert_eq!(cluster.actions(&[]), ["create"], "only what is missing");
    cluster.run("apply").ok();
    cluster.check_converged();
}

#[test]
fn what_no_webhook_lets_be_rehearsed_is_compared_as_it_is() {
    let cluster = Cluster::in_lab(SETTINGS);
    let server = cluster.server();
    let unsure = Wrong::NoDryRun("policy.example.com".into());
    server.fault(Fault::new(unsure).on("patch", "configmaps").rehearsed().always());
    assert_eq!(cluster.actions(&[]), ["create"]);
    cluster.run("apply").ok();
    cluster.check_converged();
    // Behind our back, and in the configuration.
    cluster.patch("configmap", "settings", r#"{"data":{"a":"2","theirs":"x"}}"#);
    assert_eq!(cluster.changes(), ["manifest"]);
    cluster.configure(&SETTINGS.replace("force", "").replace("  manifest", "  force = true\n  manifest"));
    cluster.run("apply").ok();
    cluster.check_converged();
    let found = cluster.object("configmap", "settings").unwrap();
    assert_eq!(found["data"], json!({ "a": "1", "theirs": "x" }));
    let other =
        SETTINGS.replace("a = \"1\"", "b = \"1\"").replace("  manifest", "  force = true\n  manifest");
    cluster.configure(&other);
    assert_eq!(cluster.changes(), ["manifest"]);
    cluster.run("apply").ok();
    cluster.check_converged();
    let found = cluster.object("configmap", "settings").unwrap();
    assert_eq!(found["data"], json!({ "b": "1", "theirs": "x" }), "what was ours is gone");
    cluster.run("destroy").ok();
}

#[test]
fn a_node_that_could_not_be_drained_is_not_deleted_for_that() {
    let not_listed = Wrong::NotAdmitted("not for you".into());
    for (wrong, verb, resource) in [
        (not_listed.clone(), "list", "pods"),
        (Wrong::Unauthorized, "list", "pods"),
        (not_listed, "create", "pods"),
    ] {
        let cluster = Cluster::in_lab("");
        let name = cluster.namespace.clone();
        register(&cluster, &name, FRESH);
        cluster.configure(&node(&name, "  drain_timeout = \"1s\"\n  delete_undrained = true\n"));
        cluster.run("apply").ok();
        pod(&cluster, "a", &name, &json!({}));
        cluster.server().fault(Fault::new(wrong.clone()).on(verb, resource).always());
        cluster.run("destroy").failed();
        assert!(cluster.object("node", &name).is_some(), "{wrong:?} {verb}");
        cluster.server().clear_faults();
        cluster.run("destroy").ok();
        assert_eq!(cluster.object("node", &name), None);
    }
}

#[test]
fn a_node_that_goes_meanwhile_is_not_made() {
    let cluster = Cluster::in_lab("");
    let name = cluster.namespace.clone();
    register(&cluster, &name, FRESH);
    cluster.configure(&node(&name, "  labels = { \"example.com/a\" = \"b\" }\n"));
    cluster.server().fault(Fault::new(Wrong::Removed).on("patch", "nodes"));
    let complaint = cluster.fleet(&["apply", "--auto-approve", "--step-timeout", "3s"]).failed();
    assert!(complaint.contains("kubernetes_node.mini"), "{complaint}");
    assert_eq!(cluster.object("node", &name), None, "nothing but its agent makes a Node");
    register(&cluster, &name, FRESH);
    cluster.run("apply").ok();
    cluster.check_converged();
}

#[test]
fn a_secret_of_the_cluster_is_asked_for_once_and_by_apply_alone() {
    let two = |name: &str| {
        format!(
            "secret \"{name}\" {{\n  from = \"k8s:default/app#token\"\n}}\n\nresource \"core_file\" \"{name}\" {{\n  \
             path = \"{name}.txt\"\n  content = \"is ${{secret.{name}}}\"\n}}\n"
        )
    };
    let cluster = Cluster::in_lab(&format!("{}{}", two("a"), two("b")));
    cluster.site.write(".kube/config", &cluster.server().kubeconfig());
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "app", "namespace": "default" }, "stringData": { "token": "hunter2" },
    });
    let made = cluster.kubectl_with(&["create", "--validate=false", "-f", "-"], &secret.to_string());
    assert!(made.status.success());
    let asked = || {
        let all = cluster.server().requests();
        let is_it = |path: &str| path.ends_with("/namespaces/default/secrets/app");
        let asked = all.iter().filter(|entry| entry.verb == "get" && is_it(&entry.path));
        asked.filter(|entry| entry.status == Some(200)).count()
    };
    cluster.fleet(&["plan"]).ok();
    assert_eq!(asked(), 0, "a plan needs none");
    cluster.run("apply").ok();
    assert_eq!(asked(), 1, "two names, two resources");
    assert_eq!(
        (cluster.site.read("a.txt"), cluster.site.read("b.txt")),
        ("is hunter2".into(), "is hunter2".into())
    );
    cluster.check_converged();
    assert_eq!(asked(), 1);
}

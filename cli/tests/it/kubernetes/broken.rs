//! What goes wrong on purpose, always in the lab, whatever `FLEET_TEST_KUBECONFIG` says: a real cluster cannot be told to.

use std::time::{Duration, Instant};

use fleet_lab::kubernetes::{Fault, Wrong};

use super::Cluster;

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

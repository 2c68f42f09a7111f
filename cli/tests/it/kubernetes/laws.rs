//! The laws that hold for every kind in a cluster.

use std::collections::BTreeMap;
use std::fs;

use fleet_engine::schema::Sort;
use serde_json::Value as Json;

use super::kinds::{bootstrap_tokens, data_is_read_and_changes_nothing, is_identity_made, own};
use super::nodes::{
    a_node_is_waited_for_labelled_and_named, pods_that_nobody_lets_go_are_found_and_set_free,
};
use super::{Cluster, example, walk};
use crate::laws::search::Search;

/// A kind on whose example the laws are tried: the name in the example that has to be a test's own, and whether it is made.
type Example = (&'static str, Option<&'static str>, fn(&Cluster) -> bool);

const EXAMPLES: &[Example] = &[
    ("kubernetes_bootstrap_token", Some("join"), |cluster| !bootstrap_tokens(cluster).is_empty()),
    ("kubernetes_capi_connection", None, |cluster| cluster.object("secret", "macs-kubeconfig").is_some()),
    ("kubernetes_egress_service", None, |cluster| cluster.object("service", "mini-0").is_some()),
    ("kubernetes_manifest", None, |cluster| {
        let Some(made) = cluster.object("configmap", "settings") else { return false };
        made["data"]["level"] == "info" && made["metadata"]["labels"]["team"] == "ci"
    }),
    ("kubernetes_node_identity", Some("tart-kubelet-mini-0"), is_identity_made),
];

/// Kinds that make nothing by themselves, with the test that has what they look at and tries the laws on it.
const APART: &[(Sort, &str, fn())] = &[
    (Sort::Resource, "kubernetes_node", a_node_is_waited_for_labelled_and_named),
    (Sort::Resource, "kubernetes_stuck_pods", pods_that_nobody_lets_go_are_found_and_set_free),
    (Sort::Data, "kubernetes_object", data_is_read_and_changes_nothing),
];

/// The kinds that the laws are tried on.
pub(crate) fn kinds(sort: Sort) -> Vec<String> {
    let examples = EXAMPLES.iter().map(|(kind, ..)| (Sort::Resource, *kind));
    let all = examples.chain(APART.iter().map(|(sort, kind, _)| (*sort, *kind)));
    all.filter(|(of, _)| *of == sort).map(|(_, kind)| kind.to_owned()).collect()
}

#[test]
fn the_laws_hold_for_every_kind_on_its_example() {
    for (kind, name, made) in EXAMPLES {
        let cluster = Cluster::new("");
        let text = example(Sort::Resource, kind);
        cluster.configure(&name.map_or(text.clone(), |name| own(&cluster, &text, name)));
        check_laws(&cluster, || made(&cluster));
    }
}

/// What is in the namespace of a test that a kind of the provider could make.
const WITHIN: &str =
    "configmaps,secrets,services,serviceaccounts,pods,poddisruptionbudgets,roles,rolebindings";

/// What the cluster makes in every namespace, whenever it gets to it.
const THEIRS: [&str; 2] = ["default", "kube-root-ca.crt"];

/// Everything that a test may have made, with its version: in its namespace, and elsewhere what is named after it.
pub(super) fn everything(cluster: &Cluster) -> BTreeMap<String, String> {
    let name = &*cluster.namespace;
    let mut all = BTreeMap::new();
    for words in [
        ["-n", name, "get", WITHIN, "-o", "json", "--show-managed-fields"],
        ["-n", name, "get", "clusterroles,clusterrolebindings,nodes", "-o", "json", "--show-managed-fields"],
        ["-n", "kube-system", "get", "secrets", "-o", "json", "--show-managed-fields"],
        ["-n", "kube-node-lease", "get", "leases", "-o", "json", "--show-managed-fields"],
    ] {
        let list: Json = serde_json::from_str(&cluster.kubectl(&words)).unwrap();
        for object in list["items"].as_array().unwrap() {
            let (kind, metadata) = (object["kind"].as_str().unwrap(), &object["metadata"]);
            let called = metadata["name"].as_str().unwrap();
            if metadata.to_string().contains(name) && !THEIRS.contains(&called) {
                all.insert(format!("{kind} {called}"), version(object));
            }
        }
    }
    all
}

/// What tells whether we changed an object. Nodes and pods are changed by whoever keeps them, at any time: of these, it is
/// what we or their users could have done.
fn version(object: &Json) -> String {
    let metadata = &object["metadata"];
    if !matches!(object["kind"].as_str(), Some("Node" | "Pod")) {
        return metadata["resourceVersion"].as_str().unwrap().to_owned();
    }
    let entries = metadata["managedFields"].as_array().into_iter().flatten();
    let ours: Vec<&Json> = entries.filter(|entry| entry["manager"] == "fleet").collect();
    let spec = &object["spec"];
    serde_json::json!([
        metadata["uid"],
        metadata["labels"],
        metadata["finalizers"],
        metadata["deletionTimestamp"],
        spec["providerID"],
        spec["unschedulable"],
        ours,
    ])
    .to_string()
}

/// Apply, nothing to do, found again without a state, destroy, nothing left to do; a plan changes nothing, and nothing of it is
/// left in the end.
#[track_caller]
pub(super) fn check_laws(cluster: &Cluster, made: impl Fn() -> bool) {
    let before = everything(cluster);
    assert_eq!(cluster.actions(&[]), ["create"]);
    assert_eq!(everything(cluster), before, "a plan makes nothing");
    assert!(!made());
    cluster.run("apply").ok();
    assert!(made());
    let after = everything(cluster);
    cluster.check_converged();
    assert_eq!(cluster.run("apply").ok(), "No changes.\n");
    assert_eq!(everything(cluster), after, "apply twice is apply once");
    fs::remove_dir_all(cluster.site.path().join(".fleet")).unwrap();
    assert_eq!(cluster.actions(&[]), ["record"]);
    cluster.run("apply").ok();
    cluster.check_converged();
    assert_eq!(everything(cluster), after, "what is recorded is not changed");
    assert_eq!(cluster.actions(&["--destroy"]), ["destroy"]);
    assert_eq!(everything(cluster), after, "a plan takes nothing away");
    cluster.run("destroy").ok();
    assert!(!made());
    assert_eq!(everything(cluster), before, "all is as it was");
    assert_eq!(cluster.run("destroy").ok(), "No changes.\n");
}

/// Something is changed behind our back: a plan shows that and nothing else, and apply puts it right.
#[track_caller]
pub(super) fn check_drift(cluster: &Cluster, what: &str, change: impl FnOnce(), attributes: &[&str]) {
    change();
    assert_eq!(cluster.changes(), attributes, "{what}");
    cluster.run("apply").ok();
    cluster.check_converged();
}

/// Texts that only the cluster and tests know: they must not be found anywhere.
#[track_caller]
pub(super) fn check_secret(cluster: &Cluster, secrets: &[&str]) {
    let search = Search::new(secrets);
    for words in [
        &["plan", "--json", "--log", "trace"][..],
        &["apply", "--auto-approve", "--log", "trace"],
        &["plan", "--destroy", "--log", "trace"],
        &["state", "list"],
    ] {
        let ran = cluster.fleet(words);
        search.check("stdout", ran.stdout.as_bytes());
        search.check("stderr", ran.stderr.as_bytes());
    }
    for path in walk(cluster.site.path()) {
        if !path.starts_with(cluster.site.path().join("kubectl-cache")) {
            search.check(&path.display().to_string(), &fs::read(&path).unwrap());
        }
    }
}

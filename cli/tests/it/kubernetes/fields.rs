//! Each field of each kind in a cluster that is changed behind our back is shown, alone, and put right.

use fleet_engine::schema::{Catalog, Sort};
use serde_json::json;

use super::kinds::{bootstrap_tokens, own};
use super::nodes::{FRESH, pod, pulse, register};
use super::{Cluster, example};
use crate::laws::rows::{WithoutARow, check_rows};
use crate::laws::steps;
use crate::support::providers;

/// Who puts right what was changed.
pub(super) enum Mended {
    ByApply,
    /// Somebody else: apply waits for that.
    ByOthers(fn(&Cluster)),
}

use Mended::{ByApply, ByOthers};

/// What happens behind our back, what a plan says to it, and who puts it right.
pub(super) type Row = (fn(&Cluster), &'static str, Mended);

/// A kind, what is made of it, and its rows.
pub(super) type Case = (&'static str, fn(&Cluster) -> String, &'static [Row]);

pub(super) const CASES: &[Case] = &[
    (
        "kubernetes_bootstrap_token",
        |cluster| own(cluster, &example(Sort::Resource, "kubernetes_bootstrap_token"), "join"),
        &[
            (
                |cluster| {
                    patch_token(
                        cluster,
                        r#"{"data":{"auth-extra-groups":"c3lzdGVtOmJvb3RzdHJhcHBlcnM6eA=="}}"#,
                    );
                },
                "update groups",
                ByApply,
            ),
            (
                |cluster| patch_token(cluster, r#"{"data":{"description":"eA=="}}"#),
                "update description",
                ByApply,
            ),
        ],
    ),
    (
        "kubernetes_capi_connection",
        |_| example(Sort::Resource, "kubernetes_capi_connection"),
        &[(
            |cluster| cluster.patch("secret", "macs-kubeconfig", r#"{"data":{"value":"eA=="}}"#),
            "update complete",
            ByApply,
        )],
    ),
    (
        "kubernetes_egress_service",
        |_| {
            let text = example(Sort::Resource, "kubernetes_egress_service");
            text.replace("  name ", "  labels = { team = \"ci\" }\n  name ")
        },
        &[
            (|cluster| annotate(cluster, "tailscale.com/tailnet-fqdn"), "update fqdn", ByApply),
            (|cluster| annotate(cluster, "tailscale.com/proxy-group"), "update proxy_group", ByApply),
            (
                |cluster| {
                    cluster.patch("service", "mini-0", r#"{"spec":{"ports":[{"name":"ssh","port":2222}]}}"#);
                },
                "update ports",
                ByApply,
            ),
            (
                |cluster| cluster.patch("service", "mini-0", r#"{"metadata":{"labels":{"team":"x"}}}"#),
                "update labels",
                ByApply,
            ),
        ],
    ),
    (
        "kubernetes_manifest",
        |_| {
            "resource \"kubernetes_manifest\" \"web\" {\n  force = true\n  manifest = {\n    apiVersion = \"v1\"\n    kind = \"Service\"\n    \
             metadata = { name = \"web\" }\n    spec = { type = \"ExternalName\", externalName = \"web.example.com\" }\n  }\n}\n"
                .to_owned()
        },
        &[(
            |cluster| cluster.patch("service", "web", r#"{"spec":{"externalName":"odd.example.com"}}"#),
            "update manifest",
            ByApply,
        )],
    ),
    (
        "kubernetes_node",
        |cluster| {
            register(cluster, &cluster.namespace, FRESH);
            format!(
                "resource \"kubernetes_node\" \"mini\" {{\n  name = \"{}\"\n  labels = {{ \"example.com/a\" = \"b\" }}\n}}\n",
                cluster.namespace
            )
        },
        &[
            (
                |cluster| patch_node(cluster, r#"{"metadata":{"labels":{"example.com/a":"x"}}}"#, "kubectl"),
                "update labels",
                ByApply,
            ),
            // As a run does that was to remove it.
            (
                |cluster| patch_node(cluster, r#"{"spec":{"unschedulable":true}}"#, "fleet"),
                "update cordoned",
                ByApply,
            ),
            (
                |cluster| pulse(cluster, &cluster.namespace, "False", FRESH),
                "update ready trouble",
                ByOthers(|cluster| pulse(cluster, &cluster.namespace, "True", FRESH)),
            ),
        ],
    ),
    (
        "kubernetes_node_identity",
        |cluster| {
            format!(
                "resource \"kubernetes_node_identity\" \"mini\" {{\n  name = \"{}\"\n  cluster_role = \"view\"\n  labels = {{ team = \"ci\" }}\n}}\n",
                cluster.namespace
            )
        },
        &[
            (|cluster| delete(cluster, "clusterrolebinding", ""), "update cluster_role", ByApply),
            (|cluster| delete(cluster, "secret", "-token"), "update token", ByApply),
            (
                |cluster| {
                    cluster.patch(
                        "serviceaccount",
                        &cluster.namespace,
                        r#"{"metadata":{"labels":{"team":"x"}}}"#,
                    );
                },
                "update labels",
                ByApply,
            ),
        ],
    ),
    (
        "kubernetes_stuck_pods",
        |cluster| {
            let finalizer = held_by(cluster);
            format!(
                "resource \"kubernetes_stuck_pods\" \"vms\" {{\n  finalizer = \"{finalizer}\"\n  after = \"0s\"\n}}\n"
            )
        },
        &[(leave_a_pod, "update stuck", ByApply)],
    ),
];

const FOUND_BY: &str = "it is found by them: what is called otherwise is another";
const OURS: &str = "they say how it is done, and nothing of them is kept in the cluster";

const WITHOUT_A_ROW: &[WithoutARow] = &[
    ("kubernetes_bootstrap_token", &["name"], FOUND_BY),
    (
        "kubernetes_bootstrap_token",
        &["ttl"],
        "it counts when the token is made; one that has ended is made anew",
    ),
    ("kubernetes_capi_connection", &["cluster", "namespace"], FOUND_BY),
    ("kubernetes_capi_connection", &["server"], "it stands in the kubeconfig, of which `complete` tells"),
    ("kubernetes_egress_service", &["name", "namespace"], FOUND_BY),
    ("kubernetes_manifest", &["api_version", "kind", "name", "namespace"], FOUND_BY),
    ("kubernetes_manifest", &["force", "timeout"], OURS),
    (
        "kubernetes_manifest",
        &["conditions"],
        "see `conditions_are_waited_for`: whoever keeps an object says them",
    ),
    ("kubernetes_node", &["name"], FOUND_BY),
    ("kubernetes_node", &["provider_id"], "no cluster lets it be changed"),
    (
        "kubernetes_node",
        &["agent_labels", "delete_undrained", "drain_timeout", "identity", "stale_after"],
        OURS,
    ),
    ("kubernetes_node_identity", &["name", "namespace"], FOUND_BY),
    (
        "kubernetes_node_identity",
        &["server"],
        "it stands in the kubeconfig, which is given away and kept nowhere",
    ),
    ("kubernetes_stuck_pods", &["after", "finalizer"], "they say what is looked for"),
];

fn patch_token(cluster: &Cluster, patch: &str) {
    let name = bootstrap_tokens(cluster)[0]["metadata"]["name"].as_str().unwrap().to_owned();
    cluster.kubectl(&["-n", "kube-system", "patch", "secret", &name, "--type=merge", "-p", patch]);
}

fn annotate(cluster: &Cluster, name: &str) {
    let patch = json!({ "metadata": { "annotations": { name: "x.y.z" } } });
    cluster.patch("service", "mini-0", &patch.to_string());
}

fn patch_node(cluster: &Cluster, patch: &str, manager: &str) {
    let manager = format!("--field-manager={manager}");
    cluster.kubectl(&["patch", "node", &cluster.namespace, "--type=merge", "-p", patch, &manager]);
}

fn delete(cluster: &Cluster, kind: &str, end: &str) {
    cluster.kubectl(&["-n", &cluster.namespace, "delete", kind, &format!("{}{end}", cluster.namespace)]);
}

/// The finalizer of a test: others in the same cluster are not set free.
fn held_by(cluster: &Cluster) -> String {
    format!("example.com/vm-cleanup-of-{}", cluster.namespace)
}

/// Leaves a pod behind that nobody lets go.
fn leave_a_pod(cluster: &Cluster) {
    let name = &*cluster.namespace;
    register(cluster, name, FRESH);
    pod(cluster, "stuck", name, &json!({ "finalizers": [held_by(cluster)] }));
    cluster.kubectl(&["-n", name, "delete", "pod", "stuck", "--wait=false", "--grace-period=0", "--force"]);
    cluster.kubectl(&["delete", "node", name, "--wait=false"]);
    // The clock of a cluster shows seconds.
    std::thread::sleep(std::time::Duration::from_millis(1500));
}

#[test]
fn the_tables_know_every_field() {
    let catalog = providers(std::path::PathBuf::new());
    let mut kinds = catalog.names(Sort::Resource);
    kinds.retain(|name| name.starts_with("kubernetes_"));
    let rows =
        CASES.iter().flat_map(|(kind, _, rows)| rows.iter().map(|(_, expected, _)| (*kind, *expected)));
    check_rows(&kinds, &rows.collect::<Vec<_>>(), WITHOUT_A_ROW);
}

#[test]
fn each_field_that_changes_behind_our_back_is_shown_alone_and_put_right() {
    for (kind, text, rows) in CASES {
        let cluster = Cluster::new("");
        cluster.configure(&text(&cluster));
        cluster.run("apply").ok();
        cluster.check_converged();
        for (change, expected, mended) in *rows {
            change(&cluster);
            let shown: Vec<String> = steps(&cluster.plan(&[])).into_values().collect();
            assert_eq!(shown, [*expected], "{kind}");
            match mended {
                ByApply => _ = cluster.run("apply").ok(),
                ByOthers(mend) => mend(&cluster),
            }
            cluster.check_converged();
        }
        cluster.run("destroy").ok();
    }
}

//! A Mac of the lab whose agent keeps a Node in the lab's cluster: identity, agent and Node together.

use std::fs;

use fleet_lab::clock::Pace;
use fleet_lab::mac::sign;
use fleet_lab::{Lab, Options};
use serde_json::{Value as Json, json};

use super::{kubectl, text};
use crate::macos::Minis;
use crate::macos::builders::{copy_module, ready};

const CLUSTER: &str = "provider \"kubernetes\" {
  kubeconfig_path = \"kubeconfig\"
  namespace       = \"default\"
}

resource \"kubernetes_manifest\" \"role\" {
  manifest = {
    apiVersion = \"rbac.authorization.k8s.io/v1\"
    kind       = \"ClusterRole\"
    metadata   = { name = \"tart-kubelet\" }
    rules      = [{ apiGroups = [\"\"], resources = [\"nodes\", \"nodes/status\"], verbs = [\"create\", \"get\", \"patch\"] }]
  }
}
";

const NODE: &str = "  resource \"kubernetes_node_identity\" \"this\" {
    name         = \"tart-kubelet-mini\"
    cluster_role = kubernetes_manifest.role.name
  }

  module \"node\" {
    source             = \"./modules/tart-kubelet\"
    node_name          = \"mini\"
    binary             = \"build/tart-kubelet\"
    binary_sha256      = filesha256(\"build/tart-kubelet\")
    kubeconfig         = kubernetes_node_identity.this.kubeconfig
    kubeconfig_version = nonsensitive(sha256(kubernetes_node_identity.this.kubeconfig))
    node_labels        = { \"tuist.dev/fleet\" = \"builders\" }
  }

  resource \"kubernetes_node\" \"this\" {
    name          = \"mini\"
    provider_id   = \"scaleway://apple-silicon/fr-par-1/1\"
    labels        = { \"example.com/team\" = \"ci\" }
    agent_labels  = [\"tuist.dev/\"]
    drain_timeout = \"5s\"
    identity      = kubernetes_node_identity.this.name
    depends_on    = [module.node]
  }
";

/// A Mac that is a Node, and a cluster of the lab around it.
fn node() -> (Minis, Lab) {
    let minis = ready();
    let lab = Lab::start(Options { macs: 0, pace: Pace::Times(20.0), ..Options::default() }).unwrap();
    lab.kubernetes().keep_nodes_of(minis.kubelets());
    minis.site.write("kubeconfig", &lab.kubernetes().kubeconfig());
    minis.site.write("cluster.fleet.hcl", CLUSTER);
    copy_module(&minis.site, "tart-kubelet");
    minis.site.write("build/tart-kubelet", "");
    let program = sign(b"#!lab-program\nversion=1\nlistens=8081\nneeds=/var/lib/tart-userdata\n", "a.out");
    fs::write(minis.site.path().join("build/tart-kubelet"), program).unwrap();
    minis.configure(NODE);
    minis.apply();
    (minis, lab)
}

#[test]
fn a_node_with_pods_is_drained_before_its_host_is_asked_whether_it_is_busy() {
    let (minis, lab) = node();
    let kubectl = |words: &[&str], input: &str| {
        let ran = kubectl(&minis.site.path().join("kubeconfig"), minis.site.path(), words, input);
        assert!(ran.status.success(), "{words:?}: {}", text(&ran.stderr));
    };
    let pod = |finalizers: Json| {
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "job", "namespace": "default", "finalizers": finalizers },
            "spec": { "nodeName": "mini", "terminationGracePeriodSeconds": 0, "containers": [{ "name": "c", "image": "example.com/c" }] },
        });
        kubectl(&["create", "--validate=false", "-f", "-"], &pod.to_string());
        assert!(minis.by_hand("ps -axo args=").ok().contains("tart run --no-graphics default-job"));
    };
    // It does not go: what was done is told, and nothing else of the slot is touched.
    pod(json!(["example.com/hold"]));
    let ran = minis.fleet(&["destroy", "--auto-approve"]);
    let told = format!("{}{}", ran.stdout, ran.stderr);
    let told = told.split_whitespace().filter(|word| *word != "│").collect::<Vec<_>>().join(" ");
    assert_eq!(ran.exit, fleet_cli::Exit::Failed, "{told}");
    assert!(told.contains("is cordoned and was drained for 5 s"), "{told}");
    assert!(told.contains("`default/job` (the finalizer `example.com/hold` holds it)"), "{told}");
    assert!(told.contains("it was not deleted"), "{told}");
    assert!(!told.contains("is busy: a VM"), "nobody was asked: {told}");
    assert!(minis.by_hand("ps -axo args=").ok().contains("/tart-kubelet "), "its agent runs");
    assert!(lab.kubernetes().object("Node", None, "mini").is_some());
    kubectl(
        &[
            "-n",
            "default",
            "patch",
            "pod",
            "job",
            "--type=merge",
            "-p",
            r#"{"metadata":{"finalizers":null}}"#,
        ],
        "",
    );
    kubectl(&["uncordon", "mini"], "");
    // This one goes when it is asked to, and then the host is idle.
    pod(json!([]));
    minis.destroy();
    for (kind, namespace, name) in [("Pod", Some("default"), "job"), ("Node", None, "mini")] {
        assert_eq!(lab.kubernetes().object(kind, namespace, name), None, "{kind}");
    }
}

#[test]
fn a_mac_is_a_node_as_long_as_its_agent_has_authority() {
    let (minis, lab) = node();
    minis.check_converged("the Mac is a Node");
    let found = || lab.kubernetes().object("Node", None, "mini");
    let made = found().unwrap();
    assert_eq!(made["spec"]["providerID"], "scaleway://apple-silicon/fr-par-1/1");
    let labels = &made["metadata"]["labels"];
    assert_eq!((&labels["tuist.dev/fleet"], &labels["example.com/team"]), (&"builders".into(), &"ci".into()));
    // The identity is gone with the Node, although the agent would register it anew.
    minis.destroy();
    lab.advance(std::time::Duration::from_secs(60));
    assert_eq!(found(), None);
    for (kind, namespace, name) in [
        ("ServiceAccount", Some("default"), "tart-kubelet-mini"),
        ("Secret", Some("default"), "tart-kubelet-mini-token"),
        ("ClusterRoleBinding", None, "tart-kubelet-mini"),
        ("ClusterRole", None, "tart-kubelet"),
    ] {
        assert_eq!(lab.kubernetes().object(kind, namespace, name), None, "{kind}");
    }
}

#[test]
fn an_agent_that_reads_its_kubeconfig_once_gets_a_new_token_by_a_restart() {
    let (minis, lab) = node();
    let is_ready = || {
        let node = lab.kubernetes().object("Node", None, "mini").unwrap();
        let mut conditions = node["status"]["conditions"].as_array().unwrap().iter();
        conditions.find(|one| one["type"] == "Ready").unwrap()["status"] == "True"
    };
    let kubeconfig = || fs::read_to_string(minis.path("/etc/tart-kubelet/kubeconfig")).unwrap();
    assert!(is_ready());
    let before = kubeconfig();
    let removed = kubectl(
        &minis.site.path().join("kubeconfig"),
        minis.site.path(),
        &["delete", "secret", "tart-kubelet-mini-token"],
        "",
    );
    assert!(removed.status.success(), "{}", text(&removed.stderr));
    lab.advance(std::time::Duration::from_secs(60));
    assert!(!is_ready(), "its token is good no more");
    minis.apply();
    assert_ne!(kubeconfig(), before, "there is another token");
    lab.advance(std::time::Duration::from_secs(60));
    assert!(is_ready(), "the agent goes by the new one");
    minis.check_converged("with another token");
    // What is remembered of it is no secret.
    let config: Json = serde_json::from_str(&kubeconfig()).unwrap();
    let token = config["users"][0]["user"]["token"].as_str().unwrap();
    for entry in fs::read_dir(minis.site.path().join(".fleet")).unwrap() {
        let path = entry.unwrap().path();
        let content = fs::read(&path).unwrap();
        assert!(!content.windows(token.len()).any(|bytes| bytes == token.as_bytes()), "{}", path.display());
    }
}

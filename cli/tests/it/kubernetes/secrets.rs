//! Secrets that a cluster keeps, and whether it takes what fleet logs in with.

use serde_json::{Value as Json, json};

use super::access::{log_in, weak};
use super::{Cluster, walk};
use crate::laws::search::Search;

/// What is kept: it stands in no other place.
const KEPT: &str = "kept-in-the-cluster-alone";

/// A file that is made of a secret of the cluster.
fn file(namespace: &str, place: &str) -> String {
    format!(
        "secret \"token\" {{\n  from = \"k8s:{namespace}/{place}\"\n}}\n\nresource \"core_file\" \"a\" {{\n  path = \"a.txt\"\n  \
         content = \"token ${{secret.token}}\"\n}}\n"
    )
}

/// A cluster with a Secret, and the kubeconfig where it usually lies.
fn cluster() -> Cluster {
    let cluster = Cluster::new("");
    cluster.site.write(".kube/config", &cluster.site.read("kubeconfig"));
    cluster.create(&json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "app" },
        "stringData": { "token": KEPT }, "data": { "binary": "/w==" },
    }));
    cluster
}

#[test]
fn a_secret_of_a_cluster_is_used_and_stands_nowhere_else() {
    let cluster = cluster();
    cluster.configure(&file(&cluster.namespace, "app#token"));
    let search = Search::new(&[KEPT]);
    for words in [&["plan"][..], &["apply", "--auto-approve"], &["plan", "--json"], &["secrets", "check"]] {
        let ran = cluster.fleet(&[words, &["--log", "trace", "--log-file", "log"]].concat());
        search.check("stdout", ran.stdout.as_bytes());
        search.check("stderr", ran.stderr.as_bytes());
        ran.ok();
    }
    assert_eq!(cluster.site.read("a.txt"), format!("token {KEPT}"));
    cluster.check_converged();
    for path in walk(&cluster.site.path().join(".fleet")) {
        search.check(&path.display().to_string(), &std::fs::read(&path).unwrap());
    }
    search.check("log", cluster.site.read("log").as_bytes());
    let told = cluster.fleet(&["secrets", "check"]).ok();
    assert!(
        told.contains(&format!("secret.token  k8s:{}/app#token\n  resolves\n", cluster.namespace)),
        "{told}"
    );
}

#[test]
fn a_secret_that_cannot_be_had_is_told_with_what_to_do() {
    let cluster = cluster();
    let name = cluster.namespace.clone();
    let check = |place: &str, why: &str, help: &str| {
        cluster.configure(&file(&name, place));
        let complaint = cluster.run("apply").complaint();
        for words in ["cannot get secret.token", why, help] {
            assert!(complaint.contains(words), "{place}, {words}: {complaint}");
        }
        assert!(!cluster.site.path().join("a.txt").exists(), "{place}");
        let ran = cluster.fleet(&["secrets", "check"]);
        assert_eq!(ran.exit, fleet_cli::Exit::Failed);
        assert!(ran.stdout.contains("  missing: ") && ran.stdout.contains(why), "{}", ran.stdout);
    };
    check("other#token", &format!("there is no Secret `{name}/other`"), "kubectl");
    check("app#tokn", &format!("Secret `{name}/app` has no key `tokn`"), "its keys are `binary`, `token`");
    check("app#binary", "is no text", "base64");
    let token = weak(&cluster);
    let mut config: Json = serde_json::from_str(&cluster.kubectl(&[
        "config",
        "view",
        "--raw",
        "--minify",
        "--flatten",
        "-o",
        "json",
    ]))
    .unwrap();
    config["users"][0]["user"] = json!({ "token": token });
    cluster.site.write(".kube/config", &config.to_string());
    check("app#token", "cannot get resource \"secrets\"", "this permission with a Role");
}

#[test]
fn a_cluster_says_whose_the_credentials_are_and_until_when() {
    let cluster = Cluster::new("");
    let check = |expected: &str| {
        let ran = cluster.fleet(&["secrets", "check"]);
        assert!(ran.stdout.contains(expected), "{}{}", ran.stdout, ran.stderr);
        ran
    };
    assert!(!check("provider.kubernetes\n  valid: ").stdout.contains("not asked"));
    weak(&cluster);
    let name = &*cluster.namespace;
    let asked = json!({
        "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": { "expirationSeconds": 7200 },
    });
    let path = format!("/api/v1/namespaces/{name}/serviceaccounts/weak/token");
    let given = cluster.kubectl_with(&["create", "--raw", &path, "-f", "-"], &asked.to_string());
    let given: Json = serde_json::from_slice(&given.stdout).unwrap();
    let status = &given["status"];
    log_in(&cluster, &json!({ "token": status["token"] }));
    let end = status["expirationTimestamp"].as_str().unwrap();
    let who = format!("system:serviceaccount:{name}:weak");
    check(&format!("valid: {who}; until {end}, which is soon: in ")).ok();
    log_in(&cluster, &json!({ "token": "not-a-token-of-this-cluster" }));
    let ran = check("provider.kubernetes\n  refused: ");
    assert!(ran.stdout.contains("help: ") && ran.exit == fleet_cli::Exit::Failed, "{}", ran.stdout);
    assert!(!ran.stdout.contains("not-a-token"), "{}", ran.stdout);
}

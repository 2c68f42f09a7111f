//! Who may do what, and as whom: permissions that are missing, tokens, programs that log in.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use super::{Cluster, decoded};

const MAP: &str = "resource \"kubernetes_manifest\" \"a\" {\n  manifest = {\n    apiVersion = \"v1\"\n    kind = \"ConfigMap\"\n    \
                   metadata = { name = \"a\" }\n    data = { a = \"1\" }\n  }\n}\n";

/// An account that may do nothing, and its token.
pub(super) fn weak(cluster: &Cluster) -> String {
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
    filled.unwrap()
}

/// Lets the account that has a token do something in the namespace.
fn allow(cluster: &Cluster, token: &str, name: &str, verbs: &[&str]) {
    cluster.create(&json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": { "name": name },
        "rules": [{ "apiGroups": [""], "resources": ["configmaps"], "verbs": verbs }],
    }));
    cluster.create(&json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": { "name": name },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name },
        "subjects": [{ "kind": "ServiceAccount", "name": "weak", "namespace": cluster.namespace }],
    }));
    // Who decides about that learns of it a moment later.
    cluster.site.write("kubectl-cache/weak", &config_of(cluster, &json!({ "token": token })).to_string());
    let path = cluster.site.path().join("kubectl-cache/weak").display().to_string();
    let reviews = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    let may = |verb: &str| {
        let asked = json!({
            "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
            "spec": { "resourceAttributes": { "namespace": cluster.namespace, "verb": verb, "resource": "configmaps" } },
        });
        let words = ["--kubeconfig", &path, "create", "--raw", reviews, "-f", "-"];
        let answer = cluster.kubectl_with(&words, &asked.to_string());
        let answer: Json = serde_json::from_slice(&answer.stdout).unwrap_or_default();
        answer["status"]["allowed"] == true
    };
    let deadline = Instant::now() + Duration::from_secs(20);
    while !verbs.iter().all(|verb| may(verb)) {
        assert!(Instant::now() < deadline, "{verbs:?}");
        thread::sleep(Duration::from_millis(100));
    }
}

/// The kubeconfig of somebody else.
fn config_of(cluster: &Cluster, user: &Json) -> Json {
    let view = cluster.kubectl(&["config", "view", "--raw", "--minify", "--flatten", "-o", "json"]);
    let mut config: Json = serde_json::from_str(&view).unwrap();
    config["users"][0]["user"] = user.clone();
    config
}

/// From now on fleet logs in otherwise, and `kubectl` as before.
pub(super) fn log_in(cluster: &Cluster, user: &Json) {
    cluster.site.write("kubeconfig-of-fleet", &config_of(cluster, user).to_string());
    let provider = cluster.site.read("cluster.fleet.hcl");
    cluster.site.write("cluster.fleet.hcl", &provider.replace("\"kubeconfig\"", "\"kubeconfig-of-fleet\""));
}

#[test]
fn a_missing_permission_is_told_with_who_may_not_do_what() {
    let cluster = Cluster::new(MAP);
    let token = weak(&cluster);
    log_in(&cluster, &json!({ "token": token }));
    let who = format!("system:serviceaccount:{}:weak", cluster.namespace);
    let check = |words: &[&str], verb: &str| {
        let complaint = cluster.fleet(words).complaint();
        assert!(complaint.contains(&who), "{complaint}");
        assert!(complaint.contains(&format!("cannot {verb} resource \"configmaps\"")), "{complaint}");
        assert!(complaint.contains("this permission with a Role"), "{complaint}");
        assert!(!complaint.contains(&token), "{complaint}");
    };
    check(&["plan"], "get");
    // Whoever may look can plan; what may not be done is told before anything is.
    allow(&cluster, &token, "looks", &["get"]);
    assert_eq!(cluster.actions(&[]), ["create"]);
    let told = cluster.fleet(&["plan"]);
    assert!(told.stdout.contains("may turn out otherwise"), "{}{}", told.stdout, told.stderr);
    check(&["apply", "--auto-approve"], "patch");
    assert_eq!(cluster.object("configmap", "a"), None);
    // An object that is not there is made with another permission.
    allow(&cluster, &token, "patches", &["patch"]);
    check(&["apply", "--auto-approve"], "create");
    allow(&cluster, &token, "makes", &["create"]);
    cluster.run("apply").ok();
    cluster.check_converged();
    check(&["destroy", "--auto-approve"], "delete");
    assert!(cluster.object("configmap", "a").is_some(), "and it is not forgotten");
    // Whoever may not watch looks more often.
    allow(&cluster, &token, "deletes", &["delete"]);
    cluster.run("destroy").ok();
    assert_eq!(cluster.object("configmap", "a"), None);
}

#[test]
fn a_token_that_is_good_no_more_is_told() {
    let cluster = Cluster::new(MAP);
    log_in(&cluster, &json!({ "token": "not-a-token-of-this-cluster" }));
    let complaint = cluster.fleet(&["plan"]).complaint();
    assert!(complaint.contains("expired") && complaint.contains("get a new one"), "{complaint}");
    assert!(!complaint.contains("not-a-token"), "{complaint}");
}

#[test]
fn a_program_logs_in() {
    let cluster = Cluster::new(MAP);
    let token = weak(&cluster);
    allow(&cluster, &token, "all", &["get", "patch", "create", "delete", "watch"]);
    let credential = json!({
        "apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": { "token": token },
    });
    cluster.site.write("kubectl-cache/credential", &credential.to_string());
    let path = cluster.site.path().join("kubectl-cache/credential").display().to_string();
    let exec = |script: &str| {
        json!({ "exec": {
            "apiVersion": "client.authentication.k8s.io/v1", "command": "sh", "args": ["-c", script, "login", path],
            "interactiveMode": "Never",
        } })
    };
    log_in(&cluster, &exec("cat \"$1\""));
    cluster.run("apply").ok();
    cluster.check_converged();
    super::laws::check_secret(&cluster, &[&token]);
    // What a program prints that fails is not repeated.
    log_in(&cluster, &exec("cat \"$1\" >&2; exit 1"));
    let complaint = cluster.fleet(&["plan"]).complaint();
    assert!(complaint.contains("`exec`") && !complaint.contains(&token), "{complaint}");
    log_in(&cluster, &exec("cat \"$1\""));
    cluster.run("destroy").ok();
}

//! Accounts, their tokens, and what they may do.

use serde_json::{Value, json};

use super::{Api, MAPS, SECRETS};

/// Makes an account and its Secret; its token once that is filled.
async fn account(api: &Api, name: &str) -> String {
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    let object = json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": name } });
    assert_eq!(api.post(accounts, &object).await.status, 201);
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/service-account-token",
        "metadata": { "name": format!("{name}-token"), "annotations": { "kubernetes.io/service-account.name": name } },
    });
    let made = api.post(SECRETS, &secret).await;
    assert!(made.body["data"]["token"].is_null(), "somebody fills it later");
    api.advance(1);
    let filled = api.get(&format!("{SECRETS}/{name}-token")).await.body;
    assert!(filled["data"]["ca.crt"].is_string() && filled["data"]["namespace"].is_string());
    decoded(&filled["data"]["token"])
}

fn decoded(value: &Value) -> String {
    use base64::Engine as _;
    String::from_utf8(base64::prelude::BASE64_STANDARD.decode(value.as_str().unwrap()).unwrap()).unwrap()
}

async fn bind(api: &Api, name: &str, rules: Value) {
    let base = "/apis/rbac.authorization.k8s.io/v1";
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": { "name": name }, "rules": rules,
    });
    assert_eq!(api.post(&format!("{base}/clusterroles"), &role).await.status, 201);
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": { "name": name },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name },
        "subjects": [{ "kind": "ServiceAccount", "name": name, "namespace": "default" }],
    });
    assert_eq!(api.post(&format!("{base}/clusterrolebindings"), &binding).await.status, 201);
}

#[tokio::test]
async fn an_account_may_do_what_its_role_says_as_long_as_its_token_is_there() {
    let mut api = Api::start();
    let token = account(&api, "weak").await;
    let admin = std::mem::replace(&mut api.token, token.clone());
    let denied = api.get(MAPS).await;
    assert_eq!(denied.reason(), (403, "Forbidden"));
    assert_eq!(
        denied.body["message"],
        "configmaps is forbidden: User \"system:serviceaccount:default:weak\" cannot list resource \"configmaps\" \
         in API group \"\" in the namespace \"default\""
    );
    assert_eq!(api.get("/").await.status, 403);
    api.token = admin.clone();
    let rules = json!([
        { "apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"] },
        { "nonResourceURLs": ["/"], "verbs": ["get"] },
    ]);
    bind(&api, "weak", rules).await;
    api.token = token.clone();
    assert_eq!(api.get(MAPS).await.status, 200);
    assert_eq!(api.get("/").await.status, 200);
    assert_eq!(api.get(&format!("{MAPS}/a")).await.status, 403);
    // Nobody gives away what they may not give.
    api.token = admin.clone();
    let rbac = json!([{ "apiGroups": ["rbac.authorization.k8s.io"], "resources": ["clusterrolebindings"], "verbs": ["create"] }]);
    let giver = account(&api, "giver").await;
    bind(&api, "giver", rbac).await;
    api.token = giver;
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": { "name": "more" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "weak" }, "subjects": [],
    });
    let refused = api.post("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", &binding).await;
    assert_eq!(refused.reason(), (403, "Forbidden"));
    // Without its Secret the token is good no more.
    api.token = admin;
    api.delete(&format!("{SECRETS}/weak-token")).await;
    api.token = token;
    assert_eq!(api.get(MAPS).await.reason(), (401, "Unauthorized"));
}

#[tokio::test]
async fn a_requested_token_expires_and_a_secret_goes_with_its_account() {
    let mut api = Api::start();
    account(&api, "a").await;
    let asked = json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": { "expirationSeconds": 600 } });
    let path = "/api/v1/namespaces/default/serviceaccounts/a/token";
    let given = api.post(path, &asked).await;
    assert_eq!(given.status, 201);
    let token = given.body["status"]["token"].as_str().unwrap().to_owned();
    let admin = std::mem::replace(&mut api.token, token);
    assert_eq!(api.get("/version").await.status, 200);
    api.advance(601);
    assert_eq!(api.get("/version").await.reason(), (401, "Unauthorized"));
    api.token = admin;
    api.delete("/api/v1/namespaces/default/serviceaccounts/a").await;
    api.advance(1);
    assert_eq!(api.get(&format!("{SECRETS}/a-token")).await.status, 404);
    api.token = String::new();
    assert_eq!(api.get("/version").await.status, 401);
}

//! What happens by itself, and how things go.

use fleet_lab::kubernetes::{Fault, Kubelet, Wrong};
use serde_json::{Value, json};

use super::{Api, MAPS, PODS, SECRETS, map};

fn pod(name: &str, node: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "name": name, "labels": { "app": "x" } },
        "spec": { "nodeName": node, "containers": [{ "name": "c", "image": "i" }] },
    })
}

#[tokio::test]
async fn a_finalizer_holds_what_is_deleted() {
    let api = Api::start();
    let mut object = map("a", json!({}));
    object["metadata"]["finalizers"] = json!(["x/hold"]);
    api.post(MAPS, &object).await;
    let path = format!("{MAPS}/a");
    let held = api.delete(&path).await;
    assert!(held.body["metadata"]["deletionTimestamp"].is_string());
    let more = api.merge(&path, &json!({ "metadata": { "finalizers": ["x/hold", "x/more"] } })).await;
    assert_eq!(more.reason(), (422, "Invalid"), "nobody can hold it longer");
    api.merge(&path, &json!({ "metadata": { "finalizers": null } })).await;
    assert_eq!(api.get(&path).await.status, 404);
}

#[tokio::test]
async fn pods_are_evicted_as_budgets_allow() {
    let api = Api::start();
    api.post("/api/v1/nodes", &json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": "n" } }))
        .await;
    api.post(PODS, &pod("a", "n")).await;
    api.advance(5);
    assert_eq!(api.get(&format!("{PODS}/a")).await.body["status"]["phase"], "Running");
    let budget = json!({
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": { "name": "b" },
        "spec": { "minAvailable": 1, "selector": { "matchLabels": { "app": "x" } } },
    });
    let budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";
    api.post(budgets, &budget).await;
    let eviction = json!({ "apiVersion": "policy/v1", "kind": "Eviction", "metadata": { "name": "a", "namespace": "default" } });
    let path = format!("{PODS}/a/eviction");
    let refused = api.post(&path, &eviction).await;
    assert_eq!(refused.reason(), (429, "TooManyRequests"));
    assert_eq!(refused.body["details"]["causes"][0]["reason"], "DisruptionBudget");
    api.delete(&format!("{budgets}/b")).await;
    assert_eq!(api.post(&path, &eviction).await.status, 201);
    assert!(api.get(&format!("{PODS}/a")).await.body["metadata"]["deletionTimestamp"].is_string());
    api.advance(5);
    assert_eq!(api.get(&format!("{PODS}/a")).await.status, 404, "its node ended it");
    assert_eq!(api.post(&path, &eviction).await.status, 404);
}

#[tokio::test]
async fn a_namespace_takes_everything_along() {
    let api = Api::start();
    api.post(
        "/api/v1/namespaces",
        &json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "x" } }),
    )
    .await;
    api.post("/api/v1/namespaces/x/configmaps", &map("a", json!({}))).await;
    api.delete("/api/v1/namespaces/x").await;
    assert_eq!(api.post("/api/v1/namespaces/x/configmaps", &map("b", json!({}))).await.status, 403);
    api.advance(5);
    assert_eq!(api.get("/api/v1/namespaces/x").await.status, 404);
    assert_eq!(api.get("/api/v1/namespaces/x/configmaps/a").await.status, 404);
}

#[tokio::test]
async fn an_agent_keeps_its_node_as_long_as_it_runs() {
    let api = Api::start();
    let kubelet = Kubelet {
        node: "mini".into(),
        token: api.token.clone(),
        address: Some("10.0.0.7".into()),
        provider_id: Some("x://1".into()),
        labels: [("own.example/fleet".to_owned(), "a".to_owned())].into(),
        own_labels: Some("own.example/".into()),
    };
    api.lab.kubernetes().join(kubelet.clone());
    api.advance(1);
    let path = "/api/v1/nodes/mini";
    let ready = |node: &Value| node["status"]["conditions"][0]["status"].clone();
    let node = api.get(path).await.body;
    assert_eq!((ready(&node), &node["spec"]["providerID"]), (json!("True"), &json!("x://1")));
    // It takes labels away that it thinks its own, and no others.
    api.merge(
        path,
        &json!({ "metadata": { "labels": { "own.example/more": "x", "other.example/kept": "x" } } }),
    )
    .await;
    api.advance(15);
    let labels = api.get(path).await.body["metadata"]["labels"].clone();
    assert_eq!((&labels["own.example/more"], &labels["other.example/kept"]), (&Value::Null, &json!("x")));
    let beat = |node: &Value| node["status"]["conditions"][0]["lastHeartbeatTime"].clone();
    let first = beat(&api.get(path).await.body);
    api.advance(30);
    assert_ne!(beat(&api.get(path).await.body), first);
    api.lab.kubernetes().leave("mini");
    api.advance(120);
    assert_eq!(ready(&api.get(path).await.body), "Unknown");
    // One without authority is not heard of.
    api.lab.kubernetes().join(Kubelet { token: "none".into(), ..kubelet });
    api.advance(30);
    assert_eq!(ready(&api.get(path).await.body), "Unknown");
}

#[tokio::test]
async fn a_token_for_joining_is_good_until_it_expires() {
    let mut api = Api::start();
    let now = api.lab.clock().time();
    let end = now.after(std::time::Duration::from_secs(3600)).to_string();
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "bootstrap.kubernetes.io/token",
        "metadata": { "name": "bootstrap-token-abcdef" },
        "stringData": {
            "token-id": "abcdef", "token-secret": "0123456789abcdef", "expiration": end,
            "usage-bootstrap-authentication": "true",
        },
    });
    let path = "/api/v1/namespaces/kube-system/secrets";
    assert_eq!(api.post(path, &secret).await.status, 201);
    let admin = std::mem::replace(&mut api.token, "abcdef.0123456789abcdef".to_owned());
    assert_eq!(api.get("/version").await.status, 200);
    let denied = api.get("/api/v1/nodes").await;
    assert_eq!(denied.reason(), (403, "Forbidden"));
    assert!(denied.body["message"].as_str().unwrap().contains("system:bootstrap:abcdef"));
    api.advance(3700);
    assert_eq!(api.get("/version").await.reason(), (401, "Unauthorized"));
    api.token = admin;
    assert_eq!(api.get(&format!("{path}/bootstrap-token-abcdef")).await.status, 404, "it was cleaned up");
}

#[tokio::test]
async fn requests_go_wrong_on_purpose() {
    let api = Api::start();
    let cases = [
        (Wrong::Conflict, 409),
        (Wrong::Expired, 410),
        (Wrong::Invalid("data".into()), 422),
        (Wrong::TooMany(7), 429),
        (Wrong::Unauthorized, 401),
        (Wrong::NotAdmitted("no".into()), 403),
        (Wrong::Internal, 500),
    ];
    for (wrong, status) in cases {
        api.lab.kubernetes().fault(Fault::new(wrong.clone()).on("create", "configmaps"));
        let reply = api.post(MAPS, &map("a", json!({}))).await;
        assert_eq!(reply.status, status, "{wrong:?}");
        assert_eq!(reply.retry_after.as_deref(), (status == 429).then_some("7"));
        assert_eq!(api.get(&format!("{MAPS}/a")).await.status, 404, "{wrong:?} has no effect");
    }
    for (wrong, made) in [(Wrong::CutBefore, 404), (Wrong::CutAfter, 200)] {
        api.lab.kubernetes().fault(Fault::new(wrong.clone()).on("create", "configmaps"));
        let request = api.request(reqwest::Method::POST, MAPS).json(&map("a", json!({})));
        assert!(request.send().await.is_err());
        assert_eq!(api.get(&format!("{MAPS}/a")).await.status, made, "{wrong:?}");
    }
    let last = api.lab.kubernetes().requests();
    assert!(last.iter().any(|entry| entry.status == Some(429) && entry.writes));
    assert_eq!(api.get(SECRETS).await.status, 200);
}

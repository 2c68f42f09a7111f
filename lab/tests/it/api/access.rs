//! Who may ask what.

use fleet_lab::scaleway::{Permissions, RateLimit, Seconds};
use reqwest::Method;
use serde_json::json;

use super::{Api, ZONE};

const NOBODY: &str = "00000000-0000-4000-8000-000000000000";

#[tokio::test]
async fn whoever_has_no_good_key_is_not_let_in() {
    let api = Api::start();
    let expired = api.lab.add_token("OLD", None);
    let id = expired.id.clone();
    api.lab.edit(move |scaleway, now| {
        for token in scaleway.tokens.iter_mut().filter(|token| token.id == id) {
            token.expires_at = Some(now);
        }
    });
    for (secret, reason) in [("", "invalid_argument"), ("x", "invalid_argument"), (NOBODY, "not_found")]
        .into_iter()
        .chain([(expired.secret.as_str(), "expired")])
    {
        for path in [format!("{ZONE}/servers"), "/iam/v1alpha1/ssh-keys".to_owned()] {
            let reply = api.with_key(secret)(Method::GET, &path).await;
            assert_eq!(reply.status, 401, "{secret}");
            assert_eq!(reply.kind(), "denied_authentication");
            assert_eq!(reply.body["method"], "api_key");
            assert_eq!(reply.body["reason"], reason);
        }
    }
    assert!(api.lab.requests().iter().take(6).all(|entry| entry.token.is_none()));
}

#[tokio::test]
async fn a_key_sees_its_own_project_only() {
    let api = Api::start();
    let other = api.lab.add_token("OTHER", Some(NOBODY));
    let ask = api.with_key(&other.secret);
    let list = ask(Method::GET, &format!("{ZONE}/servers")).await;
    assert_eq!((list.status, &list.body["total_count"]), (200, &json!(0)));
    let project = api.lab.project_id();
    for (method, path, resource, action) in [
        (Method::GET, api.path(0), "server", "read"),
        (Method::DELETE, api.path(0), "server", "write"),
        (Method::POST, format!("{}/reboot", api.path(0)), "server", "write"),
        (Method::GET, format!("{ZONE}/servers?project_id={project}"), "server", "list"),
        (Method::GET, format!("/iam/v1alpha1/ssh-keys?project_id={project}"), "ssh_key", "list"),
    ] {
        let reply = ask(method, &path).await;
        assert_eq!((reply.status, reply.kind()), (403, "permissions_denied"), "{path}");
        assert_eq!(reply.body["message"], "insufficient permissions");
        assert_eq!(reply.body["details"], json!([{ "resource": resource, "action": action }]));
    }
    assert_eq!(api.lab.servers().len(), 3);
}

#[tokio::test]
async fn keys_of_a_project_cannot_be_listed_without_it() {
    let api = Api::start();
    let reply = api.get("/iam/v1alpha1/ssh-keys").await;
    assert_eq!((reply.status, reply.kind()), (403, "permissions_denied"));
    assert_eq!(reply.body["details"], json!([{ "resource": "ssh_key", "action": "list" }]));
    // A key for the whole organization may.
    api.lab.edit(|scaleway, _| scaleway.tokens[0].project_id = None);
    assert_eq!(api.get("/iam/v1alpha1/ssh-keys").await.status, 200);
}

#[tokio::test]
async fn permission_sets() {
    let api = Api::start();
    api.lab.edit(|scaleway, _| {
        scaleway.tokens[0].servers = Permissions::ReadOnly;
        scaleway.tokens[0].ssh_keys = Permissions::None;
    });
    assert_eq!(api.get(&api.path(0)).await.status, 200);
    let reply = api.patch(&api.path(0), json!({ "name": "x" })).await;
    assert_eq!((reply.status, reply.kind()), (403, "permissions_denied"));
    let keys = format!("/iam/v1alpha1/ssh-keys?project_id={}", api.lab.project_id());
    assert_eq!(api.get(&keys).await.status, 403);
}

#[tokio::test]
async fn too_many_requests_of_one_key() {
    let limit = RateLimit { quota: 3, window: Seconds::new(10) };
    let api = Api::with_rules(|rules| rules.rate_limit = Some(limit));
    let other = api.lab.add_token("OTHER", None);
    for _ in 0..3 {
        assert_eq!(api.get(&api.path(0)).await.status, 200);
    }
    api.advance(4);
    let reply = api.get(&api.path(0)).await;
    assert_eq!((reply.status, reply.kind()), (429, "too_many_requests"));
    assert_eq!(reply.body["limit"], json!({ "quota": 3, "window_seconds": 10 }));
    assert_eq!(reply.body["reset_seconds"], 6);
    assert_eq!(
        reply.body["reset_at"],
        json!(api.lab.clock().time().after(std::time::Duration::from_secs(6)))
    );
    assert!(reply.headers.get("retry-after").is_none());
    assert_eq!(api.with_key(&other.secret)(Method::GET, &api.path(0)).await.status, 200);
    api.advance(6);
    assert_eq!(api.get(&api.path(0)).await.status, 200);
}

#[tokio::test]
async fn what_every_answer_carries() {
    let api = Api::start();
    let reply = api.get(&format!("{ZONE}/servers")).await;
    assert_eq!(reply.headers["content-type"], "application/json");
    assert!(reply.headers["server"].to_str().unwrap().starts_with("Scaleway API Gateway ("));
    let id = reply.headers["x-request-id"].to_str().unwrap();
    assert!(uuid::Uuid::try_parse(id).is_ok());
    assert_eq!(api.lab.requests()[0].request_id, id);
    let reply = api.get("/nothing/here").await;
    assert_eq!((reply.status, reply.headers["content-type"].to_str().unwrap()), (404, "text/plain"));
}

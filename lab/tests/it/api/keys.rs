//! SSH keys.

use std::fs;

use serde_json::{Value, json};

use super::Api;

const KEYS: &str = "/iam/v1alpha1/ssh-keys";

impl Api {
    /// A public key that was made for this lab.
    fn public_key(&self) -> String {
        let path = self.lab.description().identity.with_extension("pub");
        fs::read_to_string(path).unwrap().trim().to_owned()
    }

    async fn add_key(&self, name: &str) -> Value {
        let (key, project) = (self.public_key(), self.lab.project_id());
        let body = json!({ "name": name, "public_key": format!("{key} somebody@somewhere\n"), "project_id": project });
        let reply = self.post(KEYS, body).await;
        assert_eq!(reply.status, 200, "{:?}", reply.body);
        reply.body
    }

    async fn keys(&self, query: &str) -> Vec<String> {
        let reply = self.get(&format!("{KEYS}?project_id={}{query}", self.lab.project_id())).await;
        assert_eq!(reply.status, 200, "{:?}", reply.body);
        let keys = reply.body["ssh_keys"].as_array().unwrap().clone();
        keys.iter().map(|key| key["name"].as_str().unwrap().to_owned()).collect()
    }
}

#[tokio::test]
async fn a_key_from_its_making_to_its_end() {
    let api = Api::start();
    let key = api.add_key("mine").await;
    let fields: Vec<&str> = key.as_object().unwrap().keys().map(String::as_str).collect();
    let mut fields = fields;
    fields.sort_unstable();
    let expected = [
        "created_at",
        "disabled",
        "fingerprint",
        "id",
        "name",
        "organization_id",
        "project_id",
        "public_key",
        "updated_at",
    ];
    assert_eq!(fields, expected);
    assert_eq!(key["public_key"], api.public_key(), "without its comment");
    let path = format!("{KEYS}/{}", key["id"].as_str().unwrap());
    api.advance(5);
    let changed = api.patch(&path, json!({ "disabled": true, "public_key": "x" })).await.body;
    assert_eq!((&changed["disabled"], &changed["public_key"]), (&json!(true), &key["public_key"]));
    assert_ne!(changed["updated_at"], key["updated_at"]);
    assert_eq!(api.get(&path).await.body, changed);
    assert_eq!(api.delete(&path).await.status, 204);
    let gone = api.get(&path).await;
    assert_eq!((gone.status, gone.kind(), &gone.body["resource"]), (404, "not_found", &json!("ssh_key")));
    assert_eq!(api.delete(&path).await.status, 404);
}

#[tokio::test]
async fn fingerprints() {
    let api = Api::start();
    let key = api.add_key("mine").await;
    let fingerprint = key["fingerprint"].as_str().unwrap();
    let hex = fingerprint.strip_prefix("256 MD5:").unwrap().strip_suffix(" (ssh-ed25519)").unwrap();
    assert_eq!(hex.split(':').filter(|pair| pair.len() == 2).count(), 16);
}

#[tokio::test]
async fn lists() {
    let api = Api::start();
    // Neither names nor keys are unique.
    for name in ["b", "a", "a"] {
        api.add_key(name).await;
        api.advance(1);
    }
    assert_eq!(api.keys("").await, ["lab", "b", "a", "a"]);
    assert_eq!(api.keys("&order_by=name_asc").await, ["a", "a", "b", "lab"]);
    assert_eq!(api.keys("&order_by=name_desc&page_size=1").await, ["lab"]);
    assert_eq!(api.keys("&order_by=created_at_desc&page=2&page_size=3").await, ["lab"]);
    assert_eq!(
        api.keys("&name=a&order_by=updated_at_asc").await,
        ["lab", "a", "a"],
        "names are not compared exactly"
    );
    let list = api.get(&format!("{KEYS}?project_id={}", api.lab.project_id())).await.body;
    let id = list["ssh_keys"][1]["id"].as_str().unwrap();
    api.patch(&format!("{KEYS}/{id}"), json!({ "disabled": true })).await;
    assert_eq!(api.keys("&disabled=true").await, ["b"]);
    assert_eq!(api.keys("&disabled=false").await, ["lab", "a", "a"]);
    assert_eq!(api.keys("").await.len(), 4);
    api.lab.edit(|scaleway, _| scaleway.rules.list_hides_disabled_keys = true);
    assert_eq!(api.keys("").await.len(), 3);
}

#[tokio::test]
async fn keys_that_are_none() {
    let api = Api::start();
    let project = api.lab.project_id();
    let key = api.public_key();
    let wrong_type = key.replace("ssh-ed25519", "ssh-rsa");
    for (body, argument, reason) in [
        (json!({ "public_key": key, "project_id": project }), "name", "required"),
        (json!({ "name": "x", "project_id": project }), "public_key", "required"),
        (json!({ "name": "x", "public_key": "ssh-ed25519", "project_id": project }), "public_key", "format"),
        (json!({ "name": "x", "public_key": wrong_type, "project_id": project }), "public_key", "format"),
        (json!({ "name": "x".repeat(1001), "public_key": key, "project_id": project }), "name", "constraint"),
        (
            json!({ "name": "x", "public_key": format!("{key} {}", "x".repeat(65000)), "project_id": project }),
            "public_key",
            "constraint",
        ),
    ] {
        let reply = api.post(KEYS, body).await;
        reply.refuses(argument, reason);
    }
    let reply = api.post(KEYS, json!({ "name": "x", "public_key": key })).await;
    assert_eq!((reply.status, reply.kind()), (403, "permissions_denied"), "the project is always needed");
}

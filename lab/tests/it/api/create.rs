//! Orders of servers.

use serde_json::json;

use super::{Api, ZONE};

#[tokio::test]
async fn an_order_and_its_delivery() {
    let api = Api::start();
    let reply = api.order("new", "M4-M").await;
    assert_eq!(reply.status, 200, "not 201");
    let server = reply.body;
    assert_eq!((&server["status"], &server["delivered"]), (&json!("starting"), &json!(false)));
    assert_eq!(server["ip"], "127.77.0.4");
    assert_eq!(server["commitment"], json!({ "type": "none", "cancelled": false }));
    assert_eq!(server["os"]["supported_server_types"], json!([]));
    let now = api.lab.clock().time();
    assert_eq!(server["created_at"], json!(now));
    assert_eq!(server["deletable_at"], json!(now.after(std::time::Duration::from_secs(24 * 3600))));
    let path = format!("{ZONE}/servers/{}", server["id"].as_str().unwrap());
    api.advance(134);
    assert_eq!(api.get(&path).await.body["status"], "starting");
    api.advance(1);
    let ready = api.get(&path).await.body;
    assert_eq!((&ready["status"], &ready["delivered"]), (&json!("ready"), &json!(true)));
    // Twice the same name is two servers.
    let again = api.order("new", "M4-M").await.body;
    assert_ne!(again["id"], server["id"]);
    assert_eq!(api.lab.servers().len(), 5);
}

#[tokio::test]
async fn another_system_takes_an_hour_and_private_networks_come_with_it() {
    let api = Api::start();
    let os = api.get(&format!("{ZONE}/os?name=macos-sequoia-15.6")).await.body["os"][0]["id"].clone();
    let body = json!({
        "name": "new", "type": "M2-L", "project_id": api.lab.project_id(), "os_id": os, "enable_vpc": true,
        "commitment_type": "duration_24h", "enable_kext": true, "public_bandwidth_bps": 0,
    });
    let server = api.post(&format!("{ZONE}/servers"), body).await.body;
    assert_eq!(server["vpc_status"], "vpc_updating");
    assert_eq!(server["kext_enabled"], true);
    assert_eq!(server["public_bandwidth_bps"], 1_000_000_000);
    let path = format!("{ZONE}/servers/{}", server["id"].as_str().unwrap());
    api.advance(3599);
    assert_eq!(api.get(&path).await.body["status"], "starting");
    api.advance(1);
    let server = api.get(&path).await.body;
    assert_eq!((&server["status"], &server["vpc_status"]), (&json!("ready"), &json!("vpc_enabled")));
    assert_eq!(server["os"]["family"], "Sequoia");
}

#[tokio::test]
async fn orders_that_cannot_be_met() {
    let api = Api::start();
    let project = api.lab.project_id();
    let whole = json!({ "name": "new", "type": "M2-L", "project_id": project });
    for (field, value, argument, reason) in [
        ("name", json!(null), "name", "required"),
        ("type", json!(null), "type", "required"),
        ("type", json!("M9"), "type", "constraint"),
        ("project_id", json!(""), "project_id", "required"),
        ("commitment_type", json!({ "commitment_type": "none" }), "commitment_type", "format"),
        ("commitment_type", json!("x"), "commitment_type", "constraint"),
        ("public_bandwidth_bps", json!(7), "public_bandwidth_bps", "constraint"),
    ] {
        let mut body = whole.clone();
        body[field] = value;
        let reply = api.post(&format!("{ZONE}/servers"), body.clone()).await;
        reply.refuses(argument, reason);
    }
    // Everything that is wrong is said at once.
    let reply = api.post(&format!("{ZONE}/servers"), json!({})).await;
    assert_eq!(reply.body["details"].as_array().unwrap().len(), 3);
    let os = api.get(&format!("{ZONE}/os?name=macos-ventura")).await.body["os"][0]["id"].clone();
    let mut body = whole.clone();
    body["type"] = json!("M4-S");
    body["os_id"] = os;
    assert_eq!(api.post(&format!("{ZONE}/servers"), body).await.body["details"][0]["argument_name"], "os_id");
    let reply = api.order("old", "M1-M").await;
    assert_eq!((reply.status, reply.kind()), (503, "out_of_stock"));
    assert_eq!(api.lab.servers().len(), 3);
}

#[tokio::test]
async fn quotas() {
    let api = Api::start();
    assert_eq!(api.order("a", "M4-XL").await.status, 200);
    let reply = api.order("b", "M4-XL").await;
    assert_eq!((reply.status, reply.kind()), (403, "quotas_exceeded"));
    let project = api.lab.project_id();
    let details = json!([{ "resource": "server", "quota": 1, "current": 1, "project_id": project }]);
    assert_eq!(reply.body["details"], details);
}

#[tokio::test]
async fn a_batch_is_all_or_nothing() {
    let api = Api::start();
    let batch = |names: &[&str]| {
        let requests: Vec<_> = names.iter().map(|name| json!({ "name": name })).collect();
        json!({ "type": "M4-S", "project_id": api.lab.project_id(), "requests": requests })
    };
    let path = format!("{ZONE}/batch-create-servers");
    assert_eq!(api.post(&path, batch(&["a", "b", "c"])).await.kind(), "quotas_exceeded");
    assert_eq!(api.post(&path, batch(&["a", ""])).await.kind(), "invalid_arguments");
    assert_eq!(api.post(&path, batch(&[])).await.kind(), "invalid_arguments");
    assert_eq!(api.lab.servers().len(), 3);
    let made = api.post(&path, batch(&["a", "b"])).await;
    assert_eq!(made.status, 200);
    assert_eq!(super::names(&made.body), ["a", "b"]);
    assert_ne!(made.body["servers"][0]["ip"], made.body["servers"][1]["ip"]);
}

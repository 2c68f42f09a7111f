//! Private networks, and diagnoses.

use fleet_lab::ServerEdit;
use serde_json::{Value, json};

use super::{Api, ZONE};

const NETWORKS: &str = "/vpc/v2/regions/fr-par/private-networks";

impl Api {
    async fn network(&self, name: &str) -> String {
        let reply = self.post(NETWORKS, json!({ "name": name, "project_id": self.lab.project_id() })).await;
        assert_eq!(reply.status, 200);
        reply.body["id"].as_str().unwrap().to_owned()
    }

    /// A server on which private networks are enabled.
    async fn enabled(&self) -> String {
        self.patch(&self.path(0), json!({ "enable_vpc": true })).await;
        self.advance(15);
        format!("{}/private-networks", self.path(0))
    }

    async fn attachments(&self) -> Vec<Value> {
        let path = format!("{ZONE}/server-private-networks?server_id={}", self.lab.servers()[0].id);
        self.get(&path).await.body["server_private_networks"].as_array().unwrap().clone()
    }
}

#[tokio::test]
async fn a_server_enters_a_network_and_leaves_it() {
    let api = Api::start();
    let network = api.network("inside").await;
    let path = format!("{}/private-networks", api.path(0));
    let early = api.post(&path, json!({ "private_network_id": network })).await;
    assert_eq!((early.status, early.kind()), (412, "precondition_failed"));
    let path = api.enabled().await;
    let reply = api.post(&path, json!({ "private_network_id": network, "ipam_ip_ids": [] })).await;
    assert_eq!(
        (reply.status, &reply.body["status"], &reply.body["vlan"]),
        (200, &json!("attaching"), &Value::Null)
    );
    let one = format!("{path}/{network}");
    assert_eq!(api.delete(&one).await.kind(), "transient_state");
    api.advance(15);
    let attached = api.get(&one).await.body;
    assert_eq!(attached["status"], "attached");
    assert!(attached["vlan"].as_u64().is_some());
    assert_eq!(api.attachments().await, std::slice::from_ref(&attached));
    let query = format!("private_network_id={network}&resource_type=apple_silicon_private_nic");
    let query = format!("{query}&project_id={}", api.lab.project_id());
    let ips = api.get(&format!("/ipam/v1/regions/fr-par/ips?{query}")).await.body;
    let ids: Vec<Value> = ips["ips"].as_array().unwrap().iter().map(|ip| ip["id"].clone()).collect();
    assert_eq!(json!(ids), attached["ipam_ip_ids"]);
    assert_eq!((&ips["ips"][0]["is_ipv6"], &ips["ips"][1]["is_ipv6"]), (&json!(false), &json!(true)));
    assert_eq!(
        api.delete(&format!("{NETWORKS}/{network}")).await.body["precondition"],
        "resource_still_in_use"
    );
    assert_eq!(api.delete(&one).await.status, 204);
    let leaving = api.get(&one).await.body;
    assert_eq!((&leaving["status"], &leaving["ipam_ip_ids"]), (&json!("detaching"), &json!([])));
    api.advance(15);
    assert_eq!(api.get(&one).await.status, 404);
    assert_eq!(api.delete(&format!("{NETWORKS}/{network}")).await.status, 204);
    assert_eq!(api.get(&format!("{NETWORKS}/{network}")).await.kind(), "not_found");
}

#[tokio::test]
async fn all_networks_of_a_server_at_once() {
    let api = Api::start();
    let (a, b, c) = (api.network("a").await, api.network("b").await, api.network("c").await);
    let path = api.enabled().await;
    let set = |networks: &[&String]| {
        let wanted: serde_json::Map<String, Value> =
            networks.iter().map(|id| ((*id).clone(), json!([]))).collect();
        json!({ "per_private_network_ipam_ip_ids": wanted })
    };
    let reply = api.put(&path, set(&[&a, &b])).await;
    assert_eq!(reply.body["server_private_networks"].as_array().unwrap().len(), 2);
    api.advance(15);
    api.put(&path, set(&[&b, &c])).await;
    api.advance(15);
    let mut left: Vec<String> = api
        .attachments()
        .await
        .iter()
        .map(|one| one["private_network_id"].as_str().unwrap().to_owned())
        .collect();
    left.sort_unstable();
    let mut expected = [b, c];
    expected.sort_unstable();
    assert_eq!(left, expected);
    // Switching them off empties everything.
    assert_eq!(
        api.patch(&api.path(0), json!({ "enable_vpc": false })).await.body["vpc_status"],
        "vpc_updating"
    );
    api.advance(15);
    assert_eq!(api.get(&api.path(0)).await.body["vpc_status"], "vpc_disabled");
    assert!(api.attachments().await.is_empty());
}

#[tokio::test]
async fn eight_networks_are_the_most() {
    let api = Api::start();
    let path = api.enabled().await;
    for number in 0..9 {
        let network = api.network(&format!("n{number}")).await;
        let reply = api.post(&path, json!({ "private_network_id": network })).await;
        assert_eq!(reply.status, if number < 8 { 200 } else { 403 });
    }
    let unknown = json!({ "private_network_id": "00000000-0000-4000-8000-000000000000" });
    api.patch(&api.path(1), json!({ "enable_vpc": true })).await;
    api.advance(15);
    let reply = api.post(&format!("{}/private-networks", api.path(1)), unknown).await;
    assert_eq!((reply.status, &reply.body["resource"]), (404, &json!("private_network")));
}

#[tokio::test]
async fn a_diagnosis() {
    let api = Api::start();
    let id = api.lab.servers()[0].id.clone();
    api.lab.edit_server(&id, ServerEdit { power: Some(true), ..ServerEdit::default() });
    let started =
        api.post(&format!("{ZONE}/connectivity-diagnostics"), json!({ "server_id": id })).await.body;
    let path = format!("{ZONE}/connectivity-diagnostics/{}", started["diagnostic_id"].as_str().unwrap());
    let diagnosis = api.get(&path).await.body;
    assert_eq!((&diagnosis["status"], &diagnosis["health_details"]), (&json!("processing"), &Value::Null));
    api.advance(10);
    let diagnosis = api.get(&path).await.body;
    assert_eq!((&diagnosis["status"], &diagnosis["is_healthy"]), (&json!("completed"), &json!(true)));
    assert_eq!(diagnosis["health_details"]["is_ssh_port_up"], true);
    assert_eq!(diagnosis["supported_actions"], json!([]));
}

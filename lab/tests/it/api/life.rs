//! Restarts, installations and deletions, and how long they take.

use fleet_lab::ServerEdit;
use fleet_lab::scaleway::{Denial, Seconds};
use serde_json::json;

use super::{Api, ZONE, names};

#[tokio::test]
async fn a_restart() {
    let api = Api::start();
    let reply = api.post(&format!("{}/reboot", api.path(0)), json!({})).await;
    assert_eq!((reply.status, &reply.body["status"]), (200, &json!("rebooting")));
    api.advance(89);
    assert_eq!(api.get(&api.path(0)).await.body["status"], "rebooting");
    api.advance(1);
    let server = api.get(&api.path(0)).await.body;
    assert_eq!((&server["status"], &server["delivered"]), (&json!("ready"), &json!(true)));
    assert_eq!(api.lab.servers()[0].installs, 1);
}

#[tokio::test]
async fn a_reinstallation() {
    let api = Api::start();
    let before = api.lab.servers()[0].clone();
    let os = api.get(&format!("{ZONE}/os?name=macos-sequoia-15.5")).await.body["os"][0]["id"].clone();
    let path = format!("{}/reinstall", api.path(0));
    let reply = api.post(&path, json!({ "os_id": os, "enable_kext": true })).await;
    assert_eq!((reply.status, &reply.body["status"]), (200, &json!("reinstalling")));
    assert_eq!(reply.body["delivered"], true, "it never goes back");
    api.advance(5 * 60 - 1);
    assert_eq!(api.get(&api.path(0)).await.body["status"], "reinstalling");
    api.advance(10 * 60 + 1);
    let after = api.lab.servers()[0].clone();
    assert_eq!(api.get(&api.path(0)).await.body["status"], "ready");
    assert_eq!((&after.id, after.ip, &after.name), (&before.id, before.ip, &before.name));
    assert_eq!((after.installs, after.os.name.as_str(), after.kext_enabled), (2, "macos-sequoia-15.5", true));
    assert_ne!(after.password, before.password);
    api.lab.edit(|scaleway, _| scaleway.rules.reinstall_rotates_password = false);
    api.post(&path, json!({})).await;
    api.advance(15 * 60);
    assert_eq!(api.lab.servers()[0].password, after.password);
    assert_eq!(api.lab.servers()[0].os.name, "macos-tahoe-26.3", "the default of the type");
}

#[tokio::test]
async fn a_seed_makes_the_same_world() {
    let takes = || async {
        let api = Api::start();
        api.post(&format!("{}/reinstall", api.path(0)), json!({})).await;
        let mut minutes = 0;
        while api.get(&api.path(0)).await.body["status"] != "ready" {
            api.advance(60);
            minutes += 1;
        }
        (api.path(0), minutes)
    };
    let (first, second) = (takes().await, takes().await);
    assert_eq!(first, second);
    assert!((5..=15).contains(&first.1));
}

#[tokio::test]
async fn what_is_in_the_middle_of_something_is_left_alone() {
    let api = Api::start();
    api.post(&format!("{}/reinstall", api.path(0)), json!({})).await;
    let (path, id) = (api.path(0), api.lab.servers()[0].id.clone());
    let replies = [
        api.patch(&path, json!({ "name": "x" })).await,
        api.post(&format!("{path}/reboot"), json!({})).await,
        api.post(&format!("{path}/reinstall"), json!({})).await,
        api.delete(&path).await,
        api.post(&format!("{path}/private-networks"), json!({ "private_network_id": "x" })).await,
    ];
    for reply in replies {
        assert_eq!((reply.status, reply.kind()), (409, "transient_state"));
        assert_eq!(reply.body["resource"], "server");
        assert_eq!(reply.body["resource_id"], id);
        assert_eq!(reply.body["current_state"], "reinstalling");
    }
    api.lab.edit(|scaleway, _| scaleway.rules.update_while_transient = true);
    assert_eq!(api.patch(&path, json!({ "name": "x" })).await.body["name"], "x");
    assert_eq!(api.lab.servers()[0].status, fleet_lab::scaleway::ServerStatus::Reinstalling);
}

#[tokio::test]
async fn ready_may_be_said_later_than_it_is() {
    let api = Api::with_rules(|rules| rules.ready_lag = Seconds::new(30));
    api.post(&format!("{}/reboot", api.path(0)), json!({})).await;
    api.advance(100);
    assert_eq!(api.get(&api.path(0)).await.body["status"], "rebooting");
    api.advance(20);
    assert_eq!(api.get(&api.path(0)).await.body["status"], "ready");
}

#[tokio::test]
async fn a_server_cannot_be_deleted_in_its_first_day() {
    let api = Api::start();
    let server = api.order("new", "M2-L").await.body;
    let path = format!("{ZONE}/servers/{}", server["id"].as_str().unwrap());
    assert_eq!(api.delete(&path).await.kind(), "transient_state");
    api.advance(135);
    let reply = api.delete(&path).await;
    assert_eq!((reply.status, reply.kind()), (412, "precondition_failed"));
    assert_eq!(reply.body["precondition"], "resource_not_usable");
    assert!(reply.body["help_message"].as_str().unwrap().contains(server["deletable_at"].as_str().unwrap()));
    api.advance(24 * 3600 - 135 - 1);
    assert_eq!(api.delete(&path).await.status, 412);
    api.advance(1);
    let reply = api.delete(&path).await;
    assert_eq!((reply.status, reply.body), (204, json!("")));
}

#[tokio::test]
async fn what_was_deleted_is_forbidden() {
    let api = Api::start();
    let path = api.path(0);
    assert_eq!(api.delete(&path).await.status, 204);
    let reply = api.get(&path).await;
    assert_eq!((reply.status, reply.kind()), (403, "permissions_denied"));
    assert_eq!(reply.body["details"], json!([{ "resource": "server", "action": "read" }]));
    assert_eq!(api.patch(&path, json!({ "name": "x" })).await.status, 403);
    assert_eq!(api.delete(&path).await.status, 403);
    assert_eq!(names(&api.get(&format!("{ZONE}/servers")).await.body), ["pool-02", "pool-03"]);
    api.lab.edit(|scaleway, _| scaleway.rules.deleted_id = Denial::NotFound);
    assert_eq!(api.get(&path).await.status, 404);
    // Its address is not given to another.
    assert_eq!(api.order("new", "M2-L").await.body["ip"], "127.77.0.4");
}

#[tokio::test]
async fn a_deletion_that_is_scheduled_happens_at_its_time() {
    let api = Api::start();
    let server = api.order("new", "M2-L").await.body;
    let path = format!("{ZONE}/servers/{}", server["id"].as_str().unwrap());
    api.advance(135);
    assert_eq!(api.patch(&path, json!({ "schedule_deletion": true })).await.body["deletion_scheduled"], true);
    api.advance(24 * 3600 - 136);
    assert_eq!(api.get(&path).await.status, 200);
    api.advance(1);
    assert_eq!(api.get(&path).await.status, 403);
    // One that was cancelled does not.
    let server = api.order("other", "M2-L").await.body;
    let path = format!("{ZONE}/servers/{}", server["id"].as_str().unwrap());
    api.advance(135);
    api.patch(&path, json!({ "schedule_deletion": true })).await;
    api.patch(&path, json!({ "schedule_deletion": false })).await;
    api.advance(48 * 3600);
    assert_eq!(api.get(&path).await.status, 200);
}

#[tokio::test]
async fn a_month_stays_a_month() {
    let api = Api::start();
    let monthly = json!({ "commitment_type": { "commitment_type": "renewed_monthly" } });
    api.patch(&api.path(0), monthly).await;
    assert_eq!(api.delete(&api.path(0)).await.status, 412);
    let daily = json!({ "commitment_type": { "commitment_type": "duration_24h" } });
    assert_eq!(api.patch(&api.path(0), daily).await.status, 400);
    api.advance(30 * 24 * 3600);
    assert_eq!(api.delete(&api.path(0)).await.status, 204);
}

#[tokio::test]
async fn a_status_that_somebody_set_is_not_overtaken() {
    let api = Api::start();
    api.post(&format!("{}/reboot", api.path(0)), json!({})).await;
    let error = Some(fleet_lab::scaleway::ServerStatus::Error);
    api.lab.edit_server("pool-01", ServerEdit { status: error, ..ServerEdit::default() });
    api.advance(3600);
    assert_eq!(api.get(&api.path(0)).await.body["status"], "error");
}

#[tokio::test]
async fn macos_and_asahi_are_not_exchanged_and_runners_are_not_reinstalled() {
    let api = Api::start();
    let os = api.get(&format!("{ZONE}/os?name=asahi")).await.body["os"][0]["id"].clone();
    let path = format!("{}/reinstall", api.path(0));
    assert_eq!(api.post(&path, json!({ "os_id": os })).await.body["details"][0]["argument_name"], "os_id");
    let os = api.get(&format!("{ZONE}/os?name=devos")).await.body["os"][0]["id"].clone();
    api.post(&path, json!({ "os_id": os })).await;
    api.advance(15 * 60);
    let configuration = json!({
        "name": "r", "provider": "github", "github_configuration": { "url": "u", "token": "t", "labels": [] },
    });
    let body = json!({ "project_id": api.lab.project_id(), "runner_configuration": configuration });
    let runner = api.post(&format!("{ZONE}/runners"), body).await.body["id"].clone();
    let applied = json!({ "applied_runner_configurations": { "runner_configuration_ids": [runner] } });
    assert_eq!(api.patch(&api.path(0), applied).await.status, 200);
    let listed = api.get(&format!("{ZONE}/runners?server_id={}", api.lab.servers()[0].id)).await.body;
    assert_eq!(listed["total_count"], 1);
    assert_eq!(api.post(&path, json!({})).await.kind(), "precondition_failed");
    assert!(api.lab.requests().iter().all(|entry| !entry.body.to_string().contains("token")));
}

//! Servers: lists, one of them, and what can be changed.

use std::time::Duration;

use fleet_lab::scaleway::{Denial, ServerStatus};
use fleet_lab::{Options, ServerEdit};
use serde_json::{Value, json};

use super::{Api, ZONE, names};

#[tokio::test]
async fn pages() {
    let api = Api::with(Options { macs: 45, ..Options::default() });
    for (query, total, shown, first) in [
        ("", 45, 20, Some("pool-01")),
        ("page=3", 45, 5, Some("pool-41")),
        ("page=4", 45, 0, None),
        ("page_size=100", 45, 45, Some("pool-01")),
        ("page_size=7&page=2", 45, 7, Some("pool-08")),
        ("order_by=created_at_desc&page_size=1", 45, 1, Some("pool-45")),
    ] {
        let list = api.get(&format!("{ZONE}/servers?{query}")).await.body;
        assert_eq!(list["total_count"], total, "{query}");
        assert_eq!(names(&list).len(), shown, "{query}");
        assert_eq!(names(&list).first().copied(), first, "{query}");
    }
    for (query, argument, reason) in [
        ("page=0", "page", "constraint"),
        ("page=x", "page", "format"),
        ("page_size=101", "page_size", "constraint"),
        ("page_size=0", "page_size", "constraint"),
        ("order_by=name_asc", "order_by", "constraint"),
    ] {
        let reply = api.get(&format!("{ZONE}/servers?{query}")).await;
        reply.refuses(argument, reason);
    }
    // There is no filter by name, and nothing in another zone.
    assert_eq!(api.get(&format!("{ZONE}/servers?name=pool-01")).await.body["total_count"], 45);
    let other = api.get("/apple-silicon/v1alpha1/zones/fr-par-3/servers").await;
    assert_eq!((other.status, &other.body["total_count"]), (200, &json!(0)));
}

#[tokio::test]
async fn all_fields_are_there() {
    let api = Api::start();
    let server = api.get(&api.path(0)).await.body;
    let fields: Vec<&String> = server.as_object().unwrap().keys().collect();
    let mut expected = [
        "id",
        "type",
        "name",
        "project_id",
        "organization_id",
        "ip",
        "vnc_url",
        "vnc_port",
        "ssh_username",
        "sudo_password",
        "os",
        "status",
        "created_at",
        "updated_at",
        "deletable_at",
        "deletion_scheduled",
        "zone",
        "delivered",
        "vpc_status",
        "commitment",
        "public_bandwidth_bps",
        "runner_configuration",
        "tags",
        "applied_runner_configuration_ids",
        "kext_enabled",
    ];
    expected.sort_unstable();
    let mut found: Vec<&str> = fields.into_iter().map(String::as_str).collect();
    found.sort_unstable();
    assert_eq!(found, expected);
    assert_eq!(server["ip"], "127.77.0.1");
    assert_eq!(server["ssh_username"], "m1");
    assert_eq!(server["vpc_status"], "vpc_disabled");
    let created = server["created_at"].as_str().unwrap();
    assert_eq!((created.len(), created.ends_with('Z')), ("2026-03-05T08:25:47.808092Z".len(), true));
}

#[tokio::test]
async fn secrets_are_told_by_get_alone() {
    let api = Api::start();
    let told = api.get(&api.path(0)).await.body;
    let password = api.lab.servers()[0].password.clone();
    // The top level tells the password for some hours only; the servers of the pool are older.
    assert_eq!(told["sudo_password"], "");
    assert_eq!(told["vnc_url"], format!("vnc://m1:{password}@127.77.0.1:59010"));
    let sealed = |server: &Value| {
        assert_eq!((&server["sudo_password"], &server["vnc_url"]), (&json!("<sealed>"), &json!("<sealed>")));
    };
    sealed(&api.patch(&api.path(0), json!({})).await.body);
    sealed(&api.post(&format!("{}/reboot", api.path(0)), json!({})).await.body);
    sealed(&api.post(&format!("{}/reinstall", api.path(1)), json!({})).await.body);
    sealed(&api.get(&format!("{ZONE}/servers")).await.body["servers"][0]);

    let new = api.order("new", "M2-L").await.body;
    sealed(&new);
    let path = format!("{ZONE}/servers/{}", new["id"].as_str().unwrap());
    let password = api.lab.server("new").unwrap().password;
    assert_eq!(api.get(&path).await.body["sudo_password"], password);
    api.advance(6 * 3600 - 1);
    assert_eq!(api.get(&path).await.body["sudo_password"], password);
    api.advance(1);
    assert_eq!(api.get(&path).await.body["sudo_password"], "");
    api.lab.edit_server("new", ServerEdit { secrets_sealed: Some(true), ..ServerEdit::default() });
    sealed(&api.get(&path).await.body);

    api.lab.edit(|scaleway, _| scaleway.rules.list_seals = false);
    let list = api.get(&format!("{ZONE}/servers")).await.body;
    assert_eq!(list["servers"][2]["sudo_password"], "");
}

#[tokio::test]
async fn what_can_be_changed() {
    let api = Api::start();
    let id = api.lab.servers()[0].id.clone();
    // A server that can be deleted now would be, once its deletion is scheduled.
    api.lab.edit(move |scaleway, now| {
        let tomorrow = now.after(Duration::from_secs(24 * 3600));
        scaleway.servers.change(&id, now, |server| server.deletable_at = tomorrow);
    });
    for (body, field, value) in [
        (json!({ "name": "mine" }), "name", json!("mine")),
        (json!({ "schedule_deletion": true }), "deletion_scheduled", json!(true)),
        (json!({ "schedule_deletion": false }), "deletion_scheduled", json!(false)),
        (
            json!({ "public_bandwidth_bps": 2_000_000_000_u64 }),
            "public_bandwidth_bps",
            json!(2_000_000_000_u64),
        ),
        (json!({ "enable_vpc": true }), "vpc_status", json!("vpc_updating")),
        (
            json!({ "commitment_type": { "commitment_type": "renewed_monthly" } }),
            "commitment",
            json!({ "type": "renewed_monthly", "cancelled": false }),
        ),
    ] {
        api.advance(1);
        let reply = api.patch(&api.path(0), body.clone()).await;
        assert_eq!((reply.status, &reply.body[field]), (200, &value), "{body}");
        assert_eq!(reply.body["status"], "ready");
        assert_eq!(reply.body["updated_at"], json!(api.lab.clock().time()));
    }
    // Nothing at all is a change too.
    api.advance(1);
    let reply = api.patch(&api.path(2), json!({})).await;
    assert_eq!((reply.status, &reply.body["updated_at"]), (200, &json!(api.lab.clock().time())));
}

#[tokio::test]
async fn what_cannot_be_changed() {
    let api = Api::start();
    let before = api.get(&api.path(0)).await.body;
    let ignored = json!({
        "tags": ["mine"], "type": "M4-S", "project_id": "x", "ip": "1.2.3.4", "ssh_username": "root", "zone": "x",
    });
    let mut after = api.patch(&api.path(0), ignored).await.body;
    for field in ["updated_at", "sudo_password", "vnc_url"] {
        after[field] = before[field].clone();
    }
    assert_eq!(after, before);
    for (body, argument, reason) in [
        (json!({ "name": 1 }), "name", "format"),
        (json!({ "name": "" }), "name", "constraint"),
        (json!({ "commitment_type": "renewed_monthly" }), "commitment_type", "format"),
        (json!({ "commitment_type": { "commitment_type": "x" } }), "commitment_type", "constraint"),
        (json!({ "public_bandwidth_bps": 5 }), "public_bandwidth_bps", "constraint"),
        (json!([]), "body", "format"),
    ] {
        let reply = api.patch(&api.path(0), body.clone()).await;
        reply.refuses(argument, reason);
    }
    assert_eq!(api.lab.servers()[0].name, "pool-01");
}

#[tokio::test]
async fn names_are_not_unique_and_the_last_write_wins() {
    let api = Api::start();
    for name in ["a", "b"] {
        assert_eq!(api.patch(&api.path(0), json!({ "name": name })).await.status, 200);
    }
    api.patch(&api.path(1), json!({ "name": "b" })).await;
    let list = api.get(&format!("{ZONE}/servers")).await.body;
    assert_eq!(names(&list), ["b", "b", "pool-03"]);
}

#[tokio::test]
async fn ids_that_are_not_there() {
    let api = Api::start();
    let unknown = format!("{ZONE}/servers/00000000-0000-4000-8000-000000000000");
    let reply = api.get(&unknown).await;
    assert_eq!((reply.status, reply.kind(), &reply.body["resource"]), (404, "not_found", &json!("server")));
    assert_eq!(reply.body["message"], "resource is not found");
    api.lab.edit(|scaleway, _| scaleway.rules.unknown_id = Denial::Forbidden);
    assert_eq!(api.get(&unknown).await.status, 403);
    let reply = api.get(&format!("{ZONE}/servers/x")).await;
    assert_eq!((reply.status, reply.kind()), (400, "invalid_arguments"));
    let elsewhere = api.path(0).replace("fr-par-1", "fr-par-3");
    assert_eq!(api.get(&elsewhere).await.status, 403);
}

#[tokio::test]
async fn locked_and_broken_servers() {
    let api = Api::start();
    let set =
        |status| api.lab.edit_server("pool-01", ServerEdit { status: Some(status), ..ServerEdit::default() });
    set(ServerStatus::Locked);
    assert_eq!(api.get(&api.path(0)).await.body["status"], "locked");
    for (path, body) in [("", json!({ "name": "x" })), ("/reboot", json!({})), ("/reinstall", json!({}))] {
        let path = format!("{}{path}", api.path(0));
        let reply =
            if body["name"].is_null() { api.post(&path, body).await } else { api.patch(&path, body).await };
        assert_eq!((reply.status, reply.kind()), (423, "locked"), "{path}");
        assert_eq!(reply.body["resource"], "server");
    }
    set(ServerStatus::Error);
    assert_eq!(api.patch(&api.path(0), json!({ "name": "x" })).await.status, 200);
    assert_eq!(
        api.post(&format!("{}/reinstall", api.path(0)), json!({})).await.body["status"],
        "reinstalling"
    );
}

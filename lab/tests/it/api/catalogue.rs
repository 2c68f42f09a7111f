//! What can be ordered and installed.

use fleet_lab::scaleway::Stock;
use serde_json::{Value, json};

use super::{Api, ZONE};

fn field<'a>(list: &'a Value, of: &str, field: &str) -> Vec<&'a str> {
    list[of].as_array().unwrap().iter().map(|one| one[field].as_str().unwrap()).collect()
}

#[tokio::test]
async fn types() {
    let api = Api::start();
    let types = api.get(&format!("{ZONE}/server-types")).await.body;
    assert_eq!(field(&types, "server_types", "name"), ["M2-M", "M2-L", "M4-S", "M4-M", "M4-L", "M4-XL"]);
    assert!(types.get("total_count").is_none(), "this list has no pages");
    let old = api.get("/apple-silicon/v1alpha1/zones/fr-par-3/server-types").await.body;
    assert_eq!(old["server_types"][0]["name"], "M1-M");
    assert_eq!(old["server_types"][0]["stock"], "no_stock");
    let one = api.get(&format!("{ZONE}/server-type/M2-L")).await;
    assert_eq!(one.body, types["server_types"][1]);
    assert_eq!(one.body["minimum_lease_duration"], "86400s");
    assert_eq!(one.body["default_os"]["name"], "macos-tahoe-26.3");
    let none = api.get(&format!("{ZONE}/server-type/M9")).await;
    assert_eq!((none.status, none.kind()), (404, "not_found"));
    assert_eq!(none.body["resource_id"], "M9");
}

#[tokio::test]
async fn systems() {
    let api = Api::start();
    let all = api.get(&format!("{ZONE}/os")).await.body;
    assert_eq!(all["total_count"], 9);
    for (query, found) in [
        ("name=macos-tahoe", vec!["macos-tahoe-26.2", "macos-tahoe-26.3", "macos-tahoe-26.7-beta"]),
        ("name=15", vec!["macos-sequoia-15.5", "macos-sequoia-15.6"]),
        ("name=15.6", vec!["macos-sequoia-15.6"]),
        ("name=macos-ventura&server_type=M4-S", vec![]),
        ("name=macos-ventura&server_type=M2-L", vec!["macos-ventura-13.7"]),
        ("page=2&page_size=8", vec!["asahi-fedora-42"]),
    ] {
        let list = api.get(&format!("{ZONE}/os?{query}")).await.body;
        assert_eq!(field(&list, "os", "name"), found, "{query}");
    }
    // Only lists say where a system can be installed.
    let listed = &all["os"][5];
    assert_eq!(listed["family"], "Tahoe");
    assert_eq!(listed["supported_server_types"].as_array().unwrap().len(), 7);
    let one = api.get(&format!("{ZONE}/os/{}", listed["id"].as_str().unwrap())).await.body;
    assert_eq!(one["name"], listed["name"]);
    assert_eq!(one["supported_server_types"], json!([]));
}

#[tokio::test]
async fn a_system_is_retired_without_notice() {
    let api = Api::start();
    let os = api.get(&format!("{ZONE}/os?name=macos-tahoe-26.3")).await.body["os"][0]["id"].clone();
    api.lab.edit(|scaleway, _| assert!(scaleway.catalogue.retire("macos-tahoe-26.3")));
    let list = api.get(&format!("{ZONE}/os?name=macos-tahoe")).await.body;
    assert_eq!(field(&list, "os", "name"), ["macos-tahoe-26.2", "macos-tahoe-26.7-beta"]);
    assert_eq!(api.get(&format!("{ZONE}/os/{}", os.as_str().unwrap())).await.status, 404);
    // What is installed stays what it is.
    assert_eq!(api.get(&api.path(0)).await.body["os"]["name"], "macos-tahoe-26.3");
    // An id of it is refused with an error that has no type, and nothing happens.
    let reply = api.post(&format!("{}/reinstall", api.path(0)), json!({ "os_id": os })).await;
    assert_eq!((reply.status, reply.kind()), (400, ""));
    assert_eq!(api.get(&api.path(0)).await.body["status"], "ready");
    // Without an id, another one is taken.
    let reply = api.post(&format!("{}/reinstall", api.path(0)), json!({})).await;
    assert_eq!(reply.body["os"]["name"], "macos-tahoe-26.2");
}

#[tokio::test]
async fn stock_changes() {
    let api = Api::start();
    api.lab.edit(|scaleway, _| scaleway.catalogue.stock.insert("M4-S".to_owned(), Stock::NoStock));
    assert_eq!(api.get(&format!("{ZONE}/server-type/M4-S")).await.body["stock"], "no_stock");
    let reply = api.order("new", "M4-S").await;
    assert_eq!(
        (reply.status, reply.kind(), &reply.body["resource"]),
        (503, "out_of_stock", &json!("server"))
    );
}

//! Objects: made, changed, applied, listed, watched.

use serde_json::{Value, json};

use super::{APPLY, Api, MAPS, map, names};

#[tokio::test]
async fn the_server_says_what_it_has() {
    let api = Api::start();
    assert_eq!(api.get("/version").await.body["major"], "1");
    assert_eq!(api.get("/api").await.body["versions"], json!(["v1"]));
    let groups = api.get("/apis").await.body;
    assert!(
        groups["groups"].as_array().unwrap().iter().any(|group| group["name"] == "rbac.authorization.k8s.io")
    );
    let core = api.get("/api/v1").await.body;
    let resources = core["resources"].as_array().unwrap();
    let pods = resources.iter().find(|one| one["name"] == "pods").unwrap();
    assert!(pods["verbs"].as_array().unwrap().contains(&json!("watch")));
    assert!(resources.iter().any(|one| one["name"] == "pods/eviction"));
    assert_eq!(api.get("/healthz").await.body, "ok");
    assert_eq!(api.get("/apis/nothing.example/v1").await.status, 404);
    assert_eq!(api.get("/api/v1/nothings").await.reason(), (404, "NotFound"));
}

#[tokio::test]
async fn an_object_has_one_version_at_a_time() {
    let api = Api::start();
    let made = api.post(MAPS, &map("a", json!({ "k": "1" }))).await;
    assert_eq!(made.status, 201);
    assert_eq!(api.post(MAPS, &map("a", json!({}))).await.reason(), (409, "AlreadyExists"));
    let path = format!("{MAPS}/a");
    assert_eq!(api.get(&path).await.body, made.body);
    let mut changed = made.body.clone();
    changed["data"]["k"] = json!("2");
    let put = api.put(&path, &changed).await;
    assert_eq!((put.status, &put.body["data"]["k"]), (200, &json!("2")));
    assert_eq!(api.put(&path, &changed).await.reason(), (409, "Conflict"), "the version is old");
    // What changes nothing makes no version.
    let same = api.merge(&path, &json!({ "data": { "k": "2" } })).await;
    assert_eq!(same.body["metadata"]["resourceVersion"], put.body["metadata"]["resourceVersion"]);
    let odd = api.merge(&path, &json!({ "data": { "k": 2 } })).await;
    assert_eq!(odd.reason(), (422, "Invalid"));
    assert_eq!(odd.body["details"]["causes"][0]["field"], "patch");
    assert_eq!(api.post(MAPS, &map("b", json!({ "k": 2 }))).await.reason(), (400, "BadRequest"));
    let applied = api.patch(&format!("{MAPS}/b?fieldManager=x"), APPLY, &map("b", json!({ "k": 2 }))).await;
    assert_eq!(applied.status, 500);
    assert!(applied.body["message"].as_str().unwrap().contains(".data.k: expected string"));
    let named = api.post(MAPS, &map("Not A Name", json!({}))).await;
    assert_eq!(named.reason(), (422, "Invalid"));
    assert_eq!(api.delete(&path).await.body["status"], "Success");
    assert_eq!(api.get(&path).await.reason(), (404, "NotFound"));
    assert_eq!(api.post("/api/v1/namespaces/none/configmaps", &map("a", json!({}))).await.status, 404);
}

#[tokio::test]
async fn lists_come_in_pages_and_old_pages_expire() {
    let api = Api::start();
    for name in ["a", "b", "c"] {
        let mut object = map(name, json!({}));
        object["metadata"]["labels"] = json!({ "first": (name == "a").to_string() });
        api.post(MAPS, &object).await;
    }
    assert_eq!(names(&api.get(&format!("{MAPS}?labelSelector=first%3Dtrue")).await.body), ["a"]);
    assert_eq!(names(&api.get(&format!("{MAPS}?fieldSelector=metadata.name%3Db")).await.body), ["b"]);
    let page = api.get(&format!("{MAPS}?limit=2")).await.body;
    assert_eq!(names(&page), ["a", "b"]);
    let next = page["metadata"]["continue"].as_str().unwrap().replace(' ', "%20");
    assert_eq!(names(&api.get(&format!("{MAPS}?limit=2&continue={next}")).await.body), ["c"]);
    api.post(MAPS, &map("d", json!({}))).await;
    api.lab.kubernetes().forget_changes();
    assert_eq!(api.get(&format!("{MAPS}?limit=2&continue={next}")).await.reason(), (410, "Expired"));
}

/// The events of a watch, until there are so many.
async fn events(api: &Api, path: &str, many: usize) -> Vec<(String, Value)> {
    let mut response = api.request(reqwest::Method::GET, path).send().await.unwrap();
    let (mut text, mut events) = (String::new(), Vec::new());
    while events.len() < many {
        let Some(chunk) = response.chunk().await.unwrap() else { break };
        text.push_str(std::str::from_utf8(&chunk).unwrap());
        events = text
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok())
            .map(|event| (event["type"].as_str().unwrap().to_owned(), event["object"].clone()))
            .collect();
    }
    events
}

#[tokio::test]
async fn a_watch_tells_what_happens_and_an_old_one_expires() {
    let api = Api::start();
    let before =
        api.post(MAPS, &map("a", json!({ "k": "1" }))).await.body["metadata"]["resourceVersion"].clone();
    let before = before.as_str().unwrap().to_owned();
    let path = format!("{MAPS}?watch=true&fieldSelector=metadata.name%3Da&resourceVersion={before}");
    let watched = events(&api, &path, 2);
    let acted = async {
        api.post(MAPS, &map("b", json!({}))).await;
        api.merge(&format!("{MAPS}/a"), &json!({ "data": { "k": "2" } })).await;
        api.delete(&format!("{MAPS}/a")).await;
    };
    let (seen, ()) = tokio::join!(watched, acted);
    let sorts: Vec<&str> = seen.iter().map(|(sort, _)| &**sort).collect();
    assert_eq!(sorts, ["MODIFIED", "DELETED"]);
    assert_eq!(seen[0].1["data"]["k"], "2");
    // From the beginning: what is there comes first.
    let all = events(&api, &format!("{MAPS}?watch=true&fieldSelector=metadata.name%3Db"), 1).await;
    assert_eq!(all[0].0, "ADDED");
    api.lab.kubernetes().forget_changes();
    let old = events(&api, &path, 1).await;
    assert_eq!(
        (&*old[0].0, &old[0].1["code"], &old[0].1["reason"]),
        ("ERROR", &json!(410), &json!("Expired"))
    );
    let ended = events(&api, &format!("{MAPS}?watch=true&timeoutSeconds=1&labelSelector=none"), 1).await;
    assert_eq!(ended.len(), 0, "it ends by itself");
}

#[tokio::test]
async fn applied_fields_have_owners() {
    let api = Api::start();
    let apply = async |manager: &str, data: Value, more: &str| {
        let path = format!("{MAPS}/a?fieldManager={manager}{more}");
        api.patch(&path, APPLY, &map("a", data)).await
    };
    assert_eq!(apply("x", json!({ "k": "1" }), "&dryRun=All").await.status, 201);
    assert_eq!(api.get(&format!("{MAPS}/a")).await.status, 404, "a rehearsal makes nothing");
    let made = apply("x", json!({ "k": "1", "l": "1" }), "").await;
    assert_eq!(made.status, 201);
    let managed = &made.body["metadata"]["managedFields"][0];
    assert_eq!((&managed["manager"], &managed["operation"]), (&json!("x"), &json!("Apply")));
    assert_eq!(managed["fieldsV1"]["f:data"], json!({ "f:k": {}, "f:l": {} }));
    let again = apply("x", json!({ "k": "1", "l": "1" }), "").await;
    assert_eq!(again.body, made.body, "applied twice is applied once");
    let conflict = apply("y", json!({ "k": "2" }), "").await;
    assert_eq!(conflict.reason(), (409, "Conflict"));
    assert_eq!(conflict.body["message"], "Apply failed with 1 conflict: conflict with \"x\": .data.k");
    let cause = &conflict.body["details"]["causes"][0];
    assert_eq!((&cause["reason"], &cause["field"]), (&json!("FieldManagerConflict"), &json!(".data.k")));
    assert_eq!(apply("y", json!({ "k": "2" }), "&force=true").await.body["data"]["k"], "2");
    let less = apply("x", json!({}), "").await;
    assert_eq!(
        less.body["data"],
        json!({ "k": "2" }),
        "what is not applied any more goes, unless others own it"
    );
    assert_eq!(
        api.patch(&format!("{MAPS}/a"), APPLY, &map("a", json!({}))).await.status,
        400,
        "nobody applies"
    );
}

#[tokio::test]
async fn a_node_stays_the_machine_that_it_is() {
    let api = Api::start();
    let node = json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": "n" } });
    api.post("/api/v1/nodes", &node).await;
    let path = "/api/v1/nodes/n";
    assert_eq!(api.merge(path, &json!({ "spec": { "providerID": "x://1" } })).await.status, 200);
    let refused = api.merge(path, &json!({ "spec": { "providerID": "x://2" } })).await;
    assert_eq!(refused.reason(), (422, "Invalid"));
    assert_eq!(refused.body["details"]["causes"][0]["field"], "spec.providerID");
    assert_eq!(refused.body["details"]["causes"][0]["reason"], "FieldValueForbidden");
    // The status has a path of its own.
    api.merge(path, &json!({ "status": { "phase": "x" }, "metadata": { "labels": { "a": "b" } } })).await;
    api.merge(
        &format!("{path}/status"),
        &json!({ "status": { "phase": "y" }, "metadata": { "labels": { "a": "c" } } }),
    )
    .await;
    let found = api.get(path).await.body;
    assert_eq!((&found["status"]["phase"], &found["metadata"]["labels"]["a"]), (&json!("y"), &json!("b")));
}

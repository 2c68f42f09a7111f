//! The lab from outside: what it shows, how it is broken, stopped and gone on with.

use std::time::Duration;

use fleet_lab::clock::Pace;
use fleet_lab::fault::Fault;
use fleet_lab::scaleway::{Operation, Seconds, ServerStatus, Stock};
use fleet_lab::{CatalogueEdit, Description, Lab, Move, Options, Remote, RemoteError, ServerEdit};
use serde_json::json;

use super::{Api, ZONE};

fn in_directory(directory: &tempfile::TempDir) -> Options {
    Options { directory: Some(directory.path().join("lab")), ..Options::default() }
}

#[tokio::test]
async fn everything_can_be_looked_at() {
    let directory = tempfile::tempdir().unwrap();
    let api = Api::with(in_directory(&directory));
    api.patch(&api.path(0), json!({ "name": "mine" })).await;
    let remote = Remote::open(api.lab.directory()).unwrap();
    let summary = remote.summary().await.unwrap();
    assert_eq!(summary["servers"][0]["name"], "mine");
    assert_eq!(summary["requests"], 1);
    assert_eq!(summary["troubles"], json!([]));
    assert_eq!(remote.inspect("world").await.unwrap()["scaleway"]["rules"]["start"], 135);
    let server = remote.inspect("servers/mine").await.unwrap();
    assert_eq!(server["machine"]["is_up"], true);
    let history: Vec<&str> = server["history"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["thing"]["name"].as_str().unwrap())
        .collect();
    assert_eq!((history.first(), history.last()), (Some(&"pool-01"), Some(&"mine")));
    let requests = remote.inspect("requests").await.unwrap();
    assert_eq!(requests[0]["operation"], "update_server");
    assert_eq!(requests[0]["token"], "SCWLAB");
    assert_eq!(requests[0]["body"], json!({ "name": "mine" }));
    assert_eq!(requests[0]["status"], 200);
    assert_eq!(requests[0]["effect_at"], requests[0]["at"]);
    assert_eq!(remote.inspect("requests?after=1").await.unwrap(), json!([]));
    assert!(!requests.to_string().contains(api.lab.secret_key()), "the log holds no secret");
    assert!(
        matches!(remote.inspect("servers/nobody").await, Err(RemoteError::Refused(why)) if why.contains("nobody"))
    );
}

#[tokio::test]
async fn everything_can_be_moved_and_broken() {
    let directory = tempfile::tempdir().unwrap();
    let api = Api::with(in_directory(&directory));
    let remote = Remote::open(api.lab.directory()).unwrap();
    let fault = remote.fault(&Fault::failed(500).on(Operation::GetServer).always()).await.unwrap();
    assert_eq!(api.get(&api.path(0)).await.status, 500);
    assert_eq!(remote.inspect("faults").await.unwrap()[0]["hit"], 1);
    remote.clear(Some(fault)).await.unwrap();
    assert_eq!(api.get(&api.path(0)).await.status, 200);
    assert!(remote.clear(Some(fault)).await.is_err());

    let before = api.lab.clock().time();
    let (time, pace) = remote.clock(Move { pace: None, advance: Some(Seconds::new(90)) }).await.unwrap();
    assert_eq!((time, pace), (before.after(Duration::from_secs(90)).to_string(), Pace::Manual));
    let (_, pace) = remote.clock(Move { pace: Some(Pace::Times(60.0)), advance: None }).await.unwrap();
    assert_eq!(pace, Pace::Times(60.0));
    assert!(remote.clock(Move { pace: Some(Pace::Times(0.0)), advance: None }).await.is_err());

    let edit = ServerEdit { status: Some(ServerStatus::Error), ..ServerEdit::default() };
    remote.edit_server("pool-01", &edit).await.unwrap();
    assert_eq!(api.get(&api.path(0)).await.body["status"], "error");
    let edit = CatalogueEdit {
        retire: vec!["macos-sonoma-14.6".to_owned()],
        stock: [("M2-L".to_owned(), Stock::NoStock)].into(),
        ..CatalogueEdit::default()
    };
    remote.edit_catalogue(&edit).await.unwrap();
    assert_eq!(api.order("x", "M2-L").await.status, 503);
    let none = CatalogueEdit { retire: vec!["macos-nowhere".to_owned()], ..CatalogueEdit::default() };
    assert!(remote.edit_catalogue(&none).await.is_err());
}

#[tokio::test]
async fn a_lab_goes_on_where_it_stopped() {
    let directory = tempfile::tempdir().unwrap();
    let (time, secret, requests) = {
        let api = Api::with(in_directory(&directory));
        api.patch(&api.path(0), json!({ "name": "mine" })).await;
        api.post(&format!("{}/reinstall", api.path(1)), json!({})).await;
        api.lab.fault(Fault::late(Duration::from_secs(3600)).on(Operation::UpdateServer));
        let late = api.try_send(reqwest::Method::PATCH, &api.path(2), Some(json!({ "name": "late" }))).await;
        assert!(late.is_err());
        api.lab.fault(Fault::failed(500).on(Operation::GetServer));
        api.advance(60);
        (api.lab.clock().time(), api.secret.clone(), serde_json::to_value(api.lab.requests()).unwrap())
    };
    assert!(!Description::path(&directory.path().join("lab")).exists(), "nobody finds a lab that ended");
    let api = Api::with(in_directory(&directory));
    assert_eq!(api.lab.clock().time(), time);
    assert_eq!(api.secret, secret);
    assert_eq!(serde_json::to_value(api.lab.requests()).unwrap(), requests);
    assert_eq!(api.get(&api.path(0)).await.status, 500, "faults stay set");
    assert_eq!(api.get(&api.path(0)).await.body["name"], "mine");
    assert_eq!(api.get(&api.path(1)).await.body["status"], "reinstalling");
    api.advance(15 * 60);
    assert_eq!(api.get(&api.path(1)).await.body["status"], "ready");
    api.advance(45 * 60);
    assert_eq!(api.get(&api.path(2)).await.body["name"], "late");
    assert_eq!(api.order("new", "M2-L").await.body["ip"], "127.77.0.4");
}

#[test]
fn a_lab_ends_and_leaves_nothing() {
    let lab = Lab::start(Options::default()).unwrap();
    let (directory, address) = (lab.directory().to_owned(), lab.api_url().replace("http://", ""));
    assert!(directory.join("ssh_config").exists());
    assert!(std::net::TcpStream::connect(&address).is_ok());
    drop(lab);
    assert!(!directory.exists());
    assert!(std::net::TcpStream::connect(&address).is_err());
}

#[test]
fn a_lab_runs_until_it_is_told_to_stop() {
    let directory = tempfile::tempdir().unwrap();
    let options = in_directory(&directory);
    let (tell, told) = std::sync::mpsc::channel();
    let running = std::thread::spawn(move || {
        fleet_lab::run(options, |description| tell.send(description.directory.clone()).unwrap())
    });
    let place = told.recv().unwrap();
    let remote = Remote::open(&place).unwrap();
    let variables: Vec<&str> = remote.description().environment.keys().map(String::as_str).collect();
    let expected = [
        "FORGEJO_API_URL",
        "FORGEJO_TOKEN",
        "FORGEJO_URL",
        "GITHUB_API_URL",
        "GITHUB_TOKEN",
        "GITLAB_API_URL",
        "GITLAB_TOKEN",
        "GITLAB_URL",
        "KUBECONFIG",
        "OP_CONNECT_HOST",
        "OP_CONNECT_TOKEN",
        "SCW_ACCESS_KEY",
        "SCW_API_URL",
        "SCW_DEFAULT_ORGANIZATION_ID",
        "SCW_DEFAULT_PROJECT_ID",
        "SCW_DEFAULT_ZONE",
        "SCW_SECRET_KEY",
        "TAILSCALE_API_KEY",
        "TAILSCALE_BASE_URL",
        "VAULT_ADDR",
        "VAULT_TOKEN",
    ];
    assert_eq!(variables, expected);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(remote.stop()).unwrap();
    running.join().unwrap().unwrap();
    assert!(matches!(Remote::open(&place), Err(RemoteError::NoLab { .. })));
}

#[test]
fn a_lab_that_cannot_begin_says_why() {
    let wrong = Options { os: "macos-nowhere".to_owned(), ..Options::default() };
    assert!(Lab::start(wrong).err().unwrap().to_string().contains("macos-nowhere"));
    let wrong = Options { keys: [("x".to_owned(), "y".to_owned())].into(), ..Options::default() };
    assert!(Lab::start(wrong).err().unwrap().to_string().contains("`x`"));
    let file = tempfile::NamedTempFile::new().unwrap();
    let wrong = Options { directory: Some(file.path().join("lab")), ..Options::default() };
    assert!(Lab::start(wrong).is_err());
}

#[tokio::test]
async fn only_the_owner_reads_the_directory() {
    use std::os::unix::fs::PermissionsExt as _;
    let directory = tempfile::tempdir().unwrap();
    let api = Api::with(in_directory(&directory));
    api.get(&format!("{ZONE}/servers")).await;
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(api.lab.directory()), 0o700);
    for file in ["lab.json", "world.json", "requests.jsonl", "identity", "ssh_config"] {
        assert_eq!(mode(&api.lab.directory().join(file)), 0o600, "{file}");
    }
}

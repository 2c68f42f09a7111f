//! What the vendor does to the machines behind its servers.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use fleet_engine::resource::BoxFuture;
use fleet_lab::machine::{Blueprint, Factory, Failed, Install, Machine};
use fleet_lab::{Options, ServerEdit};
use serde_json::{Value, json};

use super::{Api, ZONE};

/// Machines that only note what happens to them.
#[derive(Clone, Default)]
struct Notes {
    done: Arc<Mutex<Vec<String>>>,
    fail: Arc<AtomicBool>,
}

impl Notes {
    fn note(&self, what: String) -> BoxFuture<'_, Result<(), Failed>> {
        self.done.lock().unwrap().push(what);
        let failed = self.fail.load(Ordering::SeqCst);
        Box::pin(async move { if failed { Err(Failed("it burns".to_owned())) } else { Ok(()) } })
    }

    /// What happened since this was last asked.
    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.done.lock().unwrap())
    }
}

struct Noting {
    ip: String,
    notes: Notes,
    up: AtomicBool,
}

impl Factory for Notes {
    fn build(&self, blueprint: Blueprint) -> BoxFuture<'_, Result<Arc<dyn Machine>, Failed>> {
        std::fs::create_dir_all(&blueprint.directory).unwrap();
        let machine =
            Noting { ip: blueprint.ip.to_string(), notes: self.clone(), up: AtomicBool::new(false) };
        self.done.lock().unwrap().push(format!("build {}", machine.ip));
        Box::pin(async move { Ok(Arc::new(machine) as Arc<dyn Machine>) })
    }
}

impl Machine for Noting {
    fn install(&self, install: Install) -> BoxFuture<'_, Result<(), Failed>> {
        let (os, keys) = (install.os_name, install.keys.len());
        self.notes.note(format!("install {} {os} {} {} keys", self.ip, install.password, keys))
    }

    fn boot(&self, keys: Option<Vec<String>>) -> BoxFuture<'_, Result<(), Failed>> {
        self.up.store(true, Ordering::SeqCst);
        self.notes.note(format!("boot {} {:?} keys", self.ip, keys.map(|keys| keys.len())))
    }

    fn halt(&self) -> BoxFuture<'_, Result<(), Failed>> {
        self.up.store(false, Ordering::SeqCst);
        self.notes.note(format!("halt {}", self.ip))
    }

    fn ssh_port(&self) -> u16 {
        4242
    }

    fn is_up(&self) -> bool {
        self.up.load(Ordering::SeqCst)
    }

    fn inspect(&self) -> BoxFuture<'_, Value> {
        Box::pin(async { json!("a machine") })
    }
}

fn one_machine() -> (Api, Notes) {
    let notes = Notes::default();
    let factory = Arc::new(notes.clone());
    let api = Api::with(Options { macs: 1, factory, ..Options::default() });
    (api, notes)
}

#[tokio::test]
async fn machines_are_there_when_the_lab_is() {
    let (api, notes) = one_machine();
    let password = api.lab.servers()[0].password.clone();
    let install = format!("install 127.77.0.1 macos-tahoe-26.3 {password} 1 keys");
    assert_eq!(notes.take(), ["build 127.77.0.1", &install, "boot 127.77.0.1 None keys"]);
    let config = std::fs::read_to_string(&api.lab.description().ssh_config).unwrap();
    assert_eq!(config, "Host 127.77.0.1\n  HostName 127.0.0.1\n  Port 4242\n");
    assert_eq!(api.lab.inspect("pool-01").unwrap()["machine"]["inside"], "a machine");
    let directory = api.lab.directory().to_owned();
    drop(api);
    assert_eq!(notes.take(), ["halt 127.77.0.1"]);
    assert!(!directory.exists());
}

#[tokio::test]
async fn a_reinstallation_halts_at_once_and_installs_with_the_keys_of_then() {
    let (api, notes) = one_machine();
    notes.take();
    api.post(&format!("{}/reinstall", api.path(0)), json!({})).await;
    assert_eq!(notes.take(), ["halt 127.77.0.1"]);
    let key = std::fs::read_to_string(api.lab.description().identity.with_extension("pub")).unwrap();
    let body = json!({ "name": "second", "public_key": key, "project_id": api.lab.project_id() });
    api.post("/iam/v1alpha1/ssh-keys", body).await;
    api.advance(15 * 60);
    let password = api.lab.servers()[0].password.clone();
    let install = format!("install 127.77.0.1 macos-tahoe-26.3 {password} 2 keys");
    assert_eq!(notes.take(), [&install, "boot 127.77.0.1 None keys"]);
    let keys = api.get(&format!("/iam/v1alpha1/ssh-keys?project_id={}", api.lab.project_id())).await.body;
    let first = keys["ssh_keys"][0]["id"].as_str().unwrap();
    api.patch(&format!("/iam/v1alpha1/ssh-keys/{first}"), json!({ "disabled": true })).await;
    api.post(&format!("{}/reboot", api.path(0)), json!({})).await;
    api.advance(90);
    assert_eq!(notes.take(), ["halt 127.77.0.1", "boot 127.77.0.1 Some(1) keys"]);
    api.lab.edit(|scaleway, _| scaleway.rules.reboot_applies_keys = false);
    api.post(&format!("{}/reboot", api.path(0)), json!({})).await;
    api.advance(90);
    assert_eq!(notes.take(), ["halt 127.77.0.1", "boot 127.77.0.1 None keys"]);
}

#[tokio::test]
async fn a_machine_comes_with_its_order_and_goes_with_its_deletion() {
    let (api, notes) = one_machine();
    notes.take();
    let id = api.order("new", "M2-L").await.body["id"].as_str().unwrap().to_owned();
    assert_eq!(notes.take(), ["build 127.77.0.2"]);
    api.advance(135);
    assert_eq!(notes.take().len(), 2);
    let disk = api.lab.directory().join("machines").join(&id);
    assert!(disk.exists());
    api.advance(24 * 3600);
    assert_eq!(api.delete(&format!("{ZONE}/servers/{id}")).await.status, 204);
    assert_eq!(notes.take(), ["halt 127.77.0.2"]);
    assert!(!disk.exists());
    assert!(!std::fs::read_to_string(&api.lab.description().ssh_config).unwrap().contains("127.77.0.2"));
}

#[tokio::test]
async fn a_machine_that_fails_is_in_error() {
    let (api, notes) = one_machine();
    api.post(&format!("{}/reinstall", api.path(0)), json!({})).await;
    notes.fail.store(true, Ordering::SeqCst);
    api.advance(15 * 60);
    assert_eq!(api.get(&api.path(0)).await.body["status"], "error");
    assert_eq!(api.lab.troubles()[0].message, "it burns");
}

#[tokio::test]
async fn a_machine_that_is_down_is_found_so() {
    let (api, notes) = one_machine();
    notes.take();
    assert!(api.lab.edit_server("pool-01", ServerEdit { power: Some(false), ..ServerEdit::default() }));
    assert_eq!(notes.take(), ["halt 127.77.0.1"]);
    let id = api.lab.servers()[0].id.clone();
    let started =
        api.post(&format!("{ZONE}/connectivity-diagnostics"), json!({ "server_id": id })).await.body;
    api.advance(10);
    let path = format!("{ZONE}/connectivity-diagnostics/{}", started["diagnostic_id"].as_str().unwrap());
    let diagnosis = api.get(&path).await.body;
    assert_eq!((&diagnosis["is_healthy"], &diagnosis["status"]), (&json!(false), &json!("completed")));
    assert_eq!(diagnosis["supported_actions"], json!(["reboot_server", "reinstall_server"]));
    assert_eq!(api.get(&api.path(0)).await.body["status"], "ready", "the vendor did not notice");
}

#[tokio::test]
async fn what_is_resumed_is_not_installed_again() {
    let directory = tempfile::tempdir().unwrap();
    let notes = Notes::default();
    let start = || {
        let directory = Some(directory.path().to_owned());
        Api::with(Options { macs: 2, directory, factory: Arc::new(notes.clone()), ..Options::default() })
    };
    let api = start();
    api.post(&format!("{}/reboot", api.path(1)), json!({})).await;
    drop(api);
    notes.take();
    let api = start();
    let mut done = notes.take();
    done.sort_unstable();
    assert_eq!(done, ["boot 127.77.0.1 None keys", "build 127.77.0.1", "build 127.77.0.2"]);
    api.advance(90);
    assert_eq!(notes.take(), ["boot 127.77.0.2 Some(1) keys"]);
}

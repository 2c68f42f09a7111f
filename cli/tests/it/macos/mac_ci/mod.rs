//! `examples/fleets/mac-ci`: three fleets that share one pool of rented Macs.

mod crashes;
mod whole;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use fleet_engine::host::reach::Secret;
use fleet_lab::mac::archive;
use fleet_lab::scaleway::Server;
use fleet_lab::{github, tailnet};
use fleet_transport::http;
use regex::Regex;
use serde_json::{Value as Json, json};

use super::full::STAYS;
use super::minis::Snapshot;
use super::rented::Rented;
use crate::laws::search::Search;
use crate::support::{Ran, Site};
use crate::vendors;

/// Where the example lies in a site.
const PLACE: &str = "fleets/mac-ci";
/// One Mac for each fleet, which is cleaned and not installed anew when it goes.
const OPTIONS: &[&str] =
    &["--var", "sizes={ macos = 1, runners = 1, builders = 1 }", "--var", "return_method=scrub"];

/// Copies the example with the modules that it uses.
fn copy(site: &Site) {
    fn add(site: &Site, from: &Path, to: &str) {
        for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
            let to = format!("{to}/{}", entry.file_name().display());
            match entry.path().is_dir() {
                true => add(site, &entry.path(), &to),
                false => site.write(&to, &fs::read_to_string(entry.path()).unwrap()),
            }
        }
    }
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
    add(site, &examples.join("modules"), "modules");
    add(site, &examples.join(PLACE), PLACE);
}

/// What a user puts beside the configuration.
fn supply(site: &Site) {
    archive::supply(&site.path().join(PLACE).join("artifacts")).unwrap();
}

/// What is said to `fleet` about an environment.
fn words<'a>(command: &'a str, environment: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["-C", PLACE, command, "--var-file", environment], more].concat()
}

/// The example with a vendor of Macs, a cluster, a tailnet and GitHub, all of the lab.
struct World {
    rented: Rented,
}

impl World {
    fn new(macs: usize) -> World {
        let rented = Rented::of(macs);
        copy(&rented.site);
        supply(&rented.site);
        for server in rented.lab.servers() {
            // What the vendor's image with Xcode has.
            let root = rented.root(&server);
            archive::put(&root, &archive::xcode("26.3")).unwrap();
            for directory in ["Users/m1/Library/LaunchAgents", "Users/m1/Library/Logs"] {
                fs::create_dir_all(root.join(directory)).unwrap();
            }
        }
        let world = World { rented };
        // Where the accounts of agents are, and where the operator of Tailscale is.
        for namespace in ["ci", "tailscale-operator"] {
            world.rented.lab.kubernetes().add_namespace(namespace);
        }
        world
    }

    fn run(&self, command: &str, more: &[&str]) -> Ran {
        self.rented.fleet(&words(command, "staging.vars.hcl", &[OPTIONS, more].concat()))
    }

    /// Runs a command that was saved as a plan before, and no credential stands where somebody could see it: not those that are
    /// there before it, not those that it was given.
    #[track_caller]
    fn run_searched(&self, command: &str) {
        let mut secrets = self.secrets();
        let mut told = String::new();
        let aim: &[&str] = if command == "destroy" { &["--destroy"] } else { &[] };
        let place = self.rented.site.path().join(PLACE);
        let [log, events, saved] =
            ["log", "events", "saved"].map(|name| place.join(name).display().to_string());
        let logged = ["--log", "trace", "--log-file", &log];
        for (command, more) in [
            ("plan", [aim, &["--out", &saved]].concat()),
            (command, vec!["--auto-approve", "--json-into", &events]),
        ] {
            let ran = self.run(command, &[&more[..], &logged].concat());
            told += &format!("{}{}", ran.stdout, ran.stderr);
            ran.ok();
        }
        secrets.extend(self.secrets());
        let search = Search::new(&secrets.iter().map(String::as_str).collect::<Vec<_>>());
        search.check("output", told.as_bytes());
        for path in [log, events, saved] {
            search.check(&path, &fs::read(&path).unwrap());
        }
        for entry in fs::read_dir(place.join(".fleet")).unwrap() {
            search.check("state", &fs::read(entry.unwrap().path()).unwrap());
        }
    }

    /// What nobody may see: the credentials of all services, and the tokens of accounts in the cluster.
    fn secrets(&self) -> BTreeSet<String> {
        let lab = &self.rented.lab;
        let objects = lab.kubernetes().objects();
        let tokens = objects
            .iter()
            .filter_map(|object| object["data"]["token"].as_str())
            .map(|encoded| String::from_utf8(BASE64_STANDARD.decode(encoded).unwrap()).unwrap());
        let scaleway = lab.description().environment["SCW_SECRET_KEY"].clone();
        let own = [lab.kubernetes().admin_token().to_owned(), scaleway];
        vendors::secrets(lab.vendors()).into_iter().chain(tokens).chain(own).collect()
    }

    /// Every service has what it had before, once the cluster has removed what went with something else.
    #[track_caller]
    fn check_views(&self, before: &Json, story: &str) {
        let deadline = Instant::now() + Duration::from_secs(20);
        while self.views() != *before && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(100));
        }
        let after = self.views();
        for (what, before) in before.as_object().unwrap() {
            assert_eq!(after[what], *before, "{story}: {what}");
        }
    }

    /// What the tailnet calls the device of a host.
    fn device(&self, name: &str) -> String {
        let book = self.rented.lab.vendors().tailscale.books.tailnet.book();
        let found = book.devices.values().find(|device| device.hostname == name);
        found.unwrap_or_else(|| panic!("{name} is no device")).node_id.clone()
    }

    /// What each service has, as JSON.
    fn views(&self) -> Json {
        let lab = &self.rented.lab;
        let mut objects: Vec<String> = lab.kubernetes().objects().iter().map(named).collect();
        // Every namespace gets one, some time after it was made.
        objects.retain(|object| !(object.starts_with("ServiceAccount ") && object.ends_with("/default")));
        objects.sort();
        let (tailscale, github) = (&lab.vendors().tailscale, &lab.vendors().github);
        let of_tailnet = |what: &str| {
            let path = ["api", "v2", "tailnet", "-", what];
            get(tailscale.desk.url(), tailnet::API_KEY, &path)[what].clone()
        };
        let keys = of_tailnet("keys");
        let good = keys.as_array().unwrap().iter().filter(|key| key["invalid"] == false);
        let good: Vec<&Json> = good.map(|key| &key["id"]).collect();
        let runners = ["orgs", "example", "actions", "runners"];
        let servers = lab.servers();
        let free = servers.iter().filter(|server| server.name.starts_with("pool-")).count();
        let scaleway = lab.scaleway();
        let networks: Vec<Json> =
            scaleway.private_networks.all().map(|network| json!({ "name": network.name })).collect();
        let attached = scaleway.attachments.all().map(|one| {
            let server = servers.iter().find(|server| server.id == one.server_id);
            json!({ "name": server.map(|server| &server.name) })
        });
        let attached: Vec<Json> = attached.collect();
        json!({
            "kubernetes": objects,
            "devices": of_tailnet("devices"),
            "keys": good,
            "runners": get(github.desk.url(), github::TOKEN, &runners)["runners"],
            "free": free,
            "networks": networks,
            "attached": attached,
        })
    }

    fn snapshots(&self) -> BTreeMap<String, Snapshot> {
        let rented = &self.rented;
        let snapshot = |server: Server| {
            let live = rented.inspect(&server.id)["machine"]["inside"]["live"].clone();
            let by_hand = |command: &str| rented.by_hand(&server.id, command);
            (server.id.clone(), Snapshot::of(&rented.root(&server), &by_hand, live).without(&STAYS))
        };
        rented.lab.servers().into_iter().map(snapshot).collect()
    }
}

/// Which object it is.
fn named(object: &Json) -> String {
    let of = |name: &str| object["metadata"][name].as_str().unwrap_or_default();
    format!("{} {}/{}", object["kind"].as_str().unwrap_or_default(), of("namespace"), of("name"))
}

/// What an API answers to somebody else.
fn get(url: &str, token: &str, path: &[&str]) -> Json {
    let options = http::Options {
        name: "somebody else",
        url,
        header: "authorization",
        credential: &Secret(format!("Bearer {token}")),
        headers: &[],
        request_id: "x-request-id",
        timeout: Duration::from_secs(10),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let answer =
        runtime.block_on(async { http::connect(&options).unwrap().0.get("looking", path, &[]).await });
    answer.unwrap().json().unwrap()
}

#[test]
fn the_example_is_valid_in_every_environment() {
    let site = Site::empty();
    copy(&site);
    supply(&site);
    fs::create_dir(site.path().join(".ssh")).unwrap();
    let mut keygen = Command::new("ssh-keygen");
    keygen.args(["-q", "-t", "ed25519", "-N", "", "-C", "of-somebody", "-f", ".ssh/fleet_ed25519"]);
    assert!(keygen.current_dir(site.path()).status().unwrap().success());
    site.fleet(["fmt", "--check", "--recursive"]).ok();
    for environment in ["staging.vars.hcl", "canary.vars.hcl", "production.vars.hcl"] {
        let said = site.fleet_words(&words("validate", environment, &[])).ok();
        assert_eq!(said, "The configuration is valid.\n", "{environment}");
        let without = words("validate", environment, &["--var", "reaches={}"]);
        let said = site.fleet_words(&without).ok();
        assert_eq!(said, "The configuration is valid.\n", "{environment} without a private network");
    }
    let read_me = site.read(&format!("{PLACE}/README.md"));
    for file in Regex::new(r"\| `([^`]+)` \|").unwrap().captures_iter(&read_me) {
        assert!(site.path().join(PLACE).join(&file[1]).exists(), "{}", &file[1]);
    }
}

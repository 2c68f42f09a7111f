//! Macs of the lab: every kind's example, on a Mac that knows its own root.

use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use fleet_cli::Exit;
use fleet_engine::schema::{Catalog, Place, Sort};
use fleet_lab::clock::{Clock, Pace, Time};
use fleet_lab::mac::{Mac, Macs};
use fleet_lab::machine::{Blueprint, Install, Machine};
use regex::Regex;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::desk::MAIN;
use crate::support::{Site, providers};

const KEY: &str = "secret \"key\" {\n  from = \"file:key\"\n}\n";
/// There is no `root` in it: a Mac of the lab says itself where its paths lie.
const CONNECTION: &str = "connection \"ssh\" {
    config   = \"${abspath(path.root)}/ssh_config\"
    identity = secret.key
  }
";

/// Macs that are on, and a directory with a configuration for them.
struct Minis {
    site: Site,
    macs: Vec<Arc<Mac>>,
    // What they need to go on.
    runtime: Runtime,
    _factory: Macs,
    _directory: TempDir,
}

impl Minis {
    fn of(count: u8) -> Minis {
        let directory = tempfile::Builder::new().prefix("lab-").tempdir().unwrap();
        let site = Site::empty();
        let key = site.path().join("key");
        let mut keygen = Command::new("ssh-keygen");
        keygen.args(["-q", "-t", "ed25519", "-N", "", "-C", "test", "-f"]).arg(&key);
        assert!(keygen.status().unwrap().success());
        let runtime = Runtime::new().unwrap();
        let factory =
            Macs::new(Path::new(env!("CARGO_BIN_EXE_fleet")), &directory.path().join("tools")).unwrap();
        // What takes a minute there is over in a moment here.
        let clock = Clock::new(Pace::Times(200.0), Time::of_this_machine());
        let driven = clock.clone();
        runtime.spawn(async move { driven.drive().await });
        let mut config = String::new();
        let macs: Vec<Arc<Mac>> = (0..count)
            .map(|number| {
                let ip = Ipv4Addr::new(10, 0, 0, 11 + number);
                let blueprint = Blueprint {
                    id: format!("mac-{number}"),
                    model: "M2-L".into(),
                    ip,
                    directory: directory.path().join(number.to_string()),
                    seed: number.into(),
                    clock: clock.clone(),
                };
                let mac = runtime.block_on(async {
                    let mac = factory.build_mac(blueprint).await.unwrap();
                    mac.install(install(&site, "26.3")).await.unwrap();
                    mac.boot(None).await.unwrap();
                    mac
                });
                config += &format!("Host {ip}\n  HostName 127.0.0.1\n  User m1\n  Port {}\n", mac.ssh_port());
                mac
            })
            .collect();
        site.write("ssh_config", &config);
        Minis { site, macs, runtime, _factory: factory, _directory: directory }
    }

    /// Where something lies on the first.
    fn path(&self, path: &str) -> PathBuf {
        self.macs[0].root().join(path.trim_start_matches('/'))
    }

    fn apply(&self) -> String {
        self.site.fleet(["apply", "--auto-approve"]).ok()
    }

    #[track_caller]
    fn check_converged(&self, about: &str) {
        let planned = self.site.fleet(["plan"]).ok();
        assert!(planned.contains("No changes."), "{about}: {planned}");
    }
}

/// An example, for a Mac of the lab.
fn here(example: &str) -> String {
    let from = "connection \"ssh\" {}";
    assert!(example.contains(from), "{example}");
    let digest = Regex::new("source_sha256 = \".*\"").unwrap();
    let example = digest.replace_all(example, "source_sha256 = filesha256(\"sent.tar.gz\")");
    format!("{KEY}\n{}", example.replace(from, CONNECTION))
}

/// The kinds that live on hosts, with their examples.
fn examples(sort: Sort) -> Vec<(String, String)> {
    let catalog = providers(PathBuf::new());
    let on_hosts = catalog.names(sort).into_iter().filter_map(|name| {
        let entry = catalog.find(sort, name)?;
        let (_, rest) = entry.schema.doc.split_once("```hcl\n")?;
        (entry.place == Place::Host).then(|| (name.to_owned(), rest.split_once("```").unwrap().0.to_owned()))
    });
    on_hosts.collect()
}

/// What an example sends, and what it finds on a Mac that somebody has set up.
fn prepare(minis: &Minis, example: &str) {
    let site = minis.site.path();
    minis.site.write("app/bin/app", "#!/bin/sh\n");
    let mut tar = Command::new("tar");
    assert!(tar.args(["-czf", "sent.tar.gz", "app"]).current_dir(site).status().unwrap().success());
    let argument = |name: &str| Regex::new(&format!("(?m)^ *{name} *= \"(.*)\"$")).unwrap();
    for path in argument("path").captures_iter(example) {
        fs::create_dir_all(minis.path(&path[1]).parent().unwrap()).unwrap();
        if example.contains("host_line") {
            fs::write(minis.path(&path[1]), "PermitEmptyPasswords no\n").unwrap();
        }
    }
    for source in argument("source").captures_iter(example) {
        let source = site.join(&source[1]);
        fs::create_dir_all(source.parent().unwrap()).unwrap();
        fs::copy(site.join("sent.tar.gz"), source).unwrap();
    }
}

#[test]
fn examples_converge_on_a_mac() {
    let all: Vec<(String, String)> = [examples(Sort::Resource), examples(Sort::Data)].concat();
    assert!(all.len() >= 9, "{all:?}");
    for (kind, example) in all {
        let minis = Minis::of(1);
        prepare(&minis, &example);
        let rule = minis.path("/etc/sudoers.d/m1-nopasswd");
        fs::write(rule, "m1 ALL=(ALL) NOPASSWD: ALL\n").unwrap();
        minis.site.write(MAIN, &here(&example));
        let planned = minis.site.fleet(["plan"]).ok();
        let root = minis.macs[0].root().display().to_string();
        assert!(planned.contains(&format!("lie under {root}.")), "{kind}: {planned}");
        assert!(!minis.path("/var/tmp/fleet").exists(), "{kind}: a plan changed something");
        minis.apply();
        assert!(minis.path("/var/tmp/fleet/ledger").exists(), "{kind}");
        minis.check_converged(&kind);
        minis.site.fleet(["destroy", "--auto-approve"]).ok();
        assert!(!minis.path("/var/tmp/fleet/ledger").exists(), "{kind}");
    }
}

#[test]
fn a_fleet_of_macs_converges_and_is_installed_anew() {
    let minis = Minis::of(6);
    let hosts: String =
        (0..6).map(|at| format!("  host \"m{at}\" {{ address = \"10.0.0.{}\" }}\n", 11 + at)).collect();
    let file =
        "resource \"host_file\" \"here\" {\n    path    = \"/Users/m1/here\"\n    content = host.key\n  }";
    let fleet = format!("pool = pool.desk\n  size = 6\n  hostname = host.key\n  {CONNECTION}\n  {file}");
    let text = format!("{KEY}\npool \"static\" \"desk\" {{\n{hosts}}}\n\nfleet \"desk\" {{\n  {fleet}\n}}\n");
    minis.site.write(MAIN, &text);
    minis.apply();
    minis.check_converged("six");
    for mac in &minis.macs {
        assert!(mac.root().join("Users/m1/here").exists());
    }
    let mac = &minis.macs[2];
    minis.runtime.block_on(async {
        mac.install(install(&minis.site, "15.6")).await.unwrap();
        mac.boot(None).await.unwrap();
    });
    // Another key means another host, until somebody says that it is meant.
    let refused = minis.site.fleet(["plan"]);
    assert!(refused.exit == Exit::Failed && refused.stdout.contains("--accept-host-key"), "{refused:?}");
    let slot = slot_of(&refused.stdout);
    minis.site.fleet(["apply", "--auto-approve", "--accept-host-key", &slot]).ok();
    assert!(mac.root().join("Users/m1/here").exists());
    minis.check_converged("installed anew");
}

/// The slot that a plan says to accept the new key of.
fn slot_of(plan: &str) -> String {
    let named = Regex::new(r"--accept-host-key '?([^\s'`]+)").unwrap();
    named.captures(plan).unwrap_or_else(|| panic!("{plan}"))[1].to_owned()
}

/// What an installation leaves: everybody comes in who has the key of the site.
fn install(site: &Site, version: &str) -> Install {
    Install {
        os_name: format!("macos-{version}"),
        os_version: version.into(),
        user: "m1".into(),
        password: "pass word".into(),
        keys: vec![site.read("key.pub").trim().to_owned()],
    }
}

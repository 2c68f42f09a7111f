//! `examples/fleets/mac-ci`: three fleets that share one pool of rented Macs.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use fleet_lab::mac::archive;
use fleet_lab::runners::Purpose;
use fleet_lab::scaleway::Server;
use regex::Regex;

use super::builders::URL;
use super::full::STAYS;
use super::minis::Snapshot;
use super::rented::Rented;
use crate::support::Site;

/// Where the example lies in a site.
const PLACE: &str = "fleets/mac-ci";
/// One Mac for each fleet.
const SIZES: &str = "sizes={ macos = 1, runners = 1, builders = 1 }";

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
fn supply(site: &Site, token: &str) {
    archive::supply(&site.path().join(PLACE).join("artifacts")).unwrap();
    site.write(&format!("{PLACE}/secrets/tailnet-key"), "tskey-auth-lab");
    site.write(&format!("{PLACE}/secrets/kubeconfig"), "apiVersion: v1\nkind: Config\n");
    site.write(&format!("{PLACE}/secrets/github-token"), token);
}

/// What is said to `fleet` about an environment.
fn words<'a>(command: &'a str, environment: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["-C", PLACE, command, "--var-file", environment], more].concat()
}

fn snapshots(rented: &Rented) -> BTreeMap<String, Snapshot> {
    let snapshot = |server: Server| {
        let live = rented.inspect(&server.id)["machine"]["inside"]["live"].clone();
        let by_hand = |command: &str| rented.by_hand(&server.id, command);
        (server.id.clone(), Snapshot::of(&rented.root(&server), &by_hand, live).without(&STAYS))
    };
    rented.lab.servers().into_iter().map(snapshot).collect()
}

#[test]
fn the_example_is_valid_in_every_environment() {
    let site = Site::empty();
    copy(&site);
    supply(&site, "a token");
    fs::create_dir(site.path().join(".ssh")).unwrap();
    let mut keygen = Command::new("ssh-keygen");
    keygen.args(["-q", "-t", "ed25519", "-N", "", "-C", "of-somebody", "-f", ".ssh/fleet_ed25519"]);
    assert!(keygen.current_dir(site.path()).status().unwrap().success());
    site.fleet(["fmt", "--check", "--recursive"]).ok();
    for environment in ["staging.vars.hcl", "canary.vars.hcl", "production.vars.hcl"] {
        let said = site.fleet_words(&words("validate", environment, &[])).ok();
        assert_eq!(said, "The configuration is valid.\n", "{environment}");
    }
    let read_me = site.read(&format!("{PLACE}/README.md"));
    for file in Regex::new(r"\| `([^`]+)` \|").unwrap().captures_iter(&read_me) {
        assert!(site.path().join(PLACE).join(&file[1]).exists(), "{}", &file[1]);
    }
}

#[test]
fn three_fleets_come_out_of_one_pool_and_go_back() {
    let rented = Rented::of(4);
    let token = rented.runners().token(URL, Purpose::Register, rented.lab.clock().time()).token;
    copy(&rented.site);
    supply(&rented.site, &token);
    for server in rented.lab.servers() {
        // What the vendor's image with Xcode has.
        let root = rented.root(&server);
        archive::put(&root, &archive::xcode("26.3")).unwrap();
        for directory in ["Users/m1/Library/LaunchAgents", "Users/m1/Library/Logs"] {
            fs::create_dir_all(root.join(directory)).unwrap();
        }
    }
    let before = snapshots(&rented);
    let run = |command, more: &[&str]| {
        let more = [&["--var", SIZES, "--var", "return_method=scrub"], more].concat();
        rented.fleet(&words(command, "staging.vars.hcl", &more))
    };
    let planned = run("plan", &[]).ok();
    assert!(planned.contains("fleet.macos[0]") && planned.contains("fleet.builders[0]"), "{planned}");
    assert_eq!(snapshots(&rented), before, "a plan changes nothing");
    run("apply", &["--auto-approve"]).ok();
    let again = run("plan", &[]).ok();
    assert!(again.starts_with("No changes."), "{again}");

    let names = ["staging-macos-0", "staging-runner-0", "staging-builder-0"];
    for name in names {
        let said = |command| rented.as_root(name, command).ok();
        assert_eq!(said("hostname"), format!("{name}\n"));
        let service = said("launchctl print system/dev.fleet.tart-kubelet");
        assert!(service.contains("state = running"), "{name}: {service}");
        assert!(service.contains(&format!("--node-name={name}")), "{name}: {service}");
        assert!(service.contains("--provider-id=scw-applesilicon://"), "{name}: {service}");
        assert_eq!(service.contains("--disable-vm-gc"), name.contains("builder"), "{name}: {service}");
        assert_eq!(service.contains("--runner-cache-root=/Volumes/runner-cache"), name.contains("runner-0"));
        assert!(service.contains("--node-ip-source=tailscale"), "{name}: {service}");
        let address = said("tailscale ip -4");
        let listens = said("lsof -nP -iTCP:9100 -sTCP:LISTEN");
        assert!(listens.contains(&format!("{}:9100", address.trim())), "{name}: {listens}");
        assert!(said("launchctl print system/dev.fleet.log-shipper").contains("state = running"), "{name}");
        assert!(said("launchctl print gui/501").contains("session = Aqua"), "{name}");
        // VMs reach others, but nobody in a private network.
        assert_eq!(rented.as_root(name, "lab-packet out en0 tcp 192.168.64.5 10.0.0.1:443").status, Some(1));
        assert_eq!(
            rented.as_root(name, "lab-packet out en0 tcp 192.168.64.5 10.128.0.1:4000").status,
            Some(0)
        );
    }
    let [runner] = &rented.runners().list(URL)[..] else { panic!("{:?}", rented.runners().list(URL)) };
    assert!(runner.online && !runner.token_was_visible && runner.name == "staging-builder-0", "{runner:?}");

    run("destroy", &["--auto-approve"]).ok();
    let servers = rented.lab.servers();
    assert!(servers.iter().all(|server| server.name.starts_with("pool-")), "the pool is full again");
    for server in servers {
        assert!(!rented.root(&server).join("var/tmp/fleet/ledger").exists(), "{}", server.name);
    }
    // What macOS reads when it starts counts until it is started anew; and nothing comes back then.
    rented.lab.servers().iter().for_each(|server| rented.restart(&server.id));
    for (id, after) in snapshots(&rented) {
        after.check_same(&before[&id], &id);
    }
}

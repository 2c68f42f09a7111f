//! Macs of the lab: every kind's example, on a Mac that knows its own root.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use fleet_cli::Exit;
use fleet_engine::schema::{Catalog, Place, Sort};
use fleet_lab::clock::Pace;
use fleet_lab::mac::{archive, sign};
use fleet_lab::machine::Machine as _;
use regex::Regex;

use crate::macos::minis::{CONNECTION, KEY, MAIN};
use crate::macos::{Minis, builders};
use crate::support::providers;

/// An example, for a Mac of the lab.
fn here(example: &str) -> String {
    let from = "connection \"ssh\" {}";
    assert!(example.contains(from), "{example}");
    let digest = Regex::new("(?m)^( *source *= \"(.*)\"\n *source_sha256) = \".*\"").unwrap();
    let example = digest.replace_all(example, "$1 = filesha256(\"$2\")");
    format!("{KEY}\n{}", example.replace(from, CONNECTION))
}

/// The kinds that live on hosts, with their examples, on which the laws are tried.
pub(crate) fn examples(sort: Sort) -> Vec<(String, String)> {
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
        match example.contains("macos_") {
            _ if source.ends_with("tailscale.tar.gz") => {
                builders::pack(&minis.site, "build/tailscale.tar.gz", &archive::tailscale("1.96.5"));
            }
            true => fs::write(source, sign(b"#!lab-program", "a.out")).unwrap(),
            false => drop(fs::copy(site.join("sent.tar.gz"), source).unwrap()),
        }
    }
    if ["macos_tart", "macos_brew", "macos_xcode", "github_runner"]
        .iter()
        .any(|kind| example.contains(&format!("resource \"{kind}\"")))
    {
        builders::prepare(minis);
        if example.contains("var.token") {
            let token = minis.site.read("token");
            minis.site.write("fleet.vars.hcl", &format!("token = \"{token}\"\n"));
        }
    }
}

/// Why a Mac is not as it was once an example is gone, and what of it is.
enum Differs {
    /// What lies below these stays, for a reason.
    Stays(&'static [&'static str], &'static str),
    /// What is there counts once the Mac was started anew.
    UntilItIsStarted,
}

const DIFFERS: &[(&str, Differs)] = &[
    (
        "host_command",
        Differs::Stays(
            &["Library/Preferences/com.apple.PowerManagement.plist"],
            "the example has no `destroy`, and without one everything is left as it is",
        ),
    ),
    ("macos_launchd_service", Differs::Stays(&["private/var/log/agent.log"], LOG)),
    ("macos_local_network", Differs::UntilItIsStarted),
    (
        "macos_node_exporter",
        Differs::Stays(&["private/var/log/fleet-node-exporter.log", "private/var/log/tailscaled.log"], LOG),
    ),
    (
        "macos_sudoers",
        Differs::Stays(
            &["private/etc/sudoers.d/m1-nopasswd"],
            "it is the very rule by which the test becomes root, and who had it made took it over",
        ),
    ),
    (
        "macos_xcode",
        Differs::Stays(
            &["Library/Preferences/com.apple.dt.Xcode.plist"],
            "nobody takes back that a licence was accepted",
        ),
    ),
    ("tailscale_device", Differs::Stays(&["private/var/log/tailscaled.log"], LOG)),
];

const LOG: &str = "what a program wrote stays";

/// How many examples are tried at once: most of the time they wait.
const AT_ONCE: usize = 3;

#[test]
fn examples_converge_on_a_mac_and_leave_it_as_it_was() {
    let all: Vec<(String, String)> = [examples(Sort::Resource), examples(Sort::Data)].concat();
    assert!(all.len() >= 9, "{all:?}");
    for (kind, _) in DIFFERS {
        assert!(all.iter().any(|(known, _)| known == kind), "{kind} is no kind on hosts");
    }
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some((kind, example)) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
                    check_example(kind, example);
                }
            });
        }
    });
}

fn check_example(kind: &str, example: &str) {
    // A Mac that is started anew waits for nobody who sleeps.
    let is_started_anew = example.contains("host_reboot");
    let minis = Minis::paced(1, if is_started_anew { Pace::Times(200.0) } else { Pace::Skipping });
    minis.let_sudo();
    prepare(&minis, example);
    minis.site.write(MAIN, &here(example));
    let before = minis.snapshot();
    let planned = minis.site.fleet(["plan"]).ok();
    let root = minis.macs[0].root().display().to_string();
    assert!(planned.contains(&format!("lie under {root}.")), "{kind}: {planned}");
    assert!(!minis.path("/var/tmp/fleet").exists(), "{kind}: a plan changed something");
    minis.check_same(&before, &format!("{kind}: a plan changed something"));
    minis.apply();
    assert!(minis.path("/var/tmp/fleet/ledger").exists(), "{kind}");
    minis.check_converged(kind);
    minis.site.fleet(["destroy", "--auto-approve"]).ok();
    assert!(!minis.path("/var/tmp/fleet/ledger").exists(), "{kind}");
    assert_eq!(minis.destroy(), "No changes.\n", "{kind}: destroyed twice");
    let differs = DIFFERS.iter().filter(|(known, _)| *known == kind).map(|(_, differs)| differs);
    let mut stays = Vec::new();
    for differs in differs {
        match differs {
            Differs::Stays(below, why) => {
                assert!(!why.is_empty());
                stays.extend_from_slice(below);
            }
            Differs::UntilItIsStarted => minis.wait(async {
                minis.macs[0].halt().await.unwrap();
                minis.macs[0].boot(None).await.unwrap();
            }),
        }
    }
    minis.snapshot().without(&stays).check_same(&before.without(&stays), &format!("{kind}: destroyed"));
}

#[test]
fn a_fleet_of_macs_converges_and_is_installed_anew() {
    let minis = Minis::of(6);
    minis.configure(
        "  resource \"host_file\" \"here\" {\n    path    = \"/Users/m1/here\"\n    content = host.key\n  }",
    );
    minis.apply();
    minis.check_converged("six");
    for mac in &minis.macs {
        assert!(mac.root().join("Users/m1/here").exists());
    }
    let mac = &minis.macs[2];
    minis.install_anew(2, "15.6");
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

//! A Mac with everything on it: the baseline, Tart, the tailnet, a node of Kubernetes, a builder of images, and what tells
//! others how it is. What holds for one thing at a time must hold for all of them together.
//!
//! 1. every kind on Macs is there; a plan of them is one round trip, and both shells are asked at once
//! 2. destroy leaves the Mac as it was
//! 3. whatever step is interrupted, the next run does what it left: [`super::interrupted`]

use std::collections::BTreeSet;

use fleet_engine::schema::Sort;
use fleet_lab::clock::Pace;
use fleet_lab::mac::archive;

use super::Minis;
use super::builders::{self, copy_module};
use super::minis::PASSWORD;
use crate::hosts::lab::examples;
use crate::kills::tell;

/// The providers whose kinds are on Macs.
const PROVIDERS: [&str; 3] = ["macos_", "tailscale_", "github_"];

/// The modules of a Mac. `mac-node` puts them together with what clusters know of it: that is for `mac_ci`.
const MODULES: [&str; 6] =
    ["mac-baseline", "ssh-reachability", "tart-kubelet", "github-runner", "node-exporter", "log-shipper"];

/// What is on the Mac.
pub(super) const EVERYTHING: &str = "  module \"baseline\" {
    source      = \"./modules/mac-baseline\"
    name        = \"mini\"
    password    = sensitive(\"pass word\")
    reaches     = { services = \"10.128.0.0/12\", names = \"10.128.0.10\", private_network = \"172.16.0.0/22\" }
    vlan        = 1234
    cache       = { name = \"runner-cache\", quota_gib = 40 }
    ssh_allowed = [\"198.51.100.0/24\"]
    reboot      = false
  }

  resource \"macos_tart\" \"this\" {
    version       = \"2.32.1\"
    source        = \"artifacts/tart.tar.gz\"
    source_sha256 = filesha256(\"artifacts/tart.tar.gz\")
  }

  resource \"tailscale_device\" \"this\" {
    source        = \"artifacts/tailscale.tar.gz\"
    source_sha256 = filesha256(\"artifacts/tailscale.tar.gz\")
    hostname      = \"mini\"
    tags          = [\"tag:ci\"]
    auth_key      = sensitive(\"tskey-auth-lab\")
  }

  resource \"macos_resolver\" \"tailnet\" {
    domain      = \"ts.net\"
    nameservers = [\"100.100.100.100\"]
  }

  resource \"macos_defaults\" \"guest\" {
    domain = \"/Library/Preferences/com.apple.loginwindow\"
    key    = \"GuestEnabled\"
    value  = false
    sudo   = true
  }

  module \"node\" {
    source               = \"./modules/tart-kubelet\"
    node_name            = tailscale_device.this.hostname
    node_ip_source       = \"tailscale\"
    binary               = \"artifacts/tart-kubelet\"
    binary_sha256        = filesha256(\"artifacts/tart-kubelet\")
    kubeconfig           = secret.token
    provider_id          = \"scaleway://fr-par-1/1\"
    disable_vm_gc        = true
    runner_cache_root    = module.baseline.cache
    cache_volume_cap_gib = 28
    cache_volume_cas_gib = 16
  }

  module \"builder\" {
    source      = \"./modules/github-runner\"
    name        = \"mini\"
    url         = \"https://github.com/example\"
    token       = secret.token
    runner      = { version = \"2.336.0\", source = \"artifacts/actions-runner-osx-arm64.tar.gz\", sha256 = filesha256(\"artifacts/actions-runner-osx-arm64.tar.gz\") }
    homebrew    = { source = \"artifacts/homebrew.tar.gz\", sha256 = filesha256(\"artifacts/homebrew.tar.gz\") }
    build_cache = { path = \"/opt/build-cache\", variable = \"BUILD_CACHE\" }
  }

  module \"exporter\" {
    source  = \"./modules/node-exporter\"
    program = \"artifacts/node_exporter\"
  }

  module \"logs\" {
    source     = \"./modules/log-shipper\"
    program    = \"artifacts/log-shipper\"
    url        = \"http://loki.tail4c7e.ts.net:3100/loki/api/v1/push\"
    files      = { tart-kubelet = \"/var/log/tart-kubelet.log\" }
    instance   = \"mini\"
    depends_on = [module.node]
  }
";

/// What stays when everything goes: logs of services, a licence that was accepted, a directory around others, and the file
/// that a line was added to.
pub(super) const STAYS: [&str; 4] = [
    "private/var/log/*.log",
    "Library/Preferences/com.apple.dt.Xcode.plist",
    "private/var/lib",
    "private/etc/zshenv",
];

/// What steps have beside things on their way, and a run that ends in their middle leaves there: sent, unpacked, half written.
pub(super) const ON_THE_WAY: [&str; 17] = [
    "/Library/LaunchDaemons/.dev.fleet.tart-kubelet.plist.fleet-new",
    "/Library/LaunchDaemons/.dev.fleet.pf.ci.vms.plist.fleet-new",
    "/etc/pf.anchors/.ci.vms.fleet-new",
    "/etc/pf.anchors/.ci.vms.sh.fleet-new",
    "/usr/local/bin/.tart-kubelet.fleet-unsigned",
    "/usr/local/bin/..tart-kubelet.fleet-unsigned.fleet-new",
    "/usr/local/bin/.tart-kubelet.fleet-signed.new",
    "/usr/local/lib/.tart.app.fleet-sent/Contents/Info.plist",
    "/usr/local/lib/..tart.app.fleet-sent.fleet-new/Contents/Info.plist",
    "/opt/.actions-runner.fleet-sent/config.sh",
    "/opt/..actions-runner.fleet-sent.fleet-new/config.sh",
    "/opt/actions-runner/.fleet-old/.runner",
    "/opt/.homebrew.fleet-sent/bin/brew",
    "/opt/..homebrew.fleet-sent.fleet-new/bin/brew",
    "/private/var/db/fleet/.hostname.new",
    "/private/var/db/fleet/.power.new",
    "/etc/resolver/.ts.net.fleet-new",
];

/// A Mac on which nothing of it is there yet.
pub(super) fn bare() -> Minis {
    let minis = Minis::paced(1, Pace::Skipping);
    minis.site.write("sudo", PASSWORD);
    builders::supply(&minis);
    builders::beside_github(&minis);
    for directory in ["usr/local/bin", "usr/local/lib", "usr/local"] {
        std::fs::remove_dir(minis.path(directory)).unwrap();
    }
    MODULES.iter().for_each(|module| copy_module(&minis.site, module));
    archive::supply(&minis.site.path().join("artifacts")).unwrap();
    minis.configure_with_password(EVERYTHING);
    minis.hasten();
    minis
}

fn count(minis: &Minis, name: &str) -> u64 {
    minis.inspect()[name].as_u64().unwrap()
}

/// Every kind on Macs is among these things.
fn check_complete<'a>(things: impl Iterator<Item = &'a String>) {
    let there: BTreeSet<&str> = things.filter_map(|address| address.split('.').rev().nth(1)).collect();
    let kinds = examples(Sort::Resource).into_iter().map(|(kind, _)| kind);
    let forgotten: Vec<String> = kinds
        .filter(|kind| PROVIDERS.iter().any(|provider| kind.starts_with(provider)))
        .filter(|kind| !there.contains(&**kind))
        .collect();
    assert_eq!(forgotten, [] as [String; 0], "{there:?}");
}

#[test]
fn a_plan_of_everything_is_one_round_trip() {
    let minis = bare();
    let things = minis.steps();
    check_complete(things.keys());
    let n_things = things.len();
    assert!(n_things >= 40, "{n_things}");
    minis.apply();
    let cost = |work: &dyn Fn()| {
        let names = ["logins", "commands_over_ssh", "turns_over_ssh"];
        let before = names.map(|name| count(&minis, name));
        work();
        let after = names.map(|name| count(&minis, name));
        [0, 1, 2].map(|at| after[at] - before[at])
    };
    let plan = cost(&|| minis.check_converged("all of it"));
    tell(&format!("{n_things} things on one Mac: logins, commands and turns of a plan: {plan:?}"));
    // One connection; a shell of the user and one of root, each of which is asked once.
    assert_eq!(plan, [1, 2, 2]);
}

#[test]
fn both_shells_are_asked_at_once() {
    // Whoever waited for the answer of one before asking the other would wait for ever.
    for (user, root) in [("waits", "goes"), ("goes", "waits")] {
        let minis = Minis::free();
        let read = |what: &str| match what {
            "goes" => ": >\"$FLEET_ROOT/private/tmp/asked\"",
            _ => "until [ -e \"$FLEET_ROOT/private/tmp/asked\" ]; do sleep 1; done",
        };
        minis.configure(&format!(
            "  resource \"host_command\" \"user\" {{\n    read  = {:?}\n    apply = \":\"\n  }}\n
  resource \"host_command\" \"root\" {{\n    read  = {:?}\n    apply = \":\"\n    sudo  = true\n  }}\n",
            read(user),
            read(root)
        ));
        minis.plan();
    }
}

#[test]
fn nothing_is_left_of_everything() {
    let minis = bare();
    let before = minis.snapshot();
    minis.apply();
    minis.check_converged("made");
    minis.destroy();
    minis.snapshot().without(&STAYS).check_same(&before.clone().without(&STAYS), "destroyed");
    assert_eq!(minis.read("/etc/zshenv"), "");
    // The tailnet goes on listing a device that logged out, until somebody removes it there.
    assert!(minis.tailnet().remove("mini"));
    minis.apply();
    for left in ON_THE_WAY {
        minis.put(left, "left", 0o600);
    }
    minis.destroy();
    minis.snapshot().without(&STAYS).check_same(&before.without(&STAYS), "destroyed with what a crash left");
}

//! Macs that build: Tart, Homebrew, Xcode, runners of GitHub Actions, and the modules that put them together.

use std::fs;
use std::path::Path;

use fleet_lab::mac::archive::{self, Packed};
use fleet_lab::mac::sign;
use fleet_lab::runners::Purpose;
use fleet_providers::cure;

use super::Minis;
use crate::laws::rows::{OURS, WHERE, check_complete};
use crate::support::Site;

/// Where runners are registered.
pub(crate) const URL: &str = "https://github.com/example";
/// The secrets of runners: one that GitHub takes, and one that it does not.
const SECRETS: &str =
    "secret \"token\" {\n  from = \"file:token\"\n}\n\nsecret \"stale\" {\n  from = \"file:stale\"\n}\n";
const LABEL: &str = "actions.runner.example.mini";
const DIRECTORY: &str = "/opt/actions-runner";

/// Makes an archive beside the configuration.
pub(crate) fn pack(site: &Site, name: &str, files: &[Packed]) {
    archive::pack(&site.path().join(name), files).unwrap();
}

/// What kinds here find beside the configuration and on the Mac: archives, tokens, Xcode, somebody at the screen.
pub(crate) fn prepare(minis: &Minis) {
    supply(minis);
    minis.wait(async { minis.macs[0].begin_session(501) });
}

/// GitHub answers, and the configuration knows where and by which token.
pub(crate) fn beside_github(minis: &Minis) {
    let vendors = minis.vendors();
    minis.site.write("github-token", fleet_lab::github::TOKEN);
    minis.site.write(
        "github.fleet.hcl",
        &format!(
            "secret \"github\" {{\n  from = \"file:github-token\"\n}}\n\nprovider \"github\" {{\n  api_url = \"{}\"\n  token   = secret.github\n}}\n",
            vendors.github.desk.url()
        ),
    );
}

/// The same without anybody at the screen.
pub(crate) fn supply(minis: &Minis) {
    pack(&minis.site, "tart.tar.gz", &archive::tart("2.32.1"));
    pack(&minis.site, "newer-tart.tar.gz", &archive::tart("2.33.0"));
    pack(&minis.site, "homebrew.tar.gz", &archive::homebrew());
    pack(&minis.site, "actions-runner-osx-arm64.tar.gz", &archive::runner("2.336.0"));
    pack(&minis.site, "newer-runner.tar.gz", &archive::runner("2.337.0"));
    let token = minis.runners().token(URL, Purpose::Register, minis.clock.time());
    minis.site.write("token", &token.token);
    minis.site.write("stale", "ASTALETOKEN");
    minis.site.write("runners.fleet.hcl", SECRETS);
    archive::put(minis.macs[0].root(), &archive::xcode("26.3")).unwrap();
    for directory in
        ["/usr/local/bin", "/usr/local/lib", "/Users/m1/Library/LaunchAgents", "/Users/m1/Library/Logs"]
    {
        fs::create_dir_all(minis.path(directory)).unwrap();
    }
}

/// Copies a module from the examples.
pub(crate) fn copy_module(site: &Site, name: &str) {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/modules").join(name);
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        // Its scripts may hold cures, which are taken away like others.
        let text = cure::script(&fs::read_to_string(entry.path()).unwrap());
        site.write(&format!("modules/{name}/{}", entry.file_name().display()), &text);
    }
}

pub(crate) fn ready() -> Minis {
    let minis = Minis::free();
    prepare(&minis);
    minis
}

fn tart(version: &str, source: &str) -> String {
    format!(
        "  resource \"macos_tart\" \"this\" {{
    version       = \"{version}\"
    source        = \"{source}\"
    source_sha256 = filesha256(\"{source}\")
  }}
"
    )
}

fn runner(more: &str) -> String {
    format!(
        "  resource \"github_runner\" \"this\" {{
    user          = \"m1\"
    url           = \"{URL}\"
    name          = \"mini\"
    source        = \"actions-runner-osx-arm64.tar.gz\"
    source_sha256 = filesha256(\"actions-runner-osx-arm64.tar.gz\")
    {more}  }}
"
    )
}

const RUNNER: &str = "labels  = [\"bare-metal\", \"builder\"]
    version = \"2.336.0\"
    token   = secret.token
";

#[test]
fn tart_is_a_bundle_behind_a_wrapper() {
    let minis = ready();
    let before = minis.snapshot();
    minis.configure(&tart("2.32.1", "tart.tar.gz"));
    minis.apply();
    minis.check_converged("applied");
    assert_eq!(minis.by_hand("tart --version").ok(), "2.32.1\n");
    let bundle = "\"$FLEET_ROOT/usr/local/lib/tart.app/Contents";
    let changes = [
        (
            "printf \"#!/bin/sh\\nexec /somewhere/else\\n\" >\"$FLEET_ROOT/usr/local/bin/tart\"".to_owned(),
            "update trouble",
        ),
        (format!("echo x >{bundle}/Info.plist\""), "update source_sha256"),
        (
            format!(
                "sed -i s/2.32.1/2.30.0/ {bundle}/MacOS/tart\" && codesign --force --sign - --identifier tart {bundle}/MacOS/tart\""
            ),
            "update source_sha256 version",
        ),
    ];
    check_complete("macos_tart", changes.iter().map(|(_, row)| *row), &[(&["source", "wait"], OURS)]);
    for (change, expected) in &changes {
        minis.as_root(change).ok();
        minis.check_plan(&[("macos_tart.this", expected)]);
        minis.apply();
        minis.check_converged(change);
    }
    minis.configure(&tart("2.33.0", "newer-tart.tar.gz"));
    minis.check_plan(&[("macos_tart.this", "update source source_sha256 version")]);
    minis.apply();
    minis.check_converged("renewed");
    // What it says of itself must be what is wanted.
    minis.configure(&tart("2.34.0", "newer-tart.tar.gz"));
    let failed = minis.fleet(&["apply", "--auto-approve"]).failed();
    assert!(failed.contains("this Tart says that it is 2.33.0, and 2.34.0 is wanted"), "{failed}");
    minis.configure(&tart("2.33.0", "newer-tart.tar.gz"));
    minis.apply();
    minis.destroy();
    minis.check_same(&before, "destroyed");
}

/// A destroy takes no bundle from under VMs either.
#[test]
fn tart_stays_while_vms_run() {
    let minis = ready();
    let before = minis.snapshot();
    minis.configure(&tart("2.32.1", "tart.tar.gz"));
    minis.apply();
    minis.by_hand("mkdir -p \"$FLEET_ROOT/Users/m1/.tart/vms/sonoma\"").ok();
    minis.by_hand("nohup tart run sonoma </dev/null >/dev/null 2>&1 & until tart list --format json | grep -q running; do sleep 1; done").ok();
    let failed = minis.fleet(&["destroy", "--auto-approve"]).failed();
    assert!(failed.contains("Tart is not removed while VMs run with it, and these do: sonoma"), "{failed}");
    assert_eq!(minis.by_hand("tart --version").ok(), "2.32.1\n");
    minis.by_hand("tart stop sonoma && rm -r \"$FLEET_ROOT/Users/m1/.tart\"").ok();
    minis.destroy();
    minis.check_same(&before, "destroyed");
}

#[test]
fn homebrew_has_what_is_wanted_and_loses_nothing_else() {
    let minis = ready();
    let before = minis.snapshot();
    let packages = |list: &str, rest: &str| {
        format!(
            "  resource \"macos_brew\" \"build\" {{
    user          = \"m1\"
    source        = \"homebrew.tar.gz\"
    source_sha256 = filesha256(\"homebrew.tar.gz\")
    packages      = {list}
    {rest}
  }}
"
        )
    };
    let all = packages(
        "[\"hashicorp/tap/packer\", \"crane\"]",
        "taps = [\"hashicorp/tap\"]\n    pins = [\"packer\"]",
    );
    minis.configure(&all);
    minis.apply();
    minis.check_converged("applied");
    assert_eq!(minis.by_hand("brew list --versions").ok(), "crane 0.20.6\npacker 1.14.2\n");
    let applied = minis.snapshot();
    minis.plan();
    minis.check_same(&applied, "planned");
    let changes = [
        ("brew uninstall crane", "update packages"),
        ("brew unpin packer", "update pins"),
        ("brew untap --force hashicorp/tap", "update taps"),
    ];
    let left_out = [(&["user"] as &[_], WHERE), (&["source", "source_sha256"], OURS)];
    check_complete("macos_brew", changes.map(|(_, expected)| expected), &left_out);
    for (change, expected) in changes {
        minis.by_hand(change).ok();
        minis.check_plan(&[("macos_brew.build", expected)]);
        minis.apply();
        minis.check_converged(change);
    }
    // What somebody else installed stays, and so does Homebrew with it.
    minis.by_hand("brew install jq").ok();
    minis.configure(&packages("[\"crane\", \"jq\"]", ""));
    minis.apply();
    minis.check_converged("fewer");
    assert_eq!(
        minis.by_hand("brew list --versions; brew tap; brew list --pinned").ok(),
        "crane 0.20.6\njq 1.8.1\n"
    );
    minis.destroy();
    assert_eq!(minis.by_hand("brew list --versions").ok(), "jq 1.8.1\n");
    minis.by_hand("brew uninstall jq").ok();
    minis.configure(&all);
    minis.apply();
    minis.destroy();
    minis.check_same(&before, "destroyed");
}

#[test]
fn xcode_is_selected_and_its_licence_accepted() {
    let minis = ready();
    minis.put("/Library/Developer/CommandLineTools/usr/bin/x", "", 0o644);
    minis.configure("  resource \"macos_xcode\" \"this\" {}\n");
    // What was selected is selected again, also where nobody ever did.
    const LICENCE: [&str; 1] = ["Library/Preferences/com.apple.dt.Xcode.plist"];
    for select in [":", "xcode-select --switch /Library/Developer/CommandLineTools"] {
        minis.as_root(select).ok();
        let before = minis.snapshot();
        minis.apply();
        minis.check_converged(select);
        minis.destroy();
        minis.snapshot().without(&LICENCE).check_same(&before.without(&LICENCE), select);
    }
    minis.apply();
    minis.check_converged("applied");
    assert!(minis.by_hand("xcodebuild -version && xcrun --find swift").ok().starts_with("Xcode 26.3\n"));
    let changes = [
        ("xcode-select --switch /Library/Developer/CommandLineTools", "update selected"),
        ("rm \"$FLEET_ROOT/Library/Preferences/com.apple.dt.Xcode.plist\"", "update licence"),
    ];
    let missing =
        (&["trouble"] as &[_], "nobody but the vendor mends that Xcode is missing; it is told below");
    check_complete("macos_xcode", changes.map(|(_, expected)| expected), &[(&["path"], WHERE), missing]);
    for (change, expected) in changes {
        minis.as_root(change).ok();
        minis.check_plan(&[("macos_xcode.this", expected)]);
        minis.apply();
        minis.check_converged(change);
    }
    fs::remove_dir_all(minis.path("/Applications/Xcode.app")).unwrap();
    let planned = minis.plan();
    assert!(planned.contains("order the Mac with the `macOS + Xcode` image"), "{planned}");
    let failed = minis.fleet(&["apply", "--auto-approve"]).failed();
    assert!(failed.contains("order the Mac with the `macOS + Xcode` image"), "{failed}");
    minis.destroy();
}

#[test]
fn a_runner_is_registered_and_online() {
    let minis = ready();
    let before = minis.snapshot();
    minis.configure(&runner(RUNNER));
    minis.apply();
    minis.check_converged("applied");
    let [made] = &minis.runners().list(URL)[..] else { panic!("{:?}", minis.runners().list(URL)) };
    assert!(made.online && !made.token_was_visible, "{made:?}");
    assert_eq!(made.labels, ["self-hosted", "macOS", "ARM64", "bare-metal", "builder"]);
    assert!(minis.read("/opt/actions-runner/.path").starts_with("/usr/local/bin:/opt/homebrew/bin:"));
    let token = minis.site.read("token");
    let state = minis.fleet(&["state", "list"]).ok();
    assert!(!state.contains(&token));
    // Each thing that changes behind our back.
    let changes = [
        (format!("printf /bin >$FLEET_ROOT{DIRECTORY}/.path"), "update path"),
        (format!("launchctl bootout gui/501/{LABEL}; sleep 3"), "update trouble"),
        (format!("rm $FLEET_ROOT{DIRECTORY}/.credentials"), "update trouble"),
        (format!("rm $FLEET_ROOT{DIRECTORY}/.runner"), "update trouble"),
        (format!("sed -i s/builder/other/ $FLEET_ROOT{DIRECTORY}/.fleet-runner"), "update labels"),
        (
            format!("sed -i s/2.336.0/2.335.0/ $FLEET_ROOT{DIRECTORY}/bin/Runner.Listener.deps.json"),
            "update version",
        ),
        (
            format!("sed -i s/^source.*/source\\ 0/ $FLEET_ROOT{DIRECTORY}/.fleet-runner"),
            "update source_sha256",
        ),
        (format!("sed -i s,com/example,com/other, $FLEET_ROOT{DIRECTORY}/.runner"), "update url"),
        (format!("sed -i s/mini/other/ $FLEET_ROOT{DIRECTORY}/.runner"), "update name"),
        (format!("sed -i s/_work/_other/ $FLEET_ROOT{DIRECTORY}/.runner"), "update work"),
    ];
    check_complete(
        "github_runner",
        changes.iter().map(|(_, expected)| *expected),
        &[(&["directory", "user"], WHERE), (&["source", "token", "soak", "timeout"], OURS)],
    );
    for (change, expected) in changes {
        minis.as_root(&change).ok();
        minis.check_plan(&[("github_runner.this", expected)]);
        minis.apply();
        minis.check_converged(&change);
        assert!(minis.runners().list(URL)[0].online, "{change}");
    }
    // Another name is another runner, with another service.
    minis.configure(&runner(RUNNER).replace("\"mini\"", "\"maxi\""));
    minis.apply();
    minis.check_converged("renamed");
    assert!(minis.runners().list(URL).iter().any(|runner| runner.name == "maxi" && runner.online));
    assert!(!minis.path(&format!("/Users/m1/Library/LaunchAgents/{LABEL}.plist")).exists());
    minis.destroy();
    minis.check_same(&before, "destroyed");
}

#[test]
fn a_newer_agent_takes_the_place_of_the_old_one() {
    let minis = ready();
    minis.configure(&runner(RUNNER));
    minis.apply();
    let id = minis.runners().list(URL)[0].client.clone();
    let newer =
        runner(RUNNER).replace("actions-runner-osx-arm64", "newer-runner").replace("2.336.0", "2.337.0");
    minis.configure(&newer);
    minis.apply();
    minis.check_converged("newer");
    let runners = minis.runners().list(URL);
    assert!(runners[0].online && runners[0].client == id, "it was registered again");
    // One that renewed itself is new enough.
    minis
        .as_root(&format!(
            "cd $FLEET_ROOT{DIRECTORY} && sed -i s/2.337.0/2.338.0/ bin/Runner.Listener* && mv bin bin.2.338.0 && ln -s bin.2.338.0 bin"
        ))
        .ok();
    minis.check_converged("renewed by itself");
}

/// A new registration counts only when its agent runs: until then the old one can come back.
#[test]
fn the_old_runner_goes_on_where_the_new_one_does_not_come() {
    let minis = ready();
    minis.configure(&runner(RUNNER));
    minis.apply();
    // What somebody left keeps its service from being installed, once it was registered.
    let in_the_way = "/Users/m1/Library/LaunchAgents/actions.runner.example.maxi.plist";
    minis.put(in_the_way, "x", 0o644);
    minis.configure(&runner(RUNNER).replace("\"mini\"", "\"maxi\""));
    let failed = minis.fleet(&["apply", "--auto-approve"]).failed();
    assert!(failed.contains("its service cannot be installed"), "{failed}");
    assert!(failed.contains("The runner of before goes on"), "{failed}");
    let is_online =
        |name: &str| minis.runners().list(URL).iter().any(|runner| runner.name == name && runner.online);
    assert!(is_online("mini") && !is_online("maxi"), "{:?}", minis.runners().list(URL));
    minis.by_hand(&format!("launchctl print gui/501/{LABEL}")).ok();
    fs::remove_file(minis.path(in_the_way)).unwrap();
    minis.apply();
    minis.check_converged("renamed");
    assert!(is_online("maxi") && !is_online("mini"), "{:?}", minis.runners().list(URL));
    assert!(!minis.path(&format!("{DIRECTORY}/.fleet-old")).exists());
}

#[test]
fn without_a_session_nothing_is_claimed() {
    let minis = ready();
    minis.wait(async { minis.macs[0].end_session() });
    minis.configure(&runner(RUNNER));
    let failed = minis.fleet(&["apply", "--auto-approve"]).failed();
    assert!(failed.contains("nobody is logged in at the screen"), "{failed}");
    minis.wait(async { minis.macs[0].begin_session(501) });
    minis.apply();
    minis.check_converged("with a session");
    assert!(minis.runners().list(URL)[0].online);
}

/// A Node with all flags.
const KUBELET: &str = "  module \"node\" {
    source               = \"./modules/tart-kubelet\"
    node_name            = \"mini\"
    binary               = \"build/tart-kubelet\"
    binary_sha256        = filesha256(\"build/tart-kubelet\")
    kubeconfig           = secret.token
    node_labels          = { \"tuist.dev/fleet\" = \"builders\", \"a\" = \"b & c\" }
    node_ip_source       = \"tailscale\"
    provider_id          = \"scaleway://fr-par-1/1\"
    disable_vm_gc        = true
    vnc_relay_host       = \"relay\"
    vnc_relay_port       = 5900
    runner_cache_root    = \"/Volumes/cache\"
    cache_volume_cap_gib = 28
    cache_volume_cas_gib = 16
    node_ip              = \"100.64.0.7\"
    scrape_allowed_cidrs = [\"100.64.0.0/10\", \"10.0.0.0/8\"]
    metrics_bind_address = \":9080\"
    health_port          = 9081
    tart_binary          = \"/usr/local/bin/tart\"
    vnc_control_dir      = \"/var/lib/screens\"
  }
";

#[test]
fn a_node_of_kubernetes() {
    let minis = ready();
    copy_module(&minis.site, "tart-kubelet");
    minis.site.write("build/tart-kubelet", "");
    let put = |port: u16| {
        let text = format!("#!lab-program\nversion=1\nlistens={port}\nneeds=/var/lib/tart-userdata\n");
        fs::write(minis.site.path().join("build/tart-kubelet"), sign(text.as_bytes(), "a.out")).unwrap();
    };
    put(9081);
    minis.configure(KUBELET);
    minis.apply();
    minis.check_converged("applied");
    let told = minis.as_root("launchctl print system/dev.fleet.tart-kubelet").ok();
    let flags: Vec<&str> = told.lines().filter_map(|line| line.trim().strip_prefix("--")).collect();
    assert_eq!(
        flags,
        [
            "node-name=mini",
            "kubeconfig=/etc/tart-kubelet/kubeconfig",
            "host-cpu=8",
            "host-memory-mb=14336",
            "max-pods=3",
            "node-labels=a=b & c,tuist.dev/fleet=builders",
            "node-ip-source=tailscale",
            "provider-id=scaleway://fr-par-1/1",
            "disable-vm-gc",
            "vnc-relay-host=relay",
            "vnc-relay-port=5900",
            "runner-cache-root=/Volumes/cache",
            "cache-volume-cap-gib=28",
            "cache-volume-cas-gib=16",
            "node-ip=100.64.0.7",
            "metrics-bind-address=:9080",
            "health-probe-bind-address=:9081",
            "tart-binary=/usr/local/bin/tart",
            "vnc-control-dir=/var/lib/screens",
            "scrape-allowed-cidr=100.64.0.0/10",
            "scrape-allowed-cidr=10.0.0.0/8",
        ]
    );
    assert_eq!(minis.as_root("stat -f %Su /var/lib/screens").ok(), "m1\n");
    let kept = minis.as_root("stat -f '%Sp %Su:%Sg' /etc/tart-kubelet/kubeconfig").ok();
    assert_eq!(kept, "-rw------- m1:staff\n");
    let bare: String = KUBELET.lines().take(6).map(|line| format!("{line}\n")).collect();
    put(8081);
    minis.configure(&format!("{bare}  }}\n"));
    minis.apply();
    minis.check_converged("without");
    let told = minis.as_root("launchctl print system/dev.fleet.tart-kubelet").ok();
    assert_eq!(told.lines().filter(|line| line.trim().starts_with("--")).count(), 5, "{told}");
    minis.destroy();
}

#[test]
fn a_builder_of_images() {
    let minis = ready();
    beside_github(&minis);
    copy_module(&minis.site, "github-runner");
    minis.configure(&format!(
        "  module \"builder\" {{
    source      = \"./modules/github-runner\"
    name        = \"mini\"
    url         = \"{URL}\"
    token       = secret.token
    runner      = {{ version = \"2.336.0\", source = \"actions-runner-osx-arm64.tar.gz\", sha256 = filesha256(\"actions-runner-osx-arm64.tar.gz\") }}
    homebrew    = {{ source = \"homebrew.tar.gz\", sha256 = filesha256(\"homebrew.tar.gz\") }}
    build_cache = {{ path = \"/opt/build-cache\", variable = \"BUILD_CACHE\" }}
  }}
"
    ));
    minis.apply();
    minis.check_converged("applied");
    assert!(minis.runners().list(URL)[0].online);
    assert!(
        minis.by_hand(&format!("lab-job {DIRECTORY} packer")).ok().ends_with("/opt/homebrew/bin/packer\n")
    );
    assert_eq!(minis.read("/etc/zshenv"), "export BUILD_CACHE=/opt/build-cache\n");
    minis.destroy();
}

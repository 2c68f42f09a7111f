//! The fleets in `examples/fleets/` that are on hosts, planned and applied.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use regex::Regex;

use super::desk::Desk;
use super::tree::{same, without_ledgers};
use crate::support::Site;

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/fleets").join(name)
}

/// Copies an example. What it does as root, whoever runs the test does, because not everybody is root.
fn copy(from: &Path, site: &Site, to: &str) {
    let by_root = Regex::new(r"(?m)^( *sudo *=) true$").unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let name = entry.file_name().into_string().unwrap();
        let to = format!("{to}{name}");
        if entry.path().is_dir() {
            copy(&entry.path(), site, &format!("{to}/"));
        } else {
            let text = fs::read_to_string(entry.path()).unwrap();
            site.write(&to, &by_root.replace_all(&text, "$1 false"));
        }
    }
}

/// Changes a file of the example, for it to be about what there is here.
#[track_caller]
fn edit(site: &Site, name: &str, from: &str, to: &str) {
    let text = site.read(name);
    assert!(text.contains(from), "{from} in {text}");
    site.write(name, &text.replace(from, to));
}

#[test]
fn examples_are_valid_and_in_canonical_form() {
    let named = Regex::new(r"\| `([^`]+)` \|").unwrap();
    for name in ["own-macs", "linux-box", "scaleway-runners"] {
        let site = Site::empty();
        copy(&example(name), &site, "");
        // The key that their users have made.
        fs::create_dir(site.path().join(".ssh")).unwrap();
        let mut keygen = Command::new("ssh-keygen");
        keygen.args(["-q", "-t", "ed25519", "-N", "", "-C", "of-somebody", "-f", ".ssh/fleet_ed25519"]);
        assert!(keygen.current_dir(site.path()).status().unwrap().success());
        site.fleet(["fmt", "--check", "--recursive"]).ok();
        assert_eq!(site.fleet(["validate"]).ok(), "The configuration is valid.\n", "{name}");
        let read_me = fs::read_to_string(example(name).join("README.md")).unwrap();
        for file in named.captures_iter(&read_me) {
            assert!(example(name).join(&file[1]).exists(), "{name}: {}", &file[1]);
        }
    }
}

/// What macOS has, as far as the example asks for it: it remembers one setting.
const PMSET: &str = r#"#!/bin/sh
kept=$(dirname "$0")/../etc/pmset
case $1 in
-g) printf 'AC Power:\n sleep                %s\n displaysleep         10\n' "$(cat "$kept" 2>/dev/null || echo 1)" ;;
-a) echo "$3" >"$kept" ;;
esac
"#;

#[test]
fn own_macs() {
    let mut desk = Desk::of(2, "");
    copy(&example("own-macs"), &desk.site, "");
    edit(&desk.site, "main.fleet.hcl", "file:~/.ssh/fleet_ed25519", "file:key");
    let connection = "    user     = \"admin\"\n";
    edit(
        &desk.site,
        "main.fleet.hcl",
        connection,
        "    config = \"/dev/null\"\n    root = \"/proc/self/fd/9\"\n",
    );
    let port = |at: usize| desk.machines[at].server.port();
    let first = format!("address = \"127.0.0.1\"\nport = {}", port(0));
    let second = format!("addresses = [\"mini-b.invalid\", \"127.0.0.1\"]\nport = {}", port(1));
    edit(&desk.site, "main.fleet.hcl", "address = \"10.0.0.11\"", &first);
    edit(&desk.site, "main.fleet.hcl", "addresses = [\"mini-b.local\", \"10.0.0.12\"]", &second);
    for machine in &desk.machines {
        for directory in
            ["Users/admin/.ssh", "etc/ssh/sshd_config.d", "etc/sudoers.d", "Library/LaunchDaemons", "bin"]
        {
            fs::create_dir_all(machine.path(directory)).unwrap();
        }
        fs::create_dir_all(machine.path("usr/local")).unwrap();
        fs::write(machine.path("Users/admin/.ssh/authorized_keys"), "ssh-ed25519 AAAA of-somebody\n")
            .unwrap();
        fs::write(machine.path("bin/pmset"), PMSET).unwrap();
        fs::set_permissions(machine.path("bin/pmset"), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let before = without_ledgers(desk.machines[0].tree());
    let plan = desk.site.fleet(["plan"]).ok();
    assert!(plan.contains(&desk.machines[0].server.host_key()), "the key of a new host is shown: {plan}");
    let said = desk.apply();
    assert!(said.contains("mini-b"), "{said}");
    desk.check_converged();
    assert_eq!(desk.held(), [Some("fleet.desk[\"mini-a\"]".into()), Some("fleet.desk[\"mini-b\"]".into())]);
    for machine in &desk.machines {
        let keys = machine.read("Users/admin/.ssh/authorized_keys");
        assert!(keys.contains("of-somebody") && keys.contains("admin@example.org"), "{keys}");
        assert_eq!(machine.read("etc/pmset"), "0\n");
        assert!(
            machine
                .read("Library/LaunchDaemons/fleet.tidy-builds.plist")
                .contains("/usr/local/bin/tidy-builds")
        );
        assert!(machine.read("etc/motd").starts_with("desk-mini-"));
    }
    // One is off.
    desk.machines[1].server.kill();
    fs::write(desk.machines[0].path("etc/motd"), "tampered").unwrap();
    desk.apply_with(&["--exclude-host", "mini-b"]);
    assert!(desk.machines[0].read("etc/motd").starts_with("desk-mini-a"));
    desk.machines[1].server.restart();
    // One is taken out.
    edit(&desk.site, "main.fleet.hcl", "[\"mini-a\", \"mini-b\"]", "[\"mini-b\"]");
    desk.apply();
    let mut left = without_ledgers(desk.machines[0].tree());
    // What a script changed, and nobody undoes.
    left.remove("etc/pmset");
    same(&left, &before, "all is gone");
    assert_eq!(desk.machines[0].slot(), None);
    desk.run("destroy", &[]).ok();
}

#[test]
fn linux_box() {
    let desk = Desk::of(1, "");
    copy(&example("linux-box"), &desk.site, "");
    let connection = "connection \"ssh\" {\n    config = \"/dev/null\"\n    identity = secret.key\n    root = \"/proc/self/fd/9\"\n  }";
    edit(&desk.site, "main.fleet.hcl", "connection \"ssh\" {}", connection);
    let port = format!("address = var.address\nport = {}\n", desk.machines[0].server.port());
    edit(&desk.site, "main.fleet.hcl", "address  = var.address\n", &port);
    desk.site.write("key.fleet.hcl", "secret \"key\" {\n  from = \"file:key\"\n}\n");
    let key = serde_json::to_string(&desk.machines[0].server.host_key()).unwrap();
    desk.site.write("fleet.vars.hcl", &format!("address = \"127.0.0.1\"\nhost_key = {key}\n"));
    let machine = &desk.machines[0];
    for directory in ["etc/sysctl.d", "etc/security"] {
        fs::create_dir_all(machine.path(directory)).unwrap();
    }
    let limits = "# of the system\n* soft nofile 1024\n* hard nofile 4096\n";
    fs::write(machine.path("etc/security/limits.conf"), limits).unwrap();
    desk.apply();
    desk.check_converged();
    let limits = machine.read("etc/security/limits.conf");
    assert_eq!(limits, "# of the system\n* soft nofile 65536\n* hard nofile 4096\n");
    let arch = Command::new("uname").arg("-m").output().unwrap();
    let settings = machine.read("etc/build-cache/settings.json");
    assert!(settings.contains(String::from_utf8(arch.stdout).unwrap().trim()), "{settings}");
    // Another release.
    edit(&desk.site, "main.fleet.hcl", "1.4.0", "1.5.0");
    desk.apply();
    desk.check_converged();
    assert_eq!(fs::read_link(machine.path("opt/build-cache/current")).unwrap(), Path::new("1.5.0"));
    assert!(!machine.has("opt/build-cache/1.4.0"));
    desk.run("destroy", &[]).ok();
    assert!(!machine.has("opt/build-cache") && !machine.has("etc/build-cache"));
}

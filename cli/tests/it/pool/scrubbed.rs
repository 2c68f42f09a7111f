//! Hosts that go back without being installed anew: nothing secret is left on them.

use std::fs;
use std::path::{Path, PathBuf};

use fleet_lab::scaleway::Operation;

use super::world::{Runners, World};

/// What must not be left anywhere.
const SECRET: &str = "tskey-hunter2-7f3a";

/// Hosts with credentials in many places.
const CREDENTIALS: &str = r#"
  resource "host_file" "token" {
    path    = "${host_directory.runner.path}/.credentials"
    content = secret.token
    mode    = "0600"
  }
  resource "host_file" "root" {
    path    = "/etc/fleet-token"
    content = "token ${secret.token}\n"
    mode    = "0600"
    sudo    = true
  }
  resource "host_block" "secret" {
    path    = "/Users/m1/.profile"
    name    = "token"
    content = "export TOKEN=${secret.token}"
  }
"#;

/// Somebody who puts credentials on hosts that are scrubbed.
fn runners(world: &World) -> Runners<'_> {
    let runners = world.runners();
    let text = runners.site.read("main.fleet.hcl");
    let scrubbed = text.replace("method   = \"reinstall\"", "method   = \"scrub\"");
    assert_ne!(text, scrubbed);
    let at = scrubbed.find("  # What the jobs on it may know").unwrap();
    let (before, after) = scrubbed.split_at(at);
    let secret = "secret \"token\" {\n  from = \"file:token\"\n}\n";
    runners.site.write("main.fleet.hcl", &format!("{secret}{before}{CREDENTIALS}{after}"));
    runners.site.write("token", SECRET);
    runners
}

/// All files of a Mac in which the secret stands, or whose names hold it.
fn with_secret(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap().flatten() {
        let (path, kind) = (entry.path(), entry.file_type().unwrap());
        let holds = |bytes: &[u8]| bytes.windows(SECRET.len()).any(|window| window == SECRET.as_bytes());
        if holds(path.as_os_str().as_encoded_bytes()) {
            found.push(path.clone());
        }
        if kind.is_dir() {
            found.extend(with_secret(&path));
        } else if kind.is_file() && holds(&fs::read(&path).unwrap()) {
            found.push(path);
        }
    }
    found
}

#[test]
fn nothing_secret_is_left_on_a_host_that_is_scrubbed() {
    let world = World::of(1);
    let runners = runners(&world);
    let id = world.lab.servers()[0].id.clone();
    // All that the lab keeps of the machine, its root included.
    let machine = world.lab.directory().join("machines").join(&id);
    let root = machine.join("root");
    // Where somebody may become root without a password, root's files are fleet's business too.
    fs::write(root.join("private/etc/sudoers.d/m1"), "m1 ALL=(ALL) NOPASSWD: ALL\n").unwrap();
    runners.apply(1).ok();
    assert_eq!(with_secret(&root).len(), 3, "{:?}", with_secret(&root));

    // What runs that were cut off left: half of a file beside its place, an upload beside the ledger; and a thing that is
    // listed, of which no state knows.
    fs::write(root.join("Users/m1/runner/..credentials.fleet-new"), SECRET).unwrap();
    fs::create_dir(root.join("Users/m1/runner/.fleet-new")).unwrap();
    fs::write(root.join("Users/m1/runner/.fleet-new/.credentials"), SECRET).unwrap();
    let ledger = root.join("private/var/tmp/fleet/ledger");
    assert!(ledger.exists());
    fs::write(ledger.with_file_name("ledger.up-abc-1"), SECRET).unwrap();
    fs::write(root.join("Users/m1/forgotten"), SECRET).unwrap();
    let line =
        r#"{"address":"fleet.runners[0].host_file.gone","kind":"host_file","version":1,"value":VALUE}"#;
    let known = fs::read_dir(ledger.with_file_name("ledger.d")).unwrap().flatten();
    let known = known.map(|entry| fs::read_to_string(entry.path()).unwrap());
    let like = known.into_iter().find(|line| line.contains(".credentials")).unwrap();
    let value: serde_json::Value = serde_json::from_str(&like).unwrap();
    let value = value["value"].to_string().replace("/Users/m1/runner/.credentials", "/Users/m1/forgotten");
    // The name is made of the address.
    let listed = ledger.with_file_name("ledger.d").join("574fcfca162a66638facf7a75020cbe7");
    fs::write(listed, line.replace("VALUE", &value)).unwrap();
    assert_eq!(with_secret(&root).len(), 7, "{:?}", with_secret(&root));

    let at = world.n_requests();
    runners.destroy().ok();
    assert_eq!(with_secret(&machine), Vec::<PathBuf>::new());
    assert!(!root.join("Users/m1/runner").exists(), "and nothing else that fleet made");
    let told = world.writes_after(at).into_iter().filter_map(|entry| entry.operation);
    assert!(told.into_iter().all(|it| it != Operation::ReinstallServer && it != Operation::RebootServer));
    runners.check(0, "scrubbed");
    // Nor in what fleet keeps here.
    runners.site.write("token", "");
    assert_eq!(with_secret(runners.site.path()), Vec::<PathBuf>::new());
}

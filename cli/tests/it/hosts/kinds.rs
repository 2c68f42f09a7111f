//! Every kind, on this machine under a root of its own.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use fleet_cli::Exit;
use fleet_engine::schema::{Catalog, Place, Sort};
use serde_json::Value as Json;

use super::tree::{Tree, same, stamps, tree, without_ledgers};
use crate::laws::{Steps, steps};
use crate::support::{Site, providers};

/// Every kind on hosts, at least once. `ROOT` is the root, `SITE` the directory of the configuration.
const INSIDE: &str = r#"
  data "host_facts" "this" {}
  resource "host_directory" "d" {
    path = "/opt/d"
  }
  resource "host_file" "plain" {
    path       = "/opt/d/plain"
    content    = "VERSION on ${data.host_facts.this.os}\nas ${host.name}\n"
    depends_on = [host_directory.d]
  }
  resource "host_file" "secret" {
    path    = "/etc/secret"
    content = secret.s
    mode    = "600"
  }
  resource "host_file" "source" {
    path          = "/etc/source"
    source        = "SITE/a.tgz"
    source_sha256 = filesha256("a.tgz")
  }
  resource "host_binary" "b" {
    path          = "/opt/b"
    source        = "SITE/tool-VERSION"
    source_sha256 = filesha256("tool-VERSION")
  }
  resource "host_archive" "a" {
    path          = "/opt/app"
    source        = "SITE/a.tgz"
    source_sha256 = filesha256("a.tgz")
    strip         = 1
  }
  resource "host_link" "l" {
    path   = "/opt/l"
    target = "b-VERSION"
  }
  resource "host_block" "b" {
    path       = "/etc/hosts"
    name       = "reg"
    content    = "10.0.0.5 registry VERSION"
    supersedes = ["old .*"]
  }
  resource "host_block" "secret" {
    path    = "/etc/hosts"
    name    = "sec"
    content = "x ${secret.s}"
  }
  resource "host_line" "l" {
    path     = "/etc/sshd"
    line     = "Port VERSION"
    matching = "Port .*"
  }
  resource "host_line" "no" {
    path    = "/etc/hosts"
    line    = "evil"
    present = false
  }
  resource "host_command" "c" {
    read    = "cat ROOT/etc/zone"
    wish    = { zone = "VERSION" }
    apply   = "echo zone=VERSION > ROOT/etc/zone; : ${secret.s}"
    destroy = "rm -f ROOT/etc/zone"
  }
  resource "host_reboot" "r" {
    when = false
  }
"#;

/// A directory with a configuration for this machine, and the root that it is for.
struct Local {
    site: Site,
    root: PathBuf,
}

impl Local {
    fn new() -> Local {
        let site = Site::empty();
        let root = site.path().join("root");
        for directory in ["etc", "opt", "var/tmp", "proc/sys/kernel/random"] {
            fs::create_dir_all(root.join(directory)).unwrap();
        }
        fs::write(root.join("proc/sys/kernel/random/boot_id"), "boot-1\n").unwrap();
        fs::write(root.join("etc/hosts"), "127.0.0.1 localhost\nold registry\nevil\n").unwrap();
        fs::write(root.join("etc/sshd"), "# of the system\nUsePAM no\n").unwrap();
        site.write("t/top/a", "1");
        site.write("t/top/sub/b", "2");
        site.write("tool-1", "#!/bin/sh\necho 1\n");
        site.write("tool-2", "#!/bin/sh\necho 2\n");
        site.write("secret.txt", "hunter2-of-the-host");
        let mut tar = Command::new("tar");
        tar.args(["-czf", "a.tgz", "-C", "t", "top"]).current_dir(site.path());
        assert!(tar.status().unwrap().success());
        let local = Local { site, root };
        local.put(INSIDE, "1");
        local
    }

    /// Puts a fleet of this machine in the configuration.
    fn put(&self, inside: &str, version: &str) {
        let root = self.root.to_str().unwrap();
        let text = format!(
            "secret \"s\" {{\n  from = \"file:secret.txt\"\n}}\npool \"static\" \"this\" {{\n  host \"here\" {{}}\n}}\n\
             fleet \"this\" {{\n  pool = pool.this\n  hosts = [\"here\"]\n  hostname = host.key\n  \
             connection \"local\" {{\n    root = \"ROOT\"\n  }}\n{inside}}}\n"
        );
        let text = text.replace("ROOT", root).replace("SITE", self.site.path().to_str().unwrap());
        self.site.write("main.fleet.hcl", &text.replace("VERSION", version));
    }

    #[track_caller]
    fn apply(&self) -> String {
        self.site.fleet(["apply", "--auto-approve"]).ok()
    }

    #[track_caller]
    fn steps(&self) -> Steps {
        let plan: Json = serde_json::from_str(&self.site.fleet(["plan", "--json"]).ok()).unwrap();
        steps(&plan)
    }

    #[track_caller]
    fn check_converged(&self) {
        let text = self.site.fleet(["plan"]).ok();
        assert!(text.lines().any(|line| line == "No changes."), "{text}");
    }

    /// All of the root, but for ledgers.
    fn tree(&self) -> Tree {
        without_ledgers(tree(&self.root))
    }

    /// Whether the host has a ledger, or anything beside it.
    fn is_held(&self) -> bool {
        fs::read_dir(self.root.join("var/tmp/fleet")).unwrap().next().is_some()
    }
}

#[test]
fn all_kinds_are_among_those_that_are_tried() {
    let catalog = providers(PathBuf::new());
    for (sort, word) in [(Sort::Resource, "resource"), (Sort::Data, "data")] {
        let kinds = catalog.names(sort).into_iter();
        let on_hosts = kinds.filter(|kind| catalog.find(sort, kind).unwrap().place == Place::Host);
        // The machines of slots are made by fleets alone; what is for Macs is tried on those of the lab.
        let prefixes = ["macos_", "github_", "tailscale_"];
        let is_for_macs = |kind: &&str| prefixes.iter().any(|prefix| kind.starts_with(prefix));
        for kind in on_hosts.filter(|kind| !kind.ends_with("_host") && !is_for_macs(kind)) {
            assert!(INSIDE.contains(&format!("{word} \"{kind}\"")), "{kind}");
        }
    }
}

#[test]
fn every_kind_is_made_kept_changed_and_removed() {
    let local = Local::new();
    let before = local.tree();
    local.apply();
    assert_eq!(fs::read_to_string(local.root.join("etc/secret")).unwrap(), "hunter2-of-the-host");
    assert_eq!(fs::read_to_string(local.root.join("opt/d/plain")).unwrap(), "1 on linux\nas here\n");
    let hosts = fs::read_to_string(local.root.join("etc/hosts")).unwrap();
    assert!(hosts.starts_with("127.0.0.1 localhost\n") && !hosts.contains("evil"), "{hosts}");
    assert!(!hosts.contains("old registry") && hosts.contains("10.0.0.5 registry 1\n"), "{hosts}");
    assert_eq!(fs::read_to_string(local.root.join("opt/app/sub/b")).unwrap(), "2");
    local.check_converged();
    let once = stamps(&local.root);
    assert!(local.apply().lines().any(|line| line == "No changes."));
    same(&stamps(&local.root), &once, "nothing is done twice");

    local.put(INSIDE, "2");
    let changed: Vec<String> = local.steps().into_keys().collect();
    let changed: Vec<&str> = changed.iter().map(|it| it.rsplit_once("].").unwrap().1).collect();
    let expected =
        ["host_binary.b", "host_block.b", "host_command.c", "host_file.plain", "host_line.l", "host_link.l"];
    assert_eq!(changed, expected);
    local.apply();
    local.check_converged();
    assert_eq!(fs::read_to_string(local.root.join("etc/zone")).unwrap(), "zone=2\n");
    assert_eq!(fs::read_link(local.root.join("opt/l")).unwrap(), Path::new("b-2"));

    local.put("", "2");
    assert!(local.steps().values().all(|action| action == "destroy"));
    local.apply();
    local.check_converged();
    let mut left = local.tree();
    // What was in the way is not ours to bring back.
    let hosts = left.get_mut("etc/hosts").unwrap();
    assert_eq!(hosts.content, "127.0.0.1 localhost\\n");
    hosts.content = before["etc/hosts"].content.clone();
    same(&left, &before, "all is gone");
    assert!(local.is_held());
    local.site.fleet(["destroy", "--auto-approve"]).ok();
    assert!(!local.is_held());
}

#[test]
fn destroy_leaves_nothing_and_can_be_repeated() {
    let local = Local::new();
    let mut before = local.tree();
    // What was in the way is not ours to bring back.
    before.get_mut("etc/hosts").unwrap().content = "127.0.0.1 localhost\\n".to_owned();
    for _ in 0..2 {
        local.apply();
        local.site.fleet(["destroy", "--auto-approve"]).ok();
        same(&local.tree(), &before, "all is gone");
        assert!(!local.is_held());
        let again = local.site.fleet(["destroy", "--auto-approve"]).ok();
        assert!(again.lines().any(|line| line == "No changes."), "{again}");
        same(&local.tree(), &before, "all is gone");
    }
}

/// A thing, and somebody who changes it behind our back.
type Drift = (&'static str, fn(&Path));

#[test]
fn every_kind_is_mended() {
    let drifts: [Drift; 14] = [
        ("host_directory.d", |root| fs::set_permissions(root.join("opt/d"), mode(0o700)).unwrap()),
        ("host_file.plain", |root| fs::write(root.join("opt/d/plain"), "tampered").unwrap()),
        ("host_file.plain", |root| fs::remove_file(root.join("opt/d/plain")).unwrap()),
        ("host_file.secret", |root| fs::write(root.join("etc/secret"), "tampered").unwrap()),
        ("host_file.secret", |root| fs::set_permissions(root.join("etc/secret"), mode(0o644)).unwrap()),
        ("host_file.source", |root| fs::write(root.join("etc/source"), [0, 0xff]).unwrap()),
        ("host_binary.b", |root| fs::write(root.join("opt/b"), "tampered").unwrap()),
        ("host_archive.a", |root| fs::write(root.join("opt/app/new"), "").unwrap()),
        ("host_archive.a", |root| fs::remove_dir_all(root.join("opt/app")).unwrap()),
        ("host_link.l", |root| {
            fs::remove_file(root.join("opt/l")).unwrap();
            symlink("elsewhere", root.join("opt/l")).unwrap();
        }),
        ("host_block.b", |root| edit(&root.join("etc/hosts"), "registry 1", "registry 7")),
        ("host_block.secret", |root| edit(&root.join("etc/hosts"), "x hunter2", "y hunter2")),
        ("host_line.l", |root| edit(&root.join("etc/sshd"), "Port 1", "Port 22")),
        ("host_command.c", |root| fs::write(root.join("etc/zone"), "zone=elsewhere\n").unwrap()),
    ];
    let local = Local::new();
    local.apply();
    let good = local.tree();
    for (at, (thing, drift)) in drifts.iter().enumerate() {
        drift(&local.root);
        assert_ne!(local.tree(), good, "{at} {thing}");
        let planned: Vec<String> = local.steps().into_keys().collect();
        assert_eq!(planned, [format!("fleet.this[\"here\"].{thing}")], "{at}");
        assert_eq!(local.site.fleet(["plan", "--detailed-exitcode"]).exit, Exit::Changes);
        local.apply();
        same(&local.tree(), &good, thing);
    }
    local.check_converged();
}

#[test]
fn a_plan_writes_nothing_on_the_host() {
    let local = Local::new();
    let look = |what: &str| {
        let before = stamps(&local.root);
        for words in
            [&["plan"][..], &["plan", "--destroy"], &["plan", "--refresh-only"], &["plan", "--out", "p"]]
        {
            local.site.fleet_words(words).ok();
        }
        same(&stamps(&local.root), &before, what);
    };
    look("nothing is there yet");
    local.apply();
    look("all is there");
    fs::write(local.root.join("etc/secret"), "tampered").unwrap();
    fs::remove_file(local.root.join("opt/l")).unwrap();
    local.put(INSIDE, "2");
    look("some of it is to be changed");
    local.put("", "2");
    look("all of it is to be removed");
}

#[test]
fn a_host_whose_state_is_lost_is_nobody_elses_to_take() {
    let local = Local::new();
    local.apply();
    let before = stamps(&local.root);
    fs::remove_dir_all(local.site.path().join(".fleet")).unwrap();
    for words in [&["plan"][..], &["apply", "--auto-approve"]] {
        let ran = local.site.fleet_words(words);
        assert_eq!(ran.exit, Exit::Failed, "{ran:?}");
        assert!(
            ran.stdout.contains("`here` is held by `fleet.this[\"here\"]` of the state "),
            "{}",
            ran.stdout
        );
        assert!(ran.stdout.contains("Only if that state is lost for good: remove `/var/tmp/fleet/ledger`"));
    }
    same(&stamps(&local.root), &before, "nobody's but the holder's");
    fs::remove_file(local.root.join("var/tmp/fleet/ledger")).unwrap();
    local.apply();
    local.check_converged();
}

#[test]
fn scripts_of_users_are_not_run_by_a_plan_that_only_reads() {
    let local = Local::new();
    local.apply();
    let ran = local.site.fleet(["plan", "--read-only"]);
    assert_eq!(ran.exit, Exit::Failed, "{ran:?}");
    assert!(ran.stdout.contains("a script of yours would have to be run"), "{}", ran.stdout);
    let without = ["plan", "--read-only", "--exclude", "fleet.this[\"here\"].host_command.c"];
    local.site.fleet(without).ok();
}

fn mode(bits: u32) -> fs::Permissions {
    fs::Permissions::from_mode(bits)
}

#[track_caller]
fn edit(path: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.contains(from), "{text}");
    fs::write(path, text.replace(from, to)).unwrap();
}

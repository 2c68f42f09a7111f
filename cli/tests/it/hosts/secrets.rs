//! No secret where nobody should see it: on hosts, and while they are worked on.

use std::collections::BTreeSet;
use std::fs;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use super::broken::until;
use super::desk::Desk;
use crate::child::finish;
use crate::laws::search::{Found, Search};

/// What is secret: with characters that every way of writing treats in its own way.
const CONTENT: &str = "content-of-a-file \"w\\ört/+%=&? 7\n#é second line of it";
const PASSWORD: &str = "sudo-password-éß/+~{}[]'$";
const SCRIPT: &str = "token-for-a-script-+/=";

const INSIDE: &str = r#"
  resource "host_file" "secret" {
    path    = "/etc/secret"
    content = "before ${secret.content} after"
    mode    = "0600"
  }
  resource "host_file" "by_root" {
    path    = "/etc/by_root"
    content = secret.content
    sudo    = true
  }
  resource "host_block" "secret" {
    path    = "/etc/hosts"
    name    = "secret"
    content = secret.script
  }
  resource "host_command" "secret" {
    read  = "cat /proc/self/fd/9/etc/joined"
    wish  = { joined = "yes" }
    apply = "sleep 0.3; echo joined=yes >/proc/self/fd/9/etc/joined; : '${secret.script}'"
  }
"#;

fn desk() -> (Desk, Search) {
    let mut desk = Desk::of(1, INSIDE);
    for (name, text) in [("content", CONTENT), ("password", PASSWORD), ("script", SCRIPT)] {
        desk.site.write(name, text);
    }
    let secret = |name: &str| format!("secret \"{name}\" {{\n  from = \"file:{name}\"\n}}\n");
    desk.site.write("secrets.fleet.hcl", &["content", "password", "script"].map(secret).concat());
    desk.connection = "sudo_password = secret.password".to_owned();
    desk.write();
    let key = desk.site.read("key");
    // The head of a key is the same for all of them.
    let lines: Vec<&str> = key.lines().collect();
    let search = Search::new(&[CONTENT, PASSWORD, SCRIPT, lines[2], lines[3]]);
    (desk, search)
}

/// What processes were told, by argument or environment, at any moment that somebody looked. The work is given how often
/// somebody has looked at all of them.
fn watched<T>(search: &Search, work: impl FnOnce(&AtomicUsize) -> T) -> (T, BTreeSet<Found>) {
    let (is_over, looks) = (AtomicBool::new(false), AtomicUsize::new(0));
    let mut told = BTreeSet::new();
    let done = thread::scope(|scope| {
        // Nothing but this is done meanwhile, so that little is missed.
        let watch = scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                for process in fs::read_dir("/proc").unwrap().flatten() {
                    let both = ["cmdline", "environ"].map(|name| fs::read(process.path().join(name)));
                    told.extend(both.into_iter().flatten());
                }
                looks.fetch_add(1, Ordering::Relaxed);
            }
        });
        let done = work(&looks);
        is_over.store(true, Ordering::Relaxed);
        watch.join().unwrap();
        done
    });
    (done, told.iter().flat_map(|bytes| search.find(bytes)).collect())
}

/// Everything that is written here but for what secrets are read from.
#[track_caller]
fn check_files(desk: &Desk, search: &Search) {
    let mut open = vec![desk.site.path().to_owned()];
    let sources = ["key", "content", "password", "script"];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(directory).unwrap().flatten() {
            let (path, name) = (entry.path(), entry.file_name().into_string().unwrap());
            if path.is_dir() {
                open.push(path);
            } else if !sources.contains(&&*name) {
                search.check(&name, &fs::read(&path).unwrap());
            }
        }
    }
    // What the host keeps of us, and what its server wrote down.
    let machine = &desk.machines[0];
    search.check("the log of the server", machine.server.log().as_bytes());
    for (path, leaf) in machine.tree() {
        if path.starts_with("var/tmp/fleet") {
            search.check(&path, leaf.content.as_bytes());
        }
    }
}

#[test]
fn no_secret_stands_anywhere_while_hosts_are_planned_and_changed() {
    let (mut desk, search) = desk();
    let check = |desk: &Desk, words: &[&str]| {
        let common = ["--log", "trace", "--log-file", "log"];
        let told = ["--json-into", "events", "--auto-approve"];
        let runs = if words[0] == "plan" { &[][..] } else { &told[..] };
        let words: Vec<&str> = words.iter().chain(runs).chain(&common).copied().collect();
        let (ran, seen) = watched(&search, |_| desk.site.fleet_words(&words));
        assert_eq!(seen, BTreeSet::new(), "{words:?}");
        search.check("output", ran.stdout.as_bytes());
        search.check("errors", ran.stderr.as_bytes());
        check_files(desk, &search);
        ran
    };
    let plans = |desk: &Desk| {
        check(desk, &["plan", "--out", "saved"]).ok();
        check(desk, &["plan", "--json"]).ok();
        check(desk, &["plan", "--format", "markdown"]).ok();
        check(desk, &["plan", "--resolve-secrets"]).ok();
    };
    plans(&desk);
    check(&desk, &["apply"]).ok();
    assert_eq!(desk.machine("a").read("etc/secret"), format!("before {CONTENT} after"));
    assert!(desk.machine("a").read("etc/hosts").contains(SCRIPT));
    plans(&desk);
    desk.check_converged();
    // Behind our back.
    fs::write(desk.machine("a").path("etc/secret"), "tampered").unwrap();
    plans(&desk);
    check(&desk, &["apply"]).ok();
    desk.check_converged();
    // Errors.
    desk.inside(
        &INSIDE
            .replace("/etc/secret", "/no/such/place")
            .replace("sleep 0.3;", "exit 3;")
            .replace("yes", "no"),
    );
    let ran = check(&desk, &["apply"]);
    assert!(ran.stderr.contains("cannot be written") && ran.stderr.contains("the script failed"), "{ran:?}");
    desk.inside("");
    plans(&desk);
    check(&desk, &["apply"]).ok();
    check(&desk, &["destroy"]).ok();
}

#[test]
fn no_secret_is_told_to_a_process_of_its_own_either() {
    let (desk, search) = desk();
    let (output, seen) = watched(&search, |_| finish(desk.site.spawn_with_path(["apply", "--auto-approve"])));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(seen, BTreeSet::new());
    check_files(&desk, &search);
}

#[test]
fn planted_leaks_are_found() {
    // Other tests look at the same processes, for secrets of theirs.
    let (planted, told) = ("planted-in-the-environment", "planted-among-the-arguments");
    let ((), seen) = watched(&Search::new(&[planted, told]), |looks| {
        let mut cat = Command::new("/bin/cat");
        let mut cat = cat.env("LEAK", planted).stdin(Stdio::piped()).spawn().unwrap();
        let mut shell = Command::new("/bin/sh");
        let mut shell = shell.args(["-c", "read -r line", told]).stdin(Stdio::piped()).spawn().unwrap();
        let before = looks.load(Ordering::Relaxed);
        until("somebody looked at both", || looks.load(Ordering::Relaxed) > before + 1);
        for process in [&mut cat, &mut shell] {
            drop(process.stdin.take());
            process.wait().unwrap();
        }
    });
    let found: BTreeSet<&str> = seen.iter().map(|(secret, _)| secret.as_str()).collect();
    assert_eq!(found, BTreeSet::from([planted, told]));
    // What is not marked as secret is seen in the plan, the saved plan, the state and the list of the host.
    let (desk, search) = desk();
    let text = desk.site.read(super::desk::MAIN);
    let leaking = text.replace("content = secret.script", &format!("content = {SCRIPT:?}"));
    desk.site.write(super::desk::MAIN, &leaking);
    let plan = desk.site.fleet(["plan", "--out", "saved"]).ok();
    assert!(!search.find(plan.as_bytes()).is_empty());
    assert!(!search.find(&fs::read(desk.site.path().join("saved")).unwrap()).is_empty());
    desk.apply();
    assert!(!search.find(&fs::read(desk.site.path().join(".fleet/state.db")).unwrap()).is_empty());
    let tree = desk.machines[0].tree();
    let mut listed = tree.iter().filter(|(path, _)| path.starts_with("var/tmp/fleet/ledger.d/"));
    assert!(listed.any(|(_, leaf)| !search.find(leaf.content.as_bytes()).is_empty()));
}

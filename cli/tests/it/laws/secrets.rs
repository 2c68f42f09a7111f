//! No secret in a plan, the state, the log, the events or an error.

use std::fs;
use std::thread;

use fleet_test_provider::world::TOKEN;
use fleet_test_provider::{Fault, Operation};

use super::search::Search;
use super::{Lab, contents};

/// What is secret: with characters that every way of writing treats in its own way.
const PASSWORD: &str = "pass \"w\\ört/+%=&? 7\n#é";
const JOIN_TOKEN: &str = "join-token-éß/+~{}[]'$";
const CONTENT: &str = "content-of-a-file-\"\\/+=\nsecond line of it";
const SOURCED: &str = "from-a-file-of-its-own-+/=";
/// What the world gives, with the id of the server after it.
const CONSOLE_KEY: &str = "console-key-of-srv-";

const ALL: [&str; 6] = [PASSWORD, JOIN_TOKEN, CONTENT, SOURCED, CONSOLE_KEY, TOKEN];

const MAIN: &str = r#"
variable "password" {
  type      = string
  sensitive = true
}
variable "join_token" {
  type      = string
  sensitive = true
}
variable "content" {
  type      = string
  sensitive = true
}

secret "sourced" {
  from = "file:sourced"
}

resource "test_server" "first" {
  name       = "first"
  password   = var.password
  join_token = var.join_token
}

resource "test_server" "second" {
  name     = "second"
  password = secret.sourced
}

resource "core_file" "secret" {
  path    = "secret.txt"
  content = "before ${var.content} after"
}

resource "core_file" "key" {
  path    = "key.txt"
  content = test_server.first.console_key
}

output "password" {
  value     = "it is ${test_server.first.password}"
  sensitive = true
}

output "key" {
  value     = test_server.first.console_key
  sensitive = true
}
"#;

fn lab() -> Lab {
    let lab = Lab::new(MAIN);
    let quoted = |text: &str| serde_json::to_string(text).unwrap();
    let values = [("password", PASSWORD), ("join_token", JOIN_TOKEN), ("content", CONTENT)];
    let values: String = values.iter().map(|(name, value)| format!("{name} = {}\n", quoted(value))).collect();
    lab.site.write("fleet.vars.hcl", &values);
    lab.site.write("sourced", SOURCED);
    lab
}

/// Runs a command with everything it can tell, and looks at all of that and at the state.
#[track_caller]
fn check(lab: &Lab, search: &Search, words: &[&str]) -> String {
    let common = ["--log", "trace", "--log-file", "log"];
    let told = ["--json-into", "events", "--auto-approve"];
    let runs = if words[0] == "plan" { &[][..] } else { &told[..] };
    let words: Vec<&str> = words.iter().chain(runs).chain(&common).copied().collect();
    let ran = lab.site.fleet_words(&words);
    let place = words.join(" ");
    search.check(&place, ran.stdout.as_bytes());
    search.check(&place, ran.stderr.as_bytes());
    for name in ["log", "events", "saved"] {
        if let Ok(bytes) = fs::read(lab.site.path().join(name)) {
            search.check(name, &bytes);
        }
    }
    check_state(lab, search);
    ran.stdout + &ran.stderr
}

/// The database, its journals, and whatever else lies beside it.
#[track_caller]
fn check_state(lab: &Lab, search: &Search) {
    for (name, (bytes, _)) in contents(lab.site.path()) {
        if name.starts_with(".fleet/") {
            search.check(&name, &bytes);
        }
    }
    search.check("the state", format!("{:?}", lab.state()).as_bytes());
}

fn check_plans(lab: &Lab, search: &Search) {
    check(lab, search, &["plan", "--out", "saved"]);
    check(lab, search, &["plan", "--json"]);
    check(lab, search, &["plan", "--format", "markdown"]);
    check(lab, search, &["plan", "--resolve-secrets"]);
    check(lab, search, &["plan", "--destroy"]);
    check(lab, search, &["plan", "--refresh-only"]);
    search.check("show", lab.site.fleet(["show", "saved"]).ok().as_bytes());
    fs::remove_file(lab.site.path().join("saved")).unwrap();
}

#[test]
fn no_secret_stands_anywhere_through_the_life_of_a_thing() {
    let (lab, search) = (lab(), Search::new(&ALL));
    check_plans(&lab, &search);
    check(&lab, &search, &["apply"]);
    assert_eq!(lab.world.server("first").password.as_deref(), Some(PASSWORD));
    assert_eq!(lab.site.read("secret.txt"), format!("before {CONTENT} after"));
    lab.check_converged();
    check_plans(&lab, &search);

    // Behind our back.
    let other = "another-password-of-somebody";
    let search = Search::new(&[&ALL[..], &[other, "another-content-of-somebody"]].concat());
    lab.world.change("first", |server| server.password = Some(other.into()));
    lab.site.write("secret.txt", "another-content-of-somebody");
    check_plans(&lab, &search);
    check(&lab, &search, &["apply"]);
    assert_eq!(lab.world.server("first").password.as_deref(), Some(PASSWORD));
    lab.check_converged();

    // In the file, and replaced.
    lab.edit("before ${", "now ${");
    lab.edit("name       = \"first\"", "name       = \"renamed\"");
    check_plans(&lab, &search);
    check(&lab, &search, &["apply"]);
    lab.check_converged();

    // Not secret any more, as far as the configuration says: what was secret stays so.
    lab.edit("content = \"now ${var.content} after\"", "content = \"public\"");
    check_plans(&lab, &search);
    check(&lab, &search, &["apply"]);

    // Not declared any more.
    lab.edit("resource \"core_file\" \"key\" {", "resource \"core_file\" \"other_key\" {");
    lab.edit("key.txt", "other.txt");
    check_plans(&lab, &search);
    check(&lab, &search, &["apply"]);
    check(&lab, &search, &["destroy"]);
    assert!(lab.world.servers().is_empty());
}

#[test]
fn no_secret_stands_in_the_journal_while_a_step_is_under_way() {
    let (lab, search) = (lab(), Search::new(&ALL));
    let begun = |operation: Operation, command: &str| {
        let before = lab.world.calls(operation);
        lab.world.hold(operation);
        thread::scope(|scope| {
            let run = scope.spawn(|| lab.run(command, &[]));
            lab.world.until(|seen| seen.calls.get(&operation).is_some_and(|n| *n > before));
            let names: Vec<String> = contents(&lab.site.path().join(".fleet")).into_keys().collect();
            assert!(names.iter().any(|name| name.ends_with("-wal")), "{names:?}");
            assert!(!lab.state().intents.is_empty());
            check_state(&lab, &search);
            lab.world.release();
            run.join().unwrap().ok();
        });
        check_state(&lab, &search);
    };
    begun(Operation::Create, "apply");
    lab.world.change("first", |server| server.password = Some("another-password-of-somebody".into()));
    begun(Operation::Update, "apply");
    begun(Operation::Delete, "destroy");
}

#[test]
fn no_secret_stands_in_an_error() {
    let search = Search::new(&ALL);
    let check = |fault: Fault, operation: Operation, expected: &str| {
        let lab = lab();
        lab.world.breaks(operation, 1.., fault);
        let said = check(&lab, &search, &["apply"]);
        assert!(said.contains(expected), "{said}");
        lab.world.mend();
        check(&lab, &search, &["apply"]);
        lab.check_converged();
    };
    check(Fault::Refused, Operation::Create, "cannot make server");
    check(Fault::Garbled, Operation::Create, "did not converge: `password` should be (sensitive value)");
}

#[test]
fn no_secret_stands_in_a_complaint_about_it() {
    let search = Search::new(&ALL);
    let check = |text: &str| {
        let lab = lab();
        lab.write(&format!("{MAIN}\n{text}"));
        let said = check(&lab, &search, &["plan"]);
        assert!(said.contains('×'), "{said}");
    };
    check("resource \"test_server\" \"x\" {\n  name = var.password\n}\n");
    check("resource \"test_server\" \"x\" {\n  name = \"x\"\n  size = var.password\n}\n");
    check("resource \"core_file\" \"x\" {\n  path = \"x\"\n  content = \"\"\n  mode = var.password\n}\n");
    check("resource \"core_value\" \"x\" {\n  input = var.password\n}\n");
    check(
        "resource \"core_file\" \"x\" {\n  for_each = toset([var.password])\n  path = \"x\"\n  content = \"\"\n}\n",
    );
    check("output \"x\" {\n  value = var.password\n}\n");
    check(
        "locals {\n  x = jsondecode(var.password)\n}\noutput \"x\" {\n  value = nonsensitive(local.x)\n}\n",
    );
}

#[test]
fn a_planted_leak_is_found_in_every_place_that_is_searched() {
    let search = Search::new(&ALL);
    let text = MAIN.replace("${var.content}", "${nonsensitive(var.content)}");
    let leaks = |ran: crate::support::Ran| !search.find((ran.stdout + &ran.stderr).as_bytes()).is_empty();
    let lab = lab();
    lab.write(&text);
    assert!(leaks(lab.site.fleet(["plan"])));
    assert!(leaks(lab.site.fleet(["plan", "--json", "--out", "saved"])));
    assert!(leaks(lab.site.fleet(["plan", "--format", "markdown"])));
    let found = |name: &str| !search.find(&fs::read(lab.site.path().join(name)).unwrap()).is_empty();
    assert!(found("saved"));
    lab.apply();
    assert!(found(".fleet/state.db"));
    assert!(!search.find(format!("{:?}", lab.state()).as_bytes()).is_empty());
}

//! A plan with something of everything, made by the command line from a real configuration, in every form.

use std::fs;

use insta::assert_snapshot;
use regex::Regex;

use crate::converge::site;
use crate::support::Site;

const SECRET: &str = "correct horse battery staple";

/// What is there before: a long text, something that will be replaced, and something that will go.
const BEFORE: &str = r#"
resource "core_value" "release" {
  triggers_replace = "1.0"
}

resource "core_file" "long" {
  path    = "long.txt"
  content = join("", [for n in range(200) : "line ${n}\n"])
}

resource "core_file" "renamed" {
  path    = "old.txt"
  content = "same"
}

resource "core_file" "gone" {
  path    = "gone.txt"
  content = "bye\n"
}

output "release" {
  value = core_value.release.triggers_replace
}
"#;

/// What is wished: creates, a change in a text of 200 lines, a forced replacement, a removal, a secret and a block
/// that is decided later with what depends on it.
const AFTER: &str = r#"
secret "token" {
  from = "file:token"
}

resource "core_value" "release" {
  triggers_replace = "2.0"
}

resource "core_file" "long" {
  path    = "long.txt"
  content = join("", [for n in range(200) : n == 100 ? "LINE ${n}\n" : "line ${n}\n"])
}

resource "core_file" "renamed" {
  path    = "new.txt"
  content = "same"
}

resource "core_file" "token" {
  path    = "token.txt"
  content = "token = ${secret.token}\n"
  mode    = "0600"
}

resource "core_file" "note" {
  path    = "note.txt"
  content = "release ${core_value.release.id}\n"
}

resource "core_file" "each" {
  for_each = toset([core_value.release.id])
  path     = "${each.key}.txt"
  content  = "x"
}

resource "core_file" "index" {
  path    = "index.txt"
  content = join("\n", [for file in core_file.each : file.path])
}

output "release" {
  value = core_value.release.triggers_replace
}
"#;

fn everything() -> Site {
    let site = site(BEFORE);
    site.fleet(["apply", "--auto-approve"]).ok();
    site.write("token", SECRET);
    site.write("main.fleet.hcl", AFTER);
    site
}

/// The text without what may be another in every run: times, digests, random names and how often the state was written.
fn lasting(text: &str) -> String {
    let patterns = [
        (r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "(uuid)"),
        (r"\b([0-9a-f]{64}|[0-9a-f]{16})\b", "(digest)"),
        (r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "(time)"),
        (r#"(serial"?:? ?)\d+"#, "${1}(serial)"),
    ];
    let hide = |text: String, (pattern, name): (&str, &str)| {
        Regex::new(pattern).unwrap().replace_all(&text, name).into_owned()
    };
    patterns.into_iter().fold(text.to_owned(), hide)
}

/// Prints the plan in a form, saves it, and sees that it prints the same where nothing else is known of it.
fn printed(options: &[&str]) -> (String, String) {
    let here = everything();
    let printed = here.fleet_words(&[&["plan", "--out", "saved.plan"], options].concat()).ok();
    let elsewhere = Site::empty();
    fs::copy(here.path().join("saved.plan"), elsewhere.path().join("saved.plan")).unwrap();
    let shown = elsewhere.fleet_words(&[&["show", "saved.plan"], options].concat()).ok();
    assert_eq!(shown, printed);
    let saved = here.read("saved.plan");
    for text in [&printed, &saved] {
        assert!(!text.contains(SECRET), "{text}");
    }
    (printed, saved)
}

#[test]
fn as_text() {
    assert_snapshot!(lasting(&printed(&[]).0));
}

#[test]
fn as_json() {
    assert_snapshot!(lasting(&printed(&["--json"]).0));
}

#[test]
fn as_markdown() {
    assert_snapshot!(lasting(&printed(&["--format", "markdown"]).0));
}

#[test]
fn as_saved() {
    assert_snapshot!(lasting(&printed(&[]).1));
}

#[test]
fn and_it_is_what_runs() {
    let site = everything();
    site.fleet(["plan", "--out", "saved.plan"]).ok();
    site.fleet(["apply", "saved.plan", "--auto-approve"]).ok();
    assert_eq!(site.read("token.txt"), format!("token = {SECRET}\n"));
    assert!(site.read("index.txt").ends_with(".txt") && !site.path().join("gone.txt").exists());
    assert_eq!(site.fleet(["plan"]).ok(), "No changes.\n");
}

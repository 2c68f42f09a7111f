//! What a run tells people and programs.

use fleet_cli::Exit;
use fleet_test_provider::{Fault, Operation, World};
use serde_json::Value as Json;

use crate::support::Site;

/// Two servers; the second needs the first.
const TWO: &str = r#"
resource "test_server" "first" {
  name = "first"
}
resource "test_server" "second" {
  name        = "second"
  description = test_server.first.id
}
"#;

fn site(world: &World) -> Site {
    let site = Site::empty();
    site.write("world.fleet.hcl", &world.configuration());
    site.write("main.fleet.hcl", TWO);
    site
}

fn lines(text: &str) -> Vec<Json> {
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"))).collect()
}

/// The lines of a type, each as some of its fields.
fn told(lines: &[Json], kind: &str, fields: &[&str]) -> Vec<Vec<String>> {
    let of_kind = lines.iter().filter(|line| line["type"] == kind);
    let text = |json: &Json| json.as_str().map_or_else(|| json.to_string(), str::to_owned);
    of_kind.map(|line| fields.iter().map(|field| text(&line[*field])).collect()).collect()
}

#[test]
fn a_run_for_programs() {
    let world = World::start();
    let site = site(&world);
    let printed = site.fleet(["apply", "--auto-approve", "--json"]).ok();
    let lines = lines(&printed);
    assert_eq!(lines[0]["type"], "version");
    assert_eq!(lines[0]["command"], "apply");
    assert_eq!(told(&lines, "observing", &["session", "questions"]), [["test", "1"]]);
    assert_eq!(told(&lines, "wave_started", &["wave", "steps"]), [["1", "2"]]);
    let (first, second) = ("test_server.first", "test_server.second");
    assert_eq!(told(&lines, "step_started", &["address", "action"]), [[first, "create"], [second, "create"]]);
    assert_eq!(told(&lines, "step_ended", &["address", "outcome"]), [[first, "done"], [second, "done"]]);
    let last = lines.last().unwrap();
    assert_eq!((&last["type"], &last["counts"]["done"]), (&"finished".into(), &2.into()));
    assert!(lines.iter().all(|line| line["at"].is_string()));
}

#[test]
fn a_run_for_programs_beside_that_for_people() {
    let world = World::start();
    let site = site(&world);
    let alone = site.fleet(["apply", "--auto-approve", "--json"]).ok();
    site.fleet(["destroy", "--auto-approve"]).ok();
    let ran = site.fleet(["apply", "--auto-approve", "--json-into", "events.jsonl"]);
    assert!(ran.stdout.contains("Done: 2 created."), "{}", ran.stdout);
    assert_eq!(
        ran.stderr,
        "test_server.first: creating\ntest_server.first: created\n\
         test_server.second: creating\ntest_server.second: created\n"
    );
    let types = |text: &str| told_types(&lines(text));
    assert_eq!(types(&site.read("events.jsonl")), types(&alone));
}

#[test]
fn programs_are_told_what_is_planned_and_what_is_wrong() {
    let site = Site::empty();
    let check = |text: &str, args: &[&str], kind: &str, fields: &[&str], expected: &[&str]| {
        site.write("main.fleet.hcl", text);
        let ran = site.fleet_words(&[&["apply", "--json"], args].concat());
        let lines = lines(&ran.stdout);
        assert_eq!(told(&lines, kind, fields), [expected], "{}", ran.stdout);
        assert_eq!(lines.last().unwrap()["type"], "finished");
        ran.exit
    };
    let value = "resource \"core_value\" \"v\" {}\n";
    let exit = check(value, &[], "error", &["message"], &["with `--json` nobody is asked, nothing was done"]);
    assert_eq!(exit, Exit::Failed);
    let wrong = ["error", "unknown address", "core_value.w"];
    let exit = check(
        value,
        &["--target", "core_value.w"],
        "diagnostic",
        &["severity", "summary", "address"],
        &wrong,
    );
    assert_eq!(exit, Exit::Failed);
    let exit = check(value, &["--auto-approve"], "planned", &["wave"], &["1"]);
    assert_eq!(exit, Exit::Done);
    let failing = format!(
        "{value}check \"c\" {{\n  assert {{\n    condition     = core_value.v.id == \"\"\n    error_message = \"odd\"\n  }}\n}}\n"
    );
    let warning = ["warning", "check `c` does not hold", "odd"];
    let exit =
        check(&failing, &["--auto-approve"], "diagnostic", &["severity", "summary", "detail"], &warning);
    assert_eq!(exit, Exit::Done);
}

fn told_types(lines: &[Json]) -> Vec<String> {
    lines.iter().map(|line| line["type"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn nobody_is_asked_for_programs() {
    let world = World::start();
    let ran = site(&world).fleet(["apply", "--json"]);
    assert_eq!(ran.exit, Exit::Failed);
    assert!(ran.stderr.contains("help: add `--auto-approve`"), "{}", ran.stderr);
    assert_eq!(lines(&ran.stdout).last().unwrap()["type"], "finished");
    assert_eq!(world.servers(), []);
}

#[test]
fn a_failure_is_told_with_what_was_done_and_what_was_not() {
    let world = World::start();
    world.breaks(Operation::Create, 1.., Fault::Refused);
    let site = site(&world);
    let ran = site.fleet(["apply", "--auto-approve", "--json"]);
    assert_eq!(ran.exit, Exit::Failed);
    let lines = lines(&ran.stdout);
    let (first, second) = ("test_server.first", "test_server.second");
    let ended = told(&lines, "step_ended", &["address", "outcome", "effect", "because"]);
    assert_eq!(ended, [[first, "failed", "none", "null"], [second, "skipped", "null", first]]);
    let ran = site.fleet(["apply", "--auto-approve"]);
    let expected = "test_server.first: failed: cannot make server `first`: the world answered 422 Unprocessable Entity\n  \
                    Nothing was changed.\n\
                    test_server.second: skipped, because test_server.first was not done\n";
    assert!(ran.stderr.contains(expected), "{}", ran.stderr);
    assert!(ran.stdout.contains("Done: 1 failed, 1 skipped."), "{}", ran.stdout);
}

#[test]
fn a_busy_world_is_tried_again() {
    let world = World::start();
    world.breaks(Operation::Create, 1..=1, Fault::Busy(0));
    let printed = site(&world).fleet(["apply", "--auto-approve", "--json"]).ok();
    let retries = told(&lines(&printed), "retrying", &["address", "attempt", "message"]);
    let message = "cannot make server `first`: the world answered 429 Too Many Requests";
    assert_eq!(retries, [["test_server.first", "1", message]]);
    assert_eq!(world.servers().len(), 2);
}

#[test]
fn a_log_follows_each_step_and_shows_no_secret() {
    let world = World::start();
    let site = site(&world);
    let ran = site.fleet(["apply", "--auto-approve", "--log-file", "fleet.log", "--log", "trace"]);
    ran.ok();
    let log = site.read("fleet.log");
    for expected in
        ["step begins object=test_server.second action=\"create\"", "looked session=test failed=0"]
    {
        assert!(log.contains(expected), "{log}");
    }
    assert!(!log.contains(fleet_test_provider::world::TOKEN), "{log}");
    assert!(log.lines().all(|line| line.contains(" fleet_")), "{log}");
}

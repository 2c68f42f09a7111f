//! Plan, apply and destroy: the laws, on files.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use fleet_cli::Exit;
use fleet_engine::address::Address;
use fleet_engine::provider::Session;
use fleet_engine::state::{Intent, Object, Operation, Recorded, State, Store, Write};
use fleet_lang::Value;
use fleet_store::{Backend, Database, Holder, Summary};

use crate::support::Site;

/// One file, and one that depends on it through a value.
const TWO: &str = r#"
resource "core_value" "v" {
  input = "one"
}

resource "core_file" "a" {
  path    = "a.txt"
  content = "first\n"
}

resource "core_file" "b" {
  path    = "b.txt"
  content = "${core_value.v.output} ${core_file.a.path}\n"
  mode    = "0600"
}
"#;

fn backend(site: &Site) -> Backend {
    Backend::Sqlite(site.path().join(".fleet/state.db"))
}

fn state(site: &Site) -> State {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(fleet_store::read(&backend(site))).unwrap()
}

pub(crate) fn site(text: &str) -> Site {
    let site = Site::empty();
    site.write("main.fleet.hcl", text);
    site
}

fn applied(text: &str) -> Site {
    let site = site(text);
    site.fleet(["apply", "--auto-approve"]).ok();
    site
}

fn edit(site: &Site, from: &str, to: &str) {
    let text = site.read("main.fleet.hcl");
    assert!(text.contains(from), "{from} in {text}");
    site.write("main.fleet.hcl", &text.replace(from, to));
}

/// Every file of a directory with its content and mode.
fn contents(directory: &Path) -> BTreeMap<String, (Vec<u8>, u32)> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            found.extend(contents(&path));
        } else {
            let mode = entry.metadata().unwrap().permissions().mode();
            found.insert(path.display().to_string(), (fs::read(&path).unwrap(), mode));
        }
    }
    found
}

/// The lines of a plan that name a change: signs and attributes.
fn changes(plan: &str) -> Vec<String> {
    let word = |line: &str| line.split_whitespace().take(2).collect::<Vec<_>>().join(" ");
    let steps = plan.split_once("What apply will do:").map_or(plan, |(_, steps)| steps);
    let signs = ["+ ", "~ ", "- ", "-/+ "];
    let signed = |line: &&str| signs.iter().any(|sign| line.trim_start().starts_with(sign));
    steps.lines().filter(signed).map(word).collect()
}

#[track_caller]
fn check_plan(site: &Site, expected: &[&str]) {
    let plan = site.fleet(["plan"]).ok();
    assert_eq!(changes(&plan), expected, "{plan}");
}

#[test]
fn plan_after_apply_is_empty_and_apply_twice_is_apply_once() {
    let site = applied(TWO);
    assert_eq!(site.read("a.txt"), "first\n");
    assert_eq!(site.read("b.txt"), "one a.txt\n");
    assert_eq!(site.fleet(["plan"]).ok(), "No changes.\n");
    // The history of the state tells of the second run; the state itself does not.
    let look = || {
        let files = contents(site.path()).into_iter().filter(|(path, _)| !path.contains("/.fleet/"));
        (files.collect::<Vec<_>>(), state(&site))
    };
    let before = look();
    assert_eq!(site.fleet(["apply"]).ok(), "No changes.\n");
    assert_eq!(look(), before);
}

#[test]
fn plan_changes_nothing() {
    let site = site(TWO);
    let before = contents(site.path());
    site.fleet(["plan"]).ok();
    assert_eq!(contents(site.path()), before);

    site.fleet(["apply", "--auto-approve"]).ok();
    edit(&site, "first", "second");
    let before = contents(site.path());
    site.fleet(["plan"]).ok();
    assert_eq!(contents(site.path()), before);
}

#[test]
fn each_field_that_changes_in_the_file_is_planned_alone() {
    let check = |from: &str, to: &str, expected: &[&str]| {
        let site = applied(TWO);
        edit(&site, from, to);
        check_plan(&site, expected);
        site.fleet(["apply", "--auto-approve"]).ok();
        assert_eq!(site.fleet(["plan"]).ok(), "No changes.\n");
    };
    check("first", "second", &["~ core_file.a", "~ content"]);
    check("0600", "0640", &["~ core_file.b", "~ mode"]);
    check("b.txt", "c.txt", &["-/+ core_file.b", "~ path"]);
    check("one", "two", &["~ core_file.b", "~ content", "~ core_value.v", "~ input", "~ output"]);
}

#[test]
fn each_field_that_changes_behind_our_back_is_seen_and_mended() {
    let check = |drift: fn(&Path), expected: &[&str]| {
        let site = applied(TWO);
        let before = contents(site.path());
        drift(&site.path().join("a.txt"));
        check_plan(&site, expected);
        site.fleet(["apply", "--auto-approve"]).ok();
        assert_eq!(site.fleet(["plan"]).ok(), "No changes.\n");
        let files = |all: &BTreeMap<String, (Vec<u8>, u32)>| {
            all.iter()
                .filter(|(path, _)| path.ends_with(".txt"))
                .map(|(_, file)| file.clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(files(&contents(site.path())), files(&before));
    };
    check(|path| fs::write(path, "odd").unwrap(), &["~ core_file.a", "~ content"]);
    check(|path| fs::write(path, [0xff, 0xfe]).unwrap(), &["~ core_file.a", "+ content"]);
    check(
        |path| fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap(),
        &["~ core_file.a", "~ mode"],
    );
    check(|path| fs::remove_file(path).unwrap(), &["+ core_file.a", "+ content", "+ mode", "+ path"]);
}

#[test]
fn destroy_leaves_nothing_and_can_be_repeated() {
    let site = applied(TWO);
    check_plan(&site, &[]);
    let said = site.fleet(["destroy", "--auto-approve"]).ok();
    assert!(said.ends_with("Done: 3 destroyed.\n"), "{said}");
    let left: Vec<_> = contents(site.path()).into_keys().filter(|path| path.ends_with(".txt")).collect();
    assert_eq!(left, Vec::<String>::new());
    assert_eq!(site.fleet(["destroy", "--auto-approve"]).ok(), "No changes.\n");
}

#[test]
fn what_is_not_declared_any_more_goes() {
    let site = applied(TWO);
    let text = site.read("main.fleet.hcl");
    let (before, _) = text.split_once("resource \"core_file\" \"b\"").unwrap();
    site.write("main.fleet.hcl", before);
    check_plan(&site, &["- core_file.b", "- content", "- mode", "- path"]);
    site.fleet(["apply", "--auto-approve"]).ok();
    assert!(!site.path().join("b.txt").exists());
    assert_eq!(site.fleet(["plan"]).ok(), "No changes.\n");
}

#[test]
fn what_is_there_is_found_again_after_the_state_was_lost() {
    let text = r#"
resource "core_file" "a" {
  path    = "a.txt"
  content = "first\n"
}
"#;
    let site = applied(text);
    fs::remove_dir_all(site.path().join(".fleet")).unwrap();
    assert_eq!(site.fleet(["plan"]).ok(), "No changes. 1 record will be brought up to date.\n");
    // Apply records it again, so that it is known to destroy.
    site.fleet(["apply", "--auto-approve"]).ok();
    site.fleet(["destroy", "--auto-approve"]).ok();
    assert!(!site.path().join("a.txt").exists());
}

#[test]
fn a_thing_under_a_new_name_stays() {
    let site = applied(TWO);
    edit(&site, "\"core_file\" \"b\"", "\"core_file\" \"c\"");
    assert_eq!(site.fleet(["plan"]).ok(), "No changes. 2 records will be brought up to date.\n");
    site.fleet(["apply"]).ok();
    assert_eq!(site.read("b.txt"), "one a.txt\n");
    assert_eq!(site.fleet(["plan"]).ok(), "No changes.\n");
}

#[test]
fn a_failed_step_skips_what_depends_on_it_and_nothing_else() {
    let text = r#"
resource "core_file" "bad" {
  path    = "no/such/place.txt"
  content = "x"
}

resource "core_file" "after" {
  path    = "after.txt"
  content = core_file.bad.content
}

resource "core_file" "other" {
  path    = "other.txt"
  content = "y"
}
"#;
    let site = site(text);
    let ran = site.fleet(["apply", "--auto-approve"]);
    assert_eq!(ran.exit, Exit::Failed);
    assert!(ran.stdout.ends_with("Done: 1 created, 1 failed, 1 skipped.\n"), "{}", ran.stdout);
    assert!(
        ran.stderr.contains("core_file.bad: failed: cannot write `no/such/place.txt`: "),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stderr.contains("core_file.after: skipped, because core_file.bad was not done"),
        "{}",
        ran.stderr
    );
    assert!(site.path().join("other.txt").exists());
    assert!(!site.path().join("after.txt").exists());

    fs::create_dir_all(site.path().join("no/such")).unwrap();
    site.fleet(["apply", "--auto-approve"]).ok();
    assert_eq!(site.read("after.txt"), "x");
    assert_eq!(site.fleet(["plan"]).ok(), "No changes.\n");
}

#[test]
fn what_cannot_be_told_yet_is_decided_by_a_following_wave() {
    let text = r#"
resource "core_value" "v" {
  triggers_replace = "one"
}

resource "core_file" "f" {
  for_each = toset(["${substr(core_value.v.id, 0, 0)}${core_value.v.triggers_replace}"])
  path     = "${each.key}.txt"
  content  = "x"
}
"#;
    let site = applied(text);
    assert!(site.path().join("one.txt").exists());

    edit(&site, "\"one\"", "\"two\"");
    let plan = site.fleet(["plan"]).ok();
    assert_eq!(changes(&plan), ["-/+ core_value.v", "~ id", "~ triggers_replace"], "{plan}");
    assert!(plan.contains("? core_file.f  # once core_value.v.id is known"), "{plan}");
    site.fleet(["apply", "--auto-approve"]).ok();
    assert!(!site.path().join("one.txt").exists());
    assert!(site.path().join("two.txt").exists());
    assert_eq!(site.fleet(["plan"]).ok(), "No changes.\n");
}

#[test]
fn what_must_hold_before_holds_at_apply_too() {
    let text = r#"
resource "core_value" "v" {}

resource "core_value" "w" {
  input = "${substr(core_value.v.id, 0, 0)}wrong"
}

resource "core_file" "guarded" {
  path    = "guarded.txt"
  content = "x"
  lifecycle {
    precondition {
      condition     = core_value.w.output == "right"
      error_message = "The value must be right."
    }
  }
}

resource "core_file" "after" {
  path       = "after.txt"
  content    = "y"
  depends_on = [core_file.guarded]
}
"#;
    let site = site(text);
    // Whether it holds is only known once the value was made.
    site.fleet(["plan"]).ok();
    let complaint = site.fleet(["apply", "--auto-approve"]).failed();
    assert!(complaint.contains("The value must be right."), "{complaint}");
    assert!(!site.path().join("guarded.txt").exists());
    assert!(!site.path().join("after.txt").exists());
    edit(&site, "wrong", "right");
    site.fleet(["apply", "--auto-approve"]).ok();
    assert_eq!(site.read("after.txt"), "y");
}

#[test]
fn what_cannot_be_is_refused_before_anything_is_done() {
    let check = |argument: &str, expected: &str| {
        let site = site(&format!(
            "resource \"core_file\" \"a\" {{\n  path = \"a\"\n  content = \"x\"\n  {argument}\n}}\n"
        ));
        let complaint = site.fleet(["apply", "--auto-approve"]).failed();
        assert!(complaint.contains(expected), "{complaint}");
        assert!(!site.path().join("a").exists());
    };
    check("mode = \"rw\"", "octal digits");
    check("mode = sensitive(\"0644\")", "sensitive");
}

#[test]
fn what_is_protected_stays() {
    let text = r#"
resource "core_file" "a" {
  path    = "a.txt"
  content = "x"
  lifecycle {
    prevent_destroy = true
  }
}
"#;
    let site = applied(text);
    let complaint = site.fleet(["destroy", "--auto-approve"]).failed();
    assert!(complaint.contains("protected from being destroyed"), "{complaint}");
    edit(&site, "a.txt", "b.txt");
    let complaint = site.fleet(["plan"]).failed();
    assert!(complaint.contains("protected from being destroyed"), "{complaint}");
    assert!(site.path().join("a.txt").exists());
}

#[test]
fn what_a_crash_left_behind_is_settled_by_looking() {
    // As if killed after the file was made and before that was recorded: the intent is still open.
    let crashed = |site: &Site| {
        let value = |text: &str| Value::from(text);
        let made = [("content", value("x")), ("mode", value("0644")), ("path", value("a.txt"))];
        let record = Recorded {
            session: Session::of("core"),
            kind: "core_file".into(),
            version: 1,
            value: Value::object(made.map(|(name, value)| (name.into(), value)).into()),
            sealed: [].into(),
            depends_on: [].into(),
            create_before_destroy: false,
            epoch: None,
        };
        let intent = Intent { operation: Operation::Create, record };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let database =
                Database::open(&backend(site), &Holder::of_process("test", |_| None), None).await.unwrap();
            let object = Object::current(Address::parse("core_file.a").unwrap());
            database.write(Write::Begin { object, intent }).await.unwrap();
            database.close(Summary::default()).await.unwrap();
        });
        site.write("a.txt", "x");
    };
    let open_intents = |site: &Site| state(site).intents.len();
    let declared = site("resource \"core_file\" \"a\" {\n  path = \"a.txt\"\n  content = \"x\"\n}\n");
    crashed(&declared);
    assert_eq!(open_intents(&declared), 1);
    let said = declared.fleet(["apply"]).ok();
    assert_eq!(
        said,
        "No changes. 1 record will be brought up to date.\nDone: 1 record brought up to date.\n"
    );
    assert_eq!(open_intents(&declared), 0);

    let not_declared_any_more = site("");
    crashed(&not_declared_any_more);
    check_plan(&not_declared_any_more, &["- core_file.a", "- content", "- mode", "- path"]);
    not_declared_any_more.fleet(["apply", "--auto-approve"]).ok();
    assert!(!not_declared_any_more.path().join("a.txt").exists());
    assert_eq!(open_intents(&not_declared_any_more), 0);

    let never_made = site("");
    crashed(&never_made);
    fs::remove_file(never_made.path().join("a.txt")).unwrap();
    assert_eq!(
        never_made.fleet(["apply"]).ok(),
        "No changes. 1 record will be brought up to date.\nDone: 1 forgotten.\n"
    );
    assert_eq!(open_intents(&never_made), 0);
}

#[test]
fn the_state_is_where_the_settings_say() {
    let site = site("settings {\n  backend \"sqlite\" {\n    path = \"other/place.db\"\n  }\n}\n");
    site.fleet(["apply"]).ok();
    assert!(site.path().join("other/place.db").exists());
    assert!(!site.path().join(".fleet").exists());
    edit(&site, "sqlite", "elsewhere");
    let complaint = site.fleet(["plan"]).failed();
    assert!(complaint.contains("unknown backend `elsewhere`"), "{complaint}");
}

#[test]
fn only_yes_is_a_yes() {
    let site = site(TWO);
    let ran = site.fleet_with_input(["apply"], "y\n");
    assert_eq!(ran.exit, Exit::Failed);
    assert!(ran.stderr.contains("nothing was done"), "{}", ran.stderr);
    assert!(!site.path().join("a.txt").exists());
    site.fleet_with_input(["apply"], "yes\n").ok();
    assert!(site.path().join("a.txt").exists());
}

#[test]
fn the_exit_code_tells_of_changes_when_asked() {
    let site = site(TWO);
    assert_eq!(site.fleet(["plan", "--detailed-exitcode"]).exit, Exit::Changes);
    assert_eq!(site.fleet(["plan"]).exit, Exit::Done);
    site.fleet(["apply", "--auto-approve"]).ok();
    assert_eq!(site.fleet(["plan", "--detailed-exitcode"]).exit, Exit::Done);
}

#[test]
fn the_start_that_init_writes_can_be_applied() {
    let site = Site::empty();
    site.fleet(["init"]).ok();
    let said = site.fleet(["apply", "--auto-approve"]).ok();
    assert!(said.ends_with("inventory = \"./inventory.txt\"\n"), "{said}");
    assert_eq!(site.read("inventory.txt"), "10.0.0.11 desk-a\n10.0.0.12 desk-b\n");
    assert_eq!(site.fleet(["plan"]).ok(), "No changes.\n");
}

#[test]
fn the_readme_shows_the_plan_of_its_example() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let readme = fs::read_to_string(root.join("README.md")).unwrap();
    let example = fs::read_to_string(root.join("examples/fleets/desk/main.fleet.hcl")).unwrap();
    let block = |language: &str| {
        let (_, rest) = readme.split_once(&format!("```{language}\n")).unwrap();
        rest.split_once("```").unwrap().0
    };
    assert!(example.ends_with(block("hcl")), "README.md and the example differ");
    let site = site(&example);
    assert_eq!(site.fleet(["plan"]).ok(), block("text"));
    site.fleet(["apply", "--auto-approve"]).ok();
    assert_eq!(site.fleet(["plan"]).ok().lines().next(), Some("No changes."));
}

#[test]
fn one_of_many_is_known_before_the_others_are() {
    // Whoever picks one by its key does not wait for the others, directly or through a value or a module.
    let many = r#"
resource "core_value" "slow" {
  input = timestamp()
}

resource "core_value" "counted" {
  count = 2
  input = count.index == 0 ? timestamp() : core_value.slow.output
}

resource "core_value" "each" {
  for_each = toset(["a", "b"])
  input    = each.key == "a" ? timestamp() : core_value.slow.output
}

locals {
  first = core_value.counted[0].output
}
"#;
    for picked in [
        "core_value.counted[0].output",
        "core_value.each[\"a\"].output",
        "local.first",
        "try(core_value.counted[0].output, null)",
        "join(\",\", core_value.counted[*].output)",
    ] {
        let site = Site::empty();
        site.write(
            "main.fleet.hcl",
            &format!("{many}\nresource \"core_value\" \"user\" {{\n  input = {picked}\n}}\n"),
        );
        let said = site.fleet(["apply", "--auto-approve"]).ok();
        assert!(said.contains("Done: 6 created."), "{picked}: {said}");
    }
}

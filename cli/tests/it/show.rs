//! A plan in its forms, saved, and shown again where nothing else is known of it.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use fleet_cli::Exit;

use crate::support::Site;

const TEXT: &str = r#"
resource "core_value" "v" {
  triggers_replace = "one"
}

resource "core_file" "a" {
  path    = "a.txt"
  content = "first\nsecond\nthird\n"
}

resource "core_file" "each" {
  for_each = toset([core_value.v.id])
  path     = each.key
  content  = "x"
}
"#;

fn planned() -> Site {
    let site = Site::empty();
    site.write("main.fleet.hcl", TEXT);
    site
}

#[test]
fn a_saved_plan_prints_the_same_where_nothing_else_is_known() {
    let here = planned();
    for options in [&[][..], &["--json"], &["--format", "markdown"], &["--format", "json"]] {
        let printed = here.fleet_words(&[&["plan", "--out", "x.plan"], options].concat()).ok();
        let elsewhere = Site::empty();
        fs::copy(here.path().join("x.plan"), elsewhere.path().join("y.plan")).unwrap();
        let shown = elsewhere.fleet_words(&[&["show", "y.plan"], options].concat()).ok();
        assert_eq!(shown, printed);
        assert!(!printed.is_empty());
    }
}

#[test]
fn a_plan_is_saved_whole_and_may_be_read_by_all() {
    let site = planned();
    let said = site.fleet(["plan", "--out", "x.plan"]);
    assert!(said.stderr.contains("fleet apply x.plan"), "{}", said.stderr);
    let mode = |name: &str| fs::metadata(site.path().join(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode("x.plan"), 0o644);
    let before = site.read("x.plan");
    let complaint = site.fleet(["plan", "--out", "no/such/place.plan"]).failed();
    assert!(complaint.contains("the plan cannot be saved to `no/such/place.plan`"), "{complaint}");
    assert_eq!(site.read("x.plan"), before);
    let files = fs::read_dir(site.path()).unwrap().count();
    assert_eq!(files, 2, "no half-written file is left");
}

#[test]
fn what_is_wrong_with_a_file_is_said() {
    let site = planned();
    site.fleet(["plan", "--out", "x.plan"]).ok();
    let plan = site.read("x.plan");
    let check = |content: &str, expected: &str, help: &str| {
        site.write("y.plan", content);
        let complaint = site.fleet(["show", "y.plan"]).failed();
        assert!(complaint.contains("the plan `y.plan` cannot be read: "), "{complaint}");
        assert!(complaint.contains(expected) && complaint.contains(help), "{complaint}");
    };
    check(TEXT, "this is no plan of fleet", "fleet plan --out FILE");
    check(&plan[..plan.len() / 2], "the end of it is missing", "copy it again");
    check(&plan.replace("a.txt", "b.txt"), "it was changed after it was written", "make a new plan");
    check(
        &plan.replace("\"fleet_plan\":1", "\"fleet_plan\":99"),
        "a newer fleet wrote it",
        "use the fleet that",
    );
    assert!(site.fleet(["show", "none.plan"]).failed().contains("the plan `none.plan` cannot be read: "));
}

#[test]
fn the_forms_exclude_each_other() {
    let ran = planned().fleet(["plan", "--json", "--format", "markdown"]);
    assert_eq!(ran.exit, Exit::Failed);
    assert!(ran.stderr.contains("cannot be used with"), "{}", ran.stderr);
}

#[test]
fn programs_read_what_will_be_done() {
    let plan: serde_json::Value = serde_json::from_str(&planned().fleet(["plan", "--json"]).ok()).unwrap();
    assert_eq!(plan["format"], 1);
    assert_eq!(plan["summary"]["create"], 2);
    assert_eq!(plan["deferred"][0]["awaits"], "core_value.v.id");
    let file = &plan["steps"][0];
    assert_eq!((&file["address"], &file["action"]), (&"core_file.a".into(), &"create".into()));
    assert_eq!(file["after"]["path"], "a.txt");
    assert_eq!(file["declared_at"]["file"], "main.fleet.hcl");
}

//! What cannot be planned at once: blocks whose instances are decided during apply, and all that depends on them.

use crate::converge::site;
use crate::support::Site;

/// A value that is known once it was made.
const VALUE: &str = r#"
resource "core_value" "v" {
  triggers_replace = "one"
}

locals {
  one = "${substr(core_value.v.id, 0, 0)}${core_value.v.triggers_replace}"
}
"#;

const MODULE: &str = r#"
variable "name" {
  type = string
}

resource "core_file" "inner" {
  path    = "${var.name}.inner"
  content = "inner"
}

output "path" {
  value = core_file.inner.path
}
"#;

fn with_module(text: &str) -> Site {
    let site = site(&format!("{VALUE}{text}"));
    site.write("m/main.fleet.hcl", MODULE);
    site
}

/// The blocks that are decided later, and what each waits for.
fn decided_later(plan: &str) -> Vec<String> {
    let lines = plan.lines().filter_map(|line| line.trim_start().strip_prefix("? "));
    lines.map(|line| line.replace("  # once ", " ← ").replace(" is known", "")).collect()
}

#[test]
fn what_depends_on_what_is_decided_later_waits_with_it() {
    let cases: &[(&str, &[&str])] = &[
        // Through a value.
        (
            r#"
resource "core_file" "f" {
  for_each = toset([local.one])
  path     = "${each.key}.txt"
  content  = "x"
}

resource "core_file" "user" {
  path    = "user.txt"
  content = join(",", [for f in core_file.f : f.path])
}

resource "core_file" "user_of_user" {
  path    = "more.txt"
  content = "more ${core_file.user.content}"
}
"#,
            &[
                "core_file.f ← core_value.v.id",
                "core_file.user ← core_file.f",
                "core_file.user_of_user ← core_file.user",
            ],
        ),
        // In order only.
        (
            r#"
resource "core_file" "f" {
  count   = length(local.one) - 2
  path    = "${count.index}.txt"
  content = "x"
}

resource "core_file" "user" {
  path       = "user.txt"
  content    = "known"
  depends_on = [core_file.f]
}
"#,
            &["core_file.f ← core_value.v.id", "core_file.user ← core_file.f"],
        ),
        // Through the outputs of a module.
        (
            r#"
module "m" {
  source   = "./m"
  for_each = toset([local.one])
  name     = each.key
}

resource "core_file" "user" {
  path    = "user.txt"
  content = join(",", [for m in module.m : m.path])
}
"#,
            &["core_file.user ← module.m", "module.m ← core_value.v.id"],
        ),
        (
            r#"
module "m" {
  source   = "./m"
  for_each = toset([local.one])
  name     = each.key
}

resource "core_file" "user" {
  path       = "user.txt"
  content    = "known"
  depends_on = [module.m]
}
"#,
            &["core_file.user ← module.m", "module.m ← core_value.v.id"],
        ),
    ];
    for (text, later) in cases {
        let site = with_module(text);
        let plan = site.fleet(["plan"]).ok();
        let mut found = decided_later(&plan);
        found.sort();
        assert_eq!(found, *later, "{plan}");
        site.fleet(["apply", "--auto-approve"]).ok();
        assert!(site.path().join("user.txt").exists(), "{text}");
        assert_eq!(site.fleet(["plan"]).ok(), "No changes.\n", "{text}");

        // And when all of it is there already and changes.
        let changed = site.read("main.fleet.hcl").replace("\"one\"", "\"two\"").replace("known", "other");
        site.write("main.fleet.hcl", &changed);
        site.fleet(["apply", "--auto-approve"]).ok();
        assert_eq!(site.fleet(["plan"]).ok(), "No changes.\n", "{text}");
    }
}

#[test]
fn what_goes_waits_for_those_that_still_use_it() {
    let before = r#"
resource "core_file" "old" {
  path    = "old.txt"
  content = "old"
}

resource "core_file" "user" {
  path    = "user.txt"
  content = core_file.old.content
}
"#;
    let after = r#"
resource "core_file" "f" {
  for_each = toset([local.one])
  path     = "${each.key}.txt"
  content  = "x"
}

resource "core_file" "user" {
  path    = "user.txt"
  content = join(",", [for f in core_file.f : f.path])
}
"#;
    let site = site(before);
    site.fleet(["apply", "--auto-approve"]).ok();
    site.write("main.fleet.hcl", &format!("{VALUE}{after}"));
    let plan = site.fleet(["plan"]).ok();
    assert!(plan.contains("? core_file.old  # once core_file.user is known"), "{plan}");
    let told = site.fleet(["apply", "--auto-approve"]);
    let at = |line: &str| told.stderr.find(line).unwrap_or_else(|| panic!("{line} in {}", told.stderr));
    assert!(at("core_file.user: updated") < at("core_file.old: destroying"), "{}", told.stderr);
    assert_eq!(site.fleet(["plan"]).ok(), "No changes.\n");
}

#[test]
fn blocks_that_are_decided_later_can_be_chosen() {
    let text = r#"
resource "core_file" "f" {
  for_each = toset([local.one])
  path     = "${each.key}.txt"
  content  = "x"
}

resource "core_file" "ff" {
  for_each = toset([local.one])
  path     = "${each.key}.ff"
  content  = "x"
}

module "m" {
  source   = "./m"
  for_each = toset([local.one])
  name     = each.key
}

resource "core_file" "user" {
  path    = "user.txt"
  content = join(",", [for f in core_file.f : f.path])
}
"#;
    let check = |options: &[&str], later: &[&str], left_out: &[&str], files: &[&str]| {
        let site = with_module(text);
        let plan = site.fleet_words(&[&["plan"], options].concat()).ok();
        let mut found = decided_later(&plan);
        found.sort();
        assert_eq!(found, later, "{options:?}: {plan}");
        for line in left_out {
            assert!(plan.contains(line), "{options:?}: {line} in {plan}");
        }
        site.fleet_words(&[&["apply", "--auto-approve"], options].concat()).ok();
        let made = ["one.txt", "one.ff", "one.inner", "user.txt"];
        let made: Vec<_> = made.into_iter().filter(|name| site.path().join(name).exists()).collect();
        assert_eq!(made, files, "{options:?}");
    };
    let f = "core_file.f ← core_value.v.id";
    let (ff, m) = ("core_file.ff ← core_value.v.id", "module.m ← core_value.v.id");
    let user = "core_file.user ← core_file.f";
    check(&["--target", "core_file.f"], &[f], &["core_file.ff  # not targeted"], &["one.txt"]);
    check(&["--target", "core_file.f[\"one\"]"], &[f], &["module.m  # not targeted"], &["one.txt"]);
    check(
        &["--target", "core_file.user"],
        &[f, user],
        &["core_file.ff  # not targeted"],
        &["one.txt", "user.txt"],
    );
    check(&["--target", "module.m"], &[m], &["core_file.f  # not targeted"], &["one.inner"]);
    check(&["--target", "module.m[\"one\"].core_file.inner"], &[m], &[], &["one.inner"]);
    check(
        &["--exclude", "core_file.f"],
        &[ff, m],
        &["core_file.f  # excluded", "core_file.user  # depends on core_file.f, which is left out"],
        &["one.ff", "one.inner"],
    );
    check(
        &["--exclude", "module.m"],
        &[f, ff, user],
        &["module.m  # excluded"],
        &["one.txt", "one.ff", "user.txt"],
    );
    check(
        &["--exclude", "core_value.v"],
        &[],
        &[
            "core_file.f  # depends on core_value.v, which is left out",
            "module.m  # depends on core_value.v, which is left out",
        ],
        &[],
    );
}

#[test]
fn a_following_wave_is_approved_on_its_own() {
    let text = r#"
resource "core_file" "f" {
  for_each = toset([local.one])
  path     = "${each.key}.txt"
  content  = "x"
}
"#;
    let check = |args: &[&str], input: &str| {
        let site = with_module(text);
        site.fleet(["plan", "--out", "p"]).ok();
        let complaint = site.fleet_words_with_input(&[&["apply"], args].concat(), input).failed();
        // The first wave is done, and that must not be denied.
        assert!(complaint.contains("nothing more was done"), "{complaint}");
        assert!(complaint.contains("help: apply again"), "{complaint}");
        assert_eq!(site.fleet(["state", "list"]).ok(), "core_value.v\n");
    };
    check(&[], "yes\nno\n");
    check(&["p"], "");
    check(&["p", "--json"], "");
    let site = with_module(text);
    site.fleet_with_input(["apply"], "yes\nyes\n").ok();
    assert!(site.path().join("one.txt").exists());
}

//! Plans that are saved, reviewed and applied later; and things that are taken in.

use crate::converge::site;
use crate::support::Site;

const TWO: &str = r#"
resource "core_value" "v" {
  input = "1"
}

resource "core_file" "a" {
  path    = "a.txt"
  content = "a ${core_value.v.output}"
}

resource "core_file" "b" {
  path    = "b.txt"
  content = "b"
}
"#;

fn edit(site: &Site, from: &str, to: &str) {
    let text = site.read("main.fleet.hcl");
    assert!(text.contains(from), "{text}");
    site.write("main.fleet.hcl", &text.replace(from, to));
}

#[test]
fn the_plan_that_was_saved_is_the_one_that_runs() {
    let site = site(TWO);
    site.fleet(["plan", "--out", "p"]).ok();
    let shown = site.fleet(["show", "p"]).ok();
    let applied = site.fleet(["apply", "p"]).ok();
    assert!(applied.starts_with(&shown), "{applied}");
    assert_eq!(site.read("a.txt"), "a 1");
    assert_eq!(site.fleet(["plan"]).ok(), "No changes.\n");
}

#[test]
fn a_plan_that_does_not_fit_any_more_is_refused_with_what_moved() {
    let site = site(TWO);
    site.fleet(["apply", "--auto-approve"]).ok();
    edit(&site, "\"1\"", "\"2\"");
    edit(&site, "\"b\"\n}", "\"bb\"\n}");
    site.fleet(["plan", "--out", "p"]).ok();
    site.write("b.txt", "by hand");
    let complaint = site.fleet(["apply", "p"]).failed();
    assert!(complaint.contains("core_file.b: `content` has changed"), "{complaint}");
    assert_eq!((site.read("a.txt"), site.read("b.txt")), ("a 1".into(), "by hand".into()));

    // What is not affected can be done without it.
    site.fleet(["apply", "p", "--partial"]).ok();
    assert_eq!((site.read("a.txt"), site.read("b.txt")), ("a 2".into(), "by hand".into()));

    let complaint = site.fleet(["apply", "p"]).failed();
    assert!(complaint.contains("core_file.a: `content` has changed"), "{complaint}");
    edit(&site, "\"2\"", "\"3\"");
    let complaint = site.fleet(["apply", "p"]).failed();
    assert!(complaint.contains("the configuration is not the one that was planned"), "{complaint}");
    assert_eq!(site.read("b.txt"), "by hand");
}

#[test]
fn what_depends_on_what_moved_waits_too() {
    let site = site(&TWO.replace("core_value.v.output", "core_file.b.content"));
    site.fleet(["apply", "--auto-approve"]).ok();
    edit(&site, "\"b\"\n}", "\"bb\"\n}");
    edit(&site, "\"1\"", "\"2\"");
    site.fleet(["plan", "--out", "p"]).ok();
    site.write("b.txt", "by hand");
    let done = site.fleet(["apply", "p", "--partial"]).ok();
    assert!(done.contains("core_file.a  # depends on core_file.b, which is left out"), "{done}");
    assert!(done.contains("Done: 1 updated."), "{done}");
    assert_eq!((site.read("a.txt"), site.read("b.txt")), ("a b".into(), "by hand".into()));
}

#[test]
fn what_is_there_can_be_taken_in() {
    let site = site("resource \"core_file\" \"c\" {\n  path = \"c.txt\"\n  content = \"hello\"\n}\n");
    let complaint = site.fleet(["import", "core_file.c", "c.txt"]).failed();
    assert!(complaint.contains("Nothing is known by the id `c.txt`"), "{complaint}");
    site.write("c.txt", "hi");
    let done = site.fleet(["import", "core_file.c", "c.txt"]).ok();
    assert!(done.contains("core_file.c  # imported, id \"c.txt\""), "{done}");
    assert_eq!(site.read("c.txt"), "hi");
    let plan = site.fleet(["plan"]).ok();
    assert!(plan.contains("\"hi\" → \"hello\""), "{plan}");
    // It is ours now, so that it goes when it is not declared any more.
    site.write("main.fleet.hcl", "");
    assert!(site.fleet(["plan"]).ok().contains("- core_file.c"));
}

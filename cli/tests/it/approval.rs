//! What is asked before anything is done, and what is said at the end.

use crate::converge::site;
use crate::support::Site;

const FILE: &str = r#"
resource "core_file" "a" {
  path    = "a.txt"
  content = "a"
}
"#;

fn applied() -> Site {
    let site = site(FILE);
    site.fleet(["apply", "--auto-approve"]).ok();
    site
}

/// A change of the configuration that does nothing to the world, and what is said when it was applied.
const CHANGES: &[(&str, &str)] = &[
    ("output \"o\" {\n  value = core_file.a.path\n}\n", "o = \"a.txt\""),
    ("moved {\n  from = core_file.a\n  to   = core_file.b\n}\n", "Done: 1 record brought up to date."),
    ("removed {\n  from = core_file.a\n  lifecycle {\n    destroy = false\n  }\n}\n", "Done: 1 forgotten."),
];

#[test]
fn whatever_a_plan_says_is_asked_for_and_told() {
    for (change, done) in CHANGES {
        let site = applied();
        let text = match *change {
            change if change.contains("removed") => change.to_owned(),
            change if change.contains("moved") => format!("{}{change}", FILE.replace("\"a\" {", "\"b\" {")),
            change => format!("{FILE}{change}"),
        };
        site.write("main.fleet.hcl", &text);
        // The lock's number grows with everybody who asks.
        let pull = || site.fleet(["state", "pull"]).ok().replacen(|c: char| c.is_ascii_digit(), "", 1);
        let before = pull();
        let complaint = site.fleet(["apply"]).failed();
        assert!(complaint.contains("not approved, nothing was done"), "{change}: {complaint}");
        let complaint = site.fleet(["apply", "--json"]).failed();
        assert!(complaint.contains("nobody is asked, nothing was done"), "{change}: {complaint}");
        assert_eq!(pull(), before, "{change}");
        let said = site.fleet_with_input(["apply"], "yes\n").ok();
        assert!(said.trim_end().ends_with(done), "{change}: {said}");
        assert_eq!(site.fleet(["apply"]).ok().lines().next(), Some("No changes."), "{change}");
    }
}

#[test]
fn records_alone_are_brought_up_to_date_without_asking_and_that_is_told() {
    let site = applied();
    site.write("a.txt", "odd");
    let said = site.fleet(["apply", "--refresh-only"]).ok();
    assert!(said.ends_with("Done: 1 record brought up to date.\n"), "{said}");
    std::fs::remove_file(site.path().join("a.txt")).unwrap();
    let said = site.fleet(["apply", "--refresh-only"]).ok();
    assert!(said.ends_with("Done: 1 forgotten.\n"), "{said}");
    // Who imports has said what to take in.
    site.write("a.txt", "a");
    let said = site.fleet(["import", "core_file.a", "a.txt"]).ok();
    assert!(said.ends_with("Done: 1 record brought up to date.\n"), "{said}");
}

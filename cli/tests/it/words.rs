//! What is said when something cannot be done: whose fault it is, where, and what to do next.

use std::fs;

use fleet_cli::Exit;

use crate::converge::site;

const FILE: &str = r#"
resource "core_file" "a" {
  path    = "a.txt"
  content = "a"
}
"#;

#[test]
fn options_that_contradict_each_other_are_refused() {
    let check = |args: &[&str], complaint: &str| {
        let site = site(FILE);
        site.fleet(["apply", "--auto-approve"]).ok();
        let before = site.fleet(["state", "pull"]).ok();
        let said = site.fleet_words(args).failed();
        assert!(said.contains(complaint) && said.contains("help: "), "{args:?}: {said}");
        assert_eq!(site.fleet(["state", "pull"]).ok(), before, "{args:?}");
        assert!(site.path().join("a.txt").exists());
    };
    check(&["plan", "--destroy", "--refresh-only"], "`--refresh-only` removes nothing");
    check(&["destroy", "--auto-approve", "--refresh-only"], "`--refresh-only` removes nothing");
    check(&["plan", "--replace", "core_file.a", "--refresh-only"], "`--replace` has no meaning");
    check(&["plan", "--replace", "core_file.a", "--destroy"], "`--replace` has no meaning");
    check(&["plan", "--refresh-only", "--refresh=false"], "contradict each other");
}

#[test]
fn addresses_that_name_nothing_are_refused() {
    for option in ["--target", "--exclude", "--replace"] {
        let site = site(FILE);
        let said = site.fleet(["plan", option, "core_file.nobody"]).failed();
        assert!(
            said.contains("Nothing that is declared or recorded is `core_file.nobody`"),
            "{option}: {said}"
        );
    }
}

#[test]
fn records_that_change_are_changes_to_those_who_ask_for_records() {
    let site = site(FILE);
    site.fleet(["apply", "--auto-approve"]).ok();
    let code = || site.fleet(["plan", "--refresh-only", "--detailed-exitcode"]).exit;
    assert_eq!(code(), Exit::Done);
    site.write("a.txt", "odd");
    assert_eq!(code(), Exit::Changes);
    fs::remove_file(site.path().join("a.txt")).unwrap();
    assert_eq!(code(), Exit::Changes);
}

#[test]
fn what_is_recorded_already_is_not_imported_again() {
    let site = site(FILE);
    site.fleet(["apply", "--auto-approve"]).ok();
    site.write("b.txt", "b");
    for id in ["a.txt", "b.txt", "none.txt"] {
        let said = site.fleet(["import", "core_file.a", id]).failed();
        assert!(said.contains("recorded already (in core_file.a)"), "{said}");
        assert!(said.contains("help: `fleet state rm core_file.a`"), "{said}");
    }
    site.fleet(["state", "rm", "core_file.a"]).ok();
    let said = site.fleet(["import", "core_file.a", "none.txt"]).failed();
    assert!(
        said.contains("Nothing is known by the id `none.txt`") && said.contains("main.fleet.hcl:2:1"),
        "{said}"
    );
    let said = site.fleet(["import", "core_file.nobody", "b.txt"]).failed();
    assert!(said.contains("Nothing that is declared or recorded is `core_file.nobody`"), "{said}");
}

#[test]
fn what_cannot_be_looked_at_says_where_it_is_declared_and_what_to_do() {
    let check = |make: fn(&std::path::Path)| {
        let site = site(&format!("{FILE}\ndata \"core_file\" \"d\" {{\n  path = \"a.txt\"\n}}\n"));
        make(&site.path().join("a.txt"));
        let said = site.fleet(["plan"]).failed();
        for part in [
            "cannot be observed (in core_file.a)",
            "main.fleet.hcl:2:1",
            "cannot be observed (in data.core_file.d)",
            "main.fleet.hcl:7:1",
            "help: ",
        ] {
            assert!(said.contains(part), "{part} in {said}");
        }
    };
    check(|path| fs::create_dir(path).unwrap());
    check(|path| std::os::unix::fs::symlink("elsewhere", path).unwrap());
}

#[test]
fn a_file_whose_directory_is_missing_says_what_to_do() {
    let site = site(&FILE.replace("a.txt", "no/such/a.txt"));
    let said = site.fleet(["apply", "--auto-approve"]).failed();
    assert!(said.contains("cannot write `no/such/a.txt`"), "{said}");
    assert!(said.contains("help: make the directory `no/such` first"), "{said}");
}

#[test]
fn a_state_that_cannot_be_read_says_what_to_do() {
    let site = site(FILE);
    site.fleet(["apply", "--auto-approve"]).ok();
    fs::write(site.path().join(".fleet/state.db"), "this was a database once, before the disk went bad")
        .unwrap();
    for args in [&["plan"][..], &["apply", "--auto-approve"], &["state", "list"]] {
        let said = site.fleet_words(args).failed();
        assert!(said.contains("file is not a database; nothing was done"), "{said}");
        assert!(said.contains("help: put a copy of it back"), "{said}");
    }
}

#[test]
fn a_plan_that_is_applied_in_part_names_what_moved() {
    let site = site(&format!("{FILE}{}", FILE.replace("\"a\" {", "\"b\" {").replace("a.txt", "b.txt")));
    site.fleet(["apply", "--auto-approve"]).ok();
    site.write("main.fleet.hcl", &site.read("main.fleet.hcl").replace("\"a\"\n", "\"new\"\n"));
    site.fleet(["plan", "--out", "p"]).ok();
    site.write("b.txt", "odd");
    let ran = site.fleet(["apply", "p", "--partial"]);
    assert!(
        ran.stderr.contains("left out, with all that depends on it: core_file.b: `content` has changed"),
        "{}",
        ran.stderr
    );
    ran.ok();
    assert_eq!((site.read("a.txt"), site.read("b.txt")), ("new".into(), "odd".into()));
}

#[test]
fn a_replacement_whose_first_part_is_in_doubt_is_in_doubt() {
    let site = site(FILE);
    site.fleet(["apply", "--auto-approve"]).ok();
    let args = ["apply", "--auto-approve", "--replace", "core_file.a", "--step-timeout", "0s", "--json"];
    let ran = site.fleet(args);
    let last = ran.stdout.lines().last().unwrap();
    let last: serde_json::Value = serde_json::from_str(last).unwrap();
    assert_eq!((&last["type"], &last["counts"]["unknown"]), (&"finished".into(), &1.into()), "{last}");
    assert_eq!(last["steps"][0]["outcome"], "unknown", "{last}");
    assert!(!ran.stdout.contains("skipped\",\"because\":\"core_file.a\""), "{}", ran.stdout);
    site.fleet(["apply", "--auto-approve"]).ok();
    assert_eq!((site.fleet(["plan"]).ok(), site.read("a.txt")), ("No changes.\n".into(), "a".into()));
}

//! `fleet fmt`.

use std::os::unix::fs::{PermissionsExt, symlink};

use fleet_cli::Exit;

use crate::support::Site;

const UGLY: &str = "locals {\na=1\n  bbb = 2 # x\n}\n";
const TIDY: &str = "locals {\n  a   = 1\n  bbb = 2 # x\n}\n";

#[test]
fn formats_a_directory() {
    let site = Site::empty();
    site.write("b.fleet.hcl", UGLY);
    site.write("a.fleet.hcl", UGLY);
    site.write("done.fleet.hcl", TIDY);
    site.write("prod.vars.hcl", "a=1");
    for other in ["main.tf", "x.hcl", ".hidden.fleet.hcl", "sub/c.fleet.hcl"] {
        site.write(other, UGLY);
    }
    assert_eq!(site.fleet(["fmt"]).ok(), "a.fleet.hcl\nb.fleet.hcl\nprod.vars.hcl\n");
    assert_eq!(site.read("a.fleet.hcl"), TIDY);
    assert_eq!(site.read("prod.vars.hcl"), "a = 1\n");
    for other in ["main.tf", "x.hcl", ".hidden.fleet.hcl", "sub/c.fleet.hcl"] {
        assert_eq!(site.read(other), UGLY, "{other}");
    }
    assert_eq!(site.fleet(["fmt"]).ok(), "");
}

#[test]
fn goes_into_subdirectories_when_told() {
    let site = Site::empty();
    for name in ["z.fleet.hcl", "sub/b/c.fleet.hcl", "sub/a.fleet.hcl", "sub/.git/x.fleet.hcl"] {
        site.write(name, UGLY);
    }
    symlink(site.path(), site.path().join("sub/loop")).unwrap();
    let said = site.fleet(["fmt", "--recursive", "--check"]);
    assert_eq!(said.stdout, "z.fleet.hcl\nsub/a.fleet.hcl\nsub/b/c.fleet.hcl\n");
    assert_eq!(site.fleet(["fmt", "sub"]).ok(), "sub/a.fleet.hcl\n");
}

#[test]
fn formats_named_files_of_any_name() {
    let site = Site::empty();
    site.write("x.hcl", UGLY);
    site.write("y.fleet.hcl", UGLY);
    assert_eq!(site.fleet(["fmt", "./x.hcl"]).ok(), "x.hcl\n");
    assert_eq!(site.read("x.hcl"), TIDY);
    assert_eq!(site.read("y.fleet.hcl"), UGLY);
}

#[test]
fn check_changes_nothing() {
    let site = Site::empty();
    site.write("a.fleet.hcl", UGLY);
    let ran = site.fleet(["fmt", "--check"]);
    assert_eq!((ran.exit.code(), ran.stdout.as_str(), ran.stderr.as_str()), (3, "a.fleet.hcl\n", ""));
    assert_eq!(site.read("a.fleet.hcl"), UGLY);
    site.write("a.fleet.hcl", TIDY);
    assert_eq!(site.fleet(["fmt", "--check"]).ok(), "");
}

#[test]
fn diff_shows_what_changes() {
    let site = Site::empty();
    site.write("a.fleet.hcl", UGLY);
    let expected = "\
a.fleet.hcl
--- old/a.fleet.hcl
+++ new/a.fleet.hcl
@@ -1,4 +1,4 @@
 locals {
-a=1
+  a   = 1
   bbb = 2 # x
 }
";
    assert_eq!(site.fleet(["fmt", "--check", "--diff"]).stdout, expected);
    assert_eq!(site.read("a.fleet.hcl"), UGLY);
    assert_eq!(site.fleet(["fmt", "--diff"]).ok(), expected);
    assert_eq!(site.read("a.fleet.hcl"), TIDY);
}

#[test]
fn standard_input_to_standard_output() {
    let site = Site::empty();
    site.write("a.fleet.hcl", UGLY);
    assert_eq!(site.fleet_with_input(["fmt", "-"], UGLY).ok(), TIDY);
    assert_eq!(site.read("a.fleet.hcl"), UGLY);
    let checked = site.fleet_with_input(["fmt", "--check", "-"], UGLY);
    assert_eq!((checked.exit, checked.stdout.as_str()), (Exit::Unformatted, ""));
    assert_eq!(site.fleet_with_input(["fmt", "--check", "-"], TIDY).ok(), "");
    let diff = site.fleet_with_input(["fmt", "--diff", "-"], UGLY).ok();
    assert!(diff.contains("\n-a=1\n+  a   = 1\n"), "{diff}");
    let broken = site.fleet_with_input(["fmt", "-"], "a = \n");
    assert_eq!(broken.stdout, "");
    assert!(broken.failed().contains("<stdin>:1:"));
}

#[test]
fn a_file_with_errors_is_left_alone_and_the_others_are_not() {
    let site = Site::empty();
    site.write("a.fleet.hcl", "a=1\nb = = 2\n");
    site.write("b.fleet.hcl", UGLY);
    std::fs::write(site.path().join("c.fleet.hcl"), b"a=1 # \xff\n").unwrap();
    let ran = site.fleet(["fmt"]);
    assert_eq!(ran.stdout, "b.fleet.hcl\n");
    let complaint = ran.failed();
    assert!(complaint.contains("a.fleet.hcl:2:5"), "{complaint}");
    assert!(complaint.contains("invalid UTF-8") && complaint.contains("c.fleet.hcl:1:7"), "{complaint}");
    assert_eq!(site.read("a.fleet.hcl"), "a=1\nb = = 2\n");
    assert_eq!(site.read("b.fleet.hcl"), TIDY);
}

#[test]
fn keeps_permissions_and_links() {
    let site = Site::empty();
    site.write("real/a.hcl", UGLY);
    let real = site.path().join("real/a.hcl");
    std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o640)).unwrap();
    symlink("real/a.hcl", site.path().join("a.fleet.hcl")).unwrap();
    assert_eq!(site.fleet(["fmt"]).ok(), "a.fleet.hcl\n");
    assert_eq!(site.read("real/a.hcl"), TIDY);
    assert!(site.path().join("a.fleet.hcl").is_symlink());
    assert_eq!(real.metadata().unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(site.path().join("real").read_dir().unwrap().count(), 1, "a temporary file was left behind");
}

#[test]
fn names_what_it_cannot_read() {
    let site = Site::empty();
    let complaint = site.fleet(["fmt", "nowhere"]).failed();
    assert!(complaint.starts_with("error: cannot read `nowhere`: "), "{complaint}");
    let complaint = site.fleet(["fmt", "-", "x"]).failed();
    assert!(complaint.starts_with("error: `-` stands for standard input"), "{complaint}");
}

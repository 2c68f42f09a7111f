//! `fleet init`.

use crate::support::Site;

#[test]
fn writes_a_start() {
    let site = Site::empty();
    let said = site.fleet(["init", "desk"]).ok();
    assert!(said.contains("wrote desk/main.fleet.hcl"), "{said}");
    assert!(said.contains("cd desk && fleet validate"), "{said}");
    assert!(site.read("desk/main.fleet.hcl").contains("resource \"core_file\""));
    assert_eq!(site.read("desk/.gitignore").lines().last(), Some(".fleet/"));
}

#[test]
fn never_overwrites() {
    let site = Site::empty();
    site.write("fleet.vars.hcl", "mine");
    let complaint = site.fleet(["init"]).failed();
    assert!(
        complaint.starts_with("error: `fleet.vars.hcl` exists already, nothing was written\n"),
        "{complaint}"
    );
    assert_eq!(site.read("fleet.vars.hcl"), "mine");
    assert!(!site.path().join("main.fleet.hcl").exists());
}

#[test]
fn the_start_is_valid_and_in_canonical_form() {
    let site = Site::empty();
    site.fleet(["init"]).ok();
    assert_eq!(site.fleet(["validate"]).ok(), "The configuration is valid.\n");
    site.fleet(["fmt", "--check"]).ok();
}

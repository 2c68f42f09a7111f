//! `fleet console` on a pipe.

use fleet_cli::Exit;

use crate::support::Site;

#[test]
fn every_line_gets_its_value() {
    let lines = "1 + 2\n\n  upper(\"a\")\r\n[1, 2]\n\"a\\nb\"\ntype([1])\n";
    let expected = "3\n\"A\"\n[\n  1,\n  2,\n]\n<<EOT\na\nb\nEOT\ntuple([\n    number,\n])\n";
    assert_eq!(Site::empty().fleet_with_input(["console"], lines).ok(), expected);
}

#[test]
fn a_wrong_line_does_not_stop_the_others() {
    let ran = Site::empty().fleet_with_input(["console"], "1\nnope\n2\n1 +\n3");
    assert_eq!(ran.exit, Exit::Failed);
    assert_eq!(ran.stdout, "1\n2\n3\n");
    assert!(ran.stderr.contains("unknown name"), "{}", ran.stderr);
    assert!(ran.stderr.contains("expected a value"), "{}", ran.stderr);
}

#[test]
fn exit_leaves() {
    assert_eq!(Site::empty().fleet_with_input(["console"], "1\nexit\n2\n").ok(), "1\n");
}

#[test]
fn files_are_read_from_the_directory() {
    let site = Site::empty();
    site.write("inner/note.txt", "hello");
    let lines = "file(\"note.txt\")\npath.module\nbasename(path.cwd)\n";
    assert_eq!(
        site.fleet_with_input(["-C", "inner", "console"], lines).ok(),
        "\"hello\"\n\".\"\n\"inner\"\n"
    );
}

#[test]
fn bytes_that_are_no_text_are_no_crash() {
    let ran = Site::empty().fleet_with_input(["console"], "\u{0}\u{feff}\n\u{1F600}\n");
    assert_eq!(ran.exit, Exit::Failed);
}

#[test]
fn a_configuration_is_seen() {
    let site = Site::empty();
    site.write(
        "main.fleet.hcl",
        "variable \"n\" {\n  type    = number\n  default = 1\n}\nlocals { twice = var.n * 2 }\n\
         resource \"core_value\" \"a\" { input = local.twice }\n\
         module \"m\" { source = \"./m\" }\n",
    );
    site.write("m/main.fleet.hcl", "output \"o\" { value = [path.module] }\n");
    let lines = "local.twice\ncore_value.a.input + 1\ncore_value.a.id\nmodule.m.o\n";
    let ran = site.fleet_with_input(["console", "--var", "n=21"], lines);
    assert_eq!(ran.ok(), "42\n43\n(known after apply)\n[\n  \"m\",\n]\n");
    let ran = site.fleet_with_input(["console"], "var.nope\nlocal.twice\n");
    assert_eq!((ran.exit, &*ran.stdout), (Exit::Failed, "2\n"));
    assert!(ran.stderr.contains("undeclared variable `nope`"), "{}", ran.stderr);
}

#[test]
fn a_broken_configuration_is_told_and_the_rest_is_seen() {
    let site = Site::empty();
    site.write("main.fleet.hcl", "locals {\n  good = 1\n  bad  = 1 + \"x\"\n}\n");
    let ran = site.fleet_with_input(["console"], "local.good\n");
    assert!(ran.stderr.contains("unsuitable operand"), "{}", ran.stderr);
    assert_eq!(ran.ok(), "1\n");
}

//! Which machine a slot has; more and fewer of them.

use fleet_cli::Exit;

use super::desk::Desk;

const NOTE: &str = r#"
  resource "host_file" "note" {
    path    = "/etc/note"
    content = "${host.key} ${host.name} ${host.address} ${host.id} ${host.provider_id}"
  }
"#;

#[test]
fn slots_that_are_counted_take_machines_in_their_order_and_keep_them() {
    let mut desk = Desk::of(3, NOTE);
    desk.slots("size = 1");
    desk.apply();
    assert_eq!(desk.held(), [Some("fleet.desk[0]".into()), None, None]);
    desk.slots("size = 3");
    assert!(desk.steps(&[]).keys().all(|address| !address.starts_with("fleet.desk[0]")));
    desk.apply();
    desk.check_converged();
    let slot = |at: usize| Some(format!("fleet.desk[{at}]"));
    assert_eq!(desk.held(), [slot(0), slot(1), slot(2)]);
    for (at, machine) in desk.machines.iter().enumerate() {
        let (name, print) = (&machine.name, machine.server.fingerprint());
        let told = format!("{at} desk-{at} 127.0.0.1 {name}/{print} static://{name}");
        assert_eq!(machine.read("etc/note"), told);
    }

    // The highest slots go, and all that is in them.
    desk.slots("size = 1");
    let steps = desk.steps(&[]);
    assert_eq!(steps.len(), 4);
    assert!(steps.values().all(|action| action == "destroy"));
    desk.apply();
    desk.check_converged();
    assert_eq!(desk.held(), [slot(0), None, None]);
    assert!(desk.machine("a").has("etc/note") && !desk.machine("b").has("etc/note"));
    desk.slots("size = 0");
    desk.apply();
    assert_eq!(desk.held(), [None, None, None]);
    assert!(desk.state().recorded.is_empty());
}

#[test]
fn slots_with_names_have_the_machines_of_these_names() {
    let mut desk = Desk::of(3, NOTE);
    desk.slots("hosts = [\"c\", \"a\"]");
    desk.apply();
    desk.check_converged();
    assert_eq!(desk.held(), [Some("fleet.desk[\"a\"]".into()), None, Some("fleet.desk[\"c\"]".into())]);
    assert!(desk.machine("c").read("etc/note").starts_with("c desk-c 127.0.0.1 c/SHA256:"));
    desk.slots("hosts = [\"b\", \"a\"]");
    desk.apply();
    desk.check_converged();
    assert_eq!(desk.held(), [Some("fleet.desk[\"a\"]".into()), Some("fleet.desk[\"b\"]".into()), None]);
    assert!(!desk.machine("c").has("etc/note"));
    desk.slots("hosts = [\"aa\"]");
    let said = desk.site.fleet(["plan"]).failed();
    assert!(said.contains("`pool.desk` has no host `aa`") && said.contains("did you mean `a`?"), "{said}");
}

#[test]
fn more_slots_than_machines_are_refused_before_anything_is_done() {
    let mut desk = Desk::of(2, NOTE);
    desk.slots("size = 3");
    for words in [&["validate"][..], &["plan"], &["apply", "--auto-approve"]] {
        let said = desk.site.fleet_words(words).failed();
        assert!(said.contains("no host is free") && said.contains("add hosts to the pool"), "{said}");
    }
    assert_eq!(desk.held(), [None, None]);
}

#[test]
fn modules_and_outputs_know_the_hosts_of_their_slots() {
    let mut desk = Desk::of(2, "");
    desk.site.write(
        "baseline/main.fleet.hcl",
        r#"
variable "name" {
  type = string
}
resource "host_directory" "home" {
  path = "/opt/${var.name}"
}
resource "host_file" "note" {
  for_each = toset(["x", "y"])
  path     = "${host_directory.home.path}/${each.key}"
  content  = "${var.name} ${each.key}"
}
output "notes" {
  value = [for note in host_file.note : note.path]
}
"#,
    );
    desk.inside("  module \"base\" {\n    source = \"./baseline\"\n    name   = host.name\n  }\n");
    desk.site.write(
        "outputs.fleet.hcl",
        "output \"keys\" {\n  value = fleet.desk[*].host.key\n}\noutput \"notes\" {\n  value = fleet.desk[1].module.base.notes\n}\n",
    );
    let said = desk.apply();
    assert!(said.contains("keys") && said.contains("/opt/desk-1/y"), "{said}");
    desk.check_converged();
    assert_eq!(desk.machine("b").read("opt/desk-1/y"), "desk-1 y");
    assert!(!desk.machine("a").has("opt/desk-1"));
    let before = desk.machine("b").tree();
    desk.run("destroy", &["--host", "desk[0]"]).ok();
    assert!(!desk.machine("a").has("opt/desk-0"));
    assert_eq!(desk.machine("b").tree(), before);
    desk.run("destroy", &[]).ok();
    assert!(!desk.machine("b").has("opt/desk-1"));
}

#[test]
fn two_fleets_share_no_machine() {
    let mut desk = Desk::of(2, NOTE);
    desk.slots("hosts = [\"a\", \"b\"]");
    let other = format!(
        "fleet \"other\" {{\n  pool = pool.desk\n  hosts = [\"a\"]\n  hostname = \"other-${{host.key}}\"\n{}}}\n",
        desk.connection()
    );
    desk.site.write("other.fleet.hcl", &other);
    let said = desk.site.fleet(["plan"]).failed();
    assert!(said.contains("one host for two slots") && said.contains("would both have `a`"), "{said}");
}

#[test]
fn a_machine_that_a_fleet_names_is_not_free_for_others() {
    let mut desk = Desk::of(3, NOTE);
    desk.slots("size = 2");
    // Whichever of the fleets comes first.
    for name in ["aaa", "zzz"] {
        let other = |hosts: &str| {
            format!(
                "fleet \"{name}\" {{\n  pool = pool.desk\n  hosts = {hosts}\n  hostname = \"other-${{host.key}}\"\n{}}}\n",
                desk.connection()
            )
        };
        desk.site.write("other.fleet.hcl", &other("[\"a\"]"));
        desk.apply();
        desk.check_converged();
        let held = [&format!("fleet.{name}[\"a\"]"), "fleet.desk[0]", "fleet.desk[1]"];
        let held = held.map(|slot| Some(slot.to_owned()));
        assert_eq!(desk.held(), held);
        // What a slot has is not taken from it.
        desk.site.write("other.fleet.hcl", &other("[\"b\"]"));
        let said = desk.site.fleet(["plan"]).failed();
        assert!(said.contains("would both have `b`"), "{said}");
        assert!(said.contains("help: name every host in one fleet only"), "{said}");
        assert_eq!(desk.held(), held);
        desk.site.write("other.fleet.hcl", &other("[\"a\"]"));
        desk.run("destroy", &[]).ok();
    }
}

#[test]
fn names_of_hosts_are_checked() {
    let desk = Desk::of(2, "");
    let text = desk.site.read(super::desk::MAIN);
    desk.site.write(super::desk::MAIN, &text.replace("desk-${host.key}", "same"));
    let ran = desk.site.fleet(["validate"]);
    assert_eq!(ran.exit, Exit::Failed, "{ran:?}");
    assert!(ran.stderr.contains("same"), "{}", ran.stderr);
}

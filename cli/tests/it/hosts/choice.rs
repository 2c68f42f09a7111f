//! `--host`, `--exclude-host`, `--accept-host-key`.

use fleet_cli::Exit;

use super::desk::Desk;

const NOTE: &str =
    "  resource \"host_file\" \"note\" {\n    path    = \"/etc/note\"\n    content = host.name\n  }\n";

#[test]
fn hosts_are_chosen_by_slot_by_name_and_by_machine() {
    let desk = Desk::of(3, NOTE);
    desk.apply_with(&["--host", "desk[0]"]);
    assert_eq!(desk.held(), [Some("fleet.desk[0]".into()), None, None]);
    desk.apply_with(&["--host", "desk-1"]);
    assert!(desk.machine("b").has("etc/note") && !desk.machine("c").has("etc/note"));
    desk.apply_with(&["--host", "fleet.desk[2]", "--host", "desk[0]"]);
    desk.check_converged();
    let said = desk.site.fleet(["plan", "--host", "desk-7"]).failed();
    assert!(said.contains("unknown host") && said.contains("did you mean `desk-"), "{said}");
}

#[test]
fn nobody_connects_to_a_host_that_is_left_out() {
    let mut desk = Desk::of(3, NOTE);
    desk.apply();
    let before = desk.machines[1].server.connections();
    for options in [&["--exclude-host", "desk[1]"][..], &["--host", "desk[0]", "--host", "desk[2]"]] {
        let words: Vec<&str> = ["plan"].iter().chain(options).copied().collect();
        desk.site.fleet_words(&words).ok();
    }
    assert_eq!(desk.machines[1].server.connections(), before);

    // One that is down does no harm, then.
    desk.machines[1].server.kill();
    desk.inside(&NOTE.replace("host.name", "\"now ${host.name}\""));
    let ran = desk.run("apply", &["--exclude-host", "desk[1]"]);
    assert_eq!(ran.exit, Exit::Done, "{ran:?}");
    assert!(!ran.stdout.contains("refuses"), "{}", ran.stdout);
    assert_eq!(desk.machine("a").read("etc/note"), "now desk-0");
    assert_eq!(desk.machine("b").read("etc/note"), "desk-1");
    assert_eq!(desk.machine("c").read("etc/note"), "now desk-2");
}

#[test]
fn a_changed_key_is_shown_and_taken_only_if_somebody_says_so() {
    let mut desk = Desk::of(2, NOTE);
    desk.apply();
    let machine = &mut desk.machines[1];
    let old = machine.server.fingerprint();
    machine.server.change_host_key();
    machine.server.restart();
    let new = machine.server.fingerprint();
    let before = machine.tree();
    desk.inside(&NOTE.replace("host.name", "\"now ${host.name}\""));
    let ran = desk.run("apply", &[]);
    assert_eq!(ran.exit, Exit::Failed, "{ran:?}");
    assert!(ran.stdout.contains(&old) && ran.stdout.contains(&new), "{}", ran.stdout);
    assert!(ran.stdout.contains("somebody else answers at this address"), "{}", ran.stdout);
    assert!(ran.stdout.contains("--accept-host-key"), "what to do is said: {}", ran.stdout);
    assert_eq!(desk.machine("b").tree(), before);
    assert_eq!(desk.machine("a").read("etc/note"), "now desk-0");

    let other = desk.run("apply", &["--accept-host-key", "desk[0]"]);
    assert_eq!(other.exit, Exit::Failed, "{other:?}");
    desk.apply_with(&["--accept-host-key", "desk[1]"]);
    assert_eq!(desk.machine("b").read("etc/note"), "now desk-1");
    // The new one is pinned.
    desk.check_converged();
    desk.machines[1].server.change_host_key();
    desk.machines[1].server.restart();
    let ran = desk.site.fleet(["plan"]);
    assert!(ran.exit == Exit::Failed && ran.stdout.contains(&new), "{ran:?}");
}

#[test]
fn a_host_that_was_installed_anew_is_made_anew() {
    let mut desk = Desk::of(1, NOTE);
    desk.apply();
    let machine = &mut desk.machines[0];
    machine.server.change_host_key();
    machine.server.restart();
    for gone in ["etc/note", "var/tmp/fleet/ledger"] {
        std::fs::remove_file(machine.path(gone)).unwrap();
    }
    std::fs::remove_dir_all(machine.path("var/tmp/fleet")).unwrap();
    desk.check_plan(&["--accept-host-key", "desk[0]"], &[("host", "create"), ("host_file.note", "create")]);
    desk.apply_with(&["--accept-host-key", "desk[0]"]);
    assert_eq!(desk.machine("a").read("etc/note"), "desk-0");
    desk.check_converged();
}

#[test]
fn a_key_that_the_pool_gives_is_held_to_from_the_start() {
    let desk = Desk::of(2, NOTE);
    let text = desk.site.read(super::desk::MAIN);
    let (a, b) = (desk.machine("a").server.host_key(), desk.machine("b").server.host_key());
    let port = format!("    port    = {}\n", desk.machine("a").server.port());
    let with = |key: &str| text.replace(&port, &format!("{port}    host_key = \"{key}\"\n"));
    desk.site.write(super::desk::MAIN, &with(&b));
    let ran = desk.run("apply", &[]);
    assert!(ran.exit == Exit::Failed && ran.stdout.contains("is not the host that"), "{ran:?}");
    assert_eq!(desk.held(), [None, Some("fleet.desk[1]".into())]);
    desk.site.write(super::desk::MAIN, &with(&a));
    desk.apply();
    desk.check_converged();
}

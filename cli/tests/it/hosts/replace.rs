//! A slot gets another machine.

use fleet_cli::Exit;

use super::desk::Desk;

const INSIDE: &str = r#"
  resource "host_file" "note" {
    path    = "/etc/note"
    content = "of ${host.name}\n"
  }
  resource "host_directory" "home" {
    path = "/opt/home"
  }
"#;

/// Two slots, and a spare machine.
fn desk() -> Desk {
    let mut desk = Desk::of(3, INSIDE);
    desk.slots("size = 2");
    desk.apply();
    desk
}

const REPLACE: [&str; 2] = ["--replace", "fleet.desk[1].host"];

#[test]
fn the_new_machine_is_converged_and_the_old_one_is_cleaned_and_given_back() {
    let desk = desk();
    let (before, spare) = (desk.machine("b").tree(), desk.machine("c").tree());
    let text = desk.site.fleet_words(&[&["plan"][..], &REPLACE].concat()).ok();
    assert!(text.contains("+/- fleet.desk[1].host"), "{text}");
    assert_eq!((desk.machine("b").tree(), desk.machine("c").tree()), (before, spare.clone()));
    let said = desk.apply_with(&REPLACE);
    assert!(said.ends_with("Done: 3 replaced.\n"), "{said}");
    assert_eq!(desk.held(), [Some("fleet.desk[0]".into()), None, Some("fleet.desk[1]".into())]);
    assert_eq!(desk.machine("c").read("etc/note"), "of desk-1\n");
    let left: Vec<String> = desk.machine("b").tree().into_keys().collect();
    let clean: Vec<String> = spare.into_keys().chain(["var/tmp/fleet".into()]).collect();
    assert_eq!(left, clean);
    desk.check_converged();
    let state = desk.state();
    assert!(state.deposed.is_empty() && state.intents.is_empty());
}

#[test]
fn an_old_machine_that_does_not_answer_is_cleaned_once_it_does() {
    let mut desk = desk();
    desk.machine_mut("b").server.kill();
    let began = std::time::Instant::now();
    let ran = desk.run("apply", &REPLACE);
    // The plan found that it is down, so that nobody waits for it.
    assert!(began.elapsed() < std::time::Duration::from_secs(30), "{:?}: {ran:?}", began.elapsed());
    assert_eq!(ran.exit, Exit::Failed, "{ran:?}");
    assert!(!ran.stderr.contains("trying again"), "{ran:?}");
    assert_eq!(desk.machine("c").slot().as_deref(), Some("fleet.desk[1]"));
    assert_eq!(desk.machine("c").read("etc/note"), "of desk-1\n");
    // What is left there is remembered, and the rest of the fleet goes on meanwhile.
    assert!(!desk.state().deposed.is_empty());
    assert!(desk.machine("b").has("etc/note"));
    desk.inside(&INSIDE.replace("of $", "now of $"));
    let ran = desk.run("apply", &[]);
    assert!(ran.stdout.contains("What is left on `b`: `127.0.0.1` refuses connections"), "{}", ran.stdout);
    assert_eq!(desk.machine("a").read("etc/note"), "now of desk-0\n");
    assert_eq!(desk.machine("c").read("etc/note"), "now of desk-1\n");
    // It is back.
    desk.machine_mut("b").server.restart();
    desk.apply();
    assert!(!desk.machine("b").has("etc/note") && !desk.machine("b").has("opt/home"));
    assert_eq!(desk.held(), [Some("fleet.desk[0]".into()), None, Some("fleet.desk[1]".into())]);
    assert!(desk.state().deposed.is_empty());
    desk.check_converged();
}

#[test]
fn without_a_spare_machine_nothing_is_replaced() {
    let mut desk = desk();
    desk.slots("size = 3");
    desk.apply();
    let before = desk.held();
    let said = desk.run("apply", &REPLACE).failed();
    assert!(said.contains("no host is free"), "{said}");
    assert!(said.contains("fleet.desk[1]"), "{said}");
    assert_eq!(desk.held(), before);
    desk.check_converged();
}

#[test]
fn a_slot_with_a_name_has_its_machine_and_no_other() {
    let mut desk = Desk::of(2, INSIDE);
    desk.slots("hosts = [\"a\"]");
    desk.apply();
    let said = desk.run("apply", &["--replace", "fleet.desk[\"a\"].host"]).failed();
    assert!(said.contains("nothing to replace it with"), "{said}");
    assert!(said.contains("put another host in its place in `hosts`"), "{said}");
    desk.check_converged();
}

#[test]
fn a_spare_machine_that_somebody_else_has_is_not_taken() {
    let desk = desk();
    let ledger = desk.machine("b").path("var/tmp/fleet/ledger");
    let foreign = std::fs::read_to_string(ledger).unwrap().replace("lineage ", "lineage other-");
    std::fs::create_dir_all(desk.machine("c").path("var/tmp/fleet")).unwrap();
    std::fs::write(desk.machine("c").path("var/tmp/fleet/ledger"), foreign).unwrap();
    let before = [desk.machine("b").tree(), desk.machine("c").tree()];
    let ran = desk.run("apply", &REPLACE);
    assert_eq!(ran.exit, Exit::Failed, "{ran:?}");
    assert!(ran.stdout.contains("`c` is held by `fleet.desk[1]` of the state other-"), "{}", ran.stdout);
    assert_eq!([desk.machine("b").tree(), desk.machine("c").tree()], before);
    desk.check_converged();
}

#[test]
fn a_machine_that_left_the_pool_is_given_back() {
    let mut desk = desk();
    // `a` is not of the pool any more, and still there.
    let gone = desk.machines.remove(0);
    desk.write();
    desk.apply();
    assert_eq!(desk.held(), [Some("fleet.desk[1]".into()), Some("fleet.desk[0]".into())]);
    assert_eq!(gone.slot(), None);
    assert!(!gone.has("etc/note"));
    desk.check_converged();
}

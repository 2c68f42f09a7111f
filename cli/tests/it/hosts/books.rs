//! The books of a pool: `fleet pool`, in a world with a vendor and its Macs.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use fleet_cli::Exit;
use fleet_lab::clock::{Pace, Time};
use fleet_lab::fault::Fault;
use fleet_lab::mac::Macs;
use fleet_lab::scaleway::{ErrorType, Operation, ServerStatus};
use fleet_lab::{Lab, Options, ServerEdit};
use serde_json::Value as Json;

use super::desk::{Desk, MAIN};
use crate::support::{Ran, Site};

/// A lab with this many Macs, all free.
fn lab(macs: usize) -> (Lab, tempfile::TempDir) {
    let tools = tempfile::Builder::new().prefix("books-").tempdir().unwrap();
    let factory = Macs::new(Path::new(env!("CARGO_BIN_EXE_fleet")), &tools.path().join("tools")).unwrap();
    let pace = Pace::Times(600.0);
    // Time flies there, and must not overtake that of the programs here.
    let start = Some(Time::of_this_machine().before(Duration::from_secs(30 * 24 * 3600)));
    let factory = Arc::new(factory);
    let lab = Lab::start(Options { macs, pace, start, factory, ..Options::default() }).unwrap();
    (lab, tools)
}

/// Somebody who takes Macs from it.
fn operator(lab: &Lab, name: &str, size: usize) -> Site {
    let site = Site::empty();
    site.write("vendor", lab.secret_key());
    let description = lab.description();
    let (project, url) = (lab.project_id(), lab.api_url());
    let (config, key) = (description.ssh_config.display(), description.identity.display());
    site.write(
        MAIN,
        &format!(
            r#"
secret "vendor" {{
  from = "file:vendor"
}}
secret "key" {{
  from = "file:{key}"
}}
provider "scaleway" {{
  project_id = "{project}"
  secret_key = secret.vendor
  api_url    = "{url}"
}}
pool "scaleway" "minis" {{
  zone           = "fr-par-1"
  prefix         = "pool-"
  type           = "M2-L"
  os_family      = "Tahoe"
  settle         = "300ms"
  delay          = "300ms"
  check_lifetime = "200ms"
  hold           = "600ms"
  poll           = "50ms"
  return {{
    method   = "reinstall"
    deadline = "2m"
  }}
}}
fleet "runners" {{
  pool     = pool.minis
  size     = {size}
  hostname = "{name}-${{host.key}}"
  connection "ssh" {{
    user     = "m1"
    identity = secret.key
    config   = "{config}"
  }}
  resource "host_file" "here" {{
    path    = "/Users/m1/here"
    content = host.name
  }}
}}
"#
        ),
    );
    site
}

fn apply(site: &Site) {
    site.fleet(["apply", "--auto-approve"]).ok();
}

/// Every server with its class, by name.
fn classes(site: &Site) -> Vec<(String, String)> {
    let listed: Json = serde_json::from_str(&site.fleet(["pool", "list", "--json"]).ok()).unwrap();
    let text = |row: &Json, name: &str| row[name].as_str().unwrap_or_default().to_owned();
    let rows = listed.as_array().unwrap().iter().map(|row| (text(row, "name"), text(row, "class")));
    let mut rows: Vec<(String, String)> = rows.collect();
    rows.sort();
    rows
}

fn of_class(site: &Site, class: &str) -> Vec<String> {
    classes(site).into_iter().filter(|(_, of)| of == class).map(|(name, _)| name).collect()
}

fn audit(site: &Site) -> Ran {
    site.fleet(["pool", "audit"])
}

/// What asked the vendor to change something, since so many requests.
fn wrote(lab: &Lab, since: usize) -> Vec<Operation> {
    let all = lab.requests().split_off(since).into_iter().filter_map(|entry| entry.operation);
    all.filter(|operation| !operation.reads()).collect()
}

/// Where the ledger of a Mac lies.
fn ledger(lab: &Lab, name: &str) -> PathBuf {
    let id = lab.server(name).unwrap().id;
    lab.directory().join("machines").join(id).join("root/private/var/tmp/fleet/ledger")
}

fn edit(lab: &Lab, name: &str, edit: ServerEdit) {
    assert!(lab.edit_server(name, edit), "{name}");
}

#[test]
fn every_server_is_in_exactly_one_class_and_the_audit_says_which_rule_is_broken() {
    let (lab, _tools) = lab(6);
    let (ours, theirs) = (operator(&lab, "ours", 2), operator(&lab, "theirs", 1));
    assert_eq!(of_class(&ours, "free").len(), 6);
    assert!(audit(&ours).ok().ends_with("6 servers: 6 free; the books balance\n"));
    apply(&ours);
    apply(&theirs);
    let told = audit(&ours).ok();
    assert!(told.ends_with("6 servers: 3 free, 2 mine, 1 foreign; the books balance\n"), "{told}");
    assert_eq!(of_class(&ours, "mine"), ["ours-0", "ours-1"]);
    assert_eq!(of_class(&ours, "foreign"), ["theirs-0"]);
    assert_eq!(of_class(&theirs, "mine"), ["theirs-0"]);
    assert!(told.contains("fleet.runners[0]") && told.contains("fleet.runners[0] of "), "{told}");

    // What somebody called so that nobody knows it, what is off, and what the vendor installs anew.
    let free = of_class(&ours, "free");
    edit(&lab, &free[0], ServerEdit { name: Some("mystery".into()), ..ServerEdit::default() });
    edit(&lab, &free[1], ServerEdit { power: Some(false), ..ServerEdit::default() });
    let reinstalling = ServerEdit { status: Some(ServerStatus::Reinstalling), ..ServerEdit::default() };
    edit(&lab, &free[2], reinstalling);
    let requests = lab.requests().len();
    assert_eq!(of_class(&ours, "stray"), ["mystery"]);
    assert_eq!(of_class(&ours, "unavailable"), [free[1].clone()]);
    assert_eq!(of_class(&ours, "reinstalling"), [free[2].clone()]);
    let Ran { exit, stdout, .. } = audit(&ours);
    assert_eq!(exit, Exit::Failed);
    assert!(stdout.contains("broken: every server is free or has an owner: mystery"), "{stdout}");
    assert!(stdout.contains("; the books do not balance\n"), "{stdout}");
    assert_eq!(wrote(&lab, requests), [], "looking changes nothing");

    // A human decides about a stray: nothing frees it.
    let refused = ours.fleet(["pool", "reclaim", "mystery", "--yes"]).failed();
    assert!(refused.contains("`mystery` is stray"), "{refused}");
    assert_eq!(ours.fleet(["pool", "reclaim", "--yes"]).ok(), "No server was left behind.\n");
    assert!(lab.server("mystery").is_some());
}

#[test]
fn the_audit_is_read_by_programs_too() {
    let (lab, _tools) = lab(2);
    let site = operator(&lab, "ours", 1);
    apply(&site);
    edit(&lab, &of_class(&site, "free")[0], ServerEdit { name: Some("x".into()), ..ServerEdit::default() });
    let Ran { exit, stdout, .. } = site.fleet(["pool", "audit", "--json"]);
    assert_eq!(exit, Exit::Failed);
    let balance: Json = serde_json::from_str(&stdout).unwrap();
    assert_eq!((&balance["balanced"], &balance["classes"]["stray"]), (&Json::from(false), &Json::from(1)));
    assert_eq!(balance["broken"].as_array().unwrap().len(), 1);
    let mine = balance["servers"].as_array().unwrap().iter().find(|row| row["class"] == "mine").unwrap();
    assert_eq!(mine["slot"], "fleet.runners[0]");
    for name in ["id", "name", "model", "os_family", "address", "since", "deletable_at", "why", "lineage"] {
        assert!(mine[name].is_string(), "{name}: {mine}");
    }
}

#[test]
fn a_claim_that_was_left_behind_is_reclaimed_and_no_other() {
    let (lab, _tools) = lab(2);
    let site = operator(&lab, "ours", 0);
    let free = of_class(&site, "free");
    let claiming = |since: &str| {
        format!(
            "fleet-ledger 1\nlineage others\nslot fleet.x[0]\nclaim cafe\nfence 1\nepoch \nstate claiming\nsince {since}\nby them\n"
        )
    };
    for (name, since) in free.iter().zip(["2020-01-01T00:00:00Z", "2999-01-01T00:00:00Z"]) {
        let path = ledger(&lab, name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, claiming(since)).unwrap();
    }
    assert_eq!(of_class(&site, "pending"), free);
    let Ran { exit, stdout, .. } = audit(&site);
    assert_eq!(exit, Exit::Failed);
    assert!(stdout.contains("broken: what is begun is ended in time"), "{stdout}");
    assert!(site.fleet(["pool", "reclaim"]).failed().contains("not approved, nothing was done"));
    assert_eq!(of_class(&site, "pending"), free);
    let said = site.fleet(["pool", "reclaim", "--yes"]).ok();
    assert!(said.contains(&format!("{}: free", free[0])), "{said}");
    assert_eq!(of_class(&site, "pending"), [free[1].clone()], "one that is young is left alone");
    assert_eq!(of_class(&site, "free").len(), 1);
    assert!(audit(&site).ok().contains("the books balance"));
    assert_eq!(site.fleet(["plan"]).ok(), "No changes.\n");
}

#[test]
fn a_return_that_was_left_behind_is_finished_and_apply_goes_on_where_that_was_cut_off() {
    let (lab, _tools) = lab(1);
    let site = operator(&lab, "ours", 0);
    edit(
        &lab,
        &of_class(&site, "free")[0],
        ServerEdit { name: Some("returning-x-y".into()), ..ServerEdit::default() },
    );
    let Ran { exit, stdout, .. } = audit(&site);
    assert!(exit == Exit::Failed && stdout.contains("broken: what is begun is ended in time"), "{stdout}");
    lab.fault(
        Fault { times: None, ..Fault::refused(ErrorType::InvalidArguments) }.on(Operation::UpdateServer),
    );
    let failed = site.fleet(["pool", "reclaim", "returning-x-y", "--yes"]).failed();
    assert!(failed.contains("returning-x-y: not freed"), "{failed}");
    let Ran { exit, stdout, .. } = audit(&site);
    assert!(exit == Exit::Failed && stdout.contains("\nunsettled rename on "), "{stdout}");
    lab.clear_faults();
    apply(&site);
    assert!(audit(&site).ok().ends_with("1 server: 1 free; the books balance\n"));
    assert_eq!(site.fleet(["plan"]).ok(), "No changes.\n");
}

#[test]
fn a_state_that_was_lost_is_made_anew_from_the_vendor_and_the_ledgers() {
    let (lab, _tools) = lab(3);
    let (site, others) = (operator(&lab, "ours", 2), operator(&lab, "theirs", 1));
    apply(&site);
    apply(&others);
    let before = classes(&site);
    fs::remove_dir_all(site.path().join(".fleet")).unwrap();
    assert_eq!(of_class(&site, "foreign").len(), 3);
    let lineage = fs::read_to_string(ledger(&lab, "ours-0")).unwrap();
    let lineage = lineage.lines().find_map(|line| line.strip_prefix("lineage ")).unwrap();
    let requests = lab.requests().len();
    site.fleet(["state", "rebuild", "--lineage", lineage]).ok();
    assert_eq!(wrote(&lab, requests), [], "nothing is changed at the vendor");
    assert_eq!(classes(&site), before);
    assert_eq!(site.fleet(["plan"]).ok(), "No changes.\n");
    assert!(audit(&site).ok().contains("2 mine, 1 foreign; the books balance"));
    site.fleet(["destroy", "--auto-approve"]).ok();
    assert_eq!(of_class(&site, "free").len(), 2);
}

#[test]
fn machines_of_static_pools_are_in_the_books_by_their_ledgers() {
    let mut desk = Desk::of(3, "");
    desk.slots("size = 1");
    desk.apply();
    fs::create_dir_all(desk.machines[2].root().join("var/tmp/fleet")).unwrap();
    fs::write(desk.machines[2].root().join("var/tmp/fleet/ledger"), "nonsense").unwrap();
    assert_eq!(of_class(&desk.site, "mine"), ["a"]);
    assert_eq!(of_class(&desk.site, "free"), ["b"]);
    assert_eq!(of_class(&desk.site, "stray"), ["c"]);
    assert_eq!(audit(&desk.site).exit, Exit::Failed);
    fs::remove_file(desk.machines[2].root().join("var/tmp/fleet/ledger")).unwrap();
    assert!(audit(&desk.site).ok().ends_with("3 servers: 2 free, 1 mine; the books balance\n"));
    // Without the state it is somebody else's.
    fs::remove_dir_all(desk.site.path().join(".fleet")).unwrap();
    assert_eq!(of_class(&desk.site, "foreign"), ["a"]);
}

#[test]
fn servers_are_ordered_after_a_question_and_become_free() {
    let (lab, _tools) = lab(1);
    let site = operator(&lab, "ours", 0);
    let asked = site.fleet(["pool", "order", "minis", "--count", "2"]);
    assert!(asked.stdout.contains("Each is paid for 24 hours at least"), "{asked:?}");
    assert!(asked.failed().contains("not approved"));
    assert_eq!(lab.servers().len(), 1);
    lab.fault(Fault::refused(ErrorType::QuotasExceeded).on(Operation::BatchCreateServers));
    assert!(
        site.fleet(["pool", "order", "minis", "--count", "2", "--yes"])
            .failed()
            .contains("nothing was ordered")
    );
    let ordered = site.fleet(["pool", "order", "minis", "--count", "2", "--yes"]).ok();
    assert_eq!(ordered.matches(": ordered").count(), 2, "{ordered}");
    lab.advance(Duration::from_secs(2 * 3600));
    assert_eq!(of_class(&site, "free").len(), 3);
    assert!(
        site.fleet(["pool", "order", "nowhere", "--count", "1"])
            .failed()
            .contains("is no pool behind a vendor")
    );
}

//! The bad states that hosts are known to get into: found by their names in plans and by `fleet doctor`, with evidence and
//! cure; none on a Mac that is well; and nothing is written for it.

use std::collections::BTreeSet;
use std::fs;

use fleet_cli::Exit;
use fleet_engine::finding;
use fleet_lab::clock::Pace;
use fleet_lab::mac::sign;
use fleet_lab::machine::{Disturbance, Machine as _};
use serde_json::Value as Json;

use super::minis::{MAIN, SLOT};
use super::{Minis, builders, incidents};
use crate::hosts::tree;
use crate::support::Ran;

/// Tests that return which bad states they found. Each says here which these are, and fails if it found others.
macro_rules! tests_that_find {
    ($($test:ident: [$($name:literal),+],)*) => {
        /// What they find; the others are found in incidents.
        const FOUND_HERE: &[&str] = &[$($($name),+),*];

        mod found {
            $(
                #[test]
                fn $test() {
                    let found: super::BTreeSet<&str> = super::$test().into_iter().collect();
                    assert_eq!(found, [$($name),+].into());
                }
            )*
        }
    };
}

tests_that_find! {
    a_filter_that_somebody_switched_off: ["pf-off"],
    a_host_where_root_takes_a_password: ["root-needs-password"],
    builders_without_what_they_build_with: ["tart-cannot-start", "xcode-missing"],
    hosts_that_cannot_be_looked_at: ["changed-host-key", "foreign-ledger", "refused-login", "silent-ssh-port"],
    nobody_at_the_screen: ["no-aqua-session"],
    services_that_run_badly: ["service-failed", "unhealthy-service"],
    what_is_not_in_effect_before_a_reboot: ["reboot-pending"],
}

/// The names of what was found.
type Found = Vec<&'static str>;

/// The findings that a command printed as JSON.
fn findings(ran: &Ran) -> Vec<Json> {
    let printed: Json = serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:?}"));
    printed["findings"].as_array().cloned().unwrap_or_default()
}

fn names(findings: &[Json]) -> BTreeSet<&str> {
    findings.iter().map(|finding| finding["name"].as_str().unwrap()).collect()
}

/// Both a plan and the doctor find these, and find the same; what an apply cures is cured by this plan.
#[track_caller]
pub(super) fn check_found<'a>(minis: &Minis, expected: &[&'a str]) -> Vec<&'a str> {
    let planned = minis.fleet(&["plan", "--json"]);
    let examined = minis.fleet(&["doctor", "--json"]);
    // What cannot be looked at makes it fail, however well it is known why.
    let exit = if examined.stdout.contains("\"unseen\": []") { Exit::Changes } else { Exit::Failed };
    assert_eq!(examined.exit, exit, "{examined:?}");
    let (planned, examined) = (findings(&planned), findings(&examined));
    assert_eq!(names(&planned), names(&examined));
    for name in expected {
        let of_name = |finding: &&Json| finding["name"] == **name;
        for finding in [&planned, &examined].map(|all| all.iter().find(of_name)) {
            let finding = finding.unwrap_or_else(|| panic!("{name} is not found: {planned:?}"));
            assert!(!finding["evidence"].as_str().unwrap().is_empty(), "{finding}");
            assert_eq!(finding["host"], SLOT, "{finding}");
        }
        let in_plan = planned.iter().find(of_name).unwrap();
        assert_eq!(in_plan["planned"], in_plan["by"] == "apply", "{in_plan}");
    }
    let said = minis.fleet(&["doctor", "desk[0]"]);
    assert_eq!(said.exit, exit, "{said:?}");
    for text in [minis.fleet(&["plan"]).stdout, said.stdout] {
        for name in expected {
            assert!(text.contains(&format!("! {name}  # {SLOT}")), "{name} in {text}");
        }
        assert!(text.contains("evidence: ") && text.contains("cure, "), "{text}");
    }
    expected.to_vec()
}

/// Nothing is found.
#[track_caller]
pub(super) fn check_well(minis: &Minis) {
    let said = minis.fleet(&["doctor"]).ok();
    assert!(said.contains("nothing found"), "{said}");
    assert!(!minis.plan().contains("Known bad states"), "{}", minis.plan());
}

/// What could not be looked at is a sign of this, and the exit code says that it could not.
#[track_caller]
fn check_unseen<'a>(minis: &Minis, expected: &'a str) -> &'a str {
    let examined = minis.fleet(&["doctor", "--json"]);
    assert_eq!(examined.exit, Exit::Failed, "{examined:?}");
    let found = findings(&examined);
    assert_eq!(names(&found), [expected].into(), "{found:?}");
    assert!(examined.stdout.contains("\"unseen\": [\n"), "{examined:?}");
    let said = minis.fleet(&["doctor"]).stdout;
    assert!(
        said.contains(&format!("! {expected}  # {SLOT}.host")) && said.contains("cannot be seen: "),
        "{said}"
    );
    let planned = minis.fleet(&["plan"]).stdout;
    assert!(planned.contains(&format!("! {expected}  # {SLOT}.host")), "{planned}");
    assert!(planned.contains(&format!("cannot be observed: {expected}")), "{planned}");
    expected
}

#[test]
fn every_known_bad_state_is_found_in_some_test() {
    let mut tested = incidents::findings();
    tested.extend(FOUND_HERE.iter().chain(&crate::kubernetes::FOUND_THERE).map(|name| (*name).to_owned()));
    let known: BTreeSet<String> = finding::ALL.iter().map(|known| known.name.to_owned()).collect();
    assert_eq!(tested, known);
    // The page tells of each; `cargo xtask docs --check` sees that it tells what the table says.
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/findings.md");
    let page = fs::read_to_string(page).unwrap();
    for name in known {
        assert!(page.contains(&format!("\n## {name}\n")), "{name}");
    }
}

const NETWORK: &str = "  resource \"macos_local_network\" \"x\" {}\n";

/// A service of a program with these lines.
fn service(minis: &Minis, lines: &str, fields: &str) -> String {
    minis.site.write("build/agent", "");
    let program = sign(format!("#!lab-program\n{lines}").as_bytes(), "a.out");
    fs::write(minis.site.path().join("build/agent"), program).unwrap();
    format!(
        "  resource \"macos_signed_binary\" \"agent\" {{
    path          = \"/usr/local/bin/agent\"
    source        = \"build/agent\"
    source_sha256 = filesha256(\"build/agent\")
  }}

  resource \"macos_launchd_service\" \"agent\" {{
    label             = \"dev.example.agent\"
    program_arguments = [macos_signed_binary.agent.path]
    restart_on        = [macos_signed_binary.agent.cdhash]
    soak              = 1
    timeout           = 5
    {fields}
  }}
"
    )
}

fn services_that_run_badly() -> Found {
    let mut found = Found::new();
    for (lines, fields, expected) in [
        ("version=1", "health_url = \"http://127.0.0.1:8081/\"", "unhealthy-service"),
        ("version=1\nexit_after=1\nexit_code=3", "keep_alive = false", "service-failed"),
    ] {
        let minis = Minis::free();
        minis.configure(&service(&minis, lines, fields));
        // It is made, and seen to be of no use.
        let said = minis.fleet(&["apply", "--auto-approve"]);
        assert_eq!(said.exit, Exit::Failed, "{said:?}");
        found.extend(check_found(&minis, &[expected]));
    }
    found
}

fn a_filter_that_somebody_switched_off() -> Found {
    let minis = Minis::free();
    minis.configure("  resource \"macos_vm_nat\" \"this\" {}\n");
    minis.apply();
    check_well(&minis);
    minis.as_root("pfctl -d").ok();
    let found = check_found(&minis, &["pf-off"]);
    minis.apply();
    check_well(&minis);
    found
}

fn builders_without_what_they_build_with() -> Found {
    let minis = Minis::free();
    builders::prepare(&minis);
    let tart = "  resource \"macos_tart\" \"this\" {
    version       = \"2.32.1\"
    source        = \"tart.tar.gz\"
    source_sha256 = filesha256(\"tart.tar.gz\")
  }
";
    minis.configure(tart);
    minis.apply();
    check_well(&minis);
    fs::write(minis.path("/usr/local/lib/tart.app/Contents/MacOS/tart"), "rubbish").unwrap();
    let mut found = check_found(&minis, &["tart-cannot-start"]);
    minis.apply();
    check_well(&minis);
    // Nobody but a person gets an Xcode.
    minis.configure(&format!(
        "{tart}\n  resource \"macos_xcode\" \"x\" {{\n    path = \"/Applications/Xcode-27.app\"\n  }}\n"
    ));
    found.extend(check_found(&minis, &["xcode-missing"]));
    found
}

fn what_is_not_in_effect_before_a_reboot() -> Found {
    let minis = Minis::paced(1, Pace::Times(200.0));
    minis.let_sudo();
    minis.configure(NETWORK);
    minis.apply();
    // There is nothing to be done, and still it is said.
    let planned = minis.plan();
    assert!(planned.contains("No changes.") && planned.contains("! reboot-pending"), "{planned}");
    assert!(planned.contains("cure, by a `host_reboot`: "), "{planned}");
    let found = findings(&minis.fleet(&["plan", "--json"]));
    assert_eq!((names(&found), &found[0]["planned"]), (["reboot-pending"].into(), &Json::Bool(false)));
    minis.configure(&format!(
        "{NETWORK}  resource \"host_reboot\" \"x\" {{\n    when = macos_local_network.x.reboot_required\n  }}\n"
    ));
    let found = check_found(&minis, &["reboot-pending"]);
    minis.apply();
    check_well(&minis);
    found
}

fn nobody_at_the_screen() -> Found {
    let minis = Minis::paced(1, Pace::Times(200.0));
    minis.let_sudo();
    minis.configure(
        "  resource \"macos_auto_login\" \"x\" {\n    user     = \"m1\"\n    password = sensitive(\"pass word\")\n  }\n",
    );
    minis.apply();
    check_well(&minis);
    minis.wait(async {
        minis.macs[0].halt().await.unwrap();
        minis.macs[0].boot(None).await.unwrap();
    });
    let found = check_found(&minis, &["no-aqua-session"]);
    minis.apply();
    check_well(&minis);
    found
}

fn hosts_that_cannot_be_looked_at() -> Found {
    let file =
        "  resource \"host_file\" \"here\" {\n    path    = \"/Users/m1/here\"\n    content = \"x\"\n  }\n";
    let applied = || {
        let minis = Minis::paced(1, Pace::Times(200.0));
        minis.configure(file);
        minis.apply();
        check_well(&minis);
        minis
    };
    let minis = applied();
    let ledger = minis.read("/var/tmp/fleet/ledger");
    let others: String = ledger
        .lines()
        .map(|line| {
            if line.starts_with("lineage") { "lineage somebody-elses\n".into() } else { format!("{line}\n") }
        })
        .collect();
    fs::write(minis.path("/var/tmp/fleet/ledger"), others).unwrap();
    let mut found = vec![check_unseen(&minis, "foreign-ledger")];
    fs::write(minis.path("/var/tmp/fleet/ledger"), ledger).unwrap();
    check_well(&minis);

    minis.macs[0].disturb(Disturbance::FillBacklog).unwrap();
    found.push(check_unseen(&minis, "silent-ssh-port"));

    let minis = applied();
    minis.install_anew(0, "15.6");
    found.push(check_unseen(&minis, "changed-host-key"));

    let minis = applied();
    for entry in fs::read_dir(minis.path("/Users/m1/.ssh")).unwrap() {
        fs::write(entry.unwrap().path(), "").unwrap();
    }
    found.push(check_unseen(&minis, "refused-login"));
    found
}

fn a_host_where_root_takes_a_password() -> Found {
    let minis = Minis::paced(1, Pace::Skipping);
    minis.configure("  resource \"macos_vm_nat\" \"this\" {}\n");
    let unseen = check_unseen(&minis, "root-needs-password");
    // What makes root free is part of the plan, and what waits for it is planned without a look.
    minis.site.write("sudo", "pass word");
    let text = minis
        .site
        .read(MAIN)
        .replace("identity = secret.key", "identity = secret.key\n    sudo_password = secret.sudo");
    let sudoers =
        "  resource \"macos_sudoers\" \"x\" {\n    user = \"m1\"\n  }\n\n  resource \"macos_vm_nat\"";
    let text = text.replace("  resource \"macos_vm_nat\"", sudoers);
    minis.site.write(MAIN, &format!("secret \"sudo\" {{\n  from = \"file:sudo\"\n}}\n{text}"));
    let found = findings(&minis.fleet(&["plan", "--json"]));
    assert_eq!((names(&found), &found[0]["planned"]), (["root-needs-password"].into(), &Json::Bool(true)));
    minis.apply();
    check_well(&minis);
    vec![unseen]
}

/// A Mac with something of everything on it.
fn whole() -> Minis {
    let minis = Minis::paced(1, Pace::Times(200.0));
    minis.let_sudo();
    builders::prepare(&minis);
    let service =
        service(&minis, "version=1\nlistens=8081", "health_url = \"http://127.0.0.1:8081/healthz\"");
    minis.configure(&format!(
        r#"{service}
  resource "macos_sudoers" "m1" {{ user = "m1" }}
  resource "macos_auto_login" "m1" {{
    user     = "m1"
    password = sensitive("pass word")
  }}
  resource "macos_hostname" "this" {{ name = "mini" }}
  resource "macos_power" "this" {{}}
  resource "macos_software_update" "this" {{}}
  resource "macos_hardening" "this" {{}}
{NETWORK}
  resource "host_reboot" "x" {{ when = macos_local_network.x.reboot_required }}
  resource "macos_defaults" "guest" {{
    domain = "/Library/Preferences/com.apple.loginwindow"
    key    = "GuestEnabled"
    value  = false
    sudo   = true
  }}
  resource "macos_pf_anchor" "egress" {{
    name   = "ci.runners"
    tables = {{ vm_sources = ["192.168.64.0/22"], blocked_dst = ["10.0.0.0/8"] }}
    rules  = ["block drop out quick from <vm_sources> to <blocked_dst>"]
  }}
  resource "macos_vm_nat" "this" {{}}
  resource "macos_pf_ssh_guard" "this" {{ allowed = ["0.0.0.0/0"] }}
  resource "macos_tart" "this" {{
    version       = "2.32.1"
    source        = "tart.tar.gz"
    source_sha256 = filesha256("tart.tar.gz")
  }}
  resource "macos_xcode" "this" {{}}
  resource "github_runner" "this" {{
    user          = "m1"
    url           = "{url}"
    name          = "mini"
    version       = "2.336.0"
    source        = "actions-runner-osx-arm64.tar.gz"
    source_sha256 = filesha256("actions-runner-osx-arm64.tar.gz")
    token         = secret.token
  }}
"#,
        url = builders::URL
    ));
    minis.apply();
    minis
}

/// What the self-test says of each kind.
fn outcomes(ran: &Ran) -> Vec<(String, String)> {
    let printed: Json = serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:?}"));
    let of = |kind: &Json, name: &str| kind[name].as_str().unwrap().to_owned();
    printed["kinds"].as_array().unwrap().iter().map(|kind| (of(kind, "kind"), of(kind, "outcome"))).collect()
}

#[test]
fn a_mac_that_is_well_has_none_and_nothing_is_written_to_see_it() {
    let minis = whole();
    minis.check_converged("whole");
    // Daemons of the Mac look after its anchors every minute: for now, none goes by.
    minis.clock.set_pace(Pace::Manual);
    while minis.live()["launchd"]["services"]
        .as_object()
        .unwrap()
        .iter()
        .any(|(target, service)| target.starts_with("system/dev.fleet.pf.") && !service["process"].is_null())
    {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let stamps = || tree::stamps(minis.macs[0].root());
    let before = (stamps(), minis.snapshot());
    check_well(&minis);
    let tried = minis.fleet(&["doctor", "--self-test", "desk[0]", "--json"]);
    let outcomes = outcomes(&tried);
    assert_eq!(tried.exit, Exit::Done, "{outcomes:?}");
    let of = |kind: &str| outcomes.iter().find(|(name, _)| name == kind).map(|(_, outcome)| outcome.as_str());
    assert_eq!((of("macos_power"), of("macos_pf_anchor")), (Some("found"), Some("found")));
    assert_eq!((of("host_command"), of("host_facts")), (Some("skipped"), Some("found")));
    tree::same(&before.0, &stamps(), "it was looked at");
    minis.check_same(&before.1, "it was looked at");
}

#[test]
fn a_mac_that_nobody_configured_is_tried() {
    let minis = Minis::free();
    minis.site.write(
        "elsewhere",
        &format!(
            "Host *\n  IdentitiesOnly yes\n  IdentityFile {}\n",
            minis.site.path().join("key").display()
        ),
    );
    let host = format!("m1@127.0.0.1:{}", minis.macs[0].ssh_port());
    let before = tree::stamps(minis.macs[0].root());
    let tried = |words: &[&str]| {
        let words: Vec<&str> = ["doctor", "--self-test", &host, "--ssh-config", "elsewhere"]
            .iter()
            .chain(words)
            .copied()
            .collect();
        minis.fleet(&words)
    };
    let said = tried(&[]).ok();
    assert!(said.contains("are understood, 1 skipped."), "{said}");
    assert!(said.contains("      pmset -g custom\n"), "{said}");
    let kinds = outcomes(&tried(&["--json"]));
    assert!(kinds.len() >= 30, "{kinds:?}");
    tree::same(&before, &tree::stamps(minis.macs[0].root()), "it was tried");
    // A program that is not there, and root who takes a password, are told.
    fs::remove_file(minis.path("/etc/sudoers.d/m1-nopasswd")).unwrap();
    let said = tried(&[]);
    assert_eq!(said.exit, Exit::Failed, "{said:?}");
    assert!(
        said.stdout.contains("!!  macos_sudoers") || said.stdout.contains("!!  macos_pf_anchor"),
        "{}",
        said.stdout
    );
    assert!(said.stdout.contains("need root"), "{}", said.stdout);
    // Neither is anybody there, nor is this a host.
    minis.wait(async { minis.macs[0].halt().await.unwrap() });
    let failed = tried(&[]).failed();
    assert!(failed.contains("the host cannot be asked"), "{failed}");
    assert!(minis.fleet(&["doctor", "--self-test"]).failed().contains("needs a host"));
}

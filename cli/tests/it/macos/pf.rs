//! The kinds of the packet filter: what they make, what they see, what they leave.

use std::net::IpAddr;
use std::process::Stdio;

use fleet_cli::Exit;
use fleet_lab::mac::Mac;
use fleet_lab::machine::Machine;
use rustix::process::{Pid, Signal, kill_process};

use super::Minis;
use crate::laws::rows::{WHERE, check_complete};

/// The egress filter of VMs, as a fleet has it.
const EGRESS: &str = r##"
  resource "macos_pf_anchor" "egress" {
    name = "tuist.runners"
    tables = {
      vm_sources  = ["192.168.64.0/22"]
      blocked_dst = ["10.0.0.0/8", "172.16.0.0/12", "169.254.0.0/16"]
    }
    rules = [
      "pass out quick proto { tcp, udp } from <vm_sources> to 10.0.0.10 port 53",
      "block drop out quick from <vm_sources> to <blocked_dst>",
      "block drop out quick from <vm_sources> to 169.254.169.254",
    ]
    supersedes = ["# Tuist runner VM egress filter.*"]
  }
"##;
const GUARD: &str = "resource \"macos_pf_ssh_guard\" \"this\" {}\n";
const NAT: &str = r#"
  resource "macos_vm_nat" "this" {
    service_network = "10.128.0.0/16"
    private_network = "172.16.0.0/22"
  }
"#;
/// A VM that calls a private address, the resolver in a private network, and the world.
const TO_PRIVATE: &str = "out en0 tcp 192.168.64.5 10.0.0.1:443";
const TO_RESOLVER: &str = "out en0 udp 192.168.64.5 10.0.0.10:53";
const TO_WORLD: &str = "out en0 tcp 192.168.64.5 8.8.8.8:443";

fn passes(minis: &Minis, packet: &str) -> bool {
    minis.macs[0].judge(&packet.parse().unwrap()).unwrap().passes
}

/// A Mac in a tailnet, whose operator comes from there.
fn in_tailnet() -> Minis {
    let minis = Minis::free();
    minis.macs[0].set_interface("utun4", Some(("100.64.0.2".parse().unwrap(), 32)));
    minis.macs[0].set_ssh_peer("100.64.0.9".parse::<IpAddr>().unwrap());
    minis
}

#[test]
fn an_anchor_is_in_force_and_leaves_nothing() {
    let minis = Minis::free();
    minis.macs[0].share_internet(true);
    let before = minis.snapshot();
    minis.configure(EGRESS);
    assert!(passes(&minis, TO_PRIVATE));
    minis.apply();
    minis.check_converged("applied");
    assert!(!passes(&minis, TO_PRIVATE) && passes(&minis, TO_RESOLVER) && passes(&minis, TO_WORLD));
    // What macOS itself put into the main ruleset is still there.
    assert!(minis.macs[0].translate(&TO_WORLD.parse().unwrap()).is_some());
    let conf = minis.read("/etc/pf.conf");
    assert_eq!(conf.matches("\nanchor \"tuist.runners\"\n").count(), 1, "{conf}");
    // Somebody else who wants the filter to be on keeps it on.
    let token = minis.as_root("pfctl -E").err;
    let token = token.rsplit("Token : ").next().unwrap().trim().to_owned();
    minis.destroy();
    assert!(minis.as_root("pfctl -s info").ok().starts_with("Status: Enabled"));
    assert_eq!(minis.as_root(&format!("pfctl -X {token}")).status, Some(0));
    minis.check_same(&before, "destroyed");
}

#[test]
fn each_field_of_an_anchor_that_changes_behind_our_back_is_seen_and_mended() {
    let minis = Minis::free();
    minis.configure(EGRESS);
    minis.apply();
    let changes = [
        ("pfctl -a tuist.runners -F all", "update rules tables"),
        ("pfctl -a tuist.runners -t blocked_dst -T delete 10.0.0.0/8", "update tables"),
        ("pfctl -a tuist.runners -t blocked_dst -T add 192.0.2.1", "update tables"),
        ("pfctl -t vm_sources -T add 192.0.2.1", "update stray_tables"),
        (
            "{ pfctl -a tuist.runners -s rules; echo pass all; } | pfctl -R -a tuist.runners -f -",
            "update rules",
        ),
        ("pfctl -d", "update enabled"),
        (
            "cut -d\" \" -f1 \"$FLEET_ROOT/var/run/fleet.pf.tuist.runners.token\" | xargs pfctl -X",
            "update enabled",
        ),
        ("pfctl -f - <\"$FLEET_ROOT/etc/pf.anchors/com.apple\"", "update evaluated"),
        ("echo pass all >>\"$FLEET_ROOT/etc/pf.anchors/tuist.runners\"", "update at_boot"),
        ("launchctl bootout system/dev.fleet.pf.tuist.runners; sleep 3", "update at_boot"),
        ("rm \"$FLEET_ROOT/Library/LaunchDaemons/dev.fleet.pf.tuist.runners.plist\"", "update at_boot"),
        ("echo exit >\"$FLEET_ROOT/etc/pf.anchors/tuist.runners.sh\"", "update at_boot"),
        ("chmod 666 \"$FLEET_ROOT/etc/pf.anchors/tuist.runners.sh\"", "update at_boot"),
        ("chown m1 \"$FLEET_ROOT/etc/pf.anchors/tuist.runners.sh\"", "update at_boot"),
        (
            "chmod 666 \"$FLEET_ROOT/Library/LaunchDaemons/dev.fleet.pf.tuist.runners.plist\"",
            "update at_boot",
        ),
        ("chown m1 \"$FLEET_ROOT/Library/LaunchDaemons/dev.fleet.pf.tuist.runners.plist\"", "update at_boot"),
        ("launchctl disable system/dev.fleet.pf.tuist.runners", "update at_boot"),
        // What is loaded is not what the file says.
        (
            "cd \"$FLEET_ROOT/Library/LaunchDaemons\" && f=dev.fleet.pf.tuist.runners.plist && cp \"$f\" \"$f.x\" \
             && sed s/tuist.runners.sh/tuist.other.sh/ \"$f.x\" >\"$f\" && launchctl bootout system/dev.fleet.pf.tuist.runners; \
             sleep 3; launchctl bootstrap system \"$PWD/$f\"; cat \"$f.x\" >\"$f\"; rm \"$f.x\"",
            "update at_boot",
        ),
        ("echo \"anchor \\\"tuist.runners\\\"\" >>\"$FLEET_ROOT/etc/pf.conf\"", "update conf"),
        ("echo \"# Tuist runner VM egress filter\" >>\"$FLEET_ROOT/etc/pf.conf\"", "update supersedes"),
    ];
    check_complete("macos_pf_anchor", changes.map(|(_, expected)| expected), &[(&["name"], WHERE)]);
    for (script, expected) in changes {
        minis.as_root(script).ok();
        minis.check_plan(&[("macos_pf_anchor.egress", expected)]);
        minis.apply();
        minis.check_converged(script);
        assert!(!passes(&minis, TO_PRIVATE) && passes(&minis, TO_RESOLVER), "{script}");
    }
}

#[test]
fn each_field_of_an_anchor_that_changes_in_the_file_is_planned_alone() {
    let minis = Minis::free();
    minis.configure(EGRESS);
    minis.apply();
    for (from, to, expected) in [
        ("\"10.0.0.0/8\", ", "", "update tables"),
        ("\"block drop out quick from <vm_sources> to 169.254.169.254\",", "", "update rules"),
        ("supersedes = [\"# Tuist runner VM egress filter.*\"]", "", "update supersedes"),
        ("\"tuist.runners\"", "\"ci.runners\"", "replace name"),
    ] {
        minis.configure(&EGRESS.replace(from, to));
        minis.check_plan(&[("macos_pf_anchor.egress", expected)]);
        minis.apply();
        minis.check_converged(expected);
        minis.configure(EGRESS);
        minis.apply();
        minis.check_converged(expected);
        assert!(!passes(&minis, TO_PRIVATE));
    }
    assert!(!minis.path("/etc/pf.anchors/ci.runners").exists());
    assert!(!minis.read("/etc/pf.conf").contains("ci.runners"));
}

#[test]
fn a_minute_and_a_start_bring_it_back() {
    let minis = Minis::of(1);
    minis.let_sudo();
    minis.configure(EGRESS);
    minis.apply();
    let is_back = |about: &str| {
        // The daemon runs on the lab's clock, which goes much faster than this one.
        let mut tries = (0..600).map(|_| std::thread::sleep(std::time::Duration::from_millis(50)));
        assert!(tries.any(|()| !passes(&minis, TO_PRIVATE)), "{about}: {}", minis.live());
    };
    minis.as_root("pfctl -a tuist.runners -F all").ok();
    is_back("flushed");
    minis.wait(async {
        minis.macs[0].halt().await.unwrap();
        minis.macs[0].boot(None).await.unwrap();
    });
    is_back("started anew");
    minis.check_converged("started anew");
}

#[test]
fn a_table_that_is_not_declared_is_a_mistake() {
    let minis = Minis::free();
    minis.configure(&EGRESS.replace("to <blocked_dst>", "to <blocked>"));
    let ran = minis.fleet(&["validate"]);
    assert_eq!(ran.exit, Exit::Failed);
    let said = format!("{}{}", ran.stdout, ran.stderr);
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("<blocked>, which is not declared") && said.contains("`blocked_dst`"), "{said}");
}

#[test]
fn rules_that_the_kernel_refuses_change_nothing() {
    let minis = Minis::free();
    minis.configure(EGRESS);
    minis.apply();
    let before = minis.snapshot();
    minis.configure(
        &EGRESS.replace("block drop out quick from <vm_sources> to 169.254.169.254", "block nonsense"),
    );
    let ran = minis.fleet(&["apply", "--auto-approve"]);
    assert_eq!(ran.exit, Exit::Failed);
    let said = format!("{}{}", ran.stdout, ran.stderr);
    assert!(said.contains("syntax error"), "{said}");
    minis.check_same(&before, "refused");
    assert!(!passes(&minis, TO_PRIVATE));
}

#[test]
fn a_guard_lets_in_whom_it_should_and_leaves_nothing() {
    let minis = in_tailnet();
    let before = minis.snapshot();
    minis.configure(GUARD);
    minis.apply();
    minis.check_converged("applied");
    for (packet, expected) in [
        ("in utun4 tcp 100.64.7.7 100.64.0.2:22", true),
        ("in en0 tcp 203.0.113.7 10.0.0.11:22", false),
        ("in en0 tcp 203.0.113.7 10.0.0.11:443", true),
        ("in lo0 tcp 127.0.0.1 127.0.0.1:22", true),
        ("in bridge100 tcp 192.168.64.5 192.168.64.6:22", false),
        ("in bridge100 tcp 192.168.64.5 140.82.112.3:22", true),
    ] {
        assert_eq!(passes(&minis, packet), expected, "{packet}");
    }
    // Whoever is not let in does not reach it, and nothing is lost when they come from the tailnet again.
    let changes = [
        ("pfctl -a com.apple/fleet.sshguard -F rules", "update intact"),
        ("pfctl -a com.apple/fleet.sshguard -t ssh_allowed -T delete 100.64.0.0/10", "update tailnet"),
        ("pfctl -a com.apple/fleet.sshguard -t ssh_allowed -T add 192.0.2.0/24", "update allowed"),
        ("pfctl -a com.apple/fleet.sshguard -t vm_ssh_sources -T flush", "update vms"),
        ("pfctl -d", "update enabled"),
        ("echo \"anchor \\\"x\\\"\" | pfctl -R -f -", "update evaluated"),
        ("rm \"$FLEET_ROOT/etc/pf.anchors/fleet.sshguard.sh\"", "update at_boot"),
    ];
    check_complete("macos_pf_ssh_guard", changes.map(|(_, expected)| expected), &[(&["name"], WHERE)]);
    for (script, expected) in changes {
        minis.as_root(script).ok();
        minis.check_plan(&[("macos_pf_ssh_guard.this", expected)]);
        minis.apply();
        minis.check_converged(script);
        assert!(!passes(&minis, "in en0 tcp 203.0.113.7 10.0.0.11:22"), "{script}");
    }
    minis.destroy();
    minis.as_root("pfctl -R -f - <<-END\nscrub-anchor \"com.apple/*\"\ndummynet-anchor \"com.apple/*\"\nanchor \"com.apple/*\"\nEND").ok();
    minis.check_same(&before, "destroyed");
}

#[test]
fn a_guard_that_would_strand_the_host_is_refused() {
    let minis = Minis::free();
    minis.configure(GUARD);
    let ran = minis.fleet(&["apply", "--auto-approve"]);
    assert_eq!(ran.exit, Exit::Failed);
    let said = format!("{}{}", ran.stdout, ran.stderr);
    assert!(
        said.contains("this host has no address in the tailnet, and no other network is allowed"),
        "{said}"
    );
    assert!(passes(&minis, "in en0 tcp 203.0.113.7 10.0.0.11:22"));
    // With another network it is not: whoever is logged in stays, and may come again.
    minis.configure(&GUARD.replace("{}", "{ allowed = [\"198.51.100.0/24\"] }"));
    minis.apply();
    minis.check_converged("another network");
    assert!(passes(&minis, "in en0 tcp 203.0.113.7 10.0.0.11:22"));
    assert!(!passes(&minis, "in en0 tcp 203.0.113.8 10.0.0.11:22"));
}

#[test]
fn vms_reach_other_networks_by_the_interfaces_of_the_moment() {
    let minis = in_tailnet();
    let mac = &minis.macs[0];
    mac.set_route("10.128.0.0/16".parse().unwrap(), "utun4");
    minis.configure(NAT);
    minis.apply();
    minis.check_converged("applied");
    let by = |packet: &str| mac.translate(&packet.parse().unwrap()).unwrap_or_default();
    assert!(by(TO_WORLD).contains("to ! 172.16.0.0/22 -> (en0)"));
    assert!(by("out utun4 tcp 192.168.64.5 10.128.3.4:4000").contains("-> (utun4)"));
    assert_eq!(by("out vlan0 tcp 192.168.64.5 172.16.0.9:30001"), "");
    let rules = minis.as_root("pfctl -a com.apple/fleet.vmnat -s rules").ok();
    assert_eq!(rules.matches("max-mss 1200").count(), 2, "{rules}");
    // A VLAN comes without an address; what the daemon does every minute takes it in.
    mac.set_interface("vlan0", None);
    minis.as_root("/bin/sh \"$FLEET_ROOT/etc/pf.anchors/fleet.vmnat.sh\" com.apple/fleet.vmnat").ok();
    assert!(by("out vlan0 tcp 192.168.64.5 172.16.0.9:30001").contains("-> (vlan0)"));
    minis.check_converged("a VLAN more");
    let changes = [
        (
            "sed -i \"s|^vms=.*|vms='192.168.68.0/22'|\" \"$FLEET_ROOT/etc/pf.anchors/fleet.vmnat.sh\"",
            "update vms",
        ),
        (
            "sed -i \"s|^service=.*|service=''|\" \"$FLEET_ROOT/etc/pf.anchors/fleet.vmnat.sh\"",
            "update service_network",
        ),
        (
            "sed -i \"s|^private=.*|private='172.18.0.0/22'|\" \"$FLEET_ROOT/etc/pf.anchors/fleet.vmnat.sh\"",
            "update private_network",
        ),
        ("pfctl -a com.apple/fleet.vmnat -F nat", "update intact"),
        ("pfctl -d", "update enabled"),
        ("echo \"rdr-anchor \\\"com.apple/*\\\"\" | pfctl -N -f -", "update evaluated"),
        ("launchctl bootout system/dev.fleet.pf.fleet.vmnat; sleep 3", "update at_boot"),
    ];
    check_complete("macos_vm_nat", changes.map(|(_, expected)| expected), &[(&["name"], WHERE)]);
    for (script, expected) in changes {
        minis.as_root(script).ok();
        minis.check_plan(&[("macos_vm_nat.this", expected)]);
        minis.apply();
        minis.check_converged(script);
        assert!(by(TO_WORLD).contains("-> (en0)"), "{script}");
    }
    minis.configure(&NAT.replace("172.16.0.0/22", "172.17.0.0/22"));
    minis.check_plan(&[("macos_vm_nat.this", "update private_network")]);
    minis.apply();
    minis.check_converged("another network");
    minis.destroy();
    minis.as_root("{ echo \"nat-anchor \\\"com.apple/*\\\"\"; echo \"rdr-anchor \\\"com.apple/*\\\"\"; } | pfctl -N -f -").ok();
    let after = minis.as_root("pfctl -s Anchors; pfctl -s nat; pfctl -s rules; pfctl -s info | head -1").ok();
    assert!(!after.contains("fleet") && after.contains("Status: Disabled"), "{after}");
    assert!(!minis.path("/etc/pf.anchors/fleet.vmnat").exists());
}

#[test]
fn what_a_daemon_was_writing_when_it_was_ended_goes_with_the_rest() {
    let minis = in_tailnet();
    let before = minis.snapshot();
    minis.configure(&format!("{EGRESS}{GUARD}{NAT}"));
    minis.apply();
    for name in ["tuist.runners", "fleet.sshguard", "fleet.vmnat"] {
        minis.as_root(&format!(
            "launchctl bootout system/dev.fleet.pf.{name}; cd \"$FLEET_ROOT/etc/pf.anchors\" && touch {name}.new {name}.loaded.new"
        ));
    }
    minis.destroy();
    minis.check_same(&before, "destroyed");
}

/// What lets nobody in any more, but whoever is inside already.
const CUTS: &str = "resource \"macos_pf_anchor\" \"cuts\" {
    name   = \"ci.cuts\"
    tables = { all = [\"0.0.0.0/0\"] }
    rules  = [\"block drop in quick proto tcp from <all> to any port 22\"]
  }
";
/// Whoever comes from elsewhere.
const ARRIVAL: &str = "in en0 tcp 203.0.113.7 10.0.0.11:22";

/// Puts these blocks into the fleet. Its hosts wait for nobody longer than they must.
fn configure_hasty(minis: &Minis, blocks: &str) {
    minis.configure(blocks);
    minis.hasten();
}

/// The same filter, which cuts nobody off.
fn harmless() -> String {
    CUTS.replace("port 22", "port 23")
        .replace("all = [\"0.0.0.0/0\"]", "all = [\"0.0.0.0/0\"], some = [\"10.9.0.0/16\"]")
        .replace("rules  = [", "rules  = [\"pass in quick from <some> to any\", ")
}

/// Waits until something is so.
fn until(mut is_so: impl FnMut() -> bool) {
    while !is_so() {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

/// A Mac with a filter that cuts nobody off; and one whose run was killed after it had cut off everybody.
fn killed_in_its_middle(minis: &Minis) {
    configure_hasty(minis, CUTS);
    let mut command = minis.site.command_with_path(["apply", "--auto-approve"]);
    let mut fleet = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    until(|| !passes(minis, ARRIVAL));
    fleet.kill().unwrap();
    fleet.wait().unwrap();
    minis.macs[0].cut_connections();
}

#[test]
fn a_rule_that_would_cut_ssh_is_undone_by_the_host_itself() {
    let minis = Minis::free();
    configure_hasty(&minis, "");
    minis.apply();
    let before = minis.snapshot();
    configure_hasty(&minis, CUTS);
    let told = minis.fleet(&["apply", "--auto-approve"]).failed();
    assert!(told.contains("no new connection could confirm that the host can still be reached"), "{told}");
    assert!(told.contains("so the host undid the change"), "{told}");
    // It lets everybody in again, and nothing is left of the change.
    assert!(passes(&minis, ARRIVAL));
    minis.check_same(&before, "undone");
    assert_eq!(
        minis.by_hand("ls \"$FLEET_ROOT/var/tmp/fleet\"").ok(),
        "ledger\nledger.d\nledger.unconfirmed\n"
    );
    assert_eq!(minis.by_hand("ls \"$FLEET_ROOT/var/tmp/fleet/ledger.d\"").ok(), "");
    let plan = minis.plan();
    assert!(
        plan.contains("macos_pf_anchor.cuts was changed before, and the host undid it by itself"),
        "{plan}"
    );
    minis.check_plan(&[("macos_pf_anchor.cuts", "create")]);
    // What lets people in stays, and nobody speaks of what was undone any more.
    configure_hasty(&minis, &harmless());
    minis.apply();
    minis.check_converged("what cuts nobody off");
    assert_eq!(minis.by_hand("ls \"$FLEET_ROOT/var/tmp/fleet\"").ok(), "ledger\nledger.d\n");
    // A change of what is there is undone to what was there: other tables, too.
    let there = minis.snapshot();
    configure_hasty(&minis, CUTS);
    let told = minis.fleet(&["apply", "--auto-approve"]).failed();
    assert!(told.contains("so the host undid the change"), "{told}");
    minis.check_same(&there, "undone to what was there");
    minis.check_plan(&[("macos_pf_anchor.cuts", "update rules tables")]);
    minis.destroy();
    minis.check_same(&before, "destroyed");
}

#[test]
fn a_daemon_that_was_disabled_is_so_again_once_a_change_is_undone() {
    let minis = Minis::free();
    configure_hasty(&minis, &harmless());
    minis.apply();
    minis.as_root("launchctl disable system/dev.fleet.pf.ci.cuts").ok();
    configure_hasty(&minis, CUTS);
    let told = minis.fleet(&["apply", "--auto-approve"]).failed();
    assert!(told.contains("so the host undid the change"), "{told}");
    assert!(passes(&minis, ARRIVAL));
    let disabled = minis.as_root("launchctl print-disabled system").ok();
    assert!(disabled.contains("\"dev.fleet.pf.ci.cuts\" => disabled"), "{disabled}");
}

#[test]
fn a_host_whose_fleet_was_killed_lets_people_in_again() {
    let minis = Minis::free();
    configure_hasty(&minis, "");
    minis.apply();
    let before = minis.snapshot();
    killed_in_its_middle(&minis);
    until(|| passes(&minis, ARRIVAL) && !minis.path("/var/tmp/fleet/ledger.guard").exists());
    minis.check_same(&before, "undone");
    let plan = minis.plan();
    assert!(plan.contains("the host undid it by itself"), "{plan}");
    minis.check_plan(&[("macos_pf_anchor.cuts", "create")]);
    configure_hasty(&minis, &harmless());
    minis.apply();
    minis.check_converged("another filter");
}

#[test]
fn a_host_that_lost_its_power_lets_people_in_again() {
    let minis = Minis::free();
    configure_hasty(&minis, &harmless());
    minis.apply();
    let files = ["/etc/pf.conf", "/etc/pf.anchors/ci.cuts"];
    let before = files.map(|path| minis.read(path));
    killed_in_its_middle(&minis);
    assert_ne!(files.map(|path| minis.read(path)), before);
    minis.wait(async {
        minis.macs[0].halt().await.unwrap();
        minis.macs[0].boot(None).await.unwrap();
    });
    let left = ["/var/tmp/fleet/ledger.guard", "/Library/LaunchDaemons/dev.fleet.guard.plist"];
    until(|| left.iter().all(|path| !minis.path(path).exists()));
    assert!(passes(&minis, ARRIVAL));
    assert_eq!(files.map(|path| minis.read(path)), before);
    configure_hasty(&minis, &harmless());
    minis.check_converged("what was there before");
    assert_eq!(minis.as_root("launchctl print system/dev.fleet.guard").status, Some(113));
}

/// Kills a process at the first call of a command on a Mac that comes once a change waits to be confirmed.
fn kill_once_armed(mac: &Mac, process: Pid) {
    mac.at_call(1, move |mac| match mac.root().join("var/tmp/fleet/ledger.unconfirmed").exists() {
        true => kill_process(process, Signal::KILL).unwrap(),
        false => kill_once_armed(mac, process),
    });
}

#[test]
fn the_next_run_waits_until_a_host_has_undone_what_nobody_confirmed() {
    let minis = Minis::free();
    configure_hasty(&minis, "");
    minis.apply();
    configure_hasty(&minis, &harmless());
    let mut command = minis.site.command_with_path(["apply", "--auto-approve"]);
    let mut fleet = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    kill_once_armed(&minis.macs[0], Pid::from_child(&fleet));
    fleet.wait().unwrap();
    let told = minis.apply();
    assert!(told.contains("fleet.desk[0] was waited for, because it was about to undo a change"), "{told}");
    minis.check_converged("made after all");
}

#[test]
fn what_a_host_does_not_undo_in_time_is_left_alone() {
    let minis = Minis::free();
    configure_hasty(&minis, &harmless());
    minis.apply();
    let name = minis.by_hand("ls \"$FLEET_ROOT/var/tmp/fleet/ledger.d\"").ok().trim().to_owned();
    minis.put("/var/tmp/fleet/ledger.unconfirmed", format!("{name}\tthis attempt\t\t\n"), 0o644);
    let said = minis.fleet(&["plan"]);
    let said = format!("{}{}", said.stdout, said.stderr);
    assert!(said.contains("the host is about to undo the change by itself"), "{said}");
    assert!(said.contains("macos_pf_anchor.cuts"), "{said}");
}

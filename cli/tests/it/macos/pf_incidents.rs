//! Incidents of the packet filter: each starts from the broken host, shows the plan that names it, applies, and ends with an
//! empty plan and the effect that was missing.

use super::Minis;
use super::pf::{EGRESS, NAT, TO_PRIVATE, TO_WORLD, in_tailnet, passes};

const CALL: &str =
    "anchor \"tuist.runners\"\nload anchor \"tuist.runners\" from \"/etc/pf.anchors/tuist.runners\"\n";
/// The anchor file of the old procedure.
const OLD: &str = "table <vm_sources> { 192.168.64.0/22 }\ntable <blocked_dst> { 10.0.0.0/8 }\n\
    block drop out quick from <vm_sources> to <blocked_dst>\n";
const STOCK: &str = "scrub-anchor \"com.apple/*\"\nnat-anchor \"com.apple/*\"\nrdr-anchor \"com.apple/*\"\n\
    dummynet-anchor \"com.apple/*\"\nanchor \"com.apple/*\"\nload anchor \"com.apple\" from \"/etc/pf.anchors/com.apple\"\n";

/// A plan that names what is wrong, an apply, an empty plan, and VMs that are filtered.
#[track_caller]
fn cured(minis: &Minis, named: &[&str]) {
    let planned = minis.plan();
    for words in named {
        assert!(planned.contains(words), "`{words}` is not named: {planned}");
    }
    minis.apply();
    minis.check_converged("cured");
    assert!(!passes(minis, TO_PRIVATE) && passes(minis, TO_WORLD));
    let conf = minis.read("/etc/pf.conf");
    assert!(conf.starts_with(STOCK), "{conf}");
    assert_eq!(conf.matches(CALL).count(), 1, "{conf}");
    // The file as a whole can be loaded on a Mac that was just started.
    minis.as_root("pfctl -nf /etc/pf.conf").ok();
}

/// A Mac that an old script left tables on, in one of the two scopes.
fn with_tables(scope: &str) -> Minis {
    let minis = Minis::free();
    minis.configure(EGRESS);
    let add = |table: &str| format!("pfctl {scope} -t {table} -T add 10.9.0.0/16");
    minis.as_root(&format!("{}; {}", add("vm_sources"), add("blocked_dst"))).ok();
    minis
}

#[test]
fn tables_persisted_in_the_anchor() {
    let minis = with_tables("-a tuist.runners");
    minis.put("/etc/pf.anchors/tuist.runners", OLD, 0o644);
    let refused = minis.as_root("pfctl -a tuist.runners -f /etc/pf.anchors/tuist.runners");
    assert!(refused.err.contains("cannot define table vm_sources: Resource busy"), "{}", refused.err);
    cured(&minis, &["blocked_dst persists in tuist.runners", "vm_sources persists in tuist.runners"]);
}

#[test]
fn tables_persisted_in_the_main_ruleset() {
    let minis = with_tables("");
    minis.put("/etc/pf.anchors/tuist.runners", OLD, 0o644);
    let refused = minis.as_root("pfctl -a tuist.runners -f /etc/pf.anchors/tuist.runners");
    assert!(refused.err.contains("cannot define table blocked_dst: Resource busy"), "{}", refused.err);
    cured(&minis, &["blocked_dst in the main ruleset", "vm_sources in the main ruleset"]);
}

#[test]
fn block_doubled() {
    let minis = Minis::free();
    minis.configure(EGRESS);
    minis.apply();
    let conf = minis.read("/etc/pf.conf");
    let block = conf.strip_prefix(STOCK).unwrap();
    minis.put("/etc/pf.conf", format!("{conf}{block}"), 0o644);
    minis.as_root("pfctl -a tuist.runners -F all").ok();
    let refused = minis.as_root("pfctl -f /etc/pf.conf");
    assert!(
        refused.err.contains("pfctl: Syntax error in config file: pf rules not loaded"),
        "{}",
        refused.err
    );
    cured(&minis, &["2 blocks"]);
}

#[test]
fn legacy_block_without_markers() {
    let minis = Minis::free();
    minis.configure(EGRESS);
    let old = format!("{STOCK}# Tuist runner VM egress filter (do not edit)\n{CALL}");
    let marked = format!("{old}# BEGIN tuist.runners\n{CALL}# END tuist.runners\n");
    minis.put("/etc/pf.conf", marked, 0o644);
    minis.put("/etc/pf.anchors/tuist.runners", OLD, 0o644);
    let refused = minis.as_root("pfctl -f /etc/pf.conf");
    assert!(refused.err.contains("cannot define table vm_sources: Resource busy"), "{}", refused.err);
    cured(&minis, &["2 lines without markers"]);
    assert!(!minis.read("/etc/pf.conf").contains("Tuist runner"));
}

#[test]
fn anchor_full_but_not_called() {
    let minis = Minis::free();
    minis.configure(EGRESS);
    minis.put("/etc/pf.conf", format!("{STOCK}{CALL}"), 0o644);
    minis.put("/etc/pf.anchors/tuist.runners", OLD, 0o644);
    minis.as_root("pfctl -E; pfctl -a tuist.runners -f /etc/pf.anchors/tuist.runners").ok();
    assert!(passes(&minis, TO_PRIVATE));
    minis.macs[0].share_internet(true);
    cured(&minis, &["evaluated = false → true"]);
    // The network of VMs is not lost by it.
    assert!(minis.macs[0].translate(&TO_WORLD.parse().unwrap()).is_some());
}

#[test]
fn anchor_flushed() {
    let minis = Minis::free();
    minis.configure(EGRESS);
    minis.apply();
    minis.as_root("pfctl -a tuist.runners -F all").ok();
    assert!(passes(&minis, TO_PRIVATE));
    cured(&minis, &["rules", "tables"]);
}

#[test]
fn nat_lost_after_many_vms() {
    let minis = in_tailnet();
    let (mac, packet) = (&minis.macs[0], TO_WORLD.parse().unwrap());
    minis.configure(NAT);
    minis.apply();
    mac.share_internet(true);
    minis.as_root("pfctl -a com.apple/fleet.vmnat -F all").ok();
    mac.share_internet(false);
    assert_eq!(mac.translate(&packet), None);
    let planned = minis.plan();
    assert!(planned.contains("intact = false → true"), "{planned}");
    minis.apply();
    minis.check_converged("cured");
    assert!(mac.translate(&packet).is_some());
}

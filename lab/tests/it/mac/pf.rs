//! The packet filter: what `pfctl` says, and the incidents that its wrong use led to.

use std::net::IpAddr;

use fleet_lab::mac::Mac;
use fleet_lab::machine::Machine;

use super::world::{Ran, World};

/// The anchor file of the incidents, as it was: the tables stand in lines 11 and 12.
const ANCHOR: &str = "#\n#\n#\n#\n#\n#\n#\n#\n#\n#\n\
    table <vm_sources> { 192.168.64.0/22 }\n\
    table <blocked_dst> { 10.0.0.0/8, 172.16.0.0/12, 169.254.0.0/16 }\n\
    block drop out quick from <vm_sources> to <blocked_dst>\n\
    block drop out quick from <vm_sources> to 169.254.169.254\n";
const CALL: &str =
    "anchor \"tuist.runners\"\nload anchor \"tuist.runners\" from \"/etc/pf.anchors/tuist.runners\"\n";
/// What all of them end with.
const NOT_LOADED: &str = "/etc/pf.anchors/tuist.runners:11: cannot define table vm_sources: Resource busy\n\
    /etc/pf.anchors/tuist.runners:12: cannot define table blocked_dst: Resource busy\n\
    pfctl: Syntax error in config file: pf rules not loaded\n";
const NOISE: &str = "No ALTQ support in kernel\nALTQ related functions disabled\n";
const WARNING: &str = "pfctl: Use of -f option, could result in flushing of rules\n\
    present in the main ruleset added by the system at startup.\n\
    See /etc/pf.conf for further details.\n\n";
/// A VM that calls a private address.
const VM: &str = "out en0 tcp 192.168.64.5 10.0.0.1:443";

fn write(mac: &Mac, path: &str, text: &str) {
    std::fs::write(mac.root().join(path), text).unwrap();
}

fn read(mac: &Mac, path: &str) -> String {
    std::fs::read_to_string(mac.root().join(path)).unwrap()
}

/// A Mac with the anchor file and so many blocks in `pf.conf`.
async fn with_blocks(world: &World, count: usize) -> std::sync::Arc<Mac> {
    let mac = world.free_mac(1).await;
    write(&mac, "etc/pf.anchors/tuist.runners", ANCHOR);
    let conf = read(&mac, "etc/pf.conf") + &CALL.repeat(count);
    write(&mac, "etc/pf.conf", &conf);
    mac
}

fn passes(mac: &Mac, packet: &str) -> bool {
    mac.judge(&packet.parse().unwrap()).unwrap().passes
}

async fn ok(world: &World, mac: &Mac, script: &str) -> String {
    let ran = world.run(mac, script).await;
    assert_eq!(ran.status, Some(0), "{script}: {}", ran.err);
    ran.out
}

/// What is complained about, without what is said each time.
async fn refused(world: &World, mac: &Mac, script: &str) -> String {
    let Ran { status, err, .. } = world.run(mac, script).await;
    assert_eq!(status, Some(1), "{script}: {err}");
    err.replace(WARNING, "").replace(NOISE, "")
}

#[tokio::test(flavor = "multi_thread")]
async fn what_pfctl_shows_of_a_new_mac() {
    let world = World::new().await;
    let mac = world.free_mac(1).await;
    let denied = world.run(&mac, "pfctl -s info").await;
    assert_eq!((denied.status, &*denied.err), (Some(1), "pfctl: /dev/pf: Permission denied\n"));
    let stock = "scrub-anchor \"com.apple/*\" all fragment reassemble\nanchor \"com.apple/*\" all\n";
    let shown = world.run(&mac, "sudo -n pfctl -sr").await;
    assert_eq!((&*shown.out, &*shown.err), (stock, NOISE));
    let nat = "nat-anchor \"com.apple/*\" all\nrdr-anchor \"com.apple/*\" all\n";
    assert_eq!(ok(&world, &mac, "sudo -n pfctl -s nat").await, nat);
    assert_eq!(ok(&world, &mac, "sudo -n pfctl -s Anchors").await, "  com.apple\n");
    assert!(ok(&world, &mac, "sudo -n pfctl -s info").await.starts_with("Status: Disabled "));
    assert_eq!(ok(&world, &mac, "sudo -n pfctl -s References").await, "No pf starter references held\n");
    let absent = world.run(&mac, "sudo -n pfctl -a nobody -s rules").await;
    assert_eq!((absent.status, &*absent.out), (Some(0), ""));
    assert!(absent.err.contains("pfctl: DIOCGETRULES: Invalid argument"));
    let absent = refused(&world, &mac, "sudo -n pfctl -a nobody -s Tables").await;
    assert_eq!(absent, "pfctl: Anchor or Ruleset does not exist.\n");
    // The file that is delivered can be loaded, and changes nothing.
    let loaded = world.run(&mac, "sudo -n pfctl -f /etc/pf.conf").await;
    assert_eq!((loaded.status, loaded.err), (Some(0), format!("{WARNING}{NOISE}")));
    assert_eq!(ok(&world, &mac, "sudo -n pfctl -s rules").await, stock);
    let usage = world.run(&mac, "sudo -n pfctl -Q").await;
    assert!(usage.err.starts_with("pfctl: illegal option -- Q\nusage: pfctl "), "{usage:?}");
    let inside = mac.inspect().await;
    assert_eq!(inside["live"]["pf"]["rulesets"][""][0], stock.lines().next().unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_on_while_somebody_holds_a_token() {
    let world = World::new().await;
    let mac = world.free_mac(1).await;
    let run = |script: &'static str| {
        let (world, mac) = (&world, &mac);
        async move { world.run(mac, script).await }
    };
    assert_eq!(refused(&world, &mac, "sudo -n pfctl -X 1").await, "pfctl: pf not enabled\n");
    assert_eq!(refused(&world, &mac, "sudo -n pfctl -d").await, "pfctl: pf not enabled\n");
    let taken = run("sudo -n pfctl -E").await;
    assert_eq!((taken.status, &*taken.out), (Some(0), ""));
    let token = taken.err.rsplit_once("pf enabled\nToken : ").unwrap().1.trim().to_owned();
    assert!(token.len() >= 19 && token.parse::<u64>().is_ok(), "{token}");
    assert!(run("sudo -n pfctl -s References").await.out.contains(&token));
    assert!(run("sudo -n pfctl -s info").await.out.starts_with("Status: Enabled for 0 days 00:00:00 "));
    assert_eq!(refused(&world, &mac, "sudo -n pfctl -X 1").await, "pfctl: pf: token invalid\n");
    assert_eq!(refused(&world, &mac, "sudo -n pfctl -e").await, "pfctl: pf already enabled\n");
    let release = format!("sudo -n pfctl -X {token}");
    let left = world.run(&mac, &release).await;
    assert!(
        left.err.contains(
            "disable request successful. 1 more pf enable reference(s) remaining, pf still enabled."
        )
    );
    assert!(run("sudo -n pfctl -d").await.err.ends_with("pf disabled\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_that_is_made_by_hand_persists() {
    let world = World::new().await;
    let mac = world.free_mac(1).await;
    let added = world.run(&mac, "sudo -n pfctl -t vm_sources -T add 192.168.64.0/22 1.2.3.4").await;
    assert!(added.err.ends_with("1 table created.\n2/2 addresses added.\n"), "{added:?}");
    let show = "sudo -n pfctl -t vm_sources -T show";
    assert_eq!(ok(&world, &mac, show).await, "   1.2.3.4\n   192.168.64.0/22\n");
    assert_eq!(ok(&world, &mac, "sudo -n pfctl -s Tables").await, "vm_sources\n");
    assert_eq!(ok(&world, &mac, "sudo -n pfctl -v -s Tables").await, "-pa---\tvm_sources\n");
    for flush in ["-F Tables", "-F all", "-t vm_sources -T flush"] {
        ok(&world, &mac, &format!("sudo -n pfctl {flush}")).await;
        assert_eq!(ok(&world, &mac, "sudo -n pfctl -s Tables").await, "vm_sources\n", "{flush}");
    }
    ok(&world, &mac, "sudo -n pfctl -t vm_sources -T replace 10.0.0.0/8 && sudo -n pfctl -q -t vm_sources -T delete 1.1.1.1").await;
    assert_eq!(ok(&world, &mac, show).await, "   10.0.0.0/8\n");
    assert!(world.run(&mac, "sudo -n pfctl -t vm_sources -T kill").await.err.ends_with("1 table deleted.\n"));
    for again in [show, "sudo -n pfctl -t vm_sources -T kill"] {
        assert_eq!(refused(&world, &mac, again).await, "pfctl: Table does not exist.\n");
    }
}

/// A whole load on a Mac that is in use aborts, although a check of the same file has nothing to say.
#[tokio::test(flavor = "multi_thread")]
async fn incident_whole_file_on_a_live_host() {
    let world = World::new().await;
    let mac = with_blocks(&world, 1).await;
    let load = "sudo -n pfctl -nf /etc/pf.conf && sudo -n pfctl -f /etc/pf.conf";
    ok(&world, &mac, &format!("sudo -n pfctl -E; {load}")).await;
    assert!(!passes(&mac, VM));
    assert!(passes(&mac, "out en0 tcp 192.168.64.5 8.8.8.8:443"));
    assert_eq!(refused(&world, &mac, load).await, NOT_LOADED);
    // The anchor alone can be loaded as often as one likes.
    for _ in 0..2 {
        ok(&world, &mac, "sudo -n pfctl -a tuist.runners -f /etc/pf.anchors/tuist.runners").await;
    }
    assert!(!passes(&mac, VM));
}

/// Tables of an old script are in the way. To flush everything does not help; to kill them at one scope does not if they
/// are at the other.
#[tokio::test(flavor = "multi_thread")]
async fn incident_tables_that_persist() {
    let world = World::new().await;
    let mac = with_blocks(&world, 1).await;
    let kill = |scope: &str| {
        format!("for t in vm_sources blocked_dst; do sudo -n pfctl {scope} -t $t -T kill; done")
    };
    let anchor = "-a tuist.runners";
    let load = "sudo -n pfctl -a tuist.runners -f /etc/pf.anchors/tuist.runners";
    for (scope, other) in [(anchor, ""), ("", anchor)] {
        let left = format!(
            "for t in vm_sources blocked_dst; do sudo -n pfctl {scope} -t $t -T add 10.9.0.0/16; done"
        );
        ok(&world, &mac, &left).await;
        for load in [load, "sudo -n pfctl -f /etc/pf.conf"] {
            assert_eq!(refused(&world, &mac, load).await, NOT_LOADED, "{scope}");
            ok(&world, &mac, &format!("sudo -n pfctl {scope} -F all; sudo -n pfctl {scope} -F Tables")).await;
            assert_eq!(refused(&world, &mac, load).await, NOT_LOADED, "{scope}: after -F all");
            world.run(&mac, &kill(other)).await;
            assert_eq!(refused(&world, &mac, load).await, NOT_LOADED, "{scope}: after a kill elsewhere");
        }
        ok(&world, &mac, &kill(scope)).await;
        ok(&world, &mac, load).await;
        ok(&world, &mac, &format!("sudo -n pfctl {anchor} -F all")).await;
    }
}

/// The block stands twice in `pf.conf`, with markers or without: the whole file is rejected, and the old ruleset stays, so
/// that what Apple translates is gone if it was not in that.
#[tokio::test(flavor = "multi_thread")]
async fn incident_block_doubled() {
    let world = World::new().await;
    let mac = with_blocks(&world, 2).await;
    ok(&world, &mac, "sudo -n pfctl -E; echo pass all | sudo -n pfctl -f -").await;
    mac.share_internet(true);
    ok(&world, &mac, "echo pass all | sudo -n pfctl -f -").await;
    let vm = "out en0 tcp 192.168.64.5 8.8.8.8:443";
    assert_eq!(mac.translate(&vm.parse().unwrap()), None);
    assert_eq!(refused(&world, &mac, "sudo -n pfctl -f /etc/pf.conf").await, NOT_LOADED);
    assert_eq!(ok(&world, &mac, "sudo -n pfctl -s rules").await, "pass all flags S/SA keep state\n");
    assert!(passes(&mac, VM));
    assert_eq!(mac.translate(&vm.parse().unwrap()), None);
    // An old block without markers is another form of it: whoever strips marked blocks alone leaves it there.
    let marked = format!("# BEGIN tuist.runners\n{CALL}# END tuist.runners\n");
    let conf = read(&mac, "etc/pf.conf").replacen(CALL, "", 1) + &marked;
    write(&mac, "etc/pf.conf", &conf);
    assert_eq!(refused(&world, &mac, "sudo -n pfctl -f /etc/pf.conf").await, NOT_LOADED);
}

/// The anchor is full of rules that nothing consults.
#[tokio::test(flavor = "multi_thread")]
async fn incident_anchor_loaded_but_not_called() {
    let world = World::new().await;
    let mac = with_blocks(&world, 1).await;
    ok(&world, &mac, "sudo -n pfctl -E; sudo -n pfctl -a tuist.runners -f /etc/pf.anchors/tuist.runners")
        .await;
    let rules = ok(&world, &mac, "sudo -n pfctl -a tuist.runners -s rules").await;
    assert_eq!(rules.lines().count(), 2);
    assert!(!ok(&world, &mac, "sudo -n pfctl -s rules").await.contains("tuist.runners"));
    assert!(passes(&mac, VM));
    // With the rules that are there and the call beside them, nothing else is lost.
    mac.share_internet(true);
    let merge = "sudo -n pfctl -s rules >~/main; { grep ^scrub ~/main; sudo -n pfctl -s dummynet; grep -v ^scrub ~/main; \
                 echo 'anchor \"tuist.runners\"'; } | sudo -n pfctl -R -f -";
    ok(&world, &mac, merge).await;
    assert!(!passes(&mac, VM));
    assert!(mac.translate(&"out en0 tcp 192.168.64.5 8.8.8.8:443".parse().unwrap()).is_some());
    // A flush leaves a call of nothing.
    ok(&world, &mac, "sudo -n pfctl -a tuist.runners -F all").await;
    assert!(passes(&mac, VM));
}

/// The whole file loaded on a Mac with VMs: what InternetSharing put into the live rules is gone.
#[tokio::test(flavor = "multi_thread")]
async fn incident_sharing_lost() {
    let world = World::new().await;
    let mac = world.free_mac(1).await;
    ok(&world, &mac, "sudo -n pfctl -E").await;
    mac.share_internet(true);
    let vm = "out en0 tcp 192.168.64.5 8.8.8.8:443".parse().unwrap();
    assert!(mac.translate(&vm).is_some());
    ok(&world, &mac, "sudo -n pfctl -f /etc/pf.conf").await;
    assert_eq!(mac.translate(&vm), None);
    // The same happens by itself after many VMs; an anchor below Apple's goes on.
    mac.share_internet(true);
    let nat = "nat on en0 from 192.168.64.0/22 to any -> (en0)";
    ok(&world, &mac, &format!("echo '{nat}' | sudo -n pfctl -a com.apple/ci.vmnat -f -")).await;
    mac.share_internet(false);
    assert_eq!(
        mac.translate(&vm).as_deref(),
        Some("nat on en0 inet from 192.168.64.0/22 to any -> (en0) round-robin")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_forgets_all_of_it() {
    let world = World::new().await;
    let mac = with_blocks(&world, 1).await;
    ok(&world, &mac, "sudo -n pfctl -E; sudo -n pfctl -f /etc/pf.conf; sudo -n pfctl -t x -T add 1.2.3.4")
        .await;
    assert!(!passes(&mac, VM));
    mac.halt().await.unwrap();
    mac.boot(None).await.unwrap();
    assert!(passes(&mac, VM));
    let shown =
        ok(&world, &mac, "sudo -n pfctl -s info; sudo -n pfctl -s rules; sudo -n pfctl -s Tables").await;
    assert!(
        shown.starts_with("Status: Disabled") && !shown.contains("tuist") && shown.ends_with(" all\n"),
        "{shown}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_blocked_does_not_reach_the_mac() {
    let world = World::new().await;
    let mac = world.free_mac(1).await;
    let rules = "pass in quick proto tcp from 100.64.0.0/10 to any port 22\nblock drop in quick proto tcp from any to any port 22";
    let load = format!("sudo -n pfctl -E; echo '{rules}' | sudo -n pfctl -a com.apple/guard -f -");
    ok(&world, &mac, &load).await;
    let dropped = world.ssh(&mac).args(["-o", "ConnectTimeout=1", "true"]).output().await.unwrap();
    assert_eq!(dropped.status.code(), Some(255));
    mac.set_ssh_peer("100.64.0.9".parse::<IpAddr>().unwrap());
    assert!(ok(&world, &mac, "netstat -an -p tcp").await.contains("100.64.0.9.50000       ESTABLISHED"));
    let returns = rules.replace("block drop", "block return");
    ok(&world, &mac, &format!("echo '{returns}' | sudo -n pfctl -a com.apple/guard -f -")).await;
    mac.set_ssh_peer("203.0.113.7".parse::<IpAddr>().unwrap());
    let closed = world.ssh(&mac).arg("true").output().await.unwrap();
    assert_eq!(closed.status.code(), Some(255));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mac_shows_its_network() {
    let world = World::new().await;
    let mac = world.free_mac(1).await;
    mac.set_interface("utun4", Some(("100.64.0.2".parse().unwrap(), 32)));
    mac.set_interface("vlan0", None);
    mac.set_route("10.128.0.0/16".parse().unwrap(), "utun4");
    assert_eq!(ok(&world, &mac, "ifconfig -l").await, "en0 lo0 utun4 vlan0\n");
    assert!(ok(&world, &mac, "ifconfig utun4").await.contains("\tinet 100.64.0.2 netmask 0xffffffff\n"));
    assert!(ok(&world, &mac, "route -n get 10.128.3.4").await.contains("  interface: utun4\n"));
    assert!(ok(&world, &mac, "route -n get default").await.contains("  interface: en0\n"));
    assert_eq!(refused(&world, &mac, "ifconfig nobody").await, "ifconfig: interface nobody does not exist\n");
}

//! Reboots, installations and cut connections.

use std::time::Duration;

use fleet_lab::machine::{Install, Machine};

use super::world::{Ran, World};

async fn boot_id(world: &World, mac: &fleet_lab::mac::Mac) -> String {
    world.run(mac, "sysctl -n kern.bootsessionuuid").await.out
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mac_that_is_started_anew_forgets_what_was_live() {
    let world = World::new().await;
    let mac = world.free_mac(1).await;
    let before = boot_id(&world, &mac).await;
    let script =
        "lab-live noted x; echo kept >\"$FLEET_ROOT/etc/kept\"; sudo -n sysctl net.inet.ip.forwarding=1";
    assert_eq!(world.run(&mac, script).await.status, Some(0));
    assert_eq!(world.run(&mac, "lab-live noted").await.out, "x\n");
    let mut busy = world.ssh(&mac).arg("sleep 300").spawn().unwrap();
    let ran = world.run(&mac, "shutdown -r now").await;
    assert_eq!((ran.status, &*ran.err), (Some(1), "shutdown: NOT super-user\n"));
    assert_eq!(world.run(&mac, "sudo -n shutdown -r now").await.status, Some(0));
    // It is still there until its time goes on.
    world.clock.advance(Duration::from_secs(1)).await;
    assert!(mac.is_up());
    world.clock.advance(Duration::from_secs(5)).await;
    assert!(!mac.is_up());
    assert_eq!(busy.wait().await.unwrap().code(), Some(255));
    let refused = world.run(&mac, "true").await;
    assert!(refused.err.contains("Connection refused"), "{}", refused.err);
    world.clock.advance(Duration::from_secs(60)).await;
    assert!(mac.is_up());
    assert_ne!(boot_id(&world, &mac).await, before);
    assert_eq!(world.run(&mac, "lab-live noted").await.status, Some(1));
    let ran = world.run(&mac, "cat \"$FLEET_ROOT/etc/kept\"; sysctl -n net.inet.ip.forwarding").await;
    assert_eq!(ran.out, "kept\n0\n");
    assert_eq!(mac.inspect().await["processes"], 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn processes_that_hid_end_with_the_boot() {
    let world = World::new().await;
    let mac = world.mac(1).await;
    // Its parent ends at once, and it leads a group of its own.
    let script = "perl -e 'use POSIX; $| = 1; if (my $pid = fork) { print \"$pid\\n\"; exit } setsid; \
                  close STDOUT; close STDERR; sleep 1 while 1'";
    let ran = world.run(&mac, script).await;
    let pid: u32 = ran.out.trim().parse().unwrap_or_else(|_| panic!("{ran:?}"));
    let runs = || {
        let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        !state.is_empty() && !state.contains(") Z ")
    };
    assert!(runs());
    mac.halt().await.unwrap();
    for _ in 0..200 {
        if !runs() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{pid} still runs");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_installation_leaves_a_new_mac() {
    let world = World::new().await;
    let mac = world.free_mac(1).await;
    let script = "mkdir -p \"$FLEET_ROOT/usr/local/bin\" && chmod 0 \"$FLEET_ROOT/usr/local/bin\"";
    assert_eq!(world.run(&mac, script).await.status, Some(0));
    let before = mac.inspect().await;
    let install =
        Install { os_name: "macos-sequoia-15.6".into(), os_version: "15.6".into(), ..world.install() };
    mac.install(install).await.unwrap();
    assert!(!mac.is_up());
    mac.boot(None).await.unwrap();
    let after = mac.inspect().await;
    assert_ne!(before["installation"]["host_key"], after["installation"]["host_key"]);
    assert_eq!(before["port"], after["port"]);
    assert_eq!(after["installation"]["number"], 2);
    let ran = world
        .run(&mac, "sw_vers --productVersion; uname -r; ls -d \"$FLEET_ROOT/usr/local\"; sudo -n true")
        .await;
    assert_eq!(ran.out, "15.6\n24.6.0\n");
    assert!(ran.err.contains("No such file or directory") && ran.err.contains("a password is required"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_disk_survives_the_lab() {
    let world = World::new().await;
    let mac = world.free_mac(1).await;
    let before = mac.inspect().await;
    world.run(&mac, "f=$FLEET_ROOT/etc/x; echo x >\"$f\"; sudo -n chown m1:admin \"$f\"").await;
    mac.halt().await.unwrap();
    drop(mac);
    let mac = world.build(1).await;
    mac.boot(None).await.unwrap();
    let after = mac.inspect().await;
    assert_eq!(before["installation"], after["installation"]);
    assert_eq!(before["port"], after["port"]);
    assert_eq!(world.run(&mac, "stat -f '%Su:%Sg' /etc/x").await.out, "m1:admin\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cut_connection_ends_for_whoever_is_connected() {
    let world = World::new().await;
    let mac = world.mac(1).await;
    let mut child = world.ssh(&mac).arg("echo up; exec sleep 300").spawn().unwrap();
    let mut first = [0; 3];
    tokio::io::AsyncReadExt::read_exact(child.stdout.as_mut().unwrap(), &mut first).await.unwrap();
    mac.cut_connections();
    assert_eq!(Ran::of(child.wait_with_output().await.unwrap()).status, Some(255));
    assert_eq!(world.run(&mac, "echo again").await.out, "again\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn many_macs_at_once() {
    let world = World::new().await;
    let mut macs = Vec::new();
    for number in 0..20 {
        macs.push(world.mac(number).await);
    }
    let runs = macs.iter().map(|mac| world.run(mac, "echo \"$FLEET_ROOT\"; sysctl -n kern.bootsessionuuid"));
    let mut boots = std::collections::BTreeSet::new();
    for (mac, ran) in macs.iter().zip(futures_util::future::join_all(runs).await) {
        let (root, boot) = ran.out.split_once('\n').unwrap();
        assert_eq!(root, mac.root().to_str().unwrap());
        boots.insert(boot.to_owned());
    }
    assert_eq!(boots.len(), 20);
}

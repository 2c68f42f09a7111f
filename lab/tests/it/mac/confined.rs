//! What a Mac's shells can reach.

use fleet_lab::mac::Confinement;
use fleet_lab::machine::Machine;

use super::world::World;

#[tokio::test(flavor = "multi_thread")]
async fn a_write_outside_of_a_mac_fails() {
    let world = World::new().await;
    let (mac, other) = (world.free_mac(1).await, world.mac(2).await);
    assert_eq!(*world.macs.confinement(), Confinement::Active);
    assert_eq!(mac.inspect().await["confinement"]["state"], "active");
    let ran = world.run(&mac, "echo x >\"$FLEET_ROOT/tmp/x\" && cat \"$FLEET_ROOT/private/tmp/x\"").await;
    assert_eq!((ran.status, &*ran.out), (Some(0), "x\n"));
    for place in [
        other.root().join("tmp"),
        world.directory.path().to_owned(),
        mac.root().parent().unwrap().to_owned(),
        "/tmp".into(),
        "/var/tmp".into(),
        "/dev/shm".into(),
    ] {
        let name = place.join("written-by-a-lab-mac");
        let script = format!("echo x >'{0}'; mkdir '{0}.d'; touch '{1}'", name.display(), place.display());
        for command in [script.clone(), format!("sudo -n /bin/sh -c \"{script}\"")] {
            let ran = world.run(&mac, &command).await;
            assert_ne!(ran.status, Some(0), "{place:?}");
            let refused = ran.err.to_lowercase().matches("read-only file system").count();
            assert_eq!(refused, 3, "{place:?}: {}", ran.err);
        }
        assert!(!name.exists() && !name.with_extension("d").exists(), "{place:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_do_not_write_outside_either() {
    let world = World::new().await;
    let mac = world.free_mac(1).await;
    let outside = world.directory.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::os::unix::fs::symlink(&outside, mac.root().join("out")).unwrap();
    let ran = world.run(&mac, "echo x | base64 -o \"$FLEET_ROOT/out/file\"").await;
    assert_ne!(ran.status, Some(0));
    let ran = world.run(&mac, "sudo -n defaults write \"$FLEET_ROOT/out/file\" key value").await;
    assert_ne!(ran.status, Some(0));
    let ran = world.run(&mac, "sudo -n chown m1 \"$FLEET_ROOT/out/../tools\"").await;
    assert_ne!(ran.status, Some(0));
    assert_eq!(std::fs::read_dir(outside).unwrap().count(), 0);
}

//! Who becomes root and who gets in: the wrong procedures of old, and what came of them.

use std::time::Duration;

use fleet_lab::mac::Mac;
use fleet_lab::machine::{Disturbance, Machine};

use super::world::{PASSWORD, Ran, World};

/// `sudo` with what it reads.
async fn sudo(world: &World, mac: &Mac, printf: &str) -> Ran {
    world.run(mac, &format!("printf '{printf}' | sudo -S -p '' whoami")).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_password_without_a_newline_is_no_answer() {
    let world = World::new().await;
    let mac = world.mac(1).await;
    let ran = sudo(&world, &mac, PASSWORD).await;
    assert_eq!((ran.status, &*ran.out), (Some(1), ""));
    assert!(ran.err.contains("sudo: no password was provided"), "{ran:?}");
    assert_eq!(sudo(&world, &mac, &format!("{PASSWORD}\\n")).await.out, "root\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_loop_of_wrong_passwords_locks_the_right_one_out() {
    let world = World::new().await;
    let mac = world.mac(1).await;
    let right = format!("{PASSWORD}\\n");
    for _ in 0..10 {
        let ran = sudo(&world, &mac, "wrong\\n").await;
        assert!(ran.err.ends_with("sudo: 1 incorrect password attempt\n"), "{ran:?}");
        world.clock.advance(Duration::from_secs(20)).await;
    }
    // It says the same of the right password.
    let locked = sudo(&world, &mac, &right).await;
    assert_eq!((locked.status, &*locked.out), (Some(1), ""));
    assert!(locked.err.ends_with("sudo: 1 incorrect password attempt\n"), "{locked:?}");
    // Time alone drains it, and so does a reboot.
    world.clock.advance(Duration::from_secs(600)).await;
    assert_eq!(sudo(&world, &mac, &right).await.out, "root\n");
    for _ in 0..4 {
        sudo(&world, &mac, "a\\nb\\nc\\n").await;
    }
    assert_eq!(sudo(&world, &mac, &right).await.out, "");
    mac.halt().await.unwrap();
    mac.boot(None).await.unwrap();
    assert_eq!(sudo(&world, &mac, &right).await.out, "root\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_may_be_done_without_a_password_is_listed() {
    let world = World::new().await;
    let mac = world.mac(1).await;
    let ran = world.run(&mac, "sudo -k -n -l").await;
    assert_eq!((ran.status, &*ran.err), (Some(1), "sudo: a password is required\n"));
    let mac = world.free_mac(2).await;
    let ran = world.run(&mac, "sudo -k -n -l").await;
    assert!(ran.out.ends_with("    (ALL) ALL\n    (ALL) NOPASSWD: ALL\n"), "{ran:?}");
    let rule = mac.root().join("etc/sudoers.d/m1-nopasswd");
    std::fs::remove_file(&rule).unwrap();
    std::fs::write(rule, "m1 ALL=(ALL) NOPASSWD: /usr/bin/whoami\n").unwrap();
    assert_eq!(world.run(&mac, "sudo -n whoami").await.out, "root\n");
    assert_eq!(world.run(&mac, "sudo -n id").await.err, "sudo: a password is required\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_backlog_lets_nobody_in_until_sshd_is_put_back() {
    let world = World::new().await;
    let mac = world.free_mac(1).await;
    let socket = world.directory.path().join("control");
    let mut master = world.ssh(&mac);
    let mut master = master.args(["-M", "-N", "-S"]).arg(&socket).spawn().unwrap();
    while !socket.exists() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    mac.disturb(Disturbance::FillBacklog).unwrap();
    let mut late = world.ssh(&mac);
    let refused = Ran::of(late.args(["-o", "ConnectTimeout=1", "true"]).output().await.unwrap());
    assert_eq!(refused.status, Some(255));
    assert!(refused.err.contains("timed out"), "{refused:?}");
    // Who was in before sees what is wrong, and mends it as the daemon of old did.
    let inside = |script: &'static str| {
        let mut ssh = world.ssh(&mac);
        ssh.arg("-S").arg(&socket).arg(script);
        async move { Ran::of(ssh.output().await.unwrap()) }
    };
    assert_eq!(inside("netstat -an -p tcp | grep -c SYN_RCVD").await.out, "128\n");
    assert_eq!(inside("nc -z -G 3 127.0.0.1 22").await.status, Some(1));
    assert_eq!(inside("sudo -n launchctl bootout system/com.openssh.sshd").await.status, Some(0));
    let back = "sudo -n launchctl bootstrap system /System/Library/LaunchDaemons/ssh.plist";
    assert_eq!(inside(back).await.status, Some(0));
    assert_eq!(inside("nc -z -G 3 127.0.0.1 22").await.status, Some(0));
    assert_eq!(world.run(&mac, "echo in").await.out, "in\n");
    master.kill().await.unwrap();
}

//! Who is logged in at the screen: the wrong procedures of old, and what came of them.

use std::fs;
use std::time::Duration;

use fleet_lab::mac::Mac;
use fleet_lab::machine::Machine;

use super::world::{PASSWORD, World};

/// The key of kcpassword.
const KEY: [u8; 11] = [0x7d, 0x89, 0x52, 0x23, 0xd2, 0xbc, 0xdd, 0xea, 0xa3, 0xb9, 0x1f];

fn with_key(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().zip(KEY.iter().cycle()).map(|(byte, key)| byte ^ key).collect()
}

/// Says who is to be logged in, and by which password.
async fn set_up(world: &World, mac: &Mac, password: &str) {
    let mut bytes = password.as_bytes().to_vec();
    bytes.resize((bytes.len() / 11 + 1) * 11, 0);
    fs::write(mac.root().join("etc/kcpassword"), with_key(&bytes)).unwrap();
    let ran = world
        .run(mac, "sudo -n defaults write /Library/Preferences/com.apple.loginwindow autoLoginUser m1")
        .await;
    assert_eq!(ran.status, Some(0), "{ran:?}");
}

async fn kick(world: &World, mac: &Mac) {
    let ran = world.run(mac, "sudo -n launchctl kickstart -k system/com.apple.loginwindow").await;
    assert_eq!(ran.status, Some(0), "{ran:?}");
    // launchd lets it rest between two starts.
    world.clock.advance(Duration::from_secs(30)).await;
}

/// Whether launchd knows of a session with a screen.
async fn has_session(world: &World, mac: &Mac) -> bool {
    let ran = world.run(mac, "sudo -n launchctl print gui/501").await;
    let has = ran.out.contains("session = Aqua");
    assert_eq!(ran.status, Some(if has { 0 } else { 113 }), "{ran:?}");
    assert_eq!(mac.inspect().await["live"]["aqua"], if has { 501.into() } else { serde_json::Value::Null });
    has
}

#[tokio::test(flavor = "multi_thread")]
async fn the_right_password_makes_a_session_when_loginwindow_is_kicked() {
    let world = World::new().await;
    let mac = world.free_mac(1).await;
    set_up(&world, &mac, PASSWORD).await;
    assert!(!has_session(&world, &mac).await);
    kick(&world, &mac).await;
    assert!(has_session(&world, &mac).await);
    // Without a screen nobody is logged in at a boot.
    mac.halt().await.unwrap();
    mac.boot(None).await.unwrap();
    world.clock.advance(Duration::from_secs(60)).await;
    assert!(!has_session(&world, &mac).await);
    kick(&world, &mac).await;
    assert!(has_session(&world, &mac).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_password_is_sealed_and_nobody_says_so() {
    let world = World::new().await;
    let mac = world.free_mac(1).await;
    // With a newline at its end it is another password, too.
    for wrong in ["wrong horse", &format!("{PASSWORD}\n"), ""] {
        set_up(&world, &mac, wrong).await;
        kick(&world, &mac).await;
        assert!(!has_session(&world, &mac).await, "{wrong:?}");
        let file = fs::read(mac.root().join("etc/kcpassword")).unwrap();
        assert_eq!(with_key(&file), b"<sealed>\0\0\0", "{wrong:?}");
    }
    set_up(&world, &mac, PASSWORD).await;
    kick(&world, &mac).await;
    assert!(has_session(&world, &mac).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn loginwindow_does_not_come_back_after_it_was_hung_up_on() {
    let world = World::new().await;
    let mac = world.free_mac(1).await;
    set_up(&world, &mac, PASSWORD).await;
    kick(&world, &mac).await;
    assert_eq!(world.run(&mac, "sudo -n killall -HUP loginwindow").await.status, Some(0));
    world.clock.advance(Duration::from_secs(600)).await;
    assert!(!has_session(&world, &mac).await);
    let again = world.run(&mac, "sudo -n killall -HUP loginwindow").await;
    assert_eq!((again.status, &*again.err), (Some(1), "No matching processes were found\n"));
    let shown = world.run(&mac, "launchctl print system/com.apple.loginwindow").await;
    assert!(shown.out.contains("state = not running") && !shown.out.contains("pid = "), "{shown:?}");
    // A kick brings it back all the same.
    kick(&world, &mac).await;
    assert!(has_session(&world, &mac).await);
}

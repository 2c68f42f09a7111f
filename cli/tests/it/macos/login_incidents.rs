//! Incidents of login and hardening that take more than a file in `tests/incidents` says: each from the broken host, over the
//! plan that names it, to the empty plan.

use std::time::Duration;

use fleet_cli::Exit;
use fleet_lab::clock::Pace;
use fleet_lab::machine::{Disturbance, Machine};

use super::Minis;
use super::minis::MAIN;

/// Logs `m1` in by a password.
fn auto_login(password: &str) -> String {
    format!(
        "resource \"macos_auto_login\" \"x\" {{\n  user     = \"m1\"\n  password = sensitive({password:?})\n}}"
    )
}

#[track_caller]
fn says(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "{word} in {text}");
    }
}

#[test]
fn a_wrong_password_is_told_from_a_right_one() {
    let minis = Minis::free();
    minis.configure(&auto_login("wrong"));
    let said = minis.fleet(&["apply", "--auto-approve"]);
    assert_eq!(said.exit, Exit::Failed);
    let told = format!("{}{}", said.stdout, said.stderr);
    says(&told, &["macOS refused the password and sealed it"]);
    assert!(!told.contains("wrong"), "{told}");
    minis.configure(&auto_login("pass word"));
    says(&minis.plan(), &["the password is sealed"]);
    minis.apply();
    minis.check_converged("with the right one");
}

#[test]
fn a_sealed_password_from_the_vendor() {
    let minis = Minis::free();
    minis.configure(&auto_login("<sealed>"));
    let said = minis.fleet(&["plan"]);
    assert_eq!(said.exit, Exit::Failed);
    let told = format!("{}{}", said.stdout, said.stderr);
    says(&told, &["password", "keeps the password to itself"]);
    assert!(!minis.path("/etc/kcpassword").exists());
    minis.configure(&auto_login("pass word"));
    minis.apply();
    minis.check_converged("with the real one");
}

/// Gives the connection a password for `sudo`.
fn with_password(minis: &Minis, password: &str) {
    minis.site.write("sudo", password);
    minis.configure_with_password("resource \"macos_sudoers\" \"x\" {\n  user = \"m1\"\n}");
}

#[test]
fn an_account_that_wrong_passwords_locked() {
    let minis = Minis::paced(1, Pace::Manual);
    let wrong = |minis: &Minis| minis.live()["login"]["tally"]["wrong"].as_u64().unwrap();
    with_password(&minis, "wrong");
    let said = minis.fleet(&["apply", "--auto-approve"]);
    assert_eq!(said.exit, Exit::Failed);
    says(
        &format!("{}{}", said.stdout, said.stderr),
        &["`sudo` refused to become root", "it is not tried again in this run"],
    );
    // One try in a run, however many steps want to be root.
    assert_eq!(wrong(&minis), 1);
    for _ in 0..3 {
        minis.by_hand("printf 'a\\nb\\nc\\n' | sudo -S -p '' true");
    }
    // Now the right one is refused as well, and is not tried over and over.
    with_password(&minis, "pass word");
    let said = minis.fleet(&["apply", "--auto-approve"]);
    assert_eq!(said.exit, Exit::Failed);
    says(&format!("{}{}", said.stdout, said.stderr), &["`sudo` refused to become root"]);
    assert_eq!(wrong(&minis), 10);
    minis.wait(minis.clock.advance(Duration::from_secs(3600)));
    says(&minis.plan(), &["macos_sudoers.x"]);
    minis.apply();
    minis.check_converged("unlocked");
}

#[test]
fn a_backlog_that_lets_nobody_in() {
    let minis = Minis::paced(1, Pace::Times(200.0));
    minis.let_sudo();
    minis.configure("resource \"macos_hostname\" \"x\" {\n  name = \"mini-1\"\n}");
    minis.apply();
    minis.macs[0].disturb(Disturbance::FillBacklog).unwrap();
    let said = minis.fleet(&["plan"]);
    assert_eq!(said.exit, Exit::Failed);
    says(&format!("{}{}", said.stdout, said.stderr), &["timed out"]);
    // A Mac that is started anew has an empty one.
    minis.wait(async {
        minis.macs[0].halt().await.unwrap();
        minis.macs[0].boot(None).await.unwrap();
    });
    minis.check_converged("in again");
}

#[test]
fn an_allow_list_that_waits_for_a_reboot() {
    let minis = Minis::paced(1, Pace::Times(200.0));
    minis.let_sudo();
    // As the fix of old left hosts: written, and never in effect.
    for key in ["AllowedEthernetLocalNetworkAddresses", "AllowedWiFiLocalNetworkAddresses"] {
        let list = "-array 10.0.0.0/8 172.16.0.0/12 192.168.0.0/16";
        minis.as_root(&format!("defaults write com.apple.network.local-network {key} {list}")).ok();
    }
    let effective = |minis: &Minis| minis.live()["login"]["local_network"].as_object().unwrap().len();
    assert_eq!(effective(&minis), 0);
    minis.configure(
        "resource \"macos_local_network\" \"x\" {}\n  resource \"host_reboot\" \"x\" {\n    when = \
         macos_local_network.x.reboot_required\n  }",
    );
    says(&minis.plan(), &["host_reboot.x", "when"]);
    minis.apply();
    minis.check_converged("in effect");
    assert_eq!(effective(&minis), 2);
    // The same from the start, and after a change.
    let text = minis.site.read(MAIN);
    let changed = text.replace(
        "resource \"macos_local_network\" \"x\" {}",
        "resource \"macos_local_network\" \"x\" {\n  addresses = [\"10.0.0.0/8\"]\n}",
    );
    minis.site.write(MAIN, &changed);
    minis.apply();
    minis.check_converged("another list");
    let seen = minis.live()["login"]["local_network"]["AllowedWiFiLocalNetworkAddresses"].clone();
    assert_eq!(seen, serde_json::json!(["10.0.0.0/8"]));
}

#[test]
fn a_session_that_a_reboot_ended_is_made_again() {
    let minis = Minis::paced(1, Pace::Times(200.0));
    minis.let_sudo();
    minis.configure(&format!(
        "{}\n  resource \"macos_local_network\" \"x\" {{}}\n  resource \"host_reboot\" \"x\" {{\n    when = \
         macos_local_network.x.reboot_required\n  }}",
        auto_login("pass word")
    ));
    // The reboot comes before the login, though nobody says so.
    minis.apply();
    minis.check_converged("in one run");
    assert_eq!(minis.live()["aqua"], 501);
    minis.wait(async {
        minis.macs[0].halt().await.unwrap();
        minis.macs[0].boot(None).await.unwrap();
    });
    says(&minis.plan(), &["nobody is logged in at the screen"]);
    minis.apply();
    minis.check_converged("after a power failure");
}

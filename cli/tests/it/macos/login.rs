//! Who is logged in, who may become root, and how a Mac is set: made, mended when it was changed behind our back, and
//! removed without a trace.

use std::collections::BTreeSet;

use fleet_lab::clock::Pace;

use super::Minis;
use super::minis::{MAIN, SLOT};
use crate::laws::rows::{WithoutARow, check_rows};

/// A script that root runs behind our back, and what a plan says to it.
type Drift = (&'static str, &'static str);

/// The name of a kind, its arguments, and what happens to it.
type Case = (&'static str, &'static str, &'static [Drift]);

const CASES: &[Case] = &[
    (
        "macos_hostname",
        "name = \"mini-1\"",
        &[
            ("scutil --set HostName other", "update name"),
            ("scutil --set LocalHostName other", "update name"),
            ("scutil --set ComputerName 'Mac mini'", "update name"),
            ("scutil --set HostName ''", "create"),
        ],
    ),
    (
        "macos_power",
        "",
        &[
            ("pmset -a sleep 5", "update sleep"),
            ("pmset -a displaysleep 5", "update display_sleep"),
            ("pmset -a disksleep 5", "update disk_sleep"),
            ("systemsetup -setrestartpowerfailure off", "update restart_after_power_loss"),
            (
                "defaults write /Library/Preferences/com.apple.screensaver idleTime -int 600",
                "update screen_saver",
            ),
            (
                "defaults delete /Library/Preferences/com.apple.screensaver askForPassword",
                "update ask_for_password",
            ),
            (
                "defaults write /Library/Preferences/.GlobalPreferences com.apple.autologout.AutoLogOutDelay -int 60",
                "update auto_logout",
            ),
        ],
    ),
    (
        "macos_defaults",
        "domain = \"/Library/Preferences/com.example\"\n  key = \"k\"\n  value = { a = [1, true, \"x\"] }\n  sudo = true",
        &[
            ("defaults write /Library/Preferences/com.example k -int 5", "update value"),
            ("defaults delete /Library/Preferences/com.example k", "create"),
        ],
    ),
    (
        "macos_defaults",
        "domain = \"com.example\"\n  key = \"k\"\n  value = 5\n  type = \"float\"",
        &[("sudo -n -u m1 defaults write com.example k -int 5", "update type")],
    ),
    (
        "macos_auto_login",
        "user = \"m1\"\n  password = sensitive(\"pass word\")",
        &[
            ("chmod 644 \"$FLEET_ROOT/etc/kcpassword\"", "update mode"),
            ("killall -HUP loginwindow", "update trouble"),
            (
                "launchctl kickstart -k system/com.apple.loginwindow; rm \"$FLEET_ROOT/etc/kcpassword\"",
                "create",
            ),
            ("printf 'xxxxxxxxxxx' >\"$FLEET_ROOT/etc/kcpassword\"", "update password"),
            ("defaults write /Library/Preferences/com.apple.loginwindow autoLoginUser other", "update user"),
        ],
    ),
    (
        "macos_local_network",
        "",
        &[
            (
                "defaults write com.apple.network.local-network AllowedWiFiLocalNetworkAddresses -array 10.0.0.0/8",
                "update addresses",
            ),
            ("defaults delete com.apple.network.local-network", "create"),
        ],
    ),
    (
        "macos_software_update",
        "",
        &[
            ("softwareupdate --schedule on", "update check"),
            ("defaults delete /Library/Preferences/com.apple.commerce AutoUpdate", "update update_apps"),
            (
                "defaults write /Library/Preferences/com.apple.SoftwareUpdate AutomaticDownload -bool true",
                "update download",
            ),
            (
                "defaults write /Library/Preferences/com.apple.SoftwareUpdate AutomaticallyInstallMacOSUpdates -bool true",
                "update install_macos",
            ),
            (
                "defaults delete /Library/Preferences/com.apple.SoftwareUpdate ConfigDataInstall",
                "update install_config_data",
            ),
            (
                "defaults write /Library/Preferences/com.apple.SoftwareUpdate CriticalUpdateInstall -bool true",
                "update install_critical",
            ),
        ],
    ),
    (
        "macos_hardening",
        "application_firewall = true",
        &[
            ("mdutil -a -i on", "update spotlight"),
            ("socketfilterfw --setglobalstate off", "update application_firewall"),
        ],
    ),
    (
        "macos_resolver",
        "domain = \"ts.net\"\n  nameservers = [\"100.100.100.100\"]",
        &[
            ("echo nameserver 1.1.1.1 >\"$FLEET_ROOT/etc/resolver/ts.net\"", "update nameservers"),
            ("rm \"$FLEET_ROOT/etc/resolver/ts.net\"", "create"),
            // The file is as it should be, and macOS goes by what it was before.
            (
                "f=$FLEET_ROOT/etc/resolver/ts.net; mv \"$f\" \"$f.x\"; dscacheutil -flushcache; mv \"$f.x\" \"$f\"",
                "update nameservers",
            ),
        ],
    ),
    (
        "macos_vlan",
        "name = \"pn\"\n  tag = 1234",
        &[
            ("networksetup -deleteVLAN pn en0 1234", "create"),
            ("networksetup -deleteVLAN pn en0 1234; networksetup -createVLAN pn en0 7", "update dhcp tag"),
            ("networksetup -deleteVLAN pn en0 1234; networksetup -createVLAN pn en0 1234", "update dhcp"),
            ("lab-disturb lose-lease pn", "update trouble"),
        ],
    ),
    (
        "macos_vlan",
        "name = \"pn\"\n  tag = 1234\n  dhcp = false",
        &[("networksetup -setdhcp 'pn Configuration'", "update dhcp")],
    ),
    (
        "macos_apfs_volume",
        "name = \"cache\"\n  quota_gib = 40\n  owner = \"m1\"",
        &[
            ("chmod 700 \"$FLEET_ROOT/Volumes/cache\"", "update mode"),
            ("chown root \"$FLEET_ROOT/Volumes/cache\"", "update owner"),
            ("chgrp wheel \"$FLEET_ROOT/Volumes/cache\"", "update group"),
            (
                "diskutil apfs deleteVolume cache && diskutil apfs addVolume disk3 APFS cache -quota 20g",
                "replace group owner ownership quota_gib",
            ),
            ("diskutil unmount cache", "update trouble"),
            ("diskutil apfs deleteVolume cache", "create"),
        ],
    ),
];

/// Fields that no row changes, and why.
const WITHOUT_A_ROW: &[WithoutARow] = &[
    ("macos_apfs_volume", &["name"], "a volume by another name is another volume"),
    (
        "macos_auto_login",
        &["session", "timeout", "uid"],
        "they say what is waited for, and nothing of them is kept there",
    ),
    ("macos_defaults", &["current_host", "domain", "key", "sudo"], "they say where to look"),
    ("macos_defaults", &["needs_reboot"], "it is known of the preference, and not to the Mac"),
    ("macos_hardening", &["remote_login"], "a Mac that lets nobody in cannot be asked"),
    ("macos_resolver", &["domain"], "it says where to look"),
    ("macos_vlan", &["parent"], "a Mac of the lab has no other device that a VLAN may be on"),
    ("macos_vlan", &["name"], "a VLAN by another name is another VLAN"),
];

#[test]
fn the_tables_know_every_field() {
    let kinds: BTreeSet<&str> = CASES.iter().map(|(kind, ..)| *kind).collect();
    let rows =
        CASES.iter().flat_map(|(kind, _, drifts)| drifts.iter().map(|(_, expected)| (*kind, *expected)));
    check_rows(&kinds.into_iter().collect::<Vec<_>>(), &rows.collect::<Vec<_>>(), WITHOUT_A_ROW);
}

#[test]
fn each_is_made_mended_and_removed_without_a_trace() {
    for (kind, arguments, drifts) in CASES {
        let minis = Minis::free();
        let before = minis.snapshot();
        minis.configure(&format!("resource \"{kind}\" \"x\" {{\n  {arguments}\n}}"));
        minis.plan();
        minis.check_same(&before, kind);
        minis.apply();
        minis.check_converged(kind);
        for (script, expected) in *drifts {
            minis.as_root(script).ok();
            minis.check_plan(&[(&format!("{kind}.x"), expected)]);
            minis.apply();
            minis.check_converged(script);
        }
        minis.destroy();
        minis.check_same(&before, kind);
    }
}

/// A volume of that name on a disk that somebody plugged in is another one, with data of somebody's.
#[test]
fn a_namesake_on_another_disk_is_left_alone() {
    let minis = Minis::free();
    minis
        .as_root("diskutil apfs addVolume disk5 APFS cache && echo theirs >$FLEET_ROOT/Volumes/cache/data")
        .ok();
    minis.configure(
        "  resource \"macos_apfs_volume\" \"x\" {\n    name      = \"cache\"\n    quota_gib = 40\n    owner     = \"m1\"\n  }\n",
    );
    assert_eq!(minis.steps()[&format!("{SLOT}.macos_apfs_volume.x")], "create");
    let failed = minis.fleet(&["apply", "--auto-approve"]).failed();
    assert!(failed.contains("another volume is mounted at /Volumes/cache"), "{failed}");
    minis.as_root("diskutil unmount disk5s7").ok();
    let before = minis.snapshot();
    minis.apply();
    minis.check_converged("made");
    minis.destroy();
    minis.check_same(&before, "destroyed");
    minis.as_root("diskutil mount disk5s7").ok();
    assert_eq!(minis.read("/Volumes/cache/data"), "theirs\n");
}

/// Gives the connection a password.
fn with_password(minis: &Minis, password: &str) {
    minis.site.write("sudo", password);
    let text = minis
        .site
        .read(MAIN)
        .replace("identity = secret.key", "identity = secret.key\n    sudo_password = secret.sudo");
    minis.site.write(MAIN, &format!("secret \"sudo\" {{\n  from = \"file:sudo\"\n}}\n{text}"));
}

/// Everything of this slice.
const ALL: &str = "
  resource \"macos_hostname\" \"x\" {
    name = \"mini-1\"
  }
  resource \"macos_power\" \"x\" {}
  resource \"macos_sudoers\" \"x\" {
    user = \"m1\"
  }
  resource \"macos_auto_login\" \"x\" {
    user     = \"m1\"
    password = secret.sudo
  }
  resource \"macos_local_network\" \"x\" {}
  resource \"macos_software_update\" \"x\" {}
";

#[test]
fn a_new_mac_is_made_ready_in_one_run() {
    let minis = Minis::paced(1, Pace::Skipping);
    let before = minis.snapshot();
    minis.configure(ALL);
    with_password(&minis, "pass word");
    let planned = minis.plan();
    assert!(planned.contains("6 to create") || planned.matches("  + ").count() >= 6, "{planned}");
    minis.apply();
    minis.check_converged("made ready");
    assert_eq!(minis.live()["aqua"], 501);
    for (script, expected) in [
        ("chmod 400 \"$FLEET_ROOT/etc/sudoers.d/m1-nopasswd\"", "update mode"),
        ("chown m1 \"$FLEET_ROOT/etc/sudoers.d/m1-nopasswd\"", "update mode"),
        (
            "f=$FLEET_ROOT/etc/sudoers.d/m1-nopasswd; rm -f \"$f\"; echo 'm1 ALL=(ALL) NOPASSWD: /bin/sh' >\"$f\"; chmod 440 \"$f\"; chown root:wheel \"$f\"",
            "update commands",
        ),
    ] {
        minis.as_root(script).ok();
        minis.check_plan(&[("macos_sudoers.x", expected)]);
        minis.apply();
        minis.check_converged(script);
    }
    minis.destroy();
    minis.check_same(&before, "all of it");
}

#[test]
fn what_other_files_allow_is_not_ours() {
    let minis = Minis::free();
    let others = "f=$FLEET_ROOT/etc/sudoers.d";
    let add = |name: &str, what: &str| {
        minis
            .as_root(&format!(
                "{others}/{name}; echo 'm1 ALL=(ALL) NOPASSWD: {what}' >\"$f\"; chmod 440 \"$f\""
            ))
            .ok();
    };
    add("a-before", "/bin/x");
    add("z-after", "/bin/y");
    minis.configure("resource \"macos_sudoers\" \"x\" {\n  user = \"m1\"\n}");
    minis.apply();
    minis.check_converged("beside the rules of others");
    // More programs than fit into a line, beside somebody who may do all.
    add("z-after", "ALL");
    let programs: Vec<String> = (0..9).map(|number| format!("\"/usr/local/bin/tool{number}\"")).collect();
    minis.configure(&format!(
        "resource \"macos_sudoers\" \"x\" {{\n  user = \"m1\"\n  commands = [{}]\n}}",
        programs.join(", ")
    ));
    minis.apply();
    minis.check_converged("less than others");
    // What is missing or added in our own file is drift all the same.
    for rule in ["/usr/local/bin/tool0", "ALL"] {
        add("m1-nopasswd", rule);
        minis.check_plan(&[("macos_sudoers.x", "update commands")]);
        minis.apply();
        minis.check_converged(rule);
    }
}

#[test]
fn without_a_password_nothing_is_tried() {
    let minis = Minis::paced(1, Pace::Skipping);
    minis.configure("resource \"macos_sudoers\" \"x\" {\n  user = \"m1\"\n}");
    let said = minis.fleet(&["apply", "--auto-approve"]);
    assert!(
        said.stdout.contains("`sudo` refused to become root")
            || said.stderr.contains("`sudo` refused to become root"),
        "{said:?}"
    );
    assert_eq!(minis.live()["login"]["tally"]["wrong"], 0);
}

#[test]
fn a_rule_that_visudo_refuses_never_counts() {
    let minis = Minis::free();
    let rule = minis.read("/etc/sudoers.d/m1-nopasswd");
    minis.configure("resource \"macos_sudoers\" \"x\" {\n  user = \"m1\"\n  commands = [\"/bin/a\\nb\"]\n}");
    let said = minis.fleet(&["plan"]);
    assert!(said.stdout.contains("commands") || said.stderr.contains("commands"), "{said:?}");
    assert_eq!(minis.read("/etc/sudoers.d/m1-nopasswd"), rule);
}

#[test]
fn a_rule_by_which_nobody_becomes_root_any_more_is_undone() {
    let minis = Minis::free();
    let rule = minis.read("/etc/sudoers.d/m1-nopasswd");
    minis.configure("resource \"macos_sudoers\" \"x\" {\n  user = \"m1\"\n  commands = [\"/sbin/pfctl\"]\n}");
    let told = minis.fleet(&["apply", "--auto-approve"]).failed();
    assert!(told.contains("no new connection could confirm that the host can still be reached"), "{told}");
    assert!(told.contains("`sudo` refused to become root"), "{told}");
    assert_eq!(minis.read("/etc/sudoers.d/m1-nopasswd"), rule);
    assert_eq!(minis.as_root("id -u").ok(), "0\n");
    assert!(minis.plan().contains("macos_sudoers.x was changed before, and the host undid it by itself"));
    minis.check_plan(&[("macos_sudoers.x", "update commands")]);
    // Whoever has a password can still work.
    with_password(&minis, "pass word");
    minis.apply();
    assert_eq!(minis.live()["login"]["tally"]["wrong"], 0);
    assert_eq!(minis.as_root("id -u").status, Some(1));
    assert!(!minis.path("/var/tmp/fleet/ledger.guard").exists());
    // One that is wrong is sent once.
    minis.let_sudo();
    minis.site.write("sudo", "another");
    minis.fleet(&["apply", "--auto-approve"]).failed();
    assert_eq!(minis.read("/etc/sudoers.d/m1-nopasswd"), rule);
    assert_eq!(minis.live()["login"]["tally"]["wrong"], 1);
}

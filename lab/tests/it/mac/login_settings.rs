//! Settings of the system: what is written, and what of it is in effect.

use fleet_lab::machine::{Disturbance, Machine};

use super::world::World;

#[tokio::test(flavor = "multi_thread")]
async fn the_allow_list_counts_from_the_next_boot_on() {
    let world = World::new().await;
    let mac = world.free_mac(1).await;
    let key = "AllowedEthernetLocalNetworkAddresses";
    let script = format!("sudo -n defaults write com.apple.network.local-network {key} -array 10.0.0.0/8");
    assert_eq!(world.run(&mac, &script).await.status, Some(0));
    // Written, and read back as written: and still nothing can be reached.
    let read = format!("sudo -n defaults read com.apple.network.local-network {key}");
    assert_eq!(world.run(&mac, &read).await.out, "(\n    \"10.0.0.0/8\"\n)\n");
    let effective = |seen: serde_json::Value| seen["live"]["login"]["local_network"].clone();
    assert_eq!(effective(mac.inspect().await), serde_json::json!({}));
    mac.halt().await.unwrap();
    mac.boot(None).await.unwrap();
    assert_eq!(effective(mac.inspect().await), serde_json::json!({ key: ["10.0.0.0/8"] }));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_network_may_rename_a_mac() {
    let world = World::new().await;
    let mac = world.free_mac(1).await;
    let set = "for n in HostName LocalHostName ComputerName; do sudo -n scutil --set $n mini-1; done";
    assert_eq!(world.run(&mac, set).await.status, Some(0));
    mac.disturb(Disturbance::DhcpName("dhcp-77".into())).unwrap();
    let names = "hostname; scutil --get HostName; sysctl -n kern.hostname";
    assert_eq!(world.run(&mac, names).await.out, "dhcp-77\nmini-1\ndhcp-77\n");
    world.run(&mac, "sudo -n scutil --set HostName mini-1").await;
    assert_eq!(world.run(&mac, names).await.out, "mini-1\nmini-1\nmini-1\n");
    world.run(&mac, "sudo -n scutil --set HostName ''").await;
    assert_eq!(world.run(&mac, "scutil --get HostName").await.err, "HostName: not set\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_of_settings_say_and_keep_what_is_so() {
    let world = World::new().await;
    let mac = world.free_mac(1).await;
    for (script, status, out) in [
        ("pmset -a sleep 0", 77, ""),
        ("sudo -n pmset -a nonsense 0", 64, ""),
        (
            "sudo -n pmset -a sleep 0 displaysleep 0 && pmset -g custom | grep -w sleep",
            0,
            " sleep                0\n",
        ),
        ("sudo -n systemsetup -setrestartpowerfailure on", 0, "setrestartpowerfailure: On\n"),
        ("pmset -g custom | grep autorestart", 0, " autorestart          1\n"),
        ("softwareupdate --schedule", 0, "Automatic checking for updates is turned on\n"),
        ("sudo -n softwareupdate --schedule off", 0, "Automatic checking for updates is turned off\n"),
        ("defaults read /Library/Preferences/com.apple.SoftwareUpdate AutomaticCheckEnabled", 0, "0\n"),
        ("sudo -n mdutil -a -i off >/dev/null; mdutil -s / | head -2", 0, "/:\n\tIndexing disabled. \n"),
        ("socketfilterfw --getglobalstate", 0, "Firewall is disabled. (State = 0)\n"),
        ("sudo -n socketfilterfw --setglobalstate on", 0, "Firewall is enabled. (State = 1)\n"),
        ("networksetup -listVLANs", 0, "There are no VLANs currently configured on this system.\n"),
        (
            "sudo -n networksetup -createVLAN pn en0 1234 && networksetup -listVLANs | grep Tag",
            0,
            "Tag: 1234\n",
        ),
        ("sudo -n networksetup -setdhcp pn", 4, ""),
        ("sudo -n networksetup -setdhcp 'pn Configuration'", 0, ""),
        ("sudo -n networksetup -deleteVLAN pn en0 1", 4, ""),
        ("sudo -n networksetup -deleteVLAN pn en0 1234", 0, ""),
        (
            "sudo -n diskutil apfs addVolume disk3 APFS cache -quota 40GiB | grep Created",
            0,
            "Created new APFS Volume disk3s7\n",
        ),
        ("diskutil apfs list -plist | grep -A1 CapacityQuota | grep -o 42949672960", 0, "42949672960\n"),
        (
            "sudo -n diskutil enableOwnership cache",
            0,
            "File system user/group ownership enabled for disk3s7\n",
        ),
        ("diskutil info -plist cache | grep -A1 GlobalPerm | grep -c true", 0, "1\n"),
        (
            "sudo -n diskutil apfs deleteVolume disk3s7 >/dev/null; diskutil info -plist cache | grep -c Error",
            0,
            "2\n",
        ),
    ] {
        let ran = world.run(&mac, script).await;
        assert_eq!((ran.status, &*ran.out), (Some(status), out), "{script}: {ran:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn resolvers_count_once_the_cache_is_flushed() {
    let world = World::new().await;
    let mac = world.free_mac(1).await;
    let write = "mkdir -p \"$FLEET_ROOT/etc/resolver\" && echo nameserver 100.100.100.100 >\"$FLEET_ROOT/etc/resolver/ts.net\"";
    assert_eq!(world.run(&mac, write).await.status, Some(0));
    assert!(!world.run(&mac, "scutil --dns").await.out.contains("ts.net"));
    world.run(&mac, "sudo -n dscacheutil -flushcache && sudo -n killall -HUP mDNSResponder").await;
    let shown = world.run(&mac, "scutil --dns").await.out;
    assert!(shown.contains("  domain   : ts.net\n  nameserver[0] : 100.100.100.100\n"), "{shown}");
}

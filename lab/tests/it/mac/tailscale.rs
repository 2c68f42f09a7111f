//! Tailscale and exporters: what they do, and how the procedures of known incidents fail.

use std::fs;
use std::net::Ipv4Addr;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::time::Duration;

use fleet_lab::mac::{Mac, archive, sign};
use fleet_lab::machine::Machine;
use fleet_lab::tailnet::{AUTH_KEY, CLIENT_SECRET};

use super::world::{Ran, World};

const LIST: &str = "/Library/LaunchDaemons/com.tailscale.tailscaled.plist";
const TARGET: &str = "system/com.tailscale.tailscaled";
const NOBODY: &str = "failed to connect to local Tailscale service; is Tailscale running?\n";

/// A Mac with Tailscale on its disk, whose daemon is not loaded.
struct Bench {
    world: World,
    mac: Arc<Mac>,
}

impl Bench {
    async fn new() -> Bench {
        let world = World::new().await;
        let mac = world.free_mac(1).await;
        let bench = Bench { world, mac };
        fs::create_dir_all(bench.mac.root().join("usr/local/bin")).unwrap();
        for (name, mode, program) in archive::tailscale("1.96.5") {
            let name = name.rsplit('/').next().unwrap();
            bench.put(&format!("/usr/local/bin/{name}"), program, mode);
        }
        let words =
            ["/usr/local/bin/tailscaled", "--state=/var/lib/tailscale/tailscaled.state", "--port=41641"];
        bench.put(LIST, list("com.tailscale.tailscaled", &words), 0o644);
        bench
    }

    /// The same with the daemon running, and awake.
    async fn running() -> Bench {
        let bench = Bench::new().await;
        fs::create_dir_all(bench.mac.root().join("var/lib/tailscale")).unwrap();
        bench.ok(&format!("launchctl bootstrap system {LIST}")).await;
        bench.pass(2).await;
        bench
    }

    fn put(&self, path: &str, content: impl AsRef<[u8]>, mode: u32) {
        let path = self.mac.root().join(&path[1..]);
        fs::write(&path, content).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    async fn root(&self, words: &str) -> Ran {
        self.world.run(&self.mac, &format!("sudo -n {words}")).await
    }

    async fn ok(&self, words: &str) -> String {
        let ran = self.root(words).await;
        assert_eq!(ran.status, Some(0), "{words}: {ran:?}");
        ran.out
    }

    async fn fails(&self, words: &str, says: &str) {
        let ran = self.root(words).await;
        assert_eq!((ran.status, &*ran.err), (Some(1), says), "{words}");
    }

    async fn pass(&self, seconds: u64) {
        self.world.clock.advance(Duration::from_secs(seconds)).await;
    }

    /// A value of `tailscale status --json`.
    async fn status(&self, pointer: &str) -> serde_json::Value {
        let text = self.ok("tailscale status --self --json").await;
        let status: serde_json::Value = serde_json::from_str(&text).unwrap();
        status.pointer(pointer).unwrap_or_else(|| panic!("{pointer}: {text}")).clone()
    }
}

fn list(label: &str, words: &[&str]) -> String {
    let words: String = words.iter().map(|word| format!("<string>{word}</string>")).collect();
    format!(
        "<plist version=\"1.0\"><dict><key>Label</key><string>{label}</string><key>ProgramArguments</key><array>{words}</array>\
         <key>RunAtLoad</key><true/><key>KeepAlive</key><true/></dict></plist>"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_without_its_directory_ends_with_ex_config() {
    let bench = Bench::new().await;
    bench.ok(&format!("launchctl bootstrap system {LIST}")).await;
    let told = bench.ok(&format!("launchctl print {TARGET}")).await;
    assert!(told.contains("last exit code = 78: EX_CONFIG"), "{told}");
    bench.fails("tailscale status --json", NOBODY).await;
    fs::create_dir_all(bench.mac.root().join("var/lib/tailscale")).unwrap();
    bench.pass(12).await;
    assert_eq!(bench.status("/BackendState").await, "NeedsLogin");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_device_joins_is_there_after_a_reboot_and_leaves() {
    let bench = Bench::running().await;
    bench.fails("tailscale ip -4", "no current Tailscale IPs; state: NeedsLogin\n").await;
    bench.put("/etc/key", AUTH_KEY, 0o600);
    let up =
        "tailscale up --auth-key=file:/etc/key --reset --ssh=false --hostname=mini-a --advertise-tags=tag:ci";
    bench.ok(up).await;
    let address = bench.ok("tailscale ip -4").await;
    assert!(address.starts_with("100.64."), "{address}");
    assert_eq!(bench.status("/Self/DNSName").await, "mini-a.tail4c7e.ts.net.");
    assert_eq!(bench.status("/Self/Tags").await, serde_json::json!(["tag:ci"]));
    let id = bench.status("/Self/ID").await;
    assert!(bench.world.macs.tailnet().book().devices.contains_key(id.as_str().unwrap()));
    assert!(bench.ok("ifconfig utun4").await.contains(address.trim()));
    // Somebody who is no administrator looks, and changes nothing.
    assert_eq!(bench.world.run(&bench.mac, "tailscale ip -4").await.out, address);
    let refused = bench.world.run(&bench.mac, "tailscale up").await;
    assert!(refused.err.starts_with("Access denied"), "{refused:?}");
    bench.mac.halt().await.unwrap();
    bench.mac.boot(None).await.unwrap();
    bench.fails("tailscale ip -4", NOBODY).await;
    bench.pass(2).await;
    assert_eq!(bench.status("/Self/ID").await, id);
    // Without a key it takes another name, is stopped and comes back.
    let renamed = "tailscale up --reset --hostname=mini-b --advertise-tags=tag:ci";
    bench.ok(renamed).await;
    assert_eq!(bench.status("/Self/DNSName").await, "mini-b.tail4c7e.ts.net.");
    bench.ok("tailscale down").await;
    bench.fails("tailscale ip -4", "no current Tailscale IPs; state: Stopped\n").await;
    assert_eq!(bench.status("/HaveNodeKey").await, true);
    bench.ok("tailscale up").await;
    assert_eq!(bench.ok("tailscale ip -4").await, address);
    // Only other tags take one.
    let waits = "timeout waiting for Tailscale service to enter a Running state; check health with \"tailscale status\"\n";
    bench.fails(&renamed.replace("tag:ci", "tag:mac"), waits).await;
    bench.ok("tailscale logout").await;
    assert_eq!(bench.status("/BackendState").await, "NeedsLogin");
    bench.fails(renamed, waits).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_expired_puts_out_whoever_is_told_it_once_more() {
    let bench = Bench::running().await;
    let up = format!(
        "tailscale up --authkey={AUTH_KEY} --reset --ssh=false --hostname=mini-a --advertise-tags=tag:ci"
    );
    bench.ok(&up).await;
    let (address, id) = (bench.ok("tailscale ip -4").await, bench.status("/Self/ID").await);
    bench.ok(&format!("lab-tailnet expire {AUTH_KEY}")).await;
    assert_eq!(bench.ok("tailscale ip -4").await, address, "who is in stays in");
    bench.fails(&up, "backend error: invalid key: API key does not exist\n").await;
    bench.fails("tailscale ip -4", "no current Tailscale IPs; state: NeedsLogin\n").await;
    let told = "You are logged out. The last login error was: invalid key: API key does not exist";
    assert_eq!(bench.status("/Health/0").await, told);
    assert_eq!(bench.root("ifconfig utun4").await.status, Some(1));
    // It is still known, and comes back without the key.
    bench.ok("tailscale up --reset --hostname=mini-a --advertise-tags=tag:ci").await;
    assert_eq!((bench.ok("tailscale ip -4").await, bench.status("/Self/ID").await), (address, id));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ephemeral_device_that_was_away_for_long_is_gone() {
    let bench = Bench::running().await;
    let key = format!("{CLIENT_SECRET}?ephemeral=true&preauthorized=true");
    bench.ok(&format!("tailscale up '--authkey={key}' --hostname=a --advertise-tags=tag:ci")).await;
    bench.mac.halt().await.unwrap();
    bench.pass(3600).await;
    bench.mac.boot(None).await.unwrap();
    bench.pass(2).await;
    assert_eq!(bench.status("/BackendState").await, "NeedsLogin");
    assert!(bench.world.macs.tailnet().book().devices.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn who_lost_its_state_comes_back_with_a_number() {
    let bench = Bench::running().await;
    let up = format!("tailscale up --authkey={AUTH_KEY} --reset --hostname=mini-a");
    bench.ok(&up).await;
    let state = bench.mac.root().join("var/lib/tailscale/tailscaled.state");
    assert_eq!(fs::metadata(&state).unwrap().permissions().mode() & 0o777, 0o600);
    fs::remove_file(state).unwrap();
    assert_eq!(bench.status("/BackendState").await, "NeedsLogin");
    bench.ok(&up).await;
    assert_eq!(bench.status("/Self/DNSName").await, "mini-a-1.tail4c7e.ts.net.");
    assert_eq!(bench.status("/Self/HostName").await, "mini-a");
    // The name is free again, and nobody gets it.
    bench.ok("lab-tailnet remove mini-a").await;
    bench.ok(&up).await;
    assert_eq!(bench.status("/Self/DNSName").await, "mini-a-1.tail4c7e.ts.net.");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_secret_of_a_client_lets_nobody_in_without_tags() {
    let bench = Bench::running().await;
    let up =
        format!("tailscale up '--authkey={CLIENT_SECRET}?ephemeral=true&preauthorized=true' --hostname=a");
    bench.fails(&up, "oauth authkeys require --advertise-tags\n").await;
    bench.ok(&format!("{up} --advertise-tags=tag:ci")).await;
    bench
        .fails(
            &format!("{up} --reset --advertise-tags=tag:prod"),
            "backend error: requested tags [tag:prod] are invalid or not permitted\n",
        )
        .await;
    let refused =
        bench.root(&format!("tailscale up --authkey={CLIENT_SECRET} --advertise-tags=tag:ci")).await;
    assert!(
        refused.err.starts_with("Error: changing settings via 'tailscale up' requires mentioning all\n"),
        "{refused:?}"
    );
    bench.ok("tailscale logout").await;
    assert!(bench.world.macs.tailnet().book().devices.is_empty(), "an ephemeral device that leaves is gone");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_over_its_own_tunnel_cuts_whoever_asked_for_it() {
    let bench = Bench::running().await;
    bench.ok(&format!("tailscale up --authkey={AUTH_KEY} --hostname=a")).await;
    bench.mac.set_ssh_peer(Ipv4Addr::new(100, 99, 1, 1).into());
    let address = bench.ok("tailscale ip -4").await;
    let ends = bench.world.run(&bench.mac, "echo $SSH_CONNECTION").await.out;
    assert_eq!(ends, format!("100.99.1.1 50022 {} 22\n", address.trim()));
    bench.pass(20).await;
    let cut = bench.root(&format!("sh -c 'launchctl kickstart -k {TARGET}; sleep 1; echo done'")).await;
    assert_eq!((cut.status, &*cut.out), (Some(255), ""), "{cut:?}");
    // Over the cable nobody notices.
    bench.mac.set_ssh_peer(Ipv4Addr::new(203, 0, 113, 7).into());
    bench.pass(20).await;
    assert!(bench.root(&format!("launchctl kickstart -k {TARGET}")).await.status == Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_exporter_listens_where_it_is_told_and_ends_with_its_service() {
    let bench = Bench::running().await;
    bench.ok(&format!("tailscale up --authkey={AUTH_KEY} --hostname=a")).await;
    let address = bench.ok("tailscale ip -4").await.trim().to_owned();
    bench.put(
        "/usr/local/bin/node_exporter",
        sign(b"#!lab-program\nversion=1.8.2\n", "node_exporter"),
        0o755,
    );
    let wrapper =
        "#!/bin/sh\nip=$(tailscale ip -4) || exit 1\nexec node_exporter --web.listen-address=\"$ip:9100\"\n";
    bench.put("/usr/local/bin/wrapper", wrapper, 0o755);
    let place = "/Library/LaunchDaemons/dev.exporter.plist";
    bench.put(place, list("dev.exporter", &["/usr/local/bin/wrapper"]), 0o644);
    bench.ok(&format!("launchctl bootstrap system {place}")).await;
    let listens = async || bench.root("lsof -nP -iTCP:9100 -sTCP:LISTEN").await.out;
    while listens().await.is_empty() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(listens().await.contains(&format!("TCP {address}:9100 (LISTEN)")));
    assert_eq!(bench.ok(&format!("curl -fsS http://{address}:9100/metrics")).await, "ok");
    assert_eq!(bench.root("curl -fsS http://127.0.0.1:9100/metrics").await.status, Some(7));
    bench.ok("launchctl bootout system/dev.exporter").await;
    bench.pass(1).await;
    assert_eq!(listens().await, "");
    // As it was once: everybody may ask.
    bench.put("/usr/local/bin/wrapper", "#!/bin/sh\nexec node_exporter\n", 0o755);
    bench.ok(&format!("launchctl bootstrap system {place}")).await;
    while listens().await.is_empty() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(listens().await.contains("TCP *:9100 (LISTEN)"));
}

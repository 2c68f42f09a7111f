//! launchd and code signing: what services do, and how the procedures of known incidents fail.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::time::Duration;

use fleet_lab::mac::{Mac, sign};
use fleet_lab::machine::Machine;
use rustix::fs::{CWD, FileType, Mode};
use serde_json::Value as Json;

use super::world::{Ran, World};

const LIST: &str = "/Library/LaunchDaemons/dev.agent.plist";
const AGENT: &str = "/usr/local/bin/agent";
const TARGET: &str = "system/dev.agent";

/// A Mac with a daemon on its disk that is not loaded.
struct Bench {
    world: World,
    mac: Arc<Mac>,
}

fn list(more: &str) -> String {
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<plist version=\"1.0\"><dict><key>Label</key><string>dev.agent</string>\
         <key>ProgramArguments</key><array><string>{AGENT}</string><string>--x</string></array>\
         <key>RunAtLoad</key><true/>{more}</dict></plist>\n"
    )
}

const KEPT: &str = "<key>KeepAlive</key><true/>";

fn program(lines: &str) -> Vec<u8> {
    sign(format!("#!lab-program\n{lines}\n").as_bytes(), "agent")
}

impl Bench {
    async fn new(more: &str, lines: &str) -> Bench {
        let world = World::new().await;
        let mac = world.free_mac(1).await;
        fs::create_dir_all(mac.root().join("usr/local/bin")).unwrap();
        let bench = Bench { world, mac };
        bench.put(LIST, list(more), 0o644);
        bench.put(AGENT, program(lines), 0o755);
        bench
    }

    /// Writes a new file.
    fn put(&self, path: &str, content: impl AsRef<[u8]>, mode: u32) {
        let path = self.mac.root().join(&path[1..]);
        let _ = fs::remove_file(&path);
        fs::write(&path, content).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    async fn root(&self, words: &str) -> Ran {
        self.world.run(&self.mac, &format!("sudo -n {words}")).await
    }

    /// A command that does what it should.
    async fn ok(&self, words: &str) -> String {
        let ran = self.root(words).await;
        assert_eq!(ran.status, Some(0), "{words}: {ran:?}");
        ran.out
    }

    /// A command that fails like this.
    async fn fails(&self, words: &str, status: i32, says: &str) {
        let ran = self.root(words).await;
        assert_eq!(ran.status, Some(status), "{words}: {ran:?}");
        assert!(ran.err.starts_with(says), "{words}: {ran:?}");
    }

    async fn load(&self) {
        self.ok(&format!("launchctl bootstrap system {LIST}")).await;
    }

    /// What launchd prints of the daemon under a name.
    async fn value(&self, name: &str) -> Option<String> {
        let text = self.root(&format!("launchctl print {TARGET}")).await.out;
        text.lines().find_map(|line| Some(line.trim().strip_prefix(&format!("{name} = "))?.to_owned()))
    }

    async fn pid(&self) -> Option<u32> {
        self.value("pid").await.map(|pid| pid.parse().unwrap())
    }

    async fn pass(&self, seconds: u64) {
        self.world.clock.advance(Duration::from_secs(seconds)).await;
    }

    async fn service(&self) -> Json {
        self.mac.inspect().await["live"]["launchd"]["services"][TARGET].clone()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_runs_and_is_kept_alive() {
    let bench = Bench::new(KEPT, "version=1.2").await;
    bench.load().await;
    let first = bench.pid().await.unwrap();
    assert_eq!(bench.value("state").await.as_deref(), Some("running"));
    let told = bench.ok(&format!("sh -c 'pgrep -f agent; ps -o args= -p {first}; launchctl list'")).await;
    assert!(told.starts_with(&format!("{first}\n{AGENT} --x\n")), "{told}");
    assert!(told.contains(&format!("{first}\t0\tdev.agent\n")), "{told}");
    bench.pass(30).await;
    bench.ok(&format!("kill -9 {first}")).await;
    // It has rested enough.
    let second = bench.pid().await.unwrap();
    assert_ne!(first, second);
    assert_eq!(bench.value("last terminating signal").await.as_deref(), Some("Killed: 9"));
    bench.ok(&format!("kill -9 {second}")).await;
    assert_eq!(bench.value("state").await.as_deref(), Some("spawn scheduled"));
    bench.pass(9).await;
    assert_eq!(bench.pid().await, None);
    bench.pass(1).await;
    assert!(bench.pid().await.is_some_and(|third| third != second));
    assert_eq!(bench.value("runs").await.as_deref(), Some("3"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_no_op_kickstart_leaves_the_old_process() {
    let bench = Bench::new(KEPT, "").await;
    bench.load().await;
    bench.pass(20).await;
    let old = bench.pid().await;
    assert!(old.is_some());
    assert_eq!(
        bench.ok(&format!("launchctl kickstart -p {TARGET}")).await,
        format!("service spawned with pid: {}\n", old.unwrap())
    );
    assert_eq!(bench.pid().await, old);
    bench.ok(&format!("launchctl kickstart -k {TARGET}")).await;
    assert!(bench.pid().await.is_some_and(|new| Some(new) != old));
    // One that has just been started rests first.
    bench.ok(&format!("launchctl kickstart -k {TARGET}")).await;
    assert_eq!(bench.pid().await, None);
    bench.pass(10).await;
    assert!(bench.pid().await.is_some());
    bench.fails("launchctl kickstart -k system/dev.other", 113, "Bad request.\nCould not find service").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crash_loop_shows_a_process_for_a_moment() {
    let bench = Bench::new(KEPT, "exit_after=2\nexit_code=1").await;
    bench.load().await;
    let mut pids = Vec::new();
    for _ in 0..3 {
        pids.push(bench.pid().await.unwrap());
        bench.pass(2).await;
        assert_eq!((bench.pid().await, bench.value("last exit code").await.as_deref()), (None, Some("1")));
        assert_eq!(bench.value("state").await.as_deref(), Some("spawn scheduled"));
        bench.pass(8).await;
    }
    pids.dedup();
    assert_eq!(pids.len(), 3);
    assert_eq!(bench.value("successive crashes").await.as_deref(), Some("3"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bootstrap_right_after_a_bootout_is_refused() {
    let bench = Bench::new(KEPT, "stops_after=2").await;
    bench.load().await;
    bench
        .fails(&format!("launchctl bootstrap system {LIST}"), 5, "Bootstrap failed: 5: Input/output error\n")
        .await;
    // As was done once, with all errors ignored: the service is gone for good.
    let script = format!("launchctl bootout system {LIST}; launchctl bootstrap system {LIST}");
    let ran = bench.root(&format!("sh -c '{script}'")).await;
    assert_eq!(ran.err, "Bootstrap failed: 37: Operation already in progress\n");
    assert_eq!(bench.value("state").await.as_deref(), Some("SIGTERMed"));
    bench.pass(2).await;
    bench
        .fails(
            &format!("launchctl print {TARGET}"),
            113,
            "Bad request.\nCould not find service \"dev.agent\" in domain for system\n",
        )
        .await;
    bench.fails(&format!("launchctl bootout {TARGET}"), 3, "Boot-out failed: 3: No such process\n").await;
    bench.load().await;
    assert!(bench.pid().await.is_some());
}

/// A process that is gone does nothing any more: what it was at in the kernel is done, or never will be.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_service_was_at_is_over_when_launchd_has_forgotten_it() {
    let bench = Bench::new("", "").await;
    let rules = bench.mac.root().join("private/tmp/rules");
    rustix::fs::mknodat(CWD, &rules, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    bench.put(AGENT, "#!/bin/sh\nexec pfctl -a late -f \"$FLEET_ROOT/private/tmp/rules\"\n", 0o755);
    bench.load().await;
    // Somebody reads there as soon as `pfctl` is called; it has its rules when the service is gone, or about to go.
    let fed = tokio::task::spawn_blocking(move || {
        let mut file = fs::OpenOptions::new().write(true).open(rules).unwrap();
        move || file.write_all(b"block drop quick from any to 10.0.0.1\n").unwrap()
    });
    let feed = tokio::time::timeout(Duration::from_secs(20), fed).await.unwrap().unwrap();
    let fed = tokio::task::spawn_blocking(|| {
        std::thread::sleep(Duration::from_secs(3));
        let mut feed = feed;
        feed();
    });
    bench.ok(&format!("launchctl bootout {TARGET}")).await;
    while bench.root(&format!("launchctl print {TARGET}")).await.status == Some(0) {
        bench.pass(1).await;
    }
    let at_once = bench.ok("pfctl -a late -s rules").await;
    fed.await.unwrap();
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(bench.ok("pfctl -a late -s rules").await, at_once);
}

/// Nor does one that was about to begin.
#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_was_just_started_does_nothing_once_launchd_has_forgotten_it() {
    let bench = Bench::new("", "").await;
    bench.put("/private/tmp/rules", "block drop quick from any to 10.0.0.1\n", 0o644);
    bench.put(AGENT, "#!/bin/sh\nexec pfctl -a late -f \"$FLEET_ROOT/private/tmp/rules\"\n", 0o755);
    // It is begun again and again while it is to end.
    let round = "launchctl bootstrap system LIST; for each in 1 2 3 4 5 6; do launchctl kickstart -k TARGET & done; \
                 launchctl bootout TARGET; while launchctl print TARGET >/dev/null 2>&1; do /bin/sleep 0.01; done; \
                 pfctl -a late -f - </dev/null; wait; /bin/sleep 0.1; pfctl -a late -s rules";
    let round = round.replace("LIST", LIST).replace("TARGET", TARGET);
    let rounds = format!("for round in 1 2 3 4 5 6; do {round}; done 2>/dev/null");
    assert_eq!(bench.ok(&format!("sh -c '{rounds}'")).await, "");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_that_is_registered_too_often_is_not_kept_alive() {
    let bench = Bench::new(KEPT, "exit_after=60").await;
    for _ in 0..12 {
        bench.load().await;
        bench.ok(&format!("launchctl bootout {TARGET}")).await;
        bench.pass(1).await;
    }
    bench.load().await;
    assert_eq!(bench.mac.inspect().await["installation"]["background_items"]["dev.agent"], 13);
    assert_eq!(bench.service().await["is_capped"], true);
    // It runs, so that nobody notices, until it ends once.
    assert!(bench.pid().await.is_some());
    bench.pass(120).await;
    assert_eq!((bench.pid().await, bench.value("state").await.as_deref()), (None, Some("not running")));
    // A start of the Mac does not forget.
    bench.mac.halt().await.unwrap();
    bench.mac.boot(None).await.unwrap();
    assert!(bench.pid().await.is_some());
    bench.pass(120).await;
    assert_eq!(bench.pid().await, None);
    bench.ok(&format!("launchctl kickstart {TARGET}")).await;
    assert!(bench.pid().await.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_is_overwritten_in_place_is_killed() {
    let bench = Bench::new(KEPT, "version=1").await;
    bench.load().await;
    assert!(bench.pid().await.is_some());
    bench.pass(20).await;
    // As was done once: the new bytes, signed by whoever built them, go into the old file.
    let place = bench.mac.root().join(&AGENT[1..]);
    fs::write(&place, program("version=2")).unwrap();
    assert_eq!(bench.root(&format!("codesign -v {AGENT}")).await.status, Some(0));
    bench.ok(&format!("launchctl kickstart -k {TARGET}")).await;
    assert_eq!(bench.pid().await, None);
    assert_eq!(bench.value("last exit reason").await.as_deref(), Some("OS_REASON_CODESIGNING"));
    bench.pass(60).await;
    assert_eq!(bench.value("last exit reason").await.as_deref(), Some("OS_REASON_CODESIGNING"));
    // The same bytes in a new file run.
    bench.put(AGENT, program("version=2"), 0o755);
    bench.pass(10).await;
    assert!(bench.pid().await.is_some());
    // What happened before is still told.
    assert_eq!(bench.value("last exit reason").await.as_deref(), Some("OS_REASON_CODESIGNING"));
}

#[tokio::test(flavor = "multi_thread")]
async fn code_is_signed_verified_and_shown() {
    let bench = Bench::new(KEPT, "").await;
    bench.put(AGENT, "#!lab-program\nversion=1\n", 0o755);
    bench.load().await;
    assert_eq!(bench.value("last exit reason").await.as_deref(), Some("OS_REASON_CODESIGNING"), "unsigned");
    bench
        .fails(
            &format!("codesign -v {AGENT}"),
            1,
            &format!("{AGENT}: code object is not signed at all\nIn architecture: arm64\n"),
        )
        .await;
    let before = bench.ok(&format!("shasum -a 256 {AGENT}")).await;
    bench.ok(&format!("codesign --force --sign - {AGENT}")).await;
    assert_ne!(bench.ok(&format!("shasum -a 256 {AGENT}")).await, before);
    bench.fails(&format!("codesign --sign - {AGENT}"), 1, &format!("{AGENT}: is already signed\n")).await;
    bench.pass(10).await;
    let pid = bench.pid().await.unwrap();
    let cdhash =
        |ran: Ran| ran.err.lines().find_map(|line| Some(line.strip_prefix("CDHash=")?.to_owned())).unwrap();
    let on_disk = cdhash(bench.root(&format!("codesign -dvvv {AGENT}")).await);
    assert_eq!(cdhash(bench.root(&format!("codesign -dvvv +{pid}")).await), on_disk);
    // What runs keeps its hash when the file gets another.
    bench.put(AGENT, program("version=2"), 0o755);
    assert_ne!(cdhash(bench.root(&format!("codesign -dvvv {AGENT}")).await), on_disk);
    assert_eq!(cdhash(bench.root(&format!("codesign -dvvv +{pid}")).await), on_disk);
    let broken = [b"x".to_vec(), program("")].concat();
    bench.put(AGENT, broken, 0o755);
    bench
        .fails(
            &format!("codesign -v {AGENT}"),
            1,
            &format!("{AGENT}: invalid signature (code or signature have been modified)\n"),
        )
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_launchd_refuses() {
    let bench = Bench::new(KEPT, "").await;
    let bootstrap = format!("launchctl bootstrap system {LIST}");
    bench.put(LIST, list("<key>X</key><string>a & b</string>"), 0o644);
    bench.fails(&bootstrap, 5, "Bootstrap failed: 5: Input/output error\n").await;
    bench.put(LIST, list(KEPT), 0o666);
    bench.fails(&bootstrap, 122, "Bootstrap failed: 122: Path had bad ownership/permissions\n").await;
    bench.put(LIST, list(KEPT), 0o644);
    bench.ok(&format!("chown m1 {LIST}")).await;
    bench.fails(&bootstrap, 122, "Bootstrap failed: 122: Path had bad ownership/permissions\n").await;
    bench.ok(&format!("chown root {LIST}")).await;
    bench.ok(&format!("launchctl disable {TARGET}")).await;
    bench.fails(&bootstrap, 5, "Bootstrap failed: 5: Input/output error\n").await;
    assert!(bench.ok("launchctl print-disabled system").await.contains("\"dev.agent\" => disabled"));
    bench.ok(&format!("launchctl enable {TARGET}")).await;
    bench.ok(&bootstrap).await;
    let ran = bench.world.run(&bench.mac, &format!("launchctl bootout {TARGET}")).await;
    assert_eq!((ran.status, &*ran.err), (Some(1), "Boot-out failed: 1: Operation not permitted\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_needs_somebody_at_the_screen() {
    let bench = Bench::new(KEPT, "").await;
    let path = "/Users/m1/Library/LaunchAgents/dev.agent.plist";
    fs::create_dir(bench.mac.root().join("Users/m1/Library/LaunchAgents")).unwrap();
    bench.put(path, list(KEPT), 0o644);
    let run = |words: String| {
        let (world, mac) = (&bench.world, &bench.mac);
        async move { world.run(mac, &words).await }
    };
    let ran = run(format!("launchctl bootstrap gui/501 {path}")).await;
    assert_eq!(
        (ran.status, &*ran.err),
        (Some(125), "Bootstrap failed: 125: Domain does not support specified action\n")
    );
    let ran = run(format!("launchctl load -w {path} || echo \"Failed: failed to load {path}\"")).await;
    assert!(ran.err.starts_with("Load failed: 5: Input/output error\n"), "{ran:?}");
    assert_eq!(ran.out, format!("Failed: failed to load {path}\n"));
    let ran = run("launchctl print gui/501".into()).await;
    assert_eq!(
        (ran.status, &*ran.err),
        (Some(113), "Bad request.\nCould not find domain for user gui: 501\n")
    );
    assert_eq!(run(format!("launchctl bootstrap user/501 {path}")).await.status, Some(0));
    assert!(run("launchctl print user/501/dev.agent".into()).await.out.contains("\tpid = "));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_started_says_ex_config() {
    let bench = Bench::new(KEPT, "").await;
    fs::remove_dir_all(bench.mac.root().join("usr/local")).unwrap();
    bench.load().await;
    assert_eq!(bench.value("last exit code").await.as_deref(), Some("78: EX_CONFIG"));
    assert_eq!(bench.value("state").await.as_deref(), Some("spawn scheduled"));
    fs::create_dir_all(bench.mac.root().join("usr/local/bin")).unwrap();
    bench.put(AGENT, program("needs=/var/lib/agent"), 0o755);
    bench.pass(10).await;
    assert_eq!(bench.value("last exit code").await.as_deref(), Some("1"));
    fs::create_dir_all(bench.mac.root().join("var/lib/agent")).unwrap();
    bench.pass(10).await;
    assert!(bench.pid().await.is_some());
    bench.ok(&format!("launchctl bootout {TARGET}")).await;
    bench.pass(1).await;
    bench.put(LIST, list("<key>StandardErrorPath</key><string>/var/log/none/x.log</string>"), 0o644);
    bench.load().await;
    assert_eq!(bench.value("last exit code").await.as_deref(), Some("78: EX_CONFIG"));
    assert_eq!(bench.value("state").await.as_deref(), Some("not running"));
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_and_scripts_are_carried_out_also_at_a_start() {
    let bench = Bench::new("", "").await;
    let with = |label: &str, words: &str, more: &str| {
        let words: String = words.split(' ').map(|word| format!("<string>{word}</string>")).collect();
        let text = format!(
            "<plist version=\"1.0\"><dict><key>Label</key><string>{label}</string><key>ProgramArguments</key><array>{words}</array>\
             <key>RunAtLoad</key><true/><key>StandardOutPath</key><string>/var/log/{label}.log</string>{more}</dict></plist>"
        );
        bench.put(&format!("/Library/LaunchDaemons/{label}.plist"), text, 0o644);
    };
    with("dev.command", "/usr/sbin/sysctl net.inet.ip.forwarding=1", "");
    with("dev.wrong", "/usr/sbin/sysctl no.such", "");
    with("dev.script", "/usr/local/bin/script", "<key>StartInterval</key><integer>60</integer>");
    let script = "#!/bin/sh\nsysctl -n net.inet.ip.forwarding\nwhoami\n";
    bench.put("/usr/local/bin/script", script, 0o755);
    bench.mac.halt().await.unwrap();
    bench.mac.boot(None).await.unwrap();
    assert_eq!(bench.world.run(&bench.mac, "sysctl -n net.inet.ip.forwarding").await.out, "1\n");
    let status = |label: &str, list: &str| {
        list.lines().find_map(|line| Some(line.strip_suffix(&format!("\t{label}"))?.to_owned()))
    };
    let listed = bench.ok("launchctl list").await;
    assert_eq!(status("dev.command", &listed).as_deref(), Some("-\t0"));
    assert_eq!(status("dev.wrong", &listed).as_deref(), Some("-\t1"));
    let log = bench.mac.root().join("var/log/dev.script.log");
    for times in 1..=2 {
        let expected = "1\nroot\n".repeat(times);
        let mut found = String::new();
        for _ in 0..500 {
            found = fs::read_to_string(&log).unwrap_or_default();
            if found == expected
                && status("dev.script", &bench.ok("launchctl list").await).as_deref() == Some("-\t0")
            {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(found, expected);
        bench.pass(60).await;
    }
    assert!(bench.ok("launchctl print system").await.contains("com.openssh.sshd"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_listens_answers() {
    let bench = Bench::new("", "listens=8081\nhealth=503 not yet").await;
    let ask = || bench.world.run(&bench.mac, "curl -fsS -m 5 http://127.0.0.1:8081/healthz");
    let ran = ask().await;
    assert_eq!(ran.status, Some(7));
    assert!(ran.err.starts_with("curl: (7) Failed to connect to 127.0.0.1 port 8081"), "{ran:?}");
    bench.load().await;
    let ran = ask().await;
    assert_eq!((ran.status, &*ran.err), (Some(22), "curl: (22) The requested URL returned error: 503\n"));
    bench.put(AGENT, program("listens=8081\nhealth=200 ok"), 0o755);
    bench.pass(20).await;
    bench.ok(&format!("launchctl kickstart -k {TARGET}")).await;
    assert_eq!(ask().await.out, "ok");
}

#[tokio::test(flavor = "multi_thread")]
async fn sleep_follows_the_clock_of_the_lab() {
    let bench = Bench::new("", "").await;
    let sleeping = tokio::spawn(bench.world.ssh(&bench.mac).arg("sleep 3600 && echo awake").output());
    // It sleeps once the clock has something to wait for.
    loop {
        tokio::time::sleep(Duration::from_millis(20)).await;
        bench.pass(1800).await;
        if sleeping.is_finished() {
            break;
        }
    }
    assert_eq!(Ran::of(sleeping.await.unwrap().unwrap()).out, "awake\n");
}

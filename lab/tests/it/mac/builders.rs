//! Macs that build: what Tart, Homebrew, Xcode and the agent of GitHub Actions say and refuse, and how the procedures of known
//! incidents fail.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::time::Duration;

use fleet_lab::mac::Mac;
use fleet_lab::mac::archive::{self, Packed};
use fleet_lab::machine::{Install, Machine};
use fleet_lab::runners::Purpose;

use super::world::{Ran, World};

const URL: &str = "https://github.com/example";
const LABEL: &str = "actions.runner.example.mini";

/// Unpacks an archive on a Mac, below a directory, without so many leading parts of the names.
fn unpack(mac: &Mac, directory: &str, files: Vec<Packed>, strip: usize) {
    for (path, mode, content) in files {
        let inside: Vec<&str> = path.split('/').skip(strip).collect();
        let place = mac.root().join(directory).join(inside.join("/"));
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::write(&place, content).unwrap();
        fs::set_permissions(place, fs::Permissions::from_mode(mode)).unwrap();
    }
}

/// A Mac, and what is done on it.
struct Bench {
    world: World,
    mac: Arc<Mac>,
}

impl Bench {
    async fn new() -> Bench {
        let world = World::new().await;
        let mac = world.free_mac(1).await;
        Bench { world, mac }
    }

    /// As whoever logs in.
    async fn run(&self, command: &str) -> Ran {
        self.world.run(&self.mac, command).await
    }

    async fn ok(&self, command: &str) -> String {
        let ran = self.run(command).await;
        assert_eq!(ran.status, Some(0), "{command}: {ran:?}");
        ran.out
    }

    async fn fails(&self, command: &str, status: i32, says: &str) {
        let ran = self.run(command).await;
        assert_eq!(ran.status, Some(status), "{command}: {ran:?}");
        assert!(ran.err.contains(says) || ran.out.contains(says), "{command}: {ran:?}");
    }

    fn token(&self) -> String {
        self.world.macs.runners().token(URL, Purpose::Register, self.world.clock.time()).token
    }

    /// A command in the directory of the agent.
    fn agent(command: &str) -> String {
        format!("cd \"$FLEET_ROOT/opt/actions-runner\" && {command}")
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_the_old_way() {
    let bench = Bench::new().await;
    unpack(&bench.mac, "opt/actions-runner", archive::runner("2.336.0"), 1);
    let configure = |token: &str| {
        Bench::agent(&format!(
            "./config.sh --url {URL} --token {token} --name mini --labels a,b --work _work --unattended --replace"
        ))
    };
    // A token that is wrong, or older than an hour.
    let refused = "Response status code does not indicate success: 404 (Not Found).";
    bench.fails(&configure("WRONG"), 1, refused).await;
    let late = bench.token();
    bench.world.clock.advance(Duration::from_secs(3601)).await;
    bench.fails(&configure(&late), 1, refused).await;
    assert_eq!(bench.world.macs.runners().list(URL), []);
    bench
        .fails(
            &Bench::agent("sudo -n ./config.sh --url x --token y --unattended"),
            1,
            "Must not run with sudo",
        )
        .await;
    bench.ok(&configure(&bench.token())).await;
    let made = bench.world.macs.runners().list(URL);
    assert!(made[0].token_was_visible && !made[0].online, "{made:?}");
    let settings = fs::read_to_string(bench.mac.root().join("opt/actions-runner/.runner")).unwrap();
    assert!(settings.starts_with('\u{feff}') && settings.contains("\"AgentName\": \"mini\""), "{settings}");
    // Who does it again is told that it was done.
    let again = "Cannot configure the runner because it is already configured.";
    bench.fails(&configure(&bench.token()), 1, again).await;
    // Nothing starts it over SSH.
    bench.ok(&Bench::agent("./svc.sh install")).await;
    bench.fails(&Bench::agent("./svc.sh install"), 1, "Failed: error: exists").await;
    let list = format!("/Users/m1/Library/LaunchAgents/{LABEL}.plist");
    bench.fails(&Bench::agent("./svc.sh start"), 1, &format!("Failed: failed to load {list}")).await;
    bench.fails(&format!("launchctl bootstrap gui/501 {list}"), 125, "Bootstrap failed: 125").await;
    assert!(!bench.world.macs.runners().list(URL)[0].online);
    bench.mac.begin_session(501);
    assert!(bench.world.macs.runners().list(URL)[0].online, "a session loads all agents");
    // Jobs have the PATH of whoever came over SSH.
    unpack(&bench.mac, "opt/homebrew", archive::homebrew(), 1);
    bench
        .ok("sudo -n chown -R m1:admin \"$FLEET_ROOT/opt/homebrew\"; brew install hashicorp/tap/packer")
        .await;
    bench.fails("lab-job /opt/actions-runner packer", 127, "packer: command not found").await;
    bench
        .ok(&Bench::agent(
            "printf '/opt/homebrew/bin:/usr/bin\\n' >.path; lab-job /opt/actions-runner packer",
        ))
        .await;
    // Its configuration goes only after its service.
    let removes = bench.world.macs.runners().token(URL, Purpose::Remove, bench.world.clock.time()).token;
    let remove = Bench::agent(&format!("./config.sh remove --token {removes}"));
    bench.fails(&remove, 1, "Uninstall service first").await;
    bench.fails(&Bench::agent("./svc.sh uninstall"), 1, "Failed: failed to unload").await;
    bench.ok(&format!("launchctl bootout gui/501/{LABEL}")).await;
    bench.world.clock.advance(Duration::from_secs(5)).await;
    bench.ok(&Bench::agent("./svc.sh uninstall")).await;
    bench.ok(&remove).await;
    assert_eq!(bench.world.macs.runners().list(URL), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_in_the_environment_is_seen_by_nobody() {
    let bench = Bench::new().await;
    unpack(&bench.mac, "opt/actions-runner", archive::runner("2.336.0"), 1);
    let token = bench.token();
    let command =
        format!("ACTIONS_RUNNER_INPUT_TOKEN={token} ./config.sh --unattended --url {URL} --name mini");
    bench.ok(&Bench::agent(&command)).await;
    let made = bench.world.macs.runners().list(URL);
    assert!(!made[0].token_was_visible, "{made:?}");
    assert_eq!(bench.ok(&Bench::agent("./bin/Runner.Listener --version")).await, "2.336.0\n");
    bench
        .fails(&Bench::agent("./config.sh --unattended --surprise"), 1, "Unrecognized command-line input")
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tart_runs_vms_only_from_its_bundle() {
    let bench = Bench::new().await;
    bench.fails("tart --version", 127, "command not found: tart").await;
    unpack(&bench.mac, "usr/local/lib", archive::tart("2.32.1"), 0);
    fs::create_dir_all(bench.mac.root().join("usr/local/bin")).unwrap();
    let program = "/usr/local/lib/tart.app/Contents/MacOS/tart";
    bench
        .ok(&format!("ln -s {program} \"$FLEET_ROOT/usr/local/bin/tart\"; mkdir -p ~/.tart/vms/sonoma"))
        .await;
    assert_eq!(bench.ok("tart --version").await, "2.32.1\n");
    bench.fails("tart run sonoma", 1, "com.apple.security.virtualization").await;
    bench.ok(&format!("cd \"$FLEET_ROOT/usr/local/bin\" && rm tart && printf '#!/bin/sh\\nexec {program} \"$@\"\\n' >tart")).await;
    bench.fails("tart run sequoia", 2, "the specified VM \"sequoia\" does not exist").await;
    let console = "Virtualization is not available because no graphic console is available";
    bench.fails("tart run sonoma", 1, console).await;
    bench.mac.begin_session(501);
    bench.ok("nohup tart run sonoma </dev/null >/dev/null 2>&1 &").await;
    let mut tries = 0;
    while !bench.ok("tart list --format json").await.contains("\"State\": \"running\"") {
        tries += 1;
        assert!(tries < 100, "the VM does not start");
    }
    assert!(bench.ok("ps -A -o args=").await.contains(&format!("{program} run sonoma\n")));
    bench.fails("tart run sonoma", 2, "is already running").await;
    assert!(bench.mac.inspect().await["live"]["vms"]["sonoma"].is_object());
    bench.ok("tart stop sonoma").await;
    assert!(bench.ok("tart list --format json").await.contains("\"State\": \"stopped\""));
    // The kernel ends what is not signed.
    fs::write(bench.mac.root().join(&program[1..]), "#!lab-program\nversion=3\n").unwrap();
    bench.fails("tart --version", 137, "Killed: 9").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn homebrew_refuses_root_and_what_it_does_not_know() {
    let bench = Bench::new().await;
    bench.fails("brew --version", 127, "command not found: brew").await;
    unpack(&bench.mac, "opt/homebrew", archive::homebrew(), 1);
    bench.fails("sudo -n brew install jq", 1, "Running Homebrew as root is extremely dangerous").await;
    bench.fails("brew install jq", 1, "not writable by your user").await;
    bench.ok("sudo -n chown -R m1:admin \"$FLEET_ROOT/opt/homebrew\"").await;
    bench.fails("brew install packer", 1, "No available formula with the name \"packer\"").await;
    bench.ok("brew install hashicorp/tap/packer jq").await;
    assert_eq!(bench.ok("brew tap; brew list --versions").await, "hashicorp/tap\njq 1.8.1\npacker 1.14.2\n");
    bench.fails("brew pin wget", 1, "wget not installed").await;
    bench.ok("brew pin packer").await;
    assert_eq!(bench.ok("brew list --pinned").await, "packer\n");
    bench.fails("brew list --versions wget", 1, "").await;
    bench.fails("brew untap hashicorp/tap", 1, "Refusing to untap hashicorp/tap").await;
    bench.ok("brew unpin packer && brew uninstall packer jq && brew untap hashicorp/tap").await;
    assert_eq!(bench.ok("brew tap; brew list --versions; brew list --pinned").await, "");
}

#[tokio::test(flavor = "multi_thread")]
async fn xcode_comes_with_an_image_alone() {
    let bench = Bench::new().await;
    bench.fails("xcode-select -p", 2, "Unable to get active developer directory").await;
    bench
        .fails("sudo -n xcode-select --switch /Applications/Xcode.app", 1, "invalid developer directory")
        .await;
    let with = Install { os_name: "macos-tahoe-26.3-xcode".into(), ..bench.world.install() };
    bench.mac.install(with).await.unwrap();
    bench.mac.boot(None).await.unwrap();
    let rule = bench.mac.root().join("etc/sudoers.d/m1-nopasswd");
    fs::write(&rule, "m1 ALL=(ALL) NOPASSWD: ALL\n").unwrap();
    fs::set_permissions(rule, fs::Permissions::from_mode(0o440)).unwrap();
    assert_eq!(bench.ok("xcode-select -p").await, "/Applications/Xcode.app/Contents/Developer\n");
    bench.fails("xcode-select --switch /Applications/Xcode.app", 1, "must be run as root").await;
    assert!(bench.ok("xcodebuild -version").await.starts_with("Xcode 26.3\n"));
    bench
        .fails("xcodebuild -license check", 69, "You have not agreed to the Xcode license agreements.")
        .await;
    bench.fails("xcrun --find swift", 69, "You have not agreed").await;
    bench.ok("sudo -n xcodebuild -license accept && xcodebuild -license check").await;
    assert!(bench.ok("xcrun --find swift").await.ends_with("/usr/bin/swift\n"));
    bench.ok("mkdir -p \"$FLEET_ROOT/Library/Developer/CommandLineTools/usr/bin\"").await;
    bench.ok("sudo -n xcode-select -s /Library/Developer/CommandLineTools").await;
    bench.fails("xcodebuild -version", 1, "requires Xcode, but active developer directory").await;
    bench.ok("sudo -n xcode-select --reset && xcodebuild -version").await;
}

//! Macs of the lab, and a directory with a configuration for them.

use std::fs;
use std::net::Ipv4Addr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;

use fleet_lab::clock::{Clock, Pace, Time};
use fleet_lab::gate::Gate;
use fleet_lab::mac::{Mac, Macs};
use fleet_lab::machine::{Blueprint, Install, Machine};
use fleet_lab::runners::Runners;
use fleet_lab::tailnet::Tailnet;
use fleet_lab::vendors::Vendors;
use serde_json::Value as Json;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::hosts::tree::{self, Tree};
use crate::laws::{Steps, steps};
use crate::support::{Ran, Site};

/// The name of the file that a test writes and edits.
pub(crate) const MAIN: &str = "main.fleet.hcl";
/// The secret that connections use.
pub(crate) const KEY: &str = "secret \"key\" {\n  from = \"file:key\"\n}\n";
/// There is no `root` in it: a Mac of the lab says itself where its paths lie.
pub(crate) const CONNECTION: &str = "connection \"ssh\" {
    config   = \"${abspath(path.root)}/ssh_config\"
    identity = secret.key
  }
";
/// The slot of the first Mac.
pub(crate) const SLOT: &str = "fleet.desk[0]";
/// The password of the user.
pub(crate) const PASSWORD: &str = "pass word";
/// The variable that names cures which tests are to do without.
const WITHOUT: &str = "FLEET_WITHOUT_CURE";
/// What every boot and every start of a process makes anew.
const VOLATILE: [&str; 2] = ["boot_id", "booted"];

/// The same within launchd: how many processes there were, and what the kernel remembers of their code.
const OF_PROCESSES: [&str; 2] = ["started", "code"];

/// The same within who is logged in: how often loginwindow was started.
const OF_LOGIN: [&str; 1] = ["starts"];

/// Macs that are on, and a directory with a configuration for them.
pub(crate) struct Minis {
    pub(crate) site: Site,
    pub(crate) macs: Vec<Arc<Mac>>,
    /// The time of the Macs.
    pub(crate) clock: Clock,
    // What they need to go on.
    runtime: Runtime,
    factory: Macs,
    _directory: TempDir,
}

/// What came of a command by hand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) status: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// A Mac as somebody finds it who looks at everything.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Snapshot {
    files: Tree,
    /// Owners, groups and modes, as the Mac tells them.
    owners: String,
    live: Json,
}

impl Minis {
    /// So many Macs. What takes a minute there is over in a moment here.
    pub(crate) fn of(count: u8) -> Minis {
        Minis::paced(count, Pace::Times(200.0))
    }

    /// One Mac whose user becomes root without a password, and where time jumps while all sleep.
    pub(crate) fn free() -> Minis {
        let minis = Minis::paced(1, Pace::Skipping);
        minis.let_sudo();
        minis
    }

    /// So many Macs on which time goes by in some way.
    pub(crate) fn paced(count: u8, pace: Pace) -> Minis {
        let directory = tempfile::Builder::new().prefix("lab-").tempdir().unwrap();
        let site = Site::empty();
        let key = site.path().join("key");
        let mut keygen = Command::new("ssh-keygen");
        keygen.args(["-q", "-t", "ed25519", "-N", "", "-C", "test", "-f"]).arg(&key);
        assert!(keygen.status().unwrap().success());
        let runtime = Runtime::new().unwrap();
        let factory =
            Macs::new(Path::new(env!("CARGO_BIN_EXE_fleet")), &directory.path().join("tools")).unwrap();
        let clock = Clock::new(pace, Time::of_this_machine());
        let driven = clock.clone();
        runtime.spawn(async move { driven.drive().await });
        let mut config = String::new();
        let macs: Vec<Arc<Mac>> = (0..count)
            .map(|number| {
                let ip = address(number);
                let blueprint = Blueprint {
                    id: format!("mac-{number}"),
                    model: "M2-L".into(),
                    ip,
                    directory: directory.path().join(number.to_string()),
                    seed: number.into(),
                    clock: clock.clone(),
                };
                let mac = runtime.block_on(async {
                    let mac = factory.build_mac(blueprint).await.unwrap();
                    mac.install(install(&site, "26.3")).await.unwrap();
                    mac.boot(None).await.unwrap();
                    mac
                });
                config += &format!("Host {ip}\n  HostName 127.0.0.1\n  User m1\n  Port {}\n", mac.ssh_port());
                mac
            })
            .collect();
        site.write("ssh_config", &config);
        Minis { site, macs, clock, runtime, factory, _directory: directory }
    }

    /// Lets the user become root without a password, on all of them.
    pub(crate) fn let_sudo(&self) {
        for mac in &self.macs {
            let rule = mac.root().join("etc/sudoers.d/m1-nopasswd");
            fs::write(&rule, "m1 ALL=(ALL) NOPASSWD: ALL\n").unwrap();
            fs::set_permissions(rule, fs::Permissions::from_mode(0o440)).unwrap();
        }
    }

    /// Who knows which agents of Nodes run on them.
    pub(crate) fn kubelets(&self) -> std::sync::Weak<dyn fleet_lab::kubernetes::Kubelets> {
        fleet_lab::machine::Factory::kubelets(&self.factory).unwrap()
    }

    /// The runners of GitHub that agents on them are registered as.
    pub(crate) fn runners(&self) -> &Runners {
        self.factory.runners()
    }

    /// The vendors beside them: GitHub keeps their runners.
    pub(crate) fn vendors(&self) -> Vendors {
        self.runtime.block_on(Vendors::open(&self.factory, &self.clock, &Gate::default())).unwrap()
    }

    /// Where something lies on the first.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.macs[0].root().join(path.trim_start_matches('/'))
    }

    /// What stands in a file of the first.
    #[track_caller]
    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// Puts a file on the first behind everybody's back, and the directories that it lies in.
    pub(crate) fn put(&self, path: &str, content: impl AsRef<[u8]>, mode: u32) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    /// The tailnet of all Macs.
    pub(crate) fn tailnet(&self) -> &Tailnet {
        self.factory.tailnet()
    }

    /// Puts these blocks into the fleet of all Macs, whose slots are `fleet.desk[0]` and so on.
    pub(crate) fn configure(&self, blocks: &str) {
        let hosts: String = (0..self.macs.len())
            .map(|at| {
                let address = address(u8::try_from(at).unwrap());
                format!("  host \"m{at}\" {{ address = \"{address}\" }}\n")
            })
            .collect();
        let size = self.macs.len();
        self.site.write(
            MAIN,
            &format!(
                "{KEY}\npool \"static\" \"desk\" {{\n{hosts}}}\n\nfleet \"desk\" {{\n  pool     = pool.desk\n  size     = {size}\n  \
                 hostname = host.key\n  {CONNECTION}\n{blocks}\n}}\n"
            ),
        );
    }

    /// The same for Macs that ask for a password before somebody becomes root: the connection has it, from the file `sudo`.
    pub(crate) fn configure_with_password(&self, blocks: &str) {
        self.configure(blocks);
        let (text, identity) = (self.site.read(MAIN), "identity = secret.key");
        let text = text.replace(identity, &format!("{identity}\n    sudo_password = secret.sudo"));
        self.site.write(MAIN, &format!("secret \"sudo\" {{\n  from = \"file:sudo\"\n}}\n{text}"));
    }

    /// Lets what is configured wait no longer than it must for somebody who confirms that a Mac can still be reached.
    pub(crate) fn hasten(&self) {
        let (text, identity) = (self.site.read(MAIN), "identity = secret.key");
        self.site.write(MAIN, &text.replace(identity, &format!("{identity}\n    confirm_within = 10")));
    }

    /// Runs `fleet`.
    pub(crate) fn fleet(&self, words: &[&str]) -> Ran {
        self.site.fleet_words(words)
    }

    #[track_caller]
    pub(crate) fn apply(&self) -> String {
        self.fleet(&["apply", "--auto-approve"]).ok()
    }

    #[track_caller]
    pub(crate) fn destroy(&self) -> String {
        self.fleet(&["destroy", "--auto-approve"]).ok()
    }

    /// The plan, as people read it.
    #[track_caller]
    pub(crate) fn plan(&self) -> String {
        self.fleet(&["plan"]).ok()
    }

    /// What a plan does, by address: the action, and the attributes that change.
    #[track_caller]
    pub(crate) fn steps(&self) -> Steps {
        steps(&serde_json::from_str(&self.fleet(&["plan", "--json"]).ok()).unwrap())
    }

    /// A plan does exactly this to things in the first slot, named without it.
    #[track_caller]
    pub(crate) fn check_plan(&self, expected: &[(&str, &str)]) {
        let expected: Steps =
            expected.iter().map(|(name, what)| (format!("{SLOT}.{name}"), (*what).to_owned())).collect();
        assert_eq!(self.steps(), expected);
    }

    #[track_caller]
    pub(crate) fn check_converged(&self, about: &str) {
        let planned = self.plan();
        assert!(planned.contains("No changes."), "{about}: {planned}");
    }

    /// Runs a command on the first, as its user.
    pub(crate) fn by_hand(&self, command: &str) -> Said {
        let mut ssh = Command::new("ssh");
        ssh.arg("-F").arg(self.site.path().join("ssh_config")).arg("-i").arg(self.site.path().join("key"));
        ssh.args(["-T", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=no", "-o", "IdentityAgent=none"]);
        ssh.args(["-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR", "-o", "IdentitiesOnly=yes"]);
        Said::of(ssh.arg(address(0).to_string()).arg(command).output().unwrap())
    }

    /// The same as root.
    pub(crate) fn as_root(&self, command: &str) -> Said {
        self.by_hand(&format!("sudo -n /bin/sh -c '{}'", command.replace('\'', r"'\''")))
    }

    /// Everything about the first.
    pub(crate) fn inspect(&self) -> Json {
        self.runtime.block_on(self.macs[0].inspect())
    }

    /// What the first forgets when it is started anew.
    pub(crate) fn live(&self) -> Json {
        self.inspect()["live"].clone()
    }

    /// Waits for something that the lab does.
    pub(crate) fn wait<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }

    /// Installs one of them anew, with another version.
    pub(crate) fn install_anew(&self, number: usize, version: &str) {
        self.runtime.block_on(async {
            self.macs[number].install(install(&self.site, version)).await.unwrap();
            self.macs[number].boot(None).await.unwrap();
        });
    }

    /// All that is on the first, but for what fleet keeps for itself.
    pub(crate) fn snapshot(&self) -> Snapshot {
        Snapshot::of(self.macs[0].root(), &|command| self.by_hand(command), self.live())
    }

    /// The first is as it was.
    #[track_caller]
    pub(crate) fn check_same(&self, before: &Snapshot, about: &str) {
        self.snapshot().check_same(before, about);
    }
}

impl Snapshot {
    /// Of a Mac, by its root directory, what it says to a command, and what it knows while it is on.
    pub(crate) fn of(root: &Path, by_hand: &dyn Fn(&str) -> Said, mut live: Json) -> Snapshot {
        let owners = by_hand(
            "cd \"$FLEET_ROOT\" && find . -path ./private/var/tmp/fleet -prune -o -exec stat -f '%N %Su:%Sg %Sp' {} + | sort",
        );
        assert_eq!((owners.status, &*owners.err), (Some(0), ""));
        let mut files = tree::tree(root);
        files.retain(|path, _| !path.starts_with("private/var/tmp/fleet"));
        if let Some(live) = live.as_object_mut() {
            live.retain(|name, _| !VOLATILE.contains(&&**name));
        }
        if let Some(login) = live["login"].as_object_mut() {
            login.retain(|name, _| !OF_LOGIN.contains(&&**name));
        }
        if let Some(launchd) = live["launchd"].as_object_mut() {
            launchd.retain(|name, _| !OF_PROCESSES.contains(&&**name));
            if let Some(services) = launchd["services"].as_object_mut() {
                // Every login starts it anew.
                services.remove("system/com.apple.loginwindow");
            }
        }
        Snapshot { files, owners: owners.out, live }
    }

    /// The same without some files and directories, by their paths; `*.log` stands for all logs in a directory.
    pub(crate) fn without(mut self, paths: &[&str]) -> Snapshot {
        let is_one = |path: &str| {
            paths.iter().any(|one| match one.strip_suffix("*.log") {
                Some(directory) => path
                    .strip_prefix(directory)
                    .is_some_and(|name| name.ends_with(".log") && !name.contains('/')),
                None => path == *one,
            })
        };
        self.files.retain(|path, _| !is_one(path));
        // A line is a path, its owner and its mode.
        let path_of = |line: &str| line.trim_start_matches("./").rsplitn(3, ' ').last().map(str::to_owned);
        let lines = self.owners.lines().filter(|line| !path_of(line).is_some_and(|path| is_one(&path)));
        self.owners = lines.map(|line| format!("{line}\n")).collect();
        self
    }

    /// Both are the same.
    #[track_caller]
    pub(crate) fn check_same(&self, before: &Snapshot, about: &str) {
        tree::same(&before.files, &self.files, about);
        assert_eq!(before.owners, self.owners, "{about}");
        assert_eq!(before.live, self.live, "{about}");
    }
}

impl Said {
    pub(crate) fn of(output: Output) -> Said {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Said { status: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }

    /// What it printed, if it worked.
    #[track_caller]
    pub(crate) fn ok(self) -> String {
        assert_eq!(self.status, Some(0), "{}{}", self.out, self.err);
        self.out
    }
}

/// Takes the cures away that this run of the tests is to do without.
pub(crate) fn take_cures_away() {
    if let Ok(away) = std::env::var(WITHOUT) {
        fleet_providers::cure::take_away(away.split(',').map(str::to_owned));
    }
}

/// Where the vendor says that a Mac is.
fn address(number: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, 11 + number)
}

/// What an installation leaves: everybody comes in who has the key of the site.
fn install(site: &Site, version: &str) -> Install {
    Install {
        os_name: format!("macos-{version}"),
        os_version: version.into(),
        user: "m1".into(),
        password: PASSWORD.into(),
        keys: vec![site.read("key.pub").trim().to_owned()],
    }
}

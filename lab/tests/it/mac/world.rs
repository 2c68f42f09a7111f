//! Macs for tests, and the real `ssh` to reach them with.

use std::fs;
use std::net::Ipv4Addr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::sync::Arc;

use fleet_lab::clock::{Clock, Pace, Time};
use fleet_lab::mac::{Mac, Macs};
use fleet_lab::machine::{Blueprint, Install, Machine};
use tempfile::TempDir;
use tokio::process::Command;

/// The password of the user.
pub(super) const PASSWORD: &str = "correct horse";

/// Macs, and a key that they let in.
pub(super) struct World {
    pub(super) directory: TempDir,
    pub(super) macs: Macs,
    pub(super) clock: Clock,
    pub(super) key: String,
}

impl World {
    pub(super) async fn new() -> World {
        let directory = tempfile::Builder::new().prefix("lab-").tempdir().unwrap();
        let macs = Macs::new(Path::new(env!("CARGO_BIN_EXE_lab-stand-in")), &directory.path().join("tools"));
        let identity = directory.path().join("identity");
        let mut generate = Command::new("ssh-keygen");
        generate.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(&identity);
        assert!(generate.status().await.unwrap().success());
        let public = fs::read_to_string(directory.path().join("identity.pub")).unwrap();
        let key = public.split_whitespace().take(2).collect::<Vec<_>>().join(" ");
        let clock = Clock::new(Pace::Manual, Time::of_this_machine());
        World { macs: macs.unwrap(), clock, key, directory }
    }

    pub(super) fn install(&self) -> Install {
        Install {
            os_name: "macos-tahoe-26.3".into(),
            os_version: "26.3".into(),
            user: "m1".into(),
            password: PASSWORD.into(),
            keys: vec![self.key.clone()],
        }
    }

    /// A Mac that is switched off and has nothing on it.
    pub(super) async fn build(&self, number: u8) -> Arc<Mac> {
        let blueprint = Blueprint {
            id: format!("00000000-0000-4000-8000-0000000000{number:02x}"),
            model: "M2-L".into(),
            ip: Ipv4Addr::new(127, 77, 0, number),
            directory: self.directory.path().join(format!("mac{number}")),
            seed: number.into(),
            clock: self.clock.clone(),
        };
        self.macs.build_mac(blueprint).await.unwrap()
    }

    /// A Mac that is on.
    pub(super) async fn mac(&self, number: u8) -> Arc<Mac> {
        let mac = self.build(number).await;
        mac.install(self.install()).await.unwrap();
        mac.boot(None).await.unwrap();
        mac
    }

    /// The same, whose user needs no password to become root.
    pub(super) async fn free_mac(&self, number: u8) -> Arc<Mac> {
        let mac = self.mac(number).await;
        let rule = mac.root().join("etc/sudoers.d/m1-nopasswd");
        fs::write(&rule, "m1 ALL=(ALL) NOPASSWD: ALL\n").unwrap();
        fs::set_permissions(rule, fs::Permissions::from_mode(0o440)).unwrap();
        mac
    }

    pub(super) fn identity(&self) -> PathBuf {
        self.directory.path().join("identity")
    }

    /// The real client, ready for a command.
    pub(super) fn ssh(&self, mac: &Mac) -> Command {
        let mut ssh = Command::new("ssh");
        ssh.args(["-F", "none", "-T", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=no"]);
        ssh.args(["-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR", "-o", "IdentitiesOnly=yes"]);
        ssh.args(["-o", "IdentityAgent=none", "-o", "ConnectTimeout=10", "-i"]).arg(self.identity());
        ssh.args(["-p", &mac.ssh_port().to_string(), "m1@127.0.0.1"]);
        ssh.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        ssh
    }

    /// Runs a command on a Mac.
    pub(super) async fn run(&self, mac: &Mac, command: &str) -> Ran {
        Ran::of(self.ssh(mac).arg(command).output().await.unwrap())
    }
}

/// What came of a command.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Ran {
    pub(super) status: Option<i32>,
    pub(super) out: String,
    pub(super) err: String,
}

impl Ran {
    pub(super) fn of(output: Output) -> Ran {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Ran { status: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }
}

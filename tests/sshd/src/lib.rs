//! A real `sshd` for tests: on a port of its own, with keys of its own, gone with the process that started it.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod slow;

use std::fmt::Write as _;
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

pub use slow::Slow;

/// What to do where there is no `sshd`.
const MISSING: &str = "these tests need OpenSSH: run `cargo xtask test`, which installs it, or on Debian \
                       `sudo apt-get install openssh-server openssh-client`";

/// What every connection goes through: what is sent to each command is noted, so that requests can be counted where
/// they arrive.
const NOTE: &str = r#"#!/bin/sh
echo >>"$0.commands"
tee "$0.sent.$$" | eval "$SSH_ORIGINAL_COMMAND"
"#;

/// A running server.
#[derive(Debug)]
pub struct Sshd {
    directory: TempDir,
    port: u16,
    identity: String,
    /// A shell that runs the server for as long as this process holds the other end of its input.
    keeper: Option<Child>,
}

impl Sshd {
    /// A server for whoever runs the test.
    #[must_use]
    pub fn start() -> Sshd {
        Sshd::start_with(&[])
    }

    /// A server that notes what arrives, for [`requests`](Sshd::requests).
    #[must_use]
    pub fn noting() -> Sshd {
        Sshd::start_noting(&[])
    }

    /// A server with settings such as `MaxSessions 1`.
    #[must_use]
    pub fn start_with(settings: &[&str]) -> Sshd {
        Sshd::make(settings, false)
    }

    /// A server with settings that notes what arrives.
    #[must_use]
    pub fn start_noting(settings: &[&str]) -> Sshd {
        Sshd::make(settings, true)
    }

    fn make(settings: &[&str], notes: bool) -> Sshd {
        let directory = tempfile::Builder::new().prefix("fleet-sshd-").tempdir().unwrap();
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let key = directory.path().join("client");
        generate(&key);
        let identity = fs::read_to_string(&key).unwrap();
        fs::remove_file(&key).unwrap();
        let mut server = Sshd { port: 0, identity, keeper: None, directory };
        server.change_host_key();
        let note = server.file("note");
        fs::write(&note, NOTE).unwrap();
        fs::set_permissions(&note, fs::Permissions::from_mode(0o755)).unwrap();
        let mut config = String::new();
        for setting in settings {
            writeln!(config, "{setting}").unwrap();
        }
        if notes {
            writeln!(config, "ForceCommand {}", note.display()).unwrap();
        }
        writeln!(config, "HostKey {}", server.file("host").display()).unwrap();
        writeln!(config, "AuthorizedKeysFile {}", server.file("client.pub").display()).unwrap();
        // What the login shell of whoever runs the tests reads at home may take long, or wait for something.
        fs::create_dir(server.file("home")).unwrap();
        writeln!(config, "SetEnv HOME={}", server.file("home").display()).unwrap();
        // The usual key exchange costs ten times as much.
        config.push_str(
            "ListenAddress 127.0.0.1\nPidFile none\nStrictModes no\nUsePAM no\nPermitRootLogin yes\nUseDNS no\n\
             PasswordAuthentication no\nKbdInteractiveAuthentication no\nKexAlgorithms curve25519-sha256\n\
             MaxStartups 200\nPrintMotd no\nLogLevel VERBOSE\n",
        );
        fs::write(server.file("config"), config).unwrap();
        server.run();
        server
    }

    /// Where it listens, on 127.0.0.1.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// A private key that it lets in.
    #[must_use]
    pub fn identity(&self) -> &str {
        &self.identity
    }

    /// The file with the keys that it lets in, which it reads whenever somebody connects.
    #[must_use]
    pub fn keys_let_in(&self) -> PathBuf {
        self.file("client.pub")
    }

    /// Its own key, as `type base64`.
    #[must_use]
    pub fn host_key(&self) -> String {
        let line = fs::read_to_string(self.file("host.pub")).unwrap();
        line.split_whitespace().take(2).collect::<Vec<_>>().join(" ")
    }

    /// The fingerprint of its key, as `ssh-keygen` shows it.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        let told = Command::new("ssh-keygen").arg("-lf").arg(self.file("host.pub")).output().unwrap();
        String::from_utf8(told.stdout).unwrap().split_whitespace().nth(1).unwrap().to_owned()
    }

    /// What it logged.
    #[must_use]
    pub fn log(&self) -> String {
        fs::read_to_string(self.file("log")).unwrap_or_default()
    }

    /// How often somebody connected so far.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.log().matches("Accepted publickey").count()
    }

    /// How many commands were started so far, if it [notes](Sshd::noting).
    #[must_use]
    pub fn commands(&self) -> usize {
        fs::read_to_string(self.file("note.commands")).unwrap_or_default().lines().count()
    }

    /// How many scripts arrived so far, if it [notes](Sshd::noting).
    #[must_use]
    pub fn requests(&self) -> usize {
        self.sent().iter().map(|content| frames(content)).sum()
    }

    /// All that was sent to commands so far, one after the other, if it [notes](Sshd::noting).
    #[must_use]
    pub fn sent(&self) -> Vec<Vec<u8>> {
        let files = fs::read_dir(self.directory.path()).unwrap().map(|entry| entry.unwrap().path());
        let is_note = |path: &PathBuf| path.to_str().unwrap().contains("note.sent.");
        files.filter(is_note).map(|path| fs::read(path).unwrap()).collect()
    }

    /// Gives it another key, from its next start on.
    pub fn change_host_key(&mut self) {
        let _ = fs::remove_file(self.file("host"));
        generate(&self.file("host"));
    }

    /// Ends it and all connections with a signal that they cannot notice, as if the machine had failed.
    pub fn kill(&mut self) {
        if let Some(mut keeper) = self.keeper.take() {
            let mut all = descendants(keeper.id());
            all.push(keeper.id());
            for pid in all.into_iter().filter_map(|pid| Pid::from_raw(pid.try_into().unwrap())) {
                let _ = kill_process(pid, Signal::KILL);
            }
            let _ = keeper.wait();
        }
    }

    /// Ends all connections, and stays.
    pub fn cut(&self) {
        let server = descendants(self.keeper.as_ref().unwrap().id());
        for session in server.iter().filter(|pid| is_session(**pid)) {
            if let Some(pid) = Pid::from_raw((*session).try_into().unwrap()) {
                let _ = kill_process(pid, Signal::KILL);
            }
        }
    }

    /// Starts it again, at the same address.
    pub fn restart(&mut self) {
        self.kill();
        self.run();
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Starts the server and waits until it answers.
    fn run(&mut self) {
        let program = program().expect(MISSING);
        if cfg!(target_os = "linux") {
            let _ = fs::create_dir_all("/run/sshd");
        }
        for _ in 0..50 {
            if self.port == 0 {
                self.port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
            }
            let mut keeper = Command::new("/bin/sh")
                .args([
                    "-c",
                    "exec 3<&0; \"$@\" </dev/null 3<&- & p=$!; (read -r l <&3; kill -9 $p) & wait $p",
                    "keeper",
                ])
                .arg(&program)
                .arg("-D")
                .arg("-f")
                .arg(self.file("config"))
                .arg("-p")
                .arg(self.port.to_string())
                .arg("-E")
                .arg(self.file("log"))
                .stdin(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            for _ in 0..200 {
                if keeper.try_wait().unwrap().is_some() {
                    break;
                }
                if TcpStream::connect(("127.0.0.1", self.port)).is_ok() {
                    self.keeper = Some(keeper);
                    return;
                }
                thread::sleep(Duration::from_millis(10));
            }
            let _ = keeper.kill();
            let _ = keeper.wait();
            // A port that was free a moment ago may not be now.
            if self.connections() == 0 {
                self.port = 0;
            }
        }
        panic!("sshd does not start:\n{}", self.log());
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        self.kill();
    }
}

/// How many requests stand one after the other: the length of each on a line, and so many bytes.
fn frames(mut content: &[u8]) -> usize {
    let mut count = 0;
    while let Some(end) = content.iter().position(|byte| *byte == b'\n') {
        let length = std::str::from_utf8(&content[..end]).ok().and_then(|line| line.parse::<usize>().ok());
        let Some(rest) = length.and_then(|length| content.get(end + 1 + length..)) else { break };
        content = rest;
        count += 1;
    }
    count
}

/// `sshd` insists on being started by its whole path, and may be off the path of programs.
fn program() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let aside = ["/usr/sbin", "/usr/local/sbin", "/sbin"].map(PathBuf::from);
    std::env::split_paths(&path).chain(aside).map(|it| it.join("sshd")).find(|it| it.is_file())
}

fn generate(path: &Path) {
    let mut keygen = Command::new("ssh-keygen");
    let made =
        keygen.args(["-q", "-t", "ed25519", "-N", "", "-C", "test", "-f"]).arg(path).output().expect(MISSING);
    assert!(made.status.success(), "ssh-keygen: {}", String::from_utf8_lossy(&made.stderr));
}

/// All processes below one.
fn descendants(of: u32) -> Vec<u32> {
    let listed = Command::new("ps").args(["-A", "-o", "pid=,ppid="]).output().unwrap();
    let text = String::from_utf8_lossy(&listed.stdout).into_owned();
    let pairs: Vec<(u32, u32)> = text
        .lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace().map(|word| word.parse().ok());
            Some((words.next()??, words.next()??))
        })
        .collect();
    let (mut found, mut at) = (vec![of], 0);
    while at < found.len() {
        let parent = found[at];
        found.extend(pairs.iter().filter(|(_, of)| *of == parent).map(|(pid, _)| *pid));
        at += 1;
    }
    found.split_off(1)
}

/// Whether a process serves a connection.
fn is_session(pid: u32) -> bool {
    let told = Command::new("ps").args(["-o", "args=", "-p", &pid.to_string()]).output().unwrap();
    let text = String::from_utf8_lossy(&told.stdout).into_owned();
    text.starts_with("sshd: ") && !text.contains("[listener]")
}

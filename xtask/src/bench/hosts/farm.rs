//! Hosts on this machine: a real `sshd` for each, on a port of its own, and a directory that stands for its disk.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use fleet_test_sshd::Slow;
use rustix::process::geteuid;

use super::accounts::{Accounts, group};
use super::workload;
use crate::Outcome;

/// Who logs in, if root runs this: nobody's own settings of a shell are charged to the tools.
const USER: &str = "fleet-bench";

/// Waits until this process is gone, however that came, and leaves nothing of the farm: the directory, the user or
/// nothing, the control group or nothing, and the servers.
const KEEPER: &str = r#"trap "" HUP INT TERM QUIT
directory=$1 user=$2 group=$3
shift 3
read -r l
kill "$@"
for t in 1 2 3 4 5; do
  rm -rf -- "$directory"
  if [ -z "$group" ] || rmdir "$group"; then group=; fi
  if [ -z "$user" ] || userdel "$user"; then user=; fi
  if [ -z "$group$user" ]; then break; fi
  sleep 0.2
done
"#;

/// A host, as tools are told of it.
pub(super) struct Host {
    pub(super) name: String,
    pub(super) port: u16,
    pub(super) prefix: PathBuf,
}

/// All hosts.
pub(super) struct Farm {
    pub(super) hosts: Vec<Host>,
    /// Who logs in.
    pub(super) user: String,
    /// The key of all hosts, as `type base64`.
    pub(super) host_key: String,
    pub(super) accounts: Accounts,
    /// Its numbers, if it is another user than ours.
    owner: Option<(u32, u32)>,
    slow: Vec<Slow>,
    directory: PathBuf,
    servers: Vec<Child>,
    keeper: Child,
}

impl Farm {
    /// Starts so many hosts, which answer later by so much each way.
    pub(super) fn start(count: usize, delay: Duration) -> Result<Farm, String> {
        let program = sshd().ok_or("`sshd` is needed; on Debian: `apt-get install openssh-server`")?;
        let directory = tempfile::Builder::new().prefix("fb").tempdir().map_err(|e| unmade(&e))?.keep();
        let (user, owner) = user(&directory)?;
        prepare(&directory, owner).map_err(|e| unmade(&e))?;
        for name in ["id", "host"] {
            let mut keygen = Command::new("ssh-keygen");
            keygen.args(["-q", "-t", "ed25519", "-N", "", "-C", "bench", "-f"]).arg(directory.join(name));
            crate::run::run(&mut keygen)?;
        }
        let read = |name: &str| fs::read_to_string(directory.join(name)).map_err(|e| unmade(&e));
        let host_key = read("host.pub")?.split_whitespace().take(2).collect::<Vec<_>>().join(" ");
        let ports = free_ports(count).map_err(|e| unmade(&e))?;
        let mut servers = Vec::new();
        for port in &ports {
            let config = directory.join(format!("{port}.conf"));
            fs::write(&config, settings(&directory, *port, &user)).map_err(|e| unmade(&e))?;
            let mut server = Command::new(&program);
            server.args(["-D", "-f"]).arg(&config).arg("-E").arg(directory.join(format!("{port}.log")));
            server.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            servers.push(server.spawn().map_err(|e| format!("sshd cannot be started: {e}"))?);
        }
        let numbers: Vec<u32> = servers.iter().map(Child::id).collect();
        let group = group(&format!("fleet-bench-{}", std::process::id()), &numbers);
        let keeper = keeper(&directory, owner.map(|_| USER), group.as_deref(), &numbers)?;
        let slow: Vec<Slow> = match delay {
            Duration::ZERO => Vec::new(),
            delay => ports.iter().map(|port| Slow::before(*port, delay)).collect(),
        };
        let reached: Vec<u16> =
            if slow.is_empty() { ports.clone() } else { slow.iter().map(Slow::port).collect() };
        let host = |(at, port): (usize, &u16)| {
            let name = format!("mini-{at:03}");
            Host { prefix: directory.join(&name), name, port: *port }
        };
        let far_user = owner.map(|(user, _)| user);
        let accounts = Accounts::open(&numbers, &[keeper.id()], far_user, group.as_deref())?;
        let hosts: Vec<Host> = reached.iter().enumerate().map(host).collect();
        let farm = Farm { hosts, user, host_key, accounts, owner, slow, directory, servers, keeper };
        let known: String =
            farm.hosts.iter().map(|host| format!("[127.0.0.1]:{} {}\n", host.port, farm.host_key)).collect();
        fs::write(farm.known(), known).map_err(|e| unmade(&e))?;
        farm.wait(&ports)?;
        Ok(farm)
    }

    /// The private key that all hosts let in.
    pub(super) fn key(&self) -> PathBuf {
        self.directory.join("id")
    }

    /// The file of known hosts.
    pub(super) fn known(&self) -> PathBuf {
        self.directory.join("known")
    }

    /// A directory with a short name, for sockets.
    pub(super) fn sockets(&self, name: &str) -> Result<PathBuf, String> {
        let path = self.directory.join(name);
        fs::create_dir_all(&path).map_err(|e| unmade(&e))?;
        Ok(path)
    }

    /// The directory in which each host's prefix lies under its name.
    pub(super) fn disks(&self) -> &Path {
        &self.directory
    }

    /// A call of `ssh`, the same for everybody: nothing of the user's own settings.
    pub(super) fn ssh_options(&self) -> Vec<String> {
        let known = format!("UserKnownHostsFile={}", self.known().display());
        let options = ["IdentitiesOnly=yes", "BatchMode=yes", "StrictHostKeyChecking=yes", &known];
        let mut words = vec!["-F".to_owned(), "none".to_owned(), "-i".to_owned()];
        words.push(self.key().display().to_string());
        words.extend(options.iter().flat_map(|option| ["-o".to_owned(), (*option).to_owned()]));
        words
    }

    /// Makes all hosts as they are before any tool came.
    pub(super) fn reset(&self) -> Outcome {
        let mut hosts = self.hosts.iter();
        hosts.try_for_each(|host| workload::reset(&host.prefix, self.owner)).map_err(|e| unmade(&e))
    }

    /// Round trips so far, of all hosts together; none where nothing is in between.
    pub(super) fn turns(&self) -> Option<usize> {
        (!self.slow.is_empty()).then(|| self.slow.iter().map(Slow::turns).sum())
    }

    /// Waits until all servers answer.
    fn wait(&self, ports: &[u16]) -> Outcome {
        for port in ports {
            let answers = || TcpStream::connect(("127.0.0.1", *port)).is_ok();
            let came = (0..500).any(|_| {
                let came = answers();
                if !came {
                    thread::sleep(Duration::from_millis(10));
                }
                came
            });
            if !came {
                let log = fs::read_to_string(self.directory.join(format!("{port}.log"))).unwrap_or_default();
                return Err(format!("an sshd does not start: {}", log.trim()));
            }
        }
        Ok(())
    }
}

impl Drop for Farm {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        for server in &mut self.servers {
            let _ = server.wait();
        }
        let _ = self.keeper.wait();
    }
}

/// `sshd` insists on being started by its whole path, and may be off the path of programs.
fn sshd() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let aside = ["/usr/sbin", "/usr/local/sbin", "/sbin"].map(PathBuf::from);
    std::env::split_paths(&path).chain(aside).map(|it| it.join("sshd")).find(|it| it.is_file())
}

/// Who logs in: a user made for this if root asks, else whoever asks.
fn user(directory: &Path) -> Result<(String, Option<(u32, u32)>), String> {
    if !geteuid().is_root() {
        return Ok((said("id", &["-un"])?, None));
    }
    // One that was left behind has a home that is gone.
    let _ = Command::new("userdel").arg(USER).stderr(Stdio::null()).status();
    let mut add = Command::new("useradd");
    add.args(["-M", "-s", "/bin/sh", "-p", "*", "-d"]).arg(directory.join("home")).arg(USER);
    crate::run::run(&mut add)?;
    let number = |word: &str| -> Result<u32, String> {
        said("id", &[word, USER])?.parse().map_err(|e| format!("`id` does not tell a number: {e}"))
    };
    Ok((USER.to_owned(), Some((number("-u")?, number("-g")?))))
}

fn said(program: &str, words: &[&str]) -> Result<String, String> {
    let output = Command::new(program).args(words).output().map_err(|e| format!("`{program}`: {e}"))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn prepare(directory: &Path, owner: Option<(u32, u32)>) -> io::Result<()> {
    fs::set_permissions(directory, fs::Permissions::from_mode(0o755))?;
    let home = directory.join("home");
    fs::create_dir(&home)?;
    if let Some((user, group)) = owner {
        chown(&home, Some(user), Some(group))?;
        fs::create_dir_all("/run/sshd")?;
    }
    Ok(())
}

/// As OpenSSH comes, but for who may log in.
fn settings(directory: &Path, port: u16, user: &str) -> String {
    let mut text = format!("Port {port}\nListenAddress 127.0.0.1\nAllowUsers {user}\n");
    let _ = writeln!(text, "HostKey {}", directory.join("host").display());
    let _ = writeln!(text, "AuthorizedKeysFile {}", directory.join("id.pub").display());
    text.push_str(
        "PidFile none\nStrictModes no\nUsePAM no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n\
         PrintMotd no\nPrintLastLog no\nUseDNS no\nLogLevel ERROR\n",
    );
    let sftp =
        ["/usr/lib/openssh/sftp-server", "/usr/libexec/openssh/sftp-server", "/usr/libexec/sftp-server"];
    let sftp = sftp.iter().find(|path| Path::new(path).exists()).unwrap_or(&"internal-sftp");
    let _ = writeln!(text, "Subsystem sftp {sftp}");
    text
}

fn free_ports(count: usize) -> io::Result<Vec<u16>> {
    // All are held until the last is found, so that none is found twice.
    let listeners = (0..count).map(|_| TcpListener::bind("127.0.0.1:0")).collect::<io::Result<Vec<_>>>()?;
    listeners.iter().map(|listener| Ok(listener.local_addr()?.port())).collect()
}

fn keeper(
    directory: &Path,
    user: Option<&str>,
    group: Option<&Path>,
    servers: &[u32],
) -> Result<Child, String> {
    let mut keeper = Command::new("/bin/sh");
    keeper.args(["-c", KEEPER, "keeper"]).arg(directory).arg(user.unwrap_or_default());
    keeper.arg(group.unwrap_or(Path::new(""))).args(servers.iter().map(u32::to_string));
    keeper.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    keeper.spawn().map_err(|e| format!("`/bin/sh` cannot be started: {e}"))
}

fn unmade(error: &io::Error) -> String {
    format!("the hosts cannot be made: {error}")
}

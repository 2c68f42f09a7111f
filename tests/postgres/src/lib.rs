//! A real PostgreSQL for tests: made in a directory of its own, gone with the process that started it.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::fs;
use std::io;
use std::net::TcpListener;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// The password of every server: tests look for it where it must not be.
pub const PASSWORD: &str = "only-for-tests";

/// What to do where there is no PostgreSQL.
const MISSING: &str = "these tests need PostgreSQL: run `cargo xtask test`, which installs it, or on Debian \
                       `sudo apt-get install postgresql`";

/// A running server.
#[derive(Debug)]
pub struct Server {
    directory: TempDir,
    programs: PathBuf,
    port: u16,
    settings: Vec<String>,
    /// A shell that runs the server for as long as this process holds the other end of its input.
    keeper: Option<Child>,
    databases: AtomicUsize,
}

impl Server {
    /// The server that all tests of a process share.
    pub fn shared() -> &'static Server {
        static SERVER: OnceLock<Server> = OnceLock::new();
        SERVER.get_or_init(Server::start)
    }

    /// A server of one's own.
    #[must_use]
    pub fn start() -> Server {
        Server::start_with(|_| Vec::new())
    }

    /// A server with settings such as `ssl=on`. They may need files, which go into the directory that is given.
    #[must_use]
    pub fn start_with(settings: impl FnOnce(&Path) -> Vec<String>) -> Server {
        let programs = programs().expect(MISSING);
        let directory = tempfile::Builder::new().prefix("fleet-postgres-").tempdir().unwrap();
        let password = directory.path().join("password");
        fs::write(&password, PASSWORD).unwrap();
        let settings = settings(directory.path());
        if let Some((user, group)) = other_user() {
            for entry in fs::read_dir(directory.path()).unwrap() {
                chown(entry.unwrap().path(), Some(user), Some(group)).unwrap();
            }
            chown(directory.path(), Some(user), Some(group)).unwrap();
        }
        let mut server =
            Server { programs, port: 0, settings, keeper: None, databases: AtomicUsize::new(0), directory };
        let made = server
            .program("initdb")
            .arg("--pgdata")
            .arg(server.data())
            .args(["--no-sync", "--auth=scram-sha-256", "--username=fleet", "--encoding=UTF8", "--locale=C"])
            .arg("--pwfile")
            .arg(password)
            .output()
            .unwrap();
        assert!(made.status.success(), "initdb: {}", String::from_utf8_lossy(&made.stderr));
        server.run();
        server
    }

    /// The address of a new, empty database.
    pub fn database(&self) -> String {
        let name = format!("test_{}", self.databases.fetch_add(1, Ordering::Relaxed));
        self.sql("postgres", &format!("CREATE DATABASE {name}"));
        self.url(&name)
    }

    /// The address of a database.
    #[must_use]
    pub fn url(&self, database: &str) -> String {
        format!("postgres://fleet:{PASSWORD}@127.0.0.1:{}/{database}", self.port)
    }

    /// Runs SQL and returns what it prints, without decoration.
    pub fn sql(&self, database: &str, sql: &str) -> String {
        let mut psql = Command::new(self.programs.join("psql"));
        let args = ["--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--set=ON_ERROR_STOP=1"];
        let ran = psql.args(args).arg("--command").arg(sql).arg(self.url(database)).output().unwrap();
        assert!(ran.status.success(), "{sql}: {}", String::from_utf8_lossy(&ran.stderr));
        String::from_utf8(ran.stdout).unwrap().trim_end().to_owned()
    }

    /// Ends the server with a signal that it cannot notice, as if its machine had failed.
    pub fn kill(&mut self) {
        let pid = fs::read_to_string(self.data().join("postmaster.pid")).unwrap();
        let pid: i32 = pid.lines().next().unwrap().parse().unwrap();
        // Those who serve connections outlive it for a moment, in which they would still write.
        let serving = children(pid);
        for pid in std::iter::once(pid).chain(serving) {
            let killed = kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL);
            // One that had nothing to do may have ended by itself.
            assert!(matches!(killed, Ok(()) | Err(Errno::SRCH)), "{killed:?}");
        }
        // Waiting for it would end its input.
        let keeper = self.keeper.as_mut().unwrap();
        while keeper.try_wait().unwrap().is_none() {
            thread::sleep(Duration::from_millis(10));
        }
        self.keeper = None;
    }

    /// Starts it again, at the same address.
    pub fn restart(&mut self) {
        self.run();
    }

    fn data(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    /// Starts the server and waits until it answers.
    fn run(&mut self) {
        // A port that was free a moment ago may not be now, and processes of a killed server may linger.
        for _ in 0..100 {
            if self.databases.load(Ordering::Relaxed) == 0 {
                self.port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
            }
            let mut keeper = self.spawn().unwrap();
            loop {
                if keeper.try_wait().unwrap().is_some() {
                    break;
                }
                if self.answers() {
                    self.keeper = Some(keeper);
                    return;
                }
                thread::sleep(Duration::from_millis(20));
            }
            thread::sleep(Duration::from_millis(50));
        }
        let log = fs::read_to_string(self.directory.path().join("log")).unwrap_or_default();
        panic!("PostgreSQL does not start:\n{log}");
    }

    fn spawn(&self) -> io::Result<Child> {
        // Its input ends however this process ends, and then the server does, and its directory. A server that ends by
        // itself leaves the directory to those who want to start it again.
        let script = r#"directory=$1; shift; exec 3<&0
            "$@" </dev/null >>"$directory/log" 2>&1 3<&- & server=$!
            { read -r _ <&3; kill -QUIT $server; } & reader=$!
            exec 3<&-; wait $server; kill $reader || rm -rf "$directory""#;
        let mut keeper = self.as_user("sh");
        keeper.args(["-c", script, "keeper"]).arg(self.directory.path());
        keeper.arg(self.programs.join("postgres")).arg("-D").arg(self.data());
        keeper.arg("-p").arg(self.port.to_string()).arg("-k").arg(self.directory.path());
        keeper.args(["-h", "127.0.0.1"]);
        for setting in &self.settings {
            keeper.arg("-c").arg(setting);
        }
        keeper.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()
    }

    fn answers(&self) -> bool {
        let mut ready = Command::new(self.programs.join("pg_isready"));
        ready.args(["--quiet", "--host=127.0.0.1", "--port"]).arg(self.port.to_string());
        ready.status().unwrap().success()
    }

    fn release(&mut self) {
        if let Some(mut keeper) = self.keeper.take() {
            drop(keeper.stdin.take());
            keeper.wait().unwrap();
        }
    }

    fn program(&self, name: &str) -> Command {
        self.as_user(&self.programs.join(name).display().to_string())
    }

    /// PostgreSQL refuses to run as root.
    fn as_user(&self, program: &str) -> Command {
        let mut command = if other_user().is_some() {
            let mut command = Command::new("setpriv");
            command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups", program]);
            command
        } else {
            Command::new(program)
        };
        command.current_dir(self.directory.path());
        command
    }
}

/// The processes that a process started.
fn children(of: i32) -> Vec<i32> {
    let listed = Command::new("ps").args(["-A", "-o", "pid=,ppid="]).output().unwrap();
    let numbers = |line: &str| {
        let mut words = line.split_whitespace().map(str::parse::<i32>);
        Some((words.next()?.ok()?, words.next()?.ok()?))
    };
    let text = String::from_utf8_lossy(&listed.stdout);
    text.lines().filter_map(numbers).filter(|(_, parent)| *parent == of).map(|(pid, _)| pid).collect()
}

impl Drop for Server {
    fn drop(&mut self) {
        self.release();
    }
}

/// Where the programs of the newest version are.
fn programs() -> Option<PathBuf> {
    let debian = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut versions: Vec<(u32, PathBuf)> = debian
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin"))))
        .filter(|(_, bin)| bin.join("initdb").is_file())
        .collect();
    versions.sort();
    let on_path = || {
        let path = std::env::var_os("PATH")?;
        std::env::split_paths(&path).find(|directory| directory.join("initdb").is_file())
    };
    versions.pop().map(|(_, bin)| bin).or_else(on_path)
}

/// The user and group to run as, if we are root.
fn other_user() -> Option<(u32, u32)> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let users = fs::read_to_string("/etc/passwd").unwrap();
    let user = users.lines().find(|line| line.starts_with("postgres:")).expect(MISSING);
    let fields: Vec<&str> = user.split(':').collect();
    Some((fields[2].parse().unwrap(), fields[3].parse().unwrap()))
}

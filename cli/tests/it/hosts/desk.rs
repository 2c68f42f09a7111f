//! Machines behind real `sshd`, and a directory with a fleet of them.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use fleet_engine::host::Ledger;
use fleet_engine::state::State;
use fleet_store::Backend;
use fleet_test_sshd::Sshd;
use serde_json::Value as Json;
use tempfile::TempDir;

use super::tree::{Tree, tree};
use crate::laws::{Steps, steps};
use crate::support::{Ran, Site};

/// The name of the file that a test writes and edits.
pub(super) const MAIN: &str = "main.fleet.hcl";
/// The names of machines.
const NAMES: [&str; 4] = ["a", "b", "c", "d"];

/// A machine: a server, and the directory that stands for its disk.
///
/// Commands start with that directory opened, so that one `root` (`/proc/self/fd/9`) means another directory on every
/// machine, as it would on machines of their own.
pub(super) struct Machine {
    pub(super) name: String,
    pub(super) server: Sshd,
    root: TempDir,
}

/// A directory with a configuration, and the machines that it is for.
pub(super) struct Desk {
    pub(super) site: Site,
    pub(super) machines: Vec<Machine>,
    /// What stands in the fleet before its connection.
    slots: String,
    /// What stands in the fleet.
    inside: String,
    /// More settings of the connection.
    pub(super) connection: String,
}

/// The start of what a server runs for each command.
fn enter(root: &Path) -> String {
    let root = root.display();
    format!(
        "ForceCommand exec 9<{root} && PATH=/proc/self/fd/9/bin:{root}/bin:$PATH && export PATH && eval \"$SSH_ORIGINAL_COMMAND\""
    )
}

impl Machine {
    fn start(name: &str, key: &Path, notes: bool) -> Machine {
        let root = tempfile::Builder::new().prefix("fleet-disk-").tempdir().unwrap();
        for directory in ["etc", "opt", "var/tmp"] {
            fs::create_dir_all(root.path().join(directory)).unwrap();
        }
        let authorized = format!("AuthorizedKeysFile {}", key.with_extension("pub").display());
        let server = match notes {
            true => Sshd::start_noting(&[&authorized]),
            false => Sshd::start_with(&[&authorized, &enter(root.path())]),
        };
        Machine { name: name.to_owned(), server, root }
    }

    /// Its disk.
    pub(super) fn root(&self) -> &Path {
        self.root.path()
    }

    /// Where something lies on its disk.
    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.root.path().join(path.trim_start_matches('/'))
    }

    pub(super) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    pub(super) fn has(&self, path: &str) -> bool {
        self.path(path).symlink_metadata().is_ok()
    }

    /// All that is on its disk.
    pub(super) fn tree(&self) -> Tree {
        tree(self.root.path())
    }

    /// What its ledger says.
    pub(super) fn ledger(&self) -> Option<Ledger> {
        Ledger::parse(&fs::read(self.path("var/tmp/fleet/ledger")).ok()?)
    }

    /// The slot that holds it, if one does.
    pub(super) fn slot(&self) -> Option<String> {
        self.ledger().map(|ledger| ledger.slot)
    }
}

impl Desk {
    /// So many machines, called `a`, `b`, `c`, `d` or `m0`, `m1` and so on, in a fleet of that size.
    pub(super) fn of(machines: usize, inside: &str) -> Desk {
        Desk::made(machines, inside, false)
    }

    /// One machine, which notes what arrives. Its disk is wherever `root` says.
    pub(super) fn noting(inside: &str) -> Desk {
        Desk::made(1, inside, true)
    }

    fn made(count: usize, inside: &str, notes: bool) -> Desk {
        let site = Site::empty();
        let key = site.path().join("key");
        let mut keygen = Command::new("ssh-keygen");
        keygen.args(["-q", "-t", "ed25519", "-N", "", "-C", "test", "-f"]).arg(&key);
        assert!(keygen.status().unwrap().success());
        let names = (0..count).map(|at| match count > NAMES.len() {
            true => format!("m{at}"),
            false => NAMES[at].to_owned(),
        });
        let names: Vec<String> = names.collect();
        let machines = thread::scope(|scope| {
            let key = &key;
            let starting: Vec<_> =
                names.iter().map(|name| scope.spawn(move || Machine::start(name, key, notes))).collect();
            starting.into_iter().map(|it| it.join().unwrap()).collect()
        });
        let (slots, inside) = (format!("size = {count}"), inside.to_owned());
        let desk = Desk { site, machines, slots, inside, connection: String::new() };
        desk.write();
        desk
    }

    /// The same with an end to it: `size = 2`, or `hosts = ["a"]`.
    pub(super) fn slots(&mut self, slots: &str) {
        slots.clone_into(&mut self.slots);
        self.write();
    }

    /// Puts something else in the fleet.
    pub(super) fn inside(&mut self, inside: &str) {
        inside.clone_into(&mut self.inside);
        self.write();
    }

    /// The pool.
    pub(super) fn pool(&self) -> String {
        let mut text = "pool \"static\" \"desk\" {\n".to_owned();
        for machine in &self.machines {
            let (name, port) = (&machine.name, machine.server.port());
            writeln!(text, "  host \"{name}\" {{\n    address = \"127.0.0.1\"\n    port    = {port}\n  }}")
                .unwrap();
        }
        text + "}\n"
    }

    /// How machines are reached.
    pub(super) fn connection(&self) -> String {
        let Desk { connection, .. } = self;
        let root = match connection.contains("root ") {
            true => "",
            false => "    root = \"/proc/self/fd/9\"\n",
        };
        format!(
            "  connection \"ssh\" {{\n    config = \"/dev/null\"\n    identity = secret.key\n{root}    {connection}\n  }}\n"
        )
    }

    /// Writes the configuration.
    pub(super) fn write(&self) {
        let Desk { slots, inside, .. } = self;
        let (pool, connection) = (self.pool(), self.connection());
        let text = format!(
            "secret \"key\" {{\n  from = \"file:key\"\n}}\n{pool}\nfleet \"desk\" {{\n  pool = pool.desk\n  {slots}\n  \
             hostname = \"desk-${{host.key}}\"\n{connection}{inside}\n}}\n"
        );
        self.site.write(MAIN, &text);
    }

    pub(super) fn machine(&self, name: &str) -> &Machine {
        self.machines.iter().find(|machine| machine.name == name).unwrap()
    }

    pub(super) fn machine_mut(&mut self, name: &str) -> &mut Machine {
        self.machines.iter_mut().find(|machine| machine.name == name).unwrap()
    }

    /// Runs a command that changes things, without asking.
    pub(super) fn run(&self, command: &str, options: &[&str]) -> Ran {
        let words: Vec<&str> = [command, "--auto-approve"].iter().chain(options).copied().collect();
        self.site.fleet_words(&words)
    }

    #[track_caller]
    pub(super) fn apply(&self) -> String {
        self.run("apply", &[]).ok()
    }

    #[track_caller]
    pub(super) fn apply_with(&self, options: &[&str]) -> String {
        self.run("apply", options).ok()
    }

    /// The steps of a plan, by address.
    #[track_caller]
    pub(super) fn steps(&self, options: &[&str]) -> Steps {
        let words: Vec<&str> = ["plan", "--json"].iter().chain(options).copied().collect();
        let plan: Json = serde_json::from_str(&self.site.fleet_words(&words).ok()).unwrap();
        steps(&plan)
    }

    /// A plan does exactly this; what stands in the one slot of the fleet may be named without it.
    #[track_caller]
    pub(super) fn check_plan(&self, options: &[&str], expected: &[(&str, &str)]) {
        let name = |name: &str| match name.starts_with("fleet.") {
            true => name.to_owned(),
            false => format!("fleet.desk[0].{name}"),
        };
        let expected: Steps = expected.iter().map(|(a, what)| (name(a), (*what).to_owned())).collect();
        assert_eq!(self.steps(options), expected);
    }

    /// There is nothing to do.
    #[track_caller]
    pub(super) fn check_converged(&self) {
        let text = self.site.fleet(["plan"]).ok();
        assert_eq!(text.lines().last(), Some("No changes."), "{text}");
    }

    /// What fleet remembers.
    pub(super) fn state(&self) -> State {
        state(&self.site)
    }

    /// The slots that machines are held by, in the order of machines.
    pub(super) fn held(&self) -> Vec<Option<String>> {
        self.machines.iter().map(Machine::slot).collect()
    }
}

/// What fleet remembers in a directory.
pub(super) fn state(site: &Site) -> State {
    let backend = Backend::Sqlite(site.path().join(".fleet/state.db"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(fleet_store::read(&backend)).unwrap()
}

//! A vendor with Macs, and directories with configurations for them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use fleet_cli::Exit;
use fleet_engine::host::{Holding, Ledger};
use fleet_engine::state::State;
use fleet_lab::clock::Pace;
use fleet_lab::log::Entry;
use fleet_lab::mac::Macs;
use fleet_lab::scaleway::{Operation, Seconds, Server};
use fleet_lab::{Lab, Options};
use fleet_store::{Backend, DEFAULT_PATH};
use tempfile::TempDir;

use crate::support::{Ran, Site};

/// How many times as fast as here time goes by for the vendor: it installs a Mac in one to three seconds.
const SPEED: f64 = 300.0;

/// The times of the protocol, in proportion.
const TIMES: &str =
    r#"{ settle = "1s", delay = "1s", check_lifetime = "600ms", hold = "2s", poll = "100ms" }"#;

/// A late request takes effect so much later: within what the protocol is told to reckon with.
pub(super) const LATE: Duration = Duration::from_millis(300);

/// A vendor with Macs that are all free at first.
pub(super) struct World {
    pub(super) lab: Lab,
    _tools: TempDir,
}

/// A directory with the example in it, and a state of its own.
pub(super) struct Runners<'w> {
    pub(super) world: &'w World,
    pub(super) site: Site,
    /// What the names of its hosts start with.
    pub(super) env: String,
}

/// What the vendor and the machine itself say of a server.
#[derive(Debug)]
pub(super) struct Account {
    pub(super) server: Server,
    pub(super) ledger: Option<Ledger>,
}

impl World {
    pub(super) fn of(macs: usize) -> World {
        let tools = tempfile::Builder::new().prefix("tools-").tempdir().unwrap();
        let factory = Macs::new(Path::new(env!("CARGO_BIN_EXE_fleet")), tools.path()).unwrap();
        let options =
            Options { macs, pace: Pace::Times(SPEED), factory: Arc::new(factory), ..Options::default() };
        World { lab: Lab::start(options).unwrap(), _tools: tools }
    }

    /// Somebody who wants Macs of it for the runners of the example.
    pub(super) fn runners(&self) -> Runners<'_> {
        let site = Site::empty();
        let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/fleets/scaleway-runners");
        site.write("main.fleet.hcl", &fs::read_to_string(example.join("main.fleet.hcl")).unwrap());
        Runners { world: self, site, env: "staging".into() }
    }

    /// All servers, by name.
    pub(super) fn accounts(&self) -> BTreeMap<String, Account> {
        let of = |server: Server| {
            let root = self.lab.directory().join("machines").join(&server.id).join("root");
            let ledger = fs::read(root.join("var/tmp/fleet/ledger")).ok();
            let ledger = ledger.map(|content| Ledger::parse(&content).unwrap());
            (server.name.clone(), Account { server, ledger })
        };
        let servers = self.lab.servers();
        let n_servers = servers.len();
        let accounts: BTreeMap<_, _> = servers.into_iter().map(of).collect();
        assert_eq!(accounts.len(), n_servers, "no two have the same name: {accounts:#?}");
        accounts
    }

    /// The books balance: these names are held by whoever should hold them, and every other server is free.
    #[track_caller]
    pub(super) fn check_books(&self, held: &BTreeMap<String, String>, story: &str) {
        let accounts = self.accounts();
        for (name, slot) in held {
            let account = accounts.get(name).unwrap_or_else(|| panic!("{story}: no {name}: {accounts:#?}"));
            let ledger = account.ledger.as_ref().unwrap_or_else(|| panic!("{story}: {account:#?}"));
            assert!(ledger.slot == *slot && ledger.state == Holding::Owned, "{story}: {account:#?}");
        }
        for (name, account) in accounts.iter().filter(|(name, _)| !held.contains_key(*name)) {
            assert!(name.starts_with("pool-") && account.ledger.is_none(), "{story}: {account:#?}");
        }
        assert!(self.lab.troubles().is_empty(), "{story}: {:?}", self.lab.troubles());
    }

    /// The requests to change something that came after one with this number.
    pub(super) fn writes_after(&self, number: u64) -> Vec<Entry> {
        let is_write = |entry: &Entry| {
            entry.number > number && entry.operation.is_some_and(|operation| !operation.reads())
        };
        self.lab.requests().into_iter().filter(is_write).collect()
    }

    /// How many requests came so far.
    pub(super) fn n_requests(&self) -> u64 {
        self.lab.requests().len() as u64
    }

    /// So many hosts were installed anew, once each.
    #[track_caller]
    pub(super) fn check_installs(&self, n_hosts: usize, story: &str) {
        let again: Vec<u32> =
            self.lab.servers().iter().map(|server| server.installs - 1).filter(|n| *n > 0).collect();
        assert_eq!(again, vec![1; n_hosts], "{story}");
    }

    /// Whether nobody took two hosts for one slot, no host was given two names, and none was installed twice between
    /// one claim and the next: for all that happened since a world without owners. Says how many claims there were.
    #[track_caller]
    pub(super) fn check_log(&self, story: &str) -> usize {
        let mut owned: BTreeMap<String, String> = BTreeMap::new();
        let mut installed: BTreeSet<String> = BTreeSet::new();
        let mut n_claims = 0;
        let mut effects: Vec<Entry> = self.writes_after(0);
        effects.retain(|entry| entry.effect_at.is_some());
        effects.sort_by_key(|entry| entry.effect_at);
        for entry in effects {
            let Some(server) = entry.server.clone() else { continue };
            match (entry.operation, entry.body["name"].as_str()) {
                (Some(Operation::ReinstallServer), _) => {
                    assert!(installed.insert(server), "{story}: a second installation: {entry:?}");
                }
                (_, Some(name)) if name.starts_with("pool-") => {
                    owned.retain(|_, owner| *owner != server);
                }
                (_, Some(name)) if !name.starts_with("returning-") => {
                    let before = owned.insert(name.to_owned(), server.clone());
                    assert!(
                        before.is_none_or(|before| before == server),
                        "{story}: a second host for one slot: {entry:?}"
                    );
                    let n_names = owned.values().filter(|owner| **owner == server).count();
                    assert_eq!(n_names, 1, "{story}: a second name: {entry:?}");
                    installed.remove(&server);
                    n_claims += 1;
                }
                _ => {}
            }
        }
        n_claims
    }
}

impl Runners<'_> {
    /// A run of `fleet` that is not started yet.
    pub(super) fn command(&self, args: &[&str]) -> Command {
        let description = self.world.lab.description();
        let mut command = Command::new(env!("CARGO_BIN_EXE_fleet"));
        command
            .args(args)
            .env_clear()
            .env("HOME", self.site.path())
            .envs(&description.environment)
            .env("FLEET_VAR_key", &description.identity)
            .env("FLEET_VAR_ssh_config", &description.ssh_config)
            .env("FLEET_VAR_times", TIMES)
            .env("FLEET_VAR_env", &self.env)
            .current_dir(self.site.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    pub(super) fn run(&self, args: &[&str]) -> Ran {
        ran(self.command(args).output().unwrap())
    }

    pub(super) fn plan(&self, size: usize) -> Ran {
        self.run(&["plan", "--var", &format!("size={size}")])
    }

    /// Makes it so many runners.
    pub(super) fn apply(&self, size: usize) -> Ran {
        self.run(&["apply", "--auto-approve", "--var", &format!("size={size}")])
    }

    pub(super) fn destroy(&self) -> Ran {
        self.run(&["destroy", "--auto-approve"])
    }

    /// So many slots, by the names of their hosts.
    pub(super) fn slots(&self, size: usize) -> BTreeMap<String, String> {
        let slot = |at| (format!("{}-runner-{at}", self.env), format!("fleet.runners[{at}]"));
        (0..size).map(slot).collect()
    }

    /// All is as declared: so many runners, every other server free, and nothing left to do or to find out.
    #[track_caller]
    pub(super) fn check(&self, size: usize, story: &str) {
        if size > 0 {
            let planned = self.plan(size);
            let is_empty = planned.stdout.starts_with("No changes.");
            assert!(planned.exit == Exit::Done && is_empty, "{story}: {planned:?}");
        }
        self.world.check_books(&self.slots(size), story);
        let State { recorded, deposed, intents, .. } = self.state();
        assert!(deposed.is_empty() && intents.is_empty(), "{story}: {intents:?}");
        assert!(size > 0 || recorded.is_empty(), "{story}: {recorded:?}");
    }

    pub(super) fn state(&self) -> State {
        let backend = Backend::Sqlite(self.site.path().join(DEFAULT_PATH));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(fleet_store::read(&backend)).unwrap()
    }
}

/// What a process printed, and how it ended.
pub(super) fn ran(output: std::process::Output) -> Ran {
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let exit = match output.status.code() {
        Some(0) => Exit::Done,
        Some(1) => Exit::Failed,
        other => panic!("it ended with {other:?}: {}", text(output.stderr)),
    };
    Ran { exit, stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// So long here, in the vendor's time.
pub(super) fn there(duration: Duration) -> Seconds {
    Seconds(duration.mul_f64(SPEED))
}

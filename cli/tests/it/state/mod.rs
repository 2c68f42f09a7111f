//! The state at the command line, on both databases: looked at, put right, shared, lost and found again.
//!
//! 1. [`settings`]: where the state is
//! 2. [`records`], [`documents`], [`history`], [`output`]: the commands
//! 3. [`locks`]: one writes at a time, and the dead are inherited from
//! 4. [`loss`], [`disk`]: databases that go away, fill up or must not be written

mod disk;
mod documents;
mod history;
mod locks;
mod loss;
mod output;
mod records;
mod settings;

use std::process::{Child, Command};

use fleet_engine::state::State;
use fleet_store::Backend;
use fleet_test_postgres::Server;
use fleet_test_provider::{Operation, World};

use crate::child::finish;
use crate::support::{Ran, Site};

/// A site with a world, and its state in one of the two databases.
pub(super) struct Kept {
    pub(super) site: Site,
    pub(super) world: World,
    pub(super) backend: Backend,
}

/// Some servers, named by their index.
pub(super) fn servers(count: usize) -> String {
    format!("resource \"test_server\" \"a\" {{\n  count = {count}\n  name  = \"a-${{count.index}}\"\n}}\n")
}

/// The settings for a state of that name in PostgreSQL. Secrets are in files beside.
pub(super) fn postgres_settings(name: &str) -> String {
    format!(
        "settings {{\n  backend \"postgres\" {{\n    url      = secret.database\n    name     = \"{name}\"\n    \
         patience = \"3s\"\n  }}\n  digest_key = secret.digest_key\n}}\n\
         secret \"database\" {{\n  from = \"file:database.url\"\n}}\n\
         secret \"digest_key\" {{\n  from = \"file:digest.key\"\n}}\n"
    )
}

impl Kept {
    pub(super) fn sqlite(text: &str) -> Kept {
        let (site, world) = (Site::empty(), World::start());
        site.write("world.fleet.hcl", &world.configuration());
        site.write("main.fleet.hcl", text);
        let backend = Backend::Sqlite(site.path().join(".fleet/state.db"));
        Kept { site, world, backend }
    }

    pub(super) fn postgres(text: &str) -> Kept {
        Kept::at(Server::shared().database(), text)
    }

    /// In the database of that address.
    pub(super) fn at(url: String, text: &str) -> Kept {
        let kept = Kept::sqlite(text);
        kept.site.write("settings.fleet.hcl", &postgres_settings("site"));
        kept.site.write("database.url", &format!("{url}\n"));
        kept.site.write("digest.key", "0123456789abcdef0123456789abcdef");
        let recovery = kept.site.path().join(".fleet");
        Kept { backend: Backend::Postgres { url, name: "site".into(), recovery }, ..kept }
    }

    pub(super) fn fleet<const N: usize>(&self, args: [&str; N]) -> Ran {
        self.site.fleet(args)
    }

    #[track_caller]
    pub(super) fn apply(&self) -> String {
        self.fleet(["apply", "--auto-approve"]).ok()
    }

    pub(super) fn state(&self) -> State {
        block_on(fleet_store::read(&self.backend)).unwrap()
    }

    /// The names of all servers there are.
    pub(super) fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.world.servers().into_iter().map(|server| server.name).collect();
        names.sort();
        names
    }

    /// Starts an apply that stands still: so many servers are being made, and the world does not answer.
    pub(super) fn stuck(&self, at_once: usize) -> Child {
        self.world.hold(Operation::Create);
        let parallelism = at_once.to_string();
        let before = self.world.calls(Operation::Create);
        let child = self.site.spawn([
            "apply",
            "--auto-approve",
            "--parallelism",
            &parallelism,
            "--json-into",
            "events.jsonl",
        ]);
        self.world.until(|seen| {
            seen.calls.get(&Operation::Create).copied().unwrap_or_default() == before + at_once
        });
        child
    }

    /// Another apply makes what is missing, nothing is there twice and nothing is forgotten.
    #[track_caller]
    pub(super) fn check_converges(&self, count: usize) -> Ran {
        self.world.release();
        self.world.until(|seen| seen.in_flight == 0);
        let ran = self.fleet(["apply", "--auto-approve"]);
        assert_eq!(ran.exit, fleet_cli::Exit::Done, "{}{}", ran.stdout, ran.stderr);
        assert_eq!(self.names(), (0..count).map(|i| format!("a-{i}")).collect::<Vec<_>>());
        let state = self.state();
        assert_eq!((state.recorded.len(), state.intents.len()), (count, 0));
        assert_eq!(self.fleet(["plan"]).ok(), "No changes.\n");
        ran
    }
}

/// Runs a test on both databases.
pub(super) fn on_both(text: &str, test: impl Fn(&Kept)) {
    test(&Kept::sqlite(text));
    test(&Kept::postgres(text));
}

pub(super) fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

/// Sends a signal to a process.
#[track_caller]
pub(super) fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args(["-s", name, &child.id().to_string()]).status();
    assert!(sent.unwrap().success());
}

/// Waits for a process that must fail with 1; what it printed.
#[track_caller]
pub(super) fn failed(child: Child) -> (String, String) {
    let output = finish(child);
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let (stdout, stderr) = (text(output.stdout), text(output.stderr));
    assert_eq!(output.status.code(), Some(1), "{stdout}{stderr}");
    (stdout, stderr)
}

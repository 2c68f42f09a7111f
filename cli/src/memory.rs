//! The state, as commands reach it, and what they say when they cannot.

use std::error::Error as _;
use std::io::Write as _;
use std::time::{Duration, SystemTime};

use fleet_engine::secret::{Malformed, Source};
use fleet_engine::state::{State, Store, StoreError, StoreErrorKind, Write};
use fleet_store::{Database, Document, Holder, Lease, OpenError};
use futures_util::future::join_all;
use tokio::runtime::Runtime;

use crate::configuration::{Configuration, VariableArgs};
use crate::secrets::{Missing, Vault, Wanted};
use crate::settings::{self, Place};
use crate::{Env, Failure, diagnostics};

/// The state of a site, without the rest of it: all that commands need which touch nothing else.
pub(crate) struct Memory {
    pub(crate) place: Place,
    pub(crate) runtime: Runtime,
    vault: Vault,
}

/// How long to wait for others.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(crate) struct LockArgs {
    /// How long to wait for the lock of the state, such as `5m`
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration)]
    lock_timeout: Option<Duration>,
}

impl Memory {
    /// Finds out where the state is; `None` if that cannot be told, which was said. What is wrong with other parts of
    /// the configuration does not matter.
    pub(crate) fn find(env: &mut Env, variables: &VariableArgs) -> Result<Option<Memory>, Failure> {
        let mut configuration = Configuration::load(env);
        if settings::may_be_hidden(&configuration) {
            diagnostics::report(env, &configuration.diagnostics, &configuration.sources)?;
            let failure = Failure::new("with these mistakes it cannot be told where the state is kept");
            return Err(failure.help("mend the configuration as far as its `settings`; nothing was done"));
        }
        configuration.diagnostics.clear();
        configuration.read_known_values(env, variables);
        let vault = Vault::new(env, Wanted::All);
        let Some(told) = settings::read(&mut configuration, &env.providers(), &vault, &env.cwd) else {
            diagnostics::report(env, &configuration.diagnostics, &configuration.sources)?;
            return Ok(None);
        };
        Ok(Some(Memory { place: told.place, runtime: runtime()?, vault }))
    }

    /// The state as it is now. Takes no lock and leaves no trace.
    pub(crate) fn read(&self) -> Result<State, Failure> {
        self.runtime.block_on(fleet_store::read(&self.place.backend)).map_err(|e| failure(&e))
    }

    /// The state with all that belongs to it. Takes no lock and leaves no trace.
    pub(crate) fn document(&self) -> Result<Document, Failure> {
        self.runtime.block_on(Document::read(&self.place.backend)).map_err(|e| failure(&e))
    }

    /// Opens the state for writing.
    pub(crate) fn open(&self, env: &mut Env, command: &str, lock: LockArgs) -> Result<Database, Failure> {
        let database = self.runtime.block_on(open(env, &self.place, command, lock))?;
        if let Some(told) = recovered(&database) {
            writeln!(env.stderr, "{told}")?;
        }
        Ok(database)
    }

    /// The state as it is now, of one who holds the lock.
    pub(crate) fn read_locked(&self, database: &Database) -> Result<State, Failure> {
        self.runtime.block_on(database.read()).map_err(|e| failure(&e))
    }

    /// Writes all of it; those that wait at the same time share a commit.
    pub(crate) fn write_all(&self, database: &Database, writes: Vec<Write>) -> Result<(), Failure> {
        let waiting = join_all(writes.into_iter().map(|write| database.write(write)));
        let outcomes: Result<Vec<()>, _> = self.runtime.block_on(waiting).into_iter().collect();
        outcomes.map(drop).map_err(|e| {
            let failure = chained(&e, "only a part of it may have been done");
            failure.help("run the same command again: it goes on with what is left")
        })
    }

    /// Closes the state.
    pub(crate) fn close(&self, database: Database) -> Result<(), Failure> {
        let closed = self.runtime.block_on(database.close(fleet_store::Summary::default()));
        closed.map_err(|e| unclosed(&e))
    }

    /// A secret from a place, as `secret` blocks name it.
    pub(crate) fn secret(&self, from: &str) -> Result<String, Failure> {
        let source = from.parse::<Source>().map_err(|Malformed { detail, help, .. }| {
            Failure::new(format!("`{from}` is no source of a secret: {detail}")).help(help)
        })?;
        self.vault.fetch(&source).map(|got| got.value).map_err(|Missing { why, help }| {
            let failure = Failure::new(format!("cannot get a secret from `{from}`: {why}"));
            help.into_iter().fold(failure, Failure::help)
        })
    }
}

/// The runtime that commands wait on.
pub(crate) fn runtime() -> Result<Runtime, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| Failure::of("the runtime cannot be started", &error))
}

/// Opens the state for writing.
pub(crate) async fn open(
    env: &Env,
    place: &Place,
    command: &str,
    lock: LockArgs,
) -> Result<Database, Failure> {
    let holder = Holder::of_process(command, |name| env.var(name).map(Into::into));
    let opened = Database::open_patiently(&place.backend, &holder, lock.lock_timeout, place.patience).await;
    opened.map_err(|error| match error {
        OpenError::Held(lease) => held(&lease),
        OpenError::Store(error) => failure(&error),
    })
}

/// What is told of steps that an earlier run could only write down beside the database.
pub(crate) fn recovered(database: &Database) -> Option<String> {
    let steps = match database.recovered() {
        0 => return None,
        1 => "1 step".to_owned(),
        n => format!("{n} steps"),
    };
    Some(format!("settled {steps} of an earlier run, which had lost the state, from its recovery file"))
}

/// The failure to read or open a state.
pub(crate) fn failure(error: &StoreError) -> Failure {
    let failure = chained(error, "nothing was done");
    match error.kind {
        StoreErrorKind::Lost => failure.help("see that the database runs and can be reached, and run again"),
        StoreErrorKind::ReadOnly => failure.help("make the file and its directory writable for you"),
        StoreErrorKind::Full => failure.help("free some room, and run again"),
        StoreErrorKind::Fenced => failure.help("`fleet lock status` says who has the lock now"),
        StoreErrorKind::Damaged => failure.help(
            "put a copy of it back, or move it away: without it nothing is destroyed, what can be found is recorded \
             again, and `fleet import` takes in the rest",
        ),
        StoreErrorKind::Other => failure,
    }
}

/// The failure to go on with a state that was lost half-way. What was done is said beside.
pub(crate) fn stopped(error: &StoreError) -> Failure {
    let failure = chained(error, "the run has stopped");
    let kept = error.recovery.as_ref().map(|file| format!("leave `{file}` where it is"));
    let first = match error.kind {
        StoreErrorKind::Lost => Some("bring the database back".to_owned()),
        StoreErrorKind::Full => Some("free some room".to_owned()),
        StoreErrorKind::ReadOnly => Some("make it writable".to_owned()),
        StoreErrorKind::Fenced => Some("see `fleet lock status` and `fleet state history`".to_owned()),
        StoreErrorKind::Damaged => Some("put a copy of it back".to_owned()),
        StoreErrorKind::Other => None,
    };
    let next = "run again: what was under way is settled first";
    let steps: Vec<String> = first.into_iter().chain(kept).chain([next.to_owned()]).collect();
    failure.help(steps.join(", "))
}

/// The failure to close a state that has everything in it.
pub(crate) fn unclosed(error: &StoreError) -> Failure {
    let failure = chained(error, "everything is recorded, but the lock could not be given back");
    failure.help("it runs out by itself within a minute; `fleet lock status` says when")
}

/// Somebody else is writing.
fn held(lease: &Lease) -> Failure {
    let summary = format!("the state is locked by {} since {}", lease.holder, moment(lease.since));
    Failure::new(format!("{summary}; nothing was done")).help(
        "wait for it with `--lock-timeout 5m`; see `fleet lock status`, and only if that process is certainly gone, \
         take the lock away with `fleet lock release`",
    )
}

/// A moment, and how long ago it was.
pub(crate) fn moment(then: SystemTime) -> String {
    let ago = SystemTime::now().duration_since(then).unwrap_or_default();
    let ago = humantime::format_duration(Duration::from_secs(ago.as_secs()));
    format!("{} ({ago} ago)", humantime::format_rfc3339_seconds(then))
}

fn chained(error: &StoreError, what: &str) -> Failure {
    let mut summary = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        summary = format!("{summary}: {error}");
        cause = error.source();
    }
    Failure::new(format!("{summary}; {what}"))
}

//! The store on both databases, which must behave alike.

mod documents;
mod durability;
mod formats;
mod laws;
mod locks;
mod loss;
mod proxy;
mod reading;
mod tls;

use std::future::poll_fn;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;

use fleet_engine::address::{Address, Target};
use fleet_engine::provider::Session;
use fleet_engine::resource::BoxFuture;
use fleet_engine::state::{Intent, Object, Operation, Recorded, Store, StoreError, Write};
use fleet_lang::Value;
use fleet_test_postgres::Server;
use tempfile::TempDir;

use crate::{Backend, Database, Holder, OpenError, Summary};

/// A place for a state that goes with the test.
struct Place {
    directory: TempDir,
    backend: Backend,
}

impl Place {
    fn sqlite() -> Place {
        let directory = tempfile::tempdir().unwrap();
        let backend = Backend::Sqlite(directory.path().join(".fleet/state.db"));
        Place { directory, backend }
    }

    /// A database of its own.
    fn postgres() -> Place {
        Place::at(Server::shared().database())
    }

    fn at(url: String) -> Place {
        static NAMES: AtomicUsize = AtomicUsize::new(0);
        let directory = tempfile::tempdir().unwrap();
        let name = format!("site-{}", NAMES.fetch_add(1, Ordering::Relaxed));
        let backend = Backend::Postgres { url, name, recovery: directory.path().join(".fleet") };
        Place { directory, backend }
    }

    async fn open(&self) -> Database {
        Database::open(&self.backend, &holder(), None).await.unwrap()
    }

    async fn refused(&self) -> OpenError {
        Database::open(&self.backend, &holder(), None).await.unwrap_err()
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }
}

/// Runs a test on both.
async fn on_both(test: impl AsyncFn(Place)) {
    test(Place::sqlite()).await;
    test(Place::postgres()).await;
}

fn holder() -> Holder {
    Holder::of_process("fleet test", |_| None)
}

/// A holder whose process is not there any more.
fn dead_holder() -> Holder {
    let mut child = std::process::Command::new("true").spawn().unwrap();
    child.wait().unwrap();
    Holder { pid: child.id(), command: "fleet apply".into(), ..holder() }
}

async fn close(database: Database) {
    database.close(Summary::default()).await.unwrap();
}

fn address(text: &str) -> Address {
    Address::parse(text).unwrap()
}

fn current(text: &str) -> Object {
    Object::current(address(text))
}

fn record(content: &str) -> Recorded {
    Recorded {
        session: Session { alias: Some("other".into()), ..Session::of("core") },
        kind: "core_file".into(),
        version: 1,
        value: Value::object([("content".into(), content.into())].into()),
        sealed: [].into(),
        depends_on: [Target::parse("module.m[\"a.b\"].core_value.v").unwrap()].into(),
        create_before_destroy: false,
        epoch: None,
    }
}

fn begin(object: &str) -> Write {
    Write::Begin {
        object: current(object),
        intent: Intent { operation: Operation::Create, record: record("planned") },
    }
}

fn settle(object: &str, content: &str) -> Write {
    Write::Settle { object: current(object), recorded: Some(record(content)) }
}

/// Writes all at once, in this order.
async fn write_all(database: &Database, writes: Vec<Write>) -> Vec<Result<(), StoreError>> {
    let mut waiting: Vec<BoxFuture<'_, _>> = writes.into_iter().map(|write| database.write(write)).collect();
    let mut outcomes: Vec<Option<_>> = waiting.iter().map(|_| None).collect();
    poll_fn(|context| {
        for (future, outcome) in waiting.iter_mut().zip(&mut outcomes) {
            if outcome.is_none()
                && let Poll::Ready(ready) = future.as_mut().poll(context)
            {
                *outcome = Some(ready);
            }
        }
        if outcomes.iter().all(Option::is_some) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    outcomes.into_iter().flatten().collect()
}

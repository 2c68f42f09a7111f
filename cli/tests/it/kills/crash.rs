//! A crash on purpose: at one of the boundaries of a run everything stands still, and nothing is heard of it any more.

use std::future::pending;
use std::sync::{Arc, Mutex};

use fleet_engine::host::{Holder, Listed};
use fleet_engine::provider::{Journal, ReadBack, Session, Writer, Writers};
use fleet_engine::registry::Registry;
use fleet_engine::resource::{BoxFuture, Change, Error};
use fleet_engine::state::{State, Store, StoreError, Write};
use fleet_lang::Value;
use tokio::sync::Notify;

/// When a run crashes. Every write of the state and every side effect has two boundaries: before anything came of it,
/// and after it is done but before whoever asked for it hears of it.
#[derive(Clone)]
pub(super) struct Crash(Arc<Inner>);

struct Inner {
    at: usize,
    passed: Mutex<Vec<String>>,
    happened: Notify,
}

impl Crash {
    /// At the boundary of that number, counted from 1.
    pub(super) fn at(number: usize) -> Crash {
        Crash(Arc::new(Inner { at: number, passed: Mutex::default(), happened: Notify::new() }))
    }

    /// The run comes to its end.
    pub(super) fn never() -> Crash {
        Crash::at(usize::MAX)
    }

    /// Waits until it has happened.
    pub(super) async fn happened(&self) {
        self.0.happened.notified().await;
    }

    /// The boundaries that were reached; the last one is where it happened.
    pub(super) fn passed(&self) -> Vec<String> {
        self.0.passed.lock().unwrap().clone()
    }

    async fn pass(&self, when: &str, what: &str) {
        let stands = {
            let mut passed = self.0.passed.lock().unwrap();
            // Whoever comes after the crash stands still as well.
            if passed.len() < self.0.at {
                passed.push(format!("{when} {what}"));
            }
            passed.len() == self.0.at
        };
        if stands {
            self.0.happened.notify_one();
            pending::<()>().await;
        }
    }

    async fn around<T>(&self, what: String, work: impl Future<Output = T>) -> T {
        self.pass("before", &what).await;
        let done = work.await;
        self.pass("after", &what).await;
        done
    }
}

/// The state and the world, both behind the same crash.
pub(super) struct Fragile<'a> {
    pub(super) crash: &'a Crash,
    pub(super) state: &'a Mutex<State>,
    pub(super) providers: &'a Registry,
}

impl Store for Fragile<'_> {
    fn write(&self, write: Write) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            let what = words(&write);
            let work = async {
                let accepted = self.state.lock().unwrap().write(write);
                if accepted { Ok(()) } else { Err(StoreError::new("it contradicts what is there")) }
            };
            self.crash.around(what, work).await
        })
    }
}

impl Writers for Fragile<'_> {
    fn writer<'a>(
        &'a self,
        session: &'a Session,
        settings: &'a Value,
        holder: &'a Holder,
    ) -> BoxFuture<'a, Result<Arc<dyn Writer>, Error>> {
        Box::pin(async move {
            let writer = self.providers.writer(session, settings, holder).await?;
            Ok(Arc::new(FragileWriter { crash: self.crash.clone(), writer }) as Arc<dyn Writer>)
        })
    }
}

struct FragileWriter {
    crash: Crash,
    writer: Arc<dyn Writer>,
}

impl Writer for FragileWriter {
    fn apply<'a>(
        &'a self,
        kind: &'a str,
        wish: Value,
        change: Change<Value>,
        listed: Option<Listed>,
        journal: &'a dyn Journal,
    ) -> BoxFuture<'a, Result<(Value, ReadBack), Error>> {
        let what = if change == Change::Create { "create" } else { "update" };
        let work = self.writer.apply(kind, wish, change, listed, journal);
        Box::pin(self.crash.around(format!("the effect: {what} {kind}"), work))
    }

    fn destroy<'a>(
        &'a self,
        kind: &'a str,
        observed: Value,
        listed: Option<Listed>,
        journal: &'a dyn Journal,
    ) -> BoxFuture<'a, Result<ReadBack, Error>> {
        let work = self.writer.destroy(kind, observed, listed, journal);
        Box::pin(self.crash.around(format!("the effect: destroy {kind}"), work))
    }

    fn clear<'a>(
        &'a self,
        kind: &'a str,
        wish: Value,
        listed: Option<Listed>,
    ) -> BoxFuture<'a, Result<(), Error>> {
        let work = self.writer.clear(kind, wish, listed);
        Box::pin(self.crash.around(format!("the effect: clear {kind}"), work))
    }
}

/// A write in a few words.
fn words(write: &Write) -> String {
    match write {
        Write::Begin { object, intent } => format!("begin: {} {object}", intent.operation.word()),
        Write::Settle { object, recorded: Some(_) } => format!("settle: {object} is there"),
        Write::Settle { object, recorded: None } => format!("settle: {object} is gone"),
        Write::Withdraw { object } => format!("withdraw: {object}"),
        Write::Depose { address, number, .. } => format!("depose: {address} by number {number}"),
        Write::Move { from, to } => format!("move: {from} to {to}"),
        Write::Outputs(_) => "outputs".to_owned(),
        Write::Mark { host, .. } => format!("mark: {host}"),
    }
}

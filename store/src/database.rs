//! The state, open for writing.

use std::thread::JoinHandle;
use std::time::Duration;
use std::{fs, io};

use fleet_engine::resource::BoxFuture;
use fleet_engine::state::{State, Store, StoreError, Write};
use tokio::sync::{mpsc, oneshot};

use crate::failure::read_only;
use crate::lock::{Holder, OpenError};
use crate::writer::{self, Answer, Opened, Request};
use crate::{Backend, Document};

/// How long a run goes on trying to reach a database that was lost, unless told otherwise.
const PATIENCE: Duration = Duration::from_secs(30);

/// The state, open for writing: this process holds the lock.
///
/// A thread of its own writes, so that the lock is renewed whatever else the process does. All writes that wait at the
/// same time share a commit. Dropping it gives the lock back.
#[derive(Debug)]
pub struct Database {
    /// Gone when the database is closed.
    queue: Option<mpsc::UnboundedSender<Request>>,
    thread: Option<JoinHandle<()>>,
    opened: Opened,
    holder: Holder,
}

/// How a run ended, as the history of the state tells it. What was made, changed and removed is counted on the way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Steps that failed.
    pub failed: u64,
    /// Steps that were not begun, because of others or an interruption.
    pub skipped: u64,
    /// Steps whose outcome nobody knows.
    pub unknown: u64,
}

impl Database {
    /// Opens the state for writing, and makes it if it is not there. Waits for the lock for as long as told.
    pub async fn open(
        backend: &Backend,
        holder: &Holder,
        wait: Option<Duration>,
    ) -> Result<Database, OpenError> {
        Database::open_patiently(backend, holder, wait, PATIENCE).await
    }

    /// The same, and says how long to go on trying when the database is lost.
    pub async fn open_patiently(
        backend: &Backend,
        holder: &Holder,
        wait: Option<Duration>,
        patience: Duration,
    ) -> Result<Database, OpenError> {
        if let Backend::Sqlite(path) = backend
            && let Some(directory) = path.parent()
        {
            fs::create_dir_all(directory).map_err(|e| match e.kind() {
                io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                    read_only(backend, "open").because(e)
                }
                _ => backend.cannot("open").because(e),
            })?;
        }
        let (queue, requests) = mpsc::unbounded_channel();
        let (tell, opened) = oneshot::channel();
        let (ours, who) = (backend.clone(), holder.clone());
        let work = move || writer::run(ours, &who, wait, patience, tell, requests);
        let thread = std::thread::Builder::new().name("fleet-store".into()).spawn(work);
        let thread = thread.map_err(|e| backend.cannot("open").because(e))?;
        let opened = opened.await.map_err(|_| gone())??;
        Ok(Database { queue: Some(queue), thread: Some(thread), opened, holder: holder.clone() })
    }

    /// The state as it is now.
    pub async fn read(&self) -> Result<State, StoreError> {
        self.ask(Request::Read).await
    }

    /// The number that this holder of the lock has got; those before it had smaller ones.
    #[must_use]
    pub fn fence(&self) -> u64 {
        self.opened.fence
    }

    /// Who holds the lock.
    #[must_use]
    pub fn holder(&self) -> &Holder {
        &self.holder
    }

    /// How many steps of a run that had lost its database were settled from its recovery file.
    #[must_use]
    pub fn recovered(&self) -> usize {
        self.opened.recovered
    }

    /// Puts the state of a document in the place of what is there.
    pub async fn replace(&self, document: Document) -> Result<(), StoreError> {
        self.ask(|answer| Request::Replace(Box::new(document), answer)).await
    }

    /// Gives the lock back, completes the history, and waits until a file is whole on its own.
    pub async fn close(mut self, summary: Summary) -> Result<(), StoreError> {
        let closed = self.ask(|answer| Request::Close(summary, answer)).await;
        self.stop();
        closed
    }

    async fn ask<T>(&self, request: impl FnOnce(Answer<T>) -> Request) -> Result<T, StoreError> {
        let (tell, answer) = oneshot::channel();
        let queue = self.queue.as_ref().ok_or_else(gone)?;
        queue.send(request(tell)).map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    }

    fn stop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            // It has told its callers what went wrong.
            let _ = thread.join();
        }
    }
}

impl Store for Database {
    fn write(&self, write: Write) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(self.ask(|answer| Request::Write(write, answer)))
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        self.stop();
    }
}

fn gone() -> StoreError {
    StoreError::new("the state is closed")
}

//! The one that writes: a thread with a queue.

use std::time::Duration;

use fleet_engine::state::{State, StoreError, StoreErrorKind, Write};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::batch::{Author, Batch};
use crate::connection::{Arg, Connection};
use crate::database::Summary;
use crate::failure::of_sqlx;
use crate::lease::{self, Attempt, Grip, HEARTBEAT};
use crate::lock::{Holder, OpenError};
use crate::recovery::{self, Recovery};
use crate::rows::damaged;
use crate::sets::Sets;
use crate::{Backend, Document, format, read};

/// How many writes share a commit at most.
const TOGETHER: usize = 10_000;
/// How often one that waits for the lock asks again.
const ASK_AGAIN: Duration = Duration::from_millis(500);
/// How long PostgreSQL may take for one commit before it counts as lost.
const COMMIT: Duration = Duration::from_secs(30);
/// The first and the longest pause before another attempt to reach a lost database.
const PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// Where an answer goes.
pub(crate) type Answer<T> = oneshot::Sender<Result<T, StoreError>>;

/// What the writer is asked for.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "nearly all of them are writes")]
pub(crate) enum Request {
    Write(Write, Answer<()>),
    Read(Answer<State>),
    Replace(Box<Document>, Answer<()>),
    Close(Summary, Answer<()>),
}

/// What is told about a state that was opened.
#[derive(Clone, Debug)]
pub(crate) struct Opened {
    pub(crate) fence: u64,
    pub(crate) recovered: usize,
}

/// Opens the state, says so, and writes until nobody can ask for anything any more.
pub(crate) fn run(
    backend: Backend,
    holder: &Holder,
    wait: Option<Duration>,
    patience: Duration,
    tell: oneshot::Sender<Result<Opened, OpenError>>,
    requests: mpsc::UnboundedReceiver<Request>,
) {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            let _ = tell.send(Err(backend.cannot("open").because(error).into()));
            return;
        }
    };
    runtime.block_on(async {
        let waiting = || !tell.is_closed();
        match Writer::open(backend, holder, wait, patience, waiting).await {
            Err(error) => {
                let _ = tell.send(Err(error));
            }
            Ok((mut writer, opened)) => {
                if tell.send(Ok(opened)).is_ok() {
                    writer.serve(requests).await;
                } else {
                    // Whoever asked has gone away.
                    let _ = writer.close(None).await;
                }
            }
        }
    });
}

struct Writer {
    backend: Backend,
    /// None while a lost one was not made anew.
    connection: Option<Connection>,
    grip: Grip,
    sets: Sets,
    patience: Duration,
    /// Why nothing can be written any more.
    dead: Option<StoreError>,
    recovery: Recovery,
    /// When to renew the lock.
    beat: Instant,
}

/// Writes with those who wait for them.
type Waiting = Vec<(Write, Answer<()>)>;

impl Writer {
    async fn open(
        backend: Backend,
        holder: &Holder,
        wait: Option<Duration>,
        patience: Duration,
        waiting: impl Fn() -> bool,
    ) -> Result<(Writer, Opened), OpenError> {
        let mut connection = Connection::write(&backend).await?;
        format::ensure(&mut connection, &backend).await?;
        let until = wait.map(|wait| Instant::now() + wait);
        let grip = loop {
            let attempt = lease::acquire(&mut connection, backend.name(), holder).await;
            match attempt.map_err(|e| of_sqlx(&e, &backend, "lock"))? {
                Attempt::Got(grip) => break grip,
                Attempt::Held(lease) if !waiting() || until.is_none_or(|until| Instant::now() >= until) => {
                    return Err(OpenError::Held(lease));
                }
                Attempt::Held(_) => sleep(ASK_AGAIN).await,
            }
        };
        let recovery = Recovery::of(&backend, &grip);
        let mut writer = Writer {
            connection: Some(connection),
            sets: Sets::default(),
            patience,
            dead: None,
            recovery,
            beat: Instant::now() + HEARTBEAT,
            backend,
            grip,
        };
        let recovered = writer.recover().await?;
        let fence = u64::try_from(writer.grip.fence).unwrap_or_default();
        Ok((writer, Opened { fence, recovered }))
    }

    /// Settles what earlier runs could only write down beside the database.
    async fn recover(&mut self) -> Result<usize, StoreError> {
        let mut settled = 0;
        for file in recovery::files(&self.backend, &self.grip)? {
            let connection = self.connection.as_mut().expect("just opened");
            let writes = file.still_open(connection, &self.backend).await?;
            settled += writes.len();
            if !writes.is_empty() {
                self.commit(&writes.iter().collect::<Vec<_>>()).await?;
            }
            file.remove()?;
        }
        Ok(settled)
    }

    /// Answers until the state is closed or nobody is left to ask.
    async fn serve(&mut self, mut requests: mpsc::UnboundedReceiver<Request>) {
        loop {
            let request = tokio::select! {
                biased;
                () = sleep_until(self.beat) => {
                    self.renew().await;
                    continue;
                }
                request = requests.recv() => request,
            };
            let Some(mut request) = request else {
                // Dropped without a word. There is nobody to tell if this fails.
                let _ = self.close(None).await;
                return;
            };
            // Whatever waits by now shares the commit.
            let mut waiting = Waiting::new();
            let other = loop {
                match request {
                    Request::Write(write, answer) => waiting.push((write, answer)),
                    other => break Some(other),
                }
                if waiting.len() >= TOGETHER {
                    break None;
                }
                match requests.try_recv() {
                    Ok(next) => request = next,
                    Err(_) => break None,
                }
            };
            self.write(waiting).await;
            // Those who do not wait for their answer any more need none.
            match other {
                None | Some(Request::Write(..)) => {}
                Some(Request::Read(answer)) => drop(answer.send(self.read().await)),
                Some(Request::Replace(document, answer)) => drop(answer.send(self.replace(&document).await)),
                Some(Request::Close(summary, answer)) => {
                    drop(answer.send(self.close(Some(summary)).await));
                    return;
                }
            }
        }
    }

    /// Commits, and tells everybody what came of it.
    async fn write(&mut self, waiting: Waiting) {
        if waiting.is_empty() {
            return;
        }
        let outcome = self.commit(&waiting.iter().map(|(write, _)| write).collect::<Vec<_>>()).await;
        match outcome {
            // One that cannot be stored must not take the others with it.
            Err(error) if error.kind == StoreErrorKind::Other && waiting.len() > 1 => {
                for one in waiting {
                    let outcome = self.commit(&[&one.0]).await;
                    self.finish(vec![one], outcome);
                }
            }
            outcome => self.finish(waiting, outcome),
        }
    }

    fn finish(&mut self, waiting: Waiting, outcome: Result<(), StoreError>) {
        let outcome = outcome.map_err(|error| {
            let writes = waiting.iter().map(|(write, _)| write);
            self.recovery.keep(writes, error)
        });
        for (_, answer) in waiting {
            // Those who do not wait for their answer any more need none.
            let _ = answer.send(outcome.clone());
        }
    }

    /// Stores writes in one transaction; returns when they will survive a crash.
    async fn commit(&mut self, writes: &[&Write]) -> Result<(), StoreError> {
        let mut batch = Batch::default();
        let mut serial = self.grip.serial;
        for write in writes {
            serial += 1;
            let added = batch.add(write, serial, &mut self.sets);
            added.map_err(|e| self.backend.cannot("write").because(e))?;
        }
        self.store(&batch, serial, None).await?;
        self.sets.stored(batch.into_sets());
        Ok(())
    }

    /// Puts the state of a document in the place of what is there.
    async fn replace(&mut self, document: &Document) -> Result<(), StoreError> {
        let serial = i64::try_from(document.state.serial).map_err(|_| damaged("serial"))?;
        self.sets.forget();
        let batch = Batch::of_state(&document.state, &mut self.sets);
        let batch = batch.map_err(|e| self.backend.cannot("write").because(e))?;
        self.store(&batch, serial, Some(document)).await?;
        self.sets.stored(batch.into_sets());
        Ok(())
    }

    /// Sends a batch until it is known to be there, or cannot be.
    async fn store(
        &mut self,
        batch: &Batch,
        serial: i64,
        whole: Option<&Document>,
    ) -> Result<(), StoreError> {
        if let Some(error) = &self.dead {
            return Err(error.clone());
        }
        let until = Instant::now() + self.patience;
        let mut pause = PAUSE;
        let outcome = loop {
            match self.attempt(batch, serial, whole).await {
                Err(error) if self.may_return(&error) && Instant::now() + pause < until => {
                    self.connection = None;
                    sleep(pause).await;
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
                outcome => break outcome,
            }
        };
        match &outcome {
            Ok(()) => self.grip.serial = serial,
            Err(error) if matches!(error.kind, StoreErrorKind::Fenced | StoreErrorKind::Lost) => {
                self.dead = Some(error.clone());
            }
            Err(_) => {}
        }
        outcome
    }

    /// Whether another connection may work where this one failed.
    fn may_return(&self, error: &StoreError) -> bool {
        error.kind == StoreErrorKind::Lost && matches!(self.backend, Backend::Postgres { .. })
    }

    async fn attempt(
        &mut self,
        batch: &Batch,
        serial: i64,
        whole: Option<&Document>,
    ) -> Result<(), StoreError> {
        let Writer { backend, connection, grip, .. } = self;
        let work = async {
            let connection = match connection {
                Some(connection) => connection,
                None => {
                    let connection = connection.insert(Connection::write(backend).await?);
                    // The connection may have been cut after the commit and before we heard of it.
                    if standing(connection, backend, grip).await? == serial && serial != grip.serial {
                        return Ok(());
                    }
                    connection
                }
            };
            transact(connection, backend, grip, batch, serial, whole).await
        };
        let worked = match backend {
            Backend::Sqlite(_) => work.await,
            Backend::Postgres { .. } => timeout(COMMIT, work).await.unwrap_or_else(|_| {
                let error = backend.cannot("write").of_kind(StoreErrorKind::Lost);
                Err(error.because("the server does not answer"))
            }),
        };
        if worked.is_ok() && whole.is_some() {
            // The document may bring a number of its own.
            self.grip.fence = self.grip.fence.max(whole.map_or(0, Document::least_fence));
        }
        worked
    }

    async fn read(&mut self) -> Result<State, StoreError> {
        let connection = match &mut self.connection {
            Some(connection) => connection,
            none => none.insert(Connection::write(&self.backend).await?),
        };
        read::snapshot(connection, &self.backend).await
    }

    /// Renews the lock. A database that cannot be reached just now is left to the next write.
    async fn renew(&mut self) {
        self.beat = Instant::now() + HEARTBEAT;
        let Writer { backend, connection: Some(connection), grip, .. } = self else { return };
        let renewed = timeout(COMMIT, lease::renew(connection, backend.name(), grip.fence)).await;
        match renewed {
            Ok(Ok(true)) => {}
            Ok(Ok(false)) => self.dead = Some(fenced(backend)),
            Ok(Err(error)) => {
                let error = of_sqlx(&error, backend, "lock");
                if self.may_return(&error) {
                    self.connection = None;
                }
            }
            Err(_) => self.connection = None,
        }
    }

    /// Gives the lock back. Without a summary, the history does not tell how the run ended.
    async fn close(&mut self, summary: Option<Summary>) -> Result<(), StoreError> {
        let Writer { backend, connection, grip, dead, .. } = self;
        if let Some(error) = dead {
            // There is nothing to give back: the lease runs out, or is somebody else's.
            return Err(error.clone());
        }
        let failed = |e| of_sqlx(&e, backend, "close");
        let work = async {
            let mut connection = match connection.take() {
                Some(connection) => connection,
                None => Connection::write(backend).await?,
            };
            lease::give_back(&mut connection, backend.name(), grip, summary).await.map_err(failed)?;
            connection.close().await.map_err(failed)
        };
        timeout(COMMIT, work)
            .await
            .unwrap_or_else(|_| Err(backend.cannot("close").because("it takes too long")))
    }
}

/// The serial number of a state whose lock is ours.
async fn standing(connection: &mut Connection, backend: &Backend, grip: &Grip) -> Result<i64, StoreError> {
    let sql = "SELECT serial FROM states WHERE name = $1 AND fence = $2";
    let args = [Arg::Text(backend.name()), Arg::Int(grip.fence)];
    let rows = connection.rows(sql, &args).await.map_err(|e| of_sqlx(&e, backend, "read"))?;
    rows.first().map_or(Err(fenced(backend)), |row| crate::rows::column(row, 0))
}

async fn transact(
    connection: &mut Connection,
    backend: &Backend,
    grip: &Grip,
    batch: &Batch,
    serial: i64,
    whole: Option<&Document>,
) -> Result<(), StoreError> {
    let failed = |e| of_sqlx(&e, backend, "write");
    connection.begin().await.map_err(failed)?;
    let mut ours = true;
    let sent = async {
        let sql = "UPDATE states SET serial = $4 WHERE name = $1 AND fence = $2 AND serial = $3";
        let args = [Arg::Text(backend.name()), Arg::Int(grip.fence), Arg::Int(grip.serial), Arg::Int(serial)];
        ours = connection.run(sql, &args).await? == 1;
        if !ours {
            return Err(sqlx::Error::RowNotFound);
        }
        let mut author = Author { state: backend.name(), fence: grip.fence, run: &grip.run };
        if let Some(document) = whole {
            author.fence = document.take_place(connection, backend.name(), grip.fence).await?;
        }
        batch.send(connection, author).await
    }
    .await;
    match connection.end(sent).await {
        Ok(()) => Ok(()),
        Err(_) if !ours => {
            let standing = standing(connection, backend, grip).await?;
            let detail = format!("its serial number is {standing}, and {} was expected", grip.serial);
            Err(backend.cannot("write").because(detail))
        }
        Err(error) => Err(failed(error)),
    }
}

fn fenced(backend: &Backend) -> StoreError {
    StoreError::new(format!(
        "somebody else has taken over the lock of {backend}; nothing more is written to it"
    ))
    .of_kind(StoreErrorKind::Fenced)
}

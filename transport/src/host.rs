//! One host of a run: takes what is asked and what is to be done, and lets it travel together.

use std::sync::{Arc, Mutex, PoisonError};

use fleet_engine::host::probe::Line;
use fleet_engine::host::{Holder, Probe, Reach, Reply, Work};
use fleet_engine::resource::Error;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tracing::Instrument;

use crate::batch::{Asked, Doing, serve};
use crate::link::Shared;
use crate::session::Session;

/// So many works travel together at most.
const MOST_WORKS: usize = 200;
/// So many bytes travel together at most, give or take one work.
const MOST_BYTES: usize = 1 << 20;

/// A host.
pub(crate) struct Host {
    pub(crate) reach: Reach,
    shared: Arc<Shared>,
    inbox: Mutex<Inbox>,
    prefix: Arc<Mutex<String>>,
}

enum Inbox {
    Unopened,
    Open(UnboundedSender<Request>, JoinHandle<()>),
    Closed,
}

/// What is wanted of a host.
enum Request {
    Ask(Asked),
    Work(Box<Doing>),
    Line(oneshot::Sender<Result<Line, Error>>),
}

impl Host {
    pub(crate) fn new(reach: Reach, shared: Arc<Shared>) -> Host {
        Host { reach, shared, inbox: Mutex::new(Inbox::Unopened), prefix: Arc::default() }
    }

    pub(crate) async fn ask(&self, probes: Vec<Probe>) -> Vec<Result<Reply, Error>> {
        let count = probes.len();
        let (answer, answered) = oneshot::channel();
        self.send(Request::Ask(Asked::new(probes, answer)));
        answered.await.unwrap_or_else(|_| (0..count).map(|_| Err(closed())).collect())
    }

    pub(crate) async fn work(&self, work: Work, holder: Holder) -> Result<Reply, Error> {
        let (answer, answered) = oneshot::channel();
        self.send(Request::Work(Box::new(Doing::new(work, holder, answer))));
        answered.await.unwrap_or_else(|_| Err(closed()))
    }

    /// Connects, if nobody did, and says what the connection knows.
    pub(crate) async fn line(&self) -> Result<Line, Error> {
        let (answer, answered) = oneshot::channel();
        self.send(Request::Line(answer));
        answered.await.unwrap_or_else(|_| Err(closed()))
    }

    /// What stands before every path, as far as the host was asked.
    pub(crate) fn prefix(&self) -> String {
        self.prefix.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Ends the connection once all that was handed over is done.
    pub(crate) async fn close(&self) {
        let inbox = {
            let mut inbox = self.inbox.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *inbox, Inbox::Closed)
        };
        if let Inbox::Open(sender, task) = inbox {
            drop(sender);
            let _ = task.await;
        }
    }

    fn send(&self, request: Request) {
        let mut inbox = self.inbox.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(*inbox, Inbox::Unopened) {
            let (sender, receiver) = unbounded_channel();
            let session = Session::new(self.reach.clone(), self.shared.clone(), self.prefix.clone());
            let span = tracing::debug_span!("host", slot = &*self.reach.slot);
            *inbox = Inbox::Open(sender, tokio::spawn(run(session, receiver).instrument(span)));
        }
        // A request that nobody takes is answered as it is dropped.
        if let Inbox::Open(sender, _) = &*inbox {
            let _ = sender.send(request);
        }
    }
}

/// Serves a host until nobody can want anything of it any more.
async fn run(mut session: Session, mut inbox: UnboundedReceiver<Request>) {
    while let Some(first) = inbox.recv().await {
        // Whoever is about to ask in the same turn shall travel along.
        for _ in 0..3 {
            tokio::task::yield_now().await;
        }
        let (mut asks, mut works, mut lines, mut bytes) = (Vec::new(), Vec::new(), Vec::new(), 0);
        let mut next = Some(first);
        while let Some(request) = next.take() {
            match request {
                Request::Ask(asked) => {
                    bytes += asked.size();
                    asks.push(asked);
                }
                Request::Work(doing) => {
                    bytes += doing.size();
                    works.push(*doing);
                }
                Request::Line(answer) => lines.push(answer),
            }
            if works.len() < MOST_WORKS && bytes < MOST_BYTES {
                next = inbox.try_recv().ok();
            }
        }
        serve(&mut session, asks, works).await;
        for answer in lines {
            let line = match session.connect().await {
                Ok(()) => session.line().cloned().ok_or_else(closed),
                Err(error) => Err(error),
            };
            let _ = answer.send(line);
        }
    }
    session.disconnect().await;
}

fn closed() -> Error {
    Error::permanent("the connection to the host was closed")
}

//! Something that is done again and again beside the run.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

/// A thread that ends with it.
#[derive(Debug)]
pub(super) struct Ticker {
    /// Dropped to say that it is over.
    alive: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Ticker {
    /// Does it after every such while.
    pub(super) fn every(period: Duration, mut tick: impl FnMut() + Send + 'static) -> Ticker {
        let (alive, over) = mpsc::channel();
        let work = move || {
            while over.recv_timeout(period) == Err(RecvTimeoutError::Timeout) {
                tick();
            }
        };
        // Progress is a comfort: without a thread for it the run goes on.
        let thread = std::thread::Builder::new().name("progress".into()).spawn(work).ok();
        Ticker { alive: Some(alive), thread }
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        drop(self.alive.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

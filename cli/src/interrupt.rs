//! Signals: the first asks the run to stop, the second to abort.

use std::convert::Infallible;
use std::io;

use fleet_engine::event::{Event, Listener};
use fleet_engine::interrupt::{Interrupt, Urgency};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals by which somebody asks a process to end.
pub struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

impl Signals {
    /// From now on, and for good, the process does not end by them. Needs a runtime.
    pub fn catch() -> io::Result<Signals> {
        Ok(Signals {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    /// Passes them on for ever: run it beside what is to be interrupted, and drop it when that ends. What comes while
    /// nobody passes them on is kept for the next time.
    pub async fn forward(&mut self, interrupt: &Interrupt, listener: &dyn Listener) -> Infallible {
        loop {
            self.next().await;
            let before = interrupt.urgency();
            let urgency = interrupt.ask();
            if urgency > before {
                listener.hear(&Event::Interrupted { again: urgency == Urgency::Abort });
            } else {
                // Whoever asks a third time does not want to wait, not even for the state. Everything that was begun
                // is on disk as an intent, so the next run finds it.
                exit();
            }
        }
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hangup.recv() => {}
        }
    }
}

#[expect(clippy::exit, reason = "the user does not want to wait for an orderly end")]
fn exit() -> ! {
    std::process::exit(130)
}

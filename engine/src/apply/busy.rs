//! Hosts where somebody's work runs: what would disturb it is refused, or waits. Nothing is ever ended for that.

use std::pin::pin;
use std::time::Duration;

use fleet_lang::Value;
use futures_util::future::{Either, select};

use super::WhenBusy;
use super::step::failed;
use super::worker::{Stop, Worker};
use crate::diff::get;
use crate::event::{Event, Failure};
use crate::host::{inventory, ledger};
use crate::interrupt::Urgency;
use crate::provider::Session;
use crate::state::Object;

/// How often a host is asked whether it is still busy.
const ASK_AGAIN: Duration = Duration::from_secs(10);

/// A host that a step disturbs.
pub(super) struct Disturbed {
    pub(super) session: Session,
    pub(super) settings: Option<Value>,
    /// Whether it goes with all that is on it: then it is asked once, and not for each thing.
    pub(super) goes: bool,
}

impl Worker<'_> {
    /// Returns when a step may disturb a host.
    pub(super) async fn may_disturb(&self, object: &Object, host: &Disturbed) -> Result<(), Stop> {
        if self.hands.pace.when_busy == WhenBusy::Proceed {
            return Ok(());
        }
        // The wait takes nothing of a step's time.
        self.wait_for_turn(object);
        let outcome = if host.goes {
            let mut known = self.idle(&host.session).lock().await;
            match &*known {
                Some(Ok(())) => Ok(()),
                Some(Err(first)) => Err(Stop::Skipped(first.clone())),
                None => {
                    let outcome = self.until_idle(object, host).await;
                    *known = match &outcome {
                        Ok(()) => Some(Ok(())),
                        Err(Stop::Failed(_)) => Some(Err(object.address.clone())),
                        Err(_) => None,
                    };
                    outcome
                }
            }
        } else {
            self.until_idle(object, host).await
        };
        self.end_turn(object);
        outcome
    }

    async fn until_idle(&self, object: &Object, host: &Disturbed) -> Result<(), Stop> {
        let clock = self.hands.clock;
        let started = clock.now();
        let line = self.connect(&host.session, host.settings.as_ref()).await?;
        let ledger = host.settings.as_ref().map(|settings| get(settings, "ledger"));
        let ledger = ledger.as_ref().and_then(Value::as_str).unwrap_or(ledger::PATH);
        let mut attempt = 1;
        loop {
            let read = line.ask(inventory::KIND, inventory::ask(ledger)).await.map_err(failed)?;
            let work = read.as_ref().and_then(inventory::busy);
            let why = match work {
                Some(work) if work.is_empty() => return Ok(()),
                Some(work) => format!("{} is busy: {}", host.session.scope, work.join(", ")),
                None => format!("{} does not say which processes run there", host.session.scope),
            };
            let waited = clock.now().saturating_sub(started);
            let left = match self.hands.pace.when_busy {
                WhenBusy::Wait(patience) => patience.saturating_sub(waited),
                WhenBusy::Refuse | WhenBusy::Proceed => Duration::ZERO,
            };
            if left.is_zero() {
                return Err(Stop::Failed(refused(&why, waited)));
            }
            let after = left.min(ASK_AGAIN);
            self.hands.listener.hear(&Event::Retrying { object, attempt, after, why: &why });
            attempt += 1;
            let stop = self.hands.interrupt.reached(Urgency::Stop);
            if let Either::Left(_) = select(pin!(stop), clock.sleep(after)).await {
                return Err(Stop::NotStarted);
            }
        }
    }
}

fn refused(why: &str, waited: Duration) -> Failure {
    let waited = match waited.as_secs() {
        0 => String::new(),
        seconds => format!(" still, after {}", humantime::format_duration(Duration::from_secs(seconds))),
    };
    Failure::new(format!("{why}{waited}; it was left alone")).help(
        "wait for it with `--when-busy wait` and `--busy-timeout`, or disturb it nevertheless with `--when-busy proceed`",
    )
}

//! Stage 6, apply: makes reality equal to the plan, as much at once as may be.
//!
//! 1. `tasks`: plan and graph → tasks that wait for each other
//! 2. [`schedule`]: which of them may begin; pure
//! 3. `drive`: begins them, and evaluates what becomes known; `inputs`: what a step needs; `endings`: how steps end
//! 4. `busy`: hosts where somebody's work runs are not disturbed; `worker`: sessions and turns; `step`: one step: intent on
//!    disk, act, read back, record; `note`: what is not to be forgotten in the middle of one; [`retry`]: when to try again
//! 5. `used`: which of the secrets that were issued for it came to use
//!
//! What one step makes decides what the next one wishes: the graph that says who depends on whom is also the order in
//! which values are evaluated again.

mod busy;
mod drive;
mod endings;
mod inputs;
mod note;
pub mod retry;
pub mod schedule;
mod step;
mod tasks;
mod used;
mod worker;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use fleet_syntax::Diagnostics;

use crate::clock::Clock;
use crate::event::{Ledger, Listener};
use crate::expand::Expansion;
use crate::host::Holder;
use crate::interrupt::Interrupt;
use crate::provider::{Readers, Writers};
use crate::seal::Sealer;
use crate::state::{Store, StoreError};

pub use drive::apply;

/// What apply works with, and nobody else is given.
pub struct Hands<'a> {
    /// To look again.
    pub readers: &'a dyn Readers,
    /// To change things.
    pub writers: &'a dyn Writers,
    /// To write down what is begun and what is done.
    pub store: &'a dyn Store,
    /// Makes digests of what is sensitive.
    pub sealer: &'a Sealer,
    /// Time.
    pub clock: &'a dyn Clock,
    /// Hears of everything.
    pub listener: &'a dyn Listener,
    /// On whose behalf hosts are changed.
    pub holder: Holder,
    /// Somebody may want the run to end.
    pub interrupt: &'a Interrupt,
    /// How much at once, and for how long.
    pub pace: Pace,
}

/// How much at once, and for how long.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// How many steps may touch the world at once.
    pub parallelism: usize,
    /// When failed attempts are tried again.
    pub retry: retry::Retry,
    /// How long a step may take; by what it does if not given.
    pub timeout: Option<Duration>,
    /// What is done where a step would disturb somebody's work on a host.
    pub when_busy: WhenBusy,
}

/// What is done where a step would disturb what runs on a host: a VM, a job of CI.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhenBusy {
    /// The step fails, and says what runs.
    #[default]
    Refuse,
    /// The step waits for so long; then it fails.
    Wait(Duration),
    /// The step is done.
    Proceed,
}

impl Default for Pace {
    fn default() -> Pace {
        // Steps wait for other machines most of the time.
        Pace {
            parallelism: 64,
            retry: retry::Retry::default(),
            timeout: None,
            when_busy: WhenBusy::default(),
        }
    }
}

/// How an apply ended.
pub struct Applied<'c> {
    /// How every step ended that had something to do.
    pub ledger: Ledger,
    /// The secrets that providers issued and that a step was done with, or may have been, by their names.
    pub used: BTreeSet<Arc<str>>,
    /// What everything turned out to be.
    pub expansion: Expansion<'c>,
    /// Conditions that do not hold, and expressions that cannot be evaluated after all.
    pub problems: Diagnostics,
    /// Why the state could not be written any more, if so.
    pub lost: Option<StoreError>,
}

//! How the world breaks on purpose.

use std::ops::{Bound, RangeBounds};
use std::time::Duration;

use crate::world::Operation;

/// What goes wrong with a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// 503: nothing was done, try again.
    Unavailable,
    /// 429: nothing was done, try again after so many seconds.
    Busy(u64),
    /// 422: nothing was done, and trying again will not help.
    Refused,
    /// The connection breaks before anything was done.
    Dropped,
    /// It is done, and the connection breaks before the reply.
    Lost,
    /// It is done, and the reply never comes.
    Hangs,
    /// It is done, with another size and another password than asked for.
    Garbled,
    /// It is done after a while.
    Slow(Duration),
    /// It is done when calls that wait are let go the next time.
    Waits,
}

/// Which calls go wrong, and how.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Planned {
    operation: Operation,
    calls: (Bound<usize>, Bound<usize>),
    pub(crate) fault: Fault,
}

impl Planned {
    pub(crate) fn new(operation: Operation, calls: &impl RangeBounds<usize>, fault: Fault) -> Planned {
        Planned { operation, calls: (calls.start_bound().cloned(), calls.end_bound().cloned()), fault }
    }

    /// Whether it is about this call, counted from 1 among those of its operation.
    pub(crate) fn strikes(&self, operation: Operation, number: usize) -> bool {
        self.operation == operation && self.calls.contains(&number)
    }
}

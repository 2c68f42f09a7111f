//! Time, as the engine is given it: it has no clock of its own, so a simulated one makes a long wait cost nothing.

use std::time::Duration;

use crate::resource::BoxFuture;

/// A clock that only goes forward.
pub trait Clock: Send + Sync {
    /// The time since some fixed moment before the run.
    fn now(&self) -> Duration;

    /// Waits.
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()>;
}

//! How somebody outside asks a run to end: once to stop, twice to abort.
//!
//! A signal handler holds one end, the driver of apply the other. The engine knows no runtime, so the wait is a plain
//! future that any of them can poll.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

/// How urgently a run is to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Urgency {
    /// Nobody asked.
    None,
    /// Nothing new is begun; what runs may end.
    Stop,
    /// What runs is left alone, after writing what is known.
    Abort,
}

/// Both ends of it. Clones are the same handle.
#[derive(Clone, Debug, Default)]
pub struct Interrupt(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    urgency: AtomicU8,
    raised: event_listener::Event,
}

impl Interrupt {
    /// Nobody has asked yet.
    #[must_use]
    pub fn new() -> Interrupt {
        Interrupt::default()
    }

    /// Asks once more, and says how urgent it is now.
    pub fn ask(&self) -> Urgency {
        let raise = |now| (now < Urgency::Abort as u8).then_some(now + 1);
        let before = self.0.urgency.fetch_update(Ordering::SeqCst, Ordering::SeqCst, raise);
        if before.is_ok() {
            self.0.raised.notify(usize::MAX);
        }
        self.urgency()
    }

    /// How urgent it is.
    #[must_use]
    pub fn urgency(&self) -> Urgency {
        match self.0.urgency.load(Ordering::SeqCst) {
            0 => Urgency::None,
            1 => Urgency::Stop,
            _ => Urgency::Abort,
        }
    }

    /// Waits until it is at least so urgent.
    pub async fn reached(&self, urgency: Urgency) {
        loop {
            // Listening comes before looking: what is asked in between is not missed.
            let raised = self.0.raised.listen();
            if self.urgency() >= urgency {
                return;
            }
            raised.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::atomic::AtomicUsize;
    use std::task::{Context, Poll, Wake, Waker};

    use super::*;

    #[test]
    fn once_is_to_stop_and_twice_to_abort() {
        let interrupt = Interrupt::new();
        assert_eq!(interrupt.urgency(), Urgency::None);
        for expected in [Urgency::Stop, Urgency::Abort, Urgency::Abort] {
            assert_eq!(interrupt.clone().ask(), expected);
            assert_eq!(interrupt.urgency(), expected);
        }
    }

    #[test]
    fn everybody_who_waits_is_woken() {
        struct Woken(AtomicUsize);
        impl Wake for Woken {
            fn wake(self: Arc<Self>) {
                self.0.fetch_add(1, Ordering::SeqCst);
            }
        }
        let interrupt = Interrupt::new();
        let woken = Arc::new(Woken(AtomicUsize::new(0)));
        let waker = Waker::from(woken.clone());
        let mut context = Context::from_waker(&waker);
        let mut stop = pin!(interrupt.reached(Urgency::Stop));
        let mut abort = pin!(interrupt.reached(Urgency::Abort));
        assert_eq!(stop.as_mut().poll(&mut context), Poll::Pending);
        assert_eq!(abort.as_mut().poll(&mut context), Poll::Pending);
        interrupt.ask();
        assert_eq!(woken.0.load(Ordering::SeqCst), 2);
        assert_eq!(stop.as_mut().poll(&mut context), Poll::Ready(()));
        assert_eq!(abort.as_mut().poll(&mut context), Poll::Pending);
        interrupt.ask();
        assert_eq!(abort.as_mut().poll(&mut context), Poll::Ready(()));
    }
}

//! Wrong passwords: PAM counts them, and refuses the right one too while there were too many of late.

use std::time::Duration;

use serde::Serialize;

use crate::clock::Time;

/// So many wrong passwords lock an account.
pub(in crate::mac) const LIMIT: u32 = 6;
/// So long it takes until one of them is forgotten.
pub(in crate::mac) const DRAINS: Duration = Duration::from_secs(60);

/// How many wrong passwords were given, and when that was last brought up to date.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(in crate::mac) struct Tally {
    wrong: u32,
    since: Option<Time>,
}

impl Tally {
    /// One more was wrong.
    pub(in crate::mac) fn feed(&mut self, now: Time) {
        self.drain(now);
        self.wrong += 1;
        self.since.get_or_insert(now);
    }

    /// Whether the account is locked. To ask changes nothing.
    pub(in crate::mac) fn is_locked(mut self, now: Time) -> bool {
        self.drain(now);
        self.wrong >= LIMIT
    }

    fn drain(&mut self, now: Time) {
        let Some(since) = self.since else { return };
        let passed = u32::try_from(now.since(since).as_secs() / DRAINS.as_secs()).unwrap_or(u32::MAX);
        self.wrong = self.wrong.saturating_sub(passed);
        self.since = (self.wrong > 0).then(|| since.after(DRAINS.saturating_mul(passed)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_locks_drains_and_never_drains_while_it_is_fed() {
        let begin = Time::of_this_machine();
        let after = |seconds: u64| begin.after(Duration::from_secs(seconds));
        let mut tally = Tally::default();
        for _ in 0..LIMIT {
            assert!(!tally.is_locked(begin));
            tally.feed(begin);
        }
        assert!(tally.is_locked(begin) && tally.is_locked(after(59)));
        assert!(!tally.is_locked(after(60)));
        // A retry loop that is faster than it drains.
        for at in 1..20 {
            tally.feed(after(30 * at));
            assert!(tally.is_locked(after(30 * at + 1)), "{at}");
        }
        assert!(!tally.is_locked(after(3600)));
    }
}

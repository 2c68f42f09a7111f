//! How long apply is patient: when a failed attempt is tried again, and how long a step may take at most. Pure.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use crate::plan::Action;
use crate::resource::Error;

/// When to try again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    /// How often a step is tried at most.
    pub attempts: u32,
    /// No attempt begins later than this after the first.
    pub within: Duration,
    /// The wait after the first attempt; it doubles with each.
    pub first: Duration,
    /// The longest wait, unless the other side asks for more.
    pub longest: Duration,
}

/// An attempt that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// Which one, counted from 1.
    pub number: u32,
    /// How long ago the first one began.
    pub elapsed: Duration,
    /// Spreads the waits of different steps, and is the same for the same step: see [`seed`].
    pub seed: u64,
}

impl Default for Retry {
    fn default() -> Retry {
        Retry {
            attempts: 8,
            within: Duration::from_secs(600),
            first: Duration::from_secs(1),
            longest: Duration::from_secs(60),
        }
    }
}

impl Retry {
    /// How long to wait before trying again; `None` to give up.
    ///
    /// Only [transient](Error::transient) errors are tried again. The wait is between half of what doubling gives and
    /// all of it, so that steps that failed together do not return together; it is never shorter than the other side
    /// [asked for](Error::retry_after).
    #[must_use]
    pub fn wait(&self, failed: &Attempt, error: &Error) -> Option<Duration> {
        if !error.transient || failed.number >= self.attempts {
            return None;
        }
        let doubled = 1_u32.checked_shl(failed.number.saturating_sub(1)).unwrap_or(u32::MAX);
        let half = self.first.saturating_mul(doubled).min(self.longest) / 2;
        let spread = half.mul_f64(fraction((failed.seed, failed.number)));
        let wait = half.max(error.retry_after.unwrap_or_default()).saturating_add(spread);
        (failed.elapsed.saturating_add(wait) <= self.within).then_some(wait)
    }
}

/// What spreads the waits of a step.
#[must_use]
pub fn seed(step: &impl Hash) -> u64 {
    // Its keys are fixed, so the same run waits the same.
    let mut hasher = DefaultHasher::new();
    step.hash(&mut hasher);
    hasher.finish()
}

/// How long a step may take, with all its attempts, unless the user says otherwise.
#[must_use]
pub fn timeout(action: Action) -> Duration {
    let minutes = if action.changes_the_world() { 60 } else { 10 };
    Duration::from_secs(minutes * 60)
}

/// Evenly between 0 and 1.
fn fraction(of: (u64, u32)) -> f64 {
    seed(&of) as f64 / u64::MAX as f64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn millis(range: std::ops::Range<u64>) -> impl Strategy<Value = Duration> {
        range.prop_map(Duration::from_millis)
    }

    fn retry() -> impl Strategy<Value = Retry> {
        (0..100_u32, millis(0..1_000_000), millis(0..10_000), millis(0..100_000))
            .prop_map(|(attempts, within, first, longest)| Retry { attempts, within, first, longest })
    }

    fn transient(retry_after: Option<Duration>) -> Error {
        retry_after.into_iter().fold(Error::transient("busy"), Error::after)
    }

    proptest! {
        #[test]
        fn a_step_is_never_tried_too_often_or_too_late(
            retry in retry(),
            seed in any::<u64>(),
            takes in prop::collection::vec((millis(0..5_000), prop::option::of(millis(0..50_000))), 100),
        ) {
            let mut elapsed = Duration::ZERO;
            let mut attempts = 0;
            for (took, retry_after) in takes {
                attempts += 1;
                prop_assert!(attempts == 1 || elapsed <= retry.within);
                elapsed += took;
                let failed = Attempt { number: attempts, elapsed, seed };
                let error = transient(retry_after);
                let Some(wait) = retry.wait(&failed, &error) else { break };
                prop_assert_eq!(retry.wait(&failed, &error), Some(wait), "the same again");
                prop_assert!(wait >= retry_after.unwrap_or_default());
                prop_assert!(wait <= retry.longest + retry_after.unwrap_or_default());
                elapsed += wait;
            }
            prop_assert!(attempts <= retry.attempts.max(1));
        }

        #[test]
        fn waits_double_up_to_the_longest(retry in retry(), seed in any::<u64>(), number in 1..99_u32) {
            let retry = Retry { within: Duration::MAX, attempts: 100, ..retry };
            let wait = retry.wait(&Attempt { number, elapsed: Duration::ZERO, seed }, &transient(None));
            let wait = wait.expect("patience is endless");
            let full = retry.first.as_nanos().saturating_mul(1 << number.min(64) >> 1);
            let full = full.min(retry.longest.as_nanos());
            prop_assert!((full / 2..=full).contains(&wait.as_nanos()), "{wait:?} of {full}");
        }

        #[test]
        fn no_other_error_is_tried_again(
            retry in retry(),
            number in 0..9_u32,
            retry_after in prop::option::of(millis(0..9)),
        ) {
            let error = retry_after.into_iter().fold(Error::permanent("no"), Error::after);
            let failed = Attempt { number, elapsed: Duration::ZERO, seed: 7 };
            prop_assert_eq!(retry.wait(&failed, &error), None);
        }
    }

    #[test]
    fn steps_that_fail_together_do_not_return_together() {
        let wait = |seed| {
            let failed = Attempt { number: 5, elapsed: Duration::ZERO, seed };
            Retry::default().wait(&failed, &transient(None))
        };
        let waits: std::collections::BTreeSet<_> = (0..100).map(wait).collect();
        assert!(waits.len() > 90);
    }
}

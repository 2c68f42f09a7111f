//! Runs that are killed: whatever they were doing, the next one converges, nothing exists twice, nothing is forgotten.
//!
//! 1. [`points`]: a crash at every write of the state and every side effect of a small [`fleet`], in process, with
//!    [`crash`] and [`run`]
//! 2. [`signal`]: a process of its own, killed at moments that chance picks, with [`rounds`] and [`moment`]
//! 3. [`asked`]: what was left open, and is asked for in another way afterwards
//! 4. [`late`]: requests that the world carries out long after whoever made them is gone

mod asked;
mod crash;
mod fleet;
mod late;
pub(crate) mod moment;
mod points;
mod rounds;
mod run;
mod signal;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use fleet_test_provider::{Fault, Operation};

use crate::laws::Lab;

/// Whether there is time for everything.
pub(crate) fn is_full() -> bool {
    std::env::var_os("FLEET_FULL").is_some()
}

/// Prints what a test found out, for those who ask with `--no-capture`.
#[expect(clippy::print_stdout, reason = "it is what these tests are asked for")]
pub(crate) fn tell(text: &str) {
    println!("{text}");
}

/// Does something for each number below a limit, on so many threads at once. Where it fails for one, it is tried for the others
/// all the same, so that a long run tells everything that is wrong.
pub(crate) fn each<T: Send>(limit: usize, n_threads: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let (next, done, failed) = (AtomicUsize::new(0), Mutex::new(Vec::new()), Mutex::new(Vec::new()));
    let all = || {
        while let Some(number) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|number| *number < limit) {
            match catch_unwind(AssertUnwindSafe(|| work(number))) {
                Ok(result) => {
                    let mut done = done.lock().unwrap();
                    done.push(result);
                    if is_full() {
                        tell(&format!("{} of {limit} are done", done.len()));
                    }
                }
                Err(_) => failed.lock().unwrap().push(number),
            }
        }
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..n_threads).map(|_| scope.spawn(all)).collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
    let failed = failed.into_inner().unwrap();
    assert!(failed.is_empty(), "it failed for {} of {limit}: {failed:?}", failed.len());
    done.into_inner().unwrap()
}

/// Chance that repeats itself: every number begins a sequence of its own.
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Chance {
        Chance(seed)
    }

    /// A number below a limit.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % limit as u64) as usize
    }

    /// One of some.
    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

/// Kills a run while the world does not get round to its one call of an operation.
#[track_caller]
fn killed_while_waiting(lab: &Lab, operation: Operation) {
    let call = lab.world.calls(operation) + 1;
    lab.world.breaks(operation, call..=call, Fault::Waits);
    let mut child = lab.site.spawn_unheard(["apply", "--auto-approve"]);
    lab.world.until(|seen| seen.calls.get(&operation) == Some(&call));
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(lab.state().intents.len(), 1);
}

/// The world gets round to it.
fn carried_out(lab: &Lab) {
    lab.world.release();
    lab.world.until_quiet();
}

/// All is as declared: so many servers, all of them known, and nothing left open.
#[track_caller]
fn check_whole(lab: &Lab, n_servers: usize) {
    lab.check_converged();
    assert_eq!(lab.world.servers().len(), n_servers);
    let state = lab.state();
    assert!(state.recorded.len() == n_servers && state.intents.is_empty() && state.deposed.is_empty());
}

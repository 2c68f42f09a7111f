//! Moments at which a run was killed, as the state and the next run tell.

use fleet_store::{Backend, Change, DEFAULT_PATH, history};

use super::tell;
use crate::support::Site;

/// What the world was doing when a run was killed, as the state and the next run tell.
#[derive(Clone, Debug)]
pub(crate) struct Moment {
    /// Whether the run was there to destroy everything.
    pub(crate) is_destroy: bool,
    /// The steps that were done, of those that there were to do.
    pub(crate) done: usize,
    pub(crate) total: usize,
    /// Whether anything was begun.
    pub(crate) is_begun: bool,
    pub(crate) n_open: usize,
    /// How many calls the world was still answering.
    pub(crate) n_in_flight: usize,
}

impl Moment {
    /// Whether it fell between the first intent and the last step that was settled.
    pub(crate) fn is_between(&self) -> bool {
        self.is_begun && self.done < self.total
    }
}

/// What is known of a kill before the next run.
pub(crate) struct Killed {
    pub(crate) is_destroy: bool,
    pub(crate) done: usize,
    pub(crate) n_open: usize,
    pub(crate) n_in_flight: usize,
}

impl Killed {
    /// What was left to do is what the next run did.
    pub(crate) fn settled_by_the_next(self, site: &Site) -> Moment {
        let Killed { is_destroy, done, n_open, n_in_flight } = self;
        let total = done + steps_of_last_run(site);
        Moment { is_destroy, done, total, is_begun: done + n_open > 0, n_open, n_in_flight }
    }
}

/// How many steps the last run has done, as the history of the state tells.
pub(crate) fn steps_of_last_run(site: &Site) -> usize {
    let backend = Backend::Sqlite(site.path().join(DEFAULT_PATH));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let runs = runtime.block_on(history(&backend, 1, false)).unwrap();
    let counts = runs.first().map(|run| run.counts.clone()).unwrap_or_default();
    let steps = [Change::Created, Change::Updated, Change::Destroyed];
    steps.iter().filter_map(|change| counts.get(change)).sum::<u64>() as usize
}

/// Prints how many runs were killed when how much of their work was done.
pub(crate) fn report(command: &str, moments: &[&Moment]) {
    let mut buckets = [0; 10];
    for moment in moments.iter().filter(|moment| moment.is_between()) {
        buckets[moment.done * 10 / moment.total] += 1;
    }
    let count = |is_so: fn(&Moment) -> bool| moments.iter().filter(|moment| is_so(moment)).count();
    let bar = |words: &str, n: usize| tell(&format!("  {words:<24}{n:>4} {}", "#".repeat(n)));
    tell(&format!("{} kills of `fleet {command}`, by how much of the work was done", moments.len()));
    bar("before the first intent", count(|moment| !moment.is_begun));
    for (at, n) in buckets.into_iter().enumerate() {
        bar(&format!("{:>3} % to {:>3} %", at * 10, at * 10 + 10), n);
    }
    bar("after the last step", count(|moment| moment.is_begun && !moment.is_between()));
    tell(&format!("with an intent open: {}", count(|moment| moment.n_open > 0)));
    tell(&format!("with a call in flight: {}", count(|moment| moment.n_in_flight > 0)));
}

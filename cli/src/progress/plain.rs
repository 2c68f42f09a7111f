//! Progress where nobody watches a screen: one line for each thing that begins or ends, and a sign of life.

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use fleet_engine::clock::Clock;
use fleet_engine::event::{Event, Listener};

use super::ticker::Ticker;
use super::view::View;
use super::words;
use crate::Output;

/// After so long without news people and pipelines think that it hangs.
const SIGN_OF_LIFE: Duration = Duration::from_secs(30);

/// How many of the things that run a sign of life names.
const NAMED: usize = 4;

pub(super) struct Plain {
    shared: Arc<Shared>,
    _ticker: Ticker,
}

struct Shared {
    view: Mutex<View>,
    out: Output,
    color: bool,
    clock: Arc<dyn Clock>,
}

impl Plain {
    pub(super) fn new(out: Output, color: bool, clock: Arc<dyn Clock>) -> Plain {
        let shared = Arc::new(Shared { view: Mutex::default(), out, color, clock });
        let ticking = shared.clone();
        Plain { shared, _ticker: Ticker::every(SIGN_OF_LIFE, move || ticking.sign_of_life()) }
    }
}

impl Listener for Plain {
    fn hear(&self, event: &Event<'_>) {
        self.shared.hear(event);
    }
}

impl Shared {
    fn hear(&self, event: &Event<'_>) {
        self.view.lock().unwrap_or_else(PoisonError::into_inner).hear(event, self.clock.now());
        let line = words::beginning(event)
            .or_else(|| words::line(event).map(|(mood, line)| mood.paint(&line, self.color)));
        self.print(line);
    }

    fn sign_of_life(&self) {
        let now = self.clock.now();
        let view = self.view.lock().unwrap_or_else(PoisonError::into_inner);
        if view.longest(now).is_some_and(|longest| longest >= SIGN_OF_LIFE) {
            let (ended, steps) = (view.ended.total(), view.steps);
            let lines = view.lines(now, NAMED).join("; ");
            drop(view);
            self.print(Some(format!("still at it, {ended} of {steps} steps ended: {lines}")));
        }
    }

    /// Progress that cannot be written is no reason to stop half-way.
    fn print(&self, line: Option<String>) {
        if let Some(line) = line {
            let _ = writeln!(self.out.clone(), "{line}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Script, Stuck, Text};
    use super::*;

    #[test]
    fn a_run_in_plain_lines() {
        let (text, clock) = (Text::default(), Arc::new(Stuck::default()));
        let plain = Plain::new(Output::new(text.clone()), false, clock.clone());
        Script::new(&plain, &clock).play();
        insta::assert_snapshot!(text.text());
    }

    #[test]
    fn a_long_wait_gets_a_sign_of_life() {
        let (text, clock) = (Text::default(), Arc::new(Stuck::default()));
        let plain = Plain::new(Output::new(text.clone()), false, clock.clone());
        Script::new(&plain, &clock).begin_many(6);
        plain.shared.sign_of_life();
        let before = text.text();
        clock.pass(Duration::from_secs(31));
        plain.shared.sign_of_life();
        insta::assert_snapshot!(text.text().strip_prefix(&before).unwrap(), @"still at it, 0 of 6 steps ended: core_file.a[0]: creating, 31s; core_file.a[1]: creating, 31s; core_file.a[2]: creating, 31s; and 3 more");
    }
}

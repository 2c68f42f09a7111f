//! What runs, as a view of it shows: told by events, asked for lines. Pure.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use fleet_engine::event::{Counts, Event, Wait};
use fleet_engine::plan::Action;
use fleet_engine::provider::Session;
use fleet_engine::state::Object;

use super::words::{clean, rounded_up, verbs, whole};

/// What is going on.
#[derive(Debug, Default)]
pub(super) struct View {
    observing: BTreeMap<Session, Observing>,
    /// What runs, in the order of its beginning: what takes longest stands first.
    running: BTreeMap<u64, Running>,
    numbers: HashMap<Object, u64>,
    begun: u64,
    /// How many steps there are, as far as that is known.
    pub(super) steps: usize,
    /// How those that ended did.
    pub(super) ended: Counts,
}

#[derive(Debug)]
struct Observing {
    questions: usize,
    since: Duration,
}

#[derive(Debug)]
struct Running {
    object: Object,
    action: Action,
    since: Duration,
    waits: Waits,
}

#[derive(Debug)]
enum Waits {
    /// Nobody said.
    Unsaid,
    For(Wait),
    /// Until then, for the attempt after this one.
    Again(Duration, u32, String),
}

impl View {
    /// Something happened.
    pub(super) fn hear(&mut self, event: &Event<'_>, now: Duration) {
        match *event {
            Event::Observing { session, questions } => {
                self.observing.insert(session.clone(), Observing { questions, since: now });
            }
            Event::Observed { session, .. } => {
                self.observing.remove(session);
            }
            Event::WaveStarted { steps, .. } => self.steps += steps,
            Event::StepStarted { object, action } => {
                self.begun += 1;
                self.numbers.insert(object.clone(), self.begun);
                let running = Running { object: object.clone(), action, since: now, waits: Waits::Unsaid };
                self.running.insert(self.begun, running);
            }
            Event::StepWaiting { object, on } => self.waits(object, Waits::For(on)),
            Event::Retrying { object, attempt, after, why } => {
                self.waits(object, Waits::Again(now.saturating_add(after), attempt, why.to_owned()));
            }
            Event::StepEnded { object, outcome, .. } => {
                self.ended.add(outcome);
                if let Some(number) = self.numbers.remove(object) {
                    self.running.remove(&number);
                }
            }
            Event::Interrupted { .. } | Event::StoreLost { .. } | Event::Finished { .. } => {}
        }
    }

    /// A line for each thing that runs, at most so many; the last says how many more there are.
    pub(super) fn lines(&self, now: Duration, most: usize) -> Vec<String> {
        let all = self.observing.len() + self.running.len();
        let shown = if all <= most { all } else { most.saturating_sub(1) };
        let observing = self.observing.iter().map(|(session, observing)| {
            let (questions, elapsed) = (observing.questions, now.saturating_sub(observing.since));
            format!("{session}: looking at {questions}, {}", whole(elapsed))
        });
        let running = self.running.values().map(|running| running.line(now));
        let mut lines: Vec<String> = observing.chain(running).take(shown).map(|line| clean(&line)).collect();
        if shown < all && most > 0 {
            lines.push(format!("and {} more", all - shown));
        }
        lines
    }

    /// How long the oldest of what runs has been running.
    pub(super) fn longest(&self, now: Duration) -> Option<Duration> {
        let observing = self.observing.values().map(|observing| observing.since);
        let running = self.running.values().next().map(|running| running.since);
        observing.chain(running).min().map(|since| now.saturating_sub(since))
    }

    fn waits(&mut self, object: &Object, waits: Waits) {
        let running = self.numbers.get(object).and_then(|number| self.running.get_mut(number));
        if let Some(running) = running {
            running.waits = waits;
        }
    }
}

impl Running {
    fn line(&self, now: Duration) -> String {
        let (doing, _) = verbs(self.action).unwrap_or(("recording", "recorded"));
        let elapsed = whole(now.saturating_sub(self.since));
        let waits = match &self.waits {
            Waits::Unsaid => String::new(),
            Waits::For(wait) => format!(", {}", wait.words()),
            Waits::Again(until, attempt, why) if *until > now => {
                let left = whole(rounded_up(until.saturating_sub(now)));
                let why = why.lines().next().unwrap_or_default();
                format!(", attempt {attempt} failed, again in {left}: {why}")
            }
            Waits::Again(_, attempt, _) => format!(", attempt {}", attempt.saturating_add(1)),
        };
        format!("{}: {doing}, {elapsed}{waits}", self.object)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::testing::object;
    use super::*;

    const NOW: Duration = Duration::from_secs(10);

    fn begun(steps: u64) -> View {
        let mut view = View::default();
        for index in 0..steps {
            view.hear(&Event::StepStarted { object: &object(index), action: Action::Create }, Duration::ZERO);
        }
        view
    }

    proptest! {
        #[test]
        fn never_more_lines_than_there_is_room_and_nothing_is_forgotten(steps in 0..20_u64, most in 0..20_usize) {
            let lines = begun(steps).lines(NOW, most);
            prop_assert!(lines.len() <= most);
            let more = lines.last().and_then(|last| last.strip_prefix("and ")?.strip_suffix(" more"));
            let named = lines.len() - usize::from(more.is_some());
            let more: usize = more.map_or(0, |more| more.parse().unwrap());
            prop_assert!(most == 0 || named + more == steps as usize);
        }
    }

    #[test]
    fn a_line_says_what_it_waits_for() {
        let object = object(0);
        #[track_caller]
        fn check(event: Event<'_>, expected: &str) {
            let mut view = begun(1);
            view.hear(&event, Duration::from_secs(9));
            assert_eq!(view.lines(NOW, 9), [expected]);
        }
        check(Event::Interrupted { again: false }, "core_file.a[0]: creating, 10s");
        check(
            Event::StepWaiting { object: &object, on: Wait::ReadBack },
            "core_file.a[0]: creating, 10s, reading back",
        );
        let after = Duration::from_secs(4);
        check(
            Event::Retrying { object: &object, attempt: 1, after, why: "busy\u{1b}[2J\nand more" },
            "core_file.a[0]: creating, 10s, attempt 1 failed, again in 3s: busy␛[2J",
        );
        let after = Duration::from_secs(1);
        check(
            Event::Retrying { object: &object, attempt: 1, after, why: "busy" },
            "core_file.a[0]: creating, 10s, attempt 2",
        );
    }
}

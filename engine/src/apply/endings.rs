//! How steps end: what is told of it, what follows for others, and what becomes of a run that cannot go on.

use std::time::Duration;

use fleet_syntax::{Diagnostic, Severity};

use super::drive::Driver;
use super::schedule::{Status, TaskId};
use super::tasks::Task;
use super::worker::Ended;
use crate::address::{Address, Item};
use crate::event::{Entry, Event, Failure, Outcome};
use crate::plan::Action;
use crate::state::{Object, StoreError};

impl Driver<'_, '_> {
    pub(super) fn end(&mut self, task: TaskId, ended: Ended) {
        let Ended { object, action, part, mut outcome, value, elapsed, lost } = ended;
        if let (Task::Make(at), Some(value), Outcome::Done) = (&self.tasks[task], value, &outcome) {
            if let Some(shadow) = &mut self.shadow {
                shadow.settle(*at, value.clone());
            }
            let at = *at;
            let problems = self.again.settle(at, value);
            if self.again.expansion().instances[at as usize].address.item == Item::Host {
                self.reach(at);
            }
            if let Some(problem) = problems.iter().find(|problem| problem.severity == Severity::Error) {
                let failure = Failure::new(problem.summary.clone()).effect(crate::event::Effect::Other);
                outcome = Outcome::Failed(failure);
            }
            self.problems.extend(problems);
        }
        if let Some(error) = lost {
            self.lose(error);
        }
        if outcome == Outcome::NotStarted {
            // It is noted with the rest that is not begun any more.
            self.schedule.stop();
            return self.schedule.hand_back(task);
        }
        let is_done = outcome == Outcome::Done;
        let listener = self.worker.hands.listener;
        listener.hear(&Event::StepEnded { object: &object, action: part, outcome: &outcome, elapsed });
        let is_replaced = matches!(action, Action::Replace { .. });
        let object = if is_replaced { Object::current(object.address) } else { object };
        self.ledger.note(object, Entry { action, outcome, elapsed });
        if is_done { self.schedule.done(task) } else { self.fail(task) }
    }

    /// The state can no longer be written: nothing new is begun. That is told once, and so is where to find what was
    /// done nevertheless.
    pub(super) fn lose(&mut self, mut error: StoreError) {
        self.schedule.stop();
        let listener = self.worker.hands.listener;
        let message = crate::plan::chain(&error);
        if self.lost.is_none() {
            listener.hear(&Event::StoreLost { message: &message, recovery: None });
        }
        let recovery = error.recovery.take();
        let known = self.lost.get_or_insert(error);
        if let (None, Some(file)) = (&known.recovery, recovery) {
            listener.hear(&Event::StoreLost { message: &message, recovery: Some(&file) });
            known.recovery = Some(file);
        }
    }

    /// Something that is no step's could not be written.
    pub(super) fn unsaved(&mut self, what: &str, error: StoreError) {
        if error.is_final() {
            return self.lose(error);
        }
        self.problems.push(Diagnostic {
            severity: Severity::Error,
            summary: format!("{what} could not be saved"),
            detail: format!("{}.", crate::plan::chain(&error)),
            span: None,
            related: Vec::new(),
            address: None,
            help: Some("apply again, once the state can be written".into()),
        });
    }

    pub(super) fn fail(&mut self, task: TaskId) {
        for skipped in self.schedule.failed(task) {
            let Status::Skipped(because) = self.schedule.status(skipped) else { continue };
            let Some((object, action)) = self.subject(skipped) else { continue };
            let outcome = match self.address(because) {
                // The other part of a replacement has said it all.
                Some(because) if because == object.address && object.deposed.is_none() => continue,
                Some(because) => Outcome::Skipped(because),
                None => Outcome::Failed(Failure::new("a value that it needs cannot be evaluated")),
            };
            // Of the two parts of a replacement one is enough to be told.
            if self.ledger.entries.get(&object).is_none_or(|known| known.outcome != outcome) {
                self.tell(object, action, outcome);
            }
        }
    }

    /// A step that did not begin, or whose end nobody saw.
    pub(super) fn tell(&mut self, object: Object, action: Action, outcome: Outcome) {
        let listener = self.worker.hands.listener;
        listener.hear(&Event::StepEnded {
            object: &object,
            action,
            outcome: &outcome,
            elapsed: Duration::ZERO,
        });
        self.ledger.note(object, Entry { action, outcome, elapsed: Duration::ZERO });
    }

    /// What was never begun, and what was left alone half-way.
    pub(super) fn note_the_rest(&mut self) {
        for task in 0..self.tasks.len() {
            let status = self.schedule.status(task);
            if matches!(status, Status::Done | Status::Failed | Status::Skipped(_)) {
                continue;
            }
            let Some((object, action)) = self.subject(task) else { continue };
            let touching = status == Status::Running && self.is_touching(task);
            let outcome = if touching {
                Outcome::Unknown("the run was aborted while it was under way".into())
            } else {
                Outcome::NotStarted
            };
            self.tell(object, action, outcome);
        }
    }

    /// Whether a task that runs does more than to wait for its turn.
    pub(super) fn is_touching(&self, task: TaskId) -> bool {
        match &self.tasks[task] {
            Task::Make(at) => {
                let address = &self.again.expansion().instances[*at as usize].address;
                self.worker.is_touching(&Object::current(address.clone()))
            }
            Task::Remove(object) => self.worker.is_touching(object),
            Task::Join | Task::Value(..) => false,
        }
    }

    /// Whose task it is and what it does, if it does something.
    pub(super) fn subject(&self, task: TaskId) -> Option<(Object, Action)> {
        match &self.tasks[task] {
            Task::Make(at) => {
                let address = &self.again.expansion().instances[*at as usize].address;
                let action = self.plan_steps.get(address)?.action;
                (action != Action::Keep).then(|| (Object::current(address.clone()), action))
            }
            Task::Remove(object) => {
                let action = self.step_of(object)?.action;
                let replaces = matches!(action, Action::Replace { .. });
                let object = if replaces { Object::current(object.address.clone()) } else { object.clone() };
                Some((object, action))
            }
            Task::Join | Task::Value(..) => None,
        }
    }

    pub(super) fn address(&self, task: TaskId) -> Option<Address> {
        match &self.tasks[task] {
            Task::Make(at) => Some(self.again.expansion().instances[*at as usize].address.clone()),
            Task::Remove(object) => Some(object.address.clone()),
            Task::Value(..) | Task::Join => None,
        }
    }
}

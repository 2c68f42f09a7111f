//! The process: one command at a time, and the answer to it.
//!
//! What it does next is found from the record and from what was just seen ([`super::decide`]), never from what it did before a
//! crash. Two things are done here, and nowhere else: a record that changed is kept before anything else is done, and a vendor
//! write goes through [`Process::guarded`].

use std::sync::Arc;
use std::time::Duration;

use super::command::{Answer, Command, End, Loss, Page, Seen, Shown, Surprise, Why, Wrote};
use super::notes::{Identity, Method, Names, Open, Progress, Record, Stage, Write};
use super::rules::{Guard, Rules};
use crate::host::Holding;
use crate::pool::Sent;

/// What time it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Now {
    /// By a clock that only goes forward.
    pub clock: Duration,
    /// In seconds since 1970: for people.
    pub date: u64,
}

/// Something that is done with one host, from the first look to its end.
#[derive(Clone, Debug)]
pub struct Process {
    pub(super) who: Arc<Identity>,
    pub(super) rules: Arc<Rules>,
    pub(super) progress: Progress,
    /// The record was changed since it was kept.
    pub(super) changed: bool,
    pub(super) at: At,
    pub(super) memory: Memory,
    deadline: Duration,
    /// When the host last answered from the epoch of the record.
    answered: Option<Duration>,
    gap: Option<Duration>,
}

/// What a process remembers until it ends or crashes. Forgetting it costs time and nothing else.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Memory {
    /// The record is new, and its ledger was not seen yet: nothing was written, so nothing of ours can be left behind.
    pub(super) fresh: bool,
    /// The ledger is ours, and the vendor had time to show what was so when it became ours.
    pub(super) settled: bool,
    /// The ledger is not ours, and the vendor had time to show what was so when that was seen.
    pub(super) waited: bool,
    /// The name was written, and not found equal yet.
    pub(super) renamed: bool,
    /// The host is to be restarted.
    pub(super) reboot: bool,
    /// How often making it clean was tried.
    pub(super) tries: u8,
    /// The vendor refused to delete the host.
    pub(super) refused: bool,
    pub(super) surprise: Option<Surprise>,
}

/// Where a process is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum At {
    /// It looks at the host.
    Look,
    /// It asks the vendor, having seen this; nothing, if the host does not answer.
    Read(Option<View>),
    /// It changes the ledger.
    Ledger(Change),
    /// It checks the ledger for this write.
    Check(Write),
    /// It may send this write: it checked at this time.
    Send(Write, Duration),
    /// It removes what we manage.
    Scrub,
    /// It waits; with or without the ledger.
    Wait { until: Duration, why: Why, held: bool },
    /// It ended.
    Done(End),
}

/// What was seen of a host.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct View {
    pub(super) epoch: String,
    pub(super) whose: Whose,
}

/// Whose a host is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Whose {
    Nobodys,
    Mine(Holding),
    /// Of another claim; none if nobody can read what it says.
    Others(Option<(String, Holding)>),
}

/// A change of the ledger.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Change {
    Create(Holding),
    Mark(Holding),
    Remove,
    /// From this claim.
    Take(String),
}

impl Process {
    /// Takes a host that seems free.
    #[must_use]
    pub fn claim(identity: Identity, rules: Arc<Rules>, now: Now) -> Process {
        Process::begin(identity, Stage::Claiming, rules, now)
    }

    /// Frees a host that somebody was returning and left behind, clean and without a ledger, under this name.
    #[must_use]
    pub fn finish(mut identity: Identity, left: &str, rules: Arc<Rules>, now: Now) -> Process {
        if let Some(names) = &mut identity.names {
            left.clone_into(&mut names.own);
            left.clone_into(&mut names.returning);
        }
        Process::begin(identity, Stage::Freeing, rules, now)
    }

    /// Frees a host on which somebody left the ledger of a claim behind, before it owned the host.
    #[must_use]
    pub fn reclaim(mut identity: Identity, from: String, rules: Arc<Rules>, now: Now) -> Process {
        if let Some(Names { own, returning, .. }) = &mut identity.names {
            // Nothing is ever called so: no name makes this record come back to the host.
            returning.clone_into(own);
        }
        Process::begin(identity, Stage::Taking { from }, rules, now)
    }

    /// Deletes a host that is free. Only somebody who asks for that does this; whoever gives the record back afterwards lets the
    /// host be.
    #[must_use]
    pub fn retire(mut identity: Identity, rules: Arc<Rules>, now: Now) -> Process {
        if let Some(Names { own, returning, .. }) = &mut identity.names {
            // Nothing is ever called so: no name makes this record come back to the host.
            returning.clone_into(own);
        }
        Process::begin(identity, Stage::Retiring, rules, now)
    }

    /// Goes on with a record: after a crash, or to see that an owned host is still ours and called as it should be.
    #[must_use]
    pub fn resume(record: Record, rules: Arc<Rules>, now: Now) -> Process {
        Process::with(record.identity, record.progress, rules, now)
    }

    /// Gives a host back.
    #[must_use]
    pub fn give_back(record: Record, method: Method, rules: Arc<Rules>, now: Now) -> Process {
        let mut process = Process::resume(record, rules, now);
        let progress = &mut process.progress;
        match progress.stage {
            Stage::Claiming | Stage::Retiring => progress.stage = Stage::Abandoning,
            Stage::Owned => (progress.stage, progress.method) = (Stage::Leaving, method),
            _ => return process,
        }
        process.changed = true;
        process
    }

    /// Restarts a host that is ours.
    #[must_use]
    pub fn reboot(record: Record, rules: Arc<Rules>, now: Now) -> Process {
        let mut process = Process::resume(record, rules, now);
        process.memory.reboot = process.progress.stage == Stage::Owned && process.who.names.is_some();
        process
    }

    fn begin(identity: Identity, stage: Stage, rules: Arc<Rules>, now: Now) -> Process {
        let progress =
            Progress { stage, epoch: None, method: Method::Reinstall, open: Vec::new(), overdue: false };
        let mut process = Process::with(identity, progress, rules, now);
        process.memory.fresh = true;
        process
    }

    fn with(identity: Identity, mut progress: Progress, rules: Arc<Rules>, now: Now) -> Process {
        progress.overdue = false;
        let deadline = now.clock.saturating_add(rules.deadline);
        Process {
            who: Arc::new(identity),
            rules,
            progress,
            changed: false,
            at: At::Look,
            memory: Memory::default(),
            deadline,
            answered: None,
            gap: None,
        }
    }

    /// The record as it is now.
    #[must_use]
    pub fn record(&self) -> Record {
        Record { identity: (*self.who).clone(), progress: self.progress.clone() }
    }

    /// What is to be done now. The clock decides whether a check is too old to rely on, so this is asked right before it is done.
    pub fn command(&mut self, now: Now) -> Command {
        if self.changed {
            return Command::Journal(Box::new(self.record()));
        }
        if let At::Send(write, checked) = &self.at
            && now.clock.saturating_sub(*checked) > self.rules.lifetime
            && self.rules.keeps(Guard::Lifetime)
        {
            self.at = At::Check(write.clone());
        }
        let epoch = || self.progress.epoch.clone().unwrap_or_default();
        match &self.at {
            At::Look | At::Check(_) => Command::Look { pin: self.progress.epoch.clone() },
            At::Read(_) => Command::Read,
            At::Ledger(Change::Create(state)) => Command::Create { epoch: epoch(), state: *state },
            At::Ledger(Change::Mark(state)) => Command::Mark { epoch: epoch(), state: *state },
            At::Ledger(Change::Remove) => Command::Remove { epoch: epoch() },
            At::Ledger(Change::Take(from)) => Command::Take { epoch: epoch(), from: from.clone() },
            At::Send(write, _) => Command::Send(write.clone()),
            At::Scrub => Command::Scrub,
            At::Wait { until, why, .. } => Command::Wait { until: *until, why: *why },
            At::Done(end) => Command::Done(end.clone()),
        }
    }

    /// Hears the answer to the command. One that does not fit is no answer: the command stays.
    pub fn answer(&mut self, answer: Answer, now: Now) {
        if self.changed {
            self.changed = !matches!(answer, Answer::Kept);
            return;
        }
        match (self.at.clone(), answer) {
            (At::Look, Answer::Looked(seen)) => self.looked(None, &seen, now),
            (At::Check(write), Answer::Looked(seen)) => self.looked(Some(write), &seen, now),
            (At::Read(view), Answer::Read(shown)) => match (shown, view) {
                (Shown::Gone, _) => self.end(End::Gone),
                (Shown::Server { name, status }, Some(view)) => self.known(view, Some(&name), &status, now),
                _ => self.wait(Why::Poll, false, now),
            },
            (At::Ledger(change), Answer::Wrote(wrote)) => self.wrote(&change, wrote),
            (At::Send(write, _), Answer::Sent(sent)) => self.sent(&write, &sent, now),
            (At::Scrub, Answer::Scrubbed(clean)) => self.scrubbed(clean, now),
            (At::Wait { until, why, held }, Answer::Waited) if now.clock >= until => {
                self.elapsed(why, held);
            }
            _ => {}
        }
    }

    /// The only way to a vendor write: the intent is kept, the ledger is checked, and the write is sent while that check lives.
    pub(super) fn guarded(&mut self, write: Write, now: Now) {
        self.progress.open.push(Open { write: write.clone(), date: now.date });
        self.changed = true;
        self.at = if self.rules.keeps(Guard::Check) { At::Check(write) } else { At::Send(write, now.clock) };
    }

    /// A write that certainly has no effect any more, or had all of it.
    fn settled(&mut self, write: &Write) {
        if let Some(index) = self.progress.open.iter().rposition(|open| open.write == *write) {
            self.progress.open.remove(index);
        }
    }

    /// The host was looked at: to check whether a write may be sent, or to see what comes next.
    fn looked(&mut self, checked: Option<Write>, seen: &Seen, now: Now) {
        let view = self.view(seen, now);
        if let Some(write) = checked {
            let is_ours = |view: &View| {
                matches!(view.whose, Whose::Mine(_)) && self.progress.epoch.as_ref() == Some(&view.epoch)
            };
            if view.as_ref().is_some_and(is_ours) {
                self.at = At::Send(write, now.clock);
                return;
            }
            // It was not sent.
            self.settled(&write);
        }
        self.at = At::Look;
        match view {
            Some(view) => self.decide(view, now),
            None if self.memory.fresh && self.progress.epoch.is_none() => {
                self.end(End::Lost(Loss::Unreachable));
            }
            // One that is gone for good does not answer either.
            None if self.who.names.is_some() => self.at = At::Read(None),
            None => self.wait(Why::Poll, false, now),
        }
    }

    /// What was seen, in the eyes of this claim.
    fn view(&mut self, seen: &Seen, now: Now) -> Option<View> {
        let Seen::Host { epoch, ledger } = seen else { return None };
        if self.progress.epoch.as_ref() == Some(epoch) {
            self.answered = Some(now.clock);
        } else if let Some(last) = self.answered.take() {
            self.gap = Some(now.clock.saturating_sub(last));
        }
        let whose = match ledger {
            Page::Empty => Whose::Nobodys,
            Page::Unreadable => Whose::Others(None),
            Page::Ledger { claim, epoch: made_in, state }
                if *claim == self.who.claim && (made_in.is_empty() || made_in == epoch) =>
            {
                Whose::Mine(*state)
            }
            // To take a name for a claim: never done, and here so that the model can show why.
            Page::Ledger { state, .. } if !self.memory.fresh && !self.rules.keeps(Guard::ClaimNotName) => {
                self.progress.epoch = Some(epoch.clone());
                Whose::Mine(*state)
            }
            Page::Ledger { claim, state, .. } => Whose::Others(Some((claim.clone(), *state))),
        };
        Some(View { epoch: epoch.clone(), whose })
    }

    fn wrote(&mut self, change: &Change, wrote: Wrote) {
        match (change, wrote, &self.progress.stage) {
            // Whoever removed its own ledger knows that nothing is left: the name is free, or was never written.
            (Change::Remove, Wrote::Done, Stage::Freeing) => self.end(self.returned()),
            (Change::Remove, Wrote::Done, Stage::Abandoning) if self.memory.refused => {
                self.end(End::Lost(Loss::Refused));
            }
            (Change::Remove, Wrote::Done, Stage::Abandoning) => self.end(End::Lost(Loss::NotFree)),
            // Whatever the answer was: the ledger tells.
            _ => self.at = At::Look,
        }
    }

    fn sent(&mut self, write: &Write, sent: &Sent, now: Now) {
        let is_open = match sent {
            Sent::Unsettled(_) => true,
            // What cannot be undone is open until it is seen.
            Sent::Taken => *write == Write::Delete,
            _ => false,
        };
        if !is_open {
            self.settled(write);
        }
        match (sent, write) {
            (Sent::Gone, _) => self.end(End::Gone),
            (Sent::Refused(error), Write::Delete) if !error.transient => {
                self.memory.refused = true;
                self.enter(Stage::Abandoning);
            }
            (Sent::Refused(_) | Sent::Busy(_), _) => self.wait(Why::Poll, true, now),
            (Sent::Taken | Sent::Unsettled(_), Write::Reboot | Write::Reinstall) => {
                self.memory.reboot = false;
                self.wait(Why::Settle, true, now);
            }
            (Sent::Taken | Sent::Unsettled(_), Write::Delete) => self.at = At::Read(None),
            (Sent::Taken | Sent::Unsettled(_), Write::Rename(_)) => {
                self.memory.renamed = true;
                self.at = At::Look;
            }
        }
    }

    fn scrubbed(&mut self, clean: bool, now: Now) {
        if clean {
            self.enter(Stage::Freeing);
        } else {
            self.escalate(now);
        }
    }

    fn elapsed(&mut self, why: Why, held: bool) {
        let over = matches!(why, Why::Settle | Why::Hold);
        if held {
            self.memory.settled |= over;
        } else {
            self.memory.waited |= over;
        }
        if why == Why::Hold && !self.progress.open.is_empty() {
            self.progress.open.clear();
            self.changed = true;
        }
        self.at = At::Look;
    }

    /// Waits; or ends, if that would last longer than the process may.
    pub(super) fn wait(&mut self, why: Why, held: bool, now: Now) {
        let time = match why {
            Why::Settle => self.rules.settle,
            Why::Hold => self.rules.hold,
            Why::Poll => self.rules.poll,
        };
        let until = now.clock.saturating_add(time);
        if until > self.deadline {
            (self.progress.overdue, self.changed) = (true, true);
            self.at = At::Done(End::Quarantined(why));
        } else {
            self.at = At::Wait { until, why, held };
        }
    }

    /// Waits until the vendor shows what is so now, and until what is open can have no effect any more.
    pub(super) fn wait_for_vendor(&mut self, held: bool, now: Now) {
        let why = if self.progress.open.is_empty() { Why::Settle } else { Why::Hold };
        self.wait(why, held, now);
    }

    /// Closes the record.
    pub(super) fn end(&mut self, end: End) {
        // A record that was never kept need not be.
        self.changed = !self.memory.fresh || self.progress.epoch.is_some();
        self.progress.stage = Stage::Closed;
        self.progress.open.clear();
        self.at = At::Done(end);
    }

    /// How long it was from one installation to the next, if both were seen.
    pub(super) fn returned(&self) -> End {
        End::Returned { gap: self.gap }
    }

    /// Goes over to another stage, and looks again.
    pub(super) fn enter(&mut self, stage: Stage) {
        self.progress.stage = stage;
        self.changed = true;
        self.memory.renamed = false;
        self.at = At::Look;
    }
}

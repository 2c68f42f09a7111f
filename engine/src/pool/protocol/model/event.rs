//! What may happen next, and what must not.

use super::super::command::Why;
use super::super::machine::{At, Change};
use super::super::notes::{RETURNING, Stage, Write};
use super::world::{Host, Power, World};
use crate::host::Holding;

/// Something that happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// An operator begins something.
    Start(u8, Begin),
    /// An operator does what its process says, and this is what comes of it.
    Step(u8, Outcome),
    /// An operator dies.
    Crash(u8),
    /// A request without an answer has its effect; and the vendor still shows the old name.
    Land(u8, bool),
    /// It never has one.
    Drop(u8),
    /// The vendor shows nothing old any more.
    Fresh(u8),
    /// A host comes back.
    Up(u8),
    /// Somebody reinstalls a host from the vendor's console.
    Console(u8),
}

/// What an operator begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Begin {
    Claim(u8),
    Resume,
    GiveBack,
    Reboot,
    Reclaim(u8),
    Finish(u8),
    Retire(u8),
}

/// What comes of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// What is meant to.
    Plain,
    /// The same, and the vendor still shows the old name.
    Staling,
    /// Nothing, and no answer.
    Vain,
    /// What is meant to, and no answer.
    Unanswered,
    /// No answer; it has its effect later, or never.
    Late,
    /// An old name is read.
    Stale(u8),
    /// The ledger is made and not written, and the operator dies.
    Torn,
    /// It does not work.
    Fails,
}

/// What must never happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Violation {
    /// A request of one operator had an effect on a host that another one holds.
    Touched(Write),
    /// Somebody believes to own what the ledger gives to another, or nobody.
    TwoOwners,
    /// A host that was used is called free, and nobody holds it.
    Unclean,
    /// Nobody knows of a host that is not free.
    Lost,
    /// No schedule without faults leads to the goal.
    Stuck,
}

impl World {
    /// All that may happen next.
    pub(super) fn events(&self) -> Vec<Event> {
        let mut events = Vec::new();
        let operators = 0..self.setup.operators;
        // What only its own operator can see may happen first: the order makes no difference to others.
        for operator in operators.clone() {
            if self.is_private(operator) {
                events.push(Event::Step(operator, Outcome::Plain));
                if self.left.crash > 0 {
                    events.push(Event::Crash(operator));
                }
                return events;
            }
        }
        for operator in operators {
            match &self.operators[usize::from(operator)].process {
                Some(_) => {
                    self.steps(operator, &mut events);
                    if self.left.crash > 0 {
                        events.push(Event::Crash(operator));
                    }
                }
                None => {
                    let begins = self.begins(operator).into_iter();
                    events.extend(begins.map(|begin| Event::Start(operator, begin)));
                }
            }
        }
        for (index, flying) in (0..).zip(&self.flying) {
            events.extend([Event::Land(index, false), Event::Drop(index)]);
            if self.left.stale > 0 && is_shown(&flying.write) {
                events.push(Event::Land(index, true));
            }
        }
        for (index, host) in (0..).zip(&self.hosts) {
            if !host.stale.is_empty() {
                events.push(Event::Fresh(index));
            }
            match host.power {
                Power::Up if self.left.console > 0 => events.push(Event::Console(index)),
                Power::Up | Power::Gone => {}
                Power::Rebooting => events.push(Event::Up(index)),
                // Whatever was checked before it went down is over before it answers again.
                Power::Reinstalling if self.setup.beyond || self.flying.iter().all(|f| f.host != index) => {
                    events.push(Event::Up(index));
                }
                Power::Reinstalling => {}
            }
        }
        events
    }

    fn is_private(&self, operator: u8) -> bool {
        let Some(process) = &self.operators[usize::from(operator)].process else { return false };
        process.changed || matches!(process.at, At::Done(_) | At::Wait { why: Why::Poll, .. })
    }

    /// What an operator without a process may begin.
    pub(super) fn begins(&self, operator: u8) -> Vec<Begin> {
        let me = &self.operators[usize::from(operator)];
        let hosts = || (0..).zip(&self.hosts);
        if let Some((identity, progress)) = &me.kept {
            if progress.stage == Stage::Retiring {
                return vec![Begin::Resume, Begin::GiveBack];
            }
            if progress.stage != Stage::Owned {
                return vec![Begin::Resume];
            }
            let host = &self.hosts[usize::from(World::host_of(identity))];
            let is_mine = host.ledger.as_ref().is_some_and(|paper| *paper.claim == *identity.claim);
            let is_well = is_mine && identity.names.as_ref().is_some_and(|names| *names.own == *host.name);
            let mut begins = vec![Begin::GiveBack];
            if !is_well {
                begins.push(Begin::Resume);
            }
            if self.left.reboot > 0 {
                begins.push(Begin::Reboot);
            }
            return begins;
        }
        let mut begins = Vec::new();
        let is_free = |name: &str| name.starts_with("pool-");
        let seems_free = |host: &Host| {
            (host.power != Power::Gone && is_free(&host.name))
                || host.stale.iter().any(|(name, _)| is_free(name))
        };
        for (index, _) in hosts().filter(|(_, host)| seems_free(host)) {
            if me.rounds > 0 {
                begins.push(Begin::Claim(index));
            }
            if self.left.retire > 0 {
                begins.push(Begin::Retire(index));
            }
        }
        if self.left.age > 0 {
            for (index, host) in hosts().filter(|(_, host)| host.power == Power::Up) {
                match &host.ledger {
                    Some(paper) if paper.operator != operator && paper.state == Holding::Claiming => {
                        begins.push(Begin::Reclaim(index));
                    }
                    None if host.name.starts_with(RETURNING) => begins.push(Begin::Finish(index)),
                    _ => {}
                }
            }
        }
        begins
    }

    /// What may come of what an operator does next.
    fn steps(&self, operator: u8, events: &mut Vec<Event>) {
        let Some(process) = &self.operators[usize::from(operator)].process else { return };
        let host = &self.hosts[usize::from(World::host_of(&process.who))];
        let mut add = |outcome| events.push(Event::Step(operator, outcome));
        let is_up = host.power == Power::Up;
        match &process.at {
            At::Look | At::Check(_) => {
                add(Outcome::Plain);
                if self.left.lost > 0 && is_up {
                    add(Outcome::Vain);
                }
            }
            At::Ledger(change) => {
                add(Outcome::Plain);
                if self.left.lost > 0 && is_up {
                    add(Outcome::Vain);
                    add(Outcome::Unanswered);
                }
                if self.setup.torn
                    && matches!(change, Change::Create(_))
                    && host.ledger.is_none()
                    && self.left.crash > 0
                {
                    add(Outcome::Torn);
                }
            }
            At::Read(_) => {
                add(Outcome::Plain);
                for index in 0..host.stale.len() {
                    add(Outcome::Stale(u8::try_from(index).unwrap()));
                }
            }
            At::Send(write, _) => {
                add(Outcome::Plain);
                if self.left.stale > 0 && is_shown(write) {
                    add(Outcome::Staling);
                }
                if self.left.lost > 0 {
                    add(Outcome::Unanswered);
                }
                if self.left.late > 0 {
                    add(Outcome::Late);
                }
            }
            At::Scrub => {
                add(Outcome::Plain);
                if self.left.dirty > 0 {
                    add(Outcome::Fails);
                }
            }
            At::Wait { why: Why::Poll, .. } | At::Done(_) => add(Outcome::Plain),
            At::Wait { .. } => {
                if self.may_end_wait(operator) {
                    add(Outcome::Plain);
                }
            }
        }
    }
}

/// Whether the vendor may go on for a while to show what was so before a request.
fn is_shown(write: &Write) -> bool {
    matches!(write, Write::Rename(_) | Write::Delete)
}

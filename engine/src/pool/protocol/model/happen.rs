//! What comes of an event.

use std::sync::Arc;

use super::super::Now;
use super::super::command::{Answer, Command, End, Page, Seen, Shown, Why, Wrote};
use super::super::machine::{At, Process};
use super::super::notes::{Identity, Method, Progress, Record, Stage, Write};
use super::event::{Begin, Event, Outcome, Violation};
use super::world::{FREE, Flying, NOW, Operator, Paper, Power, World, number};
use crate::host::Holding;
use crate::pool::{Sent, Status};
use crate::resource::Error;

impl World {
    /// Lets something happen.
    pub(super) fn happen(&mut self, event: Event) -> Result<(), Violation> {
        match event {
            Event::Start(operator, begin) => self.start(operator, begin),
            Event::Step(operator, outcome) => self.step(operator, outcome)?,
            Event::Crash(operator) => {
                self.left.crash -= 1;
                self.die(operator);
            }
            Event::Land(index, is_staling) => {
                let flying = self.flying.remove(usize::from(index));
                if is_staling {
                    self.left.stale -= 1;
                }
                let awaited = is_staling.then(|| flying.awaited & self.holding());
                self.effect(flying.operator, flying.host, &flying.write, awaited)?;
            }
            Event::Drop(index) => {
                self.flying.remove(usize::from(index));
            }
            Event::Fresh(host) => self.hosts[usize::from(host)].stale.clear(),
            Event::Up(host) => self.come_up(host),
            Event::Console(host) => {
                self.left.console -= 1;
                self.hosts[usize::from(host)].power = Power::Reinstalling;
            }
        }
        self.check()
    }

    fn die(&mut self, operator: u8) {
        self.operators[usize::from(operator)].process = None;
        self.operators[usize::from(operator)].awaited = 0;
        self.forget_waiter(operator);
    }

    fn come_up(&mut self, index: u8) {
        let host = &mut self.hosts[usize::from(index)];
        if host.power == Power::Reinstalling {
            host.epoch += 1;
            host.ledger = None;
            host.is_used = false;
            let server = number(index);
            for operator in &mut self.operators {
                if operator.process.as_ref().is_some_and(|process| process.who.server == server) {
                    operator.expire();
                }
            }
        }
        self.hosts[usize::from(index)].power = Power::Up;
    }

    fn start(&mut self, operator: u8, begin: Begin) {
        let rules = self.setup.rules.clone();
        let method: Method = self.setup.method;
        let record = || -> Record { self.record(operator).unwrap() };
        let process = match begin {
            Begin::Claim(host) => Process::claim(self.identity(operator, host), rules, NOW),
            Begin::Resume => Process::resume(record(), rules, NOW),
            Begin::GiveBack => Process::give_back(record(), method, rules, NOW),
            Begin::Reboot => Process::reboot(record(), rules, NOW),
            Begin::Retire(host) => Process::retire(self.identity(operator, host), rules, NOW),
            Begin::Finish(host) => {
                let left = self.hosts[usize::from(host)].name.clone();
                Process::finish(self.identity(operator, host), &left, rules, NOW)
            }
            Begin::Reclaim(host) => {
                let from = self.hosts[usize::from(host)].ledger.as_ref().unwrap().claim.to_string();
                Process::reclaim(self.identity(operator, host), from, rules, NOW)
            }
        };
        match begin {
            Begin::Reboot => self.left.reboot -= 1,
            Begin::Retire(_) => self.left.retire -= 1,
            Begin::Finish(_) | Begin::Reclaim(_) => self.left.age -= 1,
            _ => {}
        }
        self.operators[usize::from(operator)].process = Some(process);
    }

    fn step(&mut self, operator: u8, outcome: Outcome) -> Result<(), Violation> {
        let at = usize::from(operator);
        match outcome {
            Outcome::Vain | Outcome::Unanswered => self.left.lost -= 1,
            Outcome::Late => self.left.late -= 1,
            Outcome::Staling => self.left.stale -= 1,
            Outcome::Fails => self.left.dirty -= 1,
            Outcome::Torn => self.left.crash -= 1,
            Outcome::Plain | Outcome::Stale(_) => {}
        }
        let Some(mut process) = self.operators[at].process.take() else { return Ok(()) };
        let host = World::host_of(&process.who);
        let mut now: Now = NOW;
        let answer = match process.command(NOW) {
            Command::Journal(_) => {
                self.keep(operator, &process);
                Answer::Kept
            }
            Command::Look { .. } => Answer::Looked(self.look(host, outcome)),
            command @ (Command::Create { .. }
            | Command::Mark { .. }
            | Command::Remove { .. }
            | Command::Take { .. }) => {
                if outcome == Outcome::Torn {
                    let paper = self.paper(operator, &process.who.claim, Holding::Claiming, None);
                    self.hosts[usize::from(host)].ledger = Some(Paper { is_torn: true, ..paper });
                    self.die(operator);
                    return Ok(());
                }
                let is_done =
                    outcome != Outcome::Vain && self.write_ledger(operator, host, &process, &command);
                Answer::Wrote(match outcome {
                    Outcome::Plain if self.hosts[usize::from(host)].power != Power::Up => Wrote::Unknown,
                    Outcome::Plain if is_done => Wrote::Done,
                    Outcome::Plain => Wrote::Not,
                    _ => Wrote::Unknown,
                })
            }
            Command::Read => Answer::Read(self.read(host, outcome)),
            Command::Send(write) => {
                let error = || Error::permanent("no answer");
                Answer::Sent(match outcome {
                    Outcome::Late => {
                        // It is over as soon as its check would be.
                        let awaited = self.operators[at].awaited;
                        self.flying.push(Flying { operator, host, write, awaited });
                        Sent::Unsettled(error())
                    }
                    _ => {
                        let awaited = (outcome == Outcome::Staling).then_some(0);
                        let is_gone = self.hosts[usize::from(host)].power == Power::Gone;
                        let is_taken = self.effect(operator, host, &write, awaited)?;
                        match outcome {
                            Outcome::Unanswered => Sent::Unsettled(error()),
                            _ if is_gone => Sent::Gone,
                            _ if is_taken => Sent::Taken,
                            _ => Sent::Busy(error()),
                        }
                    }
                })
            }
            Command::Scrub => {
                let host = &mut self.hosts[usize::from(host)];
                let is_mine = host.ledger.as_ref().is_some_and(|paper| *paper.claim == *process.who.claim);
                let is_clean = outcome == Outcome::Plain && is_mine && host.power == Power::Up;
                host.is_used &= !is_clean;
                Answer::Scrubbed(is_clean)
            }
            Command::Wait { until, why } => {
                if why != Why::Poll {
                    self.end_wait(operator);
                }
                now.clock = until;
                Answer::Waited
            }
            Command::Done(_) => return Ok(()),
        };
        let waits = |process: &Process| matches!(process.at, At::Wait { why: Why::Settle | Why::Hold, .. });
        let (was_waiting, had_checked) = (waits(&process), matches!(process.at, At::Send(..)));
        process.answer(answer, now);
        let began = waits(&process) && !was_waiting;
        let has_checked = matches!(process.at, At::Send(..));
        self.operators[at].process = Some(process);
        if began {
            self.begin_wait(operator);
        }
        if has_checked != had_checked {
            self.operators[at].awaited = 0;
        }
        Ok(())
    }

    /// The record outlives a crash from here on, until it is closed.
    fn keep(&mut self, operator: u8, process: &Process) {
        let me = &mut self.operators[usize::from(operator)];
        let is_closed = process.progress.stage == Stage::Closed;
        if is_closed && matches!(process.at, At::Done(End::Returned { .. })) && me.rounds > 0 {
            me.rounds -= 1;
        }
        me.kept = (!is_closed).then(|| (process.who.clone(), process.progress.clone()));
    }

    fn look(&self, host: u8, outcome: Outcome) -> Seen {
        let host = &self.hosts[usize::from(host)];
        if host.power != Power::Up || outcome == Outcome::Vain {
            return Seen::Unreachable;
        }
        let ledger = match &host.ledger {
            None => Page::Empty,
            Some(paper) if paper.is_torn => Page::Unreadable,
            Some(Paper { claim, state, .. }) => {
                Page::Ledger { claim: claim.to_string(), epoch: number(host.epoch), state: *state }
            }
        };
        Seen::Host { epoch: number(host.epoch), ledger }
    }

    fn read(&self, host: u8, outcome: Outcome) -> Shown {
        let host = &self.hosts[usize::from(host)];
        let name = match outcome {
            Outcome::Stale(index) => &host.stale[usize::from(index)].0,
            _ => &host.name,
        };
        let status = match host.power {
            // What is old was ready.
            Power::Gone if !matches!(outcome, Outcome::Stale(_)) => return Shown::Gone,
            Power::Gone | Power::Up => Status::Ready,
            Power::Rebooting => Status::Busy("rebooting".to_owned()),
            Power::Reinstalling => Status::Reinstalling,
        };
        Shown::Server { name: name.to_string(), status }
    }

    fn paper(&self, operator: u8, claim: &str, state: Holding, taken_from: Option<u8>) -> Paper {
        Paper { operator, claim: claim.into(), state, taken_from, is_torn: false }
    }

    /// Changes a ledger, and says whether it did. The host compares, as the command says.
    fn write_ledger(&mut self, operator: u8, host: u8, process: &Process, command: &Command) -> bool {
        let claim = &process.who.claim;
        let made = |state, taken_from| self.paper(operator, claim, state, taken_from);
        let host = &self.hosts[usize::from(host)];
        let epoch = number(host.epoch);
        if host.power != Power::Up {
            return false;
        }
        let is_mine = host.ledger.as_ref().is_some_and(|paper| !paper.is_torn && *paper.claim == **claim);
        let after = match (command, &host.ledger) {
            (Command::Create { epoch: pin, state }, None) if *pin == epoch => Some(made(*state, None)),
            (Command::Mark { epoch: pin, state }, Some(paper)) if *pin == epoch && is_mine => {
                Some(Paper { state: *state, ..paper.clone() })
            }
            (Command::Remove { epoch: pin }, Some(_)) if *pin == epoch && is_mine => None,
            (Command::Take { epoch: pin, from }, Some(paper))
                if *pin == epoch && *paper.claim == **from && paper.state == Holding::Claiming =>
            {
                Some(made(Holding::Returning, Some(paper.operator)))
            }
            _ => return false,
        };
        let index = usize::from(World::host_of(&process.who));
        let host = &mut self.hosts[index];
        host.is_used |= after.as_ref().is_some_and(|paper| paper.state == Holding::Owned);
        host.ledger = after;
        true
    }

    /// A request has its effect, and says whether it had one. An old name may stay visible, for those who wait not long enough.
    fn effect(
        &mut self,
        operator: u8,
        host: u8,
        write: &Write,
        stale: Option<u8>,
    ) -> Result<bool, Violation> {
        let is_rename = matches!(write, Write::Rename(_));
        let power = self.hosts[usize::from(host)].power;
        if power == Power::Gone || !is_rename && power != Power::Up {
            return Ok(false);
        }
        if !self.setup.beyond && self.is_anothers(operator, host, write) {
            return Err(Violation::Touched(write.clone()));
        }
        let host = &mut self.hosts[usize::from(host)];
        match write {
            Write::Rename(name) if **name == *host.name => {}
            Write::Rename(name) => {
                let old = std::mem::replace(&mut host.name, Arc::from(&**name));
                host.stale.extend(stale.map(|awaited| (old, awaited)));
            }
            Write::Reboot => host.power = Power::Rebooting,
            Write::Reinstall => host.power = Power::Reinstalling,
            Write::Delete => {
                (host.power, host.ledger) = (Power::Gone, None);
                host.stale.extend(stale.map(|awaited| (host.name.clone(), awaited)));
            }
        }
        Ok(true)
    }

    /// Whether somebody else holds a host, or has a record of it and gave it the name that is about to go. Whoever takes over by
    /// the rule of age waits for late names before it does anything, and then writes the free one; it wants nothing of a host
    /// that is deleted meanwhile.
    fn is_anothers(&self, operator: u8, index: u8, write: &Write) -> bool {
        let host = &self.hosts[usize::from(index)];
        let may_be_late = matches!(write, Write::Rename(_) | Write::Delete);
        let is_held = host.ledger.as_ref().is_some_and(|paper| {
            paper.operator != operator && !(may_be_late && paper.taken_from == Some(operator))
        });
        let is_named = |(other, them): (u8, &Operator)| {
            let is_here = |(identity, _): &(Arc<Identity>, Progress)| {
                let names = identity.names.as_ref();
                World::host_of(identity) == index && names.is_some_and(|names| names.is_ours(&host.name))
            };
            other != operator && them.kept.as_ref().is_some_and(is_here)
        };
        let replaces = match write {
            Write::Rename(name) => **name != *host.name && name != FREE && !self.setup.equal_names,
            Write::Delete => true,
            Write::Reboot | Write::Reinstall => false,
        };
        is_held || replaces && (0..).zip(&self.operators).any(is_named)
    }
}

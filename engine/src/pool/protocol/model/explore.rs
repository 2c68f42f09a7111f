//! Every order of events, each state once; and from every state the way to the goal.

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::Duration;

use super::super::notes::Stage;
use super::event::{Begin, Event, Outcome, Violation};
use super::world::{Operator, Paper, Power, World, number};
use crate::host::Ledger;
use crate::pool::books::{Ages, Asked, Books, Class, Entry, Found};
use crate::pool::sample::server;

/// How far a search went.
#[derive(Debug)]
pub(super) struct Searched {
    pub(super) states: usize,
    pub(super) events: usize,
    /// Nothing was left to look at.
    pub(super) is_complete: bool,
    /// What was found, and the events that lead there.
    pub(super) found: Option<(Violation, Vec<Event>)>,
}

/// In which order states are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Search {
    /// Nearest first: what is found is short.
    Wide,
    /// Farthest first: little is kept.
    Deep,
}

/// Looks at up to so many states.
pub(super) fn explore(start: &World, search: Search, most: usize) -> Searched {
    look_for(start, search, most, |_| true)
}

/// The same, for some violations; past others it does not look.
pub(super) fn look_for(
    start: &World,
    search: Search,
    most: usize,
    is_wanted: impl Fn(&Violation) -> bool,
) -> Searched {
    let mut queue = VecDeque::from([start.clone()]);
    let mut came: HashMap<u64, (u64, Option<Event>)> = HashMap::from([(start.fingerprint(), (0, None))]);
    let mut good = HashSet::new();
    let mut events = 0;
    let ended = |came: &HashMap<_, _>, events, is_complete, found| Searched {
        states: came.len(),
        events,
        is_complete,
        found,
    };
    while let Some(world) = if search == Search::Wide { queue.pop_front() } else { queue.pop_back() } {
        let print = world.fingerprint();
        if is_wanted(&Violation::Stuck) && !world.setup.beyond && !world.can_finish(&mut good) {
            let found = Some((Violation::Stuck, trace(&came, print)));
            return ended(&came, events, false, found);
        }
        for event in world.events() {
            events += 1;
            let mut next = world.clone();
            if let Err(violation) = next.happen(event) {
                if !is_wanted(&violation) {
                    continue;
                }
                let mut way = trace(&came, print);
                way.push(event);
                return ended(&came, events, false, Some((violation, way)));
            }
            let key = next.fingerprint();
            if came.contains_key(&key) {
                continue;
            }
            came.insert(key, (print, Some(event)));
            if came.len() >= most {
                return ended(&came, events, false, None);
            }
            queue.push_back(next);
        }
    }
    ended(&came, events, true, None)
}

fn trace(came: &HashMap<u64, (u64, Option<Event>)>, mut at: u64) -> Vec<Event> {
    let mut way = Vec::new();
    while let Some((before, Some(event))) = came.get(&at) {
        way.push(*event);
        at = *before;
    }
    way.reverse();
    way
}

/// Chance decides what happens next: one schedule, to its end. Longer than what can be searched.
pub(super) fn walk(start: &World, seed: u64) -> Result<usize, (Violation, Vec<Event>)> {
    let (mut world, mut way, mut state) = (start.clone(), Vec::new(), seed | 1);
    for _ in 0..400 {
        let events = world.events();
        if events.is_empty() {
            break;
        }
        // xorshift: the same walks every time.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let event = events[usize::try_from(state % events.len() as u64).unwrap()];
        way.push(event);
        if let Err(violation) = world.happen(event) {
            return Err((violation, way));
        }
    }
    if !world.setup.beyond && !world.can_finish(&mut HashSet::new()) {
        return Err((Violation::Stuck, way));
    }
    Ok(way.len())
}

impl World {
    /// Whether, without further faults, all claim and return what they want to, and every host is free.
    pub(super) fn can_finish(&self, good: &mut HashSet<u64>) -> bool {
        let mut world = self.clone();
        let mut way = Vec::new();
        for _ in 0..3000 {
            let print = world.fingerprint();
            if world.is_goal() || good.contains(&print) {
                good.extend(way);
                return true;
            }
            way.push(print);
            let Some(event) = world.next_without_faults(way.len()) else { return false };
            if world.happen(event).is_err() {
                return false;
            }
        }
        false
    }

    pub(super) fn is_goal(&self) -> bool {
        // Where every host was deleted nobody can want one any more.
        let are_gone = self.hosts.iter().all(|host| host.power == Power::Gone);
        let is_idle = |operator: &Operator| {
            (operator.rounds == 0 || are_gone) && operator.kept.is_none() && operator.process.is_none()
        };
        self.operators.iter().all(is_idle)
            && self.hosts.iter().all(|host| {
                let is_free = host.ledger.is_none() && host.name.starts_with("pool-");
                host.power == Power::Gone || host.power == Power::Up && is_free
            })
    }

    /// Everything gets its turn, and works.
    pub(super) fn next_without_faults(&self, turn: usize) -> Option<Event> {
        if !self.flying.is_empty() {
            return Some(Event::Drop(0));
        }
        for (index, host) in (0..).zip(&self.hosts) {
            if !host.stale.is_empty() {
                return Some(Event::Fresh(index));
            }
            if !matches!(host.power, Power::Up | Power::Gone) {
                return Some(Event::Up(index));
            }
        }
        let count = self.operators.len();
        // Whoever begins a turn does a few things in it, so that two do not wait for each other for ever.
        let first = turn / 40;
        (0..count).find_map(|offset| {
            let index = (first + offset) % count;
            let operator = u8::try_from(index).unwrap();
            let me = &self.operators[index];
            if me.process.is_some() {
                return Some(Event::Step(operator, Outcome::Plain));
            }
            let wanted = |begin: &Begin| matches!(begin, Begin::Claim(_) | Begin::Resume | Begin::GiveBack);
            let mut begins: Vec<Begin> = self.begins(operator).into_iter().filter(wanted).collect();
            // A host that somebody is busy with is not tried again and again.
            begins.retain(|begin| match begin {
                Begin::Claim(host) => self.hosts[usize::from(*host)].ledger.is_none(),
                _ => true,
            });
            begins.first().map(|begin| Event::Start(operator, *begin))
        })
    }

    /// What must be so at every moment.
    pub(super) fn check(&self) -> Result<(), Violation> {
        for (index, host) in (0_u8..).zip(&self.hosts) {
            let believes = |operator: &Operator| {
                operator.kept.as_ref().is_some_and(|(identity, progress)| {
                    let is_here = World::host_of(identity) == index && progress.stage == Stage::Owned;
                    let is_now = progress.epoch.as_deref() == Some(&*number(host.epoch));
                    let holds = host.ledger.as_ref().is_some_and(|paper| *paper.claim == *identity.claim);
                    is_here && is_now && !holds
                })
            };
            if host.power == Power::Up && self.operators.iter().any(believes) {
                return Err(Violation::TwoOwners);
            }
            if host.ledger.is_none()
                && host.is_used
                && host.name.starts_with("pool-")
                && host.power == Power::Up
            {
                return Err(Violation::Unclean);
            }
            let is_quiet = host.power == Power::Up && self.flying.iter().all(|flying| flying.host != index);
            if is_quiet && !self.setup.beyond && self.is_lost(index) {
                return Err(Violation::Lost);
            }
        }
        Ok(())
    }

    /// Whether a host is a stray in the books of everybody, or of whoever holds it.
    fn is_lost(&self, index: u8) -> bool {
        let holder = self.hosts[usize::from(index)].ledger.as_ref().map(|paper| paper.operator);
        let is_stray = |operator| self.entry(operator, index).class == Class::Stray;
        match holder {
            Some(holder) => is_stray(holder),
            None => (0..self.setup.operators).all(is_stray),
        }
    }

    /// A host in the books of an operator.
    pub(super) fn entry(&self, operator: u8, index: u8) -> Entry {
        let server = server(&number(index), &self.hosts[usize::from(index)].name);
        let records: Vec<_> = self.record(operator).into_iter().collect();
        let lineage = char::from(b'A' + operator).to_string();
        let ages = Ages { claiming: Duration::MAX, returning: Duration::MAX };
        let books = Books { lineage: &lineage, prefix: "pool-", records: &records, ages, date: 0 };
        books.entry(&server, &self.asked(index), None)
    }

    fn asked(&self, index: u8) -> Asked {
        let host = &self.hosts[usize::from(index)];
        let epoch = number(host.epoch);
        let found = match &host.ledger {
            None => Found::Nothing,
            Some(Paper { is_torn: true, .. }) => Found::Unreadable,
            Some(Paper { operator, claim, state, .. }) => Found::Ledger(Ledger {
                lineage: char::from(b'A' + operator).to_string(),
                slot: "fleet.a[0]".to_owned(),
                claim: claim.to_string(),
                fence: 1,
                epoch: epoch.clone(),
                state: *state,
                since: String::new(),
                by: String::new(),
            }),
        };
        Asked::Answered { epoch, found }
    }
}

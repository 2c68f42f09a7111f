//! Hosts, their vendor, and operators who run the protocol's process.

use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use super::super::machine::{At, Process};
use super::super::notes::{Identity, Method, Names, Progress, Record, Write};
use super::super::{Now, Rules, Why};
use crate::host::Holding;

/// What a run of the model is about.
#[derive(Clone, Debug)]
pub(super) struct Setup {
    pub(super) operators: u8,
    pub(super) hosts: u8,
    /// How often each operator claims a host and gives it back.
    pub(super) rounds: u8,
    pub(super) method: Method,
    /// All operators call their host the same.
    pub(super) equal_names: bool,
    /// A request may have its effect after the host came back from a reinstall: later than G.
    pub(super) beyond: bool,
    /// Ledgers are made first and written afterwards.
    pub(super) torn: bool,
    pub(super) rules: Arc<Rules>,
    pub(super) faults: Faults,
}

/// How often each fault may still happen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Faults {
    /// An operator dies.
    pub(super) crash: u8,
    /// An answer gets lost, with or without the effect.
    pub(super) lost: u8,
    /// A request has its effect later, or never.
    pub(super) late: u8,
    /// The vendor shows an old name for a while.
    pub(super) stale: u8,
    /// Somebody reinstalls a host from the vendor's console.
    pub(super) console: u8,
    /// Something is left alone for so long that it counts as left behind.
    pub(super) age: u8,
    /// An operator restarts its host.
    pub(super) reboot: u8,
    /// A host does not become clean.
    pub(super) dirty: u8,
    /// An operator wants a free host deleted.
    pub(super) retire: u8,
}

/// Everything at one moment.
#[derive(Clone)]
pub(super) struct World {
    pub(super) setup: Arc<Setup>,
    pub(super) hosts: Vec<Host>,
    pub(super) operators: Vec<Operator>,
    pub(super) flying: Vec<Flying>,
    pub(super) left: Faults,
}

#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Host {
    pub(super) epoch: u8,
    pub(super) power: Power,
    pub(super) ledger: Option<Paper>,
    pub(super) name: Arc<str>,
    /// What the vendor may still show, and who waits for it to be over.
    pub(super) stale: Vec<(Arc<str>, u8)>,
    /// Somebody owned it since it was last made clean.
    pub(super) is_used: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Power {
    Up,
    Rebooting,
    Reinstalling,
    /// It was deleted, and does not come back.
    Gone,
}

/// What lies where the ledger does.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Paper {
    pub(super) operator: u8,
    pub(super) claim: Arc<str>,
    pub(super) state: Holding,
    /// From whom it was taken over by the rule of age.
    pub(super) taken_from: Option<u8>,
    pub(super) is_torn: bool,
}

#[derive(Clone)]
pub(super) struct Operator {
    /// What outlives a crash.
    pub(super) kept: Option<(Arc<Identity>, Progress)>,
    pub(super) process: Option<Process>,
    pub(super) rounds: u8,
    /// Who waits until its check is void.
    pub(super) awaited: u8,
}

/// A request without an answer.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Flying {
    pub(super) operator: u8,
    pub(super) host: u8,
    pub(super) write: Write,
    /// Who waits for it to be over.
    pub(super) awaited: u8,
}

/// All clocks stand still: only the order of things matters.
pub(super) const NOW: Now = Now { clock: Duration::from_secs(1_000_000), date: 0 };
pub(super) const FREE: &str = "pool-x";

/// Names that are often needed.
pub(super) fn number(at: u8) -> String {
    at.to_string()
}

impl World {
    pub(super) fn new(setup: Setup) -> World {
        let host = Host {
            epoch: 0,
            power: Power::Up,
            ledger: None,
            name: FREE.into(),
            stale: Vec::new(),
            is_used: false,
        };
        let operator = Operator { kept: None, process: None, rounds: setup.rounds, awaited: 0 };
        World {
            hosts: vec![host; usize::from(setup.hosts)],
            operators: vec![operator; usize::from(setup.operators)],
            flying: Vec::new(),
            left: setup.faults,
            setup: Arc::new(setup),
        }
    }

    /// Who an operator is to a host, with a claim that nothing in the world knows.
    pub(super) fn identity(&self, operator: u8, host: u8) -> Identity {
        let letter = char::from(b'A' + operator);
        let is_known = |claim: &str| {
            let ends = |name: &str| name.ends_with(claim);
            let mentions = |identity: &Identity| {
                let names = identity.names.as_ref();
                identity.claim == claim || names.is_some_and(|names| ends(&names.returning))
            };
            self.hosts.iter().any(|host| {
                ends(&host.name)
                    || host.stale.iter().any(|(name, _)| ends(name))
                    || host.ledger.as_ref().is_some_and(|paper| *paper.claim == *claim)
            }) || self.flying.iter().any(|flying| matches!(&flying.write, Write::Rename(name) if ends(name)))
                || self.operators.iter().any(|other| {
                    other.kept.as_ref().is_some_and(|(identity, _)| mentions(identity))
                        || other.process.as_ref().is_some_and(|process| mentions(&process.who))
                })
        };
        let mut claims = (0_u8..).map(|number| format!("{letter}{number}"));
        let claim = claims.find(|claim| !is_known(claim)).unwrap_or_default();
        let own = if self.setup.equal_names { "runner".to_owned() } else { format!("runner-{letter}") };
        let names = Names {
            own,
            returning: format!("returning-{claim}"),
            free: FREE.to_owned(),
            prefix: "pool-".to_owned(),
        };
        Identity {
            server: number(host),
            lineage: letter.to_string(),
            slot: "fleet.a[0]".to_owned(),
            claim,
            names: Some(names),
        }
    }

    /// The record that an operator kept.
    pub(super) fn record(&self, operator: u8) -> Option<Record> {
        let (identity, progress) = self.operators[usize::from(operator)].kept.as_ref()?;
        Some(Record { identity: (**identity).clone(), progress: progress.clone() })
    }

    pub(super) fn host_of(identity: &Identity) -> u8 {
        identity.server.parse().unwrap()
    }

    /// An operator begins to wait: whatever is under way now is over before that wait is.
    pub(super) fn begin_wait(&mut self, waiter: u8) {
        let bit = 1 << waiter;
        for flying in &mut self.flying {
            flying.awaited |= bit;
        }
        for host in &mut self.hosts {
            for (_, awaited) in &mut host.stale {
                *awaited |= bit;
            }
        }
        for (index, other) in self.operators.iter_mut().enumerate() {
            if index != usize::from(waiter) && other.has_checked() {
                other.awaited |= bit;
            }
        }
    }

    /// Whether nothing is under way any more that was when the wait began.
    pub(super) fn may_end_wait(&self, waiter: u8) -> bool {
        let bit = 1 << waiter;
        (self.setup.beyond || self.flying.iter().all(|flying| flying.awaited & bit == 0))
            && self.hosts.iter().all(|host| host.stale.iter().all(|(_, awaited)| awaited & bit == 0))
    }

    /// A wait is over: checks from before it are void.
    pub(super) fn end_wait(&mut self, waiter: u8) {
        let bit = 1 << waiter;
        for other in &mut self.operators {
            if other.awaited & bit != 0 {
                other.expire();
            }
        }
        self.forget_waiter(waiter);
    }

    pub(super) fn forget_waiter(&mut self, waiter: u8) {
        let mask = !(1 << waiter);
        for flying in &mut self.flying {
            flying.awaited &= mask;
        }
        for host in &mut self.hosts {
            for (_, awaited) in &mut host.stale {
                *awaited &= mask;
            }
        }
        for other in &mut self.operators {
            other.awaited &= mask;
        }
    }

    /// Those who wait for as long as both a late request and a stale name last.
    pub(super) fn holding(&self) -> u8 {
        let is_holding = |operator: &Operator| {
            let at = operator.process.as_ref().map(|process| &process.at);
            matches!(at, Some(At::Wait { why: Why::Hold, .. }))
        };
        let waiting = self.operators.iter().enumerate().filter(|(_, operator)| is_holding(operator));
        waiting.map(|(index, _)| 1 << index).sum()
    }

    /// A number that two worlds share if they are the same.
    pub(super) fn fingerprint(&self) -> u64 {
        let mut hasher = foldhash::fast::FixedState::with_seed(7).build_hasher();
        self.hosts.hash(&mut hasher);
        self.left.hash(&mut hasher);
        for flying in &self.flying {
            flying.hash(&mut hasher);
        }
        for operator in &self.operators {
            (operator.rounds, operator.awaited).hash(&mut hasher);
            operator.kept.hash(&mut hasher);
            operator.process.is_some().hash(&mut hasher);
            if let Some(process) = &operator.process {
                process.who.hash(&mut hasher);
                (&process.progress, process.changed).hash(&mut hasher);
                (&process.at, &process.memory).hash(&mut hasher);
            }
        }
        hasher.finish()
    }
}

impl Operator {
    /// Whether it is about to send something that a check allowed.
    pub(super) fn has_checked(&self) -> bool {
        matches!(&self.process, Some(Process { at: At::Send(..), .. }))
    }

    /// Its check is too old to rely on.
    pub(super) fn expire(&mut self) {
        if let Some(Process { at: At::Send(_, checked), rules, .. }) = &mut self.process {
            *checked = NOW.clock - rules.lifetime - Duration::from_secs(1);
        }
    }
}

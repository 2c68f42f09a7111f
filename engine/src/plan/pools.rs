//! What a plan says of the hosts of pools behind a vendor: by which rule one is taken, which seems to be the first, and where
//! one goes back to.

use std::collections::BTreeMap;

use fleet_lang::Value;
use fleet_syntax::{Diagnostic, Severity};

use super::apart::is_quarantined;
use super::compare::Planner;
use super::{Action, Plan, Step};
use crate::address::{Address, Item};
use crate::diff::get;
use crate::expand::{Block, Expansion, Instance};
use crate::observe::Which;
use crate::pool::protocol::{Method, Surprise};
use crate::pool::{LOST, Rule};
use crate::schema::Catalog;

/// What becomes of the machines of a slot.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pooling {
    /// How the slot gets one.
    pub claim: Option<Claim>,
    /// How it gives one back.
    pub returns: Option<Return>,
    /// What somebody did to the one that it has, and claims again.
    pub surprise: Option<Surprise>,
}

/// How a slot gets a machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// The pool it comes from.
    pub pool: String,
    /// Which hosts of it are looked for, in words.
    pub rule: String,
    /// The first choice, if any could be seen: what the vendor calls it, and its name. Another one may be taken that the rule
    /// fits too.
    pub first: Option<(String, String)>,
}

/// How a slot gives a machine back.
#[derive(Clone, Debug, PartialEq)]
pub struct Return {
    /// The pool that it goes back to.
    pub pool: String,
    /// How it becomes clean.
    pub method: Method,
    /// Before this, the vendor does not let it be deleted.
    pub deletable_at: Option<String>,
}

/// How many hosts of a pool seem free, and which are planned to be taken.
#[derive(Debug, Default)]
pub(super) struct Stock {
    free: usize,
    min_free: usize,
    given: Vec<String>,
}

/// How many hosts each pool has left.
pub(super) type Stocks = BTreeMap<String, Stock>;

impl Planner<'_> {
    /// Chooses a host for a slot that has none. False if there is none to be had, which was said.
    pub(super) fn choose_host(&mut self, instance: &Instance, block: &Block<'_>) -> bool {
        let (address, pool) = (&instance.address, get(&block.settings, "pool"));
        if address.item != Item::Host || block.session.alias.is_some() || pool.is_null() {
            return true;
        }
        let name = get(&pool, "name").as_str().unwrap_or_default().to_owned();
        let seen = self.found_for(address, Which::Candidates, Some(instance.span));
        if self.blocked.contains_key(address) {
            return false;
        }
        let rule = match (&seen, Rule::in_settings(&block.settings)) {
            (_, Some(rule)) => rule.to_string(),
            (Some(seen), None) => get(seen, "rule").as_str().unwrap_or_default().to_owned(),
            (None, None) => "known after apply".to_owned(),
        };
        let Some(seen) = seen else {
            self.note_claim(address, Claim { pool: name, rule, first: None });
            return true;
        };
        let free = get(&seen, "free");
        let free = free.items().map(<[Value]>::to_vec).unwrap_or_default();
        let stock = self.stocks.entry(name.clone()).or_default();
        stock.free = free.len();
        stock.min_free = usize::try_from(number(&get(&seen, "min_free"))).unwrap_or_default();
        let text = |value: &Value, name: &str| get(value, name).as_str().unwrap_or_default().to_owned();
        // A claim that was begun may not have reached the vendor yet.
        let held = self.memory.hosts.iter().filter_map(|held| held.machine.as_deref());
        let held: Vec<&str> = held.collect();
        let is_held = |id: &str| held.contains(&id);
        let mut left = free.iter().map(|host| (text(host, "id"), text(host, "name")));
        let Some(first) = left.find(|(id, _)| !stock.given.contains(id) && !is_held(id)) else {
            let (detail, help) =
                (text(&seen, "nothing_free"), get(&seen, "help").as_str().map(str::to_owned));
            let problem = Diagnostic {
                help,
                ..Diagnostic::error(instance.span, "no host is free", format!("{detail}."))
            };
            self.block(address, &address.scope, problem.at(address.to_string()), detail.into());
            return false;
        };
        stock.given.push(first.0.clone());
        self.note_claim(address, Claim { pool: name, rule, first: Some(first) });
        true
    }

    fn note_claim(&mut self, address: &Address, claim: Claim) {
        self.plan.pools.entry(address.clone()).or_default().claim = Some(claim);
    }

    /// Says where hosts go back to, which were changed behind our back, and which pools will have few left.
    pub(super) fn finish_pools(&mut self, expansion: &Expansion<'_>, catalog: &dyn Catalog) {
        let goes = |step: &Step| matches!(step.action, Action::Destroy | Action::Replace { .. });
        let Plan { steps, deposed, pools, .. } = &mut self.plan;
        let older =
            deposed.iter().flat_map(|(address, steps)| steps.values().map(move |step| (address, step)));
        for (address, step) in steps.iter().chain(older) {
            if address.item != Item::Host {
                continue;
            }
            let recorded = self.index.get(address);
            if let Some(surprise) = recorded.and_then(|recorded| surprise(&recorded.value, step)) {
                pools.entry(address.clone()).or_default().surprise = Some(surprise);
            }
            if !goes(step) {
                continue;
            }
            // What is replaced is where it was made.
            let recorded = recorded.filter(|_| step.action != Action::Destroy);
            let session = recorded.map_or(&step.record.session, |recorded| &recorded.session);
            if is_quarantined(self.state, session) {
                continue;
            }
            let Some(rule) = expansion.settings(catalog, session).as_ref().and_then(Rule::in_settings) else {
                continue;
            };
            let deletable_at = step.before.as_ref().map(|before| get(before, "deletable_at"));
            let deletable_at = deletable_at.and_then(|at| at.as_str().map(str::to_owned));
            let returns = Return { pool: rule.pool, method: rule.method, deletable_at };
            pools.entry(address.clone()).or_default().returns = Some(returns);
        }
        for (pool, Stock { free, min_free, given }) in &self.stocks {
            let left = free - given.len();
            if left < *min_free {
                self.diagnostics.push(Diagnostic {
                    severity: Severity::Warning,
                    summary: "few hosts stay free".into(),
                    detail: format!("`pool.{pool}` will have {left} free hosts, and is to have {min_free}."),
                    span: None,
                    related: Vec::new(),
                    address: None,
                    help: Some("order more hosts for it, or give some back".into()),
                });
            }
        }
    }
}

/// What somebody did to a host of ours, if it is one of a pool behind a vendor that lost its ledger.
fn surprise(recorded: &Value, step: &Step) -> Option<Surprise> {
    let before = step.before.as_ref().filter(|before| get(before, "state").as_str() == Some(LOST))?;
    let is_same = get(before, "host_key") == get(recorded, "host_key");
    Some(if is_same { Surprise::LedgerRemoved } else { Surprise::Reinstalled })
}

fn number(value: &Value) -> i64 {
    crate::attributes::Field::from_value(value).unwrap_or_default()
}

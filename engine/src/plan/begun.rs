//! What earlier runs left open, settled by what was observed.
//!
//! A run that was cut off leaves intents. Where something was begun and is there, it is what is recorded from now on,
//! before anything else is done to it: so whatever the next run does, and wherever that is cut off, nothing is forgotten.

use std::collections::BTreeMap;

use fleet_lang::{Marks, Value};
use fleet_syntax::Diagnostics;

use super::compare::{next_number, unobservable};
use crate::address::Address;
use crate::observe::{Ask, Observed, Sight, Subject, Which};
use crate::resource::At;
use crate::schema::{Catalog, Sort};
use crate::seal::{Recipes, Sealer, sent_before};
use crate::state::{Intent, Object, Operation, Recorded, State, Write};

/// What came of the things that were begun.
#[derive(Debug, Default)]
pub(super) struct Settled {
    /// What apply writes down before it does anything, by whose it is.
    pub(super) writes: BTreeMap<Address, Write>,
    /// What could not be looked at.
    pub(super) problems: Diagnostics,
}

/// Brings the state to what it is once everything is written down that was begun and is there. What was begun and is not
/// there stays open: it may be a while until something comes of it.
pub(super) fn settle(
    state: &mut State,
    observed: &mut Observed,
    catalog: &dyn Catalog,
    sealer: &Sealer,
) -> Settled {
    let mut settled = Settled::default();
    let current: Vec<(Address, Intent)> = state
        .intents
        .iter()
        .filter(|(object, _)| object.deposed.is_none())
        .map(|(object, intent)| (object.address.clone(), intent.clone()))
        .collect();
    for (address, intent) in current {
        match intent.operation {
            Operation::Create => settled.create(&address, &intent, state, observed, catalog, sealer),
            Operation::Update => forget_what_was_sent(state, &address, &intent, catalog),
            Operation::Destroy => {}
        }
    }
    settled
}

impl Settled {
    fn create(
        &mut self,
        address: &Address,
        intent: &Intent,
        state: &mut State,
        observed: &mut Observed,
        catalog: &dyn Catalog,
        sealer: &Sealer,
    ) {
        let subject = |which| Subject { address: address.clone(), which };
        let Some(found) = self.seen(observed, &subject(Which::Begun)) else { return };
        let Some(entry) = catalog.find(Sort::Resource, &intent.record.kind) else { return };
        let mut older = None;
        if state.recorded.contains_key(address) {
            let sight = observed.get(&subject(Which::Recorded));
            let is_gone = sight.is_some_and(|sight| matches!(sight.found, Ok(None)));
            // Not having seen it is no reason to forget it.
            if !is_gone && self.seen(observed, &subject(Which::Recorded)).is_none() {
                return;
            }
            older = (!is_gone).then(|| next_number(state, address));
        }
        let sealed = intent.record.sealed.iter();
        let recipes: Recipes =
            sealed.filter_map(|(name, sealed)| Some((name.clone(), sealed.recipe.clone()?))).collect();
        let secret = as_secret_as(&intent.record, &found);
        // Nobody knows what was sent of what is never read back.
        let (value, sealed) = sealer.seal(&entry.schema, &secret, &intent.record.value, &recipes);
        let recorded = Recorded { value: value.clone(), sealed, ..intent.record.clone() };
        let write = match older {
            Some(number) => Write::Depose { address: address.clone(), number, recorded },
            None => Write::Settle { object: Object::current(address.clone()), recorded: Some(recorded) },
        };
        if !state.write(write.clone()) {
            return;
        }
        if let (Some(number), Some(sight)) = (older, observed.swap_remove(&subject(Which::Recorded))) {
            observed.insert(subject(Which::Deposed(number)), sight);
        }
        let sight = Sight { ask: Ask::Object(At::Recorded(value)), found: Ok(Some(found)) };
        observed.insert(subject(Which::Recorded), sight);
        observed.swap_remove(&subject(Which::Begun));
        self.writes.insert(address.clone(), write);
    }

    fn seen(&mut self, observed: &Observed, subject: &Subject) -> Option<Value> {
        match &observed.get(subject)?.found {
            Ok(found) => found.clone(),
            // What is on a host that cannot be seen stays open; that it cannot is said of the host.
            Err(_) if subject.address.scope.slot().is_some() => None,
            Err(error) => {
                self.problems.push(unobservable(&subject.address, error));
                None
            }
        }
    }
}

/// What is never read back may have been sent, or not: it counts as neither.
fn forget_what_was_sent(state: &mut State, address: &Address, intent: &Intent, catalog: &dyn Catalog) {
    let Some(recorded) = state.recorded.get_mut(address) else { return };
    let Some(entry) = catalog.find(Sort::Resource, &recorded.kind) else { return };
    for name in sent_before(&entry.schema, &recorded.sealed).into_keys() {
        if intent.record.sealed.get(&name) != recorded.sealed.get(&name) {
            recorded.sealed.remove(&name);
        }
    }
}

/// What was found, with what was sealed of the record marked.
fn as_secret_as(record: &Recorded, found: &Value) -> Value {
    let Some(entries) = found.entries() else { return found.clone() };
    let marked = entries.iter().map(|(name, value)| {
        let is_secret = record.sealed.contains_key(name);
        (name.clone(), if is_secret { value.clone().mark(Marks::SENSITIVE) } else { value.clone() })
    });
    Value::object(marked.collect())
}

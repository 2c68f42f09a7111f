//! The first walk: where to look.

use std::collections::BTreeSet;

use fleet_lang::Value;

use super::{kind_of, normal, session_of};
use crate::address::Address;
use crate::diff::{diff, updated};
use crate::expand::{ArgumentsOnly, Instance, Settle};
use crate::observe::{Question, Questions};
use crate::provider::Readers;
use crate::resource::At;
use crate::schema::Entry;
use crate::state::{Object, Operation, Recorded, State};

/// First walk: says what to look at. Results come from the record, so that no look waits for another.
pub struct Looker<'a> {
    state: &'a State,
    readers: &'a dyn Readers,
    questions: Questions,
    declared: BTreeSet<Address>,
}

impl<'a> Looker<'a> {
    /// Looks where the state or the configuration say.
    pub fn new(state: &'a State, readers: &'a dyn Readers) -> Looker<'a> {
        Looker { state, readers, questions: Questions::new(), declared: BTreeSet::new() }
    }

    /// Everything to look at: what is declared, and what is only remembered.
    #[must_use]
    pub fn questions(mut self) -> Questions {
        let declared = self.declared;
        self.questions.extend(remembered(self.state).filter(|(address, _)| !declared.contains(address)));
        self.questions
    }
}

impl Settle for Looker<'_> {
    fn settle(&mut self, instance: &Instance, entry: &Entry, declared: &Value) -> Value {
        let address = &instance.address;
        self.declared.insert(address.clone());
        if let Some(recorded) = self.state.recorded.get(address) {
            self.questions.insert(address.clone(), question(recorded));
            let changes = diff(&entry.schema, &recorded.value, declared);
            return updated(&entry.schema, &address.to_string(), &recorded.value, declared, &changes);
        }
        if let Some(kind) = kind_of(address)
            && let Ok(wish) = normal(self.readers, &kind, declared)
            && wish.is_wholly_known()
        {
            let at = At::Declared(wish.unmark_deep().0);
            self.questions.insert(address.clone(), Question { session: session_of(entry), kind, at });
        }
        ArgumentsOnly.settle(instance, entry, declared)
    }
}

/// Where to look for everything that is remembered, made or begun.
pub(super) fn remembered(state: &State) -> impl Iterator<Item = (Address, Question)> {
    let recorded = state.recorded.iter().map(|(address, recorded)| (address.clone(), question(recorded)));
    let begun = state.intents.iter().filter(|(object, intent)| {
        intent.operation == Operation::Create && !state.recorded.contains_key(&object.address)
    });
    recorded.chain(begun.map(|(Object { address, .. }, intent)| {
        let record = &intent.record;
        let at = At::Declared(record.value.clone());
        (address.clone(), Question { session: record.session.clone(), kind: record.kind.clone(), at })
    }))
}

fn question(recorded: &Recorded) -> Question {
    let at = At::Recorded(recorded.value.clone());
    Question { session: recorded.session.clone(), kind: recorded.kind.clone(), at }
}

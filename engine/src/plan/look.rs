//! The first walk: where to look.
//!
//! Results come from the record, so that no look waits for another. Only data that decides what else to look at takes
//! another round.

use std::collections::{BTreeMap, BTreeSet};

use fleet_lang::Value;
use foldhash::fast::FixedState;

use super::apart::is_quarantined;
use super::compare::without;
use super::make::Index;
use super::{Goal, Options, kind_of, normal, normal_data};
use crate::address::{Address, Item, ScopePath, Target};
use crate::config::model::Mode;
use crate::diff::{created, diff, get, updated};
use crate::expand::{ArgumentsOnly, Block, Expansion, Imported, Instance, Memory, Settle};
use crate::host::{inventory, ledger};
use crate::observe::{Ask, Observed, Question, Questions, Subject, SubjectOf, Which};
use crate::pool::look::CANDIDATES;
use crate::provider::{Readers, Session};
use crate::resource::At;
use crate::schema::Catalog;
use crate::state::{Object, Operation, Recorded, State};

/// First walk: says what to look at.
pub(super) struct Looker<'a> {
    state: &'a State,
    index: &'a Index<'a>,
    readers: &'a dyn Readers,
    options: &'a Options,
    /// What is remembered of hosts.
    memory: &'a Memory,
    /// What was seen in earlier rounds.
    seen: &'a Observed,
    questions: Questions,
}

impl<'a> Looker<'a> {
    /// Looks where the state or the configuration say.
    #[must_use]
    pub(super) fn new(
        state: &'a State,
        index: &'a Index<'a>,
        readers: &'a dyn Readers,
        options: &'a Options,
        memory: &'a Memory,
        seen: &'a Observed,
    ) -> Looker<'a> {
        let questions = Questions::with_capacity_and_hasher(index.len(), FixedState::default());
        Looker { state, index, readers, options, memory, seen, questions }
    }

    /// Everything that is still to be looked at: what is declared, and what is only remembered.
    #[must_use]
    pub(super) fn questions(mut self, expansion: &Expansion<'_>, catalog: &dyn Catalog) -> Questions {
        self.ask_what_is_remembered(expansion, catalog);
        let imports: Vec<&Imported> = expansion.imports.iter().chain(&self.options.imports).collect();
        for Imported { to, id, .. } in imports {
            let declared = Subject { address: to.clone(), which: Which::Declared };
            let asked = self.questions.swap_remove(&declared);
            let Some(kind) = kind_of(to).filter(|_| !self.state.recorded.contains_key(to)) else { continue };
            let instance = || expansion.instances.iter().find(|instance| instance.address == *to);
            let question = asked.or_else(|| {
                let entry = catalog.find(crate::schema::Sort::Resource, &kind)?;
                let session = instance().map(|instance| expansion.session_of(instance, entry))?;
                let settings = expansion.settings(catalog, &session).and_then(usable)?;
                Some(Question { session, settings, kind, ask: Ask::Data(Value::null()) })
            });
            if let Some(question) = question {
                let ask = Ask::Object(At::Id(id.clone()));
                self.ask(to.clone(), Which::Imported, Question { ask, ..question });
            }
        }
        self.ask_what_is_listed();
        let options = self.options;
        if !options.targets.is_empty() || !options.excludes.is_empty() {
            self.questions.retain(|_, question| {
                !question.session.is_on_host() || is_chosen(options, &question.session.scope)
            });
        }
        if options.goal == Goal::Destroy {
            // What was never made is not removed, so that nobody looks at a host of which nothing is known.
            let known = known_sessions(self.state);
            self.questions
                .retain(|_, question| !question.session.is_on_host() || known.contains(&question.session));
        }
        let seen = self.seen;
        if !seen.is_empty() {
            self.questions.retain(|subject, _| !seen.contains_key(subject));
        }
        self.questions
    }

    fn ask(&mut self, address: Address, which: Which, question: Question) {
        self.questions.insert(Subject { address, which }, question);
    }

    fn ask_what_is_remembered(&mut self, expansion: &Expansion<'_>, catalog: &dyn Catalog) {
        let state = self.state;
        let question = |record: &Recorded, ask| {
            let settings = expansion.settings(catalog, &record.session).and_then(usable)?;
            Some(Question {
                session: record.session.clone(),
                settings,
                kind: record.kind.clone(),
                ask: Ask::Object(ask),
            })
        };
        if self.options.refresh || !self.memory.replaced.is_empty() {
            for (address, record) in &state.recorded {
                if self.questions.contains_key(&SubjectOf { address, which: Which::Recorded }) {
                    continue;
                }
                let noted = noted(state, address, None, record);
                if let Some(question) = question(record, At::Recorded(noted)) {
                    self.ask(address.clone(), Which::Recorded, question);
                }
            }
        }
        for (address, older) in &state.deposed {
            for (number, record) in older.iter().filter(|(_, record)| !is_quarantined(state, &record.session))
            {
                let noted = noted(state, address, Some(*number), record);
                if let Some(question) = question(record, At::Recorded(noted)) {
                    self.ask(address.clone(), Which::Deposed(*number), question);
                }
            }
        }
        for (Object { address, deposed }, intent) in &state.intents {
            if deposed.is_none() && intent.operation == Operation::Create {
                if let Some(question) = question(&intent.record, begun(state, address, &intent.record.value))
                {
                    self.ask(address.clone(), Which::Begun, question);
                }
                // If it is there, it took the place of what is recorded; nobody forgets that without a look.
                if let Some(record) = state.recorded.get(address)
                    && let Some(question) = question(record, At::Recorded(record.value.clone()))
                {
                    self.ask(address.clone(), Which::Recorded, question);
                }
            }
        }
    }

    /// Hosts say themselves what is managed there, and who they are.
    fn ask_what_is_listed(&mut self) {
        let is_host = |subject: &Subject| {
            subject.address.item == Item::Host && matches!(subject.which, Which::Recorded | Which::Declared)
        };
        let hosts = self.questions.iter().filter(|(subject, _)| is_host(subject));
        let listed = hosts.map(|(subject, question)| {
            let ledger = get(&question.settings, "ledger");
            let ask = inventory::ask(ledger.as_str().unwrap_or(ledger::PATH));
            let kind = inventory::KIND.into();
            let has_moved =
                self.index.get(&subject.address).is_some_and(|it| has_moved(it, &question.session));
            let which = if has_moved { Which::Successor } else { Which::Inventory };
            let subject = Subject { address: subject.address.clone(), which };
            (subject, Question { kind, ask, ..question.clone() })
        });
        let listed: Vec<_> = listed.collect();
        self.questions.extend(listed);
    }

    /// Asks which machines a slot may get that has none, if it is about one.
    fn ask_for_hosts(&mut self, address: &Address, block: &Block<'_>) -> bool {
        let is_wanted = address.item == Item::Host && block.session.alias.is_none();
        if !is_wanted || get(&block.settings, "pool").is_null() {
            return false;
        }
        if let Some(settings) = usable(block.settings.clone()) {
            let (session, ask) = (block.session.clone(), Ask::Data(Value::null()));
            self.ask(
                address.clone(),
                Which::Candidates,
                Question { session, settings, kind: CANDIDATES.into(), ask },
            );
        }
        true
    }

    fn data(&mut self, instance: &Instance, block: &Block<'_>) -> Value {
        let address = &instance.address;
        let subject = Subject { address: address.clone(), which: Which::Data };
        if let Some(sight) = self.seen.get(&subject)
            && let Ok(Some(found)) = &sight.found
        {
            return found.clone();
        }
        let kind = &block.resource.kind.name;
        if let Ok(arguments) = normal_data(self.readers, kind, &instance.declared)
            && arguments.is_wholly_known()
            && let Some(settings) = usable(block.settings.clone())
        {
            let ask = Ask::Data(arguments.unmark_deep().0);
            let question = Question { session: block.session.clone(), settings, kind: kind.clone(), ask };
            self.questions.insert(subject, question);
        }
        ArgumentsOnly.settle(instance, block)
    }
}

impl Settle for Looker<'_> {
    fn memory(&self) -> &Memory {
        self.memory
    }

    fn settle(&mut self, instance: &Instance, block: &Block<'_>) -> Value {
        if block.resource.mode == Mode::Data {
            return self.data(instance, block);
        }
        let (address, declared) = (&instance.address, &instance.declared);
        let kind = block.resource.kind.name.clone();
        let settings = usable(block.settings.clone());
        let question = |settings, at| Question {
            session: block.session.clone(),
            settings,
            kind: kind.clone(),
            ask: Ask::Object(at),
        };
        if let Some(recorded) = self.index.get(address) {
            // What is on another machine is looked at there, with all else that is only remembered. Whose the machine is
            // that takes its place is asked before anything is done.
            let is_here = !has_moved(recorded, &block.session);
            if let Some(settings) = settings {
                if is_here && self.options.refresh {
                    let at = At::Recorded(noted(self.state, address, None, recorded));
                    self.ask(address.clone(), Which::Recorded, question(settings, at));
                } else if self.ask_for_hosts(address, block) {
                    // Which machine it will be is not known yet.
                } else if !is_here
                    && address.item == Item::Host
                    && let Ok(wish) = normal(self.readers, &kind, declared)
                    && wish.is_wholly_known()
                {
                    let at = At::Declared(wish.unmark_deep().0);
                    self.ask(address.clone(), Which::Declared, question(settings, at));
                }
            }
            let schema = &block.entry.schema;
            let changes = diff(schema, &recorded.value, declared, None);
            let after = updated(schema, address, &recorded.value, declared, &changes);
            return without(&recorded.sealed, address, &after);
        }
        if self.ask_for_hosts(address, block) {
            return created(&block.entry.schema, address, declared);
        }
        if let Some(settings) = settings
            && let Ok(wish) = normal(self.readers, &kind, declared)
            && wish.is_wholly_known()
        {
            let at = wished(self.state, address, wish.unmark_deep().0);
            self.ask(address.clone(), Which::Declared, question(settings, at));
        }
        created(&block.entry.schema, address, declared)
    }
}

/// The sessions of all that is recorded or was begun.
fn known_sessions(state: &State) -> BTreeSet<&Session> {
    let older = state.deposed.values().flat_map(BTreeMap::values);
    let begun = state.intents.values().map(|intent| &intent.record);
    state.recorded.values().chain(older).chain(begun).map(|record| &record.session).collect()
}

/// Whether anything on the host of a slot is part of the plan: nobody else's host is connected to.
fn is_chosen(options: &Options, slot: &ScopePath) -> bool {
    let host = Address { scope: slot.clone(), item: Item::Host, key: None };
    let whole = Target { scope: slot.clone(), item: None, key: None };
    let is_excluded = options.excludes.iter().any(|target| target.covers(&host));
    let is_targeted = |target: &Target| target.covers(&host) || whole.includes(target);
    !is_excluded && (options.targets.is_empty() || options.targets.iter().any(is_targeted))
}

/// What is recorded of something, with what was noted while it was changed last: a machine that goes back is found by that.
fn noted(state: &State, address: &Address, deposed: Option<u32>, record: &Recorded) -> Value {
    let object = || Object { address: address.clone(), deposed };
    let intent = (address.item == Item::Host).then(|| state.intents.get(&object())).flatten();
    let noted = intent.filter(|intent| {
        intent.operation != Operation::Create && !get(&intent.record.value, "journal").is_null()
    });
    noted.map_or_else(|| record.value.clone(), |intent| intent.record.value.clone())
}

/// Where to look for what was begun: it is none of those that are known.
pub(crate) fn begun(state: &State, address: &Address, wish: &Value) -> At<Value> {
    let older = state.deposed.get(address).into_iter().flat_map(|older| older.values());
    let known = state.recorded.get(address).into_iter().chain(older);
    At::Begun { wish: wish.clone(), except: known.map(|record| record.value.clone()).collect() }
}

/// Where to look for what is declared and not recorded: it is none of those that are to go, whatever they are called.
pub(crate) fn wished(state: &State, address: &Address, wish: Value) -> At<Value> {
    if state.deposed.contains_key(address) { begun(state, address, &wish) } else { At::Declared(wish) }
}

/// Whether something is on another machine than the one that its slot is to have.
pub(super) fn has_moved(recorded: &Recorded, session: &Session) -> bool {
    session.is_on_host() && recorded.session.is_on_host() && recorded.session.alias != session.alias
}

/// Settings that can be used by now.
pub(crate) fn usable(settings: Value) -> Option<Value> {
    settings.is_wholly_known().then(|| settings.unmark_deep().0)
}

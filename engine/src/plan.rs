//! Stage 5, plan: declared × recorded × observed → steps with their reasons. Pure.
//!
//! The configuration is walked twice: [`Looker`] finds out where to look, and once that was observed, [`Planner`]
//! compares. The plan is what runs: the same value is shown, approved and executed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use fleet_lang::{Marks, Value};
use fleet_syntax::{Diagnostic, Diagnostics};
use petgraph::graph::NodeIndex;

use crate::address::{Address, Item};
use crate::attributes::Misfit;
use crate::diff::{Change, created, diff, get, updated};
use crate::encode::to_json;
use crate::expand::{ArgumentsOnly, Expansion, Instance, Settle};
use crate::graph::{Graph, Vertex};
use crate::observe::{Observed, Question, Questions};
use crate::provider::{Readers, Session};
use crate::resource::At;
use crate::schema::Entry;
use crate::state::{Operation, Recorded, State};

/// What will be done. Steps that keep things as they are stand in it too.
#[derive(Clone, Debug, Default, PartialEq)]
#[must_use]
pub struct Plan {
    /// The steps by address.
    pub steps: BTreeMap<Address, Step>,
    /// The order of the removals, which come last: each thing goes before what it depended on.
    pub removals: Vec<Address>,
}

/// What will be done at one address.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// What.
    pub action: Action,
    /// Why.
    pub why: Why,
    /// The record as it is or will be; its value is unknown where only apply can tell.
    pub record: Recorded,
    /// What is there; wholly known.
    pub before: Option<Value>,
    /// What differs.
    pub changes: Vec<Change>,
    /// What it depended on when it was last recorded.
    pub depended_on: Vec<Address>,
}

/// What is done to a thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Action {
    /// Nothing: it is as it should be.
    Keep,
    /// It is as it should be; only the record is brought up to date.
    Record,
    /// It is made.
    Create,
    /// It is changed in place.
    Update,
    /// It is removed and made anew.
    Replace,
    /// It is removed.
    Destroy,
    /// It is gone, or is another's now: only the record is removed.
    Forget,
}

/// The reason of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// The configuration and reality say so.
    Declared,
    /// It was recorded, but is not there any more.
    Vanished,
    /// It is there without having been recorded.
    Found,
    /// It does not stand in the configuration any more.
    NotDeclared,
    /// Everything is to go.
    Asked,
    /// What was recorded here is the same thing as what is declared there.
    SameAs(Address),
}

/// First walk: says what to look at. Results come from the record, so that no look waits for another.
pub struct Looker<'a> {
    state: &'a State,
    readers: &'a dyn Readers,
    questions: Questions,
    declared: BTreeSet<Address>,
}

/// Second walk: compares each instance with what was observed.
pub struct Planner<'a> {
    state: &'a State,
    observed: &'a Observed,
    readers: &'a dyn Readers,
    steps: BTreeMap<Address, Step>,
    diagnostics: Diagnostics,
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

impl<'a> Planner<'a> {
    /// Compares with what was observed.
    pub fn new(state: &'a State, observed: &'a Observed, readers: &'a dyn Readers) -> Planner<'a> {
        Planner { state, observed, readers, steps: BTreeMap::new(), diagnostics: Diagnostics::new() }
    }

    /// The plan, once all of the configuration was walked.
    pub fn plan(mut self, expansion: &Expansion<'_>, graph: &Graph) -> (Plan, Diagnostics) {
        for (instance, vertex) in expansion.instances.iter().zip(&graph.instances) {
            if let Some(step) = self.steps.get_mut(&instance.address) {
                step.record.depends_on = dependencies(expansion, graph, *vertex);
            }
        }
        let found = self.found();
        let waits =
            |address: &Address| expansion.deferred.iter().any(|block| stands_in(address, &block.address));
        for (address, question) in remembered(self.state) {
            if !self.steps.contains_key(&address) && !waits(&address) {
                let same = self.sight(&address).and_then(|seen| found.get(&key(&question.kind, &seen)?));
                let why = same.map_or(Why::NotDeclared, |other| Why::SameAs(other.clone()));
                self.remove(address, why);
            }
        }
        (self.finish(), self.diagnostics)
    }

    /// The plan that removes everything that is remembered.
    pub fn removal(mut self) -> (Plan, Diagnostics) {
        for (address, _) in remembered(self.state) {
            self.remove(address, Why::Asked);
        }
        (self.finish(), self.diagnostics)
    }

    fn finish(&mut self) -> Plan {
        let steps = std::mem::take(&mut self.steps);
        let removals = removal_order(&steps);
        Plan { steps, removals }
    }

    /// What was found at an address; a look that failed is reported and counts as nothing.
    fn sight(&self, address: &Address) -> Option<Value> {
        self.observed.get(address)?.found.as_ref().ok()?.clone()
    }

    /// Things that are there without having been recorded, and who declares them.
    fn found(&self) -> BTreeMap<(Arc<str>, String), Address> {
        let found = self.steps.iter().filter(|(_, step)| step.why == Why::Found);
        found
            .filter_map(|(address, step)| {
                Some((key(&step.record.kind, step.before.as_ref()?)?, address.clone()))
            })
            .collect()
    }

    fn remove(&mut self, address: Address, why: Why) {
        let state = self.state;
        let recorded =
            state.recorded.get(&address).or_else(|| state.intents.get(&address).map(|i| &i.record));
        let recorded = recorded.expect("only what is remembered is removed").clone();
        if let Some(error) = self.observed.get(&address).and_then(|sight| sight.found.as_ref().err()) {
            self.diagnostics.push(unobservable(&address, error));
        }
        let before = self.sight(&address);
        let action = match (&why, &before) {
            (Why::SameAs(_), _) | (_, None) => Action::Forget,
            _ => Action::Destroy,
        };
        let why = if before.is_none() { Why::Vanished } else { why };
        let depended_on = recorded.depends_on.clone();
        let step = Step { action, why, record: recorded, before, changes: Vec::new(), depended_on };
        self.steps.insert(address, step);
    }

    fn complain(&mut self, instance: &Instance, summary: &str, detail: String) {
        self.diagnostics
            .push(Diagnostic::error(instance.span, summary, detail).at(instance.address.to_string()));
    }

    /// What is there, and whether we know it from the record.
    fn seen(&mut self, instance: &Instance, wish: &Value) -> Option<Value> {
        let sight = self.observed.get(&instance.address)?;
        match &sight.found {
            Err(error) => {
                self.diagnostics.push(unobservable(&instance.address, error));
                None
            }
            // A wish that was not yet known when we looked, or not like this, says nothing about this place.
            Ok(_) if matches!(&sight.at, At::Declared(at) if *at != wish.clone().unmark_deep().0) => None,
            Ok(found) => found.clone(),
        }
    }
}

impl Settle for Planner<'_> {
    fn settle(&mut self, instance: &Instance, entry: &Entry, declared: &Value) -> Value {
        let address = &instance.address;
        let Some(kind) = kind_of(address) else {
            let detail = "This version of fleet plans resources behind an API only.".to_owned();
            self.complain(instance, "cannot be planned yet", detail);
            return ArgumentsOnly.settle(instance, entry, declared);
        };
        let wish = normal(self.readers, &kind, declared).unwrap_or_else(|Misfit { attribute, message }| {
            self.complain(instance, "this value cannot be", format!("`{attribute}`: {message}."));
            declared.clone()
        });
        if wish.marks_deep().contains(Marks::SENSITIVE) {
            let detail = "A sensitive value would be written to the state.".to_owned();
            self.complain(instance, "sensitive values cannot be kept yet", detail);
        }
        let recorded = self.state.recorded.get(address);
        let before = self.seen(instance, &wish);
        let schema = &entry.schema;
        let name = address.to_string();
        let changes = before.as_ref().map_or_else(Vec::new, |before| diff(schema, before, &wish));
        let (action, after) = match &before {
            None => (Action::Create, created(schema, &name, &wish)),
            Some(before) if changes.is_empty() => {
                let known = recorded.is_some_and(|recorded| recorded.value == *before)
                    && !self.state.intents.contains_key(address);
                (if known { Action::Keep } else { Action::Record }, before.clone())
            }
            Some(_) if changes.iter().any(|change| change.forces_replace) => {
                (Action::Replace, created(schema, &name, &wish))
            }
            Some(before) => (Action::Update, updated(schema, &name, before, &wish, &changes)),
        };
        if action == Action::Replace && recorded.is_none() {
            let detail =
                "It is there already, was not made by fleet, and would have to be replaced.".to_owned();
            self.complain(instance, "something is in the way", detail);
        }
        let why = match (recorded, &before) {
            (Some(_), None) => Why::Vanished,
            (None, Some(_)) => Why::Found,
            _ => Why::Declared,
        };
        let record = Recorded {
            session: session_of(entry),
            kind,
            version: entry.version,
            value: after.clone(),
            depends_on: Vec::new(),
        };
        let depended_on = recorded.map_or_else(Vec::new, |recorded| recorded.depends_on.clone());
        let step = Step { action, why, record, before, changes, depended_on };
        self.steps.insert(address.clone(), step);
        after
    }
}

impl Plan {
    /// Whether anything in the world will change.
    #[must_use]
    pub fn changes_anything(&self) -> bool {
        self.steps.values().any(|step| step.action.changes_the_world())
    }
}

impl Action {
    /// Whether it does more than to bring records up to date.
    #[must_use]
    pub fn changes_the_world(self) -> bool {
        matches!(self, Action::Create | Action::Update | Action::Replace | Action::Destroy)
    }
}

/// Brings a wish to its normal form, which takes all of it to be known.
pub(crate) fn normal(readers: &dyn Readers, kind: &str, declared: &Value) -> Result<Value, Misfit> {
    if !declared.is_wholly_known() {
        return Ok(declared.clone());
    }
    let normal = readers.normalize(kind, &declared.clone().unmark_deep().0)?;
    let Some(entries) = normal.entries() else { return Ok(normal) };
    let marked = |(name, value): (&Arc<str>, &Value)| {
        (name.clone(), value.clone().mark(get(declared, name).marks_deep()))
    };
    Ok(Value::object(entries.iter().map(marked).collect()))
}

/// Where to look for everything that is remembered, made or begun.
pub fn remembered(state: &State) -> impl Iterator<Item = (Address, Question)> {
    let recorded = state.recorded.iter().map(|(address, recorded)| (address.clone(), question(recorded)));
    let begun = state.intents.iter().filter(|(address, intent)| {
        intent.operation == Operation::Create && !state.recorded.contains_key(*address)
    });
    recorded.chain(begun.map(|(address, intent)| {
        let record = &intent.record;
        let at = At::Declared(record.value.clone());
        (address.clone(), Question { session: record.session.clone(), kind: record.kind.clone(), at })
    }))
}

fn question(recorded: &Recorded) -> Question {
    let at = At::Recorded(recorded.value.clone());
    Question { session: recorded.session.clone(), kind: recorded.kind.clone(), at }
}

fn session_of(entry: &Entry) -> Session {
    Session { provider: entry.provider.clone(), alias: None }
}

fn kind_of(address: &Address) -> Option<Arc<str>> {
    match &address.item {
        Item::Resource(kind, _) => Some(kind.clone()),
        Item::Data(..) | Item::Host => None,
    }
}

/// The instances that an instance depends on, directly or through values and whole blocks.
fn dependencies(expansion: &Expansion<'_>, graph: &Graph, of: NodeIndex) -> Vec<Address> {
    let (mut seen, mut left) = (BTreeSet::from([of]), vec![of]);
    let mut found = BTreeSet::new();
    while let Some(vertex) = left.pop() {
        for next in graph.edges.neighbors(vertex).filter(|next| seen.insert(*next)) {
            match graph.edges[next] {
                Vertex::Instance(at) => _ = found.insert(expansion.instances[at as usize].address.clone()),
                Vertex::Whole(..) | Vertex::Collected(_) => left.push(next),
            }
        }
    }
    found.into_iter().collect()
}

/// Whether an address is an instance of a block, or stands in an instance of it.
fn stands_in(address: &Address, block: &str) -> bool {
    let text = address.to_string();
    text.strip_prefix(block).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// What tells one observed thing from another.
fn key(kind: &Arc<str>, observed: &Value) -> Option<(Arc<str>, String)> {
    Some((kind.clone(), to_json(observed).ok()?.to_string()))
}

fn unobservable(address: &Address, error: &crate::resource::Error) -> Diagnostic {
    let mut detail = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        detail = format!("{detail}: {error}");
        cause = error.source();
    }
    Diagnostic {
        severity: fleet_syntax::Severity::Error,
        summary: "cannot be observed".into(),
        detail: format!("{detail}."),
        span: None,
        related: Vec::new(),
        address: Some(address.to_string()),
        help: None,
    }
}

/// Orders removals so that each thing goes before what it depended on.
fn removal_order(steps: &BTreeMap<Address, Step>) -> Vec<Address> {
    let removed = |address: &Address| {
        steps.get(address).is_some_and(|step| matches!(step.action, Action::Destroy | Action::Forget))
    };
    let mut dependents: BTreeMap<&Address, usize> =
        steps.keys().filter(|address| removed(address)).map(|address| (address, 0)).collect();
    let depends_on = |address: &Address| steps[address].record.depends_on.iter().filter(|on| removed(on));
    for address in dependents.keys().copied().collect::<Vec<_>>() {
        for on in depends_on(address) {
            *dependents.get_mut(on).expect("it is removed") += 1;
        }
    }
    let mut order = Vec::with_capacity(dependents.len());
    let mut ready: Vec<&Address> =
        dependents.iter().filter(|(_, n)| **n == 0).map(|(address, _)| *address).rev().collect();
    while let Some(address) = ready.pop() {
        dependents.remove(address);
        order.push(address.clone());
        for on in depends_on(address) {
            let left = dependents.get_mut(on).expect("it has a dependent left");
            *left -= 1;
            if *left == 0 {
                ready.push(dependents.get_key_value(on).expect("just found").0);
            }
        }
    }
    // A record that depends on itself was damaged; it must not keep things from being removed.
    order.extend(dependents.into_keys().cloned());
    order
}

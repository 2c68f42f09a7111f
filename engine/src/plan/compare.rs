//! The second walk: what to do.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use fleet_lang::{Marks, Value};
use fleet_syntax::{Diagnostic, Diagnostics, Severity};
use petgraph::graph::NodeIndex;

use super::look::remembered;
use super::{Action, Plan, Step, Why, kind_of, normal, session_of};
use crate::address::{Address, Target};
use crate::attributes::Misfit;
use crate::diff::{created, diff, updated};
use crate::encode::to_json;
use crate::expand::{ArgumentsOnly, Expansion, Instance, Settle};
use crate::graph::{Graph, Vertex};
use crate::observe::Observed;
use crate::provider::Readers;
use crate::resource::{At, Error};
use crate::schema::Entry;
use crate::state::{Object, Recorded, State};

/// Second walk: compares each instance with what was observed.
pub struct Planner<'a> {
    state: &'a State,
    observed: &'a Observed,
    readers: &'a dyn Readers,
    steps: BTreeMap<Address, Step>,
    diagnostics: Diagnostics,
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
        Plan { steps, ..Plan::default() }
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
        let recorded = state
            .recorded
            .get(&address)
            .or_else(|| state.intents.get(&Object::current(address.clone())).map(|i| &i.record));
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
        let step = Step {
            action,
            why,
            record: recorded,
            before,
            changes: Vec::new(),
            drift: Vec::new(),
            moved_from: None,
            declared_at: None,
        };
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
                    && !self.state.intents.contains_key(&Object::current(address.clone()));
                (if known { Action::Keep } else { Action::Record }, before.clone())
            }
            Some(_) if changes.iter().any(|change| change.forces_replace) => {
                (Action::Replace { create_first: false }, created(schema, &name, &wish))
            }
            Some(before) => (Action::Update, updated(schema, &name, before, &wish, &changes)),
        };
        if matches!(action, Action::Replace { .. }) && recorded.is_none() {
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
            sealed: BTreeMap::new(),
            depends_on: Arc::new([]),
            create_before_destroy: false,
            epoch: None,
        };
        let step = Step {
            action,
            why,
            record,
            before,
            changes,
            drift: Vec::new(),
            moved_from: None,
            declared_at: Some(instance.span),
        };
        self.steps.insert(address.clone(), step);
        after
    }
}

/// The instances that an instance depends on, directly or through values and whole blocks.
fn dependencies(expansion: &Expansion<'_>, graph: &Graph, of: NodeIndex) -> Arc<[Target]> {
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
    let target = |a: Address| Target { scope: a.scope, item: Some(a.item), key: a.key };
    found.into_iter().map(target).collect()
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

fn unobservable(address: &Address, error: &Error) -> Diagnostic {
    let mut detail = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        detail = format!("{detail}: {error}");
        cause = error.source();
    }
    Diagnostic {
        severity: Severity::Error,
        summary: "cannot be observed".into(),
        detail: format!("{detail}."),
        span: None,
        related: Vec::new(),
        address: Some(address.to_string()),
        help: None,
    }
}

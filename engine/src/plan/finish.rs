//! From the steps of what is declared to the whole plan: removals, dependencies, what was left out, outputs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use fleet_lang::{Marks, Value};
use fleet_syntax::Diagnostics;
use foldhash::fast::RandomState;
use foldhash::{HashMap, HashSet};
use petgraph::Direction;

use super::apart::is_quarantined;
use super::compare::Planner;
use super::dependencies::Dependencies;
use super::later::reach;
use super::remembered::Remembered;
use super::{Action, Deferred, Goal, OutputChange, Plan, Step, Why};
use crate::address::{Address, Item, ScopePath, Target};
use crate::encode::to_text;
use crate::expand::Expansion;
use crate::graph::Graph;
use crate::observe::{SubjectOf, Which};
use crate::provider::Session;
use crate::schema::{Catalog, Sort};
use crate::seal::{Recipes, sent_before};
use crate::state::{Operation, Recorded};

impl Planner<'_> {
    /// The plan, once all of the configuration was walked.
    pub(super) fn finish(
        mut self,
        expansion: &Expansion<'_>,
        graph: &Graph,
        catalog: &dyn Catalog,
    ) -> (Plan, BTreeMap<Address, Arc<str>>, Diagnostics) {
        self.plan.goal = self.options.goal;
        if self.options.goal == Goal::Destroy {
            // What is declared says how it was found; all of it goes.
            let data: Vec<Address> = self.plan.steps.keys().cloned().collect();
            data.iter().for_each(|address| _ = self.plan.steps.remove(address));
        } else {
            self.settle_records(expansion, graph, catalog);
        }
        if self.options.goal == Goal::Converge {
            let deferred = |block: &crate::expand::Deferred| Deferred {
                address: block.address.clone(),
                awaits: block.awaits.clone(),
            };
            self.plan.deferred = expansion.deferred.iter().map(deferred).collect();
        }
        self.create_first_behind(expansion, graph);
        self.remove_the_rest(expansion, catalog);
        self.remove_older();
        self.finish_pools(expansion, catalog);
        let older = self.plan.deposed.values_mut().flat_map(BTreeMap::values_mut);
        for step in self.plan.steps.values_mut().chain(older) {
            let entry = catalog.find(Sort::Resource, &step.record.kind);
            step.lives_in_state = entry.is_some_and(|entry| entry.lives_in_state);
        }
        if self.options.goal == Goal::Converge {
            self.plan.outputs = self.outputs(expansion);
        }
        if self.options.goal == Goal::Destroy {
            let gone = |output: &crate::state::SavedOutput| OutputChange {
                before: output.value.clone(),
                after: None,
            };
            self.plan.outputs =
                self.state.outputs.iter().map(|(name, output)| (name.clone(), gone(output))).collect();
        }
        (self.plan, self.blocked, self.diagnostics)
    }

    /// Notes dependencies, and finds the records that have to be written although nothing changes.
    fn settle_records(&mut self, expansion: &Expansion<'_>, graph: &Graph, catalog: &dyn Catalog) {
        let mut dependencies = Dependencies::new(expansion, graph);
        // All of them are asked for, in another order than that of the tree.
        let mut steps = HashMap::with_capacity_and_hasher(self.plan.steps.len(), RandomState::default());
        let mut all = std::mem::take(&mut self.plan.steps);
        steps.extend(&mut all);
        for (instance, vertex) in expansion.instances.iter().zip(&graph.instances) {
            let is_begun = self.is_begun(&instance.address);
            let Some(step) = steps.get_mut(&instance.address) else { continue };
            step.record.depends_on = dependencies.of(*vertex);
            let Some(before) = step.before.as_ref().filter(|_| step.action == Action::Keep) else { continue };
            let Some(entry) = catalog.find(Sort::Resource, &step.record.kind) else { continue };
            let (plain, mut sealed) =
                self.sealer.seal(&entry.schema, before, &step.record.value, &step.recipes);
            if step.looked {
                sealed.extend(sent_before(&entry.schema, &step.record.sealed));
            } else {
                sealed.clone_from(&step.record.sealed);
            }
            let recorded = self.index.get(&instance.address);
            let is_known = recorded.is_some_and(|recorded| {
                recorded.value == plain
                    && recorded.sealed == sealed
                    && recorded.depends_on == step.record.depends_on
                    && recorded.session == step.record.session
                    && recorded.version == step.record.version
                    && recorded.epoch == step.record.epoch
                    && recorded.create_before_destroy == step.record.create_before_destroy
            });
            step.record.sealed = sealed;
            let is_settled = !self.settled.is_empty() && self.settled.contains_key(&instance.address);
            if !is_known || is_settled || is_begun || step.moved_from.is_some() {
                step.action = Action::Record;
            }
        }
        self.plan.steps = all;
    }

    /// What is replaced last must not lose what it depends on before: that is replaced in the same way.
    fn create_first_behind(&mut self, expansion: &Expansion<'_>, graph: &Graph) {
        let create_first = Action::Replace { create_first: true };
        let is_first = |step: &Step| step.action == create_first;
        let first: Vec<&Address> =
            self.plan.steps.iter().filter(|(_, step)| is_first(step)).map(|(address, _)| address).collect();
        if first.is_empty() {
            return;
        }
        let instances = expansion.instances.iter().zip(&graph.instances);
        let vertices = instances.filter(|(i, _)| self.plan.steps.get(&i.address).is_some_and(is_first));
        let declared = reach(expansion, graph, vertices.map(|(_, vertex)| *vertex), Direction::Outgoing);
        let remembered = Remembered::new(self.state.recorded.iter());
        let rows =
            remembered.dependencies(first.into_iter().filter_map(|address| remembered.number(address)));
        let recorded = rows.into_keys().map(|row| remembered.rows[row as usize].0.clone());
        let declared = declared.into_keys().filter_map(Target::into_address);
        for address in declared.chain(recorded) {
            if let Some(step) = self.plan.steps.get_mut(&address)
                && matches!(step.action, Action::Replace { .. })
            {
                step.action = create_first;
            }
        }
    }

    /// What is remembered and not declared any more.
    fn remove_the_rest(&mut self, expansion: &Expansion<'_>, catalog: &dyn Catalog) {
        let state = self.state;
        let waits = |address: &Address| expansion.deferred.iter().any(|block| block.address.covers(address));
        let planned: HashSet<&Address> = self.plan.steps.keys().collect();
        let is_left = |address: &Address| {
            !planned.contains(address) && (self.options.goal == Goal::Destroy || !waits(address))
        };
        let left: Vec<(&Address, &Recorded)> =
            state.recorded.iter().filter(|(address, _)| is_left(address)).collect();
        let never_made = self.never_made().filter(|(address, _)| is_left(address));
        let never_made = never_made.filter(|(address, record)| {
            // What it left on its host has to be cleared before it may be forgotten, and a refresh leaves everything as it is.
            self.options.goal != Goal::RefreshOnly || !is_thing_on_host(address, record)
        });
        let never_made = never_made.map(|(address, record)| {
            let step = removal(Action::Forget, self.why_gone(address, record), record, None);
            (address.clone(), Step { moved_from: self.moved_from(address), ..step })
        });
        let never_made: Vec<(Address, Step)> = never_made.collect();
        let declared = self.declared_things(&left);
        for (address, record) in left {
            let is_reached = expansion.settings(catalog, &record.session).is_some();
            if record.session.is_on_host() && !is_reached {
                self.cannot_be_reached(address, record);
                continue;
            }
            let looked = self.observed.contains_key(&SubjectOf { address, which: Which::Recorded });
            let before = match self.found(address, Which::Recorded) {
                None if !looked => Some(record.value.clone()),
                found => found,
            };
            if self.blocked.contains_key(address) {
                continue;
            }
            let same = before.as_ref().filter(|_| !declared.is_empty()).and_then(|seen| {
                let thing = identity(&record.kind, seen)?;
                let through = |session| declared.get(&(thing.clone(), session));
                through(None).or_else(|| through(Some(record.session.clone())))
            });
            let step = match (&before, same) {
                _ if self.options.goal == Goal::RefreshOnly && before.is_some() => {
                    removal(Action::Keep, Why::NotDeclared, record, before)
                }
                (None, _) => removal(Action::Forget, self.why_gone(address, record), record, before),
                (_, Some(other)) => {
                    removal(Action::Forget, Why::SameAs(Box::new(other.clone())), record, before)
                }
                _ if self.options.goal == Goal::Destroy => {
                    removal(Action::Destroy, Why::Asked, record, before)
                }
                _ if is_released(expansion, address) => {
                    removal(Action::Forget, Why::Released, record, before)
                }
                _ => removal(Action::Destroy, Why::NotDeclared, record, before),
            };
            let moved_from = self.moved_from(address);
            self.plan.steps.insert(address.clone(), Step { moved_from, looked, ..step });
        }
        self.plan.steps.extend(never_made);
    }

    /// Why something is not there: where a run was cut off while it was at it, its host may have more to clear than can be seen.
    fn why_gone(&self, address: &Address, record: &Recorded) -> Why {
        let is_cut_off = self.options.goal != Goal::RefreshOnly && self.is_begun(address);
        let may_be_cleared = is_cut_off && is_thing_on_host(address, record) && self.has_host(address);
        if may_be_cleared { Why::CutOff } else { Why::Vanished }
    }

    /// Whether the host of something was seen, and is still ours.
    fn has_host(&self, address: &Address) -> bool {
        let Some(scope) = address.scope.slot() else { return false };
        let host = Address { scope, item: Item::Host, key: None };
        let sight = self.observed.get(&SubjectOf { address: &host, which: Which::Recorded });
        sight.is_some_and(|sight| matches!(sight.found, Ok(Some(_))))
    }

    /// What was begun, and is not there. Where nobody could look, it stays open.
    fn never_made(&self) -> impl Iterator<Item = (&Address, &Recorded)> {
        let Planner { state, observed, .. } = *self;
        let is_missing = |address: &Address| {
            let subject = SubjectOf { address, which: Which::Begun };
            observed.get(&subject).is_some_and(|sight| matches!(sight.found, Ok(None)))
        };
        let begun = state.intents.iter().filter(move |(object, intent)| {
            object.deposed.is_none()
                && intent.operation == Operation::Create
                && !state.recorded.contains_key(&object.address)
                && is_missing(&object.address)
        });
        begun.map(|(object, intent)| (&object.address, &intent.record))
    }

    /// Older objects that still have to go.
    fn remove_older(&mut self) {
        if self.options.goal == Goal::RefreshOnly {
            return;
        }
        let state = self.state;
        for (address, older) in &state.deposed {
            for (number, record) in older.iter().filter(|(_, record)| !is_quarantined(state, &record.session))
            {
                let which = Which::Deposed(*number);
                // What cannot be seen on a machine that was given up waits there; what took its place does not wait for it.
                if self.blocked.contains_key(address) || self.waits_elsewhere(address, which, record) {
                    continue;
                }
                let before = self.found(address, which);
                if self.blocked.contains_key(address) {
                    continue;
                }
                let action = if before.is_some() { Action::Destroy } else { Action::Forget };
                let step = removal(action, Why::Deposed, record, before);
                self.plan.deposed.entry(address.clone()).or_default().insert(*number, step);
            }
        }
    }

    /// Things of the kinds of some records that are there, and who declares them. What is taken in may have been recorded
    /// through another session; what is recorded twice, because a run was cut off in between, is of one.
    fn declared_things(
        &self,
        records: &[(&Address, &Recorded)],
    ) -> HashMap<(Identity, Option<Session>), Address> {
        let kinds: HashSet<&Arc<str>> = records.iter().map(|(_, record)| &record.kind).collect();
        let thing = |(address, step): (&Address, &Step)| {
            let is_taken_in = matches!(step.why, Why::Found | Why::Imported(_));
            let session = (!is_taken_in).then(|| step.record.session.clone());
            Some(((identity(&step.record.kind, step.before.as_ref()?)?, session), address.clone()))
        };
        let steps = self.plan.steps.iter().filter(|(_, step)| kinds.contains(&step.record.kind));
        steps.filter_map(thing).collect()
    }

    fn outputs(&self, expansion: &Expansion<'_>) -> BTreeMap<Arc<str>, OutputChange> {
        let mut changes = BTreeMap::new();
        let mut declared = BTreeSet::new();
        for (output, value) in expansion.outputs() {
            declared.insert(output.name.name.clone());
            let saved = self.state.outputs.get(&output.name.name);
            let before = saved.and_then(|saved| saved.value.clone());
            let sensitive = value.marks_deep().contains(Marks::SENSITIVE);
            let same = match (saved, &before) {
                (Some(saved), _) if saved.sensitive != sensitive => false,
                // What is sensitive is not kept, so that nobody can tell whether it changes.
                (Some(_), None) => sensitive,
                (_, Some(before)) => value.is_wholly_known() && *before == value,
                (None, None) => false,
            };
            if !same {
                changes.insert(output.name.name.clone(), OutputChange { before, after: Some(value) });
            }
        }
        for (name, saved) in self.state.outputs.iter().filter(|(name, _)| !declared.contains(*name)) {
            changes.insert(name.clone(), OutputChange { before: saved.value.clone(), after: None });
        }
        changes
    }
}

fn removal(action: Action, why: Why, record: &Recorded, before: Option<Value>) -> Step {
    Step {
        action,
        why,
        record: record.clone(),
        before,
        changes: Vec::new(),
        drift: Vec::new(),
        moved_from: None,
        declared_at: None,
        looked: true,
        recipes: Recipes::new(),
        lives_in_state: false,
    }
}

/// Whether it is on a host, and not the host itself.
fn is_thing_on_host(address: &Address, record: &Recorded) -> bool {
    record.session.is_on_host() && address.item != Item::Host
}

/// Whether a `removed` block says that the thing is to be left alone.
fn is_released(expansion: &Expansion<'_>, address: &Address) -> bool {
    let modules = expansion.scopes.scopes.iter().filter(|scope| scope.fleet.is_none());
    modules.flat_map(|scope| scope.module.removed.iter().map(|removed| (&scope.path, removed))).any(
        |(path, removed): (&ScopePath, _)| {
            let Some(from) = Target::from_expr(&removed.from) else { return false };
            let target = Target { scope: path.within(&from.scope), ..from };
            !removed.destroy && target.covers(address)
        },
    )
}

/// What tells one observed thing from another.
type Identity = (Arc<str>, String);

fn identity(kind: &Arc<str>, observed: &Value) -> Option<Identity> {
    Some((kind.clone(), to_text(&observed.clone().unmark_deep().0).ok()?))
}

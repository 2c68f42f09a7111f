//! The second walk: what to do at each declared address.

use std::collections::BTreeMap;
use std::sync::Arc;

use fleet_lang::{Kind, Marks, Value};
use fleet_syntax::{Diagnostic, Diagnostics, Severity, Span};
use foldhash::HashSet;

use super::ignore::ignore;
use super::look::has_moved;
use super::make::Index;
use super::moves::Moves;
use super::pools::Stocks;
use super::{Action, Goal, Options, Plan, Step, Why, chain, normal, normal_beside, normal_data};
use crate::address::{Address, Item, ScopePath};
use crate::attributes::Misfit;
use crate::config::model::Mode;
use crate::diff::{Change, created, diff, drift, get, updated};
use crate::expand::{ArgumentsOnly, Block, Expansion, Imported, Instance, Memory, Settle};
use crate::observe::{Observed, Sight, SubjectOf, Which};
use crate::provider::{Readers, Session};
use crate::resource::Error;
use crate::schema::Schema;
use crate::scope::NodeId;
use crate::seal::{Recipes, Sealer, Seals};
use crate::state::{Object, Recorded, Sealed, State, Write};

/// What the second walk compares with, and where it notes what to do.
pub(super) struct Planner<'a> {
    pub(super) state: &'a State,
    pub(super) index: &'a Index<'a>,
    pub(super) observed: &'a Observed,
    pub(super) readers: &'a dyn Readers,
    pub(super) options: &'a Options,
    /// What is remembered of hosts.
    pub(super) memory: &'a Memory,
    pub(super) sealer: &'a Sealer,
    pub(super) moves: &'a Moves,
    /// Whose records are settled before anything is done.
    pub(super) settled: &'a BTreeMap<Address, Write>,
    /// The same configuration with placeholders for secrets; none if this walk is that one.
    pub(super) shadow: Shadow<'a>,
    /// What is taken in, by who takes it.
    pub(super) imports: BTreeMap<Address, Imported>,
    pub(super) plan: Plan,
    pub(super) diagnostics: Diagnostics,
    /// What cannot be seen because of its host, and why: it is left alone, and the rest goes on.
    pub(super) blocked: BTreeMap<Address, Arc<str>>,
    /// The blocks with a step that changes something.
    pub(super) changing: HashSet<NodeId>,
    /// How many hosts the pools have left.
    pub(super) stocks: Stocks,
    /// The slots on whose hosts root is to be had without a password, once something that is planned is made.
    pub(super) rooted: HashSet<ScopePath>,
}

/// How a walk knows how sensitive values are made.
pub(super) enum Shadow<'a> {
    /// It does not: there are no secrets.
    None,
    /// From the same instances, made of placeholders.
    Of(&'a Expansion<'a>),
    /// It is the walk over placeholders.
    This,
}

/// What is there at an address before anything is done.
struct Seen {
    before: Option<Value>,
    why: Why,
    /// Whether reality was asked; otherwise apply looks before it acts.
    looked: bool,
}

impl Planner<'_> {
    fn sight(&self, address: &Address, which: Which) -> Option<&Sight> {
        self.observed.get(&SubjectOf { address, which })
    }

    fn complain(&mut self, instance: &Instance, summary: &str, detail: String) {
        let problem = Diagnostic::error(instance.span, summary, detail);
        self.diagnostics.push(problem.at(instance.address.to_string()));
    }

    /// What was found; a look that failed is reported and counts as nothing.
    pub(super) fn found(&mut self, address: &Address, which: Which) -> Option<Value> {
        self.found_for(address, which, None)
    }

    /// The same for something that is declared there.
    pub(super) fn found_for(
        &mut self,
        address: &Address,
        which: Which,
        declared_at: Option<Span>,
    ) -> Option<Value> {
        match &self.sight(address, which)?.found {
            Ok(found) => found.clone(),
            Err(error) => {
                let problem = Diagnostic { span: declared_at, ..unobservable(address, error) };
                match address.scope.slot() {
                    Some(slot) => self.block(address, &slot, problem, chain(error).into()),
                    None => self.diagnostics.push(problem),
                }
                None
            }
        }
    }

    /// Leaves something in a fleet alone that cannot be seen, and what depends on it; the rest goes on. What is wrong with
    /// a host is said once, and not for all that is on it.
    pub(super) fn block(&mut self, address: &Address, slot: &ScopePath, problem: Diagnostic, why: Arc<str>) {
        let is_told = self
            .blocked
            .range(slot_start(slot)..)
            .take_while(|(other, _)| other.scope.slot().as_ref() == Some(slot));
        let is_excluded = self.options.excludes.iter().any(|target| target.covers(address));
        if !is_excluded && !is_told.into_iter().any(|(_, told)| *told == why) {
            self.diagnostics.push(Diagnostic { severity: Severity::Warning, ..problem });
        }
        self.blocked.insert(address.clone(), why);
    }

    /// Nobody says any more how the host of a slot is reached.
    pub(super) fn cannot_be_reached(&mut self, address: &Address, record: &Recorded) {
        let slot = &record.session.scope;
        let fleet = slot.without_keys();
        let why =
            format!("`{fleet}` is not declared any more, so that nobody knows how its hosts are reached");
        let help = format!(
            "declare `{fleet}` again, with `size = 0` or `hosts = []`, and apply: its hosts are given back; then take it \
             out. If the host is lost for good, `fleet state rm '{address}'` forgets it"
        );
        let problem = unobservable(address, &Error::permanent(why.clone()).help(help));
        self.block(address, slot, problem, why.into());
    }

    fn seen(&mut self, instance: &Instance, wish: &Value) -> Seen {
        let address = &instance.address;
        let declared_at = Some(instance.span);
        if let Some(recorded) = self.index.get(address) {
            let looked = self.sight(address, Which::Recorded).is_some();
            let current = match looked {
                true => self.found_for(address, Which::Recorded, declared_at),
                false => Some(recorded.value.clone()),
            };
            let why = if current.is_some() { Why::Declared } else { Why::Vanished };
            return Seen { before: current, why, looked };
        }
        if let Some(Imported { id, span, .. }) = self.imports.get(address).cloned() {
            let looked = self.sight(address, Which::Imported).is_some();
            let before = self.found_for(address, Which::Imported, declared_at);
            // What is to go may be gone.
            let is_needed = self.options.goal != Goal::Destroy;
            if looked && is_needed && before.is_none() && !self.failed(address, Which::Imported) {
                let detail = format!("Nothing is known by the id `{id}`.");
                let span = span.unwrap_or(instance.span);
                let problem = Diagnostic::error(span, "nothing to import", detail).at(address.to_string());
                let help = "correct the id, or leave the import out and let apply make it";
                self.diagnostics.push(problem.help(help));
            }
            return Seen { before, why: Why::Imported(id), looked };
        }
        // A wish that was not yet known when we looked, or not like this, says nothing about this place.
        let about_this = self.sight(address, Which::Declared).is_some_and(|sight| sight.is_about(wish));
        if about_this && self.is_seen_later(address) {
            return Seen { before: None, why: Why::Declared, looked: false };
        }
        let before = match about_this {
            true => self.found_for(address, Which::Declared, declared_at),
            false => None,
        };
        let why = if before.is_some() { Why::Found } else { Why::Declared };
        // A create that was begun may still be under way: what is not there yet is looked for again before it is made.
        let may_come = before.is_none() && self.is_begun(address);
        Seen { before, why, looked: about_this && !may_come }
    }

    /// What is there on the machine that a slot gives up. One that does not answer is believed to be as it was: the slot
    /// gets another, and what is left there is removed once it answers.
    fn seen_elsewhere(&self, address: &Address) -> Seen {
        let believed = || self.index.get(address).map(|recorded| recorded.value.clone());
        let before = match self.sight(address, Which::Recorded).map(|sight| &sight.found) {
            Some(Ok(found)) => found.clone(),
            Some(Err(_)) | None => believed(),
        };
        Seen { before, why: Why::Vanished, looked: false }
    }

    /// Whether an older object is on a machine that its slot has given up, and that does not answer now.
    pub(super) fn waits_elsewhere(&mut self, address: &Address, which: Which, older: &Recorded) -> bool {
        let current = self.plan.steps.get(address).map(|step| &step.record.session);
        let Some(error) = self.sight(address, which).and_then(|sight| sight.found.as_ref().err()) else {
            return false;
        };
        if !current.is_some_and(|current| has_moved(older, current)) {
            return false;
        }
        let problem = Diagnostic { severity: Severity::Warning, ..unobservable(address, error) };
        let machine = older.session.alias.as_deref().unwrap_or_default();
        let problem =
            Diagnostic { detail: format!("What is left on `{machine}`: {}", problem.detail), ..problem };
        if !self.diagnostics.iter().any(|told| told.detail == problem.detail) {
            self.diagnostics.push(problem);
        }
        true
    }

    /// A host that is met before it is taken: by whichever key it proved who it is, that one is planned and no other.
    fn as_met(&self, address: &Address, which: Which, planned: Value) -> Value {
        let met = self.sight(address, which).and_then(|sight| sight.found.clone().ok().flatten());
        let (Some(met), Some(entries)) = (met, planned.entries()) else { return planned };
        let known = entries.iter().map(|(name, value)| {
            let met = get(&met, name);
            (name.clone(), if value.is_known() || met.is_null() { value.clone() } else { met })
        });
        Value::object(known.collect())
    }

    /// The installation of the host that something lives on, as far as it is known.
    fn epoch(&self, session: &Session) -> Option<Arc<str>> {
        if !session.is_on_host() {
            return None;
        }
        let host = Address { scope: session.scope.clone(), item: Item::Host, key: None };
        get(&self.plan.steps.get(&host)?.record.value, "id").as_str().map(Arc::from)
    }

    /// Where something was recorded before.
    pub(super) fn moved_from(&self, address: &Address) -> Option<Box<Address>> {
        self.moves.get(address).map(|from| Box::new(from.clone()))
    }

    /// Whether an earlier run left something open there.
    pub(super) fn is_begun(&self, address: &Address) -> bool {
        let intents = &self.state.intents;
        !intents.is_empty() && intents.contains_key(&Object::current(address.clone()))
    }

    /// Whether root alone can see something that is not recorded, and will be able to before its turn comes.
    fn is_seen_later(&self, address: &Address) -> bool {
        let found = self.sight(address, Which::Declared).map(|sight| &sight.found);
        matches!(found, Some(Err(error)) if error.needs_root)
            && address.scope.slot().is_some_and(|slot| self.rooted.contains(&slot))
    }

    fn failed(&self, address: &Address, which: Which) -> bool {
        self.sight(address, which).is_some_and(|sight| sight.found.is_err())
    }

    fn resource(&mut self, instance: &Instance, block: &Block<'_>) -> Value {
        let address = &instance.address;
        let (kind, schema) = (&block.resource.kind.name, &block.entry.schema);
        let declared = normal(self.readers, kind, &instance.declared).unwrap_or_else(|misfit| {
            let Misfit { attribute, message } = misfit;
            self.complain(instance, "this value cannot be", format!("`{attribute}`: {message}."));
            instance.declared.clone()
        });
        self.check_secrets(instance, block, &declared);
        let has_moved = self.index.get(address).is_some_and(|recorded| has_moved(recorded, &block.session));
        let Seen { before, why, looked } =
            if has_moved { self.seen_elsewhere(address) } else { self.seen(instance, &declared) };
        if has_moved && address.item == Item::Host {
            // A machine that is another's, or does not answer, takes nobody's place.
            self.found_for(address, Which::Declared, Some(instance.span));
        }
        if address.item == Item::Host && self.failed(address, Which::Begun) {
            // Nobody knows what came of a claim: no other is begun.
            self.found_for(address, Which::Begun, Some(instance.span));
        }
        let is_wanted = self.options.goal == Goal::Converge;
        if self.blocked.contains_key(address) || (is_wanted && !self.choose_host(instance, block)) {
            return created(schema, address, &declared);
        }
        let declared = match &before {
            Some(before) => normal_beside(self.readers, kind, &declared, before),
            None => declared,
        };
        let recorded = self.index.get(address).copied();
        let mut wish = match &before {
            Some(before) => ignore(&block.resource.lifecycle.ignore_changes, &declared, before),
            None => declared.clone(),
        };
        let nothing = BTreeMap::new();
        let recipes = self.recipes(instance);
        let epoch = self.epoch(&block.session);
        // What was sent to another installation was not sent to this one.
        let of_this_epoch = recorded.filter(|recorded| recorded.epoch.is_none() || recorded.epoch == epoch);
        let seals = Seals {
            sealer: self.sealer,
            recorded: of_this_epoch.map_or(&nothing, |recorded| &recorded.sealed),
            recipes: (!matches!(self.shadow, Shadow::This)).then_some(&recipes),
            read_back: looked,
        };
        let compare = |wish: &Value| match &before {
            Some(before) if self.options.goal != Goal::RefreshOnly => diff(schema, before, wish, Some(seals)),
            _ => Vec::new(),
        };
        let mut changes = compare(&wish);
        let drift = match (recorded, &before) {
            (Some(recorded), Some(before)) if looked => drift(schema, &recorded.value, before, seals),
            _ => Vec::new(),
        };
        let is_ours = recorded.is_some() || self.is_begun(address);
        let (action, why) = match before.is_some() && has_moved && self.options.goal == Goal::Converge {
            true => (Action::Replace { create_first: true }, Why::Triggered(host_of(address).into())),
            false => self.decide(instance, block, &changes, before.is_some(), why),
        };
        if matches!(action, Action::Replace { .. }) {
            // What is made anew has no past to keep.
            changes = compare(&declared);
            wish = declared;
        }
        let after = match &before {
            _ if matches!(action, Action::Create | Action::Replace { .. }) => created(schema, address, &wish),
            Some(before) if action == Action::Update => updated(schema, address, before, &wish, &changes),
            Some(before) => with_marks(schema, before, &wish),
            None => created(schema, address, &wish),
        };
        let after = match (&address.item, has_moved) {
            (Item::Host, false) => self.as_met(address, Which::Inventory, after),
            (Item::Host, true) => self.as_met(address, Which::Successor, after),
            _ => after,
        };
        // What was sealed is not in the record, so that without a look nobody knows it.
        let after = if looked || before.is_none() { after } else { without(seals.recorded, address, &after) };
        if self.options.goal == Goal::RefreshOnly && !is_ours && !matches!(why, Why::Imported(_)) {
            // There is no record to bring up to date.
            return after;
        }
        if matches!(action, Action::Replace { .. }) && !is_ours {
            let detail =
                "It is there already, was not made by fleet, and would have to be replaced.".to_owned();
            self.complain(instance, "something is in the way", detail);
        }
        let record = Recorded {
            session: block.session.clone(),
            kind: kind.clone(),
            version: block.entry.version,
            value: after.clone(),
            sealed: recorded.map(|recorded| recorded.sealed.clone()).unwrap_or_default(),
            depends_on: Arc::new([]),
            create_before_destroy: block.is_replaced_first(),
            epoch,
        };
        let step = Step {
            action,
            why,
            record,
            before,
            changes,
            drift,
            moved_from: self.moved_from(address),
            declared_at: Some(instance.span),
            looked,
            recipes,
            lives_in_state: false,
        };
        if step.action.changes_the_world() {
            self.changing.insert(instance.node);
            self.rooted.extend(address.scope.slot().filter(|_| block.entry.gives_root));
        }
        self.plan.steps.insert(address.clone(), step);
        after
    }

    /// How the sensitive arguments of an instance are made.
    fn recipes(&self, instance: &Instance) -> Recipes {
        let Shadow::Of(shadow) = self.shadow else { return Recipes::new() };
        if !instance.declared.marks_deep().contains(Marks::SENSITIVE) {
            return Recipes::new();
        }
        let made = shadow.instances_of(instance.node, instance.place);
        let made = &shadow.instances[made.start as usize..made.end as usize];
        // The instances of a block stand in the order of their keys.
        let at = made.binary_search_by(|made| made.address.key.cmp(&instance.address.key)).ok();
        at.map(|at| &made[at])
            .map(|made| self.sealer.recipes(&instance.declared, &made.declared))
            .unwrap_or_default()
    }

    fn decide(
        &self,
        instance: &Instance,
        block: &Block<'_>,
        changes: &[Change],
        is_there: bool,
        why: Why,
    ) -> (Action, Why) {
        if self.options.goal == Goal::RefreshOnly {
            return (if is_there { Action::Keep } else { Action::Forget }, why);
        }
        if !is_there {
            return (Action::Create, why);
        }
        let replace = Action::Replace { create_first: block.is_replaced_first() };
        if self.options.replace.iter().any(|target| target.covers(&instance.address)) {
            return (replace, Why::Asked);
        }
        if let Some(trigger) = self.triggered(instance) {
            return (replace, Why::Triggered(trigger.into()));
        }
        if changes.iter().any(|change| change.forces_replace) {
            return (replace, why);
        }
        // Whether the record has to be written is found out once all of it is known.
        (if changes.is_empty() { Action::Keep } else { Action::Update }, why)
    }

    /// What changes, if an instance is to be replaced with it.
    fn triggered(&self, instance: &Instance) -> Option<String> {
        instance.triggers.iter().find_map(|(target, attribute)| {
            let first =
                Address { scope: target.scope.clone(), item: target.item.clone()?, key: target.key.clone() };
            let covered = self.plan.steps.range(first..).take_while(|(address, _)| target.covers(address));
            let changes = |step: &Step| match (step.action, attribute) {
                (Action::Create | Action::Replace { .. }, _) | (Action::Update, None) => true,
                (Action::Update, Some(name)) => step.changes.iter().any(|change| change.name == *name),
                _ => false,
            };
            let (address, _) = covered.into_iter().find(|(_, step)| changes(step))?;
            Some(attribute.as_ref().map_or_else(|| address.to_string(), |name| format!("{address}.{name}")))
        })
    }

    /// Sensitive values are kept out of the state; that takes them to be where it can do without.
    fn check_secrets(&mut self, instance: &Instance, block: &Block<'_>, wish: &Value) {
        if !wish.marks_deep().contains(Marks::SENSITIVE) {
            return;
        }
        let kind = &block.resource.kind.name;
        if block.entry.lives_in_state {
            let detail = format!("`{kind}` lives in the state alone, which must not hold sensitive values.");
            self.complain(instance, "sensitive value in the state", detail);
            return;
        }
        let Some(entries) = wish.entries() else { return };
        let plain = entries.iter().map(|(name, value)| {
            let secret = value.marks_deep().contains(Marks::SENSITIVE);
            (name.clone(), if secret { Value::null_of(value.ty()) } else { value.clone() })
        });
        let plain = Value::object(plain.collect());
        if !plain.is_wholly_known() {
            return;
        }
        if let Err(Misfit { attribute, .. }) = self.readers.findable(kind, &plain) {
            let detail = format!("`{attribute}` is needed to find the thing again, so it must be recorded.");
            self.complain(instance, "sensitive value in the state", detail);
        }
    }

    fn data(&mut self, instance: &Instance, block: &Block<'_>) -> Value {
        let address = &instance.address;
        let kind = &block.resource.kind.name;
        let arguments = normal_data(self.readers, kind, &instance.declared).unwrap_or_else(|misfit| {
            let Misfit { attribute, message } = misfit;
            self.complain(instance, "this value cannot be", format!("`{attribute}`: {message}."));
            instance.declared.clone()
        });
        let waits = block.waits_for.iter().any(|block| self.changing.contains(block));
        let seen = self.sight(address, Which::Data).is_some_and(|sight| sight.is_about(&arguments));
        let found = match seen && !waits {
            true => self.found_for(address, Which::Data, Some(instance.span)),
            false => None,
        };
        let failed = seen && !waits && self.failed(address, Which::Data);
        let (action, after) = match found {
            Some(found) => (Action::Keep, with_marks(&block.entry.schema, &found, &arguments)),
            None => (Action::Read, ArgumentsOnly.settle(instance, block)),
        };
        if !failed {
            let step = Step {
                action,
                why: Why::Declared,
                record: Recorded {
                    session: block.session.clone(),
                    kind: kind.clone(),
                    version: block.entry.version,
                    value: after.clone(),
                    sealed: BTreeMap::new(),
                    depends_on: Arc::new([]),
                    create_before_destroy: false,
                    epoch: None,
                },
                before: None,
                changes: Vec::new(),
                drift: Vec::new(),
                moved_from: None,
                declared_at: Some(instance.span),
                looked: action == Action::Keep,
                recipes: BTreeMap::new(),
                lives_in_state: false,
            };
            if action == Action::Read {
                self.changing.insert(instance.node);
            }
            self.plan.steps.insert(address.clone(), step);
        }
        after
    }
}

impl Settle for Planner<'_> {
    fn memory(&self) -> &Memory {
        self.memory
    }

    fn settle(&mut self, instance: &Instance, block: &Block<'_>) -> Value {
        match block.resource.mode {
            Mode::Managed => self.resource(instance, block),
            Mode::Data => self.data(instance, block),
        }
    }
}

impl Sight {
    /// Whether this is what was looked for.
    fn is_about(&self, wish: &Value) -> bool {
        use crate::observe::Ask;
        use crate::resource::At;
        let (Ask::Object(At::Declared(asked) | At::Begun { wish: asked, .. }) | Ask::Data(asked)) = &self.ask
        else {
            return false;
        };
        *asked == wish.clone().unmark_deep().0
    }
}

/// The number that the next older object of an address gets.
pub(crate) fn next_number(state: &State, address: &Address) -> u32 {
    state.deposed.get(address).and_then(|older| older.keys().next_back()).map_or(1, |last| last + 1)
}

/// What was found, as secret as what was wished.
pub(crate) fn with_marks(schema: &Schema, found: &Value, wish: &Value) -> Value {
    let Kind::Object(entries) = &found.kind else { return found.clone() };
    if !schema.has_secrets() && !wish.marks_deep().contains(Marks::SENSITIVE) {
        return found.clone();
    }
    let marked = entries.iter().map(|(name, value)| {
        let secret = schema.attributes.get(name).is_some_and(|attribute| attribute.sensitive)
            || get(wish, name).marks_deep().contains(Marks::SENSITIVE);
        (name.clone(), if secret { value.clone().mark(Marks::SENSITIVE) } else { value.clone() })
    });
    Value::object(marked.collect())
}

/// An object without what was sealed of it.
pub(super) fn without(sealed: &BTreeMap<Arc<str>, Sealed>, address: &Address, object: &Value) -> Value {
    let Kind::Object(entries) = &object.kind else { return object.clone() };
    if sealed.is_empty() {
        return object.clone();
    }
    let hidden = entries.iter().map(|(name, value)| {
        let unknown = || Value::awaiting(value.ty(), format!("{address}.{name}")).mark(Marks::SENSITIVE);
        (name.clone(), if value.is_null() && sealed.contains_key(name) { unknown() } else { value.clone() })
    });
    Value::object(hidden.collect())
}

/// The host of what is in a slot.
fn host_of(address: &Address) -> String {
    let scope = address.scope.slot().unwrap_or_else(|| address.scope.clone());
    Address { scope, item: Item::Host, key: None }.to_string()
}

/// What stands before everything in a slot.
fn slot_start(slot: &ScopePath) -> Address {
    Address { scope: slot.clone(), item: Item::Resource("".into(), "".into()), key: None }
}

pub(super) fn unobservable(address: &Address, error: &Error) -> Diagnostic {
    Diagnostic {
        severity: Severity::Error,
        summary: match error.known {
            Some(known) => format!("cannot be observed: {}", known.name),
            None => "cannot be observed".into(),
        },
        detail: format!("{}.", super::chain(error)),
        span: None,
        related: Vec::new(),
        address: Some(address.to_string()),
        help: error.help.clone(),
    }
}

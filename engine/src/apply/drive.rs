//! The driver: begins what may begin, evaluates what becomes known, hears how steps end.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use fleet_lang::{Marks, Value};
use fleet_syntax::diagnostic::has_errors;
use fleet_syntax::{Diagnostic, Diagnostics, Severity};
use foldhash::{HashMap, HashSet};
use futures_util::future::{Either, join_all, select};
use futures_util::stream::{FuturesUnordered, StreamExt};

use super::busy::Disturbed;
use super::schedule::{Ready, Status, TaskId};
use super::step::{Removal, Wish};
use super::tasks::{Task, Tasks, tasks};
use super::worker::{Ended, Worker};
use super::{Applied, Hands};
use crate::address::{Address, Item};
use crate::check;
use crate::diff::get;
use crate::event::{Entry, Event, Failure, Ledger, Outcome};
use crate::expand::{Again, Expansion, Surroundings};
use crate::interrupt::Urgency;
use crate::observe::{Observed, Subject, Which};
use crate::plan::{Action, Goal, Planned, Pooling, Settings, Step, ignore, normal, normal_data, usable};
use crate::provider::Session;
use crate::resource::{BoxFuture, Disruption};
use crate::schema::{Schema, Sort};
use crate::scope::{NodeId, NodeItem};
use crate::seal::Recipes;
use crate::state::{Object, SavedOutput, State, StoreError, Write};

/// How many steps are begun at once for each that may touch the world: the others wait for the disk meanwhile.
const AHEAD: usize = 16;

/// Does what the plan says.
pub async fn apply<'c>(
    planned: Planned<'c>,
    surroundings: &Surroundings<'_>,
    hands: &Hands<'_>,
    wave: usize,
) -> Applied<'c> {
    let started = hands.clock.now();
    let window = hands.pace.parallelism.max(1).saturating_mul(AHEAD);
    let Tasks { tasks, schedule, needed, secrets } = tasks(&planned, window);
    let steps = planned.plan.steps.values().filter(|step| step.action.changes_the_world()).count();
    hands.listener.hear(&Event::WaveStarted { wave, steps });
    let Planned { plan, expansion, shadow, state, settled, settings, observed, .. } = planned;
    let placeholders = surroundings.with_placeholders();
    let sessions = plan.steps.values().chain(plan.deposed.values().flat_map(BTreeMap::values));
    // What is made anew on another host goes from the one it was on.
    let is_replaced = |address: &&Address| {
        plan.steps.get(*address).is_some_and(|step| matches!(step.action, Action::Replace { .. }))
    };
    let before = state.recorded.iter().filter(|(address, _)| is_replaced(address));
    let sessions = sessions.map(|step| &step.record.session);
    let sessions = sessions.chain(before.map(|(_, record)| &record.session));
    let silent = silent(&observed, &state);
    let worker = Worker::new(hands, surroundings.outside, plan.goal, sessions, silent);
    let given_up = plan.steps.iter().filter(|(address, step)| check::gives_up_a_host(address, step));
    let given_up = given_up.filter(|(_, step)| !is_past_asking(step));
    let given_up = given_up.map(|(address, step)| state.recorded.get(address).unwrap_or(&step.record));
    let older = plan.deposed.iter().filter(|(address, _)| address.item == Item::Host);
    let older = older.flat_map(|(_, older)| older.values().filter(|step| !is_past_asking(step)));
    let older = older.map(|step| &step.record);
    let gone = given_up.chain(older).map(|record| record.session.clone()).collect();
    let (goal, outputs_change) = (plan.goal, !plan.outputs.is_empty());
    let instances = expansion.instances.iter().enumerate();
    let numbers = instances.map(|(number, instance)| (instance.address.clone(), number as u32)).collect();
    let mut driver = Driver {
        worker: &worker,
        surroundings,
        plan_steps: &plan.steps,
        pools: &plan.pools,
        older: &plan.deposed,
        state: &state,
        settings: &settings,
        again: Again::new(expansion, surroundings),
        shadow: shadow.map(|shadow| Again::new(shadow, &placeholders)),
        tasks,
        schedule,
        needed,
        numbers,
        gone,
        ledger: Ledger::default(),
        problems: Diagnostics::new(),
        lost: None,
    };
    let has_secrets = driver.get_secrets(&secrets);
    if has_secrets {
        if driver.rename().await {
            driver.record(settled).await;
        }
        driver.run().await;
    }
    driver.note_the_rest();
    if outputs_change && has_secrets && driver.lost.is_none() {
        let outputs = outputs(driver.again.expansion(), goal, &state);
        if let Err(error) = hands.store.write(Write::Outputs(outputs)).await {
            driver.unsaved("the outputs", error);
        }
    }
    let Driver { again, mut ledger, problems, lost, .. } = driver;
    let expansion = again.into_expansion();
    ledger.elapsed = hands.clock.now().saturating_sub(started);
    Applied { ledger, expansion, problems, lost }
}

/// The hosts that could not be reached when what is recorded there was looked at.
fn silent(observed: &Observed, state: &State) -> BTreeSet<Session> {
    let mut silent = BTreeSet::new();
    for (Subject { address, which }, sight) in observed {
        let record = match which {
            Which::Recorded => state.recorded.get(address),
            Which::Deposed(number) => state.deposed.get(address).and_then(|older| older.get(number)),
            _ => None,
        };
        if let Some(record) = record
            && record.session.is_on_host()
            && sight.found.as_ref().is_err_and(|error| error.transient)
        {
            silent.insert(record.session.clone());
        }
    }
    silent
}

struct Driver<'a, 'c> {
    worker: &'a Worker<'a>,
    surroundings: &'a Surroundings<'a>,
    plan_steps: &'a BTreeMap<Address, Step>,
    /// Where machines come from and go to.
    pools: &'a BTreeMap<Address, Pooling>,
    older: &'a BTreeMap<Address, BTreeMap<u32, Step>>,
    state: &'a State,
    /// The settings that things were looked at with.
    settings: &'a Settings,
    again: Again<'a, 'c>,
    /// The same with placeholders for secrets: it says how sensitive values are made.
    shadow: Option<Again<'a, 'c>>,
    tasks: Vec<Task>,
    schedule: super::schedule::Schedule,
    /// Of each vertex, whether something that is done depends on it.
    needed: Vec<bool>,
    /// The number of each instance.
    numbers: HashMap<Address, u32>,
    /// The hosts that are given up now.
    gone: Vec<Session>,
    ledger: Ledger,
    problems: Diagnostics,
    lost: Option<StoreError>,
}

/// Whether nobody's work on a host that goes can be disturbed any more: its return was allowed when it was begun, and may have
/// installed it anew by now; or somebody else did that.
fn is_past_asking(step: &Step) -> bool {
    let state = step.before.as_ref().map(|before| get(before, "state"));
    state.is_some_and(|state| matches!(state.as_str(), Some("returning" | "lost")))
}

/// A step under way, and whose it is.
type Running<'a> = FuturesUnordered<BoxFuture<'a, (TaskId, Ended)>>;

impl<'a> Driver<'a, '_> {
    /// Asks for what steps will need. Without it nothing is begun: what is made anew would go, and not come back.
    fn get_secrets(&mut self, secrets: &[TaskId]) -> bool {
        secrets.iter().all(|task| {
            let Task::Value(node, place) = self.tasks[*task] else { return true };
            self.refresh(node, place);
            self.again.expansion().value(node, place).is_wholly_known()
        })
    }

    /// What is recorded gets its new name before anything is done to it. False if that could not be written.
    async fn rename(&mut self) -> bool {
        let moved = |(to, step): (&Address, &Step)| Some((to.clone(), step.moved_from.as_deref()?.clone()));
        let mut left: BTreeMap<Address, Address> = self.plan_steps.iter().filter_map(moved).collect();
        while !left.is_empty() {
            // A name may have to be given up first by what has it.
            let taken: HashSet<Address> = left.values().cloned().collect();
            let free: Vec<Address> = left.keys().filter(|to| !taken.contains(*to)).cloned().collect();
            let next = if free.is_empty() { left.keys().cloned().collect() } else { free };
            for to in next {
                let Some(from) = left.remove(&to) else { continue };
                if let Err(error) = self.worker.hands.store.write(Write::Move { from, to }).await {
                    self.unsaved("the new addresses", error);
                    self.schedule.stop();
                    return false;
                }
            }
        }
        true
    }

    /// What earlier runs had begun and is there is recorded before anything is done to it.
    async fn record(&mut self, settled: Vec<Write>) {
        let store = self.worker.hands.store;
        let written = join_all(settled.into_iter().map(|write| store.write(write))).await;
        if let Some(error) = written.into_iter().find_map(Result::err) {
            self.unsaved("what earlier runs had begun", error);
            self.schedule.stop();
        }
    }

    async fn run(&mut self) {
        let interrupt = self.worker.hands.interrupt;
        let mut running: Running<'a> = FuturesUnordered::new();
        let mut urgency = Urgency::None;
        loop {
            while let Some(ready) = self.schedule.next() {
                match ready {
                    Ready::Group(task) => self.group(task),
                    Ready::Work(task) => self.begin(task, &running),
                }
            }
            if running.is_empty() {
                return;
            }
            let next_urgency = if urgency == Urgency::None { Urgency::Stop } else { Urgency::Abort };
            let asked = Box::pin(interrupt.reached(next_urgency));
            match select(running.next(), asked).await {
                Either::Left((Some((task, ended)), _)) => self.end(task, ended),
                Either::Left((None, _)) => return,
                Either::Right(_) => {
                    urgency = next_urgency;
                    self.schedule.stop();
                    if urgency == Urgency::Abort {
                        return;
                    }
                }
            }
        }
    }

    /// A value whose parts are known by now, or an instance that stays as it is.
    fn group(&mut self, task: TaskId) {
        if let Task::Value(node, place) = self.tasks[task]
            && self.is_open(task, node, place)
            && !self.refresh(node, place)
        {
            return self.fail(task);
        }
        self.schedule.done(task);
    }

    /// Brings a value up to date; false if something is wrong with it.
    fn refresh(&mut self, node: NodeId, place: u32) -> bool {
        let problems = self.again.refresh(node, place);
        if let Some(shadow) = &mut self.shadow {
            shadow.refresh(node, place);
        }
        let good = !has_errors(&problems);
        self.problems.extend(problems);
        good
    }

    /// Whether a value may be other than planned, or something about it is still to be checked.
    fn is_open(&self, task: TaskId, node: NodeId, place: u32) -> bool {
        let expansion = self.again.expansion();
        match expansion.scopes.node(node).item {
            // Nobody is asked for a secret that nothing needs.
            NodeItem::Secret(_) if !self.needed[task] => false,
            NodeItem::Check(_) | NodeItem::Validation(_) => true,
            NodeItem::Output(output) if !output.preconditions.is_empty() => true,
            NodeItem::Call(..) | NodeItem::Fleet(..) | NodeItem::Import(_) => false,
            _ => !expansion.value(node, place).is_wholly_known(),
        }
    }

    fn begin(&mut self, task: TaskId, running: &Running<'a>) {
        match self.tasks[task].clone() {
            Task::Make(at) => self.begin_to_make(task, at, running),
            Task::Remove(object) => {
                let step = self.step_of(&object);
                let Some(step) = step else { return self.schedule.done(task) };
                let session = self.session_to_remove(&object, step);
                let settings = self.settings_to_remove(session);
                let worker = self.worker;
                // What is on another machine is another thing, however equal it is.
                let is_beside = object.deposed.is_some() && self.session_of(&object.address) == Some(session);
                let successor = is_beside.then(|| self.current(&object.address)).flatten();
                let disturbs = self.host_that_goes(&object, session);
                let state = self.state;
                let removal = Removal { object, step, session, settings, successor, disturbs, state };
                running.push(Box::pin(async move { (task, worker.remove(removal).await) }));
            }
            Task::Join | Task::Value(..) => self.schedule.done(task),
        }
    }

    fn begin_to_make(&mut self, task: TaskId, at: u32, running: &Running<'a>) {
        let instance = &self.again.expansion().instances[at as usize];
        let address = instance.address.clone();
        let Some(step) = self.plan_steps.get(&address) else { return self.schedule.done(task) };
        let sort = if step.action == Action::Read { Sort::Data } else { Sort::Resource };
        let Some(entry) = self.surroundings.catalog.find(sort, &step.record.kind) else {
            return self.schedule.done(task);
        };
        let schema: &'a Schema = &entry.schema;
        let (wish, declared) = match self.wish(at, step) {
            Ok(wish) => wish,
            Err(message) => {
                let outcome = Outcome::Failed(Failure::new(message));
                let object = Object::current(address);
                return self.end(
                    task,
                    Ended {
                        object,
                        action: step.action,
                        part: step.action,
                        outcome,
                        value: None,
                        elapsed: Duration::ZERO,
                        lost: None,
                    },
                );
            }
        };
        let is_host = address.item == Item::Host;
        let settings =
            if is_host { self.settings_of_host(at, step) } else { self.settings(&step.record.session) };
        let session = self.session_now(&step.record.session);
        let worker = self.worker;
        let recipes = self.recipes(at, &wish);
        // A host is its installation, and lives on none.
        let epoch = if is_host { None } else { self.epoch(&step.record.session) };
        let state = self.state;
        let is_disturbing = check::disruption(step, worker.hands.readers) == Disruption::Host;
        let disturbs = (session.is_on_host() && is_disturbing).then(|| Disturbed {
            session: session.clone(),
            settings: settings.clone(),
            goes: false,
        });
        let value = wish;
        let wish = Wish {
            address,
            step,
            schema,
            value,
            declared,
            recipes,
            settings,
            session,
            epoch,
            disturbs,
            state,
        };
        running.push(Box::pin(async move { (task, worker.make(wish).await) }));
    }

    /// What an instance is to be like, with what is known by now: in its normal form, and as it is written.
    fn wish(&mut self, at: u32, step: &Step) -> Result<(Value, Value), String> {
        let as_planned = || (step.record.value.clone(), step.record.value.clone());
        if step.action == Action::Record {
            return Ok(as_planned());
        }
        let expansion = self.again.expansion();
        let instance = &expansion.instances[at as usize];
        let resource = match expansion.scopes.node(instance.node).item {
            NodeItem::Resource(resource) => resource,
            NodeItem::Host(fleet) => &fleet.host,
            _ => return Ok(as_planned()),
        };
        let planned = instance.declared.clone();
        let is_final = planned.is_wholly_known() && resource.lifecycle.preconditions.is_empty();
        let declared = if is_final {
            planned
        } else {
            let (declared, problems) = self.again.declare(at);
            let first = problems.iter().find(|problem| problem.severity == Severity::Error);
            let message = first.map(|problem| problem.summary.clone());
            self.problems.extend(problems);
            match (declared, message) {
                (Some(declared), None) => declared,
                (_, message) => return Err(message.unwrap_or_else(|| "it cannot be evaluated".into())),
            }
        };
        let readers = self.worker.hands.readers;
        let kind = &step.record.kind;
        let normal = if step.action == Action::Read {
            normal_data(readers, kind, &declared)
        } else {
            normal(readers, kind, &declared)
        };
        let wish = normal.map_err(|misfit| misfit.to_string())?;
        let wish = match &step.before {
            // What is made anew has no past to keep.
            Some(before) if step.action == Action::Update => {
                ignore(&resource.lifecycle.ignore_changes, &wish, before)
            }
            _ => wish,
        };
        Ok((wish, declared))
    }

    /// How the sensitive arguments of a wish are made.
    fn recipes(&mut self, at: u32, wish: &Value) -> Recipes {
        let Some(shadow) = &mut self.shadow else { return Recipes::new() };
        if !wish.marks_deep().contains(Marks::SENSITIVE) {
            return Recipes::new();
        }
        let (made, _) = shadow.declare(at);
        made.map(|made| self.worker.hands.sealer.recipes(wish, &made)).unwrap_or_default()
    }

    fn settings(&self, session: &Session) -> Option<Value> {
        let settings = self.again.expansion().settings(self.surroundings.catalog, session);
        settings.and_then(usable)
    }

    /// How the host of a slot is claimed, with what is known by now; the first choice is the one that was planned.
    fn settings_of_host(&mut self, at: u32, step: &Step) -> Option<Value> {
        let problems = self.again.line(at);
        self.problems.extend(problems);
        let expansion = self.again.expansion();
        let address = &expansion.instances[at as usize].address;
        let Some(settings) = expansion.claim(&address.scope) else {
            return self.settings(&step.record.session);
        };
        let mut settings = usable(settings.clone())?.entries()?.clone();
        let claim = self.pools.get(address).and_then(|pooling| pooling.claim.as_ref());
        if let Some((first, _)) = claim.and_then(|claim| claim.first.as_ref()) {
            let mut pool = settings.get("pool")?.entries()?.clone();
            pool.insert("first".into(), Value::from(&**first));
            settings.insert("pool".into(), Value::object(pool));
        }
        Some(Value::object(settings))
    }

    /// A session with the machine that its slot has by now.
    fn session_now(&self, session: &Session) -> Session {
        let host = Address { scope: session.scope.clone(), item: Item::Host, key: None };
        let number = self.numbers.get(&host).filter(|_| session.is_on_host());
        let Some(number) = number else { return session.clone() };
        let machine = get(&self.again.expansion().instances[*number as usize].value, "machine");
        let alias = machine.as_str().map(Arc::from).or_else(|| session.alias.clone());
        Session { alias, ..session.clone() }
    }

    /// A host was made, or is as it should be: from now on it is known how everything on it is reached. Says so if it is not
    /// the one that was planned.
    fn reach(&mut self, at: u32) {
        let problems = self.again.line(at);
        self.problems.extend(problems);
        let instance = &self.again.expansion().instances[at as usize];
        let claim = self.pools.get(&instance.address).and_then(|pooling| pooling.claim.as_ref());
        let Some((id, name)) = claim.and_then(|claim| claim.first.as_ref()) else { return };
        let taken = get(&instance.value, "machine");
        if taken.as_str().is_some_and(|taken| taken != id) {
            self.problems.push(Diagnostic {
                severity: Severity::Warning,
                summary: "another host was taken".into(),
                detail: format!(
                    "The first choice was `{name}`; `{}` was taken.",
                    taken.as_str().unwrap_or_default()
                ),
                span: None,
                related: Vec::new(),
                address: Some(instance.address.to_string()),
                help: None,
            });
        }
    }

    /// What goes may have to go before the settings are known that others will be made with.
    fn settings_to_remove(&self, session: &Session) -> Option<Value> {
        self.settings(session).or_else(|| self.settings.get(session).cloned())
    }

    /// The host that goes with what is removed, if one does.
    fn host_that_goes(&self, object: &Object, session: &Session) -> Option<Disturbed> {
        let slot = object.address.scope.slot()?;
        let goes = self.gone.iter().find(|gone| match session.is_on_host() {
            true => *gone == session,
            false => gone.scope == slot,
        });
        let session = goes?.clone();
        Some(Disturbed { settings: self.settings_to_remove(&session), session, goes: true })
    }

    /// Where the object of an address is, or will be.
    fn session_of(&self, address: &Address) -> Option<&Session> {
        let planned = self.plan_steps.get(address).map(|step| &step.record);
        planned.or_else(|| self.state.recorded.get(address)).map(|record| &record.session)
    }

    /// An object that gave way to another may have been made through another session.
    fn session_to_remove(&self, object: &Object, step: &'a Step) -> &'a Session {
        let gave_way = object.deposed.is_some() && matches!(step.action, Action::Replace { .. });
        let recorded = self.state.recorded.get(&object.address).filter(|_| gave_way);
        recorded.map_or(&step.record.session, |record| &record.session)
    }

    /// The installation of the host that a session leads to.
    fn epoch(&self, session: &Session) -> Option<Arc<str>> {
        if !session.is_on_host() {
            return None;
        }
        let host = Address { scope: session.scope.clone(), item: Item::Host, key: None };
        let number = *self.numbers.get(&host)?;
        get(&self.again.expansion().instances[number as usize].value, "id").as_str().map(Arc::from)
    }

    fn step_of(&self, object: &Object) -> Option<&'a Step> {
        let older = object.deposed.and_then(|number| self.older.get(&object.address)?.get(&number));
        older.or_else(|| self.plan_steps.get(&object.address))
    }

    /// What an address turned out to be, if it stays.
    fn current(&self, address: &Address) -> Option<Value> {
        let goes = |step: &Step| matches!(step.action, Action::Destroy | Action::Forget);
        self.plan_steps.get(address).filter(|step| !goes(step))?;
        let expansion = self.again.expansion();
        let number = *self.numbers.get(address)?;
        Some(expansion.instances[number as usize].value.clone()).filter(Value::is_wholly_known)
    }

    fn end(&mut self, task: TaskId, ended: Ended) {
        let Ended { object, action, part, mut outcome, value, elapsed, lost } = ended;
        if let (Task::Make(at), Some(value), Outcome::Done) = (&self.tasks[task], value, &outcome) {
            if let Some(shadow) = &mut self.shadow {
                shadow.settle(*at, value.clone());
            }
            let at = *at;
            let problems = self.again.settle(at, value);
            if self.again.expansion().instances[at as usize].address.item == Item::Host {
                self.reach(at);
            }
            if let Some(problem) = problems.iter().find(|problem| problem.severity == Severity::Error) {
                let failure = Failure::new(problem.summary.clone()).effect(crate::event::Effect::Other);
                outcome = Outcome::Failed(failure);
            }
            self.problems.extend(problems);
        }
        if let Some(error) = lost {
            self.lose(error);
        }
        if outcome == Outcome::NotStarted {
            // It is noted with the rest that is not begun any more.
            self.schedule.stop();
            return self.schedule.hand_back(task);
        }
        let is_done = outcome == Outcome::Done;
        let listener = self.worker.hands.listener;
        listener.hear(&Event::StepEnded { object: &object, action: part, outcome: &outcome, elapsed });
        let is_replaced = matches!(action, Action::Replace { .. });
        let object = if is_replaced { Object::current(object.address) } else { object };
        self.ledger.note(object, Entry { action, outcome, elapsed });
        if is_done { self.schedule.done(task) } else { self.fail(task) }
    }

    /// The state can no longer be written: nothing new is begun. That is told once, and so is where to find what was
    /// done nevertheless.
    fn lose(&mut self, mut error: StoreError) {
        self.schedule.stop();
        let listener = self.worker.hands.listener;
        let message = crate::plan::chain(&error);
        if self.lost.is_none() {
            listener.hear(&Event::StoreLost { message: &message, recovery: None });
        }
        let recovery = error.recovery.take();
        let known = self.lost.get_or_insert(error);
        if let (None, Some(file)) = (&known.recovery, recovery) {
            listener.hear(&Event::StoreLost { message: &message, recovery: Some(&file) });
            known.recovery = Some(file);
        }
    }

    /// Something that is no step's could not be written.
    fn unsaved(&mut self, what: &str, error: StoreError) {
        if error.is_final() {
            return self.lose(error);
        }
        self.problems.push(Diagnostic {
            severity: Severity::Error,
            summary: format!("{what} could not be saved"),
            detail: format!("{}.", crate::plan::chain(&error)),
            span: None,
            related: Vec::new(),
            address: None,
            help: Some("apply again, once the state can be written".into()),
        });
    }

    fn fail(&mut self, task: TaskId) {
        for skipped in self.schedule.failed(task) {
            let Status::Skipped(because) = self.schedule.status(skipped) else { continue };
            let Some((object, action)) = self.subject(skipped) else { continue };
            let outcome = match self.address(because) {
                // The other part of a replacement has said it all.
                Some(because) if because == object.address && object.deposed.is_none() => continue,
                Some(because) => Outcome::Skipped(because),
                None => Outcome::Failed(Failure::new("a value that it needs cannot be evaluated")),
            };
            // Of the two parts of a replacement one is enough to be told.
            if self.ledger.entries.get(&object).is_none_or(|known| known.outcome != outcome) {
                self.tell(object, action, outcome);
            }
        }
    }

    /// A step that did not begin, or whose end nobody saw.
    fn tell(&mut self, object: Object, action: Action, outcome: Outcome) {
        let listener = self.worker.hands.listener;
        listener.hear(&Event::StepEnded {
            object: &object,
            action,
            outcome: &outcome,
            elapsed: Duration::ZERO,
        });
        self.ledger.note(object, Entry { action, outcome, elapsed: Duration::ZERO });
    }

    /// What was never begun, and what was left alone half-way.
    fn note_the_rest(&mut self) {
        for task in 0..self.tasks.len() {
            let status = self.schedule.status(task);
            if matches!(status, Status::Done | Status::Failed | Status::Skipped(_)) {
                continue;
            }
            let Some((object, action)) = self.subject(task) else { continue };
            let touching = status == Status::Running && self.is_touching(task);
            let outcome = if touching {
                Outcome::Unknown("the run was aborted while it was under way".into())
            } else {
                Outcome::NotStarted
            };
            self.tell(object, action, outcome);
        }
    }

    /// Whether a task that runs does more than to wait for its turn.
    fn is_touching(&self, task: TaskId) -> bool {
        match &self.tasks[task] {
            Task::Make(at) => {
                let address = &self.again.expansion().instances[*at as usize].address;
                self.worker.is_touching(&Object::current(address.clone()))
            }
            Task::Remove(object) => self.worker.is_touching(object),
            Task::Join | Task::Value(..) => false,
        }
    }

    /// Whose task it is and what it does, if it does something.
    fn subject(&self, task: TaskId) -> Option<(Object, Action)> {
        match &self.tasks[task] {
            Task::Make(at) => {
                let address = &self.again.expansion().instances[*at as usize].address;
                let action = self.plan_steps.get(address)?.action;
                (action != Action::Keep).then(|| (Object::current(address.clone()), action))
            }
            Task::Remove(object) => {
                let action = self.step_of(object)?.action;
                let replaces = matches!(action, Action::Replace { .. });
                let object = if replaces { Object::current(object.address.clone()) } else { object.clone() };
                Some((object, action))
            }
            Task::Join | Task::Value(..) => None,
        }
    }

    fn address(&self, task: TaskId) -> Option<Address> {
        match &self.tasks[task] {
            Task::Make(at) => Some(self.again.expansion().instances[*at as usize].address.clone()),
            Task::Remove(object) => Some(object.address.clone()),
            Task::Value(..) | Task::Join => None,
        }
    }
}

/// The outputs to be saved: what is known now, and otherwise what was known before.
fn outputs(expansion: &Expansion<'_>, goal: Goal, state: &State) -> BTreeMap<Arc<str>, SavedOutput> {
    if goal == Goal::Destroy {
        return BTreeMap::new();
    }
    let saved = expansion.outputs().filter_map(|(output, value)| {
        let name = output.name.name.clone();
        let sensitive = value.marks_deep().contains(Marks::SENSITIVE);
        if !value.is_wholly_known() {
            return state.outputs.get(&name).map(|before| (name, before.clone()));
        }
        let value = (!sensitive).then_some(value);
        Some((name, SavedOutput { value, sensitive }))
    });
    saved.collect()
}

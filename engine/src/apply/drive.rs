//! The driver: begins what may begin, evaluates what becomes known, hears how steps end.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use fleet_lang::Marks;
use fleet_syntax::Diagnostics;
use fleet_syntax::diagnostic::has_errors;
use foldhash::{HashMap, HashSet};
use futures_util::future::{Either, join_all, select};
use futures_util::stream::{FuturesUnordered, StreamExt};

use super::busy::Disturbed;
use super::schedule::{Ready, TaskId};
use super::step::{Removal, Wish};
use super::tasks::{Task, Tasks, tasks};
use super::used::Users;
use super::worker::{Ended, Worker};
use super::{Applied, Hands};
use crate::address::{Address, Item};
use crate::check;
use crate::diff::get;
use crate::event::{Event, Failure, Ledger, Outcome};
use crate::expand::{Again, Expansion, Surroundings};
use crate::interrupt::Urgency;
use crate::observe::{Observed, Subject, Which};
use crate::plan::{Action, Goal, Planned, Pooling, Settings, Step};
use crate::provider::Session;
use crate::resource::{BoxFuture, Disruption};
use crate::schema::{Schema, Sort};
use crate::scope::{NodeId, NodeItem};
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
    let Tasks { tasks, schedule, needed, secrets } = tasks(&planned, surroundings.catalog, window);
    let steps = planned.plan.steps.values().filter(|step| step.action.changes_the_world()).count();
    hands.listener.hear(&Event::WaveStarted { wave, steps });
    let users = Users::of(&planned);
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
    driver.problems.extend(worker.warnings());
    let Driver { again, mut ledger, problems, lost, .. } = driver;
    let expansion = again.into_expansion();
    ledger.elapsed = hands.clock.now().saturating_sub(started);
    Applied { used: users.used(&ledger), ledger, expansion, problems, lost }
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

pub(super) struct Driver<'a, 'c> {
    pub(super) worker: &'a Worker<'a>,
    pub(super) surroundings: &'a Surroundings<'a>,
    pub(super) plan_steps: &'a BTreeMap<Address, Step>,
    /// Where machines come from and go to.
    pub(super) pools: &'a BTreeMap<Address, Pooling>,
    pub(super) older: &'a BTreeMap<Address, BTreeMap<u32, Step>>,
    pub(super) state: &'a State,
    /// The settings that things were looked at with.
    pub(super) settings: &'a Settings,
    pub(super) again: Again<'a, 'c>,
    /// The same with placeholders for secrets: it says how sensitive values are made.
    pub(super) shadow: Option<Again<'a, 'c>>,
    pub(super) tasks: Vec<Task>,
    pub(super) schedule: super::schedule::Schedule,
    /// Of each vertex, whether something that is done depends on it.
    pub(super) needed: Vec<bool>,
    /// The number of each instance.
    pub(super) numbers: HashMap<Address, u32>,
    /// The hosts that are given up now.
    pub(super) gone: Vec<Session>,
    pub(super) ledger: Ledger,
    pub(super) problems: Diagnostics,
    pub(super) lost: Option<StoreError>,
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
            _ => self.again.is_settled(node, place) || !expansion.value(node, place).is_wholly_known(),
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
                let disturbs = self.host_that_goes(&object, step, session);
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
        // Its line is known by what the plan knew of the host.
        let disturbs = (session.is_on_host() && is_disturbing).then(|| Disturbed {
            session: step.record.session.clone(),
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

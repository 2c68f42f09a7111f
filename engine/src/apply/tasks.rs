//! Plan and graph → tasks that wait for each other. Linear in instances, references and records.
//!
//! - What is made waits for what it depends on, and a replacement for its predecessor to go.
//! - What is removed waits for those that depended on it: to be gone, or to have been changed.
//! - What goes with a host waits for what itself waits for the work there: it is asked only then whether the host is busy.
//! - A predecessor that goes last waits for its successor and for all that depend on it.
//!
//! Removals that make room for a replacement must not wait for anything to be made; they come early. All others may.

use std::collections::BTreeMap;

use foldhash::{HashMap, HashMapExt, HashSet};
use petgraph::Direction;
use petgraph::graph::NodeIndex;

use super::schedule::{self, Cycle, Limits, Need, Role, Schedule, TaskId};
use crate::address::{Address, ScopePath};
use crate::check;
use crate::graph::Vertex;
use crate::plan::{Action, Goal, Planned, Remembered, is_quarantined, next_number};
use crate::schema::Catalog;
use crate::scope::{NodeId, NodeItem};
use crate::state::Object;

/// One task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Task {
    /// Joins others.
    Join,
    /// A value, or a block with its instances, is brought up to date.
    Value(NodeId, u32),
    /// An instance is made, changed, read or recorded.
    Make(u32),
    /// An object is removed or forgotten.
    Remove(Object),
}

/// All tasks of a plan.
pub(super) struct Tasks {
    pub(super) tasks: Vec<Task>,
    pub(super) schedule: Schedule,
    /// Of each vertex of the graph, whether something that is done depends on it.
    pub(super) needed: Vec<bool>,
    /// The secrets that are needed and can be asked for before anything is done.
    pub(super) secrets: Vec<TaskId>,
}

/// Builds the tasks of a plan; at most `window` are begun at once.
pub(super) fn tasks(planned: &Planned<'_>, catalog: &dyn Catalog, window: usize) -> Tasks {
    let limits = Limits { total: window, providers: Vec::new() };
    let build = |with_records| {
        let mut builder = Builder::new(planned);
        if planned.plan.goal == Goal::Converge {
            builder.declared();
        } else {
            builder.records_only();
        }
        builder.removals(with_records);
        builder.first_what_waits(catalog);
        (builder.tasks, Schedule::new(builder.graph, &limits))
    };
    let (tasks, schedule) = match build(true) {
        (tasks, Ok(schedule)) => (tasks, schedule),
        // Records that depend on each other were damaged; they must not keep things from being removed.
        (_, Err(Cycle(_))) => {
            let (tasks, schedule) = build(false);
            (tasks, schedule.expect("what is declared has no cycles"))
        }
    };
    let needed = needed(planned);
    let secrets = secrets(planned, &tasks, &needed);
    Tasks { tasks, schedule, needed, secrets }
}

/// The secrets that are needed, and whose places are known already.
fn secrets(planned: &Planned<'_>, tasks: &[Task], needed: &[bool]) -> Vec<TaskId> {
    let Planned { expansion, graph, .. } = planned;
    let is_known = |vertex: NodeIndex| match graph.edges[vertex] {
        Vertex::Whole(node, place) => expansion.value(node, place).is_wholly_known(),
        Vertex::Instance(_) | Vertex::Collected(_) => false,
    };
    let secret = |(task, of): (TaskId, &Task)| {
        let Task::Value(node, _) = of else { return None };
        let is_secret = matches!(expansion.scopes.node(*node).item, NodeItem::Secret(_));
        (is_secret && needed[task] && graph.edges.neighbors(NodeIndex::new(task)).all(is_known))
            .then_some(task)
    };
    tasks.iter().enumerate().filter_map(secret).collect()
}

/// What the instances with something to do depend on. What an instance that stays as it is was made with is not needed: what it is
/// like was seen.
fn needed(planned: &Planned<'_>) -> Vec<bool> {
    let edges = &planned.graph.edges;
    let works = |address: &Address| {
        planned
            .plan
            .steps
            .get(address)
            .is_some_and(|step| !matches!(step.action, Action::Keep | Action::Record))
    };
    let instances = planned.expansion.instances.iter().zip(&planned.graph.instances);
    let mut left: Vec<NodeIndex> =
        instances.filter(|(instance, _)| works(&instance.address)).map(|(_, vertex)| *vertex).collect();
    let stays = |vertex: NodeIndex| match edges[vertex] {
        Vertex::Instance(at) => !works(&planned.expansion.instances[at as usize].address),
        Vertex::Whole(..) | Vertex::Collected(_) => false,
    };
    let mut needed = vec![false; edges.node_count()];
    while let Some(vertex) = left.pop() {
        if !std::mem::replace(&mut needed[vertex.index()], true) && !stays(vertex) {
            left.extend(edges.neighbors(vertex));
        }
    }
    needed
}

struct Builder<'a, 'c> {
    planned: &'a Planned<'c>,
    graph: schedule::Graph,
    tasks: Vec<Task>,
    made: HashMap<&'a Address, TaskId>,
    /// For each vertex, the task that is over when all that depend on it are made.
    after_dependents: HashMap<NodeIndex, TaskId>,
}

const WORK: Role = Role::Work { provider: 0 };

impl<'a, 'c> Builder<'a, 'c> {
    fn new(planned: &'a Planned<'c>) -> Builder<'a, 'c> {
        Builder {
            planned,
            graph: schedule::Graph::new(),
            tasks: Vec::new(),
            made: HashMap::new(),
            after_dependents: HashMap::new(),
        }
    }

    fn add(&mut self, task: Task, role: Role) -> TaskId {
        self.tasks.push(task);
        self.graph.add(role)
    }

    /// One task for each vertex of the graph, with its number.
    fn declared(&mut self) {
        let planned = self.planned;
        for vertex in planned.graph.edges.node_weights() {
            match vertex {
                Vertex::Instance(at) => {
                    let address = &planned.expansion.instances[*at as usize].address;
                    let step = planned.plan.steps.get(address);
                    let role = match step.map(|step| step.action) {
                        None | Some(Action::Keep) => Role::Group,
                        Some(_) => WORK,
                    };
                    let task = self.add(Task::Make(*at), role);
                    self.made.insert(address, task);
                }
                Vertex::Whole(node, place) => _ = self.add(Task::Value(*node, *place), Role::Group),
                Vertex::Collected(_) => _ = self.add(Task::Join, Role::Group),
            }
        }
        for edge in planned.graph.edges.raw_edges() {
            self.graph.depend(edge.source().index(), edge.target().index(), Need::Done);
        }
    }

    /// Records that are brought up to date wait for nothing.
    fn records_only(&mut self) {
        let planned = self.planned;
        for (at, instance) in planned.expansion.instances.iter().enumerate() {
            let step = planned.plan.steps.get(&instance.address);
            if step.is_some_and(|step| step.action == Action::Record) {
                let task = self.add(Task::Make(at as u32), WORK);
                self.made.insert(&instance.address, task);
            }
        }
    }

    fn removals(&mut self, with_records: bool) {
        let planned = self.planned;
        let mut early = HashMap::new();
        let mut late = HashMap::new();
        for (address, step) in &planned.plan.steps {
            let number = match step.action {
                Action::Destroy | Action::Forget | Action::Replace { create_first: false } => None,
                Action::Replace { create_first: true } => {
                    let before = planned.state.recorded.get(address);
                    // It stays where it is, and is remembered.
                    if before.is_some_and(|before| is_quarantined(&planned.state, &before.session)) {
                        continue;
                    }
                    Some(next_number(&planned.state, address))
                }
                _ => continue,
            };
            let task = self.add(Task::Remove(Object { address: address.clone(), deposed: number }), WORK);
            match step.action {
                Action::Replace { create_first: false } => {
                    self.graph.depend(self.made[address], task, Need::Done);
                    early.insert(address, task);
                }
                Action::Replace { create_first: true } => {
                    self.graph.depend(task, self.made[address], Need::Done);
                    self.wait_for_dependents(task, address);
                    late.insert(address, task);
                }
                _ => _ = late.insert(address, task),
            }
        }
        for (address, older) in &planned.plan.deposed {
            for number in older.keys() {
                let object = Object { address: address.clone(), deposed: Some(*number) };
                let task = self.add(Task::Remove(object), WORK);
                if let Some(made) = self.made.get(address) {
                    self.graph.depend(task, *made, Need::Over);
                    self.wait_for_dependents(task, address);
                }
            }
        }
        if with_records {
            self.order_by_records(&early, &late);
        }
    }

    /// Of what goes with a host, first what itself waits for the work there; but for what has to go even before that.
    fn first_what_waits(&mut self, catalog: &dyn Catalog) {
        let planned = self.planned;
        let gone = planned.plan.steps.iter().filter(|(address, step)| check::gives_up_a_host(address, step));
        let mut slots: BTreeMap<&ScopePath, (Vec<TaskId>, Vec<TaskId>)> =
            gone.map(|(host, _)| (&host.scope, Default::default())).collect();
        for (task, of) in self.tasks.iter().enumerate() {
            let Task::Remove(Object { address, deposed: None }) = of else { continue };
            let here = address.scope.slot().and_then(|slot| slots.get_mut(&slot));
            let (Some((first, then)), Some(step)) = (here, planned.plan.steps.get(address)) else { continue };
            if check::waits_for_work(step, catalog) { first.push(task) } else { then.push(task) }
        }
        let waiting: Vec<TaskId> = slots.values().flat_map(|(first, _)| first.iter().copied()).collect();
        if waiting.is_empty() {
            return;
        }
        let behind = self.graph.behind(&waiting);
        for (first, then) in slots.into_values().filter(|(first, _)| !first.is_empty()) {
            let over = self.add(Task::Join, Role::Group);
            first.iter().for_each(|task| self.graph.depend(over, *task, Need::Done));
            let then = then.iter().filter(|task| !behind[**task]);
            then.for_each(|task| self.graph.depend(*task, over, Need::Done));
        }
    }

    fn order_by_records(&mut self, early: &HashMap<&Address, TaskId>, late: &HashMap<&Address, TaskId>) {
        let planned = self.planned;
        let remembered = Remembered::new(planned.state.recorded.iter());
        let rows = early.keys().filter_map(|address| remembered.number(address));
        let makes_room: HashSet<u32> = remembered.dependents(rows).into_keys().collect();
        let task_of = |row: u32| {
            let address = remembered.rows[row as usize].0;
            let task = early.get(address).or_else(|| late.get(address)).copied()?;
            Some((task, early.contains_key(address) || makes_room.contains(&row)))
        };
        let mut users: Vec<Vec<u32>> = vec![Vec::new(); remembered.groups.len()];
        for (row, groups) in remembered.uses.iter().enumerate() {
            groups.iter().for_each(|group| users[*group as usize].push(row as u32));
        }
        for (group, members) in remembered.groups.iter().enumerate() {
            let goes: Vec<(u32, TaskId, bool)> = members
                .iter()
                .filter_map(|row| task_of(*row).map(|(task, early)| (*row, task, early)))
                .collect();
            if goes.is_empty() {
                continue;
            }
            let (gone, changed) = (self.add(Task::Join, Role::Group), self.add(Task::Join, Role::Group));
            self.graph.depend(changed, gone, Need::Done);
            for user in &users[group] {
                let address = remembered.rows[*user as usize].0;
                match task_of(*user) {
                    Some((task, true)) => self.graph.depend(gone, task, Need::Done),
                    Some((task, false)) => self.graph.depend(changed, task, Need::Done),
                    None => {
                        if let Some(made) = self.made.get(address).filter(|_| self.works(address)) {
                            self.graph.depend(changed, *made, Need::Done);
                        }
                    }
                }
            }
            for (row, task, early) in goes {
                if users[group].binary_search(&row).is_err() {
                    self.graph.depend(task, if early { gone } else { changed }, Need::Done);
                }
            }
        }
    }

    fn works(&self, address: &Address) -> bool {
        self.planned.plan.steps.get(address).is_some_and(|step| step.action != Action::Keep)
    }

    /// Makes a task wait until all that depend on an instance are made.
    fn wait_for_dependents(&mut self, task: TaskId, address: &Address) {
        let planned = self.planned;
        let Some(vertex) = self.made.get(address).map(|task| NodeIndex::new(*task)) else { return };
        if vertex.index() >= planned.graph.edges.node_count() {
            return;
        }
        let after = self.after_dependents_of(vertex);
        self.graph.depend(task, after, Need::Done);
    }

    fn after_dependents_of(&mut self, vertex: NodeIndex) -> TaskId {
        if let Some(known) = self.after_dependents.get(&vertex) {
            return *known;
        }
        let joined = self.add(Task::Join, Role::Group);
        self.after_dependents.insert(vertex, joined);
        let dependents: Vec<NodeIndex> =
            self.planned.graph.edges.neighbors_directed(vertex, Direction::Incoming).collect();
        for dependent in dependents {
            match self.planned.graph.edges[dependent] {
                Vertex::Instance(_) => self.graph.depend(joined, dependent.index(), Need::Done),
                Vertex::Whole(..) | Vertex::Collected(_) => {
                    let further = self.after_dependents_of(dependent);
                    self.graph.depend(joined, further, Need::Done);
                }
            }
        }
        joined
    }
}

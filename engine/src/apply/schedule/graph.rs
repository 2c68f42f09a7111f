//! Tasks and their edges, in few flat vectors: a fleet has hundreds of thousands of them.

use std::fmt;
use std::ops::Range;

/// The number of a task; the first is 0.
pub type TaskId = usize;

/// What a task is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Joins others and does nothing itself.
    Group,
    /// Does something, through the provider with this number.
    Work {
        /// Which of the [limits](super::Limits::providers) holds for it.
        provider: usize,
    },
}

/// What one task needs of another before it may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// That it is done: if it is not, the task is skipped.
    Done,
    /// That it is over, however it ended.
    Over,
}

/// Tasks, and what each waits for.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    roles: Vec<Role>,
    edges: Vec<Edge>,
}

#[derive(Clone, Copy, Debug)]
struct Edge {
    task: u32,
    on: u32,
    need: Need,
}

/// Tasks that wait for each other, each for the next and the last for the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cycle(pub Vec<TaskId>);

/// For every task a list of others.
#[derive(Debug)]
pub(super) struct Links {
    /// Where the list of each task starts; one more, for the end of the last.
    starts: Vec<u32>,
    links: Vec<(u32, Need)>,
}

impl Graph {
    /// No tasks.
    #[must_use]
    pub fn new() -> Graph {
        Graph::default()
    }

    /// Adds a task and returns its number: one more than that of the task before.
    pub fn add(&mut self, role: Role) -> TaskId {
        self.roles.push(role);
        self.roles.len() - 1
    }

    /// All that some tasks wait for, and these themselves.
    #[must_use]
    pub fn behind(&self, tasks: &[TaskId]) -> Vec<bool> {
        let mut waits: Vec<Vec<u32>> = vec![Vec::new(); self.roles.len()];
        self.edges.iter().for_each(|edge| waits[edge.task as usize].push(edge.on));
        let mut behind = vec![false; self.roles.len()];
        let mut left = tasks.to_vec();
        while let Some(task) = left.pop() {
            if !std::mem::replace(&mut behind[task], true) {
                left.extend(waits[task].iter().map(|on| *on as TaskId));
            }
        }
        behind
    }

    /// Makes a task wait for another one; both were added before.
    pub fn depend(&mut self, task: TaskId, on: TaskId, need: Need) {
        assert!(task.max(on) < self.roles.len(), "an edge {task} → {on} to a task that is not there");
        self.edges.push(Edge { task: narrow(task), on: narrow(on), need });
    }

    /// How many tasks there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.roles.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.roles.is_empty()
    }

    pub(super) fn into_roles(self) -> Vec<Role> {
        self.roles
    }

    pub(super) fn dependencies(&self) -> Links {
        Links::new(self.len(), self.edges.iter().map(|edge| (edge.task, edge.on, edge.need)))
    }

    pub(super) fn dependents(&self) -> Links {
        Links::new(self.len(), self.edges.iter().map(|edge| (edge.on, edge.task, edge.need)))
    }
}

impl fmt::Display for Cycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("tasks wait for each other:")?;
        self.0.iter().try_for_each(|task| write!(f, " {task}"))
    }
}

impl std::error::Error for Cycle {}

impl Links {
    fn new(tasks: usize, edges: impl Iterator<Item = (u32, u32, Need)> + Clone) -> Links {
        let mut starts = vec![0; tasks + 1];
        for (from, ..) in edges.clone() {
            starts[from as usize + 1] += 1;
        }
        for task in 0..tasks {
            starts[task + 1] += starts[task];
        }
        let mut links = vec![(0, Need::Done); starts[tasks] as usize];
        let mut free = starts.clone();
        for (from, to, need) in edges {
            let free = &mut free[from as usize];
            links[*free as usize] = (to, need);
            *free += 1;
        }
        Links { starts, links }
    }

    pub(super) fn range(&self, task: TaskId) -> Range<usize> {
        self.starts[task] as usize..self.starts[task + 1] as usize
    }

    pub(super) fn at(&self, at: usize) -> (TaskId, Need) {
        let (task, need) = self.links[at];
        (task as usize, need)
    }

    pub(super) fn of(&self, task: TaskId) -> impl Iterator<Item = (TaskId, Need)> + '_ {
        self.range(task).map(|at| self.at(at))
    }

    pub(super) fn count(&self, task: TaskId) -> u32 {
        self.starts[task + 1] - self.starts[task]
    }

    fn tasks(&self) -> usize {
        self.starts.len() - 1
    }
}

/// All tasks, each after those it depends on.
pub(super) fn order(dependencies: &Links, dependents: &Links) -> Result<Vec<TaskId>, Cycle> {
    let mut pending: Vec<u32> = (0..dependencies.tasks()).map(|task| dependencies.count(task)).collect();
    let mut order: Vec<TaskId> = (0..pending.len()).filter(|&task| pending[task] == 0).collect();
    let mut seen = 0;
    while let Some(&task) = order.get(seen) {
        seen += 1;
        for (dependent, _) in dependents.of(task) {
            pending[dependent] -= 1;
            if pending[dependent] == 0 {
                order.push(dependent);
            }
        }
    }
    match pending.iter().position(|&pending| pending > 0) {
        None => Ok(order),
        Some(stuck) => Err(cycle(stuck, dependencies, &pending)),
    }
}

/// Whoever is stuck waits for somebody who is stuck: following that must lead to the same task twice.
fn cycle(stuck: TaskId, dependencies: &Links, pending: &[u32]) -> Cycle {
    let mut place = vec![None; pending.len()];
    let mut path: Vec<TaskId> = Vec::new();
    let mut task = stuck;
    loop {
        if let Some(start) = place[task] {
            return Cycle(path.split_off(start));
        }
        place[task] = Some(path.len());
        path.push(task);
        let next = dependencies.of(task).find(|&(on, _)| pending[on] > 0);
        task = next.expect("a stuck task waits for a stuck one").0;
    }
}

fn narrow(task: TaskId) -> u32 {
    u32::try_from(task).expect("there is no room in memory for so many tasks")
}

//! In which order steps run. Pure: the driver asks what may begin and says what has ended.
//!
//! A [`Graph`] is made once and turned into a [`Schedule`], which hands out tasks: first those on the longest path that
//! is left, then by number, so that equal runs take equal decisions. Every task ends as one of [`Status::Done`],
//! [`Status::Failed`], [`Status::Skipped`], or is left over after a [`stop`](Schedule::stop).
//!
//! All of it costs O((tasks + edges) · log tasks) at most.

mod graph;
#[cfg(test)]
mod laws;
mod queue;

use self::graph::Links;
pub use self::graph::{Cycle, Graph, Need, Role, TaskId};
pub use self::queue::Limits;
use self::queue::{Queues, Rank};

/// Tasks and how far each has come.
#[derive(Debug)]
pub struct Schedule {
    roles: Vec<Role>,
    /// Of each task, those that wait for it.
    dependents: Links,
    /// Of each task, those it waits for.
    dependencies: Links,
    /// Of each task, the most work on any way from it to an end, itself included.
    ahead: Vec<u32>,
    /// Of each task, how many edges to tasks that are not over it has.
    pending: Vec<u32>,
    status: Vec<Status>,
    queues: Queues,
    /// How many were handed out and have not ended.
    running: usize,
    /// How many are not over.
    left: usize,
    stopped: bool,
}

/// How far a task has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Something it depends on is not over.
    Waiting,
    /// Nothing is in its way but the limits.
    Ready,
    /// It was handed out.
    Running,
    /// It was done.
    Done,
    /// It failed.
    Failed,
    /// It will not be handed out, because this one failed.
    Skipped(TaskId),
}

/// What to do next. The answer to each is [`Schedule::done`] or [`Schedule::failed`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ready {
    /// Everything a group waits for is over. It counts towards no limit.
    Group(TaskId),
    /// A task with work may begin.
    Work(TaskId),
}

impl Schedule {
    /// Starts with everything to be done.
    pub fn new(graph: Graph, limits: &Limits) -> Result<Schedule, Cycle> {
        let (dependencies, dependents) = (graph.dependencies(), graph.dependents());
        let roles = graph.into_roles();
        let order = graph::order(&dependencies, &dependents)?;
        let mut ahead = vec![0; roles.len()];
        for &task in order.iter().rev() {
            let behind = dependents.of(task).map(|(dependent, _)| ahead[dependent]).max().unwrap_or(0);
            ahead[task] = behind + u32::from(roles[task] != Role::Group);
        }
        let mut schedule = Schedule {
            pending: (0..roles.len()).map(|task| dependencies.count(task)).collect(),
            status: vec![Status::Waiting; roles.len()],
            queues: Queues::new(limits),
            running: 0,
            left: roles.len(),
            stopped: false,
            roles,
            dependents,
            dependencies,
            ahead,
        };
        for task in 0..schedule.roles.len() {
            if schedule.pending[task] == 0 {
                schedule.make_ready(task);
            }
        }
        Ok(schedule)
    }

    /// The next task that may begin, if one may.
    #[expect(clippy::should_implement_trait, reason = "no sequence: after none there may be more")]
    pub fn next(&mut self) -> Option<Ready> {
        if self.stopped {
            return None;
        }
        let task = self.queues.pop()?;
        self.status[task] = Status::Running;
        self.running += 1;
        Some(match self.roles[task] {
            Role::Group => Ready::Group(task),
            Role::Work { .. } => Ready::Work(task),
        })
    }

    /// A task that was handed out is done.
    pub fn done(&mut self, task: TaskId) {
        self.end(task, Status::Done);
        self.over(task);
    }

    /// A task that was handed out failed, or nobody knows. Returns those that are skipped because of it: all that
    /// need it to be done, directly or through others, except those that were skipped before.
    pub fn failed(&mut self, task: TaskId) -> Vec<TaskId> {
        self.end(task, Status::Failed);
        let mut skipped = Vec::new();
        let mut next = Some(task);
        let mut seen = 0;
        while let Some(from) = next {
            for (dependent, need) in self.dependents.of(from) {
                // What needs this one cannot have been handed out, so it is still waiting unless it was skipped.
                if need == Need::Done && self.status[dependent] == Status::Waiting {
                    self.status[dependent] = Status::Skipped(task);
                    skipped.push(dependent);
                }
            }
            next = skipped.get(seen).copied();
            seen += 1;
        }
        self.over(task);
        skipped
    }

    /// A task that was handed out was not begun after all. It may be handed out again.
    pub fn hand_back(&mut self, task: TaskId) {
        self.end(task, Status::Ready);
        self.make_ready(task);
    }

    /// Nothing more is handed out.
    pub fn stop(&mut self) {
        self.stopped = true;
    }

    /// Whether nothing runs and nothing will.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.running == 0 && (self.stopped || self.left == 0)
    }

    /// How far a task has come.
    #[must_use]
    pub fn status(&self, task: TaskId) -> Status {
        self.status[task]
    }

    /// What a task still waits for.
    pub fn waiting_on(&self, task: TaskId) -> impl Iterator<Item = TaskId> + '_ {
        self.dependencies.of(task).map(|(on, _)| on).filter(|&on| !self.is_over(on))
    }

    /// The tasks that were neither handed out nor skipped, by number.
    pub fn not_started(&self) -> impl Iterator<Item = TaskId> + '_ {
        let untouched = |task: &TaskId| matches!(self.status[*task], Status::Waiting | Status::Ready);
        (0..self.status.len()).filter(untouched)
    }

    /// How many were handed out and have not ended, groups included.
    #[must_use]
    pub fn running(&self) -> usize {
        self.running
    }

    /// A skipped task is over only when all before it is, so that what merely follows it keeps following those, too.
    fn is_over(&self, task: TaskId) -> bool {
        match self.status[task] {
            Status::Waiting | Status::Ready | Status::Running => false,
            Status::Done | Status::Failed => true,
            Status::Skipped(_) => self.pending[task] == 0,
        }
    }

    fn end(&mut self, task: TaskId, status: Status) {
        assert_eq!(self.status[task], Status::Running, "task {task} ends without having been handed out");
        self.status[task] = status;
        self.running -= 1;
        self.queues.release(self.roles[task]);
    }

    /// Tells those that wait for a task, and those that wait for the skipped among them, and so on.
    fn over(&mut self, task: TaskId) {
        let mut over = vec![task];
        while let Some(task) = over.pop() {
            self.left -= 1;
            for at in self.dependents.range(task) {
                let (dependent, _) = self.dependents.at(at);
                self.pending[dependent] -= 1;
                if self.pending[dependent] > 0 {
                    continue;
                }
                match self.status[dependent] {
                    Status::Skipped(_) => over.push(dependent),
                    _ => self.make_ready(dependent),
                }
            }
        }
    }

    fn make_ready(&mut self, task: TaskId) {
        self.status[task] = Status::Ready;
        self.queues.push(self.roles[task], Rank::new(self.ahead[task], task));
    }
}

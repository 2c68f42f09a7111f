//! What is ready, by provider, within the limits.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use super::graph::{Role, TaskId};

/// How many tasks may run at once. A limit of 0 counts as 1: nothing would ever end otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// All together.
    pub total: usize,
    /// Those of each provider, by its number; none for those beyond the last.
    pub providers: Vec<usize>,
}

/// Which of two ready tasks goes first: the greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank {
    ahead: u32,
    task: Reverse<TaskId>,
}

/// Groups on their own, work by provider.
#[derive(Debug)]
pub(super) struct Queues {
    groups: BinaryHeap<Rank>,
    providers: Vec<Queue>,
    /// The best task of each provider that has one ready and has room for it.
    best: BTreeSet<(Rank, usize)>,
    limits: Limits,
    /// How many tasks with work run.
    working: usize,
}

#[derive(Debug, Default)]
struct Queue {
    ready: BinaryHeap<Rank>,
    working: usize,
    /// What stands for it in `best`.
    listed: Option<Rank>,
}

impl Limits {
    /// No limits at all.
    pub const NONE: Limits = Limits { total: usize::MAX, providers: Vec::new() };

    fn provider(&self, provider: usize) -> usize {
        self.providers.get(provider).copied().unwrap_or(usize::MAX).max(1)
    }
}

impl Rank {
    pub(super) fn new(ahead: u32, task: TaskId) -> Rank {
        Rank { ahead, task: Reverse(task) }
    }
}

impl Queues {
    pub(super) fn new(limits: &Limits) -> Queues {
        Queues {
            groups: BinaryHeap::new(),
            providers: Vec::new(),
            best: BTreeSet::new(),
            limits: limits.clone(),
            working: 0,
        }
    }

    /// A task is ready.
    pub(super) fn push(&mut self, role: Role, rank: Rank) {
        match role {
            Role::Group => self.groups.push(rank),
            Role::Work { provider } => {
                if self.providers.len() <= provider {
                    self.providers.resize_with(provider + 1, Queue::default);
                }
                self.providers[provider].ready.push(rank);
                self.list(provider);
            }
        }
    }

    /// Takes out the best task that the limits allow. Groups go first: they take no room and may lead to work.
    pub(super) fn pop(&mut self) -> Option<TaskId> {
        if let Some(rank) = self.groups.pop() {
            return Some(rank.task.0);
        }
        if self.working >= self.limits.total.max(1) {
            return None;
        }
        let &(rank, provider) = self.best.last()?;
        self.working += 1;
        self.providers[provider].working += 1;
        self.providers[provider].ready.pop();
        self.list(provider);
        Some(rank.task.0)
    }

    /// A task that was taken out has ended.
    pub(super) fn release(&mut self, role: Role) {
        if let Role::Work { provider } = role {
            self.working -= 1;
            self.providers[provider].working -= 1;
            self.list(provider);
        }
    }

    /// Brings a provider's place in `best` up to date.
    fn list(&mut self, provider: usize) {
        let queue = &mut self.providers[provider];
        let room = queue.working < self.limits.provider(provider);
        let best = queue.ready.peek().copied().filter(|_| room);
        if best == queue.listed {
            return;
        }
        if let Some(listed) = std::mem::replace(&mut queue.listed, best) {
            self.best.remove(&(listed, provider));
        }
        self.best.extend(best.map(|rank| (rank, provider)));
    }
}

//! What holds for every graph, whatever ends when and how.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

/// A graph as a test sees it.
#[derive(Clone, Debug)]
struct World {
    roles: Vec<Role>,
    /// Task, what it waits for, and what it needs of it.
    edges: Vec<(TaskId, TaskId, Need)>,
}

impl World {
    fn graph(&self) -> Graph {
        let mut graph = Graph::new();
        for &role in &self.roles {
            graph.add(role);
        }
        for &(task, on, need) in &self.edges {
            graph.depend(task, on, need);
        }
        graph
    }

    fn schedule(&self, limits: &Limits) -> Schedule {
        Schedule::new(self.graph(), limits).expect("no cycle")
    }

    /// All tasks that a task waits for, directly or through others.
    fn before(&self, task: TaskId) -> BTreeSet<TaskId> {
        reach(task, |at| self.edges.iter().filter(move |e| e.0 == at).map(|e| e.1).collect())
    }

    /// All tasks that need a task to be done, directly or through others.
    fn needing(&self, task: TaskId) -> BTreeSet<TaskId> {
        let needs = |at| self.edges.iter().filter(move |e| e.1 == at && e.2 == Need::Done);
        reach(task, |at| needs(at).map(|e| e.0).collect())
    }

    /// The longest way from a task to an end, with what each task on it takes.
    fn ahead(&self, task: TaskId, takes: &[u32]) -> u32 {
        let after = self.edges.iter().filter(|e| e.1 == task).map(|e| self.ahead(e.0, takes));
        takes[task] + after.max().unwrap_or(0)
    }

    fn is_work(&self, task: TaskId) -> bool {
        self.roles[task] != Role::Group
    }
}

fn reach(from: TaskId, next: impl Fn(TaskId) -> Vec<TaskId>) -> BTreeSet<TaskId> {
    let (mut found, mut left) = (BTreeSet::new(), next(from));
    while let Some(task) = left.pop() {
        if found.insert(task) {
            left.extend(next(task));
        }
    }
    found
}

/// Up to 14 tasks in any numbering, edges only along a hidden order.
fn world() -> impl Strategy<Value = World> {
    let role = prop_oneof![
        1 => Just(Role::Group),
        3 => (0..3_usize).prop_map(|provider| Role::Work { provider }),
    ];
    prop::collection::vec(role, 1..14).prop_flat_map(|roles| {
        let tasks = roles.len();
        let edge = (0..tasks, 0..tasks, any::<bool>());
        let numbers = Just((0..tasks).collect::<Vec<_>>()).prop_shuffle();
        (Just(roles), numbers, prop::collection::vec(edge, 0..30)).prop_map(|(roles, numbers, edges)| {
            let edge = |(a, b, must): (usize, usize, bool)| {
                let need = if must { Need::Done } else { Need::Over };
                (a != b).then(|| (numbers[a.max(b)], numbers[a.min(b)], need))
            };
            World { edges: edges.into_iter().filter_map(edge).collect(), roles }
        })
    })
}

fn limits() -> impl Strategy<Value = Limits> {
    let providers = prop::collection::vec(0..4_usize, 0..3);
    (0..5_usize, providers).prop_map(|(total, providers)| Limits { total, providers })
}

/// How a task that was handed out ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Done,
    Failed,
    HandedBack,
}

/// One decision of the driver: which of the running tasks ends, and how; whether to stop now.
fn fate() -> impl Strategy<Value = (prop::sample::Index, End, bool)> {
    let end = prop_oneof![6 => Just(End::Done), 2 => Just(End::Failed), 1 => Just(End::HandedBack)];
    (any::<prop::sample::Index>(), end, prop::bool::weighted(0.03))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn any_run_keeps_order_and_limits_and_accounts_for_every_task(
        world in world(),
        limits in limits(),
        fates in prop::collection::vec(fate(), 100),
    ) {
        let mut schedule = world.schedule(&limits);
        let (mut running, mut handed_out) = (Vec::new(), BTreeSet::new());
        let (mut over, mut stopped) = (BTreeSet::new(), false);
        let (mut failed, mut skipped) = (BTreeSet::new(), BTreeSet::new());
        let room = |running: &[TaskId], role: Role| {
            let Role::Work { provider } = role else { return true };
            let all = running.iter().filter(|&&task| world.is_work(task)).count();
            let of_it = running.iter().filter(|&&task| world.roles[task] == role).count();
            let limit = limits.providers.get(provider).copied().unwrap_or(usize::MAX);
            all < limits.total.max(1) && of_it < limit.max(1)
        };
        for (which, end, stops) in fates {
            while let Some(ready) = schedule.next() {
                prop_assert!(!stopped, "{ready:?} after the stop");
                let (Ready::Group(task) | Ready::Work(task)) = ready;
                prop_assert_eq!(matches!(ready, Ready::Work(_)), world.is_work(task));
                prop_assert!(handed_out.insert(task), "{task} was handed out twice");
                prop_assert!(!skipped.contains(&task), "{task} was skipped");
                prop_assert!(world.before(task).is_subset(&over), "{task} before what it waits for");
                prop_assert!(room(&running, world.roles[task]), "{task} beyond the limits");
                running.push(task);
            }
            // Nothing that could run is held back.
            for task in (0..world.roles.len()).filter(|t| !handed_out.contains(t) && !skipped.contains(t)) {
                let may = world.before(task).is_subset(&over) && room(&running, world.roles[task]);
                prop_assert!(stopped || !may, "{task} could run");
                let waits: BTreeSet<_> = schedule.waiting_on(task).collect();
                let direct = world.edges.iter().filter(|e| e.0 == task).map(|e| e.1);
                let open = |on: &TaskId| {
                    !over.contains(on) || !world.before(*on).is_subset(&over)
                };
                prop_assert_eq!(waits, direct.filter(open).collect::<BTreeSet<_>>());
            }
            prop_assert_eq!(schedule.running(), running.len());
            prop_assert_eq!(schedule.is_finished(), running.is_empty());
            if running.is_empty() {
                break;
            }
            let task = running.swap_remove(which.index(running.len()));
            if end == End::HandedBack {
                handed_out.remove(&task);
                schedule.hand_back(task);
                prop_assert_eq!(schedule.status(task), Status::Ready);
            } else if end == End::Failed {
                over.insert(task);
                failed.insert(task);
                let mut expected = world.needing(task);
                expected.retain(|task| !skipped.contains(task));
                let found = schedule.failed(task);
                prop_assert_eq!(found.len(), expected.len(), "each once");
                prop_assert_eq!(BTreeSet::from_iter(found), expected.clone());
                for &skip in &expected {
                    prop_assert_eq!(schedule.status(skip), Status::Skipped(task));
                }
                over.extend(&expected);
                skipped.extend(expected);
            } else {
                over.insert(task);
                schedule.done(task);
            }
            if stops {
                schedule.stop();
                stopped = true;
            }
        }
        prop_assert!(schedule.is_finished());
        let not_started: BTreeSet<_> = schedule.not_started().collect();
        prop_assert!(stopped || not_started.is_empty());
        for task in 0..world.roles.len() {
            let expected = if failed.contains(&task) {
                schedule.status(task) == Status::Failed
            } else if handed_out.contains(&task) {
                schedule.status(task) == Status::Done
            } else if skipped.contains(&task) {
                matches!(schedule.status(task), Status::Skipped(cause) if failed.contains(&cause))
            } else {
                not_started.contains(&task)
            };
            prop_assert!(expected, "{task} is {:?}", schedule.status(task));
        }
    }

    #[test]
    fn without_limits_a_run_takes_as_long_as_its_longest_path(
        world in world(),
        takes in prop::collection::vec(0..9_u32, 14),
    ) {
        let takes: Vec<u32> =
            (0..world.roles.len()).map(|task| if world.is_work(task) { takes[task] } else { 0 }).collect();
        let mut schedule = world.schedule(&Limits::NONE);
        let (mut now, mut running) = (0, BTreeSet::new());
        loop {
            while let Some(Ready::Group(task) | Ready::Work(task)) = schedule.next() {
                running.insert((now + takes[task], task));
            }
            let Some((then, task)) = running.pop_first() else { break };
            now = then;
            schedule.done(task);
        }
        prop_assert!(schedule.is_finished());
        let longest = (0..world.roles.len()).map(|task| world.ahead(task, &takes)).max();
        prop_assert_eq!(now, longest.unwrap_or(0));
    }

    #[test]
    fn one_at_a_time_the_longest_path_goes_first_then_the_lowest_number(world in world()) {
        let ones: Vec<u32> = (0..world.roles.len()).map(|task| u32::from(world.is_work(task))).collect();
        let mut schedule = world.schedule(&Limits { total: 1, providers: Vec::new() });
        let mut over = BTreeSet::new();
        while let Some(ready) = schedule.next() {
            let (Ready::Group(task) | Ready::Work(task)) = ready;
            let first = (0..world.roles.len())
                .filter(|t| !over.contains(t) && world.before(*t).is_subset(&over))
                .min_by_key(|&t| (world.is_work(t), std::cmp::Reverse(world.ahead(t, &ones)), t));
            prop_assert_eq!(Some(task), first);
            over.insert(task);
            schedule.done(task);
        }
        prop_assert_eq!(over.len(), world.roles.len());
    }

    #[test]
    fn a_cycle_is_found_and_named(mut world in world(), ends in any::<(prop::sample::Index, bool)>()) {
        // Closing any edge the other way round makes a cycle.
        let Some(&(task, on, need)) = world.edges.get(ends.0.index(world.edges.len().max(1))) else {
            return Ok(());
        };
        world.edges.push((on, task, need));
        let Cycle(cycle) = Schedule::new(world.graph(), &Limits::NONE).unwrap_err();
        for (i, &task) in cycle.iter().enumerate() {
            let next = cycle[(i + 1) % cycle.len()];
            prop_assert!(world.edges.iter().any(|e| e.0 == task && e.1 == next), "{cycle:?}");
        }
    }
}

#[test]
fn what_follows_a_skipped_task_still_follows_what_that_waited_for() {
    // 2 needs 0 and 1; 3 only follows 2. When 0 fails, 2 is skipped, but 3 must not run beside 1.
    let mut graph = Graph::new();
    for _ in 0..4 {
        graph.add(Role::Work { provider: 0 });
    }
    graph.depend(2, 0, Need::Done);
    graph.depend(2, 1, Need::Done);
    graph.depend(3, 2, Need::Over);
    let mut schedule = Schedule::new(graph, &Limits::NONE).unwrap();
    assert_eq!((schedule.next(), schedule.next()), (Some(Ready::Work(0)), Some(Ready::Work(1))));
    assert_eq!(schedule.failed(0), [2]);
    assert_eq!(schedule.next(), None);
    assert_eq!(schedule.waiting_on(3).collect::<Vec<_>>(), [2]);
    schedule.done(1);
    assert_eq!(schedule.next(), Some(Ready::Work(3)));
}

#[test]
fn nothing_to_do_is_finished() {
    assert!(Schedule::new(Graph::new(), &Limits::NONE).unwrap().is_finished());
}

//! Control groups below the root of the hierarchy: each group has a queue of its tasks on each CPU (`struct cfs_rq`), and an entity
//! that competes in the CPU's root queue with the tasks of the root and the entities of the other groups.
//!
//! ```text
//! root queue of a CPU ─┬─ tasks in no group
//!                      ├─ entity of group 1 ── queue of the group's tasks on the CPU
//!                      └─ entity of group 2 ── …
//! ```
//! Both levels use the same policy. Group 0 contains the tasks that are in no control group; under autogroup the group has an
//! entity too, otherwise its tasks are in the root queue. The entities of the groups have indices below the indices of all tasks.
//!
//! Limits: a slice does not depend on the group's share (CFS) nor on the tasks' own slices (EEVDF): each level computes its slices on
//! its own. Weights of entities are whole numbers, of which 1024 are nice 0.

use super::policy::{Enqueue, GroupState, Policy, Setting, TaskIx};
use super::weight::UNIT;
use crate::kernel::{Kernel, Tunables};
use crate::time::Ns;

/// A policy with groups.
#[derive(Debug, Clone)]
pub struct Grouped<P> {
    level: P,
    /// Group of each task.
    group_of: Vec<u16>,
    /// Group 0 has entities.
    autogroup: bool,
}

/// The queues of a CPU.
#[derive(Debug, Clone, Default)]
pub struct Queue<Q> {
    root: Q,
    groups: Vec<GroupQueue<Q>>,
    /// Index of the entity of group 0.
    first: TaskIx,
    /// Number of entities of groups on all CPUs.
    entities: TaskIx,
    /// Task or entity that is current in the root queue. An entity stays current while its current task sleeps and others wait.
    current: Option<TaskIx>,
    /// See [`Policy::leavers`].
    leavers: Vec<TaskIx>,
}

/// The queue of a group's tasks on a CPU (`struct cfs_rq`).
#[derive(Debug, Clone, Default)]
struct GroupQueue<Q> {
    tasks: Q,
    /// Weight of the group's entity.
    weight: u64,
    /// Number of runnable tasks (`h_nr_running`).
    number: u32,
    /// The group's entity is in the root queue.
    on_rq: bool,
    /// The group's entity has left the root queue while it was not current, see [`Enqueue::Wake::moved`].
    left_waiting: bool,
    /// The entity stays out of the root queue, see [`Policy::set_throttled`].
    throttled: bool,
}

/// The queues of a CPU under the policy of both levels.
type Queues<P> = Queue<<P as Policy>::Queue>;

impl<P: Policy> Grouped<P> {
    /// The group whose queue contains a task; `None` for the root queue.
    fn below_root(&self, task: TaskIx) -> Option<usize> {
        Some(self.group(task)).filter(|group| *group > 0 || self.autogroup)
    }

    /// The entity that represents a task in the root queue.
    fn top(&self, queue: &Queues<P>, task: TaskIx) -> TaskIx {
        self.below_root(task).map_or(task, |group| queue.first + group as TaskIx)
    }

    /// Put a group's entity into the root queue (`enqueue_entity()` for a parent, with ENQUEUE_WAKEUP).
    fn enqueue_entity(&self, queue: &mut Queues<P>, all: &mut [P::Entity], group: usize, now: Ns) {
        let (entity, state) = (queue.first + group as TaskIx, &mut queue.groups[group]);
        if !state.on_rq || P::sched_delayed(&all[entity as usize]) {
            state.on_rq = true;
            let moved = std::mem::take(&mut state.left_waiting);
            self.level.enqueue(&mut queue.root, all, entity, Enqueue::Wake { moved, sync: false }, now);
        }
    }

    /// Take a group's entity out of the root queue (`dequeue_entity()` for a parent, with DEQUEUE_SLEEP). `delays`: a current entity
    /// may stay in the queue.
    ///
    /// Limit: an entity that is not current always leaves the queue.
    fn dequeue_entity(
        &self,
        queue: &mut Queues<P>,
        all: &mut [P::Entity],
        group: usize,
        now: Ns,
        delays: bool,
    ) {
        let (entity, state) = (queue.first + group as TaskIx, &mut queue.groups[group]);
        if !state.on_rq || P::sched_delayed(&all[entity as usize]) {
            return;
        }
        if queue.current != Some(entity) {
            (state.on_rq, state.left_waiting) = (false, true);
            return self.level.dequeue(&mut queue.root, all, entity, now);
        }
        queue.current = None;
        if delays {
            self.level.sleep(&mut queue.root, all, entity, now);
        } else {
            self.level.block(&mut queue.root, all, entity, now);
        }
        state.on_rq = P::sched_delayed(&all[entity as usize]);
    }

    /// Note that a runnable task has left the queue of its group, whose entity leaves the root queue if no task is left.
    fn left(&self, queue: &mut Queues<P>, all: &mut [P::Entity], group: usize, now: Ns) {
        queue.groups[group].number -= 1;
        if P::load(&queue.groups[group].tasks) == 0 {
            self.dequeue_entity(queue, all, group, now, true);
        }
    }
}

/// The queue that contains a task: of its group, or of the root.
macro_rules! queue_of {
    ($self:ident, $queue:ident, $task:expr) => {
        match $self.below_root($task) {
            Some(group) => &mut $queue.groups[group].tasks,
            None => &mut $queue.root,
        }
    };
}

impl<P: Policy> Policy for Grouped<P> {
    type Queue = Queue<P::Queue>;
    type Entity = P::Entity;

    const GROUPS: bool = true;

    fn new(kernel: &Kernel, tunables: &Tunables, setting: Setting) -> Self {
        Self { level: P::new(kernel, tunables, setting), group_of: Vec::new(), autogroup: false }
    }

    fn retune(&mut self, tunables: &Tunables) {
        self.level.retune(tunables);
    }

    fn entity(&self, weight: u32, nice: i32, slice_ns: Option<Ns>) -> P::Entity {
        self.level.entity(weight, nice, slice_ns)
    }

    fn task_fork(
        &self,
        queue: &Self::Queue,
        all: &mut [P::Entity],
        parent: Option<TaskIx>,
        child: TaskIx,
        now: Ns,
    ) {
        let parent = parent.filter(|parent| self.group(*parent) == self.group(child));
        let tasks = self.below_root(child).map_or(&queue.root, |group| &queue.groups[group].tasks);
        self.level.task_fork(tasks, all, parent, child, now);
    }

    fn detach(&self, from: &Self::Queue, all: &mut [P::Entity], task: TaskIx) {
        let tasks = self.below_root(task).map_or(&from.root, |group| &from.groups[group].tasks);
        self.level.detach(tasks, all, task);
    }

    fn enqueue(&self, queue: &mut Self::Queue, all: &mut [P::Entity], task: TaskIx, how: Enqueue, now: Ns) {
        self.level.enqueue(queue_of!(self, queue, task), all, task, how, now);
        if let Some(group) = self.below_root(task) {
            queue.groups[group].number += 1;
            if !queue.groups[group].throttled {
                self.enqueue_entity(queue, all, group, now);
            }
        }
    }

    fn dequeue(&self, queue: &mut Self::Queue, all: &mut [P::Entity], task: TaskIx, now: Ns) {
        self.level.dequeue(queue_of!(self, queue, task), all, task, now);
        if let Some(group) = self.below_root(task) {
            self.left(queue, all, group, now);
        }
    }

    fn block(&self, queue: &mut Self::Queue, all: &mut [P::Entity], task: TaskIx, now: Ns) {
        self.level.block(queue_of!(self, queue, task), all, task, now);
        match self.below_root(task) {
            Some(group) => self.left(queue, all, group, now),
            None => queue.current = None,
        }
    }

    fn sleep(&self, queue: &mut Self::Queue, all: &mut [P::Entity], task: TaskIx, now: Ns) {
        self.level.sleep(queue_of!(self, queue, task), all, task, now);
        match self.below_root(task) {
            Some(group) => self.left(queue, all, group, now),
            None => queue.current = None,
        }
    }

    fn sched_delayed(entity: &P::Entity) -> bool {
        P::sched_delayed(entity)
    }

    fn put_prev_task(&self, queue: &mut Self::Queue, all: &mut [P::Entity], task: TaskIx, now: Ns) {
        if let Some(group) = self.below_root(task) {
            self.level.put_prev_task(&mut queue.groups[group].tasks, all, task, now);
        }
        let top = self.top(queue, task);
        self.level.put_prev_task(&mut queue.root, all, top, now);
        queue.current = None;
    }

    /// Choose an entity of the root queue, then a task of the entity's group (`pick_task_fair()`, kernel/sched/fair.c, v6.12;
    /// `pick_next_task_fair()` in v5.14).
    fn pick_next_task(
        &self,
        queue: &mut Self::Queue,
        all: &mut [P::Entity],
        mut previous: Option<TaskIx>,
        now: Ns,
        mut left: impl FnMut(TaskIx, u32),
    ) -> Option<TaskIx> {
        loop {
            let Queue { root, groups, current, first, entities, leavers } = &mut *queue;
            let top = self.level.pick_next_task(root, all, *current, now, |task, weight| {
                if task < *entities {
                    groups[(task - *first) as usize].on_rq = false;
                } else {
                    leavers.push(task);
                    left(task, weight);
                }
            });
            *current = top;
            let top = top?;
            if let Some(task) = previous
                && self.top(queue, task) != top
            {
                if let Some(group) = self.below_root(task) {
                    self.level.put_prev_task(&mut queue.groups[group].tasks, all, task, now);
                }
                previous = None;
            }
            if top >= queue.entities {
                return Some(top);
            }
            let group = (top - queue.first) as usize;
            let tasks = &mut queue.groups[group].tasks;
            let task = self.level.pick_next_task(tasks, all, previous, now, |task, weight| {
                queue.leavers.push(task);
                left(task, weight);
            });
            if task.is_some() {
                return task;
            }
            // All tasks in the queue were delayed tasks.
            self.dequeue_entity(queue, all, group, now, true);
        }
    }

    fn update_curr(&self, queue: &mut Self::Queue, all: &mut [P::Entity], current: TaskIx, ns: Ns) -> bool {
        let Some(group) = self.below_root(current) else {
            return self.level.update_curr(&mut queue.root, all, current, ns);
        };
        let among_tasks = self.level.update_curr(&mut queue.groups[group].tasks, all, current, ns);
        let top = self.top(queue, current);
        self.level.update_curr(&mut queue.root, all, top, ns) || among_tasks
    }

    fn task_tick(&self, queue: &mut Self::Queue, all: &mut [P::Entity], current: TaskIx, now: Ns) -> bool {
        let Some(group) = self.below_root(current) else {
            return self.level.task_tick(&mut queue.root, all, current, now);
        };
        let among_tasks = self.level.task_tick(&mut queue.groups[group].tasks, all, current, now);
        let top = self.top(queue, current);
        self.level.task_tick(&mut queue.root, all, top, now) || among_tasks
    }

    /// Compare two tasks of a group, or the entities of their groups (`find_matching_se()`).
    fn check_preempt_wakeup(
        &self,
        queue: &mut Self::Queue,
        all: &mut [P::Entity],
        current: TaskIx,
        woken: TaskIx,
    ) -> bool {
        if queue.groups[self.group(woken)].throttled {
            return false;
        }
        let tops = (self.top(queue, current), self.top(queue, woken));
        match self.below_root(woken) {
            Some(group) if tops.0 == tops.1 => {
                self.level.check_preempt_wakeup(&mut queue.groups[group].tasks, all, current, woken)
            }
            _ => self.level.check_preempt_wakeup(&mut queue.root, all, tops.0, tops.1),
        }
    }

    fn yield_task(&self, queue: &mut Self::Queue, all: &mut [P::Entity], current: TaskIx, now: Ns) {
        self.level.yield_task(queue_of!(self, queue, current), all, current, now);
    }

    fn group(&self, task: TaskIx) -> usize {
        self.group_of[task as usize].into()
    }

    fn make_groups(
        &mut self,
        queue: &mut Self::Queue,
        all: &mut Vec<P::Entity>,
        number: [usize; 2],
        autogroup: bool,
    ) {
        let [groups, cpus] = number;
        self.autogroup = autogroup;
        (queue.first, queue.entities) = (all.len() as TaskIx, (groups * cpus) as TaskIx);
        queue.groups = vec![GroupQueue { weight: UNIT, ..GroupQueue::default() }; groups];
        all.resize(all.len() + groups, self.level.entity(UNIT as u32, 0, None));
    }

    fn leavers(queue: &mut Self::Queue) -> Vec<TaskIx> {
        std::mem::take(&mut queue.leavers)
    }

    fn join(&mut self, task: TaskIx, group: usize) {
        self.group_of.resize(self.group_of.len().max(task as usize + 1), 0);
        self.group_of[task as usize] = group as u16;
    }

    fn group_state(queue: &Self::Queue, group: usize) -> GroupState {
        let GroupQueue { number, throttled, .. } = queue.groups[group];
        GroupState { number, throttled, current: queue.current == Some(queue.first + group as TaskIx) }
    }

    fn set_throttled(
        &self,
        queue: &mut Self::Queue,
        all: &mut [P::Entity],
        group: usize,
        on: bool,
        now: Ns,
    ) -> u32 {
        queue.groups[group].throttled = on;
        if on {
            self.dequeue_entity(queue, all, group, now, false);
        } else if P::load(&queue.groups[group].tasks) > 0 {
            self.enqueue_entity(queue, all, group, now);
        }
        queue.groups[group].number
    }

    fn throttled(queue: &Self::Queue, mut visit: impl FnMut(TaskIx)) {
        for group in queue.groups.iter().filter(|group| group.throttled) {
            P::waiting(&group.tasks, |task| {
                visit(task);
                true
            });
        }
    }

    fn reweight_group(&self, queue: &mut Queues<P>, all: &mut [P::Entity], group: usize, weight: u64) {
        let (entity, state) = (queue.first + group as TaskIx, &mut queue.groups[group]);
        if std::mem::replace(&mut state.weight, weight) != weight {
            self.level.reweight_entity(&mut queue.root, all, entity, weight as u32, state.on_rq);
        }
    }

    /// Sum of the weights of the tasks, without the groups' entities.
    fn load(queue: &Self::Queue) -> u64 {
        let entities: u64 = queue.groups.iter().filter(|group| group.on_rq).map(|group| group.weight).sum();
        let tasks: u64 = queue.groups.iter().map(|group| P::load(&group.tasks)).sum();
        P::load(&queue.root) - entities + tasks
    }

    fn weight(entity: &P::Entity) -> u32 {
        P::weight(entity)
    }

    fn waiting(queue: &Self::Queue, mut visit: impl FnMut(TaskIx) -> bool) {
        let mut goes_on = true;
        P::waiting(&queue.root, |task| {
            goes_on = task < queue.entities || visit(task);
            goes_on
        });
        for group in queue.groups.iter().filter(|group| !group.throttled) {
            if goes_on {
                P::waiting(&group.tasks, |task| {
                    goes_on = visit(task);
                    goes_on
                });
            }
        }
    }

    fn preferred(queue: &Self::Queue, task: TaskIx) -> bool {
        P::preferred(&queue.root, task) || queue.groups.iter().any(|group| P::preferred(&group.tasks, task))
    }

    fn verify(queue: &Self::Queue, all: &[P::Entity], current: Option<TaskIx>) {
        P::verify(&queue.root, all, queue.current);
        for (group, state) in queue.groups.iter().enumerate() {
            let current = current.filter(|_| Self::group_state(queue, group).current);
            P::verify(&state.tasks, all, current);
            assert!(
                state.on_rq || state.throttled || state.number == 0,
                "group {group} competes if it has tasks"
            );
        }
    }
}

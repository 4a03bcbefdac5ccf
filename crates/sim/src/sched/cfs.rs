//! The Completely Fair Scheduler of Linux 2.6.23 to 6.5 (kernel/sched/fair.c, v4.5 to v5.14).
//!
//! The task with the least virtual run time runs. Virtual time passes more slowly for greater weights. Sources:
//! Documentation/scheduler/sched-design-CFS.rst; the announcements of I. Molnar and P. Zijlstra. Defaults are in the kernel
//! models. An autogroup divides weight among CPUs (`task_group.rs`), not among tasks; control groups are in `grouped.rs`.

use super::ordered::{Item, Ordered};
use super::policy::{Enqueue, Policy, Setting, TaskIx};
use super::weight::virtual_ns;
use crate::kernel::{Kernel, Tunable, Tunables};
use crate::sched::NOBODY;
use crate::time::Ns;

/// CFS with its tunables.
#[derive(Debug, Clone)]
pub struct Cfs {
    latency: Ns,
    min_granularity: Ns,
    wakeup_granularity: Ns,
    gentle_sleepers: bool,
    start_debit: bool,
    last_buddy: bool,
    child_first: bool,
}

/// A CPU's ordinary tasks (`struct cfs_rq`), in two cache lines.
#[derive(Debug, Clone)]
#[repr(C, align(64))]
pub struct Queue {
    /// Least virtual time of the queue's tasks, never decreasing. Tasks are placed relative to this time.
    min_vruntime: i64,
    /// Sum of the weights of all tasks, the current task included.
    load: u64,
    /// Number of all tasks, the current task included.
    number: u32,
    current: TaskIx,
    /// Task that a wake-up has preempted. The preempted task is preferred when its preemptor sleeps, because its caches
    /// are warm.
    last: TaskIx,
    /// Task that has yielded.
    skip: TaskIx,
    waiting: Ordered<Waiting, 5>,
}

impl Default for Queue {
    fn default() -> Self {
        Self {
            min_vruntime: 0,
            load: 0,
            number: 0,
            current: NOBODY,
            last: NOBODY,
            skip: NOBODY,
            waiting: Ordered::default(),
        }
    }
}

/// A waiting task, ordered by virtual time.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Waiting {
    vruntime: i64,
    task: TaskIx,
}

impl Item for Waiting {
    const NOBODY: Self = Self { vruntime: 0, task: NOBODY };

    #[inline]
    fn task(&self) -> TaskIx {
        self.task
    }

    #[inline]
    fn before(&self, other: &Self) -> bool {
        self.vruntime < other.vruntime
    }
}

/// A task's virtual time.
#[derive(Debug, Clone, Default)]
#[repr(align(32))]
pub struct Entity {
    /// Virtual time: absolute for a task that waits, runs or sleeps, relative to `min_vruntime` between queues.
    vruntime: i64,
    weight: u32,
    /// Total run time (`sum_exec_runtime`).
    ran: Ns,
    /// Total run time when the task last became current (`prev_sum_exec_runtime`).
    ran_before: Ns,
}

impl Entity {
    /// Virtual run time.
    pub fn vruntime(&self) -> i64 {
        self.vruntime
    }
}

impl Cfs {
    fn read(tunables: &Tunables) -> Self {
        Self {
            latency: tunables.non_negative(Tunable::LatencyNs),
            min_granularity: tunables.non_negative(Tunable::MinGranularityNs).max(1),
            wakeup_granularity: tunables.non_negative(Tunable::WakeupGranularityNs),
            gentle_sleepers: tunables.on(Tunable::GentleFairSleepers),
            start_debit: tunables.on(Tunable::StartDebit),
            last_buddy: tunables.on(Tunable::LastBuddy),
            child_first: tunables.on(Tunable::ChildRunsFirst),
        }
    }

    /// Number of tasks up to which the latency is divided among them without slices below the minimum
    /// (`sched_nr_latency`).
    fn nr_latency(&self) -> u64 {
        self.latency.div_ceil(self.min_granularity)
    }

    /// Slice of a task: its share by weight of a period. The period is the latency, or longer where slices would become
    /// shorter than the minimum (`sched_slice()` and `__sched_period()`, kernel/sched/fair.c, v4.5 to v5.14). `joining`: the
    /// task is not on the queue yet.
    fn sched_slice(&self, queue: &Queue, weight: u32, joining: bool) -> Ns {
        let number = u64::from(queue.number) + u64::from(joining);
        let load = queue.load + if joining { u64::from(weight) } else { 0 };
        let period = if number > self.nr_latency() { number * self.min_granularity } else { self.latency };
        (u128::from(period) * u128::from(weight) / u128::from(load.max(1))) as Ns
    }

    /// Compare virtual times: −1 if `other` is not behind `current`, 0 if `other` is behind by at most its wake-up
    /// granularity, 1 if `other` is further behind (`wakeup_preempt_entity()`, kernel/sched/fair.c, v4.5 to v5.14).
    fn wakeup_preempt_entity(&self, current: &Entity, other: &Entity) -> i32 {
        let ahead = current.vruntime - other.vruntime;
        if ahead <= 0 { -1 } else { i32::from(ahead > virtual_ns(self.wakeup_granularity, other.weight)) }
    }

    /// Place a task that wakes up: not further behind than a latency, or half a latency under GENTLE_FAIR_SLEEPERS
    /// (`place_entity()`, kernel/sched/fair.c, v4.5 to v5.14).
    #[inline]
    fn place_entity(&self, queue: &Queue, entity: &mut Entity) {
        let credit = if self.gentle_sleepers { self.latency / 2 } else { self.latency };
        entity.vruntime = entity.vruntime.max(queue.min_vruntime - credit as i64);
    }

    /// Place a forked task at the virtual time of its parent, and under START_DEBIT at least a slice ahead of the queue
    /// (`place_entity()` with `initial`, kernel/sched/fair.c, v4.5 to v5.14).
    #[inline]
    fn place_entity_initial(&self, queue: &Queue, weight: u32, parent_vruntime: i64) -> i64 {
        let debit =
            if self.start_debit { virtual_ns(self.sched_slice(queue, weight, true), weight) } else { 0 };
        parent_vruntime.max(queue.min_vruntime + debit)
    }

    #[inline]
    fn insert(queue: &mut Queue, all: &[Entity], task: TaskIx) {
        queue.waiting.insert(Waiting { vruntime: all[task as usize].vruntime, task });
    }

    /// Clear the queue's preferences for a task (`clear_buddies()`, kernel/sched/fair.c, v4.5 to v5.14).
    #[inline]
    fn clear_buddies(queue: &mut Queue, task: TaskIx) {
        for buddy in [&mut queue.last, &mut queue.skip] {
            if *buddy == task {
                *buddy = NOBODY;
            }
        }
    }

    /// Raise `min_vruntime` to the least virtual time of all tasks (`update_min_vruntime()`, kernel/sched/fair.c, v4.5 to
    /// v5.14).
    #[inline]
    fn update_min_vruntime(queue: &mut Queue, all: &[Entity]) {
        let first = queue.waiting.first().map(|waiting| waiting.vruntime);
        let current = (queue.current != NOBODY).then(|| all[queue.current as usize].vruntime);
        let least = match (first, current) {
            (Some(first), Some(current)) => first.min(current),
            (Some(vruntime), None) | (None, Some(vruntime)) => vruntime,
            (None, None) => return,
        };
        queue.min_vruntime = queue.min_vruntime.max(least);
    }

    /// Return the next task of a queue that prefers a preempted task or has a task that yielded. The preempted task is next,
    /// or the second task if the first has yielded, unless `first` is too far behind (`pick_next_entity()`, kernel/sched/fair.c, v4.5 to v5.14).
    #[cold]
    #[inline(never)]
    fn pick_next_entity(&self, queue: &Queue, all: &[Entity], first: TaskIx) -> TaskIx {
        let fair = |task: TaskIx| self.wakeup_preempt_entity(&all[task as usize], &all[first as usize]) < 1;
        if queue.last != NOBODY && fair(queue.last) {
            return queue.last;
        }
        let second = queue.waiting.second().map(|waiting| waiting.task);
        second.filter(|task| queue.skip == first && fair(*task)).unwrap_or(first)
    }
}

impl Policy for Cfs {
    type Queue = Queue;
    type Entity = Entity;

    fn new(_: &Kernel, tunables: &Tunables, _: Setting) -> Self {
        Self::read(tunables)
    }

    fn retune(&mut self, tunables: &Tunables) {
        *self = Self::read(tunables);
    }

    fn entity(&self, weight: u32, _: i32, _: Option<Ns>) -> Entity {
        Entity { weight, ..Entity::default() }
    }

    fn task_fork(&self, queue: &Queue, all: &mut [Entity], parent: Option<TaskIx>, child: TaskIx, _: Ns) {
        let parent = parent.filter(|task| queue.current == *task);
        let weight = all[child as usize].weight;
        let inherited = parent.map_or(queue.min_vruntime, |task| all[task as usize].vruntime);
        let mut vruntime = self.place_entity_initial(queue, weight, inherited);
        if let Some(parent) = parent.filter(|_| self.child_first) {
            let parent_vruntime = &mut all[parent as usize].vruntime;
            if *parent_vruntime < vruntime {
                std::mem::swap(parent_vruntime, &mut vruntime);
            }
        }
        all[child as usize].vruntime = vruntime - queue.min_vruntime;
    }

    #[inline]
    fn detach(&self, from: &Queue, all: &mut [Entity], task: TaskIx) {
        all[task as usize].vruntime -= from.min_vruntime;
    }

    #[inline]
    fn enqueue(&self, queue: &mut Queue, all: &mut [Entity], task: TaskIx, how: Enqueue, _: Ns) {
        let entity = &mut all[task as usize];
        match how {
            Enqueue::New | Enqueue::Moved => entity.vruntime += queue.min_vruntime,
            Enqueue::Wake { moved, .. } => {
                if moved {
                    entity.vruntime += queue.min_vruntime;
                }
                self.place_entity(queue, entity);
            }
        }
        queue.load += u64::from(entity.weight);
        queue.number += 1;
        Self::insert(queue, all, task);
    }

    #[inline(always)]
    fn dequeue(&self, queue: &mut Queue, all: &mut [Entity], task: TaskIx, _: Ns) {
        let entity = &mut all[task as usize];
        let there = queue.waiting.remove(&Waiting { vruntime: entity.vruntime, task });
        debug_assert!(there, "task {task} waits in the queue");
        queue.load -= u64::from(entity.weight);
        queue.number -= 1;
        entity.vruntime -= queue.min_vruntime;
        Self::clear_buddies(queue, task);
        Self::update_min_vruntime(queue, all);
    }

    #[inline(always)]
    fn block(&self, queue: &mut Queue, all: &mut [Entity], task: TaskIx, _: Ns) {
        debug_assert_eq!(queue.current, task);
        queue.current = NOBODY;
        queue.load -= u64::from(all[task as usize].weight);
        queue.number -= 1;
        Self::clear_buddies(queue, task);
        Self::update_min_vruntime(queue, all);
    }

    fn put_prev_task(&self, queue: &mut Queue, all: &mut [Entity], task: TaskIx, _: Ns) {
        queue.current = NOBODY;
        Self::insert(queue, all, task);
    }

    #[inline]
    fn pick_next_task(
        &self,
        queue: &mut Queue,
        all: &mut [Entity],
        previous: Option<TaskIx>,
        _: Ns,
        _: impl FnMut(TaskIx, u32),
    ) -> Option<TaskIx> {
        if let Some(task) = previous {
            Self::insert(queue, all, task);
        }
        queue.current = NOBODY;
        let first = *queue.waiting.first()?;
        let mut chosen = first.task;
        if (queue.last, queue.skip) != (NOBODY, NOBODY) {
            chosen = self.pick_next_entity(queue, all, chosen);
        }
        let entity = &mut all[chosen as usize];
        if chosen == first.task {
            queue.waiting.pop();
        } else {
            queue.waiting.remove(&Waiting { vruntime: entity.vruntime, task: chosen });
        }
        if previous != Some(chosen) {
            entity.ran_before = entity.ran;
        }
        queue.current = chosen;
        queue.skip = NOBODY;
        Self::clear_buddies(queue, chosen);
        Some(chosen)
    }

    #[inline]
    fn update_curr(&self, queue: &mut Queue, all: &mut [Entity], current: TaskIx, ns: Ns) -> bool {
        let entity = &mut all[current as usize];
        entity.vruntime += virtual_ns(ns, entity.weight);
        entity.ran += ns;
        Self::update_min_vruntime(queue, all);
        false
    }

    #[inline]
    fn task_tick(&self, queue: &mut Queue, all: &mut [Entity], current: TaskIx, _: Ns) -> bool {
        let Some(first) = queue.waiting.first().copied() else { return false };
        let entity = &mut all[current as usize];
        let ideal = self.sched_slice(queue, entity.weight, false);
        let ran = entity.ran - entity.ran_before;
        if ran > ideal {
            Self::clear_buddies(queue, current);
            return true;
        }
        ran >= self.min_granularity && entity.vruntime - first.vruntime > ideal as i64
    }

    #[inline(always)]
    fn check_preempt_wakeup(
        &self,
        queue: &mut Queue,
        all: &mut [Entity],
        current: TaskIx,
        woken: TaskIx,
    ) -> bool {
        let preempts = self.wakeup_preempt_entity(&all[current as usize], &all[woken as usize]) == 1;
        if preempts && self.last_buddy && u64::from(queue.number) >= self.nr_latency() {
            queue.last = current;
        }
        preempts
    }

    fn yield_task(&self, queue: &mut Queue, _: &mut [Entity], current: TaskIx, _: Ns) {
        if queue.number > 1 {
            if queue.last == current {
                queue.last = NOBODY;
            }
            queue.skip = current;
        }
    }

    fn reweight_entity(
        &self,
        queue: &mut Queue,
        all: &mut [Entity],
        entity: TaskIx,
        weight: u32,
        queued: bool,
    ) {
        let before = std::mem::replace(&mut all[entity as usize].weight, weight);
        if queued {
            queue.load = queue.load - u64::from(before) + u64::from(weight);
        }
    }

    #[inline]
    fn load(queue: &Queue) -> u64 {
        queue.load
    }

    #[inline]
    fn weight(entity: &Entity) -> u32 {
        entity.weight
    }

    #[inline]
    fn waiting(queue: &Queue, mut visit: impl FnMut(TaskIx) -> bool) {
        queue.waiting.visit(|waiting| visit(waiting.task));
    }

    #[inline]
    fn preferred(queue: &Queue, task: TaskIx) -> bool {
        queue.last == task
    }

    fn verify(queue: &Queue, all: &[Entity], current: Option<TaskIx>) {
        assert_eq!(queue.current, current.unwrap_or(NOBODY), "the current task of the queue");
        let tasks: Vec<TaskIx> = queue.waiting.iter().map(|waiting| waiting.task).chain(current).collect();
        let load: u64 = tasks.iter().map(|task| u64::from(all[*task as usize].weight)).sum();
        assert_eq!((queue.load, queue.number as usize), (load, tasks.len()), "load and number of the queue");
        for waiting in queue.waiting.iter() {
            let vruntime = all[waiting.task as usize].vruntime;
            assert_eq!(waiting.vruntime, vruntime, "the virtual time of a waiting task is constant");
        }
    }
}

#[cfg(test)]
#[path = "../../tests/unit/sched/cfs.rs"]
mod tests;

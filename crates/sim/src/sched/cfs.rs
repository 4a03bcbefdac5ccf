//! The Completely Fair Scheduler, as it was from 2.6.23 to 6.5.
//!
//! The task that has had the least virtual time runs; virtual time passes the slower the greater the weight. Facts:
//! Documentation/scheduler/sched-design-CFS.rst; I. Molnar's and P. Zijlstra's announcements; defaults in the kernel
//! models. Groups of tasks (cgroups, autogroup) and bandwidth control are not modelled.

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

/// A CPU's tasks: two cache lines.
#[derive(Debug, Clone)]
#[repr(C, align(64))]
pub struct Queue {
    /// Never goes back; newcomers are placed relative to it.
    min_vruntime: i64,
    /// Weights and number of all tasks, the current one included.
    load: u64,
    number: u32,
    current: TaskIx,
    /// Preempted by a wake-up: preferred when its preemptor sleeps, for its caches are warm.
    last: TaskIx,
    /// Has yielded.
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

/// A waiting task, by its virtual time.
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
    /// Absolute on a queue and after sleeping on it, relative to `min_vruntime` on the way between queues.
    vruntime: i64,
    weight: u32,
    /// Run time in all, and when it last became current.
    ran: Ns,
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
            latency: tunables.ns(Tunable::LatencyNs),
            min_granularity: tunables.ns(Tunable::MinGranularityNs).max(1),
            wakeup_granularity: tunables.ns(Tunable::WakeupGranularityNs),
            gentle_sleepers: tunables.on(Tunable::GentleFairSleepers),
            start_debit: tunables.on(Tunable::StartDebit),
            last_buddy: tunables.on(Tunable::LastBuddy),
            child_first: tunables.on(Tunable::ChildRunsFirst),
        }
    }

    /// Tasks among which the latency is divided before slices reach the minimum (`sched_nr_latency`).
    fn nr_latency(&self) -> u64 {
        self.latency.div_ceil(self.min_granularity)
    }

    /// How long a task may run at a time: its share by weight of a period, which is the latency while slices are not
    /// shorter than the minimum.
    fn sched_slice(&self, queue: &Queue, weight: u32, joining: bool) -> Ns {
        let number = u64::from(queue.number) + u64::from(joining);
        let load = queue.load + if joining { u64::from(weight) } else { 0 };
        let period = if number > self.nr_latency() { number * self.min_granularity } else { self.latency };
        (u128::from(period) * u128::from(weight) / u128::from(load.max(1))) as Ns
    }

    /// −1, 0 or 1: whether `other` is behind `current`, and by more than a wake-up granularity of `other`.
    fn wakeup_preempt_entity(&self, current: &Entity, other: &Entity) -> i32 {
        let ahead = current.vruntime - other.vruntime;
        if ahead <= 0 { -1 } else { i32::from(ahead > virtual_ns(self.wakeup_granularity, other.weight)) }
    }

    #[inline]
    fn insert(queue: &mut Queue, all: &[Entity], task: TaskIx) {
        queue.waiting.insert(Waiting { vruntime: all[task as usize].vruntime, task });
    }

    #[inline]
    fn forget(queue: &mut Queue, task: TaskIx) {
        for buddy in [&mut queue.last, &mut queue.skip] {
            if *buddy == task {
                *buddy = NOBODY;
            }
        }
    }

    #[inline]
    fn advance(queue: &mut Queue, all: &[Entity]) {
        let first = queue.waiting.first().map(|waiting| waiting.vruntime);
        let current = (queue.current != NOBODY).then(|| all[queue.current as usize].vruntime);
        let least = match (first, current) {
            (Some(first), Some(current)) => first.min(current),
            (Some(only), None) | (None, Some(only)) => only,
            (None, None) => return,
        };
        queue.min_vruntime = queue.min_vruntime.max(least);
    }

    /// Who runs next instead of the first, because of who has yielded and who has been preempted.
    #[cold]
    #[inline(never)]
    fn next_but(&self, queue: &Queue, all: &[Entity], first: TaskIx) -> TaskIx {
        let near = |task: TaskIx| self.wakeup_preempt_entity(&all[task as usize], &all[first as usize]) < 1;
        if queue.last != NOBODY && near(queue.last) {
            return queue.last;
        }
        let second = queue.waiting.second().map(|waiting| waiting.task);
        second.filter(|task| queue.skip == first && near(*task)).unwrap_or(first)
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
        let debit =
            if self.start_debit { virtual_ns(self.sched_slice(queue, weight, true), weight) } else { 0 };
        let mut vruntime = inherited.max(queue.min_vruntime + debit);
        if let Some(parent) = parent.filter(|_| self.child_first) {
            let older = &mut all[parent as usize].vruntime;
            if *older < vruntime {
                std::mem::swap(older, &mut vruntime);
            }
        }
        all[child as usize].vruntime = vruntime - queue.min_vruntime;
    }

    fn exit(&self, _: &mut [Entity], _: TaskIx, _: TaskIx) {}

    #[inline]
    fn detach(&self, from: &Queue, entity: &mut Entity) {
        entity.vruntime -= from.min_vruntime;
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
                let credit = if self.gentle_sleepers { self.latency / 2 } else { self.latency };
                entity.vruntime = entity.vruntime.max(queue.min_vruntime - credit as i64);
            }
        }
        queue.load += u64::from(entity.weight);
        queue.number += 1;
        Self::insert(queue, all, task);
    }

    #[inline]
    fn dequeue(&self, queue: &mut Queue, all: &mut [Entity], task: TaskIx, _: Ns) {
        let entity = &mut all[task as usize];
        let there = queue.waiting.remove(&Waiting { vruntime: entity.vruntime, task });
        debug_assert!(there, "task {task} waits in the queue");
        queue.load -= u64::from(entity.weight);
        queue.number -= 1;
        entity.vruntime -= queue.min_vruntime;
        Self::forget(queue, task);
        Self::advance(queue, all);
    }

    #[inline]
    fn block(&self, queue: &mut Queue, all: &mut [Entity], task: TaskIx, _: Ns) {
        debug_assert_eq!(queue.current, task);
        queue.current = NOBODY;
        queue.load -= u64::from(all[task as usize].weight);
        queue.number -= 1;
        Self::forget(queue, task);
        Self::advance(queue, all);
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
    ) -> Option<TaskIx> {
        if let Some(task) = previous {
            Self::insert(queue, all, task);
        }
        queue.current = NOBODY;
        let first = *queue.waiting.first()?;
        let mut chosen = first.task;
        if (queue.last, queue.skip) != (NOBODY, NOBODY) {
            chosen = self.next_but(queue, all, chosen);
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
        Self::forget(queue, chosen);
        Some(chosen)
    }

    #[inline]
    fn update_curr(&self, queue: &mut Queue, all: &mut [Entity], current: TaskIx, ns: Ns) -> bool {
        let entity = &mut all[current as usize];
        entity.vruntime += virtual_ns(ns, entity.weight);
        entity.ran += ns;
        Self::advance(queue, all);
        false
    }

    #[inline]
    fn task_tick(&self, queue: &mut Queue, all: &mut [Entity], current: TaskIx, _: Ns) -> bool {
        let Some(first) = queue.waiting.first().copied() else { return false };
        let entity = &mut all[current as usize];
        let ideal = self.sched_slice(queue, entity.weight, false);
        let ran = entity.ran - entity.ran_before;
        if ran > ideal {
            Self::forget(queue, current);
            return true;
        }
        ran >= self.min_granularity && entity.vruntime - first.vruntime > ideal as i64
    }

    #[inline]
    fn check_preempt(&self, queue: &mut Queue, all: &mut [Entity], current: TaskIx, woken: TaskIx) -> bool {
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
        assert_eq!(queue.current, current.unwrap_or(NOBODY), "the queue knows who runs");
        let tasks: Vec<TaskIx> = queue.waiting.iter().map(|waiting| waiting.task).chain(current).collect();
        let load: u64 = tasks.iter().map(|task| u64::from(all[*task as usize].weight)).sum();
        assert_eq!((queue.load, queue.number as usize), (load, tasks.len()), "load and number add up");
        for waiting in queue.waiting.iter() {
            let vruntime = all[waiting.task as usize].vruntime;
            assert_eq!(waiting.vruntime, vruntime, "a waiting task's virtual time stands still");
        }
    }
}

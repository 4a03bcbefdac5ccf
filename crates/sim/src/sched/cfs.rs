//! The Completely Fair Scheduler, as it was from 2.6.23 to 6.5.
//!
//! The task that has had the least virtual time runs; virtual time passes the slower the greater the weight. Facts:
//! Documentation/scheduler/sched-design-CFS.rst; I. Molnar's and P. Zijlstra's announcements; defaults in the kernel
//! models. Groups of tasks (cgroups, autogroup) and bandwidth control are not modelled.

use super::ordered::{Entry, Ordered};
use super::policy::{Dequeue, Enqueue, Policy, Setting, TaskIx};
use super::weight::virtual_ns;
use crate::kernel::{Kernel, Tunable, Tunables};
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
#[derive(Debug, Clone, Default)]
#[repr(align(64))]
pub struct Queue {
    waiting: Ordered,
    /// Never goes back; newcomers are placed relative to it.
    min_vruntime: i64,
    /// Weights and number of all tasks, the current one included.
    load: u64,
    number: u32,
    current: Option<TaskIx>,
    /// Preempted by a wake-up: preferred when its preemptor sleeps, for its caches are warm.
    last: Option<TaskIx>,
    /// Has yielded.
    skip: Option<TaskIx>,
}

/// A task's virtual time.
#[derive(Debug, Clone, Default)]
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
    fn crowd(&self) -> u64 {
        self.latency.div_ceil(self.min_granularity)
    }

    /// How long a task may run at a time: its share by weight of a period, which is the latency while slices are not
    /// shorter than the minimum.
    fn slice(&self, queue: &Queue, weight: u32, joining: bool) -> Ns {
        let number = u64::from(queue.number) + u64::from(joining);
        let load = queue.load + if joining { u64::from(weight) } else { 0 };
        let period = if number > self.crowd() { number * self.min_granularity } else { self.latency };
        (u128::from(period) * u128::from(weight) / u128::from(load.max(1))) as Ns
    }

    /// −1, 0 or 1: whether `other` is behind `current`, and by more than a wake-up granularity of `other`.
    fn compare(&self, current: &Entity, other: &Entity) -> i32 {
        let ahead = current.vruntime - other.vruntime;
        if ahead <= 0 { -1 } else { i32::from(ahead > virtual_ns(self.wakeup_granularity, other.weight)) }
    }

    fn insert(queue: &mut Queue, all: &[Entity], task: TaskIx) {
        let key = all[task as usize].vruntime;
        queue.waiting.insert(Entry { key, value: i64::MAX, task });
    }

    fn forget(queue: &mut Queue, task: TaskIx) {
        for buddy in [&mut queue.last, &mut queue.skip] {
            if *buddy == Some(task) {
                *buddy = None;
            }
        }
    }

    fn advance(queue: &mut Queue, all: &[Entity]) {
        let mut least = queue.waiting.first().map_or(i64::MAX, |entry| entry.key);
        if let Some(current) = queue.current {
            least = least.min(all[current as usize].vruntime);
        }
        if least != i64::MAX {
            queue.min_vruntime = queue.min_vruntime.max(least);
        }
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

    fn fork(&self, queue: &Queue, all: &mut [Entity], parent: Option<TaskIx>, child: TaskIx, _: Ns) {
        let parent = parent.filter(|task| queue.current == Some(*task));
        let weight = all[child as usize].weight;
        let inherited = parent.map_or(queue.min_vruntime, |task| all[task as usize].vruntime);
        let debit = if self.start_debit { virtual_ns(self.slice(queue, weight, true), weight) } else { 0 };
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

    fn detach(&self, from: &Queue, entity: &mut Entity) {
        entity.vruntime -= from.min_vruntime;
    }

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

    fn dequeue(&self, queue: &mut Queue, all: &mut [Entity], task: TaskIx, how: Dequeue, _: Ns) {
        let entity = &mut all[task as usize];
        let there = queue.waiting.remove(entity.vruntime, task);
        debug_assert!(there, "task {task} waits in the queue");
        queue.load -= u64::from(entity.weight);
        queue.number -= 1;
        match how {
            Dequeue::Moved => entity.vruntime -= queue.min_vruntime,
        }
        Self::forget(queue, task);
        Self::advance(queue, all);
    }

    fn block(&self, queue: &mut Queue, all: &mut [Entity], task: TaskIx, _: Ns) {
        debug_assert_eq!(queue.current, Some(task));
        queue.current = None;
        queue.load -= u64::from(all[task as usize].weight);
        queue.number -= 1;
        Self::forget(queue, task);
        Self::advance(queue, all);
    }

    fn put(&self, queue: &mut Queue, all: &mut [Entity], task: TaskIx, _: Ns) {
        queue.current = None;
        Self::insert(queue, all, task);
    }

    fn pick(&self, queue: &mut Queue, all: &mut [Entity], previous: Option<TaskIx>, _: Ns) -> Option<TaskIx> {
        if let Some(task) = previous {
            Self::insert(queue, all, task);
        }
        queue.current = None;
        let first = queue.waiting.first()?.task;
        let near = |task: TaskIx| self.compare(&all[task as usize], &all[first as usize]) < 1;
        let mut chosen = first;
        if queue.skip == Some(first) {
            chosen =
                queue.waiting.second().map(|entry| entry.task).filter(|task| near(*task)).unwrap_or(first);
        }
        if let Some(last) = queue.last.filter(|task| near(*task)) {
            chosen = last;
        }
        let entity = &mut all[chosen as usize];
        queue.waiting.remove(entity.vruntime, chosen);
        if previous != Some(chosen) {
            entity.ran_before = entity.ran;
        }
        queue.current = Some(chosen);
        queue.skip = None;
        Self::forget(queue, chosen);
        Some(chosen)
    }

    fn charge(&self, queue: &mut Queue, all: &mut [Entity], current: TaskIx, ns: Ns) -> bool {
        let entity = &mut all[current as usize];
        entity.vruntime += virtual_ns(ns, entity.weight);
        entity.ran += ns;
        Self::advance(queue, all);
        false
    }

    fn tick(&self, queue: &mut Queue, all: &mut [Entity], current: TaskIx, _: Ns) -> bool {
        let Some(first) = queue.waiting.first().copied() else { return false };
        let entity = &mut all[current as usize];
        let ideal = self.slice(queue, entity.weight, false);
        let ran = entity.ran - entity.ran_before;
        if ran > ideal {
            Self::forget(queue, current);
            return true;
        }
        ran >= self.min_granularity && entity.vruntime - first.key > ideal as i64
    }

    fn preempts(&self, queue: &mut Queue, all: &mut [Entity], current: TaskIx, woken: TaskIx) -> bool {
        let preempts = self.compare(&all[current as usize], &all[woken as usize]) == 1;
        if preempts && self.last_buddy && u64::from(queue.number) >= self.crowd() {
            queue.last = Some(current);
        }
        preempts
    }

    fn yields(&self, queue: &mut Queue, _: &mut [Entity], current: TaskIx, _: Ns) {
        if queue.number > 1 {
            queue.last = queue.last.filter(|task| *task != current);
            queue.skip = Some(current);
        }
    }

    fn load(queue: &Queue) -> u64 {
        queue.load
    }

    fn weight(entity: &Entity) -> u32 {
        entity.weight
    }

    fn waiting(queue: &Queue, visit: impl FnMut(TaskIx) -> bool) {
        queue.waiting.visit(visit);
    }

    fn preferred(queue: &Queue, task: TaskIx) -> bool {
        queue.last == Some(task)
    }

    fn verify(queue: &Queue, all: &[Entity], current: Option<TaskIx>) {
        assert_eq!(queue.current, current, "the queue knows who runs");
        let tasks: Vec<TaskIx> = queue.waiting.iter().map(|entry| entry.task).chain(current).collect();
        let load: u64 = tasks.iter().map(|task| u64::from(all[*task as usize].weight)).sum();
        assert_eq!((queue.load, queue.number as usize), (load, tasks.len()), "load and number add up");
        for entry in queue.waiting.iter() {
            assert_eq!(
                entry.key, all[entry.task as usize].vruntime,
                "a waiting task's virtual time stands still"
            );
        }
    }
}

//! Earliest Eligible Virtual Deadline First, as in Linux 6.6 and later (I. Stoica, H. Abdel-Wahab, "Earliest Eligible
//! Virtual Deadline First: A Flexible and Accurate Mechanism for Proportional Share Resource Allocation", 1995;
//! P. Zijlstra's series "sched: EEVDF and latency-nice and/or slice-attr", 2023).
//!
//! A task is eligible when it has had no more than its share, that is, when its virtual time is not after the load-weighted
//! mean V of all; among the eligible the one with the earliest virtual deadline runs. Lag is V − v; it survives a sleep.
//! Delayed dequeue of 6.12 is not modelled: a task leaves the queue when it sleeps, with its lag, also a negative one.

use super::ordered::{Entry, Ordered};
use super::policy::{Dequeue, Enqueue, Policy, Setting, TaskIx};
use super::weight::virtual_ns;
use crate::kernel::{Kernel, Tunable, Tunables};
use crate::time::Ns;

/// EEVDF with its tunables.
#[derive(Debug, Clone)]
pub struct Eevdf {
    tick_ns: Ns,
    base_slice: Ns,
    place_lag: bool,
    place_deadline_initial: bool,
    run_to_parity: bool,
    preempt_short: bool,
}

/// A CPU's tasks.
#[derive(Debug, Clone, Default)]
pub struct Queue {
    /// By deadline, with virtual times as values.
    waiting: Ordered,
    /// What virtual times are counted from in the sums; never goes back.
    base: i64,
    /// Σ (v − base) × weight, and Σ weight, of the waiting tasks.
    sum: i128,
    load: u64,
    current: Option<TaskIx>,
    current_weight: u32,
}

/// A task's virtual time, deadline and lag.
#[derive(Debug, Clone, Default)]
pub struct Entity {
    vruntime: i64,
    deadline: i64,
    /// V − v when it left a queue.
    lag: i64,
    /// The deadline with which it became current: until that changes it is protected from preemption while eligible
    /// (RUN_TO_PARITY, pick_eevdf() of v6.12).
    parity: i64,
    weight: u32,
    own_slice: Option<Ns>,
    /// On the way between queues: `deadline` is relative to `vruntime`.
    travelling: bool,
}

impl Entity {
    /// Virtual run time.
    pub fn vruntime(&self) -> i64 {
        self.vruntime
    }

    /// Virtual deadline.
    pub fn deadline(&self) -> i64 {
        self.deadline
    }
}

impl Eevdf {
    fn read(tunables: &Tunables, tick_ns: Ns) -> Self {
        Self {
            tick_ns,
            base_slice: tunables.ns(Tunable::BaseSliceNs),
            place_lag: tunables.on(Tunable::PlaceLag),
            place_deadline_initial: tunables.on(Tunable::PlaceDeadlineInitial),
            run_to_parity: tunables.on(Tunable::RunToParity),
            preempt_short: tunables.on(Tunable::PreemptShort),
        }
    }

    fn slice(&self, entity: &Entity) -> Ns {
        entity.own_slice.unwrap_or(self.base_slice)
    }

    /// The sums with the current task.
    fn sums(queue: &Queue, all: &[Entity]) -> (i128, u64) {
        match queue.current {
            Some(task) => {
                let entity = &all[task as usize];
                let part = i128::from(entity.vruntime - queue.base) * i128::from(entity.weight);
                (queue.sum + part, queue.load + u64::from(entity.weight))
            }
            None => (queue.sum, queue.load),
        }
    }

    /// V, rounded down.
    fn mean(queue: &Queue, all: &[Entity]) -> i64 {
        let (sum, load) = Self::sums(queue, all);
        if load == 0 { queue.base } else { queue.base + divided(sum, load) }
    }

    fn eligible(queue: &Queue, (sum, load): (i128, u64), vruntime: i64) -> bool {
        sum >= i128::from(vruntime - queue.base) * i128::from(load)
    }

    /// Lag on leaving, limited to about two slices so that nobody collects credit for long.
    fn note_lag(&self, queue: &Queue, all: &mut [Entity], task: TaskIx) {
        let mean = Self::mean(queue, all);
        let entity = &mut all[task as usize];
        let limit = virtual_ns((2 * self.slice(entity)).max(self.tick_ns), entity.weight);
        entity.lag = (mean - entity.vruntime).clamp(-limit, limit);
    }

    fn insert(queue: &mut Queue, all: &[Entity], task: TaskIx) {
        let entity = &all[task as usize];
        queue.waiting.insert(Entry { key: entity.deadline, value: entity.vruntime, task });
        queue.sum += i128::from(entity.vruntime - queue.base) * i128::from(entity.weight);
        queue.load += u64::from(entity.weight);
    }

    fn remove(queue: &mut Queue, all: &[Entity], task: TaskIx) {
        let entity = &all[task as usize];
        let there = queue.waiting.remove(entity.deadline, task);
        debug_assert!(there, "task {task} waits in the queue");
        queue.sum -= i128::from(entity.vruntime - queue.base) * i128::from(entity.weight);
        queue.load -= u64::from(entity.weight);
    }

    fn advance(queue: &mut Queue, all: &[Entity]) {
        let mut least = queue.waiting.least_value().unwrap_or(i64::MAX);
        if let Some(current) = queue.current {
            least = least.min(all[current as usize].vruntime);
        }
        if least != i64::MAX && least > queue.base {
            queue.sum -= i128::from(queue.load) * i128::from(least - queue.base);
            queue.base = least;
        }
    }

    /// Places a newcomer so that its lag is what it was, its own joining counted in.
    fn place(&self, queue: &Queue, all: &mut [Entity], task: TaskIx, initial: bool) {
        let mean = Self::mean(queue, all);
        let (_, load) = Self::sums(queue, all);
        let entity = &mut all[task as usize];
        let mut lag = 0;
        if self.place_lag && load > 0 && !initial {
            let joined = i128::from(load + u64::from(entity.weight));
            lag = truncated(i128::from(entity.lag) * joined, load);
        }
        entity.vruntime = mean - lag;
        if entity.travelling {
            entity.travelling = false;
            entity.deadline += entity.vruntime;
            return;
        }
        let mut slice = virtual_ns(self.slice(entity), entity.weight);
        if initial && self.place_deadline_initial {
            slice /= 2;
        }
        entity.deadline = entity.vruntime + slice;
    }

    fn protected(&self, entity: &Entity) -> bool {
        self.run_to_parity && entity.parity == entity.deadline
    }

    /// Who should run, the current task included if it is `runnable`.
    fn best(&self, queue: &Queue, all: &[Entity], runnable: Option<TaskIx>) -> Option<TaskIx> {
        if queue.waiting.is_empty() {
            return runnable;
        }
        let sums = Self::sums(queue, all);
        // One that is not eligible is not considered, protected or not: protection ends where eligibility does.
        let current = runnable
            .map(|task| (task, &all[task as usize]))
            .filter(|(_, entity)| Self::eligible(queue, sums, entity.vruntime));
        if let Some((task, entity)) = current
            && self.protected(entity)
        {
            return Some(task);
        }
        let best = queue.waiting.first_that(|vruntime| Self::eligible(queue, sums, vruntime));
        match (best, current) {
            (Some(best), Some((task, entity))) => {
                Some(if entity.deadline < best.key { task } else { best.task })
            }
            (None, Some((task, _))) => Some(task),
            (Some(best), None) => Some(best.task),
            // Rounding may leave nobody eligible.
            (None, None) => queue.waiting.first().map(|entry| entry.task).or(runnable),
        }
    }
}

/// A sum divided by a load, rounded down; nearly always both fit into 64 bits, where a division is much cheaper.
#[inline]
fn divided(sum: i128, load: u64) -> i64 {
    match (i64::try_from(sum), i64::try_from(load)) {
        (Ok(sum), Ok(load)) => sum.div_euclid(load),
        _ => sum.div_euclid(i128::from(load)) as i64,
    }
}

/// As [`divided`], rounded towards zero.
#[inline]
fn truncated(sum: i128, load: u64) -> i64 {
    match (i64::try_from(sum), i64::try_from(load)) {
        (Ok(sum), Ok(load)) => sum / load,
        _ => (sum / i128::from(load)) as i64,
    }
}

impl Policy for Eevdf {
    type Queue = Queue;
    type Entity = Entity;

    fn new(_: &Kernel, tunables: &Tunables, setting: Setting) -> Self {
        Self::read(tunables, setting.tick_ns)
    }

    fn retune(&mut self, tunables: &Tunables) {
        *self = Self::read(tunables, self.tick_ns);
    }

    fn entity(&self, weight: u32, _: i32, own_slice: Option<Ns>) -> Entity {
        Entity { weight, own_slice, ..Entity::default() }
    }

    fn fork(&self, _: &Queue, _: &mut [Entity], _: Option<TaskIx>, _: TaskIx, _: Ns) {}

    fn exit(&self, _: &mut [Entity], _: TaskIx, _: TaskIx) {}

    fn detach(&self, _: &Queue, _: &mut Entity) {}

    fn enqueue(&self, queue: &mut Queue, all: &mut [Entity], task: TaskIx, how: Enqueue, _: Ns) {
        self.place(queue, all, task, how == Enqueue::New);
        Self::insert(queue, all, task);
        Self::advance(queue, all);
    }

    fn dequeue(&self, queue: &mut Queue, all: &mut [Entity], task: TaskIx, how: Dequeue, _: Ns) {
        self.note_lag(queue, all, task);
        Self::remove(queue, all, task);
        let entity = &mut all[task as usize];
        match how {
            Dequeue::Moved => {
                entity.deadline -= entity.vruntime;
                entity.travelling = true;
            }
        }
        Self::advance(queue, all);
    }

    fn block(&self, queue: &mut Queue, all: &mut [Entity], task: TaskIx, _: Ns) {
        debug_assert_eq!(queue.current, Some(task));
        self.note_lag(queue, all, task);
        queue.current = None;
        Self::advance(queue, all);
    }

    fn put(&self, queue: &mut Queue, all: &mut [Entity], task: TaskIx, _: Ns) {
        queue.current = None;
        Self::insert(queue, all, task);
    }

    fn pick(&self, queue: &mut Queue, all: &mut [Entity], previous: Option<TaskIx>, _: Ns) -> Option<TaskIx> {
        debug_assert_eq!(queue.current, previous);
        let chosen = self.best(queue, all, previous)?;
        if previous != Some(chosen) {
            if let Some(task) = previous {
                queue.current = None;
                Self::insert(queue, all, task);
            }
            Self::remove(queue, all, chosen);
            let entity = &mut all[chosen as usize];
            entity.parity = entity.deadline;
            queue.current_weight = entity.weight;
            queue.current = Some(chosen);
        }
        Some(chosen)
    }

    fn charge(&self, queue: &mut Queue, all: &mut [Entity], current: TaskIx, ns: Ns) -> bool {
        let entity = &mut all[current as usize];
        entity.vruntime += virtual_ns(ns, entity.weight);
        let mut reschedule = false;
        if entity.vruntime >= entity.deadline {
            entity.deadline = entity.vruntime + virtual_ns(self.slice(entity), entity.weight);
            reschedule = true;
        }
        Self::advance(queue, all);
        if queue.waiting.is_empty() {
            return false;
        }
        // A task whose protection a short one has ended runs only while it is eligible.
        let entity = &all[current as usize];
        let cut = self.preempt_short && entity.parity != entity.deadline;
        reschedule || (cut && !Self::eligible(queue, Self::sums(queue, all), entity.vruntime))
    }

    fn tick(&self, _: &mut Queue, _: &mut [Entity], _: TaskIx, _: Ns) -> bool {
        // Everything has been decided when the run time was charged.
        false
    }

    fn preempts(&self, queue: &mut Queue, all: &mut [Entity], current: TaskIx, woken: TaskIx) -> bool {
        let (running, other) = (&all[current as usize], &all[woken as usize]);
        if self.preempt_short && self.slice(other) < self.slice(running) && running.parity == running.deadline
        {
            let sums = Self::sums(queue, all);
            let before = other.deadline < running.deadline || !Self::eligible(queue, sums, running.vruntime);
            if before && Self::eligible(queue, sums, other.vruntime) {
                all[current as usize].parity = running.deadline + 1;
            }
        }
        self.best(queue, all, Some(current)) == Some(woken)
    }

    fn yields(&self, queue: &mut Queue, all: &mut [Entity], current: TaskIx, _: Ns) {
        if !queue.waiting.is_empty() {
            let entity = &mut all[current as usize];
            entity.deadline += virtual_ns(self.slice(entity), entity.weight);
        }
    }

    fn load(queue: &Queue) -> u64 {
        queue.load + if queue.current.is_some() { u64::from(queue.current_weight) } else { 0 }
    }

    fn weight(entity: &Entity) -> u32 {
        entity.weight
    }

    fn waiting(queue: &Queue, visit: impl FnMut(TaskIx) -> bool) {
        queue.waiting.visit(visit);
    }

    fn preferred(_: &Queue, _: TaskIx) -> bool {
        false
    }

    fn verify(queue: &Queue, all: &[Entity], current: Option<TaskIx>) {
        assert_eq!(queue.current, current, "the queue knows who runs");
        let (mut sum, mut load) = (0, 0);
        for entry in queue.waiting.iter() {
            let entity = &all[entry.task as usize];
            assert_eq!(
                (entry.key, entry.value),
                (entity.deadline, entity.vruntime),
                "a waiting task stands still"
            );
            sum += i128::from(entity.vruntime - queue.base) * i128::from(entity.weight);
            load += u64::from(entity.weight);
        }
        assert_eq!((queue.sum, queue.load), (sum, load), "sums add up");
        // Σ w (V − v) = 0: lag is conserved, up to the rounding of V.
        let (sum, load) = Self::sums(queue, all);
        let mean = i128::from(Self::mean(queue, all) - queue.base);
        assert!(
            (0..i128::from(load.max(1))).contains(&(sum - mean * i128::from(load))),
            "lags add up to nothing"
        );
    }
}

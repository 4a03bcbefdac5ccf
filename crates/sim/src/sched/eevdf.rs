//! Earliest Eligible Virtual Deadline First, as in Linux 6.6 and later (I. Stoica, H. Abdel-Wahab, "Earliest Eligible
//! Virtual Deadline First: A Flexible and Accurate Mechanism for Proportional Share Resource Allocation", 1995;
//! P. Zijlstra's series "sched: EEVDF and latency-nice and/or slice-attr", 2023).
//!
//! A task is eligible when it has had no more than its share, that is, when its virtual time is not after the load-weighted
//! mean V of all; among the eligible the one with the earliest virtual deadline runs. Lag is V − v; it survives a sleep.
//!
//! A task that sleeps while it is not eligible *lingers* (delayed dequeue, since 6.12): it stays in the queue and counts in
//! V, so that its debt shrinks as the others run, until it would be chosen, and leaves then; or until it wakes up.

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
    delay_dequeue: bool,
    delay_zero: bool,
}

/// A CPU's tasks: three cache lines.
#[derive(Debug, Clone, Default)]
#[repr(C, align(64))]
pub struct Queue {
    /// Σ (v − base) × weight, and Σ weight, of the waiting and the lingering tasks.
    sum: i128,
    load: u64,
    /// What virtual times are counted from in the sums; never goes back.
    base: i64,
    current: Option<TaskIx>,
    current_weight: u32,
    /// The current task's virtual time when the kernel last brought it up to date (update_curr()).
    noted: i64,
    /// By deadline, with virtual times as values.
    waiting: Ordered,
    /// Those that sleep and linger, in the same order, and the sum of their weights.
    lingering: Ordered,
    lingering_load: u64,
}

/// A task's virtual time, deadline and lag: one cache line.
#[derive(Debug, Clone, Default)]
#[repr(align(64))]
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
    /// Sleeps, and is still in its queue.
    lingers: bool,
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
            delay_dequeue: tunables.on(Tunable::DelayDequeue),
            delay_zero: tunables.on(Tunable::DelayZero),
        }
    }

    fn slice(&self, entity: &Entity) -> Ns {
        entity.own_slice.unwrap_or(self.base_slice)
    }

    /// The sums with the current task.
    #[inline]
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
        if queue.load == 0 {
            return queue.current.map_or(queue.base, |current| all[current as usize].vruntime);
        }
        let (sum, load) = Self::sums(queue, all);
        queue.base + divided(sum, load)
    }

    #[inline]
    fn eligible(queue: &Queue, (sum, load): (i128, u64), vruntime: i64) -> bool {
        // A load is far from 2⁶³, and signed numbers of 64 bits are multiplied by one instruction.
        sum >= i128::from(vruntime - queue.base) * i128::from(load as i64)
    }

    /// Lag on leaving, limited to about two slices so that nobody collects credit for long.
    #[inline]
    fn note_lag(&self, queue: &Queue, all: &mut [Entity], task: TaskIx) {
        let mean = Self::mean(queue, all);
        let entity = &mut all[task as usize];
        let limit = virtual_ns((2 * self.slice(entity)).max(self.tick_ns), entity.weight);
        entity.lag = (mean - entity.vruntime).clamp(-limit, limit);
    }

    fn insert(queue: &mut Queue, all: &[Entity], task: TaskIx) {
        let entity = &all[task as usize];
        let entry = Entry { key: entity.deadline, value: entity.vruntime, task };
        if entity.lingers {
            queue.lingering.insert(entry);
            queue.lingering_load += u64::from(entity.weight);
        } else {
            queue.waiting.insert(entry);
        }
        queue.sum += i128::from(entity.vruntime - queue.base) * i128::from(entity.weight);
        queue.load += u64::from(entity.weight);
    }

    fn remove(queue: &mut Queue, all: &[Entity], task: TaskIx) {
        let entity = &all[task as usize];
        let there = if entity.lingers {
            queue.lingering_load -= u64::from(entity.weight);
            queue.lingering.remove(entity.deadline, task)
        } else {
            queue.waiting.remove(entity.deadline, task)
        };
        debug_assert!(there, "task {task} is in the queue");
        queue.sum -= i128::from(entity.vruntime - queue.base) * i128::from(entity.weight);
        queue.load -= u64::from(entity.weight);
    }

    #[inline]
    fn advance(queue: &mut Queue, all: &[Entity]) {
        let mut least = queue.waiting.least_value().min(queue.lingering.least_value());
        if let Some(current) = queue.current {
            least = least.min(all[current as usize].vruntime);
        }
        if least != i64::MAX && least > queue.base {
            queue.sum -= i128::from(queue.load as i64) * i128::from(least - queue.base);
            queue.base = least;
        }
    }

    /// Places a newcomer so that its lag is what it was, its own joining counted in.
    fn place(&self, queue: &Queue, all: &mut [Entity], task: TaskIx, initial: bool) {
        let mean = Self::mean(queue, all);
        let (_, load) = Self::sums(queue, all);
        let entity = &mut all[task as usize];
        let mut lag = 0;
        if self.place_lag && load > 0 && entity.lag != 0 && !initial {
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

    /// A lingering task leaves the queue, for good or for being placed anew; credit it loses.
    fn leave(&self, queue: &mut Queue, all: &mut [Entity], task: TaskIx) {
        self.note_lag(queue, all, task);
        Self::remove(queue, all, task);
        let entity = &mut all[task as usize];
        entity.lingers = false;
        if self.delay_zero {
            entity.lag = entity.lag.min(0);
        }
        Self::advance(queue, all);
    }

    /// A lingering task has been woken: with credit it is placed as one that has none, else it stays where it is.
    ///
    /// The kernel brings the current task's virtual time up to date at every other change of the queue, but not at this one
    /// (requeue_delayed_entity() of v6.12): where the sleeper stands is judged by what was last known. So a waker that has
    /// run since is ahead of it, and not eligible when preemption is asked for next.
    fn rejoin(&self, queue: &mut Queue, all: &mut [Entity], task: TaskIx) {
        let current = queue.current.map(|current| current as usize);
        let known = queue.noted;
        let ran = current.map(|current| std::mem::replace(&mut all[current].vruntime, known));
        self.rejoin_as_known(queue, all, task);
        if let Some((current, ran)) = current.zip(ran) {
            all[current].vruntime = ran;
        }
    }

    fn rejoin_as_known(&self, queue: &mut Queue, all: &mut [Entity], task: TaskIx) {
        if self.delay_zero && Self::mean(queue, all) > all[task as usize].vruntime {
            self.leave(queue, all, task);
            self.place(queue, all, task, false);
        } else {
            Self::remove(queue, all, task);
            all[task as usize].lingers = false;
        }
        Self::insert(queue, all, task);
        Self::advance(queue, all);
    }

    /// The kernel brings the current task's virtual time up to date.
    #[inline]
    fn note_current(queue: &mut Queue, all: &[Entity]) {
        if let Some(current) = queue.current {
            queue.noted = all[current as usize].vruntime;
        }
    }

    /// Who should run, the current task included if it is `runnable`; one that lingers is chosen in order to leave.
    fn best(&self, queue: &Queue, all: &[Entity], runnable: Option<TaskIx>) -> Option<TaskIx> {
        if queue.waiting.is_empty() && queue.lingering.is_empty() {
            return runnable;
        }
        if runnable.is_none() {
            // Who is alone need not be eligible, for rounding may leave nobody so.
            let alone = match (queue.waiting.only(), queue.lingering.is_empty()) {
                (Some(waiting), true) => Some(waiting),
                (None, false) if queue.waiting.is_empty() => queue.lingering.only(),
                _ => None,
            };
            if let Some(alone) = alone {
                return Some(alone.task);
            }
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
        let waiting = queue.waiting.first_that(|vruntime| Self::eligible(queue, sums, vruntime));
        let lingering = queue.lingering.first_that(|vruntime| Self::eligible(queue, sums, vruntime));
        let best = match (waiting, lingering) {
            (Some(waiting), Some(lingering)) if lingering.key < waiting.key => Some(lingering),
            (waiting, lingering) => waiting.or(lingering),
        };
        match (best, current) {
            (Some(best), Some((task, entity))) => {
                Some(if entity.deadline < best.key { task } else { best.task })
            }
            (None, Some((task, _))) => Some(task),
            (Some(best), None) => Some(best.task),
            // Rounding may leave nobody eligible.
            (None, None) => {
                let first = queue.waiting.first().or(queue.lingering.first());
                first.map(|entry| entry.task).or(runnable)
            }
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
        if all[task as usize].lingers {
            return self.rejoin(queue, all, task);
        }
        Self::note_current(queue, all);
        self.place(queue, all, task, how == Enqueue::New);
        Self::insert(queue, all, task);
        Self::advance(queue, all);
    }

    fn dequeue(&self, queue: &mut Queue, all: &mut [Entity], task: TaskIx, how: Dequeue, _: Ns) {
        Self::note_current(queue, all);
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

    fn sleep(&self, queue: &mut Queue, all: &mut [Entity], task: TaskIx, now: Ns) {
        let sums = Self::sums(queue, all);
        let eligible = Self::eligible(queue, sums, all[task as usize].vruntime);
        if !self.delay_dequeue || eligible {
            return self.block(queue, all, task, now);
        }
        debug_assert_eq!(queue.current, Some(task));
        all[task as usize].lingers = true;
        queue.current = None;
        Self::insert(queue, all, task);
    }

    fn lingers(entity: &Entity) -> bool {
        entity.lingers
    }

    fn put(&self, queue: &mut Queue, all: &mut [Entity], task: TaskIx, _: Ns) {
        queue.current = None;
        Self::insert(queue, all, task);
    }

    fn pick(&self, queue: &mut Queue, all: &mut [Entity], previous: Option<TaskIx>, _: Ns) -> Option<TaskIx> {
        debug_assert_eq!(queue.current, previous);
        let chosen = loop {
            let best = self.best(queue, all, previous)?;
            if !all[best as usize].lingers {
                break best;
            }
            self.leave(queue, all, best);
        };
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
        Self::note_current(queue, all);
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
        if queue.waiting.is_empty() && queue.lingering.is_empty() {
            return false;
        }
        // A task whose protection a short one has ended runs only while it is eligible.
        let entity = &all[current as usize];
        let cut = self.preempt_short && entity.parity != entity.deadline;
        reschedule || (cut && !Self::eligible(queue, Self::sums(queue, all), entity.vruntime))
    }

    fn tick(&self, queue: &mut Queue, all: &mut [Entity], _: TaskIx, _: Ns) -> bool {
        // Everything has been decided when the run time was charged.
        Self::note_current(queue, all);
        false
    }

    fn preempts(&self, queue: &mut Queue, all: &mut [Entity], current: TaskIx, woken: TaskIx) -> bool {
        Self::note_current(queue, all);
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
        let current = if queue.current.is_some() { u64::from(queue.current_weight) } else { 0 };
        queue.load - queue.lingering_load + current
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
        let lingering: u64 =
            queue.lingering.iter().map(|entry| u64::from(all[entry.task as usize].weight)).sum();
        assert_eq!(queue.lingering_load, lingering, "who lingers is known");
        for (entry, lingers) in queue
            .waiting
            .iter()
            .map(|entry| (entry, false))
            .chain(queue.lingering.iter().map(|entry| (entry, true)))
        {
            let entity = &all[entry.task as usize];
            assert_eq!(entity.lingers, lingers);
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

//! Earliest Eligible Virtual Deadline First, as in Linux 6.6 and later (I. Stoica, H. Abdel-Wahab, "Earliest Eligible
//! Virtual Deadline First: A Flexible and Accurate Mechanism for Proportional Share Resource Allocation", 1995;
//! P. Zijlstra's series "sched: EEVDF and latency-nice and/or slice-attr", 2023).
//!
//! A task is eligible when it has run no longer than its share, that is, when its virtual time v is not after the
//! load-weighted mean V of all tasks. The eligible task with the earliest virtual deadline runs. Lag is V − v; a task
//! keeps its lag over a sleep.
//!
//! Delayed dequeue (since 6.12): a task that sleeps while it is not eligible stays in the queue (`sched_delayed`) and counts
//! in V, so that its negative lag shrinks while other tasks run. Such a task leaves the queue when it would be chosen,
//! or when it wakes up.

mod eligible;
mod pick;
mod queue;

use super::policy::{Enqueue, Policy, Setting, TaskIx};
use super::weight::virtual_ns;
use crate::kernel::{Kernel, Tunable, Tunables};
use crate::sched::NOBODY;
use crate::time::Ns;

pub use queue::{Entity, Queue};

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

impl Eevdf {
    fn read(tunables: &Tunables, tick_ns: Ns) -> Self {
        Self {
            tick_ns,
            base_slice: tunables.non_negative(Tunable::BaseSliceNs),
            place_lag: tunables.on(Tunable::PlaceLag),
            place_deadline_initial: tunables.on(Tunable::PlaceDeadlineInitial),
            run_to_parity: tunables.on(Tunable::RunToParity),
            preempt_short: tunables.on(Tunable::PreemptShort),
            delay_dequeue: tunables.on(Tunable::DelayDequeue),
            delay_zero: tunables.on(Tunable::DelayZero),
        }
    }

    fn slice(&self, entity: &Entity) -> Ns {
        entity.custom_slice.unwrap_or(self.base_slice)
    }

    /// Store the lag of a task that leaves the queue, limited to two slices or a tick so that no task accumulates credit
    /// (`update_entity_lag()`, kernel/sched/fair.c, v6.12).
    #[inline]
    fn update_entity_lag(&self, entity: &mut Entity, mean: i64) {
        let limit = virtual_ns((2 * self.slice(entity)).max(self.tick_ns), entity.weight);
        entity.lag = (mean - entity.vruntime).clamp(-limit, limit);
    }

    /// Place a task that joins a queue so that its lag is the same as at its departure from a queue (`place_entity()`,
    /// kernel/sched/fair.c, v6.12). `mean` and `load` are V and the sum of weights of the queue without the task.
    #[inline]
    fn place_entity(&self, entity: &mut Entity, mean: i64, load: u64, initial: bool) {
        let mut lag = 0;
        if self.place_lag && load > 0 && entity.lag != 0 && !initial {
            lag = scaled(entity.lag, load + u64::from(entity.weight), load);
        }
        entity.vruntime = mean - lag;
        if entity.rel_deadline {
            entity.rel_deadline = false;
            entity.deadline += entity.vruntime;
            return;
        }
        let mut slice = virtual_ns(self.slice(entity), entity.weight);
        if initial && self.place_deadline_initial {
            slice /= 2;
        }
        entity.deadline = entity.vruntime + slice;
    }
}

/// `lag` × `joined` / `load`, rounded towards zero. A 64-bit division is much cheaper than a division of 128 bits, and
/// nearly always suffices.
#[inline]
fn scaled(lag: i64, joined: u64, load: u64) -> i64 {
    match (lag.checked_mul(joined as i64), i64::try_from(load)) {
        (Some(product), Ok(load)) => product / load,
        _ => (i128::from(lag) * i128::from(joined) / i128::from(load)) as i64,
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

    fn entity(&self, weight: u32, _: i32, custom_slice: Option<Ns>) -> Entity {
        Entity { weight, custom_slice, ..Entity::default() }
    }

    #[inline]
    fn enqueue(&self, queue: &mut Queue, all: &mut [Entity], task: TaskIx, how: Enqueue, _: Ns) {
        if all[task as usize].sched_delayed {
            return self.requeue_delayed_entity(queue, all, task);
        }
        queue.note_current(all);
        let (mean, load) = (queue.avg_vruntime(all), queue.load());
        let entity = &mut all[task as usize];
        self.place_entity(entity, mean, load, how == Enqueue::New);
        // A task placed at or after the current task cannot be before the least virtual time.
        if queue.current() == NOBODY || entity.vruntime < queue.noted {
            queue.update_min_vruntime(all);
        }
        queue.insert(&all[task as usize], task);
    }

    #[inline(always)]
    fn dequeue(&self, queue: &mut Queue, all: &mut [Entity], task: TaskIx, _: Ns) {
        queue.note_current(all);
        let mean = queue.avg_vruntime(all);
        let entity = &mut all[task as usize];
        self.update_entity_lag(entity, mean);
        queue.remove(entity, task);
        queue.note_last(entity.vruntime);
        entity.deadline -= entity.vruntime;
        entity.rel_deadline = true;
    }

    #[inline(always)]
    fn block(&self, queue: &mut Queue, all: &mut [Entity], task: TaskIx, _: Ns) {
        debug_assert_eq!(queue.current(), task);
        let mean = queue.avg_vruntime(all);
        let entity = &mut all[task as usize];
        self.update_entity_lag(entity, mean);
        queue.clear_current();
        queue.note_last(entity.vruntime);
    }

    #[inline(always)]
    fn sleep(&self, queue: &mut Queue, all: &mut [Entity], task: TaskIx, _: Ns) {
        debug_assert_eq!(queue.current(), task);
        let entity = &mut all[task as usize];
        if queue.is_empty() {
            entity.lag = 0;
            queue.clear_current();
            return queue.note_last(entity.vruntime);
        }
        let sums = queue.sums_at(entity.vruntime);
        queue.clear_current();
        if !self.delay_dequeue || sums.entity_eligible(entity.vruntime) {
            return self.update_entity_lag(entity, sums.avg_vruntime());
        }
        entity.sched_delayed = true;
        queue.insert(entity, task);
    }

    #[inline]
    fn sched_delayed(entity: &Entity) -> bool {
        entity.sched_delayed
    }

    fn put_prev_task(&self, queue: &mut Queue, all: &mut [Entity], task: TaskIx, _: Ns) {
        queue.clear_current();
        queue.insert(&all[task as usize], task);
    }

    #[inline]
    fn pick_next_task(
        &self,
        queue: &mut Queue,
        all: &mut [Entity],
        previous: Option<TaskIx>,
        _: Ns,
        left: impl FnMut(TaskIx, u32),
    ) -> Option<TaskIx> {
        debug_assert_eq!(queue.current(), previous.unwrap_or(NOBODY));
        let chosen = match previous {
            None => self.pick_next_waiting(queue, all, left)?,
            Some(current) => match self.pick_next_entity(queue, all, current, left) {
                best if best == current => {
                    queue.note_current(all);
                    return previous;
                }
                best => {
                    queue.insert(&all[current as usize], current);
                    best
                }
            },
        };
        let entity = &mut all[chosen as usize];
        queue.remove(entity, chosen);
        entity.parity = entity.deadline;
        queue.set_current(chosen, entity);
        Some(chosen)
    }

    #[inline]
    fn update_curr(&self, queue: &mut Queue, all: &mut [Entity], current: TaskIx, ns: Ns) -> bool {
        let entity = &mut all[current as usize];
        entity.vruntime += virtual_ns(ns, entity.weight);
        let over = entity.vruntime >= entity.deadline;
        if over {
            entity.deadline = entity.vruntime + virtual_ns(self.slice(entity), entity.weight);
        }
        if queue.is_empty() {
            return false;
        }
        // A task that has lost its protection to a task with a shorter slice runs only while it is eligible.
        let unprotected = self.preempt_short && entity.parity != entity.deadline;
        over || (unprotected && !queue.sums_at(entity.vruntime).entity_eligible(entity.vruntime))
    }

    #[inline]
    fn task_tick(&self, queue: &mut Queue, all: &mut [Entity], _: TaskIx, _: Ns) -> bool {
        // update_curr() has already decided whether to reschedule.
        queue.note_current(all);
        false
    }

    #[inline(always)]
    fn check_preempt_wakeup(
        &self,
        queue: &mut Queue,
        all: &mut [Entity],
        current: TaskIx,
        woken: TaskIx,
    ) -> bool {
        queue.note_current(all);
        let (running, other) = (&all[current as usize], &all[woken as usize]);
        if self.preempt_short && self.slice(other) < self.slice(running) && running.parity == running.deadline
        {
            let sums = queue.sums(all);
            let earlier = other.deadline < running.deadline || !sums.entity_eligible(running.vruntime);
            if earlier && sums.entity_eligible(other.vruntime) {
                all[current as usize].parity = running.deadline + 1;
            }
        }
        self.pick_eevdf(queue, all, current) == woken
    }

    fn yield_task(&self, queue: &mut Queue, all: &mut [Entity], current: TaskIx, _: Ns) {
        if queue.tasks().iter().any(|task| !task.sched_delayed) {
            let entity = &mut all[current as usize];
            entity.deadline += virtual_ns(self.slice(entity), entity.weight);
        }
    }

    /// Lag and distance to the deadline are in virtual time, and scale with the inverse of the weight (`reweight_eevdf()`).
    fn reweight_entity(
        &self,
        queue: &mut Queue,
        all: &mut [Entity],
        task: TaskIx,
        weight: u32,
        queued: bool,
    ) {
        let entity = &mut all[task as usize];
        let rescaled = |virtual_ns| scaled(virtual_ns, entity.weight.into(), weight.into());
        if !queued {
            (entity.lag, entity.weight) = (rescaled(entity.lag), weight);
            return;
        }
        let mean = queue.avg_vruntime(all);
        let entity = &mut all[task as usize];
        let current = queue.current() == task;
        if current {
            queue.clear_current();
        } else {
            queue.remove(entity, task);
        }
        let rescaled = |virtual_ns| scaled(virtual_ns, entity.weight.into(), weight.into());
        (entity.vruntime, entity.deadline) =
            (mean - rescaled(mean - entity.vruntime), mean + rescaled(entity.deadline - mean));
        entity.weight = weight;
        if current {
            queue.set_current(task, entity);
        } else {
            queue.insert(entity, task);
        }
    }

    #[inline]
    fn load(queue: &Queue) -> u64 {
        queue.load()
    }

    #[inline]
    fn weight(entity: &Entity) -> u32 {
        entity.weight
    }

    #[inline]
    fn waiting(queue: &Queue, mut visit: impl FnMut(TaskIx) -> bool) {
        queue.tasks().visit(|task| task.sched_delayed || visit(task.task));
    }

    fn verify(queue: &Queue, all: &[Entity], current: Option<TaskIx>) {
        queue.verify(all, current);
    }
}

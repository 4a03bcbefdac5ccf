//! Choice of the next task, and delayed dequeue.

use super::{Eevdf, Entity, Queue};
use crate::sched::TaskIx;

impl Eevdf {
    /// Choose the next task of a CPU without a current task. Delayed tasks that are chosen leave the queue
    /// (`pick_next_entity()`, kernel/sched/fair.c, v6.12).
    #[inline]
    pub(super) fn pick_next_waiting(
        &self,
        queue: &mut Queue,
        all: &mut [Entity],
        mut left: impl FnMut(TaskIx, u32),
    ) -> Option<TaskIx> {
        loop {
            let best = *queue.best_waiting()?;
            if !best.sched_delayed {
                return Some(best.task);
            }
            self.dequeue_delayed(queue, all, best.task);
            left(best.task, all[best.task as usize].weight);
        }
    }

    /// Choose the next task of a CPU whose current task may continue. Delayed tasks that are chosen leave the queue
    /// (`pick_next_entity()`, kernel/sched/fair.c, v6.12).
    #[inline(never)]
    pub(super) fn pick_next_entity(
        &self,
        queue: &mut Queue,
        all: &mut [Entity],
        current: TaskIx,
        mut left: impl FnMut(TaskIx, u32),
    ) -> TaskIx {
        loop {
            let best = self.pick_eevdf(queue, all, current);
            if !all[best as usize].sched_delayed {
                return best;
            }
            self.dequeue_delayed(queue, all, best);
            left(best, all[best as usize].weight);
        }
    }

    /// Return the eligible task with the earliest virtual deadline, the current task included (`pick_eevdf()`,
    /// kernel/sched/fair.c, v6.12). The task may be a delayed task.
    #[inline(always)]
    pub(super) fn pick_eevdf(&self, queue: &Queue, all: &[Entity], current: TaskIx) -> TaskIx {
        let tasks = queue.tasks();
        if tasks.is_empty() {
            return current;
        }
        let sums = queue.sums(all);
        let entity = &all[current as usize];
        // RUN_TO_PARITY protects the current task only while it is eligible.
        let eligible = sums.entity_eligible(entity.vruntime);
        if eligible && self.protected(entity) {
            return current;
        }
        match tasks.first_that(|vruntime| sums.entity_eligible(vruntime)) {
            Some(best) if eligible && entity.deadline < best.deadline => current,
            Some(best) => best.task,
            None if eligible => current,
            // Rounding may leave no task eligible.
            None => queue.first_waiting().map_or(current, |first| first.task),
        }
    }

    fn protected(&self, entity: &Entity) -> bool {
        self.run_to_parity && entity.parity == entity.deadline
    }

    /// Remove a delayed task from the queue. Under DELAY_ZERO the task keeps a negative lag but loses a positive lag
    /// (`dequeue_entity()`, kernel/sched/fair.c, v6.12).
    pub(super) fn dequeue_delayed(&self, queue: &mut Queue, all: &mut [Entity], task: TaskIx) {
        let vruntime = all[task as usize].vruntime;
        if self.delay_zero && queue.sums(all).entity_eligible(vruntime) {
            all[task as usize].lag = 0;
        } else {
            let mean = queue.avg_vruntime(all);
            let entity = &mut all[task as usize];
            self.update_entity_lag(entity, mean);
            if self.delay_zero {
                entity.lag = entity.lag.min(0);
            }
        }
        self.take_out(queue, &mut all[task as usize], task);
    }

    #[inline]
    fn take_out(&self, queue: &mut Queue, entity: &mut Entity, task: TaskIx) {
        queue.remove(entity, task);
        queue.note_last(entity.vruntime);
        entity.sched_delayed = false;
    }

    /// Wake a delayed task. A task with positive lag is placed again without lag, any other task keeps its virtual runtime
    /// (`requeue_delayed_entity()`, kernel/sched/fair.c, v6.12).
    ///
    /// The kernel updates the current task's virtual runtime before every other change of the queue, but not before this
    /// change. The lag is therefore computed from the current task's last updated virtual runtime. A waker that has run since
    /// that update is ahead of the average, and not eligible in the following check for preemption.
    pub(super) fn requeue_delayed_entity(&self, queue: &mut Queue, all: &mut [Entity], task: TaskIx) {
        queue.update_min_vruntime(all);
        let sums = queue.sums_at(queue.noted);
        let entity = &mut all[task as usize];
        // V > v is the same as V ≥ v + 1, because both are integers.
        let credit = sums.entity_eligible(entity.vruntime + 1);
        self.take_out(queue, entity, task);
        if self.delay_zero && credit {
            let others = sums.without(entity.vruntime, entity.weight);
            entity.lag = 0;
            self.place_entity(entity, others.avg_vruntime(), others.load, false);
        }
        queue.insert(entity, task);
    }
}

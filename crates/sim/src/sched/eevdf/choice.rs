//! Who should run, and what becomes of those who sleep in the queue.

use super::{Eevdf, Entity, Queue};
use crate::sched::TaskIx;

impl Eevdf {
    /// Chooses who runs next where nobody runs; those who linger and are chosen leave.
    #[inline]
    pub(super) fn pick_waiting(&self, queue: &mut Queue, all: &mut [Entity]) -> Option<TaskIx> {
        loop {
            let best = *queue.best_waiting()?;
            if !best.lingers {
                return Some(best.task);
            }
            self.leave(queue, all, best.task);
        }
    }

    /// As [`Self::pick_waiting`], where `current` may go on.
    #[inline(never)]
    pub(super) fn pick_beside(&self, queue: &mut Queue, all: &mut [Entity], current: TaskIx) -> TaskIx {
        loop {
            let best = self.best_beside(queue, all, current);
            if !all[best as usize].lingers {
                return best;
            }
            self.leave(queue, all, best);
        }
    }

    /// Who should run, `current`, which does, or another; one that lingers is chosen in order to leave.
    #[inline(always)]
    pub(super) fn best_beside(&self, queue: &Queue, all: &[Entity], current: TaskIx) -> TaskIx {
        let tasks = queue.tasks();
        if tasks.is_empty() {
            return current;
        }
        let sums = queue.sums(all);
        let entity = &all[current as usize];
        // One that is not eligible is not considered, protected or not: protection ends where eligibility does.
        let eligible = sums.eligible(entity.vruntime);
        if eligible && self.protected(entity) {
            return current;
        }
        match tasks.first_that(|vruntime| sums.eligible(vruntime)) {
            Some(best) if eligible && entity.deadline < best.deadline => current,
            Some(best) => best.task,
            None if eligible => current,
            // Rounding may leave nobody eligible.
            None => queue.first_waiting().map_or(current, |first| first.task),
        }
    }

    fn protected(&self, entity: &Entity) -> bool {
        self.run_to_parity && entity.parity == entity.deadline
    }

    /// A lingering task leaves the queue, for good or for being placed anew; credit it loses.
    pub(super) fn leave(&self, queue: &mut Queue, all: &mut [Entity], task: TaskIx) {
        let vruntime = all[task as usize].vruntime;
        if self.delay_zero && queue.sums(all).eligible(vruntime) {
            all[task as usize].lag = 0;
        } else {
            let mean = queue.mean(all);
            let entity = &mut all[task as usize];
            self.note_lag(entity, mean);
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
        entity.lingers = false;
    }

    /// A lingering task has been woken: with credit it is placed as one that has none, else it stays where it is.
    ///
    /// The kernel brings the current task's virtual time up to date at every other change of the queue, but not at this one
    /// (requeue_delayed_entity() of v6.12): where the sleeper stands is judged by what was last known. So a waker that has
    /// run since is ahead of it, and not eligible when preemption is asked for next.
    pub(super) fn rejoin(&self, queue: &mut Queue, all: &mut [Entity], task: TaskIx) {
        queue.note_least(all);
        let known = queue.sums_at(queue.noted);
        let entity = &mut all[task as usize];
        // V > v, both being whole.
        let credit = known.eligible(entity.vruntime + 1);
        self.take_out(queue, entity, task);
        if self.delay_zero && credit {
            let others = known.without(entity.vruntime, entity.weight);
            entity.lag = 0;
            self.place(entity, others.mean(), others.load, false);
        }
        queue.insert(entity, task);
    }
}

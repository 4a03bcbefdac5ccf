//! Who should run, and what becomes of those who sleep in the queue.

use super::{Eevdf, Entity, Queue};
use crate::sched::TaskIx;

impl Eevdf {
    /// Who should run, the current task included if it is `runnable`; one that lingers is chosen in order to leave.
    #[inline]
    pub(super) fn best(&self, queue: &Queue, all: &[Entity], runnable: Option<TaskIx>) -> Option<TaskIx> {
        let tasks = queue.tasks();
        if tasks.is_empty() {
            return runnable;
        }
        if runnable.is_none()
            && let Some(alone) = tasks.only()
        {
            // Who is alone need not be eligible, for rounding may leave nobody so.
            return Some(alone.task);
        }
        let sums = queue.sums(all);
        // One that is not eligible is not considered, protected or not: protection ends where eligibility does.
        let current = runnable
            .map(|task| (task, &all[task as usize]))
            .filter(|(_, entity)| sums.eligible(entity.vruntime));
        if let Some((task, entity)) = current
            && self.protected(entity)
        {
            return Some(task);
        }
        match (tasks.first_that(|vruntime| sums.eligible(vruntime)), current) {
            (Some(best), Some((task, entity))) => {
                Some(if entity.deadline < best.deadline { task } else { best.task })
            }
            (None, Some((task, _))) => Some(task),
            (Some(best), None) => Some(best.task),
            // Rounding may leave nobody eligible.
            (None, None) => tasks.iter().find(|task| !task.lingers).or(tasks.first()).map(|first| first.task),
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

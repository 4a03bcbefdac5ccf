//! Deadline tasks among CPUs: the tasks with the earliest deadlines run (global EDF), whichever CPUs the tasks were queued on.
//!
//! ```text
//! select_task_rq_dl   a waking task leaves its previous CPU only if a task with an earlier deadline runs there
//! find_later_rq       a task that has to wait is pushed to a CPU without deadline tasks, or with the latest deadline
//! pull_dl_task        a CPU that a deadline task has left takes waiting tasks from other CPUs
//! ```

use crate::balance::KernelPolicy;
use crate::engine::Engine;
use crate::observe::Observer;
use crate::sched::{NOBODY, Rank, TaskIx};

impl<P: KernelPolicy, O: Observer> Engine<'_, P, O> {
    /// Rank of the earliest deadline among the tasks of a CPU (`dl_rq->earliest_dl.curr`); `None` without deadline tasks.
    fn earliest_dl(&self, cpu: usize) -> Option<Rank> {
        self.highest_priority(cpu).filter(|rank| rank.is_deadline())
    }

    /// Return another CPU for a task that CPU `from` has or gets: the nearest CPU without deadline tasks, preferably `here`, or, if
    /// every CPU has deadline tasks, the CPU with the latest deadline, if the task's deadline is earlier (`find_later_rq()`,
    /// kernel/sched/deadline.c, and `cpudl_find()`, kernel/sched/cpudeadline.c, v4.5 to v6.12).
    pub(crate) fn find_later_rq(&mut self, here: usize, from: usize, task: TaskIx) -> Option<usize> {
        let (cpus, last) = (self.cpus.len(), self.deadlines.distributed);
        let others = || self.tasks.allowed(task).iter().filter(|cpu| *cpu != from);
        // Equally near CPUs take turns (cpumask_any_and_distribute()).
        let order =
            |cpu: &usize| (self.topology.distance(from, *cpu), *cpu != here, (cpu + cpus - last - 1) % cpus);
        if let Some(cpu) = others().filter(|cpu| self.earliest_dl(*cpu).is_none()).min_by_key(order) {
            self.deadlines.distributed = cpu;
            return Some(cpu);
        }
        let latest = others().min_by_key(|cpu| self.earliest_dl(*cpu))?;
        (self.earliest_dl(latest) < Some(self.rank(task))).then_some(latest)
    }

    /// Select a CPU for a deadline task that `here` wakes: its previous CPU, unless a deadline task that it cannot preempt runs
    /// there (`select_task_rq_dl()`, kernel/sched/deadline.c, v4.5 to v6.12).
    pub(super) fn select_task_rq_dl(&mut self, here: usize, previous: usize, task: TaskIx) -> usize {
        let current = self.cpus[previous].current;
        if current == NOBODY
            || !self.tasks[current].class.is_deadline()
            || self.rank(current) < self.rank(task)
        {
            return previous;
        }
        self.find_later_rq(here, previous, task).unwrap_or(previous)
    }

    /// After a deadline task has left `cpu`: take the waiting tasks with earlier deadlines than the tasks of `cpu`
    /// (`pull_dl_task()`, kernel/sched/deadline.c, v4.5 to v6.12).
    #[cold]
    #[inline(never)]
    pub(crate) fn pull_dl_task(&mut self, cpu: usize) {
        for other in (0..self.cpus.len()).filter(|other| *other != cpu) {
            let current = self.cpus[other].current;
            let Some((rank, task)) = self.cpus[other].realtime.first() else { continue };
            // A task that is about to preempt its CPU's current task stays.
            let waits = current != NOBODY && self.rank(current) >= rank;
            if rank.is_deadline()
                && waits
                && Some(rank) > self.earliest_dl(cpu)
                && self.tasks.allowed(task).contains(cpu)
            {
                self.move_waiting(cpu, other, cpu, task);
            }
        }
    }
}

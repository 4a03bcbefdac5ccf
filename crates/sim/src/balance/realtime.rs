//! Real-time tasks among CPUs: the CPUs with the highest priorities run, whichever CPUs the tasks were queued on.
//!
//! ```text
//! select_task_rq_rt   a waking task goes to a CPU of lower priority, if its previous CPU runs its priority or a higher one
//! push_rt_tasks       a CPU with waiting tasks moves these tasks to CPUs of lower priority
//! pull_rt_task        a CPU whose priority has dropped interrupts a CPU with waiting tasks, which then pushes
//! ```

use crate::balance::KernelPolicy;
use crate::engine::Engine;
use crate::ledger::Account;
use crate::observe::Observer;
use crate::sched::{Enqueue, NOBODY, TaskIx};

impl<P: KernelPolicy, O: Observer> Engine<'_, P, O> {
    /// Priority of a CPU: `None` if the CPU is idle, `Some(None)` if the CPU has ordinary tasks only.
    fn highest_priority(&self, cpu: usize) -> Option<Option<u8>> {
        let (current, waiting) = (self.cpus[cpu].current, self.cpus[cpu].realtime.highest());
        if current == NOBODY {
            return waiting.map(Some);
        }
        Some(self.tasks[current].class.realtime().max(waiting))
    }

    /// Whether a real-time task would run on a CPU at once.
    fn is_lower(&self, cpu: usize, task: TaskIx) -> bool {
        self.highest_priority(cpu).is_none_or(|priority| priority < self.tasks[task].class.realtime())
    }

    /// Return the CPU with the lowest priority of those that a task may use, if its priority is below the task's
    /// (`find_lowest_rq()`, kernel/sched/rt.c, v4.5 to v6.12).
    fn find_lowest_rq(&self, task: TaskIx) -> Option<usize> {
        let lowest = self.tasks.allowed(task).iter().min_by_key(|cpu| self.highest_priority(*cpu))?;
        self.is_lower(lowest, task).then_some(lowest)
    }

    /// Select a CPU for a real-time task: `previous`, unless a task of at least its priority runs or waits on this CPU;
    /// then the CPU that is idle or has the lowest priority (`select_task_rq_rt()`, kernel/sched/rt.c, v4.5 to v6.12).
    ///
    /// The kernel queues the task behind a task that is about to run, and moves it when that task begins
    /// (`push_rt_tasks()`). The model moves the task at once.
    #[cold]
    #[inline(never)]
    pub(super) fn select_task_rq_rt(&self, previous: usize, task: TaskIx) -> usize {
        if self.is_lower(previous, task) {
            return previous;
        }
        self.find_lowest_rq(task).unwrap_or(previous)
    }

    /// Move waiting real-time tasks of a CPU to CPUs of lower priority (`push_rt_tasks()`, kernel/sched/rt.c, v4.5 to v6.12).
    #[cold]
    #[inline(never)]
    pub(crate) fn push_rt_tasks(&mut self, cpu: usize) {
        let waiting: Vec<TaskIx> = self.cpus[cpu].realtime.tasks().collect();
        for task in waiting {
            let Some(target) = self.find_lowest_rq(task) else { continue };
            self.cpus[cpu].realtime.remove(task);
            self.rq.sub_nr_running(cpu);
            self.book(cpu, Account::Balance, self.costs.balance_move);
            let distance = self.topology.distance(cpu, target);
            self.records.counters.balance_migrations[distance as usize] += 1;
            self.note_move(task, cpu, target);
            self.activate_task(target, task, Enqueue::Moved);
            self.check_preempt_curr(cpu, target, task);
        }
    }

    /// After a real-time task has left `cpu`: ask a CPU with a waiting real-time task above the remaining priority to push the
    /// task (`pull_rt_task()` and `tell_cpu_to_push()`, kernel/sched/rt.c, v4.6 to v6.12: RT_PUSH_IPI). The interrupt's
    /// handler pushes.
    #[cold]
    #[inline(never)]
    pub(crate) fn pull_rt_task(&mut self, cpu: usize) {
        let own = self.highest_priority(cpu);
        let overloaded =
            (0..self.cpus.len()).filter(|other| *other != cpu && self.cpus[*other].current != NOBODY).find(
                |other| self.cpus[*other].realtime.highest().is_some_and(|waiting| own < Some(Some(waiting))),
            );
        if let Some(other) = overloaded {
            self.send_ipi(cpu, other);
        }
    }
}

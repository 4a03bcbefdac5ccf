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
use crate::sched::{Enqueue, NOBODY, Rank, TaskIx};

impl<P: KernelPolicy, O: Observer> Engine<'_, P, O> {
    /// Rank of a task.
    #[inline]
    pub(crate) fn rank(&self, task: TaskIx) -> Rank {
        let class = self.tasks[task].class;
        if class.is_deadline() {
            return Rank::of_deadline(self.deadlines.entities[&task].deadline);
        }
        class.realtime().map_or(Rank::ORDINARY, Rank::of_priority)
    }

    /// Highest rank of the tasks of a CPU; `None` if the CPU is idle.
    pub(super) fn highest_priority(&self, cpu: usize) -> Option<Rank> {
        let (current, waiting) = (self.cpus[cpu].current, self.cpus[cpu].realtime.highest());
        if current == NOBODY {
            return (waiting > Rank::ORDINARY).then_some(waiting);
        }
        Some(self.rank(current).max(waiting))
    }

    /// Whether a real-time task would run on a CPU at once.
    fn is_lower(&self, cpu: usize, task: TaskIx) -> bool {
        self.highest_priority(cpu).is_none_or(|rank| rank < self.rank(task))
    }

    /// Return the CPU with the lowest priority of those that a task may use, if its priority is below the task's
    /// (`find_lowest_rq()`, kernel/sched/rt.c, v4.5 to v6.12).
    fn find_lowest_rq(&self, task: TaskIx) -> Option<usize> {
        let lowest = self.tasks.allowed(task).iter().min_by_key(|cpu| self.highest_priority(*cpu))?;
        self.is_lower(lowest, task).then_some(lowest)
    }

    /// Select a CPU for a real-time or deadline task that `here` wakes. A real-time task goes to `previous`, unless a task of at
    /// least its priority runs or waits on this CPU; then the CPU that is idle or has the lowest priority (`select_task_rq_rt()`, kernel/sched/rt.c, v4.5 to v6.12).
    ///
    /// The kernel queues the task behind a task that is about to run, and moves it when that task begins
    /// (`push_rt_tasks()`). The model moves the task at once.
    #[cold]
    #[inline(never)]
    pub(super) fn select_task_rq_rt(&mut self, here: usize, previous: usize, task: TaskIx) -> usize {
        if self.tasks[task].class.is_deadline() {
            return self.select_task_rq_dl(here, previous, task);
        }
        if self.is_lower(previous, task) {
            return previous;
        }
        self.find_lowest_rq(task).unwrap_or(previous)
    }

    /// Move waiting real-time and deadline tasks of a CPU to CPUs of lower rank (`push_rt_tasks()`, kernel/sched/rt.c, and
    /// `push_dl_tasks()`, kernel/sched/deadline.c, v4.5 to v6.12).
    #[cold]
    #[inline(never)]
    pub(crate) fn push_rt_tasks(&mut self, cpu: usize) {
        let waiting: Vec<TaskIx> = self.cpus[cpu].realtime.tasks().collect();
        for task in waiting {
            let target = if !self.tasks[task].class.is_deadline() {
                self.find_lowest_rq(task)
            } else if self.rank(self.cpus[cpu].current) < self.rank(task) {
                // The task is about to preempt the current task.
                None
            } else {
                self.find_later_rq(cpu, cpu, task)
            };
            let Some(target) = target else { continue };
            self.move_waiting(cpu, cpu, target, task);
            self.check_preempt_curr(cpu, target, task);
        }
    }

    /// Move a waiting real-time or deadline task on behalf of `payer`.
    pub(super) fn move_waiting(&mut self, payer: usize, from: usize, to: usize, task: TaskIx) {
        self.cpus[from].realtime.remove(task);
        self.rq.sub_nr_running(from);
        self.count_move(payer, task, from, to);
        self.activate_task(to, task, Enqueue::Moved);
    }

    /// Count and charge to `payer` the move of a real-time or deadline task.
    pub(crate) fn count_move(&mut self, payer: usize, task: TaskIx, from: usize, to: usize) {
        self.book(payer, Account::Balance, self.costs.balance_move);
        let distance = self.topology.distance(from, to);
        self.records.counters.balance_migrations[distance as usize] += 1;
        self.note_move(task, from, to);
    }

    /// After a real-time task has left `cpu`: ask a CPU with a waiting real-time task above the remaining priority to push the
    /// task (`pull_rt_task()` and `tell_cpu_to_push()`, kernel/sched/rt.c, v4.6 to v6.12: RT_PUSH_IPI). The interrupt's
    /// handler pushes.
    #[cold]
    #[inline(never)]
    pub(crate) fn pull_rt_task(&mut self, cpu: usize) {
        let own = self.highest_priority(cpu);
        let waits_longer = |other: usize| {
            let waiting = self.cpus[other].realtime.highest();
            waiting > Rank::ORDINARY && own < Some(waiting)
        };
        let overloaded = (0..self.cpus.len())
            .find(|other| *other != cpu && self.cpus[*other].current != NOBODY && waits_longer(*other));
        if let Some(other) = overloaded {
            self.send_ipi(cpu, other);
        }
    }
}

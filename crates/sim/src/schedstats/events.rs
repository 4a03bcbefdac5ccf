//! Statistics of wake-ups, switches and sleeps. Callers test [`super::Schedstats::on`] first; these functions are never inlined.

use crate::balance::KernelPolicy;
use crate::engine::Engine;
use crate::observe::Observer;
use crate::sched::{NOBODY, TaskIx};
use crate::schedstats::{CpuCounts, Line, lines};
use crate::tasks::State;
use crate::time::NEVER;

impl<P: KernelPolicy, O: Observer> Engine<'_, P, O> {
    /// Count a wake-up by `cpu` onto `target`'s queue (`ttwu_stat()`, then the enqueueing).
    #[cold]
    #[inline(never)]
    pub(crate) fn stats_wake(
        &mut self,
        cpu: usize,
        task: TaskIx,
        previous: usize,
        target: usize,
        sync: bool,
    ) {
        let local = target == cpu;
        self.stats_update(cpu, Line::Queue(cpu));
        let queue = &mut self.stats.queues[cpu].counts;
        queue.ttwu_count += 1;
        queue.ttwu_local += u64::from(local);
        if let Some(level) = self.balance.domains.level_with(cpu, target).filter(|_| !local) {
            self.stats_update(cpu, Line::Domain(cpu, level));
            self.stats.domains[cpu][level].counts.ttwu_wake_remote += 1;
        }
        self.stats_update(cpu, Line::Task(task, lines::WAKEUPS));
        let counts = &mut self.stats.task(task).counts;
        counts.nr_wakeups += 1;
        counts.nr_wakeups_sync += u64::from(sync);
        counts.nr_wakeups_migrate += u64::from(target != previous);
        counts.nr_wakeups_local += u64::from(local);
        counts.nr_wakeups_remote += u64::from(!local);
        self.stats_enqueue(cpu, task);
    }

    /// Count a wake-up that considered pulling a task from `previous` to the waker's CPU (`wake_affine()`).
    #[cold]
    #[inline(never)]
    pub(crate) fn stats_affine(&mut self, cpu: usize, task: TaskIx, previous: usize, pulled: bool) {
        self.stats_update(cpu, Line::Task(task, lines::WAKEUPS));
        let counts = &mut self.stats.task(task).counts;
        counts.nr_wakeups_affine_attempts += 1;
        counts.nr_wakeups_affine += u64::from(pulled);
        if let Some(level) = self.balance.domains.level_with(cpu, previous).filter(|_| pulled) {
            self.stats_update(cpu, Line::Domain(cpu, level));
            self.stats.domains[cpu][level].counts.ttwu_move_affine += 1;
        }
    }

    /// Count the enqueueing of a task that is not migrating: its sleep ends and its wait begins.
    #[cold]
    #[inline(never)]
    pub(crate) fn stats_enqueue(&mut self, payer: usize, task: TaskIx) {
        let mut at = self.cpus[payer].clock;
        self.stats_update(payer, Line::Task(task, lines::WAIT | lines::SLEEP));
        let task_stats = self.stats.task(task);
        if task_stats.sleeps_since != NEVER {
            // The clock of the CPU that put the task to sleep can be ahead of the waker's clock.
            at = at.max(task_stats.sleeps_since);
            let slept = at - task_stats.sleeps_since;
            task_stats.counts.sum_sleep_runtime_ns += slept;
            task_stats.counts.sleep_max_ns = task_stats.counts.sleep_max_ns.max(slept);
            task_stats.sleeps_since = NEVER;
        }
        // The task's wait continues over a move; the queue's wait starts again.
        task_stats.queued_since = at;
        if task_stats.waits_since == NEVER {
            task_stats.waits_since = at;
        }
    }

    /// Add 1 to a counter of a CPU's runqueue.
    #[cold]
    #[inline(never)]
    pub(crate) fn stats_queue(&mut self, cpu: usize, counter: impl FnOnce(&mut CpuCounts) -> &mut u64) {
        self.stats_update(cpu, Line::Queue(cpu));
        *counter(&mut self.stats.queues[cpu].counts) += 1;
    }

    /// Count a switch to a task. The previous task, if a task was current, returns to its queue. Run delay, run time
    /// and the number of runs are part of the cost of a switch: kernels always count them (`sched_info_switch()`).
    #[cold]
    #[inline(never)]
    pub(crate) fn stats_switch(&mut self, cpu: usize, previous: TaskIx, next: TaskIx) {
        if previous != NOBODY {
            self.stats.depart(cpu, self.cpus[cpu].clock);
            self.stats_enqueue(cpu, previous);
        }
        self.stats_update(cpu, Line::Task(next, lines::WAIT));
        let at = self.cpus[cpu].clock;
        let task_stats = self.stats.task(next);
        if task_stats.waits_since != NEVER {
            let waited = at.saturating_sub(task_stats.waits_since);
            task_stats.counts.wait_sum_ns += waited;
            task_stats.counts.wait_count += 1;
            task_stats.counts.wait_max_ns = task_stats.counts.wait_max_ns.max(waited);
        }
        let since = std::mem::replace(&mut task_stats.queued_since, NEVER);
        task_stats.waits_since = NEVER;
        self.stats.left_queue(cpu, cpu, since, at);
        let queue = &mut self.stats.queues[cpu];
        queue.counts.pcount += 1;
        queue.arrived = at;
    }

    /// Count that the current task of a CPU sleeps, waits for another task, or exits.
    #[cold]
    #[inline(never)]
    pub(crate) fn stats_block(&mut self, cpu: usize, task: TaskIx, state: State) {
        self.stats.depart(cpu, self.cpus[cpu].clock);
        if state == State::Dead {
            return;
        }
        let at = self.cpus[cpu].clock;
        self.stats_update(cpu, Line::Task(task, lines::SLEEP));
        self.stats.task(task).sleeps_since = at;
    }

    /// Count that the current task of a CPU moves to another CPU's queue.
    #[cold]
    #[inline(never)]
    pub(crate) fn stats_take(&mut self, cpu: usize, task: TaskIx) {
        self.stats.depart(cpu, self.cpus[cpu].clock);
        let at = self.cpus[cpu].clock;
        self.stats_update(cpu, Line::Task(task, lines::WAIT));
        self.stats.task(task).waits_since = at;
    }
}

//! The end of a simulation: the outcome, or the error of a deadlock.

use schedlab_workload::measure::{Observed, metrics};

use super::Engine;
use crate::balance::KernelPolicy;
use crate::error::SimError;
use crate::ledger::Account;
use crate::observe::{End, Observer, Outcome, Series};
use crate::sched::{NOBODY, TaskIx};
use crate::tasks::{Latencies, Waits};
use crate::time::Ns;

impl<P: KernelPolicy, O: Observer> Engine<'_, P, O> {
    /// Close the accounts and return the outcome.
    pub(super) fn finish(mut self, end: End) -> Outcome {
        // The accounts close at the horizon, or after the program's end when all begun kernel work is done.
        let close = match end {
            End::Horizon => self.time.horizon,
            End::Finished => self
                .cpus
                .iter()
                .map(|cpu| cpu.clock)
                .max()
                .unwrap_or(0)
                .max(self.time.now)
                .min(self.time.horizon),
        };
        for cpu in 0..self.cpus.len() {
            self.settle_last(cpu, close);
            self.update_curr(cpu);
            self.save_user(cpu);
            // The time after a segment's end counts as idle, because no further segment begins.
            let remaining = close.saturating_sub(self.cpus[cpu].clock);
            if remaining > 0 {
                self.spend(cpu, Account::Idle, remaining);
            }
        }
        self.records.ledger.close(close);
        self.finish_vmstat(close);
        for task in 0..self.tasks.len() {
            self.write_off(task as TaskIx);
        }
        let schedstats =
            self.stats.report(&self.balance.domains, self.world.machine, self.world.kernel, close);
        let groups = if P::GROUPS { self.group_reports() } else { Vec::new() };
        let plan = self.world.plan;
        // The first task is created at the beginning of virtual time.
        let lifetime_ns = self.gate.closed_at.unwrap_or(close);
        let elapsed_ns = lifetime_ns.saturating_sub(self.gate.opened_at.unwrap_or(close));
        let locks = &plan.program().resources.locks;
        let locks = self
            .program
            .lock_uses
            .report(locks.iter().map(|lock| lock.name.as_str()), |lock| plan.locks().position(lock));
        let largest = self.program.series.iter().map(Series::largest).collect();
        let series = self.program.series.into_iter().map(Series::finish).collect();
        let observed = Observed {
            elapsed_ns,
            lifetime_ns,
            counters: self.program.counters,
            series,
            largest,
            user_ns: self.records.ended_user_ns,
            system_ns: self.records.ended_ran_ns.saturating_sub(self.records.ended_user_ns),
            tasks: plan.counted_tasks(),
        };
        Outcome {
            end,
            metrics: metrics(plan.program(), &observed),
            observed,
            counters: self.records.counters,
            ledger: self.records.ledger,
            histograms: self.records.histograms,
            vmstat: crate::vmstat::ItemReport::all(&self.vmstat.counts),
            groups,
            tasks: self.records.reports,
            locks,
            schedstats,
            end_ns: close,
        }
    }

    /// Account for a CPU's time up to `close`, or to the end of its task's segment if that is earlier, because no events
    /// happen after the program's end.
    fn settle_last(&mut self, cpu: usize, close: Ns) {
        let cpu_state = &self.cpus[cpu];
        let until = if cpu_state.current == NOBODY { close } else { close.min(cpu_state.end()) };
        if cpu_state.clock < until {
            self.settle_to(cpu, until);
        }
    }

    /// Move a task's run time and counts to the sums, and to its report if the task belongs to the program.
    pub(crate) fn write_off(&mut self, task: TaskIx) {
        let task_data = &mut self.tasks.table[task as usize];
        // Kernel threads do not belong to the program.
        if task_data.kernel {
            return;
        }
        let (ran, user) = (std::mem::take(&mut task_data.ran_ns), std::mem::take(&mut task_data.user_ns));
        let plan = self.world.plan;
        if task_data.ordinal == NOBODY || plan.group(plan.task(task_data.ordinal)).counts() {
            self.records.ended_ran_ns += ran;
            self.records.ended_user_ns += user.min(ran);
        }
        let counts = [task_data.voluntary, task_data.involuntary, task_data.migrations, task_data.wakeups]
            .map(u64::from);
        (task_data.voluntary, task_data.involuntary, task_data.migrations, task_data.wakeups) = (0, 0, 0, 0);
        let has_report = !task_data.is_child && task_data.ordinal != NOBODY;
        let latencies = &mut self.tasks.latencies[task as usize];
        let statistics = if self.stats.used() { self.stats.take_task(task as usize) } else { None };
        if let Some(report) = self.records.reports.get_mut(task_data.ordinal as usize).filter(|_| has_report)
        {
            report.ran_ns += ran;
            report.user_ns += user.min(ran);
            report.switches = (report.switches.0 + counts[0], report.switches.1 + counts[1]);
            report.migrations += counts[2];
            report.statistics = report.statistics.or(statistics);
            let (_, sum, most) = report.wakeups;
            report.wakeups = (report.wakeups.0 + counts[3], sum + latencies.sum, most.max(latencies.most));
        }
        *latencies = Latencies::default();
    }

    /// Return the error of a deadlock, with the tasks that wait.
    pub(super) fn deadlock(&self) -> SimError {
        SimError::Deadlock { at_ns: self.time.now, waiting: self.waits().all() }
    }

    /// The waits of all tasks.
    pub(crate) fn waits(&self) -> Waits<'_> {
        Waits { plan: self.world.plan, tasks: &self.tasks, program: &self.program }
    }
}

//! Balancing between runqueues (`load_balance()`, kernel/sched.c, 2.5.59).

use crate::balance::load_balance::CpuIdleType;
use crate::engine::Engine;
use crate::kernel::Tunable;
use crate::ledger::Account;
use crate::machine::CpuMask;
use crate::observe::{Balancing, Observer};
use crate::sched::{Enqueue, NOBODY, O1, Policy, TaskIx};

impl<O: Observer> Engine<'_, O1, O> {
    /// Pull tasks to a CPU from the busiest other queue. Return their number (`load_balance()`, kernel/sched.c, 2.5.59).
    pub(super) fn load_balance_o1(&mut self, cpu: usize, idle: CpuIdleType) -> u64 {
        if !self.rq.housekeeping.contains(cpu) {
            return 0;
        }
        let before = self.cpus[cpu].clock;
        let account = idle.account();
        let (span, nodes) = self.cpus_to_balance(cpu);
        self.book(cpu, account, self.world.kernel.balance_pass.ns(&self.costs, nodes, span.count()));
        let mut counts = Balancing { calls: 1, ..Balancing::default() };
        match self.find_busiest_queue_o1(cpu, &span, idle) {
            None => counts.balanced = 1,
            Some((source, imbalance)) => {
                counts.moved = self.pull_tasks(source, cpu, imbalance, account, &mut counts.hot);
                counts.failed = u64::from(counts.moved == 0);
            }
        }
        let cost = self.cpus[cpu].clock - before;
        self.record_pass(idle, &counts, cost);
        counts.moved
    }

    /// Return the CPU with the longest queue and the number of tasks to take (`find_busiest_queue()`, kernel/sched.c,
    /// 2.5.59). A busy CPU damps fluctuations: the CPU takes the lesser of another queue's current and previous length,
    /// and the greater of its queue's lengths, and requires an imbalance of a quarter.
    fn find_busiest_queue_o1(
        &mut self,
        cpu: usize,
        span: &CpuMask,
        idle: CpuIdleType,
    ) -> Option<(usize, u32)> {
        let idle = idle != CpuIdleType::Busy;
        let previous = &mut self.rq.queues[cpu].balance.nr_running;
        previous.resize(self.cpus.len(), 0);
        let nr_running =
            if idle { self.rq.nr_running[cpu] } else { self.rq.nr_running[cpu].max(previous[cpu]) };
        let (mut busiest, mut max_load) = (None, 1);
        for other in span.iter() {
            let running = self.rq.nr_running[other];
            let load = if idle { running } else { running.min(previous[other]) };
            previous[other] = running;
            if load > max_load && other != cpu {
                (busiest, max_load) = (Some(other), load);
            }
        }
        let source = busiest?;
        let imbalance = max_load.saturating_sub(nr_running) / 2;
        if !idle && imbalance < max_load.div_ceil(4) {
            return None;
        }
        (self.rq.nr_running[source] > nr_running + 1).then_some((source, if idle { 1 } else { imbalance }))
    }

    /// Pull up to `wanted` tasks from `source` (`pull_task()`, kernel/sched.c, 2.5.59). Return their number.
    fn pull_tasks(&mut self, source: usize, cpu: usize, wanted: u32, account: Account, hot: &mut u64) -> u64 {
        self.settle(source);
        self.update_curr(source);
        self.lock_queue(cpu, source);
        let tasks = self.movable_tasks(source, cpu, wanted, hot);
        for task in &tasks {
            self.rq.detach_task(source, *task, self.time.now);
            self.book(cpu, account, self.costs.balance_move);
            self.records.counters.balance_migrations[self.topology.distance(source, cpu) as usize] += 1;
            self.note_move(*task, source, cpu);
            self.activate_task(cpu, *task, Enqueue::Moved);
            if self.cpus[cpu].current != NOBODY {
                self.check_preempt_curr(cpu, cpu, *task);
            }
        }
        tasks.len() as u64
    }

    /// Return waiting tasks that are allowed on `cpu` and are not cache-hot (`CAN_MIGRATE_TASK`, kernel/sched.c, 2.5.59),
    /// in the policy's order. `hot` counts the cache-hot tasks.
    fn movable_tasks(&self, source: usize, cpu: usize, wanted: u32, hot: &mut u64) -> Vec<TaskIx> {
        let mut movable = Vec::new();
        O1::waiting(&self.rq.queues[source], |task| {
            if self.decayed(task) {
                if self.tasks.allowed(task).contains(cpu) {
                    movable.push(task);
                }
            } else {
                *hot += 1;
            }
            movable.len() < wanted as usize
        });
        movable
    }

    /// Whether a task gave its CPU up more than `cache_decay_ticks` ago.
    fn decayed(&self, task: TaskIx) -> bool {
        let ran_at = self.tasks[task].ran_at / self.time.tick_ns;
        (self.time.now / self.time.tick_ns).saturating_sub(ran_at) > self.cache_decay_ticks()
    }

    /// The tunable, or, if the tunable is −1, the value at boot: the time to fill the cache at 350 MB/s, rounded down
    /// to milliseconds and then to ticks (`smp_tune_scheduling()`, arch/i386/kernel/smpboot.c).
    fn cache_decay_ticks(&self) -> u64 {
        let machine = self.world.machine;
        let at_boot = u64::from(machine.llc_kib / 350) * u64::from(machine.hz) / 1000;
        u64::try_from(self.tunables.get(Tunable::CacheDecayTicks)).unwrap_or(at_boot)
    }
}

#[cfg(test)]
#[path = "../../../tests/unit/balance/o1/load_balance.rs"]
mod tests;

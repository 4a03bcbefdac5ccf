//! The busiest queue, and pulling from it (`load_balance()` of 2.5.59).

use crate::balance::pass::Kind;
use crate::engine::{Engine, NOBODY};
use crate::kernel::Tunable;
use crate::ledger::Account;
use crate::machine::CpuMask;
use crate::observe::{Balancing, Observer};
use crate::sched::{Enqueue, O1, Policy, TaskIx};

impl<O: Observer> Engine<'_, O1, O> {
    /// A CPU looks for tasks to pull; how many it has pulled.
    pub(super) fn look(&mut self, cpu: usize, kind: Kind) -> u32 {
        if !self.rq.housekeeping.contains(cpu) {
            return 0;
        }
        let before = self.cpus[cpu].clock;
        let account = if kind == Kind::Newidle { Account::NewidleBalance } else { Account::Balance };
        self.book(cpu, account, self.costs.balance_base);
        let span = self.cpus_to_balance(cpu, account);
        self.book(cpu, account, span.count() as u64 * u64::from(self.costs.balance_cpu));
        let mut counts = Balancing { calls: 1, ..Balancing::default() };
        match self.busiest_queue(cpu, &span, kind) {
            None => counts.balanced = 1,
            Some((source, imbalance)) => {
                counts.moved = self.pull_from(source, cpu, imbalance, account, &mut counts.hot);
                counts.failed = u64::from(counts.moved == 0);
            }
        }
        let cost = self.cpus[cpu].clock - before;
        self.records.histograms.balance_cost[kind as usize].add(cost);
        let total = match kind {
            Kind::Busy => &mut self.records.counters.busy_balance,
            Kind::Idle => &mut self.records.counters.idle_balance,
            Kind::Newidle => &mut self.records.counters.newidle_balance,
        };
        total.calls += 1;
        total.balanced += counts.balanced;
        total.failed += counts.failed;
        total.moved += counts.moved;
        total.hot += counts.hot;
        counts.moved as u32
    }

    /// The longest queue of a set of CPUs, and how many tasks to take. A busy CPU believes in another's length only if it
    /// was as long at its last look, and in the shortness of its own likewise, and wants a difference of a quarter.
    fn busiest_queue(&mut self, cpu: usize, span: &CpuMask, kind: Kind) -> Option<(usize, u32)> {
        let idle = kind != Kind::Busy;
        let memory = &mut self.rq.queues[cpu].balance.nr_running;
        memory.resize(self.cpus.len(), 0);
        let own = if idle { self.rq.nr_running[cpu] } else { self.rq.nr_running[cpu].max(memory[cpu]) };
        let (mut busiest, mut most) = (None, 1);
        for other in span.iter() {
            let running = self.rq.nr_running[other];
            let load = if idle { running } else { running.min(memory[other]) };
            memory[other] = running;
            if load > most && other != cpu {
                (busiest, most) = (Some(other), load);
            }
        }
        let source = busiest?;
        let imbalance = most.saturating_sub(own) / 2;
        if !idle && imbalance < most.div_ceil(4) {
            return None;
        }
        (self.rq.nr_running[source] > own + 1).then_some((source, if idle { 1 } else { imbalance }))
    }

    /// Pulls up to `wanted` tasks; how many.
    fn pull_from(&mut self, source: usize, cpu: usize, wanted: u32, account: Account, hot: &mut u64) -> u64 {
        self.settle(source);
        self.update_curr(source);
        self.lock_queue(cpu, source);
        let chosen = self.movable(source, cpu, wanted, hot);
        for task in &chosen {
            self.rq.detach_task(source, *task, self.time.now);
            self.book(cpu, account, self.costs.balance_move);
            self.records.counters.balance_migrations[self.topology.distance(source, cpu) as usize] += 1;
            self.note_move(*task, source, cpu);
            self.activate_task(cpu, *task, Enqueue::Moved);
            if self.cpus[cpu].current != NOBODY {
                self.check_preempt(cpu, cpu, *task);
            }
        }
        chosen.len() as u64
    }

    /// Waiting tasks that may run on `cpu` and are not cache-hot, in the policy's order.
    fn movable(&self, source: usize, cpu: usize, wanted: u32, hot: &mut u64) -> Vec<TaskIx> {
        let mut chosen = Vec::new();
        O1::waiting(&self.rq.queues[source], |task| {
            if self.decayed(task) {
                if self.tasks.allowed(task).contains(cpu) {
                    chosen.push(task);
                }
            } else {
                *hot += 1;
            }
            chosen.len() < wanted as usize
        });
        chosen
    }

    /// Whether a task gave its CPU up more than `cache_decay_ticks` ago (`CAN_MIGRATE_TASK`).
    fn decayed(&self, task: TaskIx) -> bool {
        let ran_at = self.tasks[task].ran_at / self.time.tick_ns;
        (self.time.now / self.time.tick_ns).saturating_sub(ran_at) > self.cache_decay_ticks()
    }

    /// If it is not set, it is as at boot: the time in which the cache can be filled at 350 MB/s, in whole milliseconds
    /// and then in whole ticks (`smp_tune_scheduling()` of i386).
    fn cache_decay_ticks(&self) -> u64 {
        let machine = self.world.machine;
        let at_boot = u64::from(machine.llc_kib / 350) * u64::from(machine.hz) / 1000;
        u64::try_from(self.tunables.get(Tunable::CacheDecayTicks)).unwrap_or(at_boot)
    }
}

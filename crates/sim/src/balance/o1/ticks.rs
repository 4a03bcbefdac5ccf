//! When a CPU looks for work.

use crate::balance::pass::Kind;
use crate::engine::Engine;
use crate::ledger::Account;
use crate::observe::Observer;
use crate::sched::O1;
use crate::time::SECOND;

impl<O: Observer> Engine<'_, O1, O> {
    /// `HZ/4` for a busy CPU and `HZ/1000` for an idle one, in ticks and at least one (`BUSY_REBALANCE_TICK`,
    /// `IDLE_REBALANCE_TICK`; patch 05 only moves their definitions).
    fn rebalance_ticks(&self, per_second: u64) -> u64 {
        (SECOND / self.time.tick_ns / per_second).max(1)
    }

    fn rebalance_due(&self, per_second: u64) -> bool {
        (self.time.now / self.time.tick_ns).is_multiple_of(self.rebalance_ticks(per_second))
    }

    /// A busy CPU's tick.
    pub(super) fn balance_tick_o1(&mut self, cpu: usize) {
        if self.rebalance_due(4) {
            self.look(cpu, Kind::Busy);
        }
    }

    /// The tick of an idle CPU, which 2.5.59 does not stop.
    pub(super) fn idle_tick_o1(&mut self, cpu: usize) {
        self.records.counters.ticks += 1;
        let it = &mut self.cpus[cpu];
        it.tick_at += self.time.tick_ns;
        if it.tick_at <= self.time.now {
            it.tick_at = crate::engine::next_tick(it.tick_at, self.time.now, self.time.tick_ns);
        }
        let idled = self.cpus[cpu].clock.saturating_sub(self.cpus[cpu].idle_since).min(self.time.tick_ns);
        self.book(cpu, Account::IdleExit, self.idle_exit(idled));
        self.book(cpu, Account::Tick, self.costs.tick);
        if self.rebalance_due(1000) && self.look(cpu, Kind::Idle) > 0 {
            self.leave_idle(cpu);
            self.schedule(cpu);
        }
    }

    /// A CPU with nothing to do looks before it idles; whether there is something now.
    pub(super) fn newidle_balance_o1(&mut self, cpu: usize) -> bool {
        self.settle(cpu);
        self.look(cpu, Kind::Newidle) > 0
    }
}

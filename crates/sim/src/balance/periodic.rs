//! Periodic balancing: by ticks of busy CPUs, and by one idle CPU for all idle ones.

use super::pass::Kind;
use crate::balance::KernelPolicy;
use crate::engine::{Engine, NOBODY};
use crate::ledger::Account;
use crate::observe::Observer;
use crate::schedstats::Look;
use crate::time::{MS, Ns, SECOND};

impl<P: KernelPolicy, O: Observer> Engine<'_, P, O> {
    /// The part of a busy CPU's tick in balancing (`trigger_load_balance()`, kernel/sched/fair.c, v4.5 to v6.12).
    pub(super) fn trigger_load_balance(&mut self, cpu: usize) {
        if self.time.now >= self.cpus[cpu].next_balance {
            self.rebalance_domains(cpu, cpu, Kind::Busy);
        }
        if self.time.now >= self.balance.nohz_next_balance
            && (self.rq.nr_running[cpu] >= 2 || self.nohz_balancer_kick(cpu))
        {
            let helper = self.balance.shapes.open.first_common(&self.rq.idle);
            if let Some(helper) = helper.filter(|helper| !self.cpus[*helper].in_interrupt) {
                self.nohz_idle_balance(cpu, helper);
            }
        }
    }

    /// Whether another CPU under the same last-level cache is busy: there may be tasks to spread (`nohz_balancer_kick()`).
    fn nohz_balancer_kick(&self, cpu: usize) -> bool {
        let cache = &self.balance.shapes.caches[self.topology.cache(cpu)];
        cache.width > cache.span.common(&self.rq.idle) + 1
    }

    /// One idle CPU, kicked by a busy one, balances for all idle ones (`nohz_idle_balance()`, kernel/sched/fair.c, v4.5 to
    /// v6.12).
    fn nohz_idle_balance(&mut self, from: usize, helper: usize) {
        let at = self.cpus[from].clock + self.costs.ipi.at(self.topology.distance(from, helper));
        if self.cpus[helper].clock < at.min(self.time.horizon) {
            self.settle_to(helper, at.min(self.time.horizon));
        }
        self.records.counters.ipis += 1;
        let idled = self.cpus[helper].clock.saturating_sub(self.cpus[helper].idle_since);
        self.book(helper, Account::IdleExit, self.idle_exit(idled));
        self.book(helper, Account::Ipi, self.costs.ipi_handler);
        self.cpus[helper].in_interrupt = true;
        let mut next = Ns::MAX;
        for cpu in self.rq.idle.and(&self.rq.housekeeping).iter() {
            if self.time.now >= self.cpus[cpu].next_balance && self.rq.nr_running[cpu] == 0 {
                self.rebalance_domains(helper, cpu, Kind::Idle);
            }
            next = next.min(self.cpus[cpu].next_balance);
        }
        self.balance.nohz_next_balance = next.max(self.time.now + self.time.tick_ns);
        self.cpus[helper].in_interrupt = false;
        if self.rq.nr_running[helper] > 0 && self.cpus[helper].current == NOBODY {
            self.leave_idle(helper);
            self.schedule(helper);
        }
        self.rekey(helper);
    }

    /// Balances those domains of a CPU that are due (`rebalance_domains()`).
    fn rebalance_domains(&mut self, payer: usize, cpu: usize, kind: Kind) {
        let (mut next, mut dearest, mut decays) = (self.time.now + 60 * SECOND, 0, false);
        for level in 0..self.cpus[cpu].domains.len() {
            decays |= self.update_newidle_cost(cpu, level, 0);
            dearest += self.cpus[cpu].domains[level].max_newidle_lb_cost;
            let interval = self.interval(cpu, level, kind);
            let it = &self.cpus[cpu].domains[level];
            if self.time.now >= it.last_balance + interval {
                if self.should_we_balance(cpu, level) {
                    let passed = self.load_balance(payer, cpu, level, kind);
                    self.retime(cpu, level, passed.balanced);
                } else if self.stats.on {
                    self.stats_declined(Look { payer, cpu, level, kind: kind as usize });
                }
                self.cpus[cpu].domains[level].last_balance = self.time.now;
            }
            let it = &self.cpus[cpu].domains[level];
            next = next.min(it.last_balance + self.interval(cpu, level, kind));
        }
        self.cpus[cpu].next_balance = next;
        if decays {
            self.cpus[cpu].max_idle_balance_cost = dearest.max(self.tunables.migration_cost().into());
        }
    }

    pub(super) fn interval(&self, cpu: usize, level: usize, kind: Kind) -> Ns {
        let factor = if kind == Kind::Busy { self.world.kernel.domains.busy_factor } else { 1 };
        self.cpus[cpu].domains[level].interval * Ns::from(factor)
    }

    /// The interval doubles, up to twice the width in milliseconds, while there is nothing to do.
    fn retime(&mut self, cpu: usize, level: usize, balanced: bool) {
        let least = Ns::from(self.balance.shapes.domain(cpu, level).weight) * MS;
        let it = &mut self.cpus[cpu].domains[level];
        it.interval = if balanced { (it.interval * 2).min(2 * least) } else { least };
    }

    /// Only one CPU of a group balances for it: its first idle one, or else its first (`should_we_balance()`).
    fn should_we_balance(&self, cpu: usize, level: usize) -> bool {
        let groups = &self.balance.shapes.domain(cpu, level).groups;
        let Some(group) = groups.iter().find(|group| group.span.contains(cpu)) else { return false };
        let first = group.span.first_common(&self.rq.idle).or_else(|| group.span.lowest());
        first == Some(cpu)
    }
}

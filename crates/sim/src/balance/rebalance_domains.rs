//! Periodic balancing: by ticks of busy CPUs, and by one idle CPU for all idle CPUs.

use super::load_balance::CpuIdleType;
use crate::balance::KernelPolicy;
use crate::engine::Engine;
use crate::kernel::NewidleGate;
use crate::ledger::Account;
use crate::machine::DomainKind;
use crate::observe::Observer;
use crate::sched::{IDLE_UPDATE_NS, NOBODY};
use crate::time::{Ns, SECOND};

impl<P: KernelPolicy, O: Observer> Engine<'_, P, O> {
    /// Balance at the tick of a busy CPU (`trigger_load_balance()`, kernel/sched/fair.c, v4.5 to v6.12).
    pub(super) fn trigger_load_balance(&mut self, cpu: usize) {
        if self.time.now >= self.cpus[cpu].next_balance {
            self.rebalance_domains(cpu, cpu, CpuIdleType::Busy);
        }
        if self.time.now >= self.balance.nohz_next_blocked {
            self.update_idle_averages();
        }
        if self.time.now >= self.balance.nohz_next_balance
            && (self.rq.nr_running[cpu] >= 2 || self.nohz_balancer_kick(cpu))
        {
            let helper = self.balance.domains.open.first_common(&self.rq.idle);
            if let Some(helper) = helper.filter(|helper| !self.cpus[*helper].in_interrupt) {
                self.nohz_idle_balance(cpu, helper);
            }
        }
    }

    /// Update the average loads of the idle CPUs. In the kernel one of them does so, which costs time that is not modelled
    /// (`NOHZ_STATS_KICK` of `nohz_balancer_kick()`, kernel/sched/fair.c, v4.17 to v6.12).
    #[cold]
    fn update_idle_averages(&mut self) {
        self.balance.nohz_next_blocked = self.time.now + IDLE_UPDATE_NS;
        let idle = self.rq.idle;
        for cpu in idle.iter() {
            self.rq.update_blocked_average(cpu, self.time.now);
        }
    }

    /// Whether the idle CPUs should balance, because another CPU under the same last-level cache is busy and there may be
    /// tasks to spread (`nohz_balancer_kick()`, kernel/sched/fair.c, v4.5 to v6.12).
    fn nohz_balancer_kick(&self, cpu: usize) -> bool {
        let cache = &self.balance.domains.caches[self.topology.cache(cpu)];
        cache.width > cache.span.common(&self.rq.idle) + 1
    }

    /// Let the idle CPU `helper`, kicked by the busy CPU `from`, balance for all idle CPUs (`nohz_idle_balance()`,
    /// kernel/sched/fair.c, v4.5 to v6.12).
    fn nohz_idle_balance(&mut self, from: usize, helper: usize) {
        let at = self.cpus[from].clock + self.costs.ipi.at(self.topology.distance(from, helper));
        if self.cpus[helper].clock < at.min(self.time.horizon) {
            self.settle_to(helper, at.min(self.time.horizon));
        }
        self.records.counters.ipis += 1;
        let idled = self.cpus[helper].clock.saturating_sub(self.cpus[helper].idle_since);
        self.book_time(helper, Account::IdleExit, self.idle_exit(idled));
        self.book(helper, Account::Ipi, self.costs.ipi_handler);
        self.cpus[helper].in_interrupt = true;
        let mut next = Ns::MAX;
        for cpu in self.rq.idle.and(&self.rq.housekeeping).iter() {
            if self.time.now >= self.cpus[cpu].next_balance && self.rq.nr_running[cpu] == 0 {
                self.rebalance_domains(helper, cpu, CpuIdleType::Idle);
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

    /// Balance each domain of a CPU whose interval has passed (`rebalance_domains()`, kernel/sched/fair.c, v4.5 to v6.12).
    fn rebalance_domains(&mut self, payer: usize, cpu: usize, mut idle: CpuIdleType) {
        self.rq.update_blocked_average(cpu, self.time.now);
        let (mut next, mut sum_cost, mut decayed) = (self.time.now + 60 * SECOND, 0, false);
        let (jiffies, mut continue_balancing) = (self.jiffies(), true);
        for level in 0..self.cpus[cpu].domains.len() {
            // Up to 5.15 the decay of any domain counts, since 5.16 only that of the last domain visited. The gate changed with 5.16, too.
            let keeps = decayed && self.world.kernel.newidle_gate == NewidleGate::MigrationCost;
            decayed = self.update_newidle_cost(cpu, level, 0) || keeps;
            sum_cost += self.cpus[cpu].domains[level].max_newidle_lb_cost;
            if !continue_balancing {
                // Another CPU of the group balances the wider domains, too. Only their costs decay.
                if decayed {
                    continue;
                }
                break;
            }
            let interval = self.get_sd_balance_interval(cpu, level, idle);
            if jiffies >= self.cpus[cpu].domains[level].last_balance + interval {
                let (selected, examined) = self.should_we_balance(cpu, level);
                continue_balancing = selected == Some(cpu);
                if !continue_balancing {
                    self.decline(payer, cpu, level, idle, examined);
                } else if self.load_balance(payer, cpu, level, idle).moved > 0 {
                    let has_tasks = self.rq.nr_running[cpu] > 0;
                    idle = if has_tasks { CpuIdleType::Busy } else { CpuIdleType::Idle };
                }
                self.cpus[cpu].domains[level].last_balance = jiffies;
            }
            let last_balance = self.cpus[cpu].domains[level].last_balance;
            next = next.min(last_balance + self.get_sd_balance_interval(cpu, level, idle));
        }
        self.cpus[cpu].next_balance = next;
        if decayed {
            self.cpus[cpu].max_idle_balance_cost = sum_cost.max(self.tunables.migration_cost().into());
        }
    }

    /// Time of the last tick of the machine: balancing counts in ticks.
    fn jiffies(&self) -> Ns {
        self.time.now - self.time.now % self.time.tick_ns
    }

    /// Interval between passes over a domain, in whole ticks (`get_sd_balance_interval()`, kernel/sched/fair.c, v4.5 to v6.12).
    ///
    /// Limit: since 5.12 the interval of a busy CPU is one tick less.
    pub(super) fn get_sd_balance_interval(&self, cpu: usize, level: usize, idle: CpuIdleType) -> Ns {
        let factor = if idle == CpuIdleType::Busy { self.world.kernel.domains.busy_factor } else { 1 };
        let tick = self.time.tick_ns;
        let interval = self.cpus[cpu].domains[level].interval * Ns::from(factor);
        // A tenth of a second for each CPU (`max_load_balance_interval`).
        let most = (SECOND / 10 * self.topology.cpus() as Ns).max(tick);
        interval.next_multiple_of(tick).clamp(tick, most)
    }

    /// The CPU that balances for the group of `cpu`: the group's first idle CPU, or the first CPU if none is idle; and how many CPUs
    /// are examined to find it (`should_we_balance()`, kernel/sched/fair.c, v4.5 to v6.12).
    fn should_we_balance(&self, cpu: usize, level: usize) -> (Option<usize>, usize) {
        let domain = self.balance.domains.domain(cpu, level);
        let Some(group) = domain.groups.iter().find(|group| group.span.contains(cpu)) else {
            return (None, 0);
        };
        // CPUs of idle cores come before idle siblings of busy CPUs (since 6.6).
        let by_core = self.world.kernel.domains.idle_cpus_spread && domain.kind != DomainKind::Smt;
        let idle = if by_core { self.rq.idle_cores(self.topology) } else { &self.rq.idle };
        let first = group.span.first_common(idle);
        let rank = first.and_then(|first| group.cpus.iter().position(|cpu| usize::from(*cpu) == first));
        let selected =
            first.or_else(|| group.span.first_common(&self.rq.idle)).or_else(|| group.span.lowest());
        (selected, rank.map_or(group.cpus.len(), |rank| rank + 1))
    }
}

#[cfg(test)]
#[path = "../../tests/unit/balance/rebalance_domains.rs"]
mod tests;

//! One balancing pass over one domain: whether to move tasks, from which CPU and how many.

use crate::balance::KernelPolicy;
use crate::engine::Engine;
use crate::kernel::{GroupComparison, IdleSearch};
use crate::ledger::Account;
use crate::machine::DomainKind;
use crate::observe::{Balancing, Observer};
use crate::schedstats::PassId;
use crate::time::{MS, Ns};

/// State of the CPU for which a pass searches tasks (`enum cpu_idle_type`, include/linux/sched/idle.h).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CpuIdleType {
    Busy,
    Idle,
    Newidle,
}

impl CpuIdleType {
    /// The account on which the pass books its time.
    pub fn account(self) -> Account {
        if self == Self::Newidle { Account::NewidleBalance } else { Account::Balance }
    }
}

/// The arguments of a pass (`struct lb_env`, kernel/sched/fair.c).
#[derive(Debug, Clone, Copy)]
pub(super) struct LbEnv {
    /// CPU that makes the pass and spends the time.
    pub payer: usize,
    /// CPU that receives the tasks.
    pub dst_cpu: usize,
    /// Level of the domain among the domains of `dst_cpu`, 0 for the narrowest domain.
    pub level: usize,
    pub domain: DomainKind,
    pub idle: CpuIdleType,
    /// Failed passes over the domain since the last pass that moved a task (`sd->nr_balance_failed`).
    pub failed: u32,
}

impl LbEnv {
    /// The identity of the pass in the scheduler statistics.
    pub fn pass_id(&self) -> PassId {
        PassId { payer: self.payer, cpu: self.dst_cpu, level: self.level, kind: self.idle as usize }
    }
}

/// Result of a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PassResult {
    pub moved: u32,
    pub cost: Ns,
}

/// Why a pass finds no CPU to take tasks from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Balanced {
    /// No group is busier.
    Groups,
    /// No queue of the busiest group has a task to move.
    Queues,
}

/// What to move (`enum migration_type`, kernel/sched/fair.c, v5.5 to v6.12).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Imbalance {
    /// A number of tasks.
    Tasks(u64),
    /// Load, in weights.
    Load(u64),
    /// Average utilisation, of 1024 for a CPU.
    Util(u64),
}

impl<P: KernelPolicy, O: Observer> Engine<'_, P, O> {
    /// Make one balancing pass over a domain in favour of `cpu`, and book the time on `payer` (`load_balance()`,
    /// kernel/sched/fair.c, v4.5 to v6.12, named `sched_balance_rq()` in v6.12).
    pub(super) fn load_balance(
        &mut self,
        payer: usize,
        cpu: usize,
        level: usize,
        idle: CpuIdleType,
    ) -> PassResult {
        let at = usize::from(self.balance.domains.of_cpu[cpu][level]);
        let domain = &self.balance.domains.all[at];
        let failed = self.cpus[cpu].domains[level].failed;
        let env = LbEnv { payer, dst_cpu: cpu, level, domain: domain.kind, idle, failed };
        let weight = u64::from(domain.weight);
        let before = self.cpus[payer].clock;
        let scan = self.world.kernel.balance_pass.ns(&self.costs, domain.groups.len(), weight as usize)
            + self.fetch_busy_queues(cpu, level);
        self.book(payer, idle.account(), scan);
        if idle != CpuIdleType::Newidle {
            self.update_idle_cpu_scan(cpu, weight as usize);
        }
        let mut counts = Balancing { calls: 1, ..Balancing::default() };
        if level + 1 == self.cpus[cpu].domains.len() {
            self.rq.overload = self.balance.domains.all[at].span.meets(&self.rq.overloaded);
        }
        let target = self.find_busiest(cpu, level, idle);
        match target {
            Err(_) => {
                counts.balanced = 1;
                self.note_balanced(cpu, level, idle);
            }
            Ok((src_cpu, imbalance)) => {
                self.cpus[cpu].domains[level].interval = self.min_interval(cpu, level);
                let moved = self.detach_tasks(&env, src_cpu, imbalance, &mut counts);
                counts.moved = moved.into();
                let failed = &mut self.cpus[cpu].domains[level].failed;
                if moved > 0 {
                    *failed = 0;
                } else {
                    counts.failed = 1;
                    *failed += u32::from(idle != CpuIdleType::Newidle);
                }
            }
        }
        if self.stats.on {
            self.stats_pass(env.pass_id(), &counts, target.map(|(_, imbalance)| imbalance));
        }
        let cost = self.cpus[payer].clock - before;
        self.record_pass(idle, &counts, cost);
        PassResult { moved: counts.moved as u32, cost }
    }

    /// Note that a domain of a CPU is balanced, or that another CPU balances it: until the next imbalance, the interval between passes
    /// doubles up to its maximum (`out_balanced` of `load_balance()`). In kernels that compare groups by type, new-idle passes do not lengthen the
    /// interval.
    pub(super) fn note_balanced(&mut self, cpu: usize, level: usize, idle: CpuIdleType) {
        let most = 2 * self.min_interval(cpu, level);
        let lengthens = idle != CpuIdleType::Newidle
            || self.world.kernel.domains.group_comparison == GroupComparison::Load;
        let domain_state = &mut self.cpus[cpu].domains[level];
        domain_state.failed = 0;
        if lengthens {
            domain_state.interval = (domain_state.interval * 2).min(most);
        }
    }

    /// Leave a pass to another CPU of the group, of which `examined` CPUs were examined.
    pub(super) fn decline(
        &mut self,
        payer: usize,
        cpu: usize,
        level: usize,
        idle: CpuIdleType,
        examined: usize,
    ) {
        let cost = self.world.kernel.balance_pass.declined_ns(&self.costs, examined);
        self.book(payer, idle.account(), cost);
        // The kernel counts the pass as balanced.
        self.note_balanced(cpu, level, idle);
        if self.stats.on {
            self.stats_declined(PassId { payer, cpu, level, kind: idle as usize });
        }
        self.record_pass(idle, &Balancing { declined: 1, ..Balancing::default() }, cost);
    }

    /// Least interval between passes of an idle CPU: a millisecond for each CPU of the domain (`sd_init()`).
    fn min_interval(&self, cpu: usize, level: usize) -> Ns {
        Ns::from(self.balance.domains.domain(cpu, level).weight) * MS
    }

    /// Set how many CPUs a wake-up scans under the last-level cache of `cpu`, if a periodic pass over a domain of `width` CPUs is
    /// over that cache (`update_idle_cpu_scan()`, kernel/sched/fair.c, v6.0 to v6.12).
    fn update_idle_cpu_scan(&mut self, cpu: usize, width: usize) {
        let cache = &mut self.balance.domains.caches[self.topology.cache(cpu)];
        if self.world.kernel.idle_search == IdleSearch::Utilisation && width == cache.width {
            let util = cache.span.mask().iter().map(|cpu| self.rq.util(cpu)).sum();
            cache.update_scan_limit(util, self.world.kernel.domains.cache_imbalance_pct);
        }
    }

    /// Time to fetch the runqueues of the busy CPUs in a domain of `cpu`.
    ///
    /// update_sg_lb_stats() reads about five lines of each queue (`nr_running`, `curr`, `cfs.h_nr_running`, `cfs.avg`,
    /// `misfit_task_load`; kernel/sched/fair.c, v5.14). A busy CPU has written its queue's lines since the previous pass, an idle CPU
    /// rarely has. Five misses with independent addresses, which a core serves at the same time, take as long as a single miss.
    fn fetch_busy_queues(&self, cpu: usize, level: usize) -> Ns {
        let (mut fetch_ns, mut nearer) = (0, 0);
        for at in &self.balance.domains.of_cpu[cpu][..=level] {
            let domain = &self.balance.domains.all[usize::from(*at)];
            let busy = domain.weight as usize - domain.span.common(&self.rq.idle);
            fetch_ns += (busy - nearer) as u64 * self.costs.line.at(domain.width);
            nearer = busy;
        }
        fetch_ns
    }

    /// Add a pass to the counters and to the histogram of costs.
    pub(super) fn record_pass(&mut self, idle: CpuIdleType, counts: &Balancing, cost: Ns) {
        self.records.histograms.balance_cost[idle as usize].add(cost);
        let total = match idle {
            CpuIdleType::Busy => &mut self.records.counters.busy_balance,
            CpuIdleType::Idle => &mut self.records.counters.idle_balance,
            CpuIdleType::Newidle => &mut self.records.counters.newidle_balance,
        };
        total.calls += 1;
        total.declined += counts.declined;
        total.balanced += counts.balanced;
        total.failed += counts.failed;
        total.moved += counts.moved;
        total.hot += counts.hot;
    }

    pub(super) fn imbalance_pct(&self, kind: DomainKind) -> u32 {
        let settings = &self.world.kernel.domains;
        match kind {
            DomainKind::Smt => settings.smt_imbalance_pct,
            DomainKind::Cluster | DomainKind::Cache => settings.cache_imbalance_pct,
            DomainKind::Node | DomainKind::Numa(_) => settings.imbalance_pct,
        }
    }
}

#[cfg(test)]
#[path = "../../tests/unit/balance/load_balance.rs"]
mod tests;

//! One balancing pass over one domain: whether to move tasks, from which CPU and how many.

use super::sched_domains::{SchedDomain, SchedGroup};
use crate::balance::KernelPolicy;
use crate::engine::Engine;
use crate::kernel::IdleSearch;
use crate::ledger::Account;
use crate::machine::DomainKind;
use crate::observe::{Balancing, Observer};
use crate::sched::Sum;
use crate::schedstats::PassId;
use crate::time::Ns;

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
    pub balanced: bool,
    pub cost: Ns,
}

/// A group of a domain: its index among the domain's groups and its sums.
#[derive(Debug, Clone, Copy, Default)]
struct GroupSum {
    index: usize,
    sum: Sum,
}

/// Number of tasks or amount of load to move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Imbalance {
    Tasks(u64),
    Load(u64),
}

/// Number of tasks by which NUMA nodes may differ while the busier node is quiet (`NUMA_IMBALANCE_MIN`, kernel/sched/fair.c,
/// v5.11 to v6.12).
const NUMA_IMBALANCE_MIN: u64 = 2;

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
        let target = self.find_busiest(cpu, &self.balance.domains.all[at], idle);
        match target {
            None => counts.balanced = 1,
            Some((src_cpu, imbalance)) => {
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
            let imbalance = match target {
                None => (0, 0),
                Some((_, Imbalance::Load(load))) => (load, 0),
                Some((_, Imbalance::Tasks(tasks))) => (0, tasks),
            };
            self.stats_pass(env.pass_id(), &counts, imbalance);
        }
        let cost = self.cpus[payer].clock - before;
        self.record_pass(idle, &counts, cost);
        PassResult { moved: counts.moved as u32, balanced: target.is_none(), cost }
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
        total.balanced += counts.balanced;
        total.failed += counts.failed;
        total.moved += counts.moved;
        total.hot += counts.hot;
    }

    /// Find the CPU to take tasks from and how much to take; `None` if the domain is balanced.
    fn find_busiest(
        &self,
        cpu: usize,
        domain: &SchedDomain,
        idle: CpuIdleType,
    ) -> Option<(usize, Imbalance)> {
        // Fast path: an idle CPU takes a single task from the most loaded of the overloaded CPUs, so that the other CPUs
        // and the mean load need not be read.
        if domain.single_cpu_groups && self.rq.nr_running[cpu] == 0 {
            // Ranks are load + 1, so that a CPU whose tasks have no load also counts.
            let (mut max_rank, mut source) = (0, cpu);
            domain.span.each_common(&self.rq.overloaded, |other| {
                let rank = self.rq.loads[other] + 1;
                if rank > max_rank {
                    (max_rank, source) = (rank, other);
                }
            });
            if max_rank > 0 {
                return Some((source, Imbalance::Tasks(1)));
            }
        } else if domain.span.meets(&self.rq.overloaded) {
            return self.find_busiest_by_load(cpu, domain, idle);
        }
        self.need_active_balance(cpu, domain).then(|| self.find_busiest_by_load(cpu, domain, idle))?
    }

    #[inline(never)]
    fn find_busiest_by_load(
        &self,
        cpu: usize,
        domain: &SchedDomain,
        idle: CpuIdleType,
    ) -> Option<(usize, Imbalance)> {
        if domain.single_cpu_groups {
            self.find_busiest_cpu(cpu, domain, idle)
        } else {
            self.find_busiest_group(cpu, domain, idle)
        }
    }

    /// Find the busiest CPU of the busiest group, and how much to take (`find_busiest_group()`, kernel/sched/fair.c, v4.5
    /// to v6.12); `None` if the domain is balanced.
    fn find_busiest_group(
        &self,
        cpu: usize,
        domain: &SchedDomain,
        idle: CpuIdleType,
    ) -> Option<(usize, Imbalance)> {
        let (mut local, mut all) = (Sum::default(), Sum::default());
        let mut busiest: Option<GroupSum> = None;
        for (index, group) in domain.groups.iter().enumerate() {
            let sum = self.sum(group);
            all.add(&sum);
            if group.span.contains(cpu) {
                local = sum;
            } else if busiest.is_none_or(|busiest| busier(&sum, &busiest.sum)) {
                busiest = Some(GroupSum { index, sum });
            }
        }
        let busiest = busiest.filter(|busiest| busiest.sum.number > 0)?;
        let imbalance = self.calculate_imbalance(domain, &local, &busiest.sum, || all.per_cpu(), idle)?;
        let source = self.find_busiest_queue(&domain.groups[busiest.index], imbalance)?;
        Some((source, imbalance))
    }

    /// Find the first of the busiest CPUs of a group that have a task to move (`find_busiest_queue()`, kernel/sched/fair.c,
    /// v4.5 to v6.12).
    fn find_busiest_queue(&self, group: &SchedGroup, imbalance: Imbalance) -> Option<usize> {
        let rank = |cpu: usize| {
            let (running, cpu_load) = (u64::from(self.rq.nr_running[cpu]), self.rq.loads[cpu]);
            match imbalance {
                Imbalance::Tasks(_) => running,
                // A single task that is heavier than the imbalance would only move the imbalance.
                Imbalance::Load(load) if running > 1 || (running == 1 && cpu_load <= load) => cpu_load + 1,
                Imbalance::Load(_) => 0,
            }
        };
        let (mut most, mut source) = (0, None);
        for cpu in group.cpus.iter().map(|cpu| usize::from(*cpu)) {
            let rank = rank(cpu);
            if rank > most {
                (most, source) = (rank, Some(cpu));
            }
        }
        source
    }

    /// As [`Engine::find_busiest_group`] for groups of a single CPU, in one sweep over two arrays.
    fn find_busiest_cpu(
        &self,
        cpu: usize,
        domain: &SchedDomain,
        idle: CpuIdleType,
    ) -> Option<(usize, Imbalance)> {
        // Overloaded CPUs rank by load, and before all other CPUs. Other CPUs rank by whether the CPU has a task.
        let rank =
            |running: u32, load: u64| if running > 1 { load << 1 | 1 << 40 } else { u64::from(running) };
        let (mut total, mut max_rank, mut source, mut width) = (0, 0, None, 0);
        for range in &domain.ranges {
            width += range.len() as u64;
            let both = self.rq.nr_running.part(range.clone()).iter().zip(self.rq.loads.part(range.clone()));
            for (other, (running, load)) in range.clone().zip(both) {
                total += load;
                let rank = rank(*running, *load);
                if rank > max_rank && other != cpu {
                    (max_rank, source) = (rank, Some(other));
                }
            }
        }
        let source = source?;
        let single = |cpu: usize| {
            let number = self.rq.nr_running[cpu].into();
            Sum { width: 1, number, load: self.rq.loads[cpu], idle: u64::from(number == 0) }
        };
        let mean = || total * 1024 / width.max(1);
        let imbalance = self.calculate_imbalance(domain, &single(cpu), &single(source), mean, idle)?;
        Some((source, imbalance))
    }

    /// Sum the tasks, loads and idle CPUs of a group (`update_sg_lb_stats()`, kernel/sched/fair.c, v4.5 to v6.12).
    #[inline]
    pub(super) fn sum(&self, group: &SchedGroup) -> Sum {
        let mut sum = Sum::default();
        if !group.caches.is_empty() {
            group.caches.iter().for_each(|cache| sum.add(self.rq.sums.cache(*cache)));
            return sum;
        }
        sum.width = group.cpus.len() as u64;
        for range in &group.ranges {
            // 32 bits, as wide as the elements, so that the compiler vectorises the loop.
            let (mut number, mut idle) = (0u32, 0u32);
            for running in self.rq.nr_running.part(range.clone()) {
                number += *running;
                idle += u32::from(*running == 0);
            }
            (sum.number, sum.idle) = (sum.number + u64::from(number), sum.idle + u64::from(idle));
            sum.load += self.rq.loads.part(range.clone()).iter().sum::<u64>();
        }
        sum
    }

    /// How much to move from the busiest group to the local group; `None` if the groups are balanced
    /// (`calculate_imbalance()`, kernel/sched/fair.c, v4.5 to v6.12). `mean` returns the domain's load per CPU.
    fn calculate_imbalance(
        &self,
        domain: &SchedDomain,
        local: &Sum,
        busiest: &Sum,
        mean: impl FnOnce() -> u64,
        idle: CpuIdleType,
    ) -> Option<Imbalance> {
        if busiest.overloaded() {
            if !local.overloaded() && local.idle > 0 {
                return Some(Imbalance::Tasks(local.idle.min(busiest.number - busiest.width).max(1)));
            }
            let pct = u64::from(self.imbalance_pct(domain.kind));
            let (here, there, mean) = (local.per_cpu(), busiest.per_cpu(), mean());
            if here >= there || here >= mean || 100 * there <= pct * here {
                return None;
            }
            // Groups that are not overloaded may have more load than the busiest overloaded group. The kernel's subtraction then
            // wraps, and the local group's room decides.
            let room = (mean - here) * local.width;
            let load =
                there.checked_sub(mean).map_or(room, |surplus| (surplus * busiest.width).min(room)) / 1024;
            return Some(Imbalance::Load(load.max(1)));
        }
        // No task waits. An idle CPU may still even out the numbers of idle CPUs.
        if idle == CpuIdleType::Busy || busiest.number <= 1 {
            return None;
        }
        let gap = local.idle.saturating_sub(busiest.idle) / 2;
        // A pair of communicating tasks may stay on a node that is less than a quarter busy (adjust_numa_imbalance(),
        // v5.11 to v5.14).
        let quiet = self.world.kernel.domains.allow_numa_imbalance
            && matches!(domain.kind, DomainKind::Numa(_))
            && busiest.number * 4 < busiest.width;
        (gap > if quiet { NUMA_IMBALANCE_MIN } else { 0 }).then_some(Imbalance::Tasks(gap))
    }

    pub(super) fn imbalance_pct(&self, kind: DomainKind) -> u32 {
        let settings = &self.world.kernel.domains;
        match kind {
            DomainKind::Smt => settings.smt_imbalance_pct,
            DomainKind::Cluster | DomainKind::Cache => settings.cache_imbalance_pct,
            DomainKind::Node | DomainKind::Numa(_) => settings.imbalance_pct,
        }
    }

    /// Whether an idle CPU may take a running task from a group of several CPUs, in order to even out the numbers of idle CPUs
    /// (`need_active_balance()`, kernel/sched/fair.c, v4.5 to v6.12): an idle core from a core or node that is busier.
    fn need_active_balance(&self, cpu: usize, domain: &SchedDomain) -> bool {
        domain.kind != DomainKind::Smt
            && !domain.single_cpu_groups
            && self.rq.idle_cores(self.topology).contains(cpu)
    }
}

/// Whether a group is busier than another: overloaded groups before others, then by load per CPU; groups that are not
/// overloaded by fewer idle CPUs (`update_sd_pick_busiest()`, kernel/sched/fair.c, v4.5 to v6.12).
fn busier(group: &Sum, other: &Sum) -> bool {
    match (group.overloaded(), other.overloaded()) {
        (true, true) => group.per_cpu() > other.per_cpu(),
        (false, false) => (other.idle, group.number) > (group.idle, other.number),
        (overloaded, _) => overloaded,
    }
}

#[cfg(test)]
#[path = "../../tests/unit/balance/load_balance.rs"]
mod tests;

//! Selection of a CPU for a forked or executing task: its caches are cold, so that all CPUs of the machine are candidates.

use std::cmp::{Ordering, Reverse};

use super::groups::{GroupAverages, GroupStats, GroupType};
use super::sched_domains::{SchedDomain, SchedGroup};
use crate::balance::KernelPolicy;
use crate::engine::Engine;
use crate::kernel::{GroupComparison, NumaImbalance};
use crate::ledger::Account;
use crate::machine::{CpuMask, DomainKind};
use crate::observe::Observer;
use crate::sched::weight::UNIT;
use crate::sched::{Sum, TaskIx};
use crate::time::Ns;

impl<P: KernelPolicy, O: Observer> Engine<'_, P, O> {
    /// Select a CPU for a task that `cpu` has forked.
    pub(crate) fn select_task_rq_fork(&mut self, cpu: usize, task: TaskIx) -> usize {
        if self.tasks[task].class.realtime().is_some() {
            let allowed = *self.tasks.allowed(task);
            let here = if allowed.contains(cpu) { cpu } else { self.find_idlest_group_cpu(&allowed, cpu) };
            // Since 2.6.25 the task is pushed to another CPU at once if a task of at least its priority runs on the CPU
            // (task_woken_rt()).
            return P::select_task_rq_fork_rt(self, here, task);
        }
        P::select_task_rq_fork(self, cpu, task)
    }

    /// Select a CPU for the current task of `cpu`, which calls `execve()` (`sched_exec()`).
    pub(crate) fn select_task_rq_exec(&mut self, cpu: usize, task: TaskIx) -> usize {
        if self.tasks[task].class.realtime().is_some() {
            return cpu;
        }
        P::select_task_rq_exec(self, cpu, task)
    }

    /// Select a CPU for a forked or executing task: down the domains, to the idlest group of each (`find_idlest_cpu()`,
    /// kernel/sched/fair.c, v4.14 to v6.12; in v4.5 a part of `select_task_rq_fair()`).
    pub(super) fn find_idlest_cpu(&mut self, cpu: usize, task: TaskIx) -> usize {
        let allowed = *self.tasks.allowed(task);
        let mut here = if allowed.contains(cpu) { cpu } else { allowed.lowest().unwrap_or(cpu) };
        let (mut scanned, reclaim_distance) = (0u64, self.reclaim_distance());
        let domains = &self.balance.domains;
        let mut level = domains.of_cpu[here].len();
        while level > 0 {
            level -= 1;
            let domain = domains.domain(here, level);
            if matches!(domain.kind, DomainKind::Numa(distance) if distance > reclaim_distance) {
                continue;
            }
            scanned += u64::from(domain.weight);
            if let Some(group) = self.find_idlest_group(domain, here, task) {
                here = self.find_idlest_group_cpu(&group.span.mask().and(&allowed), here);
                // The descent continues in the narrower domains of the selected CPU, which may have others than the last CPU.
                let narrower = |at: &&u16| domains.all[usize::from(**at)].weight < domain.weight;
                level = domains.of_cpu[here].iter().take_while(narrower).count();
            }
        }
        self.book(cpu, Account::Search, scanned * u64::from(self.costs.idle_scan_cpu));
        here
    }

    /// Return the group of a domain to move to; `None` to stay in the local group (`find_idlest_group()`, kernel/sched/fair.c, v4.5,
    /// v5.14, v6.12 and v6.19). Of equally idle groups, the next after the local group counts as the idlest.
    fn find_idlest_group<'a>(
        &self,
        domain: &'a SchedDomain,
        here: usize,
        task: TaskIx,
    ) -> Option<&'a SchedGroup> {
        let allowed = self.tasks.allowed(task);
        let local_at = domain.groups.iter().position(|group| group.span.contains(here))?;
        let local_group = &domain.groups[local_at];
        let (mut sum, mut averages) = self.sum_for(task, local_group);
        self.leave_out(task, here, &mut sum, &mut averages);
        let local = self.classify(sum, &averages, domain.kind);
        let others = domain.after(local_at).map(|at| &domain.groups[at]);
        let candidates = others.filter(|group| group.span.meets(allowed)).map(|group| {
            let (sum, averages) = self.sum_for(task, group);
            (group, self.classify(sum, &averages, domain.kind))
        });
        let (group, idlest) = candidates.min_by_key(|(group, stats)| self.busyness(task, group, stats))?;
        let spare = self.world.kernel.domains.group_comparison == GroupComparison::Type
            && [&local, &idlest].iter().all(|stats| stats.kind == GroupType::HasSpare);
        if spare
            && matches!(domain.kind, DomainKind::Numa(_))
            && let Some(preferred) = self.numa.preferred_node(task)
        {
            let on_preferred = |cpu| self.topology.node(cpu) == preferred;
            if on_preferred(here) {
                return None;
            }
            if group.span.lowest().is_some_and(on_preferred) {
                return Some(group);
            }
        }
        let limit = domain.numa_limit.min(local_group.span.common(allowed) as u64);
        self.gets_task(domain, limit, &local, &idlest).then_some(group)
    }

    /// By what groups are compared, the least first: the type, then the idle CPUs and the utilisation of groups with spare capacity or
    /// the load of others (`update_pick_idlest()`, kernel/sched/fair.c, v5.9 to v6.12); up to 5.4 the load.
    fn busyness(
        &self,
        task: TaskIx,
        group: &SchedGroup,
        stats: &GroupStats,
    ) -> (GroupType, Reverse<u64>, u64) {
        match (self.world.kernel.domains.group_comparison, stats.kind) {
            (GroupComparison::Load, _) => (GroupType::HasSpare, Reverse(0), stats.sum.per_cpu()),
            (GroupComparison::Type, GroupType::HasSpare) => {
                let util = self.averages(self.counted(task, group)).util;
                (stats.kind, Reverse(stats.sum.idle), util)
            }
            (GroupComparison::Type, kind) => (kind, Reverse(0), stats.sum.per_cpu()),
        }
    }

    /// Whether the idlest other group of a domain gets a task. `numa_limit`: tasks of the local group up to which nodes may differ, see
    /// [`NumaImbalance::Caches`].
    fn gets_task(
        &self,
        domain: &SchedDomain,
        numa_limit: u64,
        local: &GroupStats,
        idlest: &GroupStats,
    ) -> bool {
        let settings = &self.world.kernel.domains;
        let pct = u64::from(self.imbalance_pct(domain.kind));
        let (here, there) = (local.sum.per_cpu(), idlest.sum.per_cpu());
        if settings.group_comparison == GroupComparison::Load {
            // The local group keeps the task within half of the domain's imbalance percentage above 100.
            return 100 * here >= (100 + (pct - 100) / 2) * there;
        }
        let numa = matches!(domain.kind, DomainKind::Numa(_));
        match local.kind.cmp(&idlest.kind) {
            Ordering::Equal if local.kind == GroupType::HasSpare => {
                // A node keeps a few new tasks (kernel/sched/fair.c, v5.10, allow_numa_imbalance() of v5.14,
                // adjust_numa_imbalance() of v6.1).
                let quiet = numa
                    && match settings.numa_imbalance {
                        NumaImbalance::None => false,
                        NumaImbalance::Pair => local.sum.idle > 0,
                        NumaImbalance::Quarter => local.sum.number < u64::from(domain.weight) / 4,
                        NumaImbalance::Caches => settings.numa_imbalance.allows(
                            local.sum.idle.abs_diff(idlest.sum.idle),
                            local.sum.number + 1,
                            local.sum.width,
                            numa_limit,
                        ),
                    };
                idlest.sum.idle > local.sum.idle && !quiet
            }
            Ordering::Equal => {
                let allowed = UNIT * 1024 * (pct - 100) / 100;
                there * pct < here * 100 && !(numa && there + allowed >= here)
            }
            order => order.is_gt(),
        }
    }

    /// Leave a task that executes on `here` out of the sums and averages of the local group (`cpu_load_without()`,
    /// `idle_cpu_without()`, kernel/sched/fair.c, v5.5 to v6.12).
    fn leave_out(&self, task: TaskIx, here: usize, sum: &mut Sum, averages: &mut GroupAverages) {
        let by_type = self.world.kernel.domains.group_comparison == GroupComparison::Type;
        if by_type && self.cpus[here].current == task {
            let cpu = self.tasks[task].cpu.into();
            sum.number -= 1;
            sum.idle += u64::from(self.rq.nr_running[here] == 1);
            sum.load = sum.load.saturating_sub(self.rq.task_load(cpu, task, self.time.now));
            averages.util = averages.util.saturating_sub(self.rq.task_util(cpu, task));
            averages.runnable = averages.runnable.saturating_sub(self.rq.queued_average(task));
        }
    }

    /// Whether all CPUs of each group count for a task, or only those that it may use.
    fn counts_all(&self, task: TaskIx) -> bool {
        self.tasks.is_unbound(task) || !self.world.kernel.domains.forks_count_allowed
    }

    /// CPUs of a group that count for a task.
    fn counted(&self, task: TaskIx, group: &SchedGroup) -> impl Iterator<Item = usize> {
        let (all, allowed) = (self.counts_all(task), self.tasks.allowed(task));
        group.cpus.iter().map(|cpu| usize::from(*cpu)).filter(move |cpu| all || allowed.contains(*cpu))
    }

    /// Sums and averages of a group for a task. The width is that of the whole group (`update_sg_wakeup_stats()`).
    fn sum_for(&self, task: TaskIx, group: &SchedGroup) -> (Sum, GroupAverages) {
        let width = group.cpus.len() as u64;
        let mut sum = Sum::default();
        if !self.counts_all(task) {
            self.counted(task, group).for_each(|cpu| sum.add(&self.sum_of_cpu(cpu)));
        } else if group.span.common(&self.rq.idle) as u64 == width {
            sum.idle = width;
        } else {
            sum = self.sum(group);
        }
        sum.width = width;
        (sum, self.averages_of(&sum, self.counted(task, group)))
    }

    /// Return the CPU of a set in the shallowest idle state, or the least loaded CPU if none is idle
    /// (`find_idlest_group_cpu()`, kernel/sched/fair.c, v4.14 to v6.12; `find_idlest_cpu()` in v4.5).
    fn find_idlest_group_cpu(&self, span: &CpuMask, fallback: usize) -> usize {
        let idle = span.and(&self.rq.idle);
        if !idle.is_empty() {
            // Among CPUs in the shallowest state, the CPU that became idle last.
            let key = |cpu: &usize| {
                let since = self.cpus[*cpu].idle_since;
                (self.idle_exit(self.time.now.saturating_sub(since)), Ns::MAX - since)
            };
            return idle.iter().min_by_key(key).unwrap_or(fallback);
        }
        span.iter().min_by_key(|cpu| self.rq.loads[*cpu]).unwrap_or(fallback)
    }
}

#[cfg(test)]
#[path = "../../tests/unit/balance/find_idlest.rs"]
mod tests;

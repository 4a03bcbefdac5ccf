//! Selection of a CPU for a forked or executing task: its caches are cold, so that all CPUs of the machine are candidates.

use std::cmp::Ordering;

use super::RECLAIM_DISTANCE;
use super::groups::{GroupAverages, GroupStats, GroupType};
use super::sched_domains::{SchedDomain, SchedGroup};
use crate::balance::KernelPolicy;
use crate::engine::Engine;
use crate::kernel::{GroupComparison, NumaImbalance};
use crate::ledger::Account;
use crate::machine::{CpuMask, DomainKind};
use crate::observe::Observer;
use crate::sched::weight::UNIT;
use crate::sched::{NOBODY, Sum, TaskIx};
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

    /// Select a CPU for the current task of `cpu`, which calls `execve()`. A task that is alone on its CPU stays.
    pub(crate) fn select_task_rq_exec(&mut self, cpu: usize, task: TaskIx) -> usize {
        if self.rq.nr_running[cpu] <= 1 || self.tasks[task].class.realtime().is_some() {
            return cpu;
        }
        P::select_task_rq_exec(self, cpu, task)
    }

    /// Select a CPU for a forked or executing task: down the domains, to the idlest group of each (`find_idlest_cpu()`,
    /// kernel/sched/fair.c, v4.14 to v6.12; in v4.5 a part of `select_task_rq_fair()`).
    pub(super) fn find_idlest_cpu(&mut self, cpu: usize, task: TaskIx) -> usize {
        let allowed = *self.tasks.allowed(task);
        let mut here = if allowed.contains(cpu) { cpu } else { allowed.lowest().unwrap_or(cpu) };
        let mut scanned = 0u64;
        let mut level = self.world.domains.of_cpu[here].len();
        while level > 0 {
            level -= 1;
            let Some(at) = self.world.domains.of_cpu[here].get(level) else { continue };
            let domain = &self.world.domains.all[usize::from(*at)];
            if matches!(domain.kind, DomainKind::Numa(distance) if distance > RECLAIM_DISTANCE) {
                continue;
            }
            scanned += u64::from(domain.weight);
            if let Some(span) = self.idlest_span(usize::from(*at), here, task) {
                here = self.find_idlest_group_cpu(&span, here);
                // The descent continues in the domains of the selected CPU.
                level = level.min(self.world.domains.of_cpu[here].len());
            }
        }
        if !allowed.contains(here) || !self.rq.idle.contains(here) {
            // The narrowest groups are single CPUs or cores. Within a core an idle sibling is as good.
            let core = self.topology.core_cpus(self.topology.core(here)).and(&allowed);
            if let Some(idle) = self.rq.idle.and(&core).lowest() {
                here = idle;
            }
        }
        self.book(cpu, Account::Search, scanned * u64::from(self.costs.idle_scan_cpu));
        here
    }

    /// Return the allowed CPUs of the group to move to; `None` to stay in the local group.
    fn idlest_span(&self, domain: usize, here: usize, task: TaskIx) -> Option<CpuMask> {
        let tables = &self.balance.domains.all[domain];
        if self.tasks.is_unbound(task) {
            // All CPUs that balancing uses are allowed, and their groups are in the tables.
            let groups = &tables.groups;
            let stats = |(at, group): (usize, &SchedGroup)| {
                let local = group.span.contains(here);
                let (mut sum, mut averages) = self.group_load(group);
                if local {
                    self.leave_out(task, here, &mut sum, &mut averages);
                }
                (at, self.classify(sum, &averages, tables.kind), local)
            };
            let at = self.find_idlest_group(groups.iter().enumerate().map(stats), tables)?;
            return Some(*groups[at].span.mask());
        }
        let allowed = self.tasks.allowed(task);
        let groups = &self.world.domains.all[domain].groups;
        let stats = |(at, group): (usize, &CpuMask)| {
            let (span, local) = (group.and(allowed), group.contains(here));
            if span.is_empty() {
                return None;
            }
            let (mut sum, mut averages) = self.span_load(&span);
            if local {
                self.leave_out(task, here, &mut sum, &mut averages);
            }
            Some((at, self.classify(sum, &averages, tables.kind), local))
        };
        let at = self.find_idlest_group(groups.iter().enumerate().filter_map(stats), tables)?;
        Some(groups[at].and(allowed))
    }

    /// Return the index of the group to move to; `None` to stay in the local group (`find_idlest_group()`,
    /// kernel/sched/fair.c, v4.5, v5.14 and v6.12). `groups` yields each group's index, its statistics, and whether the group is local.
    fn find_idlest_group(
        &self,
        groups: impl Iterator<Item = (usize, GroupStats, bool)>,
        domain: &SchedDomain,
    ) -> Option<usize> {
        let kind = domain.kind;
        let settings = &self.world.kernel.domains;
        let pct = u64::from(self.imbalance_pct(kind));
        let (mut local, mut idlest): (Option<GroupStats>, Option<(usize, GroupStats)>) = (None, None);
        for (index, stats, is_local) in groups {
            if is_local {
                local = Some(stats);
                continue;
            }
            let idler = idlest.is_none_or(|(_, other)| match settings.group_comparison {
                GroupComparison::Load => stats.sum.per_cpu() < other.sum.per_cpu(),
                GroupComparison::Type => stats.is_idler(&other),
            });
            if idler {
                idlest = Some((index, stats));
            }
        }
        let (index, idlest) = idlest?;
        let Some(local) = local else { return Some(index) };
        let (here, there) = (local.sum.per_cpu(), idlest.sum.per_cpu());
        let numa = matches!(kind, DomainKind::Numa(_));
        let moves = match settings.group_comparison {
            // The local group keeps the task within half of the domain's imbalance percentage above 100.
            GroupComparison::Load => 100 * here >= (100 + (pct - 100) / 2) * there,
            GroupComparison::Type => match local.kind.cmp(&idlest.kind) {
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
                                domain.numa_limit.min(local.sum.width),
                            ),
                        };
                    idlest.sum.idle > local.sum.idle && !quiet
                }
                Ordering::Equal => {
                    let allowed = UNIT * 1024 * (pct - 100) / 100;
                    there * pct < here * 100 && !(numa && there + allowed >= here)
                }
                order => order.is_gt(),
            },
        };
        moves.then_some(index)
    }

    /// Leave a task that executes on `here` out of the sums and averages of the local group (`cpu_load_without()`,
    /// `task_running_on_cpu()`, kernel/sched/fair.c, v5.5 to v6.12).
    fn leave_out(&self, task: TaskIx, here: usize, sum: &mut Sum, averages: &mut GroupAverages) {
        let by_type = self.world.kernel.domains.group_comparison == GroupComparison::Type;
        if by_type && self.cpus[here].current == task {
            let cpu = self.tasks[task].cpu.into();
            sum.number -= 1;
            sum.load = sum.load.saturating_sub(self.rq.task_load(cpu, task, self.time.now));
            averages.util = averages.util.saturating_sub(self.rq.task_util(cpu, task));
            averages.runnable = averages.runnable.saturating_sub(self.rq.queued_average(task));
        }
    }

    /// Sums and averages of a group of the tables.
    #[inline]
    fn group_load(&self, group: &SchedGroup) -> (Sum, GroupAverages) {
        let width = group.cpus.len() as u64;
        if group.span.common(&self.rq.idle) as u64 == width {
            return all_idle(width);
        }
        let sum = self.sum(group);
        (sum, self.averages_of(&sum, group.cpus.iter().map(|cpu| usize::from(*cpu))))
    }

    /// Sums and averages of any set of CPUs.
    fn span_load(&self, span: &CpuMask) -> (Sum, GroupAverages) {
        let width = span.count() as u64;
        if self.rq.idle.common(span) as u64 == width {
            return all_idle(width);
        }
        let mut sum = Sum::default();
        span.iter().for_each(|cpu| sum.add(&self.sum_of_cpu(cpu)));
        (sum, self.averages_of(&sum, span.iter()))
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
        let load = |cpu: &usize| {
            let realtime = self.cpus[*cpu].current != NOBODY
                && self.tasks[self.cpus[*cpu].current].class.realtime().is_some();
            (realtime, self.rq.loads[*cpu], self.rq.nr_running[*cpu])
        };
        span.iter().min_by_key(load).unwrap_or(fallback)
    }
}

/// Sums and averages of a group of idle CPUs, which need not be added up.
fn all_idle(width: u64) -> (Sum, GroupAverages) {
    (Sum { width, idle: width, ..Sum::default() }, GroupAverages::default())
}

impl GroupStats {
    /// Whether a group is idler than another: by type, then by idle CPUs, then by load (`update_pick_idlest()`,
    /// kernel/sched/fair.c, v5.9 to v6.12, where utilisation decides between groups with as many idle CPUs).
    fn is_idler(&self, other: &Self) -> bool {
        match self.kind.cmp(&other.kind) {
            Ordering::Equal if self.kind == GroupType::HasSpare && self.sum.idle != other.sum.idle => {
                self.sum.idle > other.sum.idle
            }
            // Mostly idle groups without load are compared, which need no division.
            Ordering::Equal => other.sum.load > 0 && self.sum.per_cpu() < other.sum.per_cpu(),
            order => order.is_lt(),
        }
    }
}

#[cfg(test)]
#[path = "../../tests/unit/balance/find_idlest.rs"]
mod tests;

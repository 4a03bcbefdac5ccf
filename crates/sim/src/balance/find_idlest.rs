//! Selection of a CPU for a forked or executing task: its caches are cold, so that all CPUs of the machine are candidates.

use std::cmp::Reverse;

use super::RECLAIM_DISTANCE;
use super::groups::{GroupAverages, GroupType};
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

/// Load of a group.
#[derive(Debug, Clone, Copy)]
struct GroupLoad {
    /// Index among the domain's groups.
    index: usize,
    width: usize,
    idle: usize,
    number: u64,
    /// Load per CPU, times 1024; 0 if all CPUs are idle.
    per_cpu: u64,
    /// Averages of the CPUs; 0 if the group has fewer tasks than CPUs.
    averages: GroupAverages,
}

impl GroupLoad {
    fn idle(index: usize, width: usize) -> Self {
        Self { index, width, idle: width, number: 0, per_cpu: 0, averages: GroupAverages::default() }
    }

    /// Type of the group.
    fn group_classify(&self, imbalance_pct: u32) -> GroupType {
        GroupType::classify(self.width as u64, self.number, &self.averages, imbalance_pct)
    }
}

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
            let load = |(at, group): (usize, &SchedGroup)| {
                let local = group.span.contains(here);
                (self.without(self.group_load(at, group), task, local.then_some(here)), local)
            };
            let at = self.find_idlest_group(groups.iter().enumerate().map(load), tables)?;
            return Some(*groups[at].span.mask());
        }
        let allowed = self.tasks.allowed(task);
        let groups = &self.world.domains.all[domain].groups;
        let load = |(at, group): (usize, &CpuMask)| {
            let span = group.and(allowed);
            let local = group.contains(here);
            let load = || self.without(self.span_load(at, &span), task, local.then_some(here));
            (!span.is_empty()).then(|| (load(), local))
        };
        let at = self.find_idlest_group(groups.iter().enumerate().filter_map(load), tables)?;
        Some(groups[at].and(allowed))
    }

    /// Return the index of the group to move to; `None` to stay in the local group (`find_idlest_group()`,
    /// kernel/sched/fair.c, v4.5, v5.14 and v6.12). `groups` yields each group's load and whether the group is the local group.
    fn find_idlest_group(
        &self,
        groups: impl Iterator<Item = (GroupLoad, bool)>,
        domain: &SchedDomain,
    ) -> Option<usize> {
        let kind = domain.kind;
        let settings = &self.world.kernel.domains;
        let imbalance_pct = self.imbalance_pct(kind);
        let pct = u64::from(imbalance_pct);
        let (mut local, mut idlest): (Option<GroupLoad>, Option<GroupLoad>) = (None, None);
        for (load, is_local) in groups {
            if is_local {
                local = Some(load);
                continue;
            }
            let better = idlest.is_none_or(|other| match settings.group_comparison {
                GroupComparison::Load => load.per_cpu < other.per_cpu,
                GroupComparison::Type => update_pick_idlest(&load, &other, imbalance_pct),
            });
            if better {
                idlest = Some(load);
            }
        }
        let idlest = idlest?;
        let Some(local) = local else { return Some(idlest.index) };
        let numa = matches!(kind, DomainKind::Numa(_));
        let moves = match settings.group_comparison {
            // The local group keeps the task within half of the domain's imbalance percentage above 100.
            GroupComparison::Load => 100 * local.per_cpu >= (100 + (pct - 100) / 2) * idlest.per_cpu,
            GroupComparison::Type => {
                match (local.group_classify(imbalance_pct), idlest.group_classify(imbalance_pct)) {
                    (here, there) if here != there => here > there,
                    (GroupType::HasSpare, _) => {
                        // A node keeps a few new tasks.
                        let quiet = numa
                            && match settings.numa_imbalance {
                                NumaImbalance::None => false,
                                NumaImbalance::Pair => local.idle > 0,
                                NumaImbalance::Quarter => local.number < u64::from(domain.weight) / 4,
                                NumaImbalance::Caches => {
                                    local.number < domain.numa_limit.min(local.width as u64)
                                        && local.idle.abs_diff(idlest.idle) as u64 <= NumaImbalance::LEAST
                                }
                            };
                        idlest.idle > local.idle && !quiet
                    }
                    _ => {
                        let allowed = UNIT * 1024 * (pct - 100) / 100;
                        idlest.per_cpu * pct < local.per_cpu * 100
                            && !(numa && idlest.per_cpu + allowed >= local.per_cpu)
                    }
                }
            }
        };
        moves.then_some(idlest.index)
    }

    /// Load of a group without a task that executes, if the group contains the task's CPU `here` (`cpu_load_without()`,
    /// `task_running_on_cpu()`, kernel/sched/fair.c, v5.5 to v6.12).
    fn without(&self, load: GroupLoad, task: TaskIx, here: Option<usize>) -> GroupLoad {
        let executing = here.is_some_and(|cpu| self.cpus[cpu].current == task);
        if !executing || self.world.kernel.domains.group_comparison == GroupComparison::Load {
            return load;
        }
        let part = self.rq.task_load(self.tasks[task].cpu.into(), task, self.time.now) * 1024
            / load.width.max(1) as u64;
        GroupLoad {
            number: load.number - 1,
            per_cpu: load.per_cpu.saturating_sub(part),
            averages: GroupAverages {
                util: load.averages.util.saturating_sub(self.rq.task_util(self.tasks[task].cpu.into(), task)),
                runnable: load.averages.runnable.saturating_sub(self.rq.queued_average(task)),
            },
            ..load
        }
    }

    /// Load of a group of the tables.
    #[inline]
    fn group_load(&self, index: usize, group: &SchedGroup) -> GroupLoad {
        let (width, idle) = (group.cpus.len(), group.span.common(&self.rq.idle));
        if idle == width {
            return GroupLoad::idle(index, width);
        }
        let sum = self.sum(group);
        let averages = self.averages_of(&sum, group.cpus.iter().map(|cpu| usize::from(*cpu)));
        GroupLoad { index, width, idle, number: sum.number, per_cpu: sum.per_cpu(), averages }
    }

    /// Load of any set of CPUs.
    fn span_load(&self, index: usize, span: &CpuMask) -> GroupLoad {
        let (width, idle) = (span.count(), self.rq.idle.common(span));
        if idle == width {
            return GroupLoad::idle(index, width);
        }
        let mut sum = Sum::default();
        span.iter().for_each(|cpu| sum.add(&self.sum_of_cpu(cpu)));
        let averages = self.averages_of(&sum, span.iter());
        GroupLoad { index, width, idle, number: sum.number, per_cpu: sum.per_cpu(), averages }
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

/// Whether a group is idler than another: by type, then by idle CPUs, then by load (`update_pick_idlest()`,
/// kernel/sched/fair.c, v5.9 to v6.12, where utilisation decides between groups with as many idle CPUs).
fn update_pick_idlest(one: &GroupLoad, other: &GroupLoad, imbalance_pct: u32) -> bool {
    let (one_type, other_type) = (one.group_classify(imbalance_pct), other.group_classify(imbalance_pct));
    one_type < other_type
        || one_type == other_type
            && if one_type == GroupType::HasSpare {
                (Reverse(one.idle), one.per_cpu) < (Reverse(other.idle), other.per_cpu)
            } else {
                one.per_cpu < other.per_cpu
            }
}

#[cfg(test)]
#[path = "../../tests/unit/balance/find_idlest.rs"]
mod tests;

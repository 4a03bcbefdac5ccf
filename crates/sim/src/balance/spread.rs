//! The CPU of a new task, and of one that has executed a program: caches are cold, so the whole machine is open to it.

use super::RECLAIM_DISTANCE;
use super::shapes::Group;
use crate::balance::KernelPolicy;
use crate::engine::{Engine, NOBODY};
use crate::ledger::Account;
use crate::machine::{CpuMask, DomainKind};
use crate::observe::Observer;
use crate::sched::TaskIx;
use crate::time::Ns;

/// A group as spreading sees it.
#[derive(Debug, Clone, Copy)]
struct Load {
    /// Its position among the domain's.
    at: usize,
    width: usize,
    idle: usize,
    number: u64,
    /// Weights per CPU, times 1024.
    per_cpu: u64,
}

impl<P: KernelPolicy, O: Observer> Engine<'_, P, O> {
    /// A CPU for a task that `cpu` has forked.
    pub(crate) fn select_task_rq_fork(&mut self, cpu: usize, task: TaskIx) -> usize {
        if self.tasks[task].class.realtime().is_some() {
            let allowed = *self.tasks.allowed(task);
            let here = if allowed.contains(cpu) { cpu } else { self.find_idlest_group_cpu(&allowed, cpu) };
            // Since 2.6.25 it is pushed on at once if one of at least its priority runs there (task_woken_rt()).
            return P::select_task_rq_fork_rt(self, here, task);
        }
        P::select_task_rq_fork(self, cpu, task)
    }

    /// A CPU for the current task of `cpu`, which executes a program; it stays if it is alone.
    pub(crate) fn select_task_rq_exec(&mut self, cpu: usize, task: TaskIx) -> usize {
        if self.rq.nr_running[cpu] <= 1 || self.tasks[task].class.realtime().is_some() {
            return cpu;
        }
        P::select_task_rq_exec(self, cpu, task)
    }

    /// The CPU for a new task, or one with a fresh image: down the domains, to the idlest group of each
    /// (`find_idlest_cpu()`, kernel/sched/fair.c, v4.5 to v6.12).
    pub(super) fn find_idlest_cpu(&mut self, cpu: usize, task: TaskIx) -> usize {
        let allowed = *self.tasks.allowed(task);
        let mut here = if allowed.contains(cpu) { cpu } else { allowed.lowest().unwrap_or(cpu) };
        let mut looked_at = 0u64;
        let mut level = self.world.domains.of_cpu[here].len();
        while level > 0 {
            level -= 1;
            let Some(at) = self.world.domains.of_cpu[here].get(level) else { continue };
            let domain = &self.world.domains.all[usize::from(*at)];
            if matches!(domain.kind, DomainKind::Numa(distance) if distance > RECLAIM_DISTANCE) {
                continue;
            }
            looked_at += u64::from(domain.weight);
            if let Some(span) = self.idlest_span(usize::from(*at), here, task) {
                here = self.find_idlest_group_cpu(&span, here);
                // Go on below in the new CPU's domains.
                level = level.min(self.world.domains.of_cpu[here].len());
            }
        }
        if !allowed.contains(here) || !self.rq.idle.contains(here) {
            // The lowest level's groups are single CPUs or cores; within a core an idle sibling is as good.
            let core = self.topology.core_cpus(self.topology.core(here)).and(&allowed);
            if let Some(idle) = self.rq.idle.first_common_from(&core, 0) {
                here = idle;
            }
        }
        self.book(cpu, Account::Search, looked_at * u64::from(self.costs.idle_scan_cpu));
        here
    }

    /// The CPUs of a domain's group to leave the own one for; `None` to stay.
    fn idlest_span(&self, domain: usize, here: usize, task: TaskIx) -> Option<CpuMask> {
        let kind = self.world.domains.all[domain].kind;
        if self.tasks.is_unbound(task) {
            // It may go to all that take part in balancing, whose groups are known.
            let groups = &self.balance.shapes.domains[domain].groups;
            let load = |(at, group): (usize, &Group)| (self.load_of(at, group), group.span.contains(here));
            let at = self.find_idlest_group(groups.iter().enumerate().map(load), kind)?;
            return Some(*groups[at].span.mask());
        }
        let allowed = self.tasks.allowed(task);
        let groups = &self.world.domains.all[domain].groups;
        let load = |(at, group): (usize, &CpuMask)| {
            let span = group.and(allowed);
            (!span.is_empty()).then(|| (self.load_within(at, &span), group.contains(here)))
        };
        let at = self.find_idlest_group(groups.iter().enumerate().filter_map(load), kind)?;
        Some(groups[at].and(allowed))
    }

    /// The group to leave the own one for, of groups and whether each is the own one.
    fn find_idlest_group(
        &self,
        groups: impl Iterator<Item = (Load, bool)>,
        kind: DomainKind,
    ) -> Option<usize> {
        let (mut own, mut best): (Option<Load>, Option<Load>) = (None, None);
        for (load, is_own) in groups {
            if is_own {
                own = Some(load);
                continue;
            }
            let better = best.is_none_or(|other| {
                (other.idle, std::cmp::Reverse(other.per_cpu)) < (load.idle, std::cmp::Reverse(load.per_cpu))
            });
            if better {
                best = Some(load);
            }
        }
        let best = best?;
        let Some(own) = own else { return Some(best.at) };
        if own.idle > 0 || best.idle > 0 {
            // A node that is less than a quarter busy keeps its children (allow_numa_imbalance()).
            let quiet = matches!(kind, DomainKind::Numa(_)) && own.number * 4 < own.width as u64;
            return (best.idle > own.idle && !quiet).then_some(best.at);
        }
        let pct = u64::from(self.world.kernel.domains.imbalance_pct);
        (best.per_cpu * pct < own.per_cpu * 100).then_some(best.at)
    }

    #[inline]
    fn load_of(&self, at: usize, group: &Group) -> Load {
        let (width, idle) = (group.cpus.len(), group.span.common(&self.rq.idle));
        if idle == width {
            return Load { at, width, idle, number: 0, per_cpu: 0 };
        }
        let sum = self.sum(group);
        Load { at, width, idle, number: sum.number, per_cpu: sum.per_cpu() }
    }

    /// As [`Engine::load_of`], of any CPUs.
    fn load_within(&self, at: usize, span: &CpuMask) -> Load {
        let (width, idle) = (span.count(), self.rq.idle.common(span));
        if idle == width {
            return Load { at, width, idle, number: 0, per_cpu: 0 };
        }
        let (mut number, mut load) = (0, 0);
        for cpu in span.iter() {
            number += u64::from(self.rq.nr_running[cpu]);
            load += self.rq.loads[cpu];
        }
        Load { at, width, idle, number, per_cpu: load * 1024 / width.max(1) as u64 }
    }

    /// The CPU of a set that is idle least deeply, or else least loaded.
    fn find_idlest_group_cpu(&self, span: &CpuMask, fallback: usize) -> usize {
        let idle = span.and(&self.rq.idle);
        if !idle.is_empty() {
            // The shallowest state; among those in it, the one that became idle last.
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

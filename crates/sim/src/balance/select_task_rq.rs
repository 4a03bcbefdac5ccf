//! Selection of a CPU for a waking task.

use crate::balance::KernelPolicy;
use crate::engine::Engine;
use crate::kernel::{IdleSearch, RecentCpu, WakeAffine};
use crate::ledger::Account;
use crate::machine::{CpuMask, Span};
use crate::observe::Observer;
use crate::sched::{NOBODY, TaskIx};
use crate::time::Ns;

/// `wakee_flips` is halved every 2³⁰ ns, which a shift computes. The kernel halves this count every second.
const FLIPS_PERIOD_BITS: u32 = 30;

/// CPUs that a search limited by `SIS_PROP` examines at least: it counts down from 4 before each CPU.
const LEAST_SCAN: usize = 3;

impl<P: KernelPolicy, O: Observer> Engine<'_, P, O> {
    /// Select a CPU for a task that `cpu` wakes (`select_task_rq()`, kernel/sched/core.c, v4.5 to v6.12).
    #[inline]
    pub(crate) fn select_task_rq(&mut self, cpu: usize, task: TaskIx, sync: bool) -> usize {
        if self.tasks[task].class.realtime().is_some() {
            return self.select_task_rq_rt(cpu, self.tasks[task].cpu.into(), task);
        }
        P::select_task_rq(self, cpu, task, sync)
    }

    /// Select a CPU for an ordinary task that `cpu` wakes (`select_task_rq_fair()`, kernel/sched/fair.c, v4.5 to v6.12).
    pub(super) fn select_task_rq_fair(&mut self, cpu: usize, task: TaskIx, sync: bool) -> usize {
        let previous = usize::from(self.tasks[task].cpu);
        let waker = self.cpus[cpu].current;
        if waker != NOBODY {
            self.record_wakee(waker, task);
        }
        let notes_waker = self.world.kernel.recent_cpu == RecentCpu::Waker && waker != NOBODY;
        let wide = (cpu != previous || notes_waker) && waker != NOBODY && self.wake_wide(waker, task);
        let target =
            if cpu == previous { cpu } else { self.wake_affine_target(cpu, previous, task, sync, wide) };
        if notes_waker && !wide && self.tasks.allowed(task).contains(cpu) {
            // The kernel stores this after the search. The search does not read the waker's value.
            self.tasks[waker].recent_cpu = cpu as u16;
        }
        self.select_idle_sibling(cpu, previous, target, task)
    }

    /// Return the CPU around which a wake-up from another CPU searches for an idle CPU: the waker's CPU or the task's
    /// previous CPU. `wide` is the result of [`Engine::wake_wide`].
    #[inline(never)]
    fn wake_affine_target(
        &mut self,
        cpu: usize,
        previous: usize,
        task: TaskIx,
        sync: bool,
        wide: bool,
    ) -> usize {
        let mut target = previous;
        if self.tasks.allowed(task).contains(cpu) && self.within_reclaim_distance(cpu, previous) {
            if wide {
                self.records.counters.wake_wide += 1;
            } else {
                let pulled = self.wake_affine(cpu, previous, task, sync);
                if self.stats.on {
                    self.stats_affine(cpu, task, previous, pulled);
                }
                if pulled {
                    self.records.counters.wake_affine += 1;
                    target = cpu;
                }
            }
        }
        target
    }

    fn within_reclaim_distance(&self, a: usize, b: usize) -> bool {
        let (a, b) = (self.topology.node(a), self.topology.node(b));
        a == b || self.world.machine.node_distance(a, b) <= self.reclaim_distance()
    }

    /// Count how often a task wakes another task than the last time (`record_wakee()`, kernel/sched/fair.c, v4.5 to
    /// v6.12).
    fn record_wakee(&mut self, waker: TaskIx, task: TaskIx) {
        let task_data = &mut self.tasks[waker];
        let period = (self.time.now >> FLIPS_PERIOD_BITS) as u16;
        if task_data.flips_period != period {
            task_data.wakee_flips >>= 1;
            task_data.flips_period = period;
        }
        if task_data.last_wakee != task {
            task_data.last_wakee = task;
            task_data.wakee_flips = task_data.wakee_flips.saturating_add(1);
        }
    }

    /// Whether waker and wakee are a one-to-many relation that would overload a last-level cache (`wake_wide()`,
    /// kernel/sched/fair.c, v4.5 to v6.12).
    fn wake_wide(&self, waker: TaskIx, task: TaskIx) -> bool {
        let (a, b) = (u32::from(self.tasks[waker].wakee_flips), u32::from(self.tasks[task].wakee_flips));
        let (master, slave) = (a.max(b), a.min(b));
        let factor = self.world.machine.cores_per_cache * self.world.machine.threads_per_core;
        slave >= factor && master >= slave.saturating_mul(factor)
    }

    /// Whether a task is pulled to its waker's CPU (`wake_affine()`, kernel/sched/fair.c, v4.5 to v6.12).
    fn wake_affine(&self, cpu: usize, previous: usize, task: TaskIx, sync: bool) -> bool {
        let kind = self.world.kernel.wake_affine;
        if kind == WakeAffine::IdleThenWeight {
            if self.rq.idle.contains(cpu) && self.topology.share_cache(cpu, previous) {
                return !self.rq.idle.contains(previous);
            }
            if sync && self.rq.nr_running[cpu] == 1 {
                return true;
            }
            if self.world.kernel.idle_previous_first && self.rq.idle.contains(previous) {
                return false;
            }
        }
        // Differences may be negative: averages of tasks and CPUs are not of the same moment.
        let load_of = |cpu: usize| self.rq.loads[cpu] as i64;
        let (mut here, mut there) = (load_of(cpu), load_of(previous));
        let task_load = self.rq.task_load(previous, task, self.time.now) as i64;
        let waker = self.cpus[cpu].current;
        if sync && waker != NOBODY {
            here -= self.rq.task_load(cpu, waker, self.time.now) as i64;
        }
        if here < 0 || (here == 0 && kind == WakeAffine::Weight) {
            return true;
        }
        if kind == WakeAffine::IdleThenWeight {
            // The kernel assumes that the load of the previous CPU includes the sleeping task (wake_affine_weight(), since v4.14).
            there -= task_load;
        }
        // Bias towards the waker's CPU: half of the domain's imbalance percentage above 100.
        let bias = i64::from((self.world.kernel.domains.imbalance_pct - 100) / 2);
        let (here, there) = ((here + task_load) * 100, there * (100 + bias));
        match kind {
            WakeAffine::Weight => here <= there,
            WakeAffine::IdleThenWeight => here < there + i64::from(sync),
        }
    }

    /// Return an idle CPU that shares the last-level cache with `target`, or `target` if no CPU is found
    /// (`select_idle_sibling()`, kernel/sched/fair.c, v4.5 to v6.12).
    fn select_idle_sibling(&mut self, cpu: usize, previous: usize, target: usize, task: TaskIx) -> usize {
        let allowed = target == previous || self.tasks.allowed(task).contains(target);
        let target = if allowed { target } else { previous };
        if self.rq.idle.contains(target) {
            return target;
        }
        let previous_idle = previous != target
            && self.topology.share_cache(previous, target)
            && self.rq.idle.contains(previous);
        if previous_idle && self.share_resources(previous, target) {
            return previous;
        }
        let recent = self.recent_used_cpu(previous, target, task);
        if let Some(recent) = recent
            && self.share_resources(recent, target)
        {
            return recent;
        }
        if self.world.kernel.idle_search == IdleSearch::Aged {
            self.age_idle_time(cpu);
        }
        let (idle_cpu, scanned) = self.select_idle_cpu(cpu, target, task);
        let cost = scanned as u64 * u64::from(self.costs.idle_scan_cpu);
        self.book(cpu, Account::Search, cost);
        // A search that reaches its limit returns before its time is accounted for.
        if idle_cpu.is_some() || scanned >= self.balance.domains.caches[self.topology.cache(target)].width {
            self.cpus[cpu].wake_avg_idle = self.cpus[cpu].wake_avg_idle.saturating_sub(cost);
            // An eighth of the difference, as update_avg() (kernel/sched/sched.h) adds.
            let average = &mut self.cpus[cpu].avg_search;
            *average = (*average as i64 + (cost as i64 - *average as i64) / 8) as Ns;
        }
        // Since 6.7 on machines with clusters, idle CPUs of other clusters that a search of the cache has missed.
        idle_cpu.or(previous_idle.then_some(previous)).or(recent).unwrap_or(target)
    }

    /// Whether two CPUs of a last-level cache are equally near for a wake-up: any two, or since 6.7 two of a cluster
    /// (`cpus_share_resources()`, kernel/sched/core.c, v6.12).
    #[inline]
    fn share_resources(&self, a: usize, b: usize) -> bool {
        self.balance.domains.clusters.is_empty() || self.topology.cluster(a) == self.topology.cluster(b)
    }

    /// Return the CPU on which a task ran before, if the CPU is idle and shares the last-level cache with `target`
    /// (`select_idle_sibling()`, kernel/sched/fair.c, v4.16 to v6.12).
    fn recent_used_cpu(&mut self, previous: usize, target: usize, task: TaskIx) -> Option<usize> {
        let kind = self.world.kernel.recent_cpu;
        if kind == RecentCpu::None {
            return None;
        }
        let recent = usize::from(self.tasks[task].recent_cpu);
        let found = recent != previous
            && recent != target
            && self.rq.idle.contains(recent)
            && self.topology.share_cache(recent, target)
            && self.tasks.allowed(task).contains(recent);
        if found || kind == RecentCpu::Previous {
            self.tasks[task].recent_cpu = previous as u16;
        }
        found.then_some(recent)
    }

    /// Halve the idle time of a CPU for each tick since the CPU was idle: it predicts less and less (`select_idle_cpu()`,
    /// kernel/sched/fair.c, v5.14).
    fn age_idle_time(&mut self, cpu: usize) {
        let now = self.time.now / self.time.tick_ns;
        let cpu_state = &mut self.cpus[cpu];
        let ticks = now.saturating_sub(cpu_state.wake_stamp);
        cpu_state.wake_avg_idle >>= ticks.min(63);
        cpu_state.wake_stamp += ticks;
    }

    /// Return an idle CPU under the last-level cache of `target`, and the number of scanned CPUs. A CPU of an idle core
    /// comes before other idle CPUs, and since 6.7 a CPU of the target's cluster before CPUs of other clusters
    /// (`select_idle_cpu()`, kernel/sched/fair.c, v5.14 and v6.12).
    fn select_idle_cpu(&self, cpu: usize, target: usize, task: TaskIx) -> (Option<usize>, usize) {
        let cache = &self.balance.domains.caches[self.topology.cache(target)];
        let bound;
        let (span, width) = if self.tasks.is_unbound(task) {
            (&cache.span, cache.width)
        } else {
            let cpus = self.topology.cache_cpus(self.topology.cache(target));
            bound = Span::new(cpus.and(self.tasks.allowed(task)));
            (&bound, bound.count())
        };
        if self.world.kernel.idle_search == IdleSearch::Utilisation && cache.scan_limit == 0 {
            return (None, 0);
        }
        if let Some((idle, rank)) = self.select_idle_core(span, target) {
            return (Some(idle), rank + 1);
        }
        let limit = match self.world.kernel.idle_search {
            IdleSearch::Groups => return (self.idle_sibling(span, target), width),
            IdleSearch::Utilisation => ScanLimit::Cpus(cache.scan_limit),
            IdleSearch::Proportional => self.sis_prop_limit(cpu, width, self.cpus[cpu].avg_idle / 512),
            IdleSearch::Aged => self.sis_prop_limit(cpu, width, self.cpus[cpu].wake_avg_idle),
        };
        if let Some((idle, rank)) = self.first_in_search(span, &self.rq.idle, target)
            && limit.covers(rank)
        {
            return (Some(idle), rank + 1);
        }
        (None, limit.cpus().min(width))
    }

    /// Return the first of the CPUs `among` that a search of `span` around `target` examines, and how many CPUs the search
    /// examines before, the target included.
    #[inline(always)]
    fn first_in_search(&self, span: &Span, among: &CpuMask, target: usize) -> Option<(usize, usize)> {
        if !self.balance.domains.clusters.is_empty() {
            return self.first_in_search_of_cluster(span, among, target);
        }
        span.first_common_from(among, target).map(|idle| (idle, span.rank(target, idle)))
    }

    /// [`Engine::first_in_search`] where a search begins with the target's cluster.
    #[inline(never)]
    fn first_in_search_of_cluster(
        &self,
        span: &Span,
        among: &CpuMask,
        target: usize,
    ) -> Option<(usize, usize)> {
        let cluster = Span::new(self.balance.domains.clusters[self.topology.cluster(target)].and(span));
        if let Some(idle) = cluster.first_common_from(among, target) {
            return Some((idle, cluster.rank(target, idle)));
        }
        let idle = span.first_common_from(among, target)?;
        // The search of the cluster has ended with the target, which the count includes for the second time.
        let before = cluster.count() + 1 + span.rank(target, idle) - cluster.rank(target, idle);
        Some((idle, before))
    }

    /// Return the first CPU of an idle core, beginning at `target`, and how many CPUs the search examines before
    /// (`select_idle_core()`, kernel/sched/fair.c, v5.14 and v6.12; in v4.5 the search for an idle group in
    /// `select_idle_sibling()`, which also machines without SMT make).
    #[inline]
    fn select_idle_core(&self, span: &Span, target: usize) -> Option<(usize, usize)> {
        if self.topology.threads == 1 && self.world.kernel.idle_search != IdleSearch::Groups {
            return None;
        }
        self.first_in_search(span, self.rq.idle_cores(self.topology), target)
    }

    /// Return an idle CPU of the target's core: after the cache's domain v4.5 searches the core's domain, whose groups are
    /// single CPUs (`for_each_lower_domain()` in `select_idle_sibling()`, kernel/sched/fair.c, v4.5).
    fn idle_sibling(&self, span: &Span, target: usize) -> Option<usize> {
        let core = self.topology.core_cpus(self.topology.core(target));
        core.and(span.mask()).and(&self.rq.idle).lowest()
    }

    /// Scan limit of `SIS_PROP`: one less than the number of CPUs that `idle_ns` pays for, which is at least 4: a 512th of the
    /// average idle time in v5.10, the aged idle time in v5.14 (`select_idle_cpu()`, kernel/sched/fair.c). The kernel counts down
    /// before it examines a CPU. The first CPU is the target.
    fn sis_prop_limit(&self, cpu: usize, width: usize, idle_ns: Ns) -> ScanLimit {
        let (budget, cost) = (width as u64 * idle_ns, self.cpus[cpu].avg_search + 1);
        if budget >= cost * (width as u64 + 1) {
            ScanLimit::Cpus(width)
        } else if budget > 4 * cost {
            ScanLimit::Paid { budget, cost }
        } else {
            ScanLimit::Cpus(LEAST_SCAN)
        }
    }
}

/// Maximum number of CPUs that a search scans.
#[derive(Debug, Clone, Copy)]
enum ScanLimit {
    Cpus(usize),
    /// One less than `budget` / `cost` CPUs.
    Paid {
        budget: u64,
        cost: u64,
    },
}

impl ScanLimit {
    /// Whether the search scans the CPU at `rank`, counted from 0.
    fn covers(self, rank: usize) -> bool {
        match self {
            Self::Cpus(cpus) => rank < cpus,
            // A multiplication is cheaper than a division.
            Self::Paid { budget, cost } => (rank as u64 + 2) * cost <= budget,
        }
    }

    fn cpus(self) -> usize {
        match self {
            Self::Cpus(cpus) => cpus,
            Self::Paid { budget, cost } => (budget / cost) as usize - 1,
        }
    }
}

#[cfg(test)]
#[path = "../../tests/unit/balance/select_task_rq.rs"]
mod tests;

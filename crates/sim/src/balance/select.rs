//! The CPU of a waking task.

use super::RECLAIM_DISTANCE;
use crate::balance::KernelPolicy;
use crate::engine::{Engine, NOBODY};
use crate::kernel::{IdleSearch, WakeAffine};
use crate::ledger::Account;
use crate::machine::Span;
use crate::observe::Observer;
use crate::sched::TaskIx;
use crate::time::Ns;

/// Changes of the wakee are halved each 2³⁰ ns; the kernel does it each second.
const FLIPS_PERIOD_BITS: u32 = 30;

impl<P: KernelPolicy, O: Observer> Engine<'_, P, O> {
    /// Selects a CPU for a task that `cpu` wakes (`select_task_rq()`, kernel/sched/core.c, v4.5 to v6.12).
    #[inline]
    pub(crate) fn select_task_rq(&mut self, cpu: usize, task: TaskIx, sync: bool) -> usize {
        if self.tasks[task].class.realtime().is_some() {
            return self.select_task_rq_rt(self.tasks[task].cpu.into(), task);
        }
        P::select_task_rq(self, cpu, task, sync)
    }

    /// As [`Engine::select_task_rq`], for ordinary tasks (`select_task_rq_fair()`).
    pub(super) fn select_task_rq_fair(&mut self, cpu: usize, task: TaskIx, sync: bool) -> usize {
        let previous = usize::from(self.tasks[task].cpu);
        let waker = self.cpus[cpu].current;
        if waker != NOBODY {
            self.record_wakee(waker, task);
        }
        let target = if cpu == previous { cpu } else { self.wake_affine_target(cpu, previous, task, sync) };
        self.select_idle_sibling(cpu, previous, target, task)
    }

    /// The CPU near which a wake-up from another CPU looks for an idle one: the waker's or the task's last one.
    #[inline(never)]
    fn wake_affine_target(&mut self, cpu: usize, previous: usize, task: TaskIx, sync: bool) -> usize {
        let waker = self.cpus[cpu].current;
        let mut target = previous;
        if self.tasks.allowed(task).contains(cpu) && self.within_reclaim_distance(cpu, previous) {
            if waker != NOBODY && self.wake_wide(waker, task) {
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
        a == b || self.world.machine.node_distance(a, b) <= RECLAIM_DISTANCE
    }

    /// A real-time task stays unless one of at least its priority runs there, or is about to; then it goes to the CPU that
    /// is idle or runs the least important task. A kernel lets it queue up behind one that is about to run, and pushes it
    /// on when that one begins (`push_rt_tasks()`).
    #[cold]
    #[inline(never)]
    pub(super) fn select_task_rq_rt(&self, previous: usize, task: TaskIx) -> usize {
        let own = self.tasks[task].class.realtime();
        let running = |cpu: usize| {
            let (it, waiting) = (&self.cpus[cpu], self.cpus[cpu].realtime.highest());
            if it.current == NOBODY {
                waiting.map(Some)
            } else {
                Some(self.tasks[it.current].class.realtime().max(waiting))
            }
        };
        if running(previous).is_none_or(|priority| priority < own) {
            return previous;
        }
        let mut best = previous;
        for cpu in self.tasks.allowed(task).iter() {
            if running(cpu) < running(best) {
                best = cpu;
            }
        }
        best
    }

    /// Notes whom a task wakes; changes of the wakee count, and are halved from time to time (`record_wakee()`).
    fn record_wakee(&mut self, waker: TaskIx, task: TaskIx) {
        let it = &mut self.tasks[waker];
        let period = (self.time.now >> FLIPS_PERIOD_BITS) as u16;
        if it.flips_period != period {
            it.wakee_flips >>= 1;
            it.flips_period = period;
        }
        if it.last_wakee != task {
            it.last_wakee = task;
            it.wakee_flips = it.wakee_flips.saturating_add(1);
        }
    }

    /// Whether waker and wakee are a one-to-many relation that would crowd a last-level cache (`wake_wide()`).
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
            if self.rq.idle.contains(previous) {
                return false;
            }
        }
        let mut load = self.rq.loads[cpu];
        if sync {
            let waker = self.cpus[cpu].current;
            let own = if waker == NOBODY { 0 } else { self.rq.weight(waker) };
            load = load.saturating_sub(own);
            if load == 0 {
                return true;
            }
        }
        // A quarter of the domain's imbalance percentage speaks for the waker's CPU: half of 125 − 100 or of 117 − 100.
        let bias = u64::from((self.world.kernel.domains.imbalance_pct - 100) / 2);
        let here = (load + self.rq.weight(task)) * 100;
        let there = self.rq.loads[previous] * (100 + bias);
        if kind == WakeAffine::Weight { load == 0 || here <= there } else { here < there }
    }

    /// An idle CPU that shares the last-level cache with `target`, otherwise `target` (`select_idle_sibling()`,
    /// kernel/sched/fair.c, v4.5 to v6.12).
    fn select_idle_sibling(&mut self, cpu: usize, previous: usize, target: usize, task: TaskIx) -> usize {
        let stays = target == previous || self.tasks.allowed(task).contains(target);
        let target = if stays { target } else { previous };
        if self.rq.idle.contains(target) {
            return target;
        }
        if previous != target
            && self.topology.share_cache(previous, target)
            && self.rq.idle.contains(previous)
        {
            return previous;
        }
        let (found, scanned) = self.select_idle_cpu(cpu, target, task);
        let cost = scanned as u64 * u64::from(self.costs.idle_scan_cpu);
        self.book(cpu, Account::Search, cost);
        // update_avg(): an eighth of the difference.
        let average = &mut self.cpus[cpu].avg_search;
        *average = (*average as i64 + (cost as i64 - *average as i64) / 8) as Ns;
        found.unwrap_or(target)
    }

    /// An idle CPU under the last-level cache of `target`, and how many CPUs were looked at: first a CPU of an idle core,
    /// then any idle CPU (`select_idle_core()` and `select_idle_cpu()`, kernel/sched/fair.c, v5.14 and v6.12).
    fn select_idle_cpu(&self, cpu: usize, target: usize, task: TaskIx) -> (Option<usize>, usize) {
        let cache = &self.balance.shapes.caches[self.topology.cache(target)];
        let bound;
        let (span, width) = if self.tasks.is_unbound(task) {
            (&cache.span, cache.width)
        } else {
            let cpus = self.topology.cache_cpus(self.topology.cache(target));
            bound = Span::new(cpus.and(self.tasks.allowed(task)));
            (&bound, bound.count())
        };
        let search = self.world.kernel.idle_search;
        if self.topology.threads > 1 || search == IdleSearch::Groups {
            let cores = self.rq.idle_cores(self.topology);
            if let Some(found) = span.first_common_from(cores, target) {
                return (Some(found), span.rank(target, found) + 1);
            }
        }
        let reach = match search {
            IdleSearch::Groups => return (None, width),
            IdleSearch::Utilisation => Reach::Cpus(cache.reach(cache.span.common(&self.rq.idle))),
            IdleSearch::Proportional => self.sis_prop_reach(cpu, width),
        };
        if let Some(found) = span.first_common_from(&self.rq.idle, target) {
            let place = span.rank(target, found);
            if reach.covers(place) {
                return (Some(found), place + 1);
            }
        }
        (None, reach.cpus().min(width))
    }

    /// `SIS_PROP`: as many as a 512th of the average idle time pays for, at least 4 (`select_idle_cpu()` of 5.14).
    fn sis_prop_reach(&self, cpu: usize, width: usize) -> Reach {
        let it = &self.cpus[cpu];
        let (budget, cost) = (width as u64 * (it.avg_idle / 512), it.avg_search + 1);
        if budget >= cost * width as u64 {
            Reach::Cpus(width)
        } else if budget > 4 * cost {
            Reach::Paid { budget, cost }
        } else {
            Reach::Cpus(4)
        }
    }
}

/// How many CPUs a search looks at.
#[derive(Debug, Clone, Copy)]
enum Reach {
    Cpus(usize),
    /// As many as the budget pays for at this cost.
    Paid {
        budget: u64,
        cost: u64,
    },
}

impl Reach {
    /// Whether the CPU that comes after so many others is looked at.
    fn covers(self, place: usize) -> bool {
        match self {
            Self::Cpus(cpus) => place < cpus,
            // Cheaper than to divide.
            Self::Paid { budget, cost } => (place as u64 + 1) * cost <= budget,
        }
    }

    fn cpus(self) -> usize {
        match self {
            Self::Cpus(cpus) => cpus,
            Self::Paid { budget, cost } => (budget / cost) as usize,
        }
    }
}

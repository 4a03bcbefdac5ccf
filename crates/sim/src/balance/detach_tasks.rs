//! Moving tasks from a busy CPU's queue: selection of the tasks, and the move.

use super::load_balance::{CpuIdleType, Imbalance, LbEnv};
use crate::balance::KernelPolicy;
use crate::engine::Engine;
use crate::kernel::{GroupComparison, Tunable};
use crate::ledger::Account;
use crate::machine::DomainKind;
use crate::observe::{Balancing, Observer};
use crate::sched::{Enqueue, NOBODY, TaskIx};
use crate::schedstats::Refusal;
use crate::time::Ns;

impl<P: KernelPolicy, O: Observer> Engine<'_, P, O> {
    /// Number of failed passes after which a domain also moves cache-hot tasks (`cache_nice_tries` of `sd_init()`,
    /// kernel/sched/topology.c, v6.12).
    fn cache_nice_tries(domain: DomainKind) -> u32 {
        match domain {
            DomainKind::Smt => 0,
            DomainKind::Cluster | DomainKind::Cache | DomainKind::Node => 1,
            DomainKind::Numa(_) => 2,
        }
    }

    /// Move tasks from `src_cpu` to the CPU of the pass. Return their number (`detach_tasks()` and `attach_tasks()`,
    /// kernel/sched/fair.c, v4.5 to v6.12).
    pub(super) fn detach_tasks(
        &mut self,
        env: &LbEnv,
        src_cpu: usize,
        imbalance: Imbalance,
        counts: &mut Balancing,
    ) -> u32 {
        if self.rq.nr_running[src_cpu] <= 1 {
            // The kernel has counted this pass as failed already. Kernels that compare groups by type push a running task only to
            // even out numbers of tasks (imbalanced_active_balance(), since v5.12).
            let evens_out = matches!(imbalance, Imbalance::Tasks(_))
                || self.world.kernel.domains.group_comparison == GroupComparison::Load;
            let often = env.failed > Self::cache_nice_tries(env.domain) + 1;
            if env.idle != CpuIdleType::Idle || !often || !evens_out {
                return 0;
            }
            let pushed = self.active_load_balance(env.payer, src_cpu, env.dst_cpu);
            if self.stats.on {
                self.stats_active(env.pass_id(), pushed);
            }
            return u32::from(pushed);
        }
        self.settle(src_cpu);
        self.update_curr(src_cpu);
        // Only the scheduler statistics need the refused tasks.
        let on = self.stats.on;
        if env.idle == CpuIdleType::Newidle && !on && matches!(imbalance, Imbalance::Tasks(_)) {
            let Some(task) = self.detach_one_task(env, src_cpu, counts) else { return 0 };
            self.lock_queue(env.payer, src_cpu);
            self.move_task(env, src_cpu, task);
            return 1;
        }
        let mut detached = std::mem::take(&mut self.balance.detached);
        let mut refused = if on { std::mem::take(&mut self.stats.refused) } else { Vec::new() };
        self.select_tasks(env, src_cpu, imbalance, counts, &mut detached, &mut refused);
        if on {
            self.stats.refused = refused;
            self.stats_refused(env.payer);
        }
        let moved = detached.len() as u32;
        if moved > 0 {
            self.lock_queue(env.payer, src_cpu);
        }
        for task in &detached {
            if on {
                let hot = self.task_hot(src_cpu, env.dst_cpu, *task, env.domain);
                self.stats_pull(env.pass_id(), src_cpu, *task, hot);
            }
            self.move_task(env, src_cpu, *task);
        }
        detached.clear();
        self.balance.detached = detached;
        moved
    }

    /// Move a waiting task to the CPU of the pass (`detach_task()` and `attach_task()`, kernel/sched/fair.c, v4.5 to
    /// v6.12).
    fn move_task(&mut self, env: &LbEnv, src_cpu: usize, task: TaskIx) {
        let dst_cpu = env.dst_cpu;
        self.rq.detach_task(src_cpu, task, self.time.now);
        self.book(env.payer, env.idle.account(), self.costs.balance_move);
        let distance = self.topology.distance(src_cpu, dst_cpu);
        self.records.counters.balance_migrations[distance as usize] += 1;
        self.note_move(task, src_cpu, dst_cpu);
        self.activate_task(dst_cpu, task, Enqueue::Moved);
        if dst_cpu != env.payer || env.idle == CpuIdleType::Busy {
            self.check_preempt_curr(env.payer, dst_cpu, task);
        }
    }

    /// Return the first task that may be moved, for a CPU that is about to become idle (`detach_one_task()`,
    /// kernel/sched/fair.c, v4.5 to v6.12).
    fn detach_one_task(&self, env: &LbEnv, src_cpu: usize, counts: &mut Balancing) -> Option<TaskIx> {
        let nr_migrate = self.nr_migrate();
        let (mut scanned, mut first) = (0, None);
        P::waiting(&self.rq.queues[src_cpu], |task| {
            scanned += 1;
            if scanned > nr_migrate {
                return false;
            }
            match self.can_migrate_task(env, src_cpu, task) {
                Ok(()) => first = Some(task),
                Err(refusal) => counts.hot += u64::from(refusal == Refusal::Hot),
            }
            first.is_none()
        });
        first
    }

    /// Maximum number of tasks that a pass scans (`sysctl_sched_nr_migrate`).
    fn nr_migrate(&self) -> u32 {
        self.tunables.get(Tunable::NrMigrate).clamp(0, 1 << 20) as u32
    }

    /// Whether a waiting task of `src_cpu` may and should go to the CPU of the pass (`can_migrate_task()`,
    /// kernel/sched/fair.c, v4.5 to v6.12). After some failed passes cache-hot tasks also move.
    #[inline(always)]
    fn can_migrate_task(&self, env: &LbEnv, src_cpu: usize, task: TaskIx) -> Result<(), Refusal> {
        if !self.tasks.allowed(task).contains(env.dst_cpu) {
            return Err(Refusal::Affine);
        }
        // The kernel does not count this refusal.
        if P::GROUPS && self.throttled_lb_pair(task, env.dst_cpu) {
            return Err(Refusal::Affine);
        }
        let hot = || {
            let idle = env.idle == CpuIdleType::Idle;
            let degrades = self.migrate_degrades_locality(src_cpu, env.dst_cpu, task, env.domain, idle);
            degrades.unwrap_or_else(|| self.task_hot(src_cpu, env.dst_cpu, task, env.domain))
        };
        if env.failed <= Self::cache_nice_tries(env.domain) && hot() { Err(Refusal::Hot) } else { Ok(()) }
    }

    /// Select the waiting tasks of `src_cpu` to move, up to the imbalance. `refused` receives the remaining tasks if
    /// scheduler statistics are on.
    fn select_tasks(
        &self,
        env: &LbEnv,
        src_cpu: usize,
        imbalance: Imbalance,
        counts: &mut Balancing,
        detached: &mut Vec<TaskIx>,
        refused: &mut Vec<(TaskIx, Refusal)>,
    ) {
        let (nr_migrate, mut scanned) = (self.nr_migrate(), 0);
        let mut left = imbalance;
        // Up to 5.4 half of the task's load is compared; since 5.10 each failed pass halves it (shr_bound()).
        let shift = match self.world.kernel.domains.group_comparison {
            GroupComparison::Load => 1,
            GroupComparison::Type => env.failed,
        };
        let mut remaining = u64::from(self.rq.nr_running[src_cpu]);
        P::waiting(&self.rq.queues[src_cpu], |task| {
            scanned += 1;
            if scanned > nr_migrate || remaining <= 1 {
                return false;
            }
            if let Err(refusal) = self.can_migrate_task(env, src_cpu, task) {
                counts.hot += u64::from(refusal == Refusal::Hot);
                if self.stats.on {
                    refused.push((task, refusal));
                }
                return true;
            }
            match &mut left {
                Imbalance::Tasks(number) => *number -= 1,
                Imbalance::Load(amount) | Imbalance::Util(amount) => {
                    let part = match imbalance {
                        Imbalance::Util(_) => self.rq.task_util(src_cpu, task),
                        _ => self.rq.task_load(src_cpu, task, self.time.now).max(1),
                    };
                    // A task of more than the imbalance would reverse it.
                    if part.checked_shr(shift).unwrap_or(0) > *amount {
                        return true;
                    }
                    *amount = amount.saturating_sub(part);
                }
            }
            detached.push(task);
            remaining -= 1;
            let done = matches!(left, Imbalance::Tasks(0) | Imbalance::Load(0) | Imbalance::Util(0));
            // A CPU that is about to become idle takes a single task.
            !done && env.idle != CpuIdleType::Newidle
        });
    }

    /// Whether a task is cache-hot on its CPU: it ran on that CPU less than the migration cost ago, or the queue prefers the task and
    /// the CPU that would receive it has tasks (`task_hot()`, kernel/sched/fair.c, v4.5 to v6.12).
    pub(crate) fn task_hot(&self, source: usize, target: usize, task: TaskIx, domain: DomainKind) -> bool {
        // Siblings share all caches.
        if domain == DomainKind::Smt {
            return false;
        }
        if self.rq.nr_running[target] > 0 && P::preferred(&self.rq.queues[source], task) {
            return true;
        }
        let cost = self.tunables.migration_cost();
        cost == u32::MAX || self.time.now.saturating_sub(self.tasks[task].ran_at) < Ns::from(cost)
    }

    /// Move the running task of `source` to the idle CPU `cpu`, even away from its memory. Return whether the task was moved
    /// (`active_load_balance_cpu_stop()`, kernel/sched/fair.c, v4.5 to v6.12).
    #[cold]
    #[inline(never)]
    fn active_load_balance(&mut self, payer: usize, source: usize, cpu: usize) -> bool {
        let task = self.cpus[source].current;
        let fair = task != NOBODY && self.tasks[task].class.realtime().is_none();
        let throttled = P::GROUPS && fair && self.throttled_lb_pair(task, cpu);
        if !fair || throttled || !self.tasks.allowed(task).contains(cpu) || !self.rq.idle.contains(cpu) {
            return false;
        }
        self.settle(source);
        self.book(source, Account::Ipi, self.costs.ipi_handler);
        self.take_current(source);
        let distance = self.topology.distance(source, cpu);
        self.records.counters.balance_migrations[distance as usize] += 1;
        self.note_move(task, source, cpu);
        if self.stats.on {
            self.stats_enqueue(source, task);
        }
        self.activate_task(cpu, task, Enqueue::Moved);
        self.schedule(source);
        self.rekey(source);
        self.check_preempt_curr(payer, cpu, task);
        true
    }
}

#[cfg(test)]
#[path = "../../tests/unit/balance/detach_tasks.rs"]
mod tests;

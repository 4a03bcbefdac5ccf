//! Pulling tasks from a busy CPU's queue: which of them, and the move itself.

use super::pass::{Imbalance, Kind};
use crate::balance::KernelPolicy;
use crate::engine::{Engine, NOBODY};
use crate::kernel::Tunable;
use crate::ledger::Account;
use crate::machine::DomainKind;
use crate::observe::{Balancing, Observer};
use crate::sched::{Enqueue, TaskIx};
use crate::schedstats::{Look, Refusal};
use crate::time::Ns;

impl<P: KernelPolicy, O: Observer> Engine<'_, P, O> {
    /// Failures after which cache-hot tasks are moved all the same (`cache_nice_tries` of `sd_init()`).
    fn cache_nice_tries(domain: DomainKind) -> u32 {
        match domain {
            DomainKind::Smt => 0,
            DomainKind::Cache | DomainKind::Node => 1,
            DomainKind::Numa(_) => 2,
        }
    }

    /// Moves tasks from a busy CPU to `cpu`. Returns how many (`detach_tasks()` and `attach_tasks()`,
    /// kernel/sched/fair.c, v4.5 to v6.12).
    #[allow(clippy::too_many_arguments, reason = "a pass's facts")]
    pub(super) fn detach_tasks(
        &mut self,
        payer: usize,
        source: usize,
        cpu: usize,
        level: usize,
        domain: DomainKind,
        imbalance: Imbalance,
        kind: Kind,
        counts: &mut Balancing,
    ) -> u32 {
        let failed = self.cpus[cpu].domains[level].failed;
        if self.rq.nr_running[source] <= 1 {
            let stubborn = failed > Self::cache_nice_tries(domain) + 2;
            if !stubborn || kind != Kind::Idle {
                return 0;
            }
            let pushed = self.active_load_balance(payer, source, cpu);
            if self.stats.on {
                self.stats_active(Look { payer, cpu, level, kind: kind as usize }, pushed);
            }
            return u32::from(pushed);
        }
        self.settle(source);
        self.update_curr(source);
        // Refusals are noted for the statistics alone.
        let on = self.stats.on;
        if kind == Kind::Newidle && !on && matches!(imbalance, Imbalance::Tasks(_)) {
            let Some(task) = self.detach_one_task(source, cpu, domain, failed, counts) else { return 0 };
            self.lock_queue(payer, source);
            self.move_task(payer, source, cpu, task, kind);
            return 1;
        }
        let mut chosen = std::mem::take(&mut self.balance.detached);
        let mut refused = if on { std::mem::take(&mut self.stats.refused) } else { Vec::new() };
        self.movable_tasks(source, cpu, domain, imbalance, kind, failed, counts, &mut chosen, &mut refused);
        if on {
            self.stats.refused = refused;
            self.stats_refused(payer);
        }
        let moved = chosen.len() as u32;
        if moved > 0 {
            self.lock_queue(payer, source);
        }
        for task in &chosen {
            if self.stats.on {
                let hot = self.task_hot(source, *task, domain);
                self.stats_pull(Look { payer, cpu, level, kind: kind as usize }, source, *task, hot);
            }
            self.move_task(payer, source, cpu, *task, kind);
        }
        chosen.clear();
        self.balance.detached = chosen;
        moved
    }

    /// Moves a waiting task.
    fn move_task(&mut self, payer: usize, source: usize, cpu: usize, task: TaskIx, kind: Kind) {
        self.rq.detach_task(source, task, self.time.now);
        let account = if kind == Kind::Newidle { Account::NewidleBalance } else { Account::Balance };
        self.book(payer, account, self.costs.balance_move);
        let distance = self.topology.distance(source, cpu);
        self.records.counters.balance_migrations[distance as usize] += 1;
        self.note_move(task, source, cpu);
        self.activate_task(cpu, task, Enqueue::Moved);
        if cpu != payer || kind == Kind::Busy {
            self.check_preempt(payer, cpu, task);
        }
    }

    /// The first task that may be moved, for a CPU that is about to become idle (`detach_one_task()`, kernel/sched/fair.c,
    /// v4.5 to v6.12).
    fn detach_one_task(
        &self,
        source: usize,
        cpu: usize,
        domain: DomainKind,
        failed: u32,
        counts: &mut Balancing,
    ) -> Option<TaskIx> {
        let most = self.tunables.get(Tunable::NrMigrate).clamp(0, 1 << 20) as u32;
        let (mut looked_at, mut first) = (0, None);
        P::waiting(&self.rq.queues[source], |task| {
            looked_at += 1;
            if looked_at > most {
                return false;
            }
            match self.can_migrate_task(source, cpu, task, domain, failed) {
                Ok(()) => first = Some(task),
                Err(refusal) => counts.hot += u64::from(refusal == Refusal::Hot),
            }
            first.is_none()
        });
        first
    }

    /// Whether a waiting task of `source` may and should go to `cpu` (`can_migrate_task()`, kernel/sched/fair.c, v4.5 to
    /// v6.12). `failed`: balancing passes over the domain that have failed since the last one that moved a task; after some
    /// of them cache-hot tasks go too.
    #[inline(always)]
    fn can_migrate_task(
        &self,
        source: usize,
        cpu: usize,
        task: TaskIx,
        domain: DomainKind,
        failed: u32,
    ) -> Result<(), Refusal> {
        if !self.tasks.allowed(task).contains(cpu) {
            return Err(Refusal::Affine);
        }
        let stays = || {
            let degrades = self.migrate_degrades_locality(source, cpu, task, domain);
            degrades.unwrap_or_else(|| self.task_hot(source, task, domain))
        };
        if failed <= Self::cache_nice_tries(domain) && stays() { Err(Refusal::Hot) } else { Ok(()) }
    }

    /// Waiting tasks of a CPU that may and should go to another.
    #[allow(clippy::too_many_arguments, reason = "a pass's facts")]
    fn movable_tasks(
        &self,
        source: usize,
        cpu: usize,
        domain: DomainKind,
        imbalance: Imbalance,
        kind: Kind,
        failed: u32,
        counts: &mut Balancing,
        chosen: &mut Vec<TaskIx>,
        refused: &mut Vec<(TaskIx, Refusal)>,
    ) {
        let mut looked_at = 0;
        let most = self.tunables.get(Tunable::NrMigrate).clamp(0, 1 << 20) as u32;
        let mut left = imbalance;
        let mut stays = u64::from(self.rq.nr_running[source]);
        P::waiting(&self.rq.queues[source], |task| {
            looked_at += 1;
            if looked_at > most || stays <= 1 {
                return false;
            }
            if let Err(refusal) = self.can_migrate_task(source, cpu, task, domain, failed) {
                counts.hot += u64::from(refusal == Refusal::Hot);
                if self.stats.on {
                    refused.push((task, refusal));
                }
                return true;
            }
            let weight = self.rq.weight(task);
            match &mut left {
                Imbalance::Tasks(number) => *number -= 1,
                Imbalance::Load(load) => {
                    // Too much would swing the other way; each failure makes it more acceptable (shr_bound()).
                    if weight.checked_shr(failed.max(1)).unwrap_or(0) > *load {
                        return true;
                    }
                    *load = load.saturating_sub(weight);
                }
            }
            chosen.push(task);
            stays -= 1;
            let done = matches!(left, Imbalance::Tasks(0) | Imbalance::Load(0));
            // A CPU about to become idle is content with one.
            !done && kind != Kind::Newidle
        });
    }

    /// Whether a task is cache-hot on its CPU: it ran there less than the migration cost ago (`task_hot()`,
    /// kernel/sched/fair.c, v4.5 to v6.12).
    pub(crate) fn task_hot(&self, source: usize, task: TaskIx, domain: DomainKind) -> bool {
        // Siblings share all caches.
        if domain == DomainKind::Smt {
            return false;
        }
        if P::preferred(&self.rq.queues[source], task) {
            return true;
        }
        let cost = self.tunables.migration_cost();
        cost == u32::MAX || self.time.now.saturating_sub(self.tasks[task].ran_at) < Ns::from(cost)
    }

    /// Moves the running task of a CPU to an idle one (active balancing).
    #[cold]
    #[inline(never)]
    fn active_load_balance(&mut self, payer: usize, source: usize, cpu: usize) -> bool {
        let task = self.cpus[source].current;
        let fair = task != NOBODY && self.tasks[task].class.realtime().is_none();
        if !fair || !self.tasks.allowed(task).contains(cpu) || !self.rq.idle.contains(cpu) {
            return false;
        }
        if self.numa_settled(source, cpu, task) {
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
        self.check_preempt(payer, cpu, task);
        true
    }
}

#[cfg(test)]
mod tests {
    use schedlab_workload::Plan;
    use schedlab_workload::library::yielding::Yielding;

    use crate::machine::DomainKind;
    use crate::simulation::{Config, Simulation};
    use crate::{kernel, machine};

    #[test]
    fn a_task_is_cache_hot_up_to_the_migration_cost_and_not_a_nanosecond_longer() {
        for (cost, since, hot) in [
            (500_000, 499_999, true),
            (500_000, 500_000, false),
            (1, 0, true),
            (1, 1, false),
            (0, 0, false),
            (-1, 1_000_000_000, true),
            (u32::MAX.into(), 10_000_000_000, true),
        ] {
            let config =
                Config { tunables: vec![("sched.migration_cost_ns".to_owned(), cost)], ..Config::default() };
            let plan = Plan::new(Yielding::default().program().unwrap()).unwrap();
            let (machine, kernel) = (machine("laptop-4").unwrap(), kernel("linux-5.14").unwrap());
            Simulation::new(machine, kernel, plan, config).unwrap().with_engine(|engine| {
                engine.boot();
                let task = engine.gate.main;
                engine.tasks[task].ran_at = 7_000_000;
                engine.time.now = 7_000_000 + since;
                assert_eq!(engine.task_hot(0, task, DomainKind::Cache), hot, "cost {cost}, {since} ns ago");
                assert!(!engine.task_hot(0, task, DomainKind::Smt), "siblings share their caches");
                // sched_init() runs before anybody can set the cost.
                let it = &engine.cpus[1];
                assert_eq!((it.avg_idle, it.max_idle_balance_cost), (1_000_000, 500_000), "cost {cost}");
            });
        }
    }
}

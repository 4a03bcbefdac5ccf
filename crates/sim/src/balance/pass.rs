//! One balancing pass over one domain.

use crate::balance::shapes::{self, Shape};
use crate::engine::{Engine, NOBODY};
use crate::kernel::Tunable;
use crate::ledger::Account;
use crate::machine::DomainKind;
use crate::observe::{Balancing, Observer};
use crate::sched::{Dequeue, Enqueue, Policy, TaskIx};
use crate::schedstats::{Look, Refusal};
use crate::time::Ns;

/// For whom a pass is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Busy,
    Idle,
    Newidle,
}

/// What a pass did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Passed {
    pub moved: u32,
    pub balanced: bool,
    pub cost: Ns,
}

/// A group's state.
#[derive(Debug, Clone, Copy, Default)]
struct Group {
    width: u64,
    number: u64,
    load: u64,
    idle: u64,
    at: usize,
}

impl Group {
    fn overloaded(&self) -> bool {
        self.number > self.width
    }

    /// Load per CPU, times 1024.
    fn per_cpu(&self) -> u64 {
        self.load * 1024 / self.width.max(1)
    }
}

/// What to move.
#[derive(Debug, Clone, Copy)]
enum Imbalance {
    Tasks(u64),
    Load(u64),
}

impl<P: Policy, O: Observer> Engine<'_, P, O> {
    /// Balances a domain in favour of `cpu`; `payer` spends the time.
    pub(super) fn pass(&mut self, payer: usize, cpu: usize, level: usize, kind: Kind) -> Passed {
        let domain = self.shapes.domain(cpu, level);
        let (weight, kind_of) = (domain.weight, domain.kind);
        let before = self.cpus[payer].clock;
        let account = if kind == Kind::Newidle { Account::NewidleBalance } else { Account::Balance };
        let scan = u64::from(self.costs.balance_base) + u64::from(weight) * u64::from(self.costs.balance_cpu);
        self.book(payer, account, scan);
        let mut counts = Balancing { calls: 1, ..Balancing::default() };
        let mut moved = 0;
        let target = self.busiest(cpu, self.shapes.domain(cpu, level), kind);
        match target {
            None => counts.balanced = 1,
            Some((source, imbalance)) => {
                moved = self.pull(payer, source, cpu, level, kind_of, imbalance, kind, &mut counts);
                let failed = &mut self.cpus[cpu].domains[level].failed;
                if moved > 0 {
                    *failed = 0;
                } else {
                    counts.failed = 1;
                    *failed += u32::from(kind != Kind::Newidle);
                }
            }
        }
        counts.moved = moved.into();
        if self.stats.on {
            let imbalance = match target {
                None => (0, 0),
                Some((_, Imbalance::Load(load))) => (load, 0),
                Some((_, Imbalance::Tasks(tasks))) => (0, tasks),
            };
            self.stats_pass(Look { payer, cpu, level, kind: kind as usize }, &counts, imbalance);
        }
        let cost = self.cpus[payer].clock - before;
        self.histograms.balance_cost[kind as usize].add(cost);
        let total = match kind {
            Kind::Busy => &mut self.counters.busy_balance,
            Kind::Idle => &mut self.counters.idle_balance,
            Kind::Newidle => &mut self.counters.newidle_balance,
        };
        total.calls += 1;
        total.balanced += counts.balanced;
        total.failed += counts.failed;
        total.moved += counts.moved;
        total.hot += counts.hot;
        Passed { moved, balanced: target.is_none(), cost }
    }

    /// The CPU to take tasks from, and how much.
    fn busiest(&self, cpu: usize, domain: &Shape, kind: Kind) -> Option<(usize, Imbalance)> {
        if !domain.span.meets(&self.crowded) && !self.active_wanted(cpu, domain) {
            return None;
        }
        if domain.singles {
            return self.busiest_single(cpu, domain, kind);
        }
        let mut own = Group::default();
        let mut best: Option<Group> = None;
        let (mut load, mut width) = (0, 0);
        for (at, shape) in domain.groups.iter().enumerate() {
            let group = self.group(at, shape);
            (load, width) = (load + group.load, width + group.width);
            if shape.span.contains(cpu) {
                own = group;
            } else if best.is_none_or(|best| busier(&group, &best)) {
                best = Some(group);
            }
        }
        let best = best.filter(|best| best.number > 0)?;
        let imbalance = self.imbalance(domain, &own, &best, load * 1024 / width.max(1), kind)?;
        let key = |cpu: usize| match imbalance {
            Imbalance::Tasks(_) => (u64::from(self.running[cpu]), self.loads[cpu]),
            Imbalance::Load(_) => (self.loads[cpu], u64::from(self.running[cpu])),
        };
        // The first of the busiest.
        let cpus = domain.groups[best.at].cpus.iter().map(|cpu| usize::from(*cpu));
        let source = cpus.min_by_key(|cpu| std::cmp::Reverse(key(*cpu)))?;
        (self.running[source] > 0).then_some((source, imbalance))
    }

    /// As [`Engine::busiest`] where all groups are single CPUs, in one sweep over two arrays.
    fn busiest_single(&self, cpu: usize, domain: &Shape, kind: Kind) -> Option<(usize, Imbalance)> {
        // An idle CPU takes from the most loaded of the crowded ones, and one task at a time: there is no need to look at
        // others, nor at the mean.
        if self.running[cpu] == 0 {
            // One more than the load, so that a CPU whose tasks have none counts too.
            let (mut most, mut source) = (0, cpu);
            domain.span.each_common(&self.crowded, |other| {
                let rank = self.loads[other] + 1;
                if rank > most {
                    (most, source) = (rank, other);
                }
            });
            if most > 0 {
                return Some((source, Imbalance::Tasks(1)));
            }
        }
        // An overloaded CPU counts by its load, and more than any other, which counts by whether it has a task at all.
        let rank =
            |running: u32, load: u64| if running > 1 { load << 1 | 1 << 40 } else { u64::from(running) };
        let (mut total, mut best, mut source, mut width) = (0, 0, None, 0);
        for range in &domain.ranges {
            width += range.len() as u64;
            let both = self.running.part(range.clone()).iter().zip(self.loads.part(range.clone()));
            for (other, (running, load)) in range.clone().zip(both) {
                total += load;
                let rank = rank(*running, *load);
                if rank > best && other != cpu {
                    (best, source) = (rank, Some(other));
                }
            }
        }
        let source = source?;
        let group = |cpu: usize| Group {
            at: 0,
            width: 1,
            number: self.running[cpu].into(),
            idle: u64::from(self.running[cpu] == 0),
            load: self.loads[cpu],
        };
        let mean = total * 1024 / width.max(1);
        let imbalance = self.imbalance(domain, &group(cpu), &group(source), mean, kind)?;
        Some((source, imbalance))
    }

    #[inline]
    fn group(&self, at: usize, shape: &shapes::Group) -> Group {
        let mut group = Group { at, width: shape.cpus.len() as u64, ..Group::default() };
        for range in &shape.ranges {
            // In the width of what is summed, so that several are added at once.
            let (mut number, mut idle) = (0u32, 0u32);
            for running in self.running.part(range.clone()) {
                number += *running;
                idle += u32::from(*running == 0);
            }
            (group.number, group.idle) = (group.number + u64::from(number), group.idle + u64::from(idle));
            group.load += self.loads.part(range.clone()).iter().sum::<u64>();
        }
        group
    }

    /// How much is to be moved from the busiest group to the own one, if anything.
    fn imbalance(
        &self,
        domain: &Shape,
        own: &Group,
        best: &Group,
        mean: u64,
        kind: Kind,
    ) -> Option<Imbalance> {
        let pct = u64::from(self.imbalance_pct(domain));
        if best.overloaded() {
            if !own.overloaded() && own.idle > 0 {
                return Some(Imbalance::Tasks(own.idle.min(best.number - best.width).max(1)));
            }
            let (here, there) = (own.per_cpu(), best.per_cpu());
            if here >= there || here >= mean || 100 * there <= pct * here {
                return None;
            }
            let load = ((there - mean) * best.width).min((mean - here) * own.width) / 1024;
            return Some(Imbalance::Load(load.max(1)));
        }
        // Nobody has to wait; an idle CPU may still even out how many CPUs are idle.
        if kind == Kind::Busy || best.number <= 1 {
            return None;
        }
        let gap = if best.width == 1 {
            best.number.saturating_sub(own.number) / 2
        } else {
            if own.idle <= best.idle + 1 {
                return None;
            }
            (own.idle - best.idle) / 2
        };
        // A pair of tasks that work together may stay on its node (adjust_numa_imbalance()).
        let pair = matches!(domain.kind, DomainKind::Numa(_)) && own.number < 2;
        (gap > 0 && !pair).then_some(Imbalance::Tasks(gap))
    }

    fn imbalance_pct(&self, domain: &Shape) -> u32 {
        let settings = &self.world.kernel.domains;
        match domain.kind {
            DomainKind::Smt => settings.smt_imbalance_pct,
            DomainKind::Cache => settings.cache_imbalance_pct,
            DomainKind::Node | DomainKind::Numa(_) => settings.imbalance_pct,
        }
    }

    /// With SMT, a core that is wholly idle may take a running task from a core with two.
    fn active_wanted(&self, cpu: usize, domain: &Shape) -> bool {
        self.topology.threads > 1 && domain.kind != DomainKind::Smt && self.idle_cores.contains(cpu)
    }

    /// Failures after which cache-hot tasks are moved all the same (`cache_nice_tries` of `sd_init()`).
    fn nice_tries(domain: DomainKind) -> u32 {
        match domain {
            DomainKind::Smt => 0,
            DomainKind::Cache | DomainKind::Node => 1,
            DomainKind::Numa(_) => 2,
        }
    }

    #[allow(clippy::too_many_arguments, reason = "a pass's facts")]
    fn pull(
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
        if self.running[source] <= 1 {
            let stubborn = failed > Self::nice_tries(domain) + 2;
            if !stubborn || kind != Kind::Idle {
                return 0;
            }
            let pushed = self.push_current(payer, source, cpu);
            if self.stats.on {
                self.stats_active(Look { payer, cpu, level, kind: kind as usize }, pushed);
            }
            return u32::from(pushed);
        }
        self.settle(source);
        self.charge(source);
        let mut chosen = std::mem::take(&mut self.chosen);
        let mut refused = std::mem::take(&mut self.stats.refused);
        self.choose(source, cpu, domain, imbalance, kind, failed, counts, &mut chosen, &mut refused);
        self.stats.refused = refused;
        if self.stats.on {
            self.stats_refused(payer);
        }
        let moved = chosen.len() as u32;
        if moved > 0 {
            self.lock_queue(payer, source);
        }
        for task in &chosen {
            if self.stats.on {
                let hot = self.hot(source, *task, domain);
                self.stats_pull(Look { payer, cpu, level, kind: kind as usize }, source, *task, hot);
            }
            self.policy.dequeue(
                &mut self.queues[source],
                &mut self.entities,
                *task,
                Dequeue::Moved,
                self.now,
            );
            self.sub_running(source);
            let account = if kind == Kind::Newidle { Account::NewidleBalance } else { Account::Balance };
            self.book(payer, account, self.costs.balance_move);
            let distance = self.topology.distance(source, cpu);
            self.counters.balance_migrations[distance as usize] += 1;
            self.note_move(*task, source, cpu);
            self.activate(cpu, *task, Enqueue::Moved);
            if cpu != payer || kind == Kind::Busy {
                self.check_preempt(payer, cpu, *task);
            }
        }
        chosen.clear();
        self.chosen = chosen;
        moved
    }

    /// Waiting tasks of a CPU that may and should go to another.
    #[allow(clippy::too_many_arguments, reason = "a pass's facts")]
    fn choose(
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
        let mut stays = u64::from(self.running[source]);
        P::waiting(&self.queues[source], |task| {
            looked_at += 1;
            if looked_at > most || stays <= 1 {
                return false;
            }
            if !self.allowed(task).contains(cpu) {
                if self.stats.on {
                    refused.push((task, Refusal::Affine));
                }
                return true;
            }
            let stays_put = |task| {
                self.numa_verdict(source, cpu, task, domain).unwrap_or_else(|| self.hot(source, task, domain))
            };
            if failed <= Self::nice_tries(domain) && stays_put(task) {
                counts.hot += 1;
                if self.stats.on {
                    refused.push((task, Refusal::Hot));
                }
                return true;
            }
            let weight = u64::from(P::weight(&self.entities[task as usize]));
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

    /// Whether a task is cache-hot on its CPU (`task_hot()`): it ran there less than `migration_cost_ns` ago.
    pub(crate) fn hot(&self, source: usize, task: TaskIx, domain: DomainKind) -> bool {
        // Siblings share all caches.
        if domain == DomainKind::Smt {
            return false;
        }
        if P::preferred(&self.queues[source], task) {
            return true;
        }
        match self.tunables.get(Tunable::MigrationCostNs) {
            -1 => true,
            cost => ((self.now.saturating_sub(self.tasks[task as usize].ran_at)) as i64) < cost,
        }
    }

    /// Moves the running task of a CPU to an idle one (active balancing).
    fn push_current(&mut self, payer: usize, source: usize, cpu: usize) -> bool {
        let task = self.cpus[source].current;
        let fair = task != NOBODY && self.tasks[task as usize].class.realtime().is_none();
        if !fair || !self.allowed(task).contains(cpu) || !self.idle.contains(cpu) {
            return false;
        }
        if self.numa_settled(source, cpu, task) {
            return false;
        }
        self.settle(source);
        self.book(source, Account::Ipi, self.costs.ipi_handler);
        self.take_current(source);
        let distance = self.topology.distance(source, cpu);
        self.counters.balance_migrations[distance as usize] += 1;
        self.note_move(task, source, cpu);
        if self.stats.on {
            self.stats_enqueue(source, task);
        }
        self.activate(cpu, task, Enqueue::Moved);
        self.schedule(source);
        self.rekey(source);
        self.check_preempt(payer, cpu, task);
        true
    }
}

/// Whether a group is busier than another: overloaded before not, then by load per CPU, else by fewer idle CPUs.
fn busier(group: &Group, other: &Group) -> bool {
    match (group.overloaded(), other.overloaded()) {
        (true, true) => group.per_cpu() > other.per_cpu(),
        (false, false) => (other.idle, group.number) > (group.idle, other.number),
        (overloaded, _) => overloaded,
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
        ] {
            let config =
                Config { tunables: vec![("sched.migration_cost_ns".to_owned(), cost)], ..Config::default() };
            let plan = Plan::new(Yielding::default().program().unwrap()).unwrap();
            let (machine, kernel) = (machine("laptop-4").unwrap(), kernel("linux-5.14").unwrap());
            Simulation::new(machine, kernel, plan, config).unwrap().with_engine(|engine| {
                engine.boot();
                let task = engine.gate.main;
                engine.tasks[task as usize].ran_at = 7_000_000;
                engine.now = 7_000_000 + since;
                assert_eq!(engine.hot(0, task, DomainKind::Cache), hot, "cost {cost}, {since} ns ago");
                assert!(!engine.hot(0, task, DomainKind::Smt), "siblings share their caches");
            });
        }
    }
}

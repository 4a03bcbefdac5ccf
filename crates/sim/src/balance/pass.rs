//! One balancing pass over one domain: is there anything to move, from where and how much.

use crate::balance::KernelPolicy;
use crate::balance::shapes::{self, Shape};
use crate::engine::Engine;
use crate::ledger::Account;
use crate::machine::DomainKind;
use crate::observe::{Balancing, Observer};
use crate::sched::Sum;
use crate::schedstats::Look;
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

/// A group of a domain.
#[derive(Debug, Clone, Copy, Default)]
struct Group {
    at: usize,
    sum: Sum,
}

/// What to move.
#[derive(Debug, Clone, Copy)]
pub(super) enum Imbalance {
    Tasks(u64),
    Load(u64),
}

impl<P: KernelPolicy, O: Observer> Engine<'_, P, O> {
    /// One balancing pass over a domain in favour of `cpu`; the time is booked on `payer` (`load_balance()`,
    /// kernel/sched/fair.c, v4.5 to v6.12, there `sched_balance_rq()`).
    pub(super) fn load_balance(&mut self, payer: usize, cpu: usize, level: usize, kind: Kind) -> Passed {
        let at = usize::from(self.balance.shapes.of_cpu[cpu][level]);
        let domain = &self.balance.shapes.domains[at];
        let (weight, kind_of) = (domain.weight, domain.kind);
        let before = self.cpus[payer].clock;
        let account = if kind == Kind::Newidle { Account::NewidleBalance } else { Account::Balance };
        let scan = u64::from(self.costs.balance_base) + u64::from(weight) * u64::from(self.costs.balance_cpu);
        self.book(payer, account, scan);
        let mut counts = Balancing { calls: 1, ..Balancing::default() };
        let mut moved = 0;
        if level + 1 == self.cpus[cpu].domains.len() {
            self.rq.overload = self.balance.shapes.domains[at].span.meets(&self.rq.overloaded);
        }
        let target = self.find_busiest(cpu, &self.balance.shapes.domains[at], kind);
        match target {
            None => counts.balanced = 1,
            Some((source, imbalance)) => {
                moved = self.detach_tasks(payer, source, cpu, level, kind_of, imbalance, kind, &mut counts);
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
        self.records.histograms.balance_cost[kind as usize].add(cost);
        let total = match kind {
            Kind::Busy => &mut self.records.counters.busy_balance,
            Kind::Idle => &mut self.records.counters.idle_balance,
            Kind::Newidle => &mut self.records.counters.newidle_balance,
        };
        total.calls += 1;
        total.balanced += counts.balanced;
        total.failed += counts.failed;
        total.moved += counts.moved;
        total.hot += counts.hot;
        Passed { moved, balanced: target.is_none(), cost }
    }

    /// The CPU to take tasks from, and how much to take; `None` if the domain is balanced.
    fn find_busiest(&self, cpu: usize, domain: &Shape, kind: Kind) -> Option<(usize, Imbalance)> {
        // An idle CPU takes from the most loaded of the overloaded CPUs, and one task at a time: there is no need to look at
        // others, nor at the mean.
        if domain.singles && self.rq.nr_running[cpu] == 0 {
            // One more than the load, so that a CPU whose tasks have none counts too.
            let (mut most, mut source) = (0, cpu);
            domain.span.each_common(&self.rq.overloaded, |other| {
                let rank = self.rq.loads[other] + 1;
                if rank > most {
                    (most, source) = (rank, other);
                }
            });
            if most > 0 {
                return Some((source, Imbalance::Tasks(1)));
            }
        } else if domain.span.meets(&self.rq.overloaded) {
            return self.find_busiest_of_many(cpu, domain, kind);
        }
        self.need_active_balance(cpu, domain).then(|| self.find_busiest_of_many(cpu, domain, kind))?
    }

    #[inline(never)]
    fn find_busiest_of_many(&self, cpu: usize, domain: &Shape, kind: Kind) -> Option<(usize, Imbalance)> {
        if domain.singles {
            self.find_busiest_cpu(cpu, domain, kind)
        } else {
            self.find_busiest_group(cpu, domain, kind)
        }
    }

    /// As [`Engine::find_busiest`]: the busiest CPU of the busiest group (`find_busiest_group()`,
    /// kernel/sched/fair.c, v4.5 to v6.12).
    fn find_busiest_group(&self, cpu: usize, domain: &Shape, kind: Kind) -> Option<(usize, Imbalance)> {
        let (mut own, mut all) = (Sum::default(), Sum::default());
        let mut best: Option<Group> = None;
        for (at, shape) in domain.groups.iter().enumerate() {
            let sum = self.sum(shape);
            all.add(&sum);
            if shape.span.contains(cpu) {
                own = sum;
            } else if best.is_none_or(|best| busier(&sum, &best.sum)) {
                best = Some(Group { at, sum });
            }
        }
        let best = best.filter(|best| best.sum.number > 0)?;
        let imbalance = self.calculate_imbalance(domain, &own, &best.sum, || all.per_cpu(), kind)?;
        let source = self.find_busiest_queue(&domain.groups[best.at], imbalance)?;
        (self.rq.nr_running[source] > 0).then_some((source, imbalance))
    }

    /// The first of the busiest CPUs of a group (`find_busiest_queue()`, kernel/sched/fair.c, v4.5 to v6.12).
    fn find_busiest_queue(&self, group: &shapes::Group, imbalance: Imbalance) -> Option<usize> {
        // A load is far below 2⁴⁰, and a CPU's tasks are far fewer than 2²⁰.
        let rank = |cpu: usize| match imbalance {
            Imbalance::Tasks(_) => u64::from(self.rq.nr_running[cpu]) << 40 | self.rq.loads[cpu],
            Imbalance::Load(_) => self.rq.loads[cpu] << 20 | u64::from(self.rq.nr_running[cpu]),
        };
        let (mut most, mut source) = (0, None);
        group.span.each_common(&self.rq.overloaded, |cpu| {
            let rank = rank(cpu);
            if rank > most {
                (most, source) = (rank, Some(cpu));
            }
        });
        // A CPU with a single task ranks before an overloaded one only where load decides and the task is heavy.
        let decided = matches!(imbalance, Imbalance::Tasks(_)) || most >> 20 >= self.rq.sums.heaviest();
        if source.is_some() && decided {
            return source;
        }
        group.cpus.iter().map(|cpu| usize::from(*cpu)).min_by_key(|cpu| std::cmp::Reverse(rank(*cpu)))
    }

    /// As [`Engine::find_busiest`] where all groups are single CPUs, in one sweep over two arrays.
    fn find_busiest_cpu(&self, cpu: usize, domain: &Shape, kind: Kind) -> Option<(usize, Imbalance)> {
        // An overloaded CPU counts by its load, and more than any other, which counts by whether it has a task at all.
        let rank =
            |running: u32, load: u64| if running > 1 { load << 1 | 1 << 40 } else { u64::from(running) };
        let (mut total, mut best, mut source, mut width) = (0, 0, None, 0);
        for range in &domain.ranges {
            width += range.len() as u64;
            let both = self.rq.nr_running.part(range.clone()).iter().zip(self.rq.loads.part(range.clone()));
            for (other, (running, load)) in range.clone().zip(both) {
                total += load;
                let rank = rank(*running, *load);
                if rank > best && other != cpu {
                    (best, source) = (rank, Some(other));
                }
            }
        }
        let source = source?;
        let single = |cpu: usize| {
            let number = self.rq.nr_running[cpu].into();
            Sum { width: 1, number, load: self.rq.loads[cpu], idle: u64::from(number == 0) }
        };
        let mean = || total * 1024 / width.max(1);
        let imbalance = self.calculate_imbalance(domain, &single(cpu), &single(source), mean, kind)?;
        Some((source, imbalance))
    }

    /// What a group carries.
    #[inline]
    pub(super) fn sum(&self, group: &shapes::Group) -> Sum {
        let mut sum = Sum::default();
        if !group.caches.is_empty() {
            group.caches.iter().for_each(|cache| sum.add(self.rq.sums.cache(*cache)));
            return sum;
        }
        sum.width = group.cpus.len() as u64;
        for range in &group.ranges {
            // In the width of what is summed, so that several are added at once.
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

    /// How much to move from the busiest group to the own one; `None` if they are balanced (`calculate_imbalance()`,
    /// kernel/sched/fair.c, v4.5 to v6.12).
    fn calculate_imbalance(
        &self,
        domain: &Shape,
        own: &Sum,
        best: &Sum,
        mean: impl FnOnce() -> u64,
        kind: Kind,
    ) -> Option<Imbalance> {
        if best.overloaded() {
            if !own.overloaded() && own.idle > 0 {
                return Some(Imbalance::Tasks(own.idle.min(best.number - best.width).max(1)));
            }
            let pct = u64::from(self.imbalance_pct(domain));
            let (here, there, mean) = (own.per_cpu(), best.per_cpu(), mean());
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

    /// With SMT, an idle core may take a running task from a core with two (`need_active_balance()`).
    fn need_active_balance(&self, cpu: usize, domain: &Shape) -> bool {
        self.topology.threads > 1 && domain.kind != DomainKind::Smt && self.rq.idle_cores.contains(cpu)
    }
}

/// Whether a group is busier than another: overloaded before not, then by load per CPU, else by fewer idle CPUs.
fn busier(group: &Sum, other: &Sum) -> bool {
    match (group.overloaded(), other.overloaded()) {
        (true, true) => group.per_cpu() > other.per_cpu(),
        (false, false) => (other.idle, group.number) > (group.idle, other.number),
        (overloaded, _) => overloaded,
    }
}

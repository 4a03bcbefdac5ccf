//! Placement: moves a task to its preferred node and keeps the task on this node.

use super::NOWHERE;
use super::find_cpu::Place;
use crate::balance::{KernelPolicy, SchedGroup};
use crate::engine::Engine;
use crate::kernel::NumaPlacement;
use crate::ledger::Account;
use crate::machine::{CpuMask, DomainKind};
use crate::observe::Observer;
use crate::sched::{Enqueue, NOBODY, TaskIx};

impl<P: KernelPolicy, O: Observer> Engine<'_, P, O> {
    /// Try to move the current task of a CPU to its preferred node (`task_numa_migrate()`, kernel/sched/fair.c, v4.5 to v6.12).
    pub(crate) fn task_numa_migrate(&mut self, cpu: usize) {
        let task = self.cpus[cpu].current;
        if !self.balance.domains.spans_nodes(cpu) {
            // Without `sd_numa` the task prefers to be where it is.
            self.numa.members[task as usize].preferred = self.topology.node(cpu) as u8;
            return;
        }
        let node = |node| self.topology.node_cpus(node).count();
        let examined = node(self.topology.node(cpu)) + node(self.numa.preferred(task).into());
        // Stands for task_numa_find_cpu(), which was not counted; the search of further nodes costs nothing.
        self.book(cpu, Account::NumaPlace, self.world.kernel.balance_pass.ns(&self.costs, 2, examined));
        match self.task_numa_find_cpu(cpu, task) {
            None => self.records.counters.numa_task_stayed += 1,
            Some(Place::Free(target)) => {
                self.records.counters.numa_task_migrated += 1;
                self.book(cpu, Account::NumaPlace, self.costs.balance_move);
                self.take_current(cpu);
                self.note_move(task, cpu, target);
                if self.stats.on {
                    self.stats_enqueue(cpu, task);
                }
                self.activate_task(target, task, Enqueue::Moved);
                self.schedule(cpu);
                self.rekey(cpu);
                self.check_preempt_curr(cpu, target, task);
            }
            Some(Place::Swap(target)) => {
                self.records.counters.numa_task_swapped += 1;
                self.book(cpu, Account::NumaPlace, 2 * self.costs.balance_move);
                self.settle(target);
                self.book(target, Account::Ipi, self.costs.ipi_handler);
                let other = self.cpus[target].current;
                self.take_current(cpu);
                self.take_current(target);
                self.note_move(task, cpu, target);
                self.note_move(other, target, cpu);
                if self.stats.on {
                    self.stats_enqueue(cpu, task);
                    self.stats_enqueue(cpu, other);
                }
                self.activate_task(target, task, Enqueue::Moved);
                self.activate_task(cpu, other, Enqueue::Moved);
                for each in [target, cpu] {
                    self.schedule(each);
                    self.rekey(each);
                }
            }
        }
    }

    /// Effect of a move on a waiting task's locality (`migrate_degrades_locality()`, kernel/sched/fair.c, v4.5 to v6.12): the task should
    /// stay, may move although it is cache-hot, or no effect. `idle`: the CPU that would receive the task is idle, which in 5.10 and later
    /// outweighs a worse locality, but not the preferred node.
    pub(crate) fn migrate_degrades_locality(
        &self,
        source: usize,
        cpu: usize,
        task: TaskIx,
        domain: DomainKind,
        idle: bool,
    ) -> Option<bool> {
        let placement = self.world.kernel.numa_placement;
        if !self.numa.on || placement == NumaPlacement::None || !matches!(domain, DomainKind::Numa(_)) {
            return None;
        }
        let member = &self.numa.members[task as usize];
        let (from, to) = (self.topology.node(source), self.topology.node(cpu));
        if from == to || !member.has_faults() {
            return None;
        }
        if usize::from(member.preferred) == from {
            // Other tasks of the queue can move instead.
            return (self.rq.nr_running[source] > self.placement(source).settled).then_some(true);
        }
        if usize::from(member.preferred) == to {
            return Some(false);
        }
        let outweighs = idle && placement == NumaPlacement::Capacity;
        (!outweighs).then(|| member.faults(to) < member.faults(from))
    }

    /// Placement of the tasks of a CPU.
    fn placement(&self, cpu: usize) -> Placement {
        let node = self.topology.node(cpu);
        let mut placement = Placement { running: self.rq.nr_running[cpu], ..Placement::default() };
        let mut count = |task: TaskIx| {
            let preferred = self.numa.members[task as usize].preferred;
            placement.prefer += u32::from(preferred != NOWHERE);
            placement.settled += u32::from(usize::from(preferred) == node);
        };
        if self.cpus[cpu].current != NOBODY {
            count(self.cpus[cpu].current);
        }
        P::waiting(&self.rq.queues[cpu], |task| {
            count(task);
            true
        });
        placement
    }

    /// CPUs of a group from which a pass over a domain may take tasks: between nodes, no CPU whose tasks are placed better than
    /// the group's tasks in all (`fbq_classify_rq()` and `fbq_classify_group()`, kernel/sched/fair.c, v4.5 to v6.12).
    pub(crate) fn worst_placed(&self, group: &SchedGroup, kind: DomainKind) -> impl Iterator<Item = usize> {
        let cpus = || group.cpus.iter().map(|cpu| usize::from(*cpu));
        let mut spared = CpuMask::EMPTY;
        if self.numa.on && matches!(kind, DomainKind::Numa(_)) {
            let (mut all, mut remote, mut settled) = (Placement::default(), CpuMask::EMPTY, CpuMask::EMPTY);
            for cpu in cpus() {
                let placement = self.placement(cpu);
                all.add(&placement);
                remote.put(cpu, placement.quality() == Quality::Remote);
                settled.put(cpu, placement.quality() == Quality::Settled);
            }
            spared = match all.quality() {
                Quality::Regular => remote.or(&settled),
                Quality::Remote => settled,
                Quality::Settled => CpuMask::EMPTY,
            };
        }
        cpus().filter(move |cpu| !spared.contains(*cpu))
    }
}

/// Numbers of tasks of a CPU or of a group.
#[derive(Debug, Clone, Copy, Default)]
struct Placement {
    /// All tasks (`rq->nr_running`).
    running: u32,
    /// Tasks with a preferred node (`rq->nr_numa_running`).
    prefer: u32,
    /// Tasks on their preferred node (`rq->nr_preferred_running`).
    settled: u32,
}

/// How well NUMA balancing has placed tasks (`enum fbq_type`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quality {
    /// A task has no preferred node.
    Regular,
    /// All tasks have a preferred node, and one is on another node.
    Remote,
    /// All tasks are on their preferred nodes.
    Settled,
}

impl Placement {
    fn add(&mut self, other: &Self) {
        self.running += other.running;
        self.prefer += other.prefer;
        self.settled += other.settled;
    }

    fn quality(self) -> Quality {
        if self.running > self.prefer {
            Quality::Regular
        } else if self.running > self.settled {
            Quality::Remote
        } else {
            Quality::Settled
        }
    }
}

#[cfg(test)]
#[path = "../../tests/unit/numa/place.rs"]
mod tests;

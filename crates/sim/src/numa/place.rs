//! Placement: moves a task to its preferred node and keeps the task on this node.

use super::NOWHERE;
use crate::balance::KernelPolicy;
use crate::engine::Engine;
use crate::ledger::Account;
use crate::machine::DomainKind;
use crate::observe::Observer;
use crate::sched::{Enqueue, NOBODY, TaskIx};

/// Destination of a task.
enum Place {
    /// A CPU with capacity for the task.
    Free(usize),
    /// The CPU of another task, which moves to this task's CPU in exchange.
    Swap(usize),
}

impl<P: KernelPolicy, O: Observer> Engine<'_, P, O> {
    /// Try to move the current task of a CPU to its preferred node (`task_numa_migrate()`, kernel/sched/fair.c, v4.5).
    pub(crate) fn task_numa_migrate(&mut self, cpu: usize) {
        let task = self.cpus[cpu].current;
        let node = usize::from(self.numa.preferred(task));
        let looked_at = self.topology.node_cpus(node).count();
        // Stands for task_numa_find_cpu(), which was not counted.
        self.book(cpu, Account::NumaPlace, self.world.kernel.balance_pass.ns(&self.costs, 1, looked_at));
        match self.task_numa_find_cpu(cpu, task, node) {
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

    /// Destination on a node for the current task of `cpu`: an idle core, an idle CPU, the CPU of a task that loses less by an
    /// exchange than this task gains, or the least loaded CPU if that does not increase the nodes' imbalance.
    fn task_numa_find_cpu(&self, cpu: usize, task: TaskIx, node: usize) -> Option<Place> {
        let span = self.topology.node_cpus(node).and(self.tasks.allowed(task));
        let cores = self.rq.idle_cores(self.topology);
        let idle = cores.and(&span).lowest().or_else(|| self.rq.idle.and(&span).lowest());
        if let Some(idle) = idle.filter(|idle| !self.cpus[*idle].in_interrupt) {
            return Some(Place::Free(idle));
        }
        let swap = span.iter().filter_map(|other| Some((self.gain(cpu, task, other, node)?, other)));
        // The first of the best.
        let best = swap.max_by_key(|(gain, other)| (*gain, std::cmp::Reverse(*other)));
        if let Some((_, other)) = best {
            return Some(Place::Swap(other));
        }
        let task_load = self.rq.task_load(cpu, task, self.time.now);
        let load = |node| self.topology.node_cpus(node).iter().map(|cpu| self.rq.loads[cpu]).sum::<u64>();
        let (here, there) = (load(self.topology.node(cpu)), load(node));
        let apart = (here.saturating_sub(task_load)).abs_diff(there + task_load);
        if apart > here.abs_diff(there) {
            return None;
        }
        span.iter().min_by_key(|cpu| self.rq.loads[*cpu]).map(Place::Free)
    }

    /// Joint gain of exchanging the current tasks of `cpu` and of `other` on `node`, in thousandths of their faults, if
    /// positive. A task on its preferred node does not move.
    fn gain(&self, cpu: usize, task: TaskIx, other: usize, node: usize) -> Option<i64> {
        let rq = &self.cpus[other];
        let fair = rq.current != NOBODY && self.tasks[rq.current].class.realtime().is_none();
        if !fair || rq.in_interrupt || !self.tasks.allowed(rq.current).contains(cpu) {
            return None;
        }
        let (ours, theirs) = (&self.numa.members[task as usize], &self.numa.members[rq.current as usize]);
        if usize::from(theirs.preferred) == node {
            return None;
        }
        let here = self.topology.node(cpu);
        let gain = ours.share(node) - ours.share(here) + theirs.share(here) - theirs.share(node);
        (gain > 0).then_some(gain)
    }

    /// Effect of a move on a waiting task's locality (`migrate_degrades_locality()`, kernel/sched/fair.c, v4.5): the task should
    /// stay, may move although it is cache-hot, or no effect.
    pub(crate) fn migrate_degrades_locality(
        &self,
        source: usize,
        cpu: usize,
        task: TaskIx,
        domain: DomainKind,
    ) -> Option<bool> {
        if !self.numa.on || !matches!(domain, DomainKind::Numa(_)) {
            return None;
        }
        let member = &self.numa.members[task as usize];
        let (from, to) = (self.topology.node(source), self.topology.node(cpu));
        if from == to || !member.has_faults() {
            return None;
        }
        if usize::from(member.preferred) == from {
            // Other tasks of the queue can move instead.
            return (self.rq.nr_running[source] > self.preferring(source)).then_some(true);
        }
        if usize::from(member.preferred) == to {
            return Some(false);
        }
        (member.preferred != NOWHERE).then(|| member.faults(to) < member.faults(from))
    }

    /// Whether the running task of a CPU is on its preferred node and the move would take the task away from this node.
    pub(crate) fn numa_settled(&self, source: usize, cpu: usize, task: TaskIx) -> bool {
        let (from, to) = (self.topology.node(source), self.topology.node(cpu));
        self.numa.on && from != to && usize::from(self.numa.preferred(task)) == from
    }

    /// Number of tasks of a CPU that are on their preferred node.
    fn preferring(&self, cpu: usize) -> u32 {
        let node = self.topology.node(cpu);
        let prefers = |task: TaskIx| usize::from(self.numa.preferred(task)) == node;
        let current = self.cpus[cpu].current;
        let mut number = u32::from(current != NOBODY && prefers(current));
        P::waiting(&self.rq.queues[cpu], |task| {
            number += u32::from(prefers(task));
            true
        });
        number
    }
}

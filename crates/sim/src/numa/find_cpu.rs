//! Choice of a place for a task that leaves its node (`task_numa_find_cpu()` and `task_numa_compare()`, kernel/sched/fair.c).
//!
//! Limits: no task is in a group (`numa_group`), nodes are equally far, and only ordinary tasks exchange places.

use crate::balance::{GroupType, KernelPolicy};
use crate::engine::Engine;
use crate::kernel::{NumaImbalance, NumaPlacement};
use crate::machine::CpuMask;
use crate::observe::Observer;
use crate::sched::{NOBODY, Sum, TaskIx};

/// Least gain for which two tasks exchange places (`SMALLIMP`).
const SMALL_GAIN: i64 = 30;

/// Destination of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// A CPU with capacity for the task.
    Free(usize),
    /// The CPU of another task, which moves to this task's CPU in exchange.
    Swap(usize),
}

/// The best destination so far (`best_cpu`, `best_task` and `best_imp` of `struct task_numa_env`).
#[derive(Debug, Default)]
struct Best {
    /// Gain in thousandths of faults.
    gain: i64,
    place: Option<Place>,
}

impl Best {
    fn assign(&mut self, gain: i64, place: Place) {
        *self = Self { gain, place: Some(place) };
    }
}

/// A node (`struct numa_stats`).
#[derive(Debug, Clone, Copy)]
struct Node {
    id: usize,
    sum: Sum,
}

impl Node {
    /// Whether a move of `load` from this node to another makes the loads less even. The lesser load may be the greater one times 100 /
    /// `pct` (`load_too_imbalanced()`, v4.5; since 4.19 without a percentage).
    fn too_imbalanced(&self, other: &Self, load: i64, pct: u32) -> bool {
        let apart = |load: i64| {
            let here = i128::from(self.sum.load) - i128::from(load);
            let there = i128::from(other.sum.load) + i128::from(load);
            let (here, there) = (here * i128::from(other.sum.width), there * i128::from(self.sum.width));
            100 * here.max(there) - i128::from(pct) * here.min(there)
        };
        apart(load) > apart(0).max(0)
    }
}

impl<P: KernelPolicy, O: Observer> Engine<'_, P, O> {
    /// Destination of the current task of `cpu`: on its preferred node, or else on any node.
    pub(super) fn task_numa_find_cpu(&self, cpu: usize, task: TaskIx) -> Option<Place> {
        let (here, preferred) = (self.topology.node(cpu), usize::from(self.numa.preferred(task)));
        let mut best = Best::default();
        self.compare_node(cpu, task, preferred, &mut best);
        if best.place.is_none() {
            for node in (0..self.world.machine.nodes()).filter(|node| *node != here && *node != preferred) {
                self.compare_node(cpu, task, node, &mut best);
            }
        }
        best.place
    }

    fn compare_node(&self, cpu: usize, task: TaskIx, node: usize, best: &mut Best) {
        match self.world.kernel.numa_placement {
            NumaPlacement::None => {}
            NumaPlacement::Load => self.compare_by_load(cpu, task, node, best),
            NumaPlacement::Capacity => self.compare_by_capacity(cpu, task, node, best),
        }
    }

    /// Compare the CPUs of a node as destinations by the loads of the nodes (v4.2 to v4.18).
    fn compare_by_load(&self, cpu: usize, task: TaskIx, node: usize, best: &mut Best) {
        let (source, target) = (self.numa_node(self.topology.node(cpu)), self.numa_node(node));
        // The number of cores: `smt_gain` of 1178 makes a core of several threads a little more than one.
        let cores = |node: &Node| node.sum.width / self.topology.threads as u64;
        let has_free = |node: &Node| node.sum.number < cores(node);
        if has_free(&source) && !has_free(&target) {
            return;
        }
        // Nodes that are equally busy may take a task.
        let [here, there] = [&source, &target].map(|node| node.sum.load);
        let pct = self.placement_pct();
        if here * target.sum.width * u64::from(pct) <= there * source.sum.width * 100 {
            return;
        }
        let load = self.rq.task_load(cpu, task, self.time.now) as i64;
        let moving = self.gain(task, source.id, node);
        for other in self.destinations(task, node) {
            let current = self.cpus[other].current;
            let exchanged = if current == NOBODY {
                None
            } else if self.may_swap(cpu, other) {
                Some(current)
            } else {
                continue;
            };
            let gain = moving + exchanged.map_or(0, |other| self.gain(other, node, source.id));
            if gain.max(moving) <= best.gain {
                continue;
            }
            let mut load = load;
            if let Some(exchanged) = exchanged {
                // Balance does not matter much with a task on each CPU.
                if gain > best.gain && self.rq.nr_running[cpu] == 1 && self.rq.nr_running[other] == 1 {
                    best.assign(gain, Place::Swap(other));
                    continue;
                }
                if moving > gain && moving > best.gain && !source.too_imbalanced(&target, load, pct) {
                    // An idle CPU wins with the same gain.
                    best.assign(moving - 1, Place::Free(other));
                    continue;
                }
                load -= self.rq.task_load(other, exchanged, self.time.now) as i64;
            } else if source.sum.number <= cores(&source) && !has_free(&target) {
                continue;
            }
            if gain > best.gain && !source.too_imbalanced(&target, load, pct) {
                let place = if exchanged.is_some() {
                    Place::Swap(other)
                } else {
                    Place::Free(self.idle_cpu_of(task, node).unwrap_or(other))
                };
                best.assign(gain, place);
            }
        }
    }

    /// Compare the CPUs of a node as destinations by what balancing would make of the move (v5.7 to v6.12).
    fn compare_by_capacity(&self, cpu: usize, task: TaskIx, node: usize, best: &mut Best) {
        let (source, target) = (self.numa_node(self.topology.node(cpu)), self.numa_node(node));
        let idle = self.idle_cpu_of(task, node);
        let moving = self.gain(task, source.id, node);
        let load = self.rq.task_load(cpu, task, self.time.now) as i64;
        let may_move = if self.numa_node_type(&target) == GroupType::HasSpare {
            let even = self.stays_even(cpu, &source, &target);
            if let Some(idle) = idle
                && even
            {
                return best.assign(0, Place::Free(idle));
            }
            if self.world.kernel.domains.numa_imbalance == NumaImbalance::Caches {
                // Since 6.0 tasks do not exchange places while there is capacity.
                return;
            }
            even
        } else {
            !source.too_imbalanced(&target, load, 100)
        };
        for other in self.destinations(task, node) {
            let current = self.cpus[other].current;
            if current == NOBODY {
                if may_move && moving >= best.gain {
                    best.assign(moving, Place::Free(idle.unwrap_or(other)));
                    return;
                }
                continue;
            }
            if !self.may_swap(cpu, other) {
                continue;
            }
            let is_homeward =
                |other: usize| usize::from(self.numa.preferred(self.cpus[other].current)) == source.id;
            let homeward = is_homeward(other);
            let best_is_homeward = matches!(best.place, Some(Place::Swap(best)) if is_homeward(best));
            if best_is_homeward && !homeward {
                continue;
            }
            let mut gain = moving + self.gain(current, node, source.id);
            if usize::from(self.numa.preferred(current)) == node {
                gain -= gain / 16;
            }
            if homeward {
                gain += gain / 8;
            }
            if may_move && moving > gain && moving > best.gain {
                best.assign(moving, Place::Free(idle.unwrap_or(other)));
                if idle.is_some() {
                    return;
                }
                continue;
            }
            let comes_first = matches!(best.place, Some(Place::Swap(_))) && homeward && !best_is_homeward;
            if !comes_first {
                if gain < SMALL_GAIN || gain <= best.gain + SMALL_GAIN / 2 {
                    continue;
                }
                let load = load - self.rq.task_load(other, current, self.time.now) as i64;
                if load != 0 && source.too_imbalanced(&target, load, 100) {
                    continue;
                }
            }
            best.assign(gain, Place::Swap(other));
            if !may_move && homeward {
                return;
            }
        }
    }

    /// Whether balancing would leave a task where it is after its move from one node to another.
    fn stays_even(&self, cpu: usize, source: &Node, target: &Node) -> bool {
        let (from, to) = (source.sum.number.saturating_sub(1), target.sum.number + 1);
        let limit = self.balance.domains.numa_limit(cpu);
        let allowed = self.world.kernel.domains.numa_imbalance;
        allowed.allows(to.saturating_sub(from), to, target.sum.width, limit)
    }

    /// Sums of a node.
    fn numa_node(&self, id: usize) -> Node {
        let mut sum = Sum::default();
        self.topology.node_cpus(id).iter().for_each(|cpu| sum.add(&self.sum_of_cpu(cpu)));
        Node { id, sum }
    }

    /// How busy a node is (`numa_classify()`).
    fn numa_node_type(&self, node: &Node) -> GroupType {
        let averages = self.averages_of(&node.sum, self.topology.node_cpus(node.id).iter());
        GroupType::classify(node.sum.width, node.sum.number, &averages, self.placement_pct())
    }

    /// `imbalance_pct` of placement: half of the percentage above 100 of domains of several nodes.
    fn placement_pct(&self) -> u32 {
        100 + (self.world.kernel.domains.imbalance_pct - 100) / 2
    }

    /// An idle CPU of a node for a task: of an idle core, if there is one.
    fn idle_cpu_of(&self, task: TaskIx, node: usize) -> Option<usize> {
        let cpus = self.destinations(task, node);
        let first = |among: &CpuMask| cpus.iter().copied().find(|cpu| among.contains(*cpu));
        first(self.rq.idle_cores(self.topology)).or_else(|| first(&self.rq.idle))
    }

    /// CPUs of a node to which a task may move.
    fn destinations(&self, task: TaskIx, node: usize) -> Vec<usize> {
        let span = self.topology.node_cpus(node).and(self.tasks.allowed(task));
        span.iter().filter(|cpu| !self.cpus[*cpu].in_interrupt).collect()
    }

    /// Whether the current task of `other` may go to `cpu`.
    fn may_swap(&self, cpu: usize, other: usize) -> bool {
        let current = self.cpus[other].current;
        self.tasks[current].class.realtime().is_none() && self.tasks.allowed(current).contains(cpu)
    }

    /// What a task gains by a move from a node to another, in thousandths of its faults.
    fn gain(&self, task: TaskIx, from: usize, to: usize) -> i64 {
        let member = &self.numa.members[task as usize];
        member.share(to) - member.share(from)
    }
}

#[cfg(test)]
#[path = "../../tests/unit/numa/find_cpu.rs"]
mod tests;

//! How busy a group of CPUs is (kernel/sched/fair.c, v5.5 to v6.12).

use super::sched_domains::SchedGroup;
use crate::balance::KernelPolicy;
use crate::engine::Engine;
use crate::machine::DomainKind;
use crate::observe::Observer;
use crate::sched::Sum;
use crate::sched::weight::UNIT;

/// Kind of a group (`enum group_type`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) enum GroupType {
    #[default]
    HasSpare,
    FullyBusy,
    Overloaded,
}

/// Averages of a group's CPUs, of [`UNIT`] for each CPU.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct GroupAverages {
    /// Part of the time in which a CPU has a task.
    pub util: u64,
    /// Number of tasks in the queue.
    pub runnable: u64,
}

impl GroupType {
    /// Type of a group of `width` CPUs with `number` tasks (`group_classify()`, `group_is_overloaded()` and
    /// `group_has_capacity()`). A group with fewer tasks than CPUs has spare capacity, whatever its averages are.
    pub fn classify(width: u64, number: u64, averages: &GroupAverages, imbalance_pct: u32) -> Self {
        let (capacity, pct) = (width * UNIT, u64::from(imbalance_pct));
        let waiting = averages.runnable * 100 > capacity * pct;
        let used = averages.util * pct;
        if number < width {
            Self::HasSpare
        } else if number > width && (waiting || used > capacity * 100) {
            Self::Overloaded
        } else if waiting || used >= capacity * 100 {
            Self::FullyBusy
        } else {
            Self::HasSpare
        }
    }
}

/// Sums and type of a group (`struct sg_lb_stats`).
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct GroupStats {
    pub sum: Sum,
    pub kind: GroupType,
}

impl GroupStats {
    /// Whether a pass prefers this group to another as the busiest (`update_sd_pick_busiest()`).
    pub fn is_busier(&self, other: &Self) -> bool {
        let (ours, theirs) = (&self.sum, &other.sum);
        match self.kind.cmp(&other.kind) {
            std::cmp::Ordering::Equal => match self.kind {
                GroupType::Overloaded => ours.per_cpu() > theirs.per_cpu(),
                // The kernel computes no load of groups of this type, so that the first group remains.
                GroupType::FullyBusy => false,
                GroupType::HasSpare => (theirs.idle, ours.number) > (ours.idle, theirs.number),
            },
            order => order.is_gt(),
        }
    }
}

impl<P: KernelPolicy, O: Observer> Engine<'_, P, O> {
    /// Sums and type of a group of a domain (`update_sg_lb_stats()`).
    pub(super) fn group_stats(&self, group: &SchedGroup, kind: DomainKind) -> GroupStats {
        let sum = self.sum(group);
        self.classify(sum, &self.averages_of(&sum, group.cpus.iter().map(|cpu| usize::from(*cpu))), kind)
    }

    /// Sums and type of a group with these sums and averages.
    #[inline]
    pub(super) fn classify(&self, sum: Sum, averages: &GroupAverages, domain: DomainKind) -> GroupStats {
        let pct = self.imbalance_pct(domain);
        GroupStats { sum, kind: GroupType::classify(sum.width, sum.number, averages, pct) }
    }

    /// Averages for [`GroupType::classify`]: zeros if the group has fewer tasks than CPUs, which decides without them.
    pub(crate) fn averages_of(&self, sum: &Sum, cpus: impl Iterator<Item = usize>) -> GroupAverages {
        if sum.number < sum.width { GroupAverages::default() } else { self.averages(cpus) }
    }

    /// Averages of a group of CPUs.
    pub(super) fn averages(&self, cpus: impl Iterator<Item = usize>) -> GroupAverages {
        let mut averages = GroupAverages::default();
        for cpu in cpus {
            averages.util += self.rq.util(cpu);
            averages.runnable += self.rq.runnable(cpu);
        }
        averages
    }

    /// Sum the tasks, loads and idle CPUs of a group.
    #[inline]
    pub(super) fn sum(&self, group: &SchedGroup) -> Sum {
        let mut sum = Sum::default();
        if !group.caches.is_empty() {
            group.caches.iter().for_each(|cache| sum.add(self.rq.sums.cache(*cache)));
            return sum;
        }
        sum.width = group.cpus.len() as u64;
        for range in &group.ranges {
            // 32 bits, as wide as the elements, so that the compiler vectorises the loop.
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

    /// The sums of a single CPU.
    pub(crate) fn sum_of_cpu(&self, cpu: usize) -> Sum {
        let number = self.rq.nr_running[cpu].into();
        Sum { width: 1, number, load: self.rq.loads[cpu], idle: u64::from(number == 0) }
    }
}

#[cfg(test)]
#[path = "../../tests/unit/balance/groups.rs"]
mod tests;

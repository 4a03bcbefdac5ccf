//! NUMA balancing state of a task: faults by node, preferred node and scan period.

use super::NOWHERE;
use crate::time::Ns;

/// Number of slots by which the scan period changes (`NUMA_PERIOD_SLOTS`).
const SLOTS: u64 = 10;

/// Number of slots of local faults from which the scan period grows (`NUMA_PERIOD_THRESHOLD`).
const THRESHOLD: u64 = 7;

/// NUMA balancing state of a task.
#[derive(Debug)]
pub(super) struct Member {
    /// Its address space.
    pub space: u32,
    /// Run time at which the period began; 0 until the first scan (`node_stamp`).
    pub stamp: Ns,
    /// Run time between two scans.
    pub period: Ns,
    /// Number of passes over the address space that placement has evaluated.
    pub passes: u32,
    pub preferred: u8,
    /// Earliest time of the next attempt to move to the preferred node.
    pub retry_at: Ns,
    /// Faults by node: decayed total, and of the current pass. Empty before the first fault.
    faults: Vec<u64>,
    recent: Vec<u64>,
    /// Faults of the current pass on remote and on local pages.
    locality: [u64; 2],
}

impl Member {
    pub fn new(space: u32, delay: Ns) -> Self {
        Self {
            space,
            stamp: 0,
            period: delay,
            passes: 0,
            preferred: NOWHERE,
            retry_at: 0,
            faults: Vec::new(),
            recent: Vec::new(),
            locality: [0; 2],
        }
    }

    /// Counts faults on pages that are on `node` after the fault. `local`: the pages were on the task's node
    /// (`task_numa_fault()`, kernel/sched/fair.c, v4.5).
    pub fn task_numa_fault(&mut self, node: u8, pages: u64, local: bool, nodes: usize) {
        if self.recent.is_empty() {
            (self.faults, self.recent) = (vec![0; nodes], vec![0; nodes]);
        }
        self.recent[usize::from(node)] += pages;
        self.locality[usize::from(local)] += pages;
    }

    /// Whether the task has ever faulted.
    pub fn has_faults(&self) -> bool {
        !self.faults.is_empty()
    }

    /// Decayed faults on pages of a node.
    pub fn faults(&self, node: usize) -> u64 {
        self.faults.get(node).copied().unwrap_or(0)
    }

    /// Share of the task's faults on pages of a node, in thousandths.
    pub fn share(&self, node: usize) -> i64 {
        let total: u64 = self.faults.iter().sum();
        (self.faults(node) * 1000).checked_div(total).unwrap_or(0) as i64
    }

    /// Evaluates `passes` complete passes over the task's memory: decays faults by half, prefers the node with most faults (the
    /// first of equals), and adapts the scan period within `(least, most)` (`task_numa_placement()`,
    /// `update_task_scan_period()`, kernel/sched/fair.c, v4.5).
    pub fn task_numa_placement(&mut self, passes: u32, periods: (Ns, Ns)) {
        self.passes = passes;
        if !self.has_faults() {
            return;
        }
        for (all, recent) in self.faults.iter_mut().zip(&mut self.recent) {
            *all = *all / 2 + std::mem::take(recent);
        }
        let [remote, local] = std::mem::take(&mut self.locality);
        self.period = update_task_scan_period(self.period, remote, local, periods);
        let most = self.faults.iter().copied().max().unwrap_or(0);
        if most > 0 {
            let node = self.faults.iter().position(|faults| *faults == most);
            self.preferred = node.map_or(NOWHERE, |node| node as u8);
            // The task may move at once.
            self.retry_at = 0;
        }
    }
}

/// The next scan period. Without faults it doubles. If at least seven tenths of the faults were local, it grows by a tenth
/// for each tenth above seven, and at least by one tenth. Otherwise it shrinks by a tenth for each tenth below seven.
fn update_task_scan_period(period: Ns, remote: u64, local: u64, (least, most): (Ns, Ns)) -> Ns {
    if remote + local == 0 {
        return period.saturating_mul(2).min(most);
    }
    let (slot, tenths) = (period.div_ceil(SLOTS), local * SLOTS / (local + remote));
    let next = if tenths >= THRESHOLD {
        period + slot * (tenths - THRESHOLD).max(1)
    } else {
        period.saturating_sub(slot * (THRESHOLD - tenths))
    };
    next.clamp(least, most)
}

#[cfg(test)]
mod tests {
    use super::{Member, update_task_scan_period};

    #[test]
    fn the_scan_period_grows_with_locality_and_shrinks_without() {
        let next = |remote, local| update_task_scan_period(2000, remote, local, (1000, 60_000));
        // All local: three tenths more; seven and eight tenths local: one tenth more.
        assert_eq!(next(0, 10), 2600);
        assert_eq!((next(3, 7), next(2, 8)), (2200, 2200));
        // Six tenths: one tenth less; none: seven tenths less, but not below the least.
        assert_eq!(next(4, 6), 1800);
        assert_eq!(next(10, 0), 1000);
        // No fault at all: twice as long, up to the most.
        assert_eq!(next(0, 0), 4000);
        assert_eq!(update_task_scan_period(50_000, 0, 0, (1000, 60_000)), 60_000);
    }

    #[test]
    fn the_node_of_most_faults_is_preferred_and_old_faults_count_half() {
        let mut member = Member::new(0, 0);
        member.task_numa_fault(1, 100, false, 3);
        member.task_numa_fault(0, 60, true, 3);
        member.task_numa_placement(1, (1, 1));
        assert_eq!((member.preferred, member.faults(0), member.faults(1)), (1, 60, 100));
        // 60 / 2 + 30 against 100 / 2: the old ones still outweigh it by nothing: 60 to 50.
        member.task_numa_fault(0, 30, true, 3);
        member.task_numa_placement(2, (1, 1));
        assert_eq!((member.preferred, member.faults(0), member.faults(1)), (0, 60, 50));
        assert_eq!((member.share(0), member.share(1), member.share(2)), (545, 454, 0));
    }
}

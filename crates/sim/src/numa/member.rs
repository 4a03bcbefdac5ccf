//! NUMA balancing state of a task: faults by node, preferred node and scan period.

use super::NOWHERE;
use crate::time::Ns;

/// Number of slots by which the scan period changes (`NUMA_PERIOD_SLOTS`).
const SLOTS: u64 = 10;

/// Number of slots of local faults from which the scan period grows (`NUMA_PERIOD_THRESHOLD`).
const THRESHOLD: u64 = 7;

/// NUMA balancing state of a task.
#[derive(Debug, Default)]
pub(super) struct Member {
    /// Address space of the task.
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
    /// State of a new task. A new thread prefers the same node as the thread that creates it.
    pub fn new(space: u32, delay: Ns, preferred: u8) -> Self {
        Self { space, period: delay, preferred, ..Self::default() }
    }

    /// Count faults on pages that are on `node` after the fault. `local`: the pages were on the task's node
    /// (`task_numa_fault()`, kernel/sched/fair.c, v4.5).
    pub fn task_numa_fault(&mut self, node: u8, pages: u64, local: bool, nodes: usize) {
        if self.recent.is_empty() {
            (self.faults, self.recent) = (vec![0; nodes], vec![0; nodes]);
        }
        self.recent[usize::from(node)] += pages;
        self.locality[usize::from(local)] += pages;
    }

    /// Forget all faults, and the tables unless the kernel keeps them.
    pub fn forget_faults(&mut self, keeps_tables: bool) {
        self.locality = [0; 2];
        for table in [&mut self.faults, &mut self.recent] {
            table.fill(0);
            table.truncate(if keeps_tables { table.len() } else { 0 });
        }
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

    /// Evaluate `passes` complete passes over the task's memory: decay faults by half, prefer the node with most faults (the
    /// first of equals) if the kernel places tasks, and adapt the scan period within `(least, most)` (`task_numa_placement()`,
    /// `update_task_scan_period()`, kernel/sched/fair.c, v4.5).
    pub fn task_numa_placement(&mut self, passes: u32, periods: (Ns, Ns), places: bool) {
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
        if most > 0 && places {
            let node = self.faults.iter().position(|faults| *faults == most);
            self.preferred = node.map_or(NOWHERE, |node| node as u8);
            // The task may move at once.
            self.retry_at = 0;
        }
    }
}

/// The next scan period. Without faults the period doubles. If at least seven tenths of the faults were local, the
/// period grows by a tenth for each tenth above seven, and at least by one tenth. Otherwise the period shrinks by a
/// tenth for each tenth below seven.
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
#[path = "../../tests/unit/numa/member.rs"]
mod tests;

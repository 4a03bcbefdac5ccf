//! The task group of the program, an autogroup: its weight is divided among CPUs.
//!
//! ```text
//! root of a CPU ── the group's entity: a share of the weight 1024 ── the program's tasks on the CPU
//! ```
//! Since 2.6.38 a kernel with `CONFIG_SCHED_AUTOGROUP` runs the tasks of each session in a group. A CPU's share follows its part of
//! the group's load, as last counted. The load of a CPU is the load of the group's entity, not the load of its tasks: a program
//! never has more load than a single task. Because the counts are old, the loads of equally busy CPUs differ.
//!
//! Limits: kernel threads belong to the group too. A change of the tunable at run time applies to all tasks, in a kernel to tasks
//! that are forked later. A task that leaves may take the whole load with it, although others have run meanwhile (the kernel keeps
//! at least the average utilisation).

use std::cell::Cell;

use super::load_avg::{Averages, Change, CpuLoad};
use super::weight::UNIT;
use crate::table::Table;
use crate::time::{MS, Ns};

/// Least weight of the group's entity on a CPU (`MIN_SHARES`, kernel/sched/sched.h).
const MIN_SHARES: u64 = 2;

/// The group on a CPU.
#[derive(Debug, Clone)]
struct Share {
    /// Weight of the group's entity.
    weight: u64,
    /// The CPU's queue has a task of the group, and the part of the time in which it had one, of [`UNIT`].
    is_queued: bool,
    queued: Averages<1>,
    /// Load of the CPU that is a part of the group's load (`tg_load_avg_contrib`).
    counted: u64,
    /// Earliest time of the next change of `counted`.
    next_count: Ns,
    /// Load of the group's entity, in which all searches of a tick express loads of tasks (`h_load`), and the tick's end.
    h_load: Cell<u64>,
    h_load_until: Cell<Ns>,
}

/// A task group.
#[derive(Debug)]
pub(super) struct TaskGroup {
    shares: Table<Share>,
    /// Weight that the CPUs share (`tg->shares`).
    pub weight: u64,
    /// Sum of the CPUs' loads, as far as counted (`tg->load_avg`).
    load: u64,
    /// Least time between two counts of a CPU's load.
    count_interval: Ns,
    tick_ns: Ns,
}

impl TaskGroup {
    /// A group without load. `ratelimit`: a CPU's load is counted at most once in a millisecond (since 6.7).
    pub fn new(cpus: usize, ratelimit: bool, tick_ns: Ns) -> Self {
        let share = Share {
            weight: UNIT,
            is_queued: false,
            queued: Averages::default(),
            counted: 0,
            next_count: 0,
            h_load: Cell::new(0),
            h_load_until: Cell::new(0),
        };
        // SAFETY: by CPU, with an entry for each CPU of the topology.
        let shares = unsafe { Table::trusted(vec![share; cpus]) };
        Self { shares, weight: UNIT, load: 0, count_interval: if ratelimit { MS } else { 0 }, tick_ns }
    }

    /// Follow a change of a CPU's load.
    #[inline]
    pub fn update(&mut self, cpu: usize, load: &CpuLoad, change: Change, now: Ns) {
        self.update_queued(cpu, load, change, now);
        if change != Change::None {
            self.update_tg_load_avg(cpu, load.load(), now);
        }
        self.update_cfs_group(cpu, load);
    }

    /// Update the part of the time in which the group is in a CPU's queue. A task that joins the CPU adds its own part; when a task
    /// leaves, the part is at most the mean of the tasks that stay (`update_tg_cfs_load()`, kernel/sched/fair.c, v5.10 to v6.12).
    #[inline]
    fn update_queued(&mut self, cpu: usize, load: &CpuLoad, change: Change, now: Ns) {
        let share = &mut self.shares[cpu];
        let was_queued = std::mem::replace(&mut share.is_queued, load.weight() > 0);
        share.queued.update(now, [if was_queued { UNIT } else { 0 }]);
        match change {
            Change::None | Change::Time => {}
            Change::Attached(sum) => share.queued.change(now, |before| before + sum),
            Change::Detached => share.queued.change(now, |before| before.min(load.sum_per_weight())),
        }
    }

    /// Count the average load of a CPU (`update_tg_load_avg()`, kernel/sched/fair.c, v5.10 to v6.12).
    fn update_tg_load_avg(&mut self, cpu: usize, average: u64, now: Ns) {
        let share = &mut self.shares[cpu];
        if now >= share.next_count && average.abs_diff(share.counted) > share.counted / 64 {
            self.load = self.load - share.counted + average;
            (share.counted, share.next_count) = (average, now + self.count_interval);
        }
    }

    /// Divide the weight anew (`update_cfs_group()`, `calc_group_shares()`, kernel/sched/fair.c, v5.10 to v6.12).
    #[inline]
    fn update_cfs_group(&mut self, cpu: usize, load: &CpuLoad) {
        let share = &mut self.shares[cpu];
        // An empty group keeps its weight.
        if load.weight() > 0 {
            let part = load.weight().max(load.load());
            share.weight = (self.weight * part / (self.load - share.counted + part)).max(MIN_SHARES);
        }
    }

    /// Weight of the group's entity on a CPU.
    pub fn share(&self, cpu: usize) -> u64 {
        self.shares[cpu].weight
    }

    /// Load of the group's entity on a CPU: its weight, for the part of the time in which the queue has a task of the group.
    #[inline]
    pub fn load(&self, cpu: usize) -> u64 {
        let share = &self.shares[cpu];
        share.weight * share.queued.get()[0] / UNIT
    }

    /// Load of a task, whose load in the group is `task_load`, as a part of its CPU's load (`task_h_load()`, kernel/sched/fair.c, v5.10
    /// to v6.12).
    #[inline]
    pub fn task_h_load(&self, cpu: usize, task_load: u64, load: &CpuLoad, now: Ns) -> u64 {
        let share = &self.shares[cpu];
        if now >= share.h_load_until.get() {
            share.h_load.set(self.load(cpu));
            share.h_load_until.set(now - now % self.tick_ns + self.tick_ns);
        }
        task_load * share.h_load.get() / (load.load() + 1)
    }
}

#[cfg(test)]
#[path = "../../tests/unit/sched/task_group.rs"]
mod tests;

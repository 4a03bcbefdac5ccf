//! Average loads of control groups: of the group's tasks on each CPU, and of the group's entity.

use super::load_avg::{Change, CpuLoad, TaskLoad};
use super::task_group::TaskGroup;
use crate::sched::TaskIx;
use crate::time::Ns;

/// The groups with their loads. Group 0 is the group of the tasks in no control group.
///
/// Limit: the averages of a throttled group do not stop (`cfs_rq_clock_pelt()` stops in a kernel).
#[derive(Debug)]
pub(crate) struct GroupLoads {
    /// Each group's loads of the CPUs.
    loads: Vec<Vec<CpuLoad>>,
    /// Shares of each group; `None` if the group's tasks compete in the root queue.
    groups: Vec<Option<TaskGroup>>,
    /// Each task's averages, as parts of the averages of its group. Only the loads of these averages are used.
    tasks: Vec<TaskLoad>,
}

impl GroupLoads {
    /// Groups without load.
    pub fn new(cpus: usize, groups: Vec<Option<TaskGroup>>) -> Self {
        Self { loads: vec![vec![CpuLoad::default(); cpus]; groups.len()], groups, tasks: Vec::new() }
    }

    /// Store the averages of a task; see [`super::Runqueues::set_entity`].
    pub fn set_task(&mut self, task: TaskIx, load: TaskLoad) {
        self.tasks.resize(self.tasks.len().max(task as usize + 1), TaskLoad::default());
        self.tasks[task as usize] = load;
    }

    /// Set the weight of a group (`sched_group_set_shares()`, kernel/sched/fair.c, v5.14 to v6.12).
    pub fn set_weight(&mut self, group: usize, weight: u64, now: Ns) {
        if let Some(shares) = &mut self.groups[group] {
            shares.weight = weight;
            for (cpu, load) in self.loads[group].iter().enumerate() {
                shares.update(cpu, load, Change::None, now);
            }
        }
    }

    /// Apply an operation on a CPU's averages to the averages of a task's group.
    pub fn apply(
        &mut self,
        (cpu, group, task): (usize, usize, TaskIx),
        now: Ns,
        change: impl FnOnce(&mut CpuLoad, &mut TaskLoad) -> Change,
    ) {
        let load = &mut self.loads[group][cpu];
        let change = change(load, &mut self.tasks[task as usize]);
        if let Some(shares) = &mut self.groups[group] {
            shares.update(cpu, load, change, now);
        }
    }

    /// Update the averages of all groups on a CPU.
    pub fn update(&mut self, cpu: usize, now: Ns) {
        for (loads, shares) in self.loads.iter_mut().zip(&mut self.groups) {
            let change = loads[cpu].update(now);
            if let Some(shares) = shares {
                shares.update(cpu, &loads[cpu], change, now);
            }
        }
    }

    /// Weight of each group's entity on a CPU.
    pub fn shares(&self, cpu: usize) -> impl Iterator<Item = (usize, u64)> + '_ {
        let share =
            move |(group, shares): (usize, &Option<TaskGroup>)| Some((group, shares.as_ref()?.share(cpu)));
        self.groups.iter().enumerate().filter_map(share)
    }

    /// Average load of a CPU: of the groups' entities and of the tasks in the root queue.
    pub fn load(&self, cpu: usize) -> u64 {
        let of = |(loads, shares): (&Vec<CpuLoad>, &Option<TaskGroup>)| match shares {
            Some(shares) => shares.load(cpu),
            None => loads[cpu].load(),
        };
        self.loads.iter().zip(&self.groups).map(of).sum()
    }

    /// Load of a task of a group as a part of its CPU's load, see [`TaskGroup::task_h_load`].
    pub fn task_h_load(&self, cpu: usize, group: usize, task_load: u64, now: Ns) -> u64 {
        let load = &self.loads[group][cpu];
        self.groups[group].as_ref().map_or(task_load, |shares| shares.task_h_load(cpu, task_load, load, now))
    }
}

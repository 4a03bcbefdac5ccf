//! The runqueues of all CPUs, with the sums and masks that load balancing and wake-ups read.

use super::group_loads::GroupLoads;
use super::load_avg::{Change, CpuLoad, TaskLoad, TaskUtil};
use super::sums::{Sum, Sums};
use super::task_group::TaskGroup;
use super::{Enqueue, Policy, TaskIx, weight};
use crate::kernel::CpuLoadKind;
use crate::machine::{CpuMask, Topology};
use crate::table::Table;
use crate::time::Ns;

/// The runqueues of all CPUs.
pub(crate) struct Runqueues<P: Policy> {
    pub policy: P,
    pub queues: Table<P::Queue>,
    /// Scheduling entities of all tasks.
    pub entities: Vec<P::Entity>,
    /// Kind of the loads in [`Runqueues::loads`].
    load_kind: CpuLoadKind,
    /// Average load of each task and of each CPU; unused under [`CpuLoadKind::Weights`].
    task_loads: Vec<TaskLoad>,
    cpu_loads: Table<CpuLoad>,
    /// The group of all tasks, with `kernel.sched_autogroup_enabled`.
    group: Option<TaskGroup>,
    /// Loads of the control groups, instead of `group`.
    group_loads: Option<Box<GroupLoads>>,
    /// Runnable tasks of each CPU, the current task included (`rq->nr_running`).
    pub nr_running: Table<u32>,
    /// Load of each CPU, real-time tasks excepted, in weights (`cpu_load()`, kernel/sched/fair.c, v5.10).
    pub loads: Table<u64>,
    pub sums: Sums,
    /// CPUs without a runnable task.
    pub idle: CpuMask,
    /// CPUs of cores without a runnable task; maintained on machines with SMT only.
    pub idle_cores: CpuMask,
    /// CPUs with more than one runnable task.
    pub overloaded: CpuMask,
    /// A CPU has been overloaded since balancing over a widest domain last found no overloaded CPU (`rd->overload`,
    /// kernel/sched/sched.h).
    pub overload: bool,
    /// CPUs that balancing uses: all that `isolcpus=` does not name (`HK_TYPE_DOMAIN`).
    pub housekeeping: CpuMask,
}

impl<P: Policy> Runqueues<P> {
    /// Empty runqueues; `housekeeping` are the CPUs that balancing uses.
    pub fn new(policy: P, load_kind: CpuLoadKind, topology: &Topology, housekeeping: CpuMask) -> Self {
        let cpus = topology.cpus();
        // SAFETY: by CPU, with an entry for each CPU of the topology.
        let queues = unsafe { Table::trusted(vec![P::Queue::default(); cpus]) };
        // SAFETY: as above.
        let (nr_running, loads) = unsafe { (Table::trusted(vec![0; cpus]), Table::trusted(vec![0; cpus])) };
        // SAFETY: as above.
        let cpu_loads = unsafe { Table::trusted(vec![CpuLoad::default(); cpus]) };
        Self {
            policy,
            queues,
            entities: Vec::new(),
            load_kind,
            task_loads: Vec::new(),
            cpu_loads,
            group: None,
            group_loads: None,
            nr_running,
            loads,
            sums: Sums::new(topology, &housekeeping),
            idle: CpuMask::first_cpus(cpus),
            idle_cores: CpuMask::first_cpus(cpus),
            overloaded: CpuMask::EMPTY,
            overload: false,
            housekeeping,
        }
    }

    /// Run all tasks in a group, or in no group. `ratelimit`: see [`Kernel::tg_load_avg_ratelimit`](crate::kernel::Kernel).
    pub fn set_autogroup(&mut self, on: bool, ratelimit: bool, tick_ns: Ns) {
        if !P::GROUPS && on != self.group.is_some() {
            let cpus = self.loads.len();
            self.group = on.then(|| TaskGroup::new(cpus, ratelimit, tick_ns));
            (0..cpus).for_each(|cpu| _ = self.update_load(cpu));
        }
    }

    /// Make `number` control groups, the group of the other tasks included, which under autogroup has a share of its own. Return the
    /// number of their entities, whose indices are below the indices of all tasks.
    pub fn make_groups(&mut self, number: usize, autogroup: bool, ratelimit: bool, tick_ns: Ns) -> usize {
        let cpus = self.loads.len();
        for cpu in 0..cpus {
            self.policy.make_groups(&mut self.queues[cpu], &mut self.entities, [number, cpus], autogroup);
        }
        self.task_loads.resize(self.entities.len(), TaskLoad::default());
        let group = |group| (group > 0 || autogroup).then(|| TaskGroup::new(cpus, ratelimit, tick_ns));
        self.group_loads = Some(Box::new(GroupLoads::new(cpus, (0..number).map(group).collect())));
        self.entities.len()
    }
    /// Set the weight of a control group.
    pub fn set_group_weight(&mut self, group: usize, weight: u64, now: Ns) {
        if let Some(groups) = &mut self.group_loads {
            groups.set_weight(group, weight, now);
            for cpu in 0..self.loads.len() {
                self.reweight_groups(cpu);
                self.update_load(cpu);
            }
        }
    }

    /// Store a task's entity and load; `task` is an index in use or the next new index.
    pub fn set_entity(&mut self, task: TaskIx, entity: P::Entity, load: TaskLoad) {
        if let Some(groups) = &mut self.group_loads {
            groups.set_task(task, load);
        }
        match self.entities.get_mut(task as usize) {
            Some(place) => {
                *place = entity;
                self.task_loads[task as usize] = load;
            }
            None => {
                self.entities.push(entity);
                self.task_loads.push(load);
            }
        }
    }

    /// Weight of an ordinary task.
    #[inline]
    pub fn weight(&self, task: TaskIx) -> u64 {
        P::weight(&self.entities[task as usize]).into()
    }

    /// Load of an ordinary task, which is or was on a CPU, in weights (`task_h_load()`, kernel/sched/fair.c, v4.5 to v6.12).
    #[inline]
    pub fn task_load(&self, cpu: usize, task: TaskIx, now: Ns) -> u64 {
        let weight = self.weight(task);
        if self.load_kind == CpuLoadKind::Weights {
            return weight;
        }
        let load = self.task_loads[task as usize].at_weight(weight);
        if P::GROUPS
            && let Some(groups) = &self.group_loads
        {
            return groups.task_h_load(cpu, self.policy.group(task), load, now);
        }
        self.group.as_ref().map_or(load, |group| group.task_h_load(cpu, load, &self.cpu_loads[cpu], now))
    }

    /// Apply an operation on a CPU's averages to the averages of a task's control group, and share its weight anew.
    #[inline(always)]
    fn apply_to_group(
        &mut self,
        cpu: usize,
        task: TaskIx,
        now: Ns,
        change: impl FnOnce(&mut CpuLoad, &mut TaskLoad) -> Change,
    ) {
        if P::GROUPS
            && let Some(groups) = &mut self.group_loads
        {
            groups.apply((cpu, self.policy.group(task), task), now, change);
            self.reweight_groups(cpu);
        }
    }

    fn reweight_groups(&mut self, cpu: usize) {
        for (group, weight) in self.group_loads.iter().flat_map(|groups| groups.shares(cpu)) {
            self.policy.reweight_group(&mut self.queues[cpu], &mut self.entities, group, weight);
        }
    }

    /// Tell the group of a change of a CPU's tasks or averages.
    #[inline]
    fn update_group(&mut self, cpu: usize, change: Change, now: Ns) {
        if let Some(group) = &mut self.group {
            group.update(cpu, &self.cpu_loads[cpu], change, now);
        }
    }

    /// Part of the time in which an ordinary task is in a queue, of 1024.
    pub fn queued_average(&self, task: TaskIx) -> u64 {
        self.task_loads[task as usize].runnable()
    }

    /// Average utilisation of a CPU, of 1024 (`cpu_util_cfs()`, kernel/sched/fair.c, v6.12, without `util_est`).
    ///
    /// Limit: kernels without averages compare numbers of tasks, so that a CPU with a task counts as fully utilised.
    pub fn util(&self, cpu: usize) -> u64 {
        match self.load_kind {
            CpuLoadKind::Weights => {
                if self.nr_running[cpu] > 0 {
                    weight::UNIT
                } else {
                    0
                }
            }
            CpuLoadKind::Runnable | CpuLoadKind::Average => self.cpu_loads[cpu].util(),
        }
    }

    /// Average number of ordinary tasks in the queue of a CPU, times 1024 (`cpu_runnable()`, kernel/sched/fair.c, v5.7 to v6.12); 0
    /// in kernels that do not compare it.
    pub fn runnable(&self, cpu: usize) -> u64 {
        if self.load_kind == CpuLoadKind::Average { self.cpu_loads[cpu].runnable() } else { 0 }
    }

    /// Average utilisation of a task that is or was on a CPU, of 1024 (`task_util()`, kernel/sched/fair.c, v6.1).
    pub fn task_util(&self, cpu: usize, task: TaskIx) -> u64 {
        self.cpu_loads[cpu].task_util(&self.task_loads[task as usize])
    }

    /// Load of a new task. Up to 4.6 its utilisation starts at 1024 (`init_entity_runnable_average()`, kernel/sched/fair.c, v4.5).
    pub fn new_task_load(&self, now: Ns) -> TaskLoad {
        let by_cpu = self.load_kind == CpuLoadKind::Average;
        TaskLoad::new(now, if by_cpu { TaskUtil::New } else { TaskUtil::Carried(weight::UNIT) })
    }

    /// Put an ordinary task on a CPU's queue.
    #[inline(always)]
    pub fn enqueue(&mut self, cpu: usize, task: TaskIx, how: Enqueue, now: Ns) {
        let sched_delayed = P::sched_delayed(&self.entities[task as usize]);
        self.policy.enqueue(&mut self.queues[cpu], &mut self.entities, task, how, now);
        if sched_delayed {
            return self.update_load_avg(cpu, task, now);
        }
        if self.load_kind != CpuLoadKind::Weights {
            let weight = self.weight(task);
            let change = self.cpu_loads[cpu].enqueue(&mut self.task_loads[task as usize], weight, now);
            self.update_group(cpu, change, now);
            self.apply_to_group(cpu, task, now, |load, task| load.enqueue(task, weight, now));
        }
    }

    /// Take a waiting ordinary task off its CPU's queue, to be enqueued on another CPU (`detach_task()`).
    #[inline]
    pub fn detach_task(&mut self, cpu: usize, task: TaskIx, now: Ns) {
        self.policy.dequeue(&mut self.queues[cpu], &mut self.entities, task, now);
        self.dequeue_load(cpu, task, now, CpuLoad::detach);
        self.sub_nr_running(cpu);
    }

    /// The current ordinary task of a CPU leaves its queue.
    #[inline]
    pub fn block(&mut self, cpu: usize, task: TaskIx, now: Ns) {
        self.policy.block(&mut self.queues[cpu], &mut self.entities, task, now);
        self.dequeue_load(cpu, task, now, CpuLoad::detach);
    }

    /// The current ordinary task of a CPU sleeps. While the task is still in the queue, its load grows.
    #[inline]
    pub fn sleep(&mut self, cpu: usize, task: TaskIx, now: Ns) {
        self.policy.sleep(&mut self.queues[cpu], &mut self.entities, task, now);
        if P::sched_delayed(&self.entities[task as usize]) {
            return self.update_load_avg(cpu, task, now);
        }
        if self.load_kind == CpuLoadKind::Runnable {
            self.dequeue_load(cpu, task, now, CpuLoad::detach_load);
        } else {
            self.dequeue_load(cpu, task, now, |_, _, _, _| Change::None);
        }
    }

    /// Update the averages of a CPU and of a task that leaves the queue; `detach` removes averages of the task from the CPU.
    #[inline]
    fn dequeue_load(
        &mut self,
        cpu: usize,
        task: TaskIx,
        now: Ns,
        detach: impl Fn(&mut CpuLoad, &mut TaskLoad, u64, Ns) -> Change,
    ) {
        if self.load_kind == CpuLoadKind::Weights {
            return;
        }
        let weight = self.weight(task);
        let task_load = &mut self.task_loads[task as usize];
        let dequeued = self.cpu_loads[cpu].dequeue(task_load, weight, now);
        let detached = detach(&mut self.cpu_loads[cpu], task_load, weight, now);
        let later = |dequeued, detached| if detached == Change::None { dequeued } else { detached };
        self.update_group(cpu, later(dequeued, detached), now);
        self.apply_to_group(cpu, task, now, |load, task| {
            later(load.dequeue(task, weight, now), detach(load, task, weight, now))
        });
    }

    /// Make the virtual time of a task that is on no queue independent of the queue of `cpu`, which the task has left, and remove
    /// the task's load from that CPU (`migrate_task_rq_fair()`, kernel/sched/fair.c, v4.5 to v6.12).
    #[inline]
    pub fn detach(&mut self, cpu: usize, task: TaskIx, now: Ns) {
        self.policy.detach(&self.queues[cpu], &mut self.entities, task);
        if self.load_kind != CpuLoadKind::Weights {
            let weight = self.weight(task);
            let change = self.cpu_loads[cpu].detach(&mut self.task_loads[task as usize], weight, now);
            self.update_group(cpu, change, now);
            self.apply_to_group(cpu, task, now, |load, task| load.detach(task, weight, now));
            self.update_load(cpu);
        }
    }

    /// Choose the next ordinary task of a CPU, see [`Policy::pick_next_task`]. The load of a sleeping task that leaves the queue no
    /// longer grows.
    #[inline(always)]
    pub fn pick_next_task(&mut self, cpu: usize, previous: Option<TaskIx>, now: Ns) -> Option<TaskIx> {
        let mut change = None;
        let (loads, load) = (&mut self.task_loads, &mut self.cpu_loads[cpu]);
        let left = |task, weight: u32| {
            let dequeued = load.dequeue(&mut loads[task as usize], weight.into(), now);
            change.get_or_insert(dequeued);
        };
        let next = self.policy.pick_next_task(&mut self.queues[cpu], &mut self.entities, previous, now, left);
        if let Some(change) = change {
            self.update_group(cpu, change, now);
            for task in P::leavers(&mut self.queues[cpu]) {
                let weight = self.weight(task);
                self.apply_to_group(cpu, task, now, |load, task| load.dequeue(task, weight, now));
            }
            self.update_load(cpu);
        }
        next
    }

    /// Update the averages of a CPU and of an ordinary task in its queue (`update_load_avg()`, kernel/sched/fair.c, v4.5 to v6.12). For
    /// sleepers that stay in the queue the kernel waits with the group's counts and shares until another update.
    pub fn update_load_avg(&mut self, cpu: usize, task: TaskIx, now: Ns) {
        if self.load_kind != CpuLoadKind::Weights {
            self.task_loads[task as usize].update(now, true);
            self.apply_to_group(cpu, task, now, |load, task| {
                task.update(now, true);
                load.update(now)
            });
            self.update_blocked_average(cpu, now);
        }
    }

    /// Update the average of a CPU, whose tasks may all sleep (`update_blocked_averages()`, kernel/sched/fair.c, v5.10).
    pub fn update_blocked_average(&mut self, cpu: usize, now: Ns) {
        if self.load_kind != CpuLoadKind::Weights {
            let change = self.cpu_loads[cpu].update(now);
            self.update_group(cpu, change, now);
            if P::GROUPS
                && let Some(groups) = &mut self.group_loads
            {
                groups.update(cpu, now);
                self.reweight_groups(cpu);
            }
            self.update_load(cpu);
        }
    }

    #[inline(always)]
    fn load(&self, cpu: usize) -> u64 {
        match self.load_kind {
            CpuLoadKind::Weights => P::load(&self.queues[cpu]),
            CpuLoadKind::Runnable | CpuLoadKind::Average => {
                if P::GROUPS
                    && let Some(groups) = &self.group_loads
                {
                    return groups.load(cpu);
                }
                self.group.as_ref().map_or_else(|| self.cpu_loads[cpu].load(), |group| group.load(cpu))
            }
        }
    }

    /// Update the load of a CPU and of its cache. Return the cache's sum.
    #[inline(always)]
    pub fn update_load(&mut self, cpu: usize) -> &mut Sum {
        let load = self.load(cpu);
        let before = std::mem::replace(&mut self.loads[cpu], load);
        let sum = &mut self.sums.caches[usize::from(self.sums.of_cpu[cpu])];
        sum.load = sum.load.wrapping_add(load.wrapping_sub(before));
        sum
    }

    /// Count a task that has been enqueued on a CPU (`add_nr_running()`, kernel/sched/sched.h, v4.5 to v6.12).
    #[inline]
    pub fn add_nr_running(&mut self, cpu: usize, topology: &Topology) {
        self.nr_running[cpu] += 1;
        let number = self.nr_running[cpu];
        let sum = self.update_load(cpu);
        sum.number += 1;
        if number == 1 {
            sum.idle -= 1;
            self.mark_busy(cpu, topology);
            return;
        }
        // Unconditional: a branch on `number == 2` would be mispredicted often.
        self.overloaded.insert(cpu);
        self.overload |= number == 2 && self.housekeeping.contains(cpu);
    }

    /// Count a task that has left the queue of a CPU (`sub_nr_running()`, kernel/sched/sched.h, v4.5 to v6.12). The CPU is
    /// marked idle later, after new-idle balancing.
    #[inline]
    pub fn sub_nr_running(&mut self, cpu: usize) {
        self.nr_running[cpu] -= 1;
        let number = self.nr_running[cpu];
        let sum = self.update_load(cpu);
        sum.number -= 1;
        sum.idle += u64::from(number == 0);
        self.overloaded.put(cpu, number > 1);
    }

    fn mark_busy(&mut self, cpu: usize, topology: &Topology) {
        self.idle.remove(cpu);
        if topology.threads > 1 {
            let core = topology.core_cpus(topology.core(cpu));
            self.idle_cores = self.idle_cores.without(core);
        }
    }

    /// Mark a CPU as idle.
    pub fn mark_idle(&mut self, cpu: usize, topology: &Topology) {
        self.idle.insert(cpu);
        if topology.threads > 1 {
            let core = topology.core_cpus(topology.core(cpu));
            if core.without(&self.idle).is_empty() {
                self.idle_cores = self.idle_cores.or(core);
            }
        }
    }

    /// CPUs of idle cores: `idle_cores` on machines with SMT, otherwise `idle`.
    #[inline]
    pub fn idle_cores(&self, topology: &Topology) -> &CpuMask {
        if topology.threads > 1 { &self.idle_cores } else { &self.idle }
    }

    /// Panic if a CPU's average differs from the sum of its tasks' averages. `tasks` are the living tasks, each with its CPU, and
    /// whether it is in the CPU's queue.
    #[cfg(any(debug_assertions, feature = "check"))]
    pub fn verify_loads(&self, now: Ns, tasks: impl Iterator<Item = (TaskIx, usize, bool)>) {
        let mut cpus = vec![(0, 0, 0); self.loads.len()];
        for (task, cpu, runnable) in tasks {
            let (mut load, weight) = (self.task_loads[task as usize], self.weight(task));
            if load.is_attached() {
                load.update(now, runnable);
                let sum = &mut cpus[cpu];
                *sum = (sum.0 + load.at_weight(weight), sum.1 + weight, sum.2 + 1);
            }
        }
        for (cpu, (sum, weights, number)) in cpus.into_iter().enumerate() {
            let mut load = self.cpu_loads[cpu];
            load.update(now);
            // A part of the present period, about a 47th of the average, may be in one average and not yet in another.
            let apart = weights / 20 + 2 * number + 8;
            assert!(
                load.load().abs_diff(sum) <= apart,
                "load {} of CPU {cpu}, {sum} of its tasks",
                load.load()
            );
        }
    }

    /// Panic if a cache's sum differs from the sum over its CPUs.
    #[cfg(any(debug_assertions, feature = "check"))]
    pub fn verify_sums(&self, topology: &Topology) {
        let mut caches = vec![Sum::default(); self.sums.caches.len()];
        for cpu in 0..topology.cpus() {
            let (number, load) = (self.nr_running[cpu].into(), self.loads[cpu]);
            let cache = if self.housekeeping.contains(cpu) { topology.cache(cpu) } else { caches.len() - 1 };
            caches[cache].add(&Sum { width: 1, number, load, idle: u64::from(number == 0) });
            if self.load_kind != CpuLoadKind::Weights {
                let weight = P::load(&self.queues[cpu]);
                assert_eq!(self.cpu_loads[cpu].weight(), weight, "weights of CPU {cpu}");
            }
            assert_eq!(load, self.load(cpu), "load of CPU {cpu}");
        }
        assert_eq!(*self.sums.caches, caches, "sums by cache");
    }
}

#[cfg(test)]
#[path = "../../tests/unit/sched/runqueues.rs"]
mod tests;

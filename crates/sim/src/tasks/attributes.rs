//! Scheduling attributes of a program's groups, and their changes by a task (sched_setattr(2)).

use schedlab_workload::program::{Attributes as Wanted, Policy};

use crate::balance::KernelPolicy;
use crate::engine::Engine;
use crate::ledger::Account;
use crate::machine::CpuMask;
use crate::observe::Observer;
use crate::sched::{Budget, DlEntity, Enqueue, TaskIx, weight};
use crate::tasks::exec::Progress;
use crate::tasks::{Class, Task};
use crate::time::Ns;

/// Default priority of a real-time task: the lowest (sched(7)).
const LOWEST: i32 = 1;

/// Scheduling of a group's tasks, which children inherit.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Attributes {
    /// Scheduling class.
    pub class: Class,
    /// Nice value, −20 to 19.
    pub nice: i32,
    /// CPUs that the tasks may run on; by default all CPUs that are not isolated.
    pub cpus: Option<CpuMask>,
    /// Times of [`Class::Deadline`], which needs them.
    pub budget: Option<Budget>,
    /// Slice (`sched_attr::sched_runtime` under EEVDF); by default the kernel's slice.
    pub slice_ns: Option<Ns>,
    /// Footprint in the caches; by default the machine's footprint.
    pub footprint_kib: Option<u32>,
    /// Control group of the tasks, see [`Config::control_groups`](crate::Config::control_groups); by default none.
    pub control_group: Option<String>,
    /// Node of the tasks' memory; by default the node of the first touch.
    pub memory_node: Option<usize>,
}

impl<P: KernelPolicy, O: Observer> Engine<'_, P, O> {
    /// Begin [`schedlab_workload::Step::Set`]: change the attributes, and report the CPU to which the task moves.
    pub(super) fn begin_set(&mut self, cpu: usize, task: TaskIx, number: u32) -> Progress {
        let wanted = self.tasks.cursors[task as usize].attributes(number);
        self.book(cpu, Account::Syscall, self.costs.syscall);
        match self.change(task, wanted) {
            Err(reason) => Progress::Failed(reason),
            Ok(false) if self.tasks.allowed(task).contains(cpu) => Progress::Done,
            Ok(requeued) => {
                let allowed = *self.tasks.allowed(task);
                let target = if allowed.contains(cpu) { Some(cpu) } else { allowed.lowest() };
                Progress::Changed { target: target.unwrap_or(cpu) as u16, requeued }
            }
        }
    }

    /// Store the new attributes and return whether the task must be queued anew.
    ///
    /// The new class is in [`Task::next_class`] until [`Engine::change_current`] queues the task.
    fn change(&mut self, task: TaskIx, wanted: &Wanted) -> Result<bool, String> {
        if wanted.group.as_ref().is_some_and(|group| group != "/") {
            return Err("task groups are not simulated".to_owned());
        }
        if let Some(cpus) = &wanted.cpus {
            let mask = self.wanted_cpus(task, cpus)?;
            self.tasks[task].mask = self.tasks.mask(&mask);
            if P::GROUPS {
                self.restrict(task, mask);
            }
        }
        if let Some(nodes) = &wanted.nodes {
            self.tasks[task].memory_node = self.wanted_node(nodes)?;
        }
        let class = wanted_class(&self.tasks[task], wanted)?;
        let rebudgeted = class.is_deadline() && self.change_budget(task, wanted)?;
        let changed = &mut self.tasks[task];
        let nice = wanted.priority.filter(|_| class.realtime().is_none()).unwrap_or(changed.nice.into());
        // sched_setattr() resets a slice that it is not given (`__setparam_fair()`, kernel/sched/syscalls.c, v6.12).
        let slice = match wanted.runtime_ns.filter(|_| matches!(class, Class::Normal | Class::Batch)) {
            None if !calls_sched_setattr(wanted) => changed.slice_ns,
            slice => slice,
        };
        let requeued = rebudgeted
            || class != changed.class
            || nice != i32::from(changed.nice)
            || slice != changed.slice_ns;
        (changed.next_class, changed.slice_ns, changed.nice) = (class, slice, nice as i8);
        Ok(requeued)
    }

    /// Give a task the budget that `wanted` asks for. Return whether the budget has changed.
    fn change_budget(&mut self, task: TaskIx, wanted: &Wanted) -> Result<bool, String> {
        let before = self.deadlines.budget(task);
        let after = match before.filter(|_| !calls_sched_setattr(wanted)) {
            Some(budget) => budget,
            None => {
                let runtime_ns = wanted.runtime_ns.or(before.map(|budget| budget.runtime_ns)).unwrap_or(0);
                let deadline_ns = wanted.deadline_ns.unwrap_or(runtime_ns);
                Budget { runtime_ns, deadline_ns, period_ns: wanted.period_ns.unwrap_or(deadline_ns) }
            }
        };
        self.check_dl_task(task, after)?;
        if before != Some(after) {
            self.update_curr(self.tasks[task].cpu.into());
            self.deadlines.entities.insert(task, DlEntity::new(after));
        }
        Ok(before != Some(after))
    }

    fn wanted_cpus(&self, task: TaskIx, cpus: &[u32]) -> Result<CpuMask, String> {
        if cpus.is_empty() {
            let settings = &self.world.settings[self.world.plan.task(self.tasks[task].ordinal).group];
            return Ok(settings.cpus.unwrap_or(self.rq.housekeeping));
        }
        let mut mask = CpuMask::EMPTY;
        for cpu in cpus {
            if *cpu as usize >= self.cpus.len() {
                return Err(format!("CPU {cpu} does not exist: the machine has {}", self.cpus.len()));
            }
            mask.insert(*cpu as usize);
        }
        Ok(mask)
    }

    fn wanted_node(&self, nodes: &[u32]) -> Result<Option<u8>, String> {
        let count = self.world.machine.nodes();
        if let Some(node) = nodes.iter().find(|node| **node as usize >= count) {
            return Err(format!("node {node} does not exist: the machine has {count}"));
        }
        match nodes {
            [node] => Ok(Some(*node as u8)),
            _ if (0..count as u32).all(|node| nodes.contains(&node)) => Ok(None),
            _ => Err("memory from several nodes, but not from all, is not simulated".to_owned()),
        }
    }

    /// Move the current task of a CPU to `target`, and queue the task by its new attributes if `requeued`.
    pub(super) fn change_current(&mut self, cpu: usize, target: usize, requeued: bool) {
        let task = self.cpus[cpu].current;
        if !requeued {
            return self.move_current(cpu, target);
        }
        self.take_current(cpu);
        if target != cpu {
            self.note_move(task, cpu, target);
            self.lock_queue(cpu, target);
        }
        let changed = &mut self.tasks[task];
        if changed.class.is_deadline() && !changed.next_class.is_deadline() {
            self.deadlines.entities.remove(&task);
        }
        changed.class = changed.next_class;
        let share = weight_of(changed.class, changed.nice.into());
        self.rq.entities[task as usize] = self.rq.policy.entity(share, changed.nice.into(), changed.slice_ns);
        self.rq.policy.task_fork(&self.rq.queues[target], &mut self.rq.entities, None, task, self.time.now);
        if self.stats.on {
            self.stats_enqueue(cpu, task);
        }
        self.activate_task(target, task, Enqueue::New);
        if target != cpu {
            self.check_preempt_curr(cpu, target, task);
        }
    }
}

/// Whether a change calls sched_setattr(2).
fn calls_sched_setattr(wanted: &Wanted) -> bool {
    wanted.policy.is_some() || wanted.priority.is_some() || wanted.runtime_ns.is_some()
}

/// Load weight of a class and nice value.
pub(super) fn weight_of(class: Class, nice: i32) -> u32 {
    if class == Class::Idle { weight::IDLE } else { weight::of_nice(nice) }
}

/// Class that corresponds to the requested policy and priority.
fn wanted_class(task: &Task, wanted: &Wanted) -> Result<Class, String> {
    let priority = |default: i32| wanted.priority.unwrap_or(default).clamp(1, 99) as u8;
    Ok(match (wanted.policy, task.class) {
        (Some(Policy::Deadline), _) => Class::Deadline,
        (Some(Policy::Other), _) => Class::Normal,
        (Some(Policy::Batch), _) => Class::Batch,
        (Some(Policy::Idle), _) => Class::Idle,
        (Some(Policy::Fifo), _) => Class::Fifo(priority(LOWEST)),
        (Some(Policy::Rr), _) => Class::RoundRobin(priority(LOWEST)),
        (None, Class::Fifo(now)) => Class::Fifo(priority(now.into())),
        (None, Class::RoundRobin(now)) => Class::RoundRobin(priority(now.into())),
        (None, class) => class,
    })
}

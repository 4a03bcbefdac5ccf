//! A task changes how it is scheduled.

use schedlab_workload::program::{Attributes, Policy as Wanted};

use crate::balance::KernelPolicy;
use crate::engine::Engine;
use crate::ledger::Account;
use crate::machine::CpuMask;
use crate::observe::Observer;
use crate::sched::{Enqueue, TaskIx, weight};
use crate::tasks::exec::Begun;
use crate::tasks::{Class, Task};

/// Priority of a real-time task that is given none: the lowest (sched(7)).
const LOWEST: i32 = 1;

impl<P: KernelPolicy, O: Observer> Engine<'_, P, O> {
    pub(super) fn begin_set(&mut self, cpu: usize, task: TaskIx, number: u32) -> Begun {
        let wanted = self.tasks.cursors[task as usize].attributes(number);
        self.book(cpu, Account::Syscall, self.costs.syscall);
        match self.change(task, wanted) {
            Err(reason) => Begun::Failed(reason),
            Ok(false) if self.tasks.allowed(task).contains(cpu) => Begun::Done,
            Ok(requeued) => {
                let allowed = *self.tasks.allowed(task);
                let target = if allowed.contains(cpu) { Some(cpu) } else { allowed.lowest() };
                Begun::Changed { target: target.unwrap_or(cpu) as u16, requeued }
            }
        }
    }

    /// Writes the new attributes down; whether the task's place in its queue changes, its class being [`Task::next_class`]
    /// until then.
    fn change(&mut self, task: TaskIx, wanted: &Attributes) -> Result<bool, String> {
        if wanted.group.as_ref().is_some_and(|group| group != "/") {
            return Err("task groups are not simulated".to_owned());
        }
        if let Some(cpus) = &wanted.cpus {
            let mask = self.wanted_cpus(task, cpus)?;
            self.tasks[task].mask = self.tasks.mask(&mask);
        }
        if let Some(nodes) = &wanted.nodes {
            self.tasks[task].memory_node = self.wanted_node(nodes)?;
        }
        let it = &mut self.tasks[task];
        let class = wanted_class(it, wanted)?;
        let nice = wanted.priority.filter(|_| class.realtime().is_none()).unwrap_or(it.nice.into());
        let slice = wanted.runtime_ns.filter(|_| matches!(class, Class::Normal | Class::Batch));
        let requeued = class != it.class || nice != i32::from(it.nice) || slice.is_some();
        (it.next_class, it.next_slice, it.nice) = (class, slice, nice as i8);
        Ok(requeued)
    }

    fn wanted_cpus(&self, task: TaskIx, cpus: &[u32]) -> Result<CpuMask, String> {
        if cpus.is_empty() {
            let settings = &self.world.settings[self.world.plan.task(self.tasks[task].ordinal).group];
            return Ok(settings.mask.unwrap_or(self.rq.housekeeping));
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
            _ => Err("memory from some nodes, but neither one nor all, is not simulated".to_owned()),
        }
    }

    /// The current task of a CPU goes to another one, or to its place by its new attributes.
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
        let it = &mut self.tasks[task];
        it.class = it.next_class;
        let share = if it.class == Class::Idle { weight::IDLE } else { weight::of_nice(it.nice.into()) };
        self.rq.sums.note_weight(share);
        self.rq.entities[task as usize] = self.rq.policy.entity(share, it.nice.into(), it.next_slice);
        self.rq.policy.task_fork(&self.rq.queues[target], &mut self.rq.entities, None, task, self.time.now);
        if self.stats.on {
            self.stats_enqueue(cpu, task);
        }
        self.activate_task(target, task, Enqueue::New);
        if target != cpu {
            self.check_preempt(cpu, target, task);
        }
    }
}

fn wanted_class(task: &Task, wanted: &Attributes) -> Result<Class, String> {
    let priority = |default: i32| wanted.priority.unwrap_or(default).clamp(1, 99) as u8;
    Ok(match (wanted.policy, task.class) {
        (Some(Wanted::Deadline), _) => return Err("SCHED_DEADLINE is not simulated".to_owned()),
        (Some(Wanted::Other), _) => Class::Normal,
        (Some(Wanted::Batch), _) => Class::Batch,
        (Some(Wanted::Idle), _) => Class::Idle,
        (Some(Wanted::Fifo), _) => Class::Fifo(priority(LOWEST)),
        (Some(Wanted::Rr), _) => Class::RoundRobin(priority(LOWEST)),
        (None, Class::Fifo(now)) => Class::Fifo(priority(now.into())),
        (None, Class::RoundRobin(now)) => Class::RoundRobin(priority(now.into())),
        (None, class) => class,
    })
}

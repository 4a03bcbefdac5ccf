//! A checked program with its tasks and resources numbered.

use std::collections::BTreeSet;

use crate::check::ends::{End, traffic};
use crate::check::range::{Flaw, Variables, of};
use crate::check::{self, Visit, walk};
use crate::error::ProgramError;
use crate::program::{Op, Program, Resource, Scope, TaskGroup};

/// A program that passed all checks. Tasks and resource instances have dense numbers from 0.
#[derive(Debug, Clone)]
pub struct Plan {
    program: Program,
    group_starts: Vec<u32>,
    tasks_per_replica: u32,
    numbers: Numbers,
}

/// Declare the kinds of resources that are numbered: a field of `Numbers` and a function of [`Plan`] for each.
macro_rules! numbered {
    ($($(#[$documentation:meta])* $kind:ident,)*) => {
        #[derive(Debug, Clone)]
        struct Numbers {
            $($kind: Numbering,)*
        }

        impl Numbers {
            fn new(program: &Program, tasks: u32) -> Self {
                Self { $($kind: Numbering::new(&program.resources.$kind, program.replicas, tasks),)* }
            }
        }

        impl Plan {
            $($(#[$documentation])* pub fn $kind(&self) -> &Numbering {
                &self.numbers.$kind
            })*
        }
    };
}

numbered! {
    /// Numbering of channels.
    channels,
    /// Numbering of locks.
    locks,
    /// Numbering of semaphores.
    semaphores,
    /// Numbering of barriers.
    barriers,
    /// Numbering of conditions.
    conditions,
    /// Numbering of files.
    files,
    /// Numbering of regions.
    regions,
    /// Numbering of slots.
    slots,
}

/// A task, by its place in the program.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct TaskId {
    /// Replica, from 0.
    pub replica: u32,
    /// Position of its group in [`Program::groups`].
    pub group: usize,
    /// Index within group and replica, from 0.
    pub index: u32,
    /// Position in the order of creation, from 0.
    pub ordinal: u32,
}

impl Plan {
    /// Check `program` and number its parts. The error names the first fault.
    pub fn new(program: Program) -> Result<Self, ProgramError> {
        check::program(&program)?;
        let mut group_starts = Vec::new();
        let mut tasks_per_replica = 0;
        for group in &program.groups {
            group_starts.push(tasks_per_replica);
            tasks_per_replica += group.count;
        }
        let tasks = tasks_per_replica * program.replicas;
        let numbers = Numbers::new(&program, tasks);
        Ok(Self { program, group_starts, tasks_per_replica, numbers })
    }

    /// The program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Number of tasks.
    pub fn task_count(&self) -> u32 {
        self.tasks_per_replica * self.program.replicas
    }

    /// Number of tasks whose CPU time counts in metrics.
    pub fn counted_tasks(&self) -> u32 {
        self.count(TaskGroup::counts)
    }

    /// Number of tasks that the run waits for.
    pub fn awaited_tasks(&self) -> u32 {
        self.count(|group| !group.background)
    }

    fn count(&self, counts: impl Fn(&TaskGroup) -> bool) -> u32 {
        let groups = self.program.groups.iter().filter(|group| counts(group));
        groups.map(|group| group.count).sum::<u32>() * self.program.replicas
    }

    /// All tasks in the order of creation: replica by replica, group by group.
    pub fn tasks(&self) -> impl Iterator<Item = TaskId> + '_ {
        (0..self.task_count()).map(|ordinal| self.task(ordinal))
    }

    /// The task at a position in the order of creation; `ordinal` is less than [`Plan::task_count`].
    pub fn task(&self, ordinal: u32) -> TaskId {
        let within = ordinal % self.tasks_per_replica;
        let group = self.group_starts.partition_point(|start| *start <= within) - 1;
        TaskId {
            replica: ordinal / self.tasks_per_replica,
            group,
            index: within - self.group_starts[group],
            ordinal,
        }
    }

    /// The task in the same place of another replica.
    pub(crate) fn in_replica(&self, task: TaskId, replica: u32) -> TaskId {
        TaskId {
            replica,
            ordinal: task.ordinal % self.tasks_per_replica + replica * self.tasks_per_replica,
            ..task
        }
    }

    /// The group of a task.
    pub fn group(&self, task: TaskId) -> &TaskGroup {
        &self.program.groups[task.group]
    }

    /// Name of a task in messages, such as `sender 3 of replica 0`.
    pub fn describe(&self, task: TaskId) -> String {
        let name = &self.group(task).name;
        if self.program.replicas == 1 {
            return format!("{name} {}", task.index);
        }
        format!("{name} {} of replica {}", task.index, task.replica)
    }

    /// Channel ends that a task may use, each once, ascending. Where an index is drawn or depends on a loop, all instances
    /// between its least and greatest value count as used.
    pub fn channel_ends(&self, task: TaskId) -> Vec<Use> {
        let channels = &self.program.resources.channels;
        let mut uses = BTreeSet::new();
        self.walk(task, |visit| {
            let Some((channel, end)) = traffic(visit.op) else { return Ok(()) };
            let indices = of(&channel.index, visit.variables)?;
            if let Some(position) = channels.iter().position(|each| each.name == channel.name) {
                for index in indices.low..=indices.high {
                    uses.insert(Use { channel: self.channels().instance(position, task, index as u32), end });
                }
            }
            Ok(())
        });
        uses.into_iter().collect()
    }

    /// Size of the largest message that a task can send, and can receive, in bytes.
    pub fn largest_message(&self, task: TaskId) -> (u64, u64) {
        let (mut sent, mut received) = (0, 0);
        self.walk(task, |visit| {
            let high = |bytes| of(bytes, visit.variables).map(|range| range.high);
            match visit.op {
                Op::Send { bytes, .. } => sent = sent.max(high(bytes)?),
                Op::Receive { bytes, .. } => received = received.max(high(bytes)?),
                _ => {}
            }
            Ok(())
        });
        (sent, received)
    }

    /// Visit every operation of a task's body.
    pub(crate) fn walk(&self, task: TaskId, mut visit: impl FnMut(Visit<'_>) -> Result<(), Flaw>) {
        let mut variables = Variables::exactly(task.index, task.replica);
        let walked = walk(&self.group(task).body, &mut variables, &mut visit);
        debug_assert!(walked.is_ok(), "a plan's bodies have been checked");
    }
}

/// A channel end that a task may use, by the channel's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Use {
    /// Number of the channel instance.
    pub channel: u32,
    /// End of the instance.
    pub end: End,
}

/// Dense numbers for the instances of one kind of resource.
#[derive(Debug, Clone)]
pub struct Numbering {
    entries: Vec<Entry>,
    total: u32,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    base: u32,
    count: u32,
    scope: Scope,
}

impl Numbering {
    fn new<R: Resource>(resources: &[R], replicas: u32, tasks: u32) -> Self {
        let mut total = 0;
        let entries = resources
            .iter()
            .map(|resource| {
                let (count, scope) = (resource.count(), resource.scope());
                let entry = Entry { base: total, count, scope };
                total += count * scope.copies(replicas, tasks);
                entry
            })
            .collect();
        Self { entries, total }
    }

    /// Number of instances.
    pub fn total(&self) -> u32 {
        self.total
    }

    /// Number of the instance that `task` addresses by `index` of the resource at `position` in its list.
    pub fn instance(&self, position: usize, task: TaskId, index: u32) -> u32 {
        let entry = self.entries[position];
        let copy = match entry.scope {
            Scope::Task => task.ordinal,
            Scope::Replica => task.replica,
            Scope::Program => 0,
        };
        entry.base + copy * entry.count + index
    }

    /// Position in the resource list of the definition that an instance comes from.
    pub fn position(&self, instance: u32) -> usize {
        self.entries.partition_point(|entry| entry.base <= instance) - 1
    }
}

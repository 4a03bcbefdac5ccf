//! A checked program with its tasks and resources numbered.

use crate::check::{self, ends};
use crate::error::ProgramError;
use crate::program::{Program, Resource, Scope, TaskGroup};

/// A program that passed all checks. Tasks and resource instances have dense numbers from 0.
#[derive(Debug, Clone)]
pub struct Plan {
    program: Program,
    group_starts: Vec<u32>,
    tasks_per_replica: u32,
    numbers: Numbers,
}

/// Numbering of all instances of each kind of resource.
#[derive(Debug, Clone)]
struct Numbers {
    channels: Numbering,
    locks: Numbering,
    semaphores: Numbering,
    barriers: Numbering,
    conditions: Numbering,
    files: Numbering,
    regions: Numbering,
    slots: Numbering,
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
    /// Checks `program` and numbers its parts. The error names the first fault.
    pub fn new(program: Program) -> Result<Self, ProgramError> {
        check::program(&program)?;
        let mut group_starts = Vec::new();
        let mut tasks_per_replica = 0;
        for group in &program.groups {
            group_starts.push(tasks_per_replica);
            tasks_per_replica += group.count;
        }
        let tasks = tasks_per_replica * program.replicas;
        let r = &program.resources;
        let numbers = Numbers {
            channels: Numbering::new(&r.channels, program.replicas, tasks),
            locks: Numbering::new(&r.locks, program.replicas, tasks),
            semaphores: Numbering::new(&r.semaphores, program.replicas, tasks),
            barriers: Numbering::new(&r.barriers, program.replicas, tasks),
            conditions: Numbering::new(&r.conditions, program.replicas, tasks),
            files: Numbering::new(&r.files, program.replicas, tasks),
            regions: Numbering::new(&r.regions, program.replicas, tasks),
            slots: Numbering::new(&r.slots, program.replicas, tasks),
        };
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

    /// Channel ends that a task may use, each once, ascending; see [`ends::Use`].
    pub fn channel_ends(&self, task: TaskId) -> Vec<ends::Use> {
        ends::of_task(self, task)
    }

    /// Numbering of channels.
    pub fn channels(&self) -> &Numbering {
        &self.numbers.channels
    }

    /// Numbering of locks.
    pub fn locks(&self) -> &Numbering {
        &self.numbers.locks
    }

    /// Numbering of semaphores.
    pub fn semaphores(&self) -> &Numbering {
        &self.numbers.semaphores
    }

    /// Numbering of barriers.
    pub fn barriers(&self) -> &Numbering {
        &self.numbers.barriers
    }

    /// Numbering of conditions.
    pub fn conditions(&self) -> &Numbering {
        &self.numbers.conditions
    }

    /// Numbering of files.
    pub fn files(&self) -> &Numbering {
        &self.numbers.files
    }

    /// Numbering of regions.
    pub fn regions(&self) -> &Numbering {
        &self.numbers.regions
    }

    /// Numbering of slots.
    pub fn slots(&self) -> &Numbering {
        &self.numbers.slots
    }
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
                total += count * copies(scope, replicas, tasks);
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

/// Sets of instances that a scope has.
pub(crate) fn copies(scope: Scope, replicas: u32, tasks: u32) -> u32 {
    match scope {
        Scope::Task => tasks,
        Scope::Replica => replicas,
        Scope::Program => 1,
    }
}

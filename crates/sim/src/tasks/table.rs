//! The table of tasks.

use std::ops::{Index, IndexMut};

use schedlab_workload::Cursor;

use super::{Latencies, Script, Task};
use crate::machine::CpuMask;
use crate::sched::TaskIx;
use crate::table::Table;

/// All tasks. Entries of dead tasks are reused.
pub(crate) struct Tasks<'c> {
    pub table: Table<Task>,
    pub scripts: Table<Script>,
    /// Position of each task in its program; unused for tasks that run no program.
    pub cursors: Vec<Cursor<'c>>,
    pub latencies: Table<Latencies>,
    /// Entries of dead tasks.
    pub free: Vec<TaskIx>,
    /// Affinity masks. The first mask allows every CPU that takes part in balancing.
    masks: Vec<CpuMask>,
    /// Number of tasks that have not ended, kernel threads aside.
    pub alive: usize,
    /// Number of tasks that wait for another task.
    pub blocked: usize,
}

impl<'c> Tasks<'c> {
    /// An empty table with places for `capacity` tasks; `housekeeping` are the CPUs that take part in balancing.
    pub fn new(housekeeping: CpuMask, capacity: usize) -> Self {
        Self {
            // SAFETY: task indices come from `insert`, which adds an entry to every table for a new index.
            table: unsafe { Table::trusted(Vec::with_capacity(capacity)) },
            // SAFETY: as above.
            scripts: unsafe { Table::trusted(Vec::with_capacity(capacity)) },
            cursors: Vec::with_capacity(capacity),
            // SAFETY: as above.
            latencies: unsafe { Table::trusted(Vec::with_capacity(capacity)) },
            free: Vec::new(),
            masks: vec![housekeeping],
            alive: 0,
            blocked: 0,
        }
    }

    /// Add a task and return its index.
    pub fn insert(&mut self, task: Task, script: Script, cursor: Cursor<'c>) -> TaskIx {
        if let Some(free) = self.free.pop() {
            let at = free as usize;
            self.table[at] = task;
            self.scripts[at] = script;
            self.cursors[at] = cursor;
            self.latencies[at] = Latencies::default();
            return free;
        }
        self.table.push(task);
        self.scripts.push(script);
        self.cursors.push(cursor);
        self.latencies.push(Latencies::default());
        self.table.len() as TaskIx - 1
    }

    /// Index of an affinity mask, which is added if the mask is new.
    pub fn mask(&mut self, mask: &CpuMask) -> u16 {
        let position = self.masks.iter().position(|other| other == mask);
        position.unwrap_or_else(|| {
            self.masks.push(*mask);
            self.masks.len() - 1
        }) as u16
    }

    /// CPUs that a task may run on.
    #[inline]
    pub fn allowed(&self, task: TaskIx) -> &CpuMask {
        &self.masks[usize::from(self[task].mask)]
    }

    /// Whether a task may run on every CPU that takes part in balancing.
    #[inline]
    pub fn is_unbound(&self, task: TaskIx) -> bool {
        self[task].mask == 0
    }

    /// Number of entries, including entries of dead tasks.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// All entries, including entries of dead tasks.
    #[cfg(debug_assertions)]
    pub fn iter(&self) -> impl Iterator<Item = (TaskIx, &Task)> {
        self.table.iter().enumerate().map(|(at, task)| (at as TaskIx, task))
    }
}

impl Index<TaskIx> for Tasks<'_> {
    type Output = Task;

    #[inline(always)]
    fn index(&self, task: TaskIx) -> &Task {
        &self.table[task as usize]
    }
}

impl IndexMut<TaskIx> for Tasks<'_> {
    #[inline(always)]
    fn index_mut(&mut self, task: TaskIx) -> &mut Task {
        &mut self.table[task as usize]
    }
}

//! A task's share of the scheduler, and a CPU's runqueue.

use super::array::{Arrays, NodeIx};
use super::switch::SwitchLock;
use crate::sched::{NOBODY, TaskIx};

/// Marker for a task that is in no list.
pub(super) const NOT_QUEUED: NodeIx = NodeIx::MAX;

/// Origin of a task in its queue, which decides whether the task may preempt the current task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Arrival {
    /// Activated with the usual comparison of priorities.
    #[default]
    Activated,
    /// Woken by a task that is about to sleep. Under patch 05 such a wake-up does not preempt.
    Synchronous,
    /// Forked: the parent reschedules, and the first task of the best list runs.
    Born,
    /// Pulled by balancing.
    Pulled,
}

/// A task's share of the scheduler.
#[derive(Debug, Clone)]
pub struct Entity {
    pub(super) node: NodeIx,
    /// Parent of a new task, until the task is first enqueued.
    pub(super) parent: TaskIx,
    /// Remaining ticks of the slice.
    pub(super) slice: u32,
    /// Ticks slept minus ticks run, from 0 to `MAX_SLEEP_AVG`.
    pub(super) sleep_avg: u32,
    /// Tick in which the task last gave up a CPU.
    pub(super) last_run: u64,
    pub(super) static_priority: u8,
    pub(super) priority: u8,
    /// The task is in the slice from its fork.
    pub(super) first_slice: bool,
    pub(super) arrival: Arrival,
}

impl Default for Entity {
    fn default() -> Self {
        Self {
            node: NOT_QUEUED,
            parent: NOBODY,
            slice: 1,
            sleep_avg: 0,
            last_run: 0,
            static_priority: 120,
            priority: 120,
            first_slice: false,
            arrival: Arrival::Activated,
        }
    }
}

impl Entity {
    /// Priority with the bonus, from 100 to 139. Lower numbers are better.
    pub fn priority(&self) -> u8 {
        self.priority
    }

    /// Remaining ticks of the slice.
    pub fn slice(&self) -> u32 {
        self.slice
    }

    /// Ticks slept minus ticks run.
    pub fn sleep_avg(&self) -> u32 {
        self.sleep_avg
    }
}

/// A CPU's runqueue.
#[derive(Debug, Clone, Default)]
pub struct Queue {
    pub(super) arrays: Arrays,
    /// Index of the active array.
    pub(super) active: u8,
    /// Tick at which the first task expired since the arrays last changed places (`expired_timestamp`).
    pub(super) expired_since: Option<u64>,
    pub(super) current: Option<TaskIx>,
    pub(super) switch_lock: SwitchLock,
    pub(crate) balance: BalanceMemory,
}

/// State that a CPU keeps about the other CPUs between balancing passes.
#[derive(Debug, Clone, Default)]
pub(crate) struct BalanceMemory {
    /// Number of tasks of each CPU at the previous pass (`prev_nr_running`).
    pub nr_running: Vec<u32>,
    /// Load of each node; each pass adds half of the previous load (`prev_node_load`).
    pub node_load: Vec<u32>,
    /// Balancing passes since the last pass over another node (`nr_balanced`).
    pub nr_balanced: u64,
}

impl Queue {
    /// Whether a waiting or current task is in the expired array.
    pub fn has_expired(&self, entity: &Entity) -> bool {
        entity.node != NOT_QUEUED && self.arrays.node(entity.node).array != self.active
    }

    pub(super) fn number(&self) -> u32 {
        self.arrays.number(0) + self.arrays.number(1)
    }
}

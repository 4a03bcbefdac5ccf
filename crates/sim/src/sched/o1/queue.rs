//! A CPU's runqueue.

use super::array::Arrays;
use super::entity::{Entity, NOT_QUEUED};
use super::switch::SwitchLock;
use crate::sched::TaskIx;

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

//! Balancing of 2.5.59: every CPU for itself, by its own ticks, comparing numbers of tasks.
//!
//! ```text
//! ticks   an idle CPU looks every millisecond, a busy one every 250 ms, one that is about to idle at once
//! queues  the busiest queue of a set of CPUs, and which of its tasks are pulled
//! nodes   every so many looks the set is another node's CPUs; which CPU an executing task goes to
//! ```
//! New tasks stay on their parent's CPU. Real-time tasks that wait are not pulled (they are the core's here).

mod nodes;
mod queues;
mod ticks;

/// What each CPU remembers of the others from look to look; empty under other kernels.
#[derive(Debug, Clone, Default)]
pub(crate) struct Memories {
    cpus: usize,
    nodes: usize,
    /// By own CPU × CPUs + other: tasks that it had then (`prev_nr_running`).
    running: Vec<u32>,
    /// By own CPU × nodes + node: load, each look's remainder halved by the next (`prev_node_load`).
    node_load: Vec<u32>,
    /// Looks since the last one at other nodes (`nr_balanced`).
    looks: Vec<u64>,
}

impl Memories {
    pub fn new(policy: crate::kernel::PolicyKind, cpus: usize, nodes: usize) -> Self {
        if policy != crate::kernel::PolicyKind::O1 {
            return Self::default();
        }
        Self {
            cpus,
            nodes,
            running: vec![0; cpus * cpus],
            node_load: vec![0; cpus * nodes],
            looks: vec![0; cpus],
        }
    }
}

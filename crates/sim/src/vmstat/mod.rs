//! Virtual memory's statistics: counters of each CPU's own, and the workers that fold them into those of all.
//!
//! ```text
//! CPU 0 [ +3  −1  0 ]     CPU 1 [ 0  0  0 ]     CPU 2 [ −7  0  16 ]      differentials: one line a CPU and zone
//!           │ worker, each interval                        │ over the threshold: at once
//!           ▼                                              ▼
//!         zone of node 0 [ … ]                     zone of node 1 [ … ]
//!                       └──────────► global [ … ] ◄──────────┘
//! ```
//! The true count is at every moment the global one and all differentials together. Who folds when:
//!
//! * *periodic* (Linux 2.6.18 to 3.17): a worker on every CPU, each `vm.stat_interval`. Its timer is deferrable: an idle
//!   CPU is not woken for it, but runs it with its next tick.
//! * *shepherd* (since 3.18; the report "vmstat: on-demand vmstat workers V8"): one worker looks each interval for CPUs
//!   with differentials and starts a worker there, which goes on by itself until it finds nothing to fold. A CPU whose
//!   counters do not change is left alone.
//!
//! [`counts`] is the arithmetic, [`workers`] what the machine does about it.

mod counts;
mod report;
mod workers;

pub use counts::Item;
pub use report::{ItemReport, VmstatCounters};

pub(crate) use workers::Duty;

use counts::Counts;
use workers::Workers;

/// Statistics of virtual memory, and the workers that fold them.
#[derive(Debug)]
pub(crate) struct Vmstat {
    pub counts: Counts,
    pub workers: Workers,
}

impl Vmstat {
    /// Counters of a machine on which no task runs. `folds`: the kernel keeps differentials and folds them.
    pub fn new(cpus: usize, nodes: usize, node_mib: u64, folds: bool) -> Self {
        Self { counts: Counts::new(cpus, nodes, node_mib, folds), workers: Workers::new(cpus, folds) }
    }
}

//! Statistics of virtual memory: differentials of each CPU, and the workers that fold differentials into global
//! counters.
//!
//! ```text
//! CPU 0 [ +3  −1  0 ]     CPU 1 [ 0  0  0 ]     CPU 2 [ −7  0  16 ]      differentials: one line a CPU and zone
//!           │ worker, each interval                        │ above the threshold: at once
//!           ▼                                              ▼
//!         zone of node 0 [ … ]                     zone of node 1 [ … ]
//!                       └──────────► global [ … ] ◄──────────┘
//! ```
//! At every moment the true count is the sum of the global counter and all differentials. Kernels fold the differentials in
//! two ways:
//!
//! * *periodic* (Linux 2.6.18 to 3.17): a worker runs on every CPU once per `vm.stat_interval`. The worker's timer is
//!   deferrable: the timer does not wake an idle CPU, but fires at the CPU's next tick.
//! * *shepherd* (since 3.18; the report "vmstat: on-demand vmstat workers V8"): once per interval, a single worker searches
//!   for CPUs with differentials and starts a worker on each of these CPUs. The started worker repeats until it has no
//!   differential to fold. A CPU whose counters do not change is not interrupted.
//!
//! [`counts`] contains the arithmetic, [`workers`] the kernel threads.

mod counts;
mod report;
mod workers;

pub use counts::Item;
pub use report::{ItemReport, VmstatCounters};

pub(crate) use workers::Duty;

use counts::Counts;
use workers::Workers;

/// Statistics of virtual memory, and the workers that fold differentials.
#[derive(Debug)]
pub(crate) struct Vmstat {
    pub counts: Counts,
    pub workers: Workers,
}

impl Vmstat {
    /// Counters of a machine without tasks. `folds`: the kernel has and folds differentials.
    pub fn new(cpus: usize, nodes: usize, node_mib: u64, folds: bool) -> Self {
        Self { counts: Counts::new(cpus, nodes, node_mib, folds), workers: Workers::new(cpus, folds) }
    }
}

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

pub(crate) use counts::Counts;
pub(crate) use workers::{Duty, Workers};

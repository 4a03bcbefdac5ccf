//! Choice of the task that runs on a CPU. The first class with a runnable task decides:
//!
//! ```text
//! Realtime   deadline tasks by deadline, then      common to all kernels
//!            FIFO and RR tasks by priority
//! Policy     ordinary tasks: Cfs, Eevdf, O1        by kernel, a type parameter of the engine; with control groups, in Grouped
//! idle       no runnable task
//! ```

mod bandwidth;
mod cfs;
mod core;
mod deadline;
mod eevdf;
mod group_loads;
mod grouped;
mod load_avg;
mod o1;
mod ordered;
mod policy;
mod realtime;
mod runqueues;
mod sums;
mod switch;
mod task_group;
pub mod weight;

pub(crate) use bandwidth::{Bandwidth, GroupTimer};
pub use cfs::Cfs;
pub use deadline::Budget;
pub(crate) use deadline::{DeadlineTasks, DlEntity, sched_dl_overflow};
pub use eevdf::Eevdf;
pub use grouped::Grouped;
pub(crate) use load_avg::{IDLE_UPDATE_NS, TaskLoad};
pub use o1::O1;
pub(crate) use policy::NOBODY;
pub use policy::{Enqueue, GroupState, Policy, Setting, TaskIx};
pub(crate) use realtime::{Rank, Realtime};
pub(crate) use runqueues::Runqueues;
pub(crate) use sums::Sum;

//! Which CPU a task runs on.
//!
//! ```text
//! select    a waking task: its last CPU, the waker's, or an idle one near
//! spread    a new or freshly executed task: down the domains from the widest, to the least loaded group and CPU
//! periodic  ticks and the idle CPUs' helper: when which domain is balanced
//! newidle   a CPU about to become idle looks for work first
//! shapes    what of the machine takes part in balancing
//! sums      what the CPUs of each cache carry together
//! pass      one look over one domain: statistics and decision
//! pull      which tasks go, and their moving
//! o1        all of it as 2.5.59 did it, before there were domains
//! ```
//! Every pass costs time on the CPU that makes it: a base and a part for each CPU of the domain, and for each task moved.

mod newidle;
mod o1;
mod pass;
mod periodic;
mod pull;
mod select;
mod shapes;
mod spread;
mod sums;

pub(crate) use o1::Memories;
pub(crate) use shapes::Shapes;
pub(crate) use sums::Sums;

/// Beyond this distance tasks are not pulled to their waker, nor new ones spread (`RECLAIM_DISTANCE`,
/// include/linux/topology.h).
const RECLAIM_DISTANCE: u32 = 30;

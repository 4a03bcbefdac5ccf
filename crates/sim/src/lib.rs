//! A simulated multi-socket Linux machine that runs the programs of [`schedlab_workload`] in virtual time.
//!
//! ```text
//! Machine ─┐  sockets, nodes, caches, cores, costs          machine/
//! Kernel  ─┤  policy, variants, tunables                    kernel/
//! Plan    ─┼─► Simulation ─► Engine ─► Outcome
//! Config  ─┘  seed, tunables, attributes, horizon            observe/, ledger/
//!                               │
//!            time/      what is due when
//!            engine/    events, interrupts, accounting
//!            sched/     who runs on a CPU: real-time tasks, Cfs, Eevdf, O1
//!            balance/   on which CPU: wake-up, fork, exec, periodic and new-idle balancing
//!            tasks/     what tasks do: messages, locks, children, the start gate
//!            vmstat/    counters of virtual memory, and the workers that fold them
//!            schedstats/ what is counted of all this when it is switched on
//!            physics/   what slows them: cold caches, remote memory, bandwidth, SMT
//!            numa/      pages and tasks brought together: scans, hinting faults, preferred nodes
//! ```
//! The crate does no I/O, reads no clock and keeps no global state: an outcome is a function of machine, kernel, program
//! and configuration, the same on every platform and in every build. Time is in integer nanoseconds.

mod balance;
mod engine;
pub mod error;
pub mod kernel;
pub mod ledger;
pub mod machine;
mod numa;
pub mod observe;
mod physics;
pub mod sched;
pub mod schedstats;
mod shipped;
mod simulation;
mod table;
mod tasks;
pub mod time;
pub mod vmstat;

pub use error::{SimError, Waiting};
pub use kernel::{Change, Kernel, kernel, kernel_files, kernel_names};
pub use ledger::{Account, Ledger};
pub use machine::{CpuMask, Machine, machine, machine_files, machine_names};
pub use observe::{Birth, End, Observer, Outcome};
pub use simulation::{Config, Simulation};
pub use tasks::{Attributes, Class};

//! A simulated multi-socket Linux machine that runs the programs of [`schedlab_workload`] in virtual time.
//!
//! ```text
//! Machine ─┐  sockets, nodes, caches, cores, costs
//! Kernel  ─┤  policy, variants, tunables
//! Plan    ─┼─► Simulation ─► Engine ─► Outcome
//! Config  ─┘  seed, tunables, attributes, horizon
//! ```
//! A module uses only modules before it. `tests/module_order.rs` reads every path of every file, and lists the exceptions:
//! parts of the engine in the folder of the state that they change.
//!
//! ```text
//! error       errors
//! shipped     the machines and kernel models of models/
//! time        the clock, timers and the agenda of events
//! table       tables by CPU and by task
//! machine     topology, domains, costs
//! kernel      a kernel model and its tunables
//! ledger      accounts of each CPU's time
//! sched       choice of the task that runs on a CPU: real-time tasks, Cfs, Eevdf, O1; the runqueues
//! vmstat      counters of virtual memory, and the workers that fold them
//! schedstats  the kernel's scheduler statistics
//! observe     counters, histograms, observers, the outcome
//! physics     cold caches, remote memory, bandwidth, SMT
//! balance     choice of the CPU for a task: wake-up, fork, exec, periodic and new-idle balancing
//! numa        NUMA balancing: scans, hinting faults, preferred nodes
//! tasks       operations of tasks: messages, locks, children, the start gate
//! config      configuration of a simulation
//! memory      estimate of the memory that a simulation needs, and its limit for forked children
//! engine      events, interrupts, accounting
//! simulation  checks a configuration and runs the engine
//! ```
//! The crate does no I/O, reads no clock and keeps no global state: an outcome is a function of machine, kernel, program
//! and configuration, the same on every platform and in every build. Time is in integer nanoseconds.

mod balance;
mod config;
mod engine;
pub mod error;
pub mod kernel;
pub mod ledger;
pub mod machine;
mod memory;
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

pub use config::{Config, ControlGroup, GroupSettings};
pub use error::{SimError, Waiting};
pub use kernel::{Change, Kernel, kernel, kernel_files, kernel_names};
pub use ledger::{Account, Ledger};
pub use machine::{CpuMask, Machine, machine, machine_files, machine_names};
pub use observe::{Birth, Cause, End, Interruption, Interruptions, Observer, Outcome, Part};
pub use simulation::Simulation;
pub use tasks::{Attributes, Class};

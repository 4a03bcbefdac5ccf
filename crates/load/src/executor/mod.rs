//! Execution of a program on the kernel of this machine.
//!
//! ```text
//! run     plan → limits checked → tasks created → gate opened → all reaped → Outcome
//! worker  one task: the steps of its cursor as system calls
//! arena   shared memory: locks, slots, counters, series, the first failure
//! ```

mod arena;
mod attributes;
mod channels;
mod children;
mod crew;
mod files;
mod gaps;
mod gate;
pub mod image;
mod inherited;
mod message;
mod regions;
mod requirements;
mod run;
mod series;
mod shared;
mod spin;
mod sync;
mod worker;

pub use requirements::ensure_memory;
pub use run::{Outcome, Settings, run};
pub use spin::Rate;

//! Results of a simulation: counters, distributions, recorded series, and the observer of its events.

mod counters;
mod histogram;
mod interruptions;
mod locks;
mod observer;
mod outcome;
mod records;

pub use counters::{Balancing, ByDistance, Counters};
pub use histogram::Histogram;
pub use interruptions::{Cause, Interruption, Interruptions, Part};
pub(crate) use locks::LockUses;
pub use locks::{LockReport, LockUse};
pub use observer::{Birth, Observer};
pub use outcome::{Digest, End, GroupReport, Histograms, Outcome, TaskReport};
pub(crate) use records::{Records, Series};

//! What a simulation tells.

mod counters;
mod digest;
mod histogram;
mod locks;
mod observer;
mod outcome;
mod records;
mod samples;

pub use counters::{Balancing, ByDistance, Counters};
pub use digest::Digest;
pub use histogram::Histogram;
pub(crate) use locks::LockUses;
pub use locks::{LockReport, LockUse};
pub use observer::{Birth, Observer};
pub use outcome::{End, Histograms, Outcome, TaskReport};
pub(crate) use records::Records;
pub(crate) use samples::Series;

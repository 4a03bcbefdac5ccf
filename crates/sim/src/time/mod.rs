//! Virtual time in integer nanoseconds, and the queues of events.
//!
//! ```text
//!              Agenda: one key per CPU, a winner tree          Timers: a short list per CPU
//!                     [ earliest ]                               1200 ns  task 7
//!                    /            \                              4000 ns  task 3
//!              CPU 0 or 1      CPU 2 or the rest                  …
//! ```
//! A CPU has one entry in the agenda: the earliest of the end of its segment, its tick, a pending interrupt and its first
//! timer. Events are never cancelled: a CPU whose next event changes gets a new key, which costs log₂(CPUs) comparisons in a
//! table that fits into the first-level cache.

mod agenda;
mod clock;
mod random;
mod timers;

pub use agenda::{Agenda, MAX_SLOTS, NEVER};
pub(crate) use clock::Clock;
pub use random::Random;
pub use timers::{Timer, Timers};

/// Nanoseconds of virtual time: a time since the start of the simulation, or a duration.
pub type Ns = u64;

/// Nanoseconds in a millisecond.
pub const MS: Ns = 1_000_000;

/// Nanoseconds in a second.
pub const SECOND: Ns = 1_000_000_000;

//! Where time goes on a machine besides the work itself.

mod memory;
mod smt;
mod warmth;

pub(crate) use memory::{Memory, PAGE, Region, Touch};
pub(crate) use warmth::{Caches, Warmth};

//! Code of a task: its body as a flat list of instructions, which a cursor reads step by step.
//!
//! [`Cursor::next`] returns the steps in order. This module resolves loops, choices, arithmetic and the numbering
//! of resources; an executor performs steps. The delivery of a step takes a few nanoseconds.

mod cursor;
mod flatten;
mod instruction;
mod place;
mod step;
mod value;

pub use cursor::Cursor;
pub use flatten::Code;
pub use step::{Frequent, Step, Work};

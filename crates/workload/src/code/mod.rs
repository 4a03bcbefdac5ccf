//! Bodies as a task runs them: flattened into a list of instructions, then read step by step.
//!
//! [`Cursor::next`] returns one [`Step`] after the other. This module resolves loops, choices, arithmetic and the numbering
//! of resources; an executor performs steps. The delivery of a step takes a few nanoseconds.

mod cursor;
mod flatten;
mod place;
mod step;
mod value;

pub use cursor::Cursor;
pub use flatten::Code;
pub use step::{Frequent, Step, Work};

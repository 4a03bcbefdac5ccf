//! Bodies as a task runs them: flattened into a list of instructions, then read step by step.
//!
//! [`Cursor::next`] hands out one [`Step`] after the other. Loops, choices, arithmetic and numbering of resources
//! are done here; an executor performs steps. The cost of a step's delivery is a few nanoseconds.

mod cursor;
mod flatten;
mod place;
mod step;
mod value;

pub use cursor::Cursor;
pub use flatten::Code;
pub use step::{Frequent, Step, Work};

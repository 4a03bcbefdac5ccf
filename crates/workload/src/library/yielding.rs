//! yield: tasks that do nothing but give up the CPU.

use serde::{Deserialize, Serialize};

use super::{DURATION_NS, MOST, WARMUP_NS, empty, names};
use crate::error::ParameterError;
use crate::program::{Mode, Op, Program, Quantity, Window, count, group, higher, times, within_window};

/// Parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Yielding {
    /// Tasks.
    pub tasks: u32,
    /// Processes, or threads of one process.
    pub mode: Mode,
    /// Length of the warm-up.
    pub warmup_ns: u64,
    /// Length of the recorded part.
    pub duration_ns: u64,
}

/// Yields between two looks at the clock, so that the clock costs next to nothing.
const BATCH: u64 = 100;

impl Default for Yielding {
    fn default() -> Self {
        Self { tasks: 4, mode: Mode::Process, warmup_ns: WARMUP_NS, duration_ns: DURATION_NS }
    }
}

impl Yielding {
    /// The program; an error names the parameter that is out of range.
    pub fn program(&self) -> Result<Program, ParameterError> {
        ParameterError::check("tasks", self.tasks, 1..=MOST)?;
        let body = vec![within_window(vec![times(BATCH, vec![Op::Yield]), count("yields", BATCH)])];
        Ok(Program {
            window: Some(Window::new(self.warmup_ns, self.duration_ns)?),
            counters: names(["yields"]),
            groups: vec![group("yielder", self.tasks, self.mode, body)],
            metrics: vec![higher("yields", "ops/s", Quantity::Rate("yields".to_owned()), 1.0)],
            ..empty("yield")
        })
    }
}

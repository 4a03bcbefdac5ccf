//! yield: tasks that only give up the CPU.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::parameter::{DURATION_NS, Duration, MAX_TASKS, WARMUP_NS, Warmup, check_fields};
use super::{Workload, empty, names};
use crate::error::ParameterError;
use crate::program::{Mode, Op, Program, Quantity, Window, count, group, higher, times, within_window};

/// Tasks that only call sched_yield.
///
/// With more tasks than CPUs each call is a context switch; with fewer it only enters and leaves the scheduler.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Yielding {
    /// Tasks.
    #[schemars(range(min = 1, max = MAX_TASKS), extend("short" = "n"))]
    pub tasks: u32,
    /// Processes, or threads of one process.
    pub mode: Mode,
    /// Time before the recorded part.
    #[serde(rename = "warmup")]
    #[schemars(with = "Warmup")]
    pub warmup_ns: u64,
    /// Length of the recorded part.
    #[serde(rename = "duration")]
    #[schemars(with = "Duration")]
    pub duration_ns: u64,
}

/// Yields between two readings of the clock, so that the cost of the clock is negligible.
const BATCH: u64 = 100;

impl Default for Yielding {
    fn default() -> Self {
        Self { tasks: 4, mode: Mode::Process, warmup_ns: WARMUP_NS, duration_ns: DURATION_NS }
    }
}

impl Workload for Yielding {
    const NAME: &'static str = "yield";
    const JUDGED: &'static [&'static str] = &["yields"];
}

impl Yielding {
    /// The program; an error names the parameter that is out of range.
    pub fn program(&self) -> Result<Program, ParameterError> {
        check_fields(self)?;
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

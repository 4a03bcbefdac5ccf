//! busyloop: tasks that do nothing but look at the clock, and tell for how long it jumped: the gaps that whatever else ran
//! on their CPUs tore into a loop of `i++`.

use serde::{Deserialize, Serialize};

use super::{DURATION_NS, MOST, WARMUP_NS, empty, names};
use crate::error::ParameterError;
use crate::program::{Expr, Mode, Op, Program, Quantity, Window, group, lower, within_window};

/// Parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BusyLoop {
    /// Tasks.
    pub tasks: u32,
    /// Processes, or threads of one process.
    pub mode: Mode,
    /// A longer time between two looks at the clock is a gap.
    pub threshold_ns: u64,
    /// Length of the warm-up.
    pub warmup_ns: u64,
    /// Length of the recorded part.
    pub duration_ns: u64,
}

/// Length of a stretch, whose longest gap is one sample. What is recorded in a stretch counts if it ends within the
/// window, so it is short beside any window; and long enough that the recording itself, some hundred nanoseconds between
/// stretches, hides next to nothing.
const STRETCH_NS: u64 = 10_000_000;

impl Default for BusyLoop {
    /// One task; what is longer than 1 µs is a gap.
    fn default() -> Self {
        Self {
            tasks: 1,
            mode: Mode::Process,
            threshold_ns: 1000,
            warmup_ns: WARMUP_NS,
            duration_ns: DURATION_NS,
        }
    }
}

impl BusyLoop {
    /// The program; an error names the parameter that is out of range.
    pub fn program(&self) -> Result<Program, ParameterError> {
        ParameterError::check("tasks", self.tasks, 1..=MOST)?;
        let body = vec![within_window(vec![Op::Watch {
            ns: Expr::Const(STRETCH_NS),
            over_ns: Expr::Const(self.threshold_ns),
            longest: "longest".to_owned(),
            gaps: "gaps".to_owned(),
            lost: "lost".to_owned(),
        }])];
        let longest = |name: &str, percent: f64| {
            lower(name, "us", Quantity::Percentile("longest".to_owned(), percent), 1e-3)
        };
        let rate = |counter: &str| Quantity::Rate(counter.to_owned());
        Ok(Program {
            window: Some(Window::new(self.warmup_ns, self.duration_ns)?),
            counters: names(["gaps", "lost"]),
            series: names(["longest"]),
            groups: vec![group("looper", self.tasks, self.mode, body)],
            metrics: vec![
                longest("gap_max", 100.0),
                longest("gap_p50", 50.0),
                lower("gaps", "gaps/s", rate("gaps"), 1.0),
                lower("lost", "us/s", rate("lost"), 1e-3),
            ],
            ..empty("busyloop")
        })
    }
}

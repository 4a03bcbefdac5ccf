//! busyloop: tasks that read the clock in a loop and record the gaps between two readings, in which something else ran
//! on their CPUs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::parameter::{DURATION_NS, Duration, MAX_TASKS, Time, WARMUP_NS, Warmup, check_fields};
use super::{Workload, empty, names};
use crate::error::ParameterError;
use crate::program::{Expr, Mode, Op, Program, Quantity, Window, group, lower, within_window};

/// Tasks read the clock in a loop: the gaps that ticks, interrupts, kernel threads and other tasks leave in it.
///
/// gap-max is a maximum, so it grows with the length of a run; gap-p50 is the median of the longest gaps of spans of
/// 10 ms. Bind the tasks (`cpus`) to CPUs that nobody else uses: more tasks than CPUs record each other as gaps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BusyLoop {
    /// Tasks.
    #[schemars(range(min = 1, max = MAX_TASKS), extend("short" = "t"))]
    pub tasks: u32,
    /// Processes, or threads of one process.
    pub mode: Mode,
    /// A longer time between two readings of the clock is a gap.
    #[serde(rename = "threshold")]
    #[schemars(with = "Time")]
    pub threshold_ns: u64,
    /// Time before the recorded part.
    #[serde(rename = "warmup")]
    #[schemars(with = "Warmup")]
    pub warmup_ns: u64,
    /// Length of the recorded part.
    #[serde(rename = "duration")]
    #[schemars(with = "Duration")]
    pub duration_ns: u64,
}

/// Length of a span, whose longest gap is one sample. A span counts if it ends within the window, so it is much shorter
/// than any window. The clock is not read for some hundred nanoseconds between two spans, a negligible part of 10 ms.
const SPAN_NS: u64 = 10_000_000;

impl Default for BusyLoop {
    /// One task; gaps are longer than 1 µs.
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

impl Workload for BusyLoop {
    const NAME: &'static str = "busyloop";
    const JUDGED: &'static [&'static str] = &["gap-max"];
}

impl BusyLoop {
    /// The program; an error names the parameter that is out of range.
    pub fn program(&self) -> Result<Program, ParameterError> {
        check_fields(self)?;
        let body = vec![within_window(vec![Op::Watch {
            ns: Expr::Const(SPAN_NS),
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
                longest("gap-max", 100.0),
                longest("gap-p50", 50.0),
                lower("gaps", "gaps/s", rate("gaps"), 1.0),
                lower("lost", "us/s", rate("lost"), 1e-3),
            ],
            ..empty("busyloop")
        })
    }
}

//! busyloop: tasks that read the clock in a loop and record the gaps between two readings, in which other work ran on
//! their CPUs.

use super::prelude::*;

parameters! {
    /// Tasks read the clock in a loop and record the gaps that ticks, interrupts, kernel threads and other tasks cause.
    ///
    /// gap-max is a maximum, so it grows with the length of a run; gap-p50 is the median of the longest gaps of spans of
    /// 10 ms. Bind the tasks (`cpus`) to otherwise unused CPUs: more tasks than CPUs record each other as
    /// gaps.
    pub struct BusyLoop, timed {
        /// Tasks.
        #[schemars(range(min = 1, max = MAX_TASKS), extend("short" = "t"))]
        pub tasks: u32 = 1,
        /// Processes, or threads of one process.
        pub mode: Mode = Mode::Process,
        /// A longer time between two readings of the clock is a gap.
        #[serde(rename = "threshold")]
        #[schemars(with = "Time")]
        pub threshold_ns: u64 = 1000,
    }
}

/// Length of a span, whose longest gap is one sample. A span counts if it ends within the window, so it is much shorter
/// than any window. The clock is not read for some hundred nanoseconds between two spans, a negligible part of 10 ms.
const SPAN_NS: u64 = 10_000_000;

impl Workload for BusyLoop {
    const NAME: &'static str = "busyloop";
    const JUDGED: &'static [&'static str] = &["gap-max"];

    fn build(&self) -> Result<Program, ParameterError> {
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
            window: self.window(),
            counters: names(["gaps", "lost"]),
            series: names(["longest"]),
            groups: vec![group("looper", self.tasks, self.mode, body)],
            metrics: vec![
                longest("gap-max", 100.0),
                longest("gap-p50", 50.0),
                lower("gaps", "gaps/s", rate("gaps"), 1.0),
                lower("lost", "us/s", rate("lost"), 1e-3),
            ],
            ..Program::named(Self::COMMAND)
        })
    }
}

//! cyclic: threads that sleep until the ends of equal intervals and record how late they resume; the shape of
//! cyclictest.
//!
//! ```text
//! planned    |----------|----------|----------|----------|----------|
//! lateness   |-->       |->        |------------------------>       |->
//! missed                                      x          x
//! ```
//! A thread that resumes after the next planned times skips these times, as cyclictest does: the lateness is recorded once, in
//! full, and each skipped time counts as missed.

use super::prelude::*;

parameters! {
    /// Threads sleep until the ends of equal intervals and record how late they resume (cyclictest).
    ///
    /// cyclictest sets the policy of its threads; the threads of cyclic have the variant's. latency-max is a maximum, so it
    /// grows with the length of a run. The kernel delays the timers of threads that are not real-time by up to 50 us (timer
    /// slack).
    pub struct Cyclic, timed {
        // The defaults are the same as in cyclictest of rt-tests 2.4. cyclictest runs without end.
        /// Threads.
        #[schemars(range(min = 1, max = MAX_TASKS), extend("short" = "t"))]
        pub threads: u32 = 1,
        /// Interval of the first thread.
        #[serde(rename = "interval")]
        #[schemars(with = "Interval", extend("short" = "i"))]
        pub interval_ns: u64 = 1_000_000,
        /// Difference of the intervals of two successive threads.
        #[serde(rename = "distance")]
        #[schemars(with = "Time", extend("short" = "d"))]
        pub distance_ns: u64 = 500_000,
    }
}

impl Workload for Cyclic {
    const NAME: &'static str = "cyclic";
    const JUDGED: &'static [&'static str] = &["latency-p99"];

    /// Each thread's first interval begins at the thread's start, so that threads of equal intervals do not all wake up at the
    /// same time.
    fn build(&self) -> Result<Program, ParameterError> {
        let lateness = Op::Timer {
            timer: "interval".to_owned(),
            period_ns: Expr::task() * self.distance_ns + self.interval_ns,
            mode: TimerMode::Absolute,
            slack: None,
            latency: Some("late".to_owned()),
            missed: Some("missed".to_owned()),
        };
        let body = vec![Op::Start { timer: "interval".to_owned() }, within_window(vec![lateness])];
        // The names of the metrics of cyclictest's adapter.
        let mut metrics: Vec<Metric> = [99.0, 50.0, 99.9]
            .into_iter()
            .map(|percent| latency_percentile(&format!("latency-p{percent}"), "late", percent))
            .collect();
        metrics.extend([
            lower("latency-mean", "us", Quantity::Mean("late".to_owned()), 1e-3),
            latency_percentile("latency-max", "late", 100.0),
            lower("missed", "intervals/s", Quantity::Rate("missed".to_owned()), 1.0),
        ]);
        Ok(Program {
            window: self.window(),
            resources: Resources { timers: names(["interval"]), ..Resources::default() },
            counters: names(["missed"]),
            series: names(["late"]),
            groups: vec![group("thread", self.threads, Mode::Thread, body)],
            metrics,
            ..Program::named(Self::COMMAND)
        })
    }
}

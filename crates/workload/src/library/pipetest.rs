//! pipetest: two tasks pass a message back and forth over two pipes.
//!
//! The shape of `perf bench sched pipe` (perf-bench(1)): in one operation the first task writes to one pipe and reads
//! from the other while the second reads and then writes, so an operation is one round trip with two wake-ups. The time
//! of every operation is recorded, not only the mean.

use super::prelude::*;

parameters! {
    /// Two tasks pass a message back and forth over two pipes; every round trip is timed (`perf bench sched pipe`).
    ///
    /// One operation is one round trip: two wake-ups, two context switches. The median is judged, because a few pauses of
    /// milliseconds, which hypervisors and interrupts cause, double the mean of 100 000 trips of
    /// microseconds. usecs-per-op is the time of the complete run divided by the operations.
    pub struct Pipetest {
        // The default of `perf bench sched pipe` is a million; 100 000 take about half a second on a current machine.
        /// Round trips.
        #[schemars(range(min = 1, max = 1_000_000_000), extend("short" = "l"))]
        pub loops: u64 = 100_000,
        /// Bytes of a message.
        #[schemars(range(min = 1, max = 1 << 20), extend("unit" = "bytes", "short" = "s"))]
        pub size: u64 = 4,
        /// Processes, or threads of one process.
        pub mode: Mode = Mode::Process,
    }
}

impl Workload for Pipetest {
    const NAME: &'static str = "pipetest";
    const JUDGED: &'static [&'static str] = &["latency-p50"];
    const SAMPLES: Option<(&'static str, &'static str)> = Some(("latency-p50", "latency"));

    /// About 8 µs for a round trip between two CPUs.
    fn seconds(&self, _cpus: u32) -> f64 {
        self.loops as f64 * 8e-6
    }

    fn heading(&self) -> Vec<String> {
        let tasks = if self.mode == Mode::Thread { "threads" } else { "processes" };
        vec![format!("{} round trips of {} bytes between two {tasks}", self.loops, self.size)]
    }

    fn build(&self) -> Result<Program, ParameterError> {
        let first = vec![
            stamp("turn"),
            times(
                self.loops,
                vec![send("there", self.size), receive("back", self.size), lap("turn", "round_trip")],
            ),
            count("operations", self.loops),
        ];
        let second = vec![times(self.loops, vec![receive("there", self.size), send("back", self.size)])];
        let pipe = |name| channels(name, ChannelKind::Pipe, 1);
        Ok(Program {
            resources: Resources {
                channels: vec![pipe("there"), pipe("back")],
                slots: vec![slots("turn", 1, Scope::Task)],
                ..Default::default()
            },
            counters: names(["operations"]),
            series: names(["round_trip"]),
            groups: vec![group("first", 1, self.mode, first), group("second", 1, self.mode, second)],
            metrics: vec![
                latency_percentile("latency-p50", "round_trip", 50.0),
                lower("latency", "us", Quantity::Mean("round_trip".to_owned()), 1e-3),
                latency_percentile("latency-p99", "round_trip", 99.0),
                lower("usecs-per-op", "us", Quantity::ElapsedPer("operations".to_owned()), 1e6),
            ],
            ..Program::named(Self::COMMAND)
        })
    }
}

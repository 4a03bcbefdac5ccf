//! yield: tasks that only give up the CPU.

use super::prelude::*;

parameters! {
    /// Tasks that only call sched_yield.
    ///
    /// With more tasks than CPUs each call is a context switch; with fewer tasks, a call only enters and
    /// leaves the scheduler.
    pub struct Yielding, timed {
        /// Tasks.
        #[schemars(range(min = 1, max = MAX_TASKS), extend("short" = "n"))]
        pub tasks: u32 = 4,
        /// Processes, or threads of one process.
        pub mode: Mode = Mode::Process,
    }
}

/// Number of yields between two readings of the clock, so that the cost of the clock is negligible.
const BATCH: u64 = 100;

impl Workload for Yielding {
    const NAME: &'static str = "yield";
    const JUDGED: &'static [&'static str] = &["yields"];

    fn build(&self) -> Result<Program, ParameterError> {
        let body = vec![within_window(vec![times(BATCH, vec![Op::Yield]), count("yields", BATCH)])];
        Ok(Program {
            window: self.window(),
            counters: names(["yields"]),
            groups: vec![group("yielder", self.tasks, self.mode, body)],
            metrics: vec![higher("yields", "ops/s", Quantity::Rate("yields".to_owned()), 1.0)],
            ..Program::named(Self::COMMAND)
        })
    }
}

//! futex: pairs of tasks that wake each other in turn through futexes.
//!
//! One operation is one round trip: two wake-ups and two waits.

use super::prelude::*;

parameters! {
    /// Pairs of tasks wake each other in turn through futexes.
    ///
    /// One operation is one round trip: two wake-ups, two waits.
    pub struct Futex, timed {
        /// Pairs of tasks.
        #[schemars(range(min = 1, max = MAX_TASKS))]
        pub pairs: u32 = 1,
        /// Processes, or threads of one process.
        pub mode: Mode = Mode::Thread,
    }
}

impl Workload for Futex {
    const NAME: &'static str = "futex";
    const JUDGED: &'static [&'static str] = &["operations"];

    /// At its end each task increments once more the semaphore for which its partner may wait.
    fn build(&self) -> Result<Program, ParameterError> {
        let first = vec![
            stamp("turn"),
            within_window(vec![
                up("there", 1u64),
                down("back"),
                lap("turn", "round_trip"),
                count("operations", 1u64),
            ]),
            up("there", 1u64),
        ];
        let second = vec![within_window(vec![down("there"), up("back", 1u64)]), up("back", 1u64)];
        let mut metrics = vec![higher("operations", "ops/s", Quantity::Rate("operations".to_owned()), 1.0)];
        metrics.extend(latency("round_trip"));
        let semaphore = |name| semaphores(name, 1, Scope::Replica, 0);
        Ok(Program {
            replicas: self.pairs,
            window: self.window(),
            resources: Resources {
                semaphores: vec![semaphore("there"), semaphore("back")],
                slots: vec![slots("turn", 1, Scope::Task)],
                ..Resources::default()
            },
            counters: names(["operations"]),
            series: names(["round_trip"]),
            groups: vec![group("first", 1, self.mode, first), group("second", 1, self.mode, second)],
            metrics,
            ..Program::named(Self::COMMAND)
        })
    }
}

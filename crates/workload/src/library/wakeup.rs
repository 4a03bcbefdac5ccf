//! wakeup: message threads wake worker threads, which record the time until their run; the shape of schbench.
//!
//! A message thread stamps and wakes all its workers. Each worker records the time since the stamp, computes for one
//! request and reports back. When all workers have reported, the next round begins.

use super::prelude::*;

parameters! {
    /// Message tasks wake workers, which record the time until they run (schbench).
    ///
    /// schbench's workers do other work between wake-ups: do not compare schbench's figures with these
    /// figures.
    pub struct Wakeup, timed {
        /// Message tasks.
        #[schemars(range(min = 1, max = MAX_TASKS), extend("short" = "m"))]
        pub messages: u32 = 1,
        /// Workers of each message task.
        #[schemars(range(min = 1, max = MAX_TASKS), extend("short" = "w"))]
        pub workers: u32 = 2,
        /// Computation of a worker for each wake-up.
        #[serde(rename = "request_time")]
        #[schemars(with = "Time")]
        pub request_ns: u64 = 100_000,
        /// Processes, or threads of one process.
        pub mode: Mode = Mode::Thread,
    }
}

impl Workload for Wakeup {
    const NAME: &'static str = "wakeup";
    const JUDGED: &'static [&'static str] = &["latency-p99"];

    /// Message tasks and workers leave their loops by the clock, at different times. So at its end each task increments once
    /// more the semaphore for which its partner may wait.
    fn build(&self) -> Result<Program, ParameterError> {
        let each = || Expr::loop_index(0);
        let wake = times(self.workers, vec![stamp(at("woken", each())), up(at("wake", each()), 1u64)]);
        let message = vec![
            within_window(vec![wake, times(self.workers, vec![down("done")])]),
            times(self.workers, vec![stamp(at("woken", each())), up(at("wake", each()), 1u64)]),
        ];
        let worker = vec![
            within_window(vec![
                down(at("wake", Expr::task())),
                record(at("woken", Expr::task()), "wake_up"),
                compute(self.request_ns),
                count("requests", 1u64),
                up("done", 1u64),
            ]),
            up("done", 1u64),
        ];
        let mut metrics = latency("wake_up");
        metrics.push(higher("requests", "requests/s", Quantity::Rate("requests".to_owned()), 1.0));
        let replica = Scope::Replica;
        Ok(Program {
            replicas: self.messages,
            window: self.window(),
            resources: Resources {
                semaphores: vec![
                    semaphores("wake", self.workers, replica, 0),
                    semaphores("done", 1, replica, 0),
                ],
                slots: vec![slots("woken", self.workers, replica)],
                ..Resources::default()
            },
            counters: names(["requests"]),
            series: names(["wake_up"]),
            groups: vec![
                group("message", 1, self.mode, message),
                group("worker", self.workers, self.mode, worker),
            ],
            metrics,
            ..Program::named(Self::COMMAND)
        })
    }
}

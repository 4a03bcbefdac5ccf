//! wakeup: message threads wake worker threads, which record the time until they run; the shape of schbench.
//!
//! A message thread stamps and wakes all its workers. Each worker records the time since the stamp, computes for one
//! request and reports back. When all workers have reported, the next round begins.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::parameter::{DURATION_NS, Duration, MAX_TASKS, Time, WARMUP_NS, Warmup, check_fields};
use super::{Workload, empty, latency, names};
use crate::error::ParameterError;
use crate::program::{
    Expr, Mode, Program, Quantity, Resources, Scope, Window, at, compute, count, down, group, higher, record,
    semaphores, slots, stamp, times, up, within_window,
};

/// Message tasks wake workers, which record the time until they run (schbench).
///
/// schbench's workers do other work between wake-ups: do not compare its figures with these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Wakeup {
    /// Message tasks.
    #[schemars(range(min = 1, max = MAX_TASKS), extend("short" = "m"))]
    pub messages: u32,
    /// Workers of each message task.
    #[schemars(range(min = 1, max = MAX_TASKS), extend("short" = "w"))]
    pub workers: u32,
    /// Computation of a worker for each wake-up.
    #[serde(rename = "request_time")]
    #[schemars(with = "Time")]
    pub request_ns: u64,
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

impl Default for Wakeup {
    /// One message thread and two workers, with requests of 100 µs.
    fn default() -> Self {
        Self {
            messages: 1,
            workers: 2,
            request_ns: 100_000,
            mode: Mode::Thread,
            warmup_ns: WARMUP_NS,
            duration_ns: DURATION_NS,
        }
    }
}

impl Workload for Wakeup {
    const NAME: &'static str = "wakeup";
    const JUDGED: &'static [&'static str] = &["latency-p99"];
}

impl Wakeup {
    /// The program; an error names the parameter that is out of range.
    ///
    /// Message tasks and workers leave their loops by the clock, at different times. So at its end each raises once more
    /// the semaphore that the other may wait for.
    pub fn program(&self) -> Result<Program, ParameterError> {
        check_fields(self)?;
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
            window: Some(Window::new(self.warmup_ns, self.duration_ns)?),
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
            ..empty("wakeup")
        })
    }
}

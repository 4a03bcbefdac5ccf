//! wakeup: message threads that wake worker threads, which record how long it took until they ran; the shape of
//! schbench.
//!
//! A message thread stamps and wakes all its workers, each records the time since the stamp, computes a request's worth
//! and reports back; when all have, the next round begins.

use serde::{Deserialize, Serialize};

use super::{DURATION_NS, MOST, WARMUP_NS, empty, latency, names};
use crate::error::ParameterError;
use crate::program::{
    Expr, Mode, Program, Quantity, Resources, Scope, Window, at, compute, count, down, group, higher, record,
    semaphores, slots, stamp, times, up, within_window,
};

/// Parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Wakeup {
    /// Message threads.
    pub messages: u32,
    /// Workers of each message thread.
    pub workers: u32,
    /// Computation of a request, in nanoseconds.
    pub request_ns: u64,
    /// Threads of one process, or processes.
    pub mode: Mode,
    /// Length of the warm-up.
    pub warmup_ns: u64,
    /// Length of the recorded part.
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

impl Wakeup {
    /// The program; an error names the parameter that is out of range.
    ///
    /// Both sides leave their loops by the clock, and neither knows when the other does. So each gives once more at its
    /// end what the other may be waiting for.
    pub fn program(&self) -> Result<Program, ParameterError> {
        ParameterError::check("messages", self.messages, 1..=MOST)?;
        ParameterError::check("workers", self.workers, 1..=MOST)?;
        ParameterError::check("request_ns", self.request_ns, 0..=10_000_000_000)?;
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

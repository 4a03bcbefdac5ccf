//! forkstorm: tasks that start children and wait for them, one after the other, as fast as they can.

use serde::{Deserialize, Serialize};

use super::{DURATION_NS, MOST, WARMUP_NS, empty, latency, names};
use crate::error::ParameterError;
use crate::program::{
    Image, Mode, Op, Program, Quantity, Resources, Scope, Window, count, fork, group, higher, record, slots,
    stamp, wait_all, within_window,
};

/// Parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Forkstorm {
    /// Tasks that fork.
    pub tasks: u32,
    /// Children become a fresh image before they exit.
    pub exec: bool,
    /// Length of the warm-up.
    pub warmup_ns: u64,
    /// Length of the recorded part.
    pub duration_ns: u64,
}

impl Default for Forkstorm {
    fn default() -> Self {
        Self { tasks: 2, exec: false, warmup_ns: WARMUP_NS, duration_ns: DURATION_NS }
    }
}

impl Forkstorm {
    /// The program; an error names the parameter that is out of range. `latency` is from before the fork until the
    /// child is reaped.
    pub fn program(&self) -> Result<Program, ParameterError> {
        ParameterError::check("tasks", self.tasks, 1..=MOST)?;
        let image = Image::Work { ns: 0u64.into(), bytes: 0u64.into() };
        let child = if self.exec { vec![Op::Exec { image }] } else { Vec::new() };
        let body = within_window(vec![
            stamp("forked"),
            fork(child),
            wait_all(),
            record("forked", "child"),
            count("forks", 1u64),
        ]);
        let mut metrics = vec![higher("forks", "forks/s", Quantity::Rate("forks".to_owned()), 1.0)];
        metrics.extend(latency("child"));
        Ok(Program {
            window: Some(Window::new(self.warmup_ns, self.duration_ns)?),
            resources: Resources { slots: vec![slots("forked", 1, Scope::Task)], ..Resources::default() },
            counters: names(["forks"]),
            series: names(["child"]),
            groups: vec![group("forker", self.tasks, Mode::Process, vec![body])],
            metrics,
            ..empty("forkstorm")
        })
    }
}

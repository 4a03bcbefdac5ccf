//! forkstorm: tasks that start children and wait for them, one after the other, as fast as they can.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::parameter::{DURATION_NS, Duration, MAX_TASKS, WARMUP_NS, Warmup, check_fields};
use super::{Workload, empty, latency, names};
use crate::error::ParameterError;
use crate::program::{
    Image, Mode, Op, Program, Quantity, Resources, Scope, Window, count, fork, group, higher, record, slots,
    stamp, wait_all, within_window,
};

/// Tasks fork children and wait for them as fast as they can.
///
/// latency is the time from before the fork until the child has been reaped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Forkstorm {
    /// Tasks that fork.
    #[schemars(range(min = 1, max = MAX_TASKS), extend("short" = "n"))]
    pub tasks: u32,
    /// Children execute a fresh image before they exit.
    pub exec: bool,
    /// Time before the recorded part.
    #[serde(rename = "warmup")]
    #[schemars(with = "Warmup")]
    pub warmup_ns: u64,
    /// Length of the recorded part.
    #[serde(rename = "duration")]
    #[schemars(with = "Duration")]
    pub duration_ns: u64,
}

impl Default for Forkstorm {
    fn default() -> Self {
        Self { tasks: 2, exec: false, warmup_ns: WARMUP_NS, duration_ns: DURATION_NS }
    }
}

impl Workload for Forkstorm {
    const NAME: &'static str = "forkstorm";
    const JUDGED: &'static [&'static str] = &["forks"];
}

impl Forkstorm {
    /// The program; an error names the parameter that is out of range.
    pub fn program(&self) -> Result<Program, ParameterError> {
        check_fields(self)?;
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

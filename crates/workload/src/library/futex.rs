//! futex: pairs of tasks that wake each other in turn through futexes.
//!
//! One operation is one round trip: two wake-ups and two waits.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::parameter::{DURATION_NS, Duration, MAX_TASKS, WARMUP_NS, Warmup, check_fields};
use super::{Workload, empty, latency, names};
use crate::error::ParameterError;
use crate::program::{
    Mode, Program, Quantity, Resources, Scope, Window, count, down, group, higher, lap, semaphores, slots,
    stamp, up, within_window,
};

/// Pairs of tasks wake each other in turn through futexes.
///
/// One operation is one round trip: two wake-ups, two waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Futex {
    /// Pairs of tasks.
    #[schemars(range(min = 1, max = MAX_TASKS))]
    pub pairs: u32,
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

impl Default for Futex {
    fn default() -> Self {
        Self { pairs: 1, mode: Mode::Thread, warmup_ns: WARMUP_NS, duration_ns: DURATION_NS }
    }
}

impl Workload for Futex {
    const NAME: &'static str = "futex";
    const JUDGED: &'static [&'static str] = &["operations"];
}

impl Futex {
    /// The program; an error names the parameter that is out of range. At its end each task raises the semaphore that
    /// the other may wait for once more.
    pub fn program(&self) -> Result<Program, ParameterError> {
        check_fields(self)?;
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
            window: Some(Window::new(self.warmup_ns, self.duration_ns)?),
            resources: Resources {
                semaphores: vec![semaphore("there"), semaphore("back")],
                slots: vec![slots("turn", 1, Scope::Task)],
                ..Resources::default()
            },
            counters: names(["operations"]),
            series: names(["round_trip"]),
            groups: vec![group("first", 1, self.mode, first), group("second", 1, self.mode, second)],
            metrics,
            ..empty("futex")
        })
    }
}

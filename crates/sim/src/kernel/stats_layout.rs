//! Format and costs of scheduler statistics.

use serde::{Deserialize, Serialize};

use crate::machine::Costs;

/// Format of a kernel's scheduler statistics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StatsLayout {
    /// Version of `/proc/schedstat`: 15 up to Linux 6.9, 16 up to 6.13, then 17
    /// (Documentation/scheduler/sched-stats.rst).
    pub version: u8,
    /// Whether names in `/proc/PID/sched` have the prefix `se.statistics.`, as up to 5.15.
    pub statistics_in_entity: bool,
    /// Instructions of an update that reads the clock and adds or compares times.
    pub time_instructions: u32,
    /// Instructions of an update that only adds to counters.
    pub counter_instructions: u32,
}

impl StatsLayout {
    /// Supported versions.
    pub const VERSIONS: std::ops::RangeInclusive<u8> = 15..=17;

    /// Times of the instructions of an update of times and of an update of counters on a machine, in nanoseconds.
    pub fn update_ns(&self, costs: &Costs) -> [u32; 2] {
        [self.time_instructions, self.counter_instructions].map(|instructions| {
            let picoseconds = u64::from(instructions) * u64::from(costs.instruction_ps);
            u32::try_from((picoseconds + 500) / 1000).unwrap_or(u32::MAX)
        })
    }

    /// Prefix of the names of a task's statistics.
    pub fn task_prefix(&self) -> &'static str {
        if self.statistics_in_entity { "se.statistics." } else { "" }
    }

    /// Whether a task's statistics have a line of this name. Blocked time has a line since 5.16.
    pub fn has_task_line(&self, name: &str) -> bool {
        !(self.statistics_in_entity && name == "sum_block_runtime")
    }
}

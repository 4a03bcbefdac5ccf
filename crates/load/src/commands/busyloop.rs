//! `schedload busyloop`.

use clap::Args;
use schedlab_workload::library::busyloop::BusyLoop;

use super::program::Prepared;
use super::timing::{TaskMode, Timing, nanoseconds};
use crate::error::LoadError;

/// Tasks look at the clock again and again and tell for how long it jumped while something else had their CPU.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Tasks.
    #[arg(short, long, default_value_t = 1, value_name = "NUM")]
    tasks: u32,
    /// A longer time between two looks at the clock is a gap.
    #[arg(long, value_parser = nanoseconds, default_value = "1us", value_name = "DURATION")]
    threshold: u64,
    #[command(flatten)]
    mode: TaskMode,
    #[command(flatten)]
    timing: Timing,
}

impl Arguments {
    pub(super) fn prepare(&self) -> Result<Prepared, LoadError> {
        let parameters = BusyLoop {
            tasks: self.tasks,
            mode: self.mode.or(BusyLoop::default().mode),
            threshold_ns: self.threshold,
            warmup_ns: self.timing.warmup_ns(),
            duration_ns: self.timing.duration_ns(),
        };
        Ok(Prepared::new(parameters.program()?, &parameters))
    }
}

//! `schedload yield`.

use clap::Args;
use schedlab_workload::library::yielding::Yielding;

use super::program::Prepared;
use super::timing::{TaskMode, Timing};
use crate::error::LoadError;

/// Tasks that do nothing but give up the CPU (sched_yield).
#[derive(Debug, Args)]
pub struct Arguments {
    /// Tasks.
    #[arg(short = 'n', long, default_value_t = 4, value_name = "NUM")]
    tasks: u32,
    #[command(flatten)]
    mode: TaskMode,
    #[command(flatten)]
    timing: Timing,
}

impl Arguments {
    pub(super) fn prepare(&self) -> Result<Prepared, LoadError> {
        let parameters = Yielding {
            tasks: self.tasks,
            mode: self.mode.or(Yielding::default().mode),
            warmup_ns: self.timing.warmup_ns(),
            duration_ns: self.timing.duration_ns(),
        };
        Ok(Prepared::new(parameters.program()?, &parameters))
    }
}

//! `schedload forkstorm`.

use clap::Args;
use schedlab_workload::library::forkstorm::Forkstorm;

use super::program::Prepared;
use super::timing::Timing;
use crate::error::LoadError;

/// Tasks start children and wait for them as fast as they can; latency is from the fork until the child is reaped.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Tasks that fork.
    #[arg(short = 'n', long, default_value_t = 2, value_name = "NUM")]
    tasks: u32,
    /// Children execute a fresh image before they exit.
    #[arg(long)]
    exec: bool,
    #[command(flatten)]
    timing: Timing,
}

impl Arguments {
    pub(super) fn prepare(&self) -> Result<Prepared, LoadError> {
        let parameters = Forkstorm {
            tasks: self.tasks,
            exec: self.exec,
            warmup_ns: self.timing.warmup_ns(),
            duration_ns: self.timing.duration_ns(),
        };
        Ok(Prepared::new(parameters.program()?, &parameters))
    }
}

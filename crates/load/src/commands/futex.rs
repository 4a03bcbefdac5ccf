//! `schedload futex`.

use clap::Args;
use schedlab_workload::library::futex::Futex;

use super::program::Prepared;
use super::timing::{TaskMode, Timing};
use crate::error::LoadError;

/// Pairs of tasks wake each other in turn through futexes; an operation is one round trip.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Pairs of tasks.
    #[arg(long, default_value_t = 1, value_name = "NUM")]
    pairs: u32,
    #[command(flatten)]
    mode: TaskMode,
    #[command(flatten)]
    timing: Timing,
}

impl Arguments {
    pub(super) fn prepare(&self) -> Result<Prepared, LoadError> {
        let parameters = Futex {
            pairs: self.pairs,
            mode: self.mode.or(Futex::default().mode),
            warmup_ns: self.timing.warmup_ns(),
            duration_ns: self.timing.duration_ns(),
        };
        Ok(Prepared::new(parameters.program()?, &parameters))
    }
}

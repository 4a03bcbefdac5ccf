//! `schedload wakeup`.

use clap::Args;
use schedlab_workload::library::wakeup::Wakeup;

use super::program::Prepared;
use super::timing::{TaskMode, Timing, nanoseconds};
use crate::error::LoadError;

/// Message threads wake workers, which record how long it took until they ran (schbench).
#[derive(Debug, Args)]
pub struct Arguments {
    /// Message threads.
    #[arg(short, long, default_value_t = 1, value_name = "NUM")]
    messages: u32,
    /// Workers of each message thread.
    #[arg(short, long, default_value_t = 2, value_name = "NUM")]
    workers: u32,
    /// Computation of a request.
    #[arg(long, value_parser = nanoseconds, default_value = "100us", value_name = "DURATION")]
    request_time: u64,
    #[command(flatten)]
    mode: TaskMode,
    #[command(flatten)]
    timing: Timing,
}

impl Arguments {
    pub(super) fn prepare(&self) -> Result<Prepared, LoadError> {
        let parameters = Wakeup {
            messages: self.messages,
            workers: self.workers,
            request_ns: self.request_time,
            mode: self.mode.or(Wakeup::default().mode),
            warmup_ns: self.timing.warmup_ns(),
            duration_ns: self.timing.duration_ns(),
        };
        Ok(Prepared::new(parameters.program()?, &parameters))
    }
}

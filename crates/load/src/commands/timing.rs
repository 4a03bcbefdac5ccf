//! Options that several programs share.

use std::time::Duration;

use clap::Args;
use schedlab_workload::program::Mode;

use crate::notation;

/// The recorded part of a run.
#[derive(Debug, Args)]
pub struct Timing {
    /// Time before anything is recorded.
    #[arg(long, value_parser = notation::duration, value_name = "DURATION", default_value = "1s")]
    warmup: Duration,
    /// Length of the recorded part.
    #[arg(long, value_parser = notation::duration, value_name = "DURATION", default_value = "5s")]
    duration: Duration,
}

impl Timing {
    pub(super) fn warmup_ns(&self) -> u64 {
        self.warmup.as_nanos() as u64
    }

    pub(super) fn duration_ns(&self) -> u64 {
        self.duration.as_nanos() as u64
    }
}

/// What tasks are.
#[derive(Debug, Args)]
pub struct TaskMode {
    /// Tasks are threads of one process.
    #[arg(short = 'T', long, overrides_with = "process")]
    threads: bool,
    /// Tasks are processes.
    #[arg(short = 'P', long, overrides_with = "threads")]
    process: bool,
}

impl TaskMode {
    /// The chosen mode, or the program's own.
    pub(super) fn or(&self, default: Mode) -> Mode {
        match (self.threads, self.process) {
            (true, _) => Mode::Thread,
            (_, true) => Mode::Process,
            _ => default,
        }
    }
}

/// A duration in whole nanoseconds.
pub fn nanoseconds(text: &str) -> Result<u64, String> {
    Ok(notation::duration(text)?.as_nanos() as u64)
}

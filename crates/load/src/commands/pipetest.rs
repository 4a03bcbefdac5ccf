//! `schedload pipetest`: two tasks pass a message back and forth.

use clap::Args;
use schedlab_workload::library::pipetest::Pipetest;
use schedlab_workload::program::Mode;

use super::program::Prepared;
use crate::error::LoadError;

/// Two tasks pass a message back and forth over two pipes (`perf bench sched pipe`).
///
/// One operation is one round trip: there and back, with two wake-ups. `latency` holds the time of every single
/// operation; `usecs_per_op` is the whole run's time divided by the number of operations.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Round trips.
    #[arg(short, long, default_value_t = 100_000, value_name = "LOOPS")]
    loops: u64,
    /// Bytes per message.
    #[arg(short, long, default_value_t = 4, value_name = "BYTES")]
    size: u64,
    /// The two tasks are threads of one process.
    #[arg(short = 'T', long)]
    threads: bool,
}

impl Arguments {
    pub(super) fn prepare(&self) -> Result<Prepared, LoadError> {
        let mode = if self.threads { Mode::Thread } else { Mode::Process };
        let parameters = Pipetest { loops: self.loops, size: self.size, mode };
        let tasks = if self.threads { "threads" } else { "processes" };
        let heading = vec![format!("{} round trips of {} bytes between two {tasks}", self.loops, self.size)];
        Ok(Prepared { heading, ..Prepared::new(parameters.program()?, &parameters) })
    }
}

//! `schedload schedbench`.

use clap::Args;
use schedlab_workload::library::schedbench::Schedbench;

use super::program::Prepared;
use super::timing::nanoseconds;
use crate::error::LoadError;

/// Processes that each allocate memory and walk it hard (NUMA schedbench).
#[derive(Debug, Args)]
pub struct Arguments {
    /// Processes.
    #[arg(short = 'n', long, default_value_t = 4, value_name = "NUM")]
    processes: u32,
    /// Memory of each, in MiB.
    #[arg(short, long, default_value_t = 32, value_name = "MIB")]
    memory: u64,
    /// Walks over the memory, alternately in order and at random.
    #[arg(short, long, default_value_t = 40, value_name = "NUM")]
    walks: u64,
    /// Computation after every two walks.
    #[arg(long, value_parser = nanoseconds, default_value = "0s", value_name = "DURATION")]
    compute_time: u64,
    /// Seed of the random walks.
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

impl Arguments {
    pub(super) fn prepare(&self) -> Result<Prepared, LoadError> {
        let parameters = Schedbench {
            processes: self.processes,
            memory_mib: self.memory,
            walks: self.walks,
            compute_ns: self.compute_time,
            seed: self.seed,
        };
        Ok(Prepared::new(parameters.program()?, &parameters))
    }
}

//! `schedload kernbench`.

use clap::Args;
use schedlab_workload::library::kernbench::Kernbench;

use super::program::Prepared;
use super::timing::nanoseconds;
use crate::error::LoadError;

/// A build like `make -j N`: a tree of short processes that fork, execute, fill memory and compute.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Jobs at a time.
    #[arg(short, long, default_value_t = 4, value_name = "NUM")]
    jobs: u32,
    /// Directories.
    #[arg(long, default_value_t = 20, value_name = "NUM")]
    directories: u32,
    /// Files to compile in each directory.
    #[arg(long, default_value_t = 12, value_name = "NUM")]
    files: u32,
    /// Mean computation of a compilation.
    #[arg(long, value_parser = nanoseconds, default_value = "8ms", value_name = "DURATION")]
    compile_time: u64,
    /// Memory that a compilation fills, in KiB.
    #[arg(long, default_value_t = 16384, value_name = "KIB")]
    memory: u64,
    /// Computation of the final link.
    #[arg(long, value_parser = nanoseconds, default_value = "30ms", value_name = "DURATION")]
    link_time: u64,
    /// Seed of the differences between compilations.
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

impl Arguments {
    pub(super) fn prepare(&self) -> Result<Prepared, LoadError> {
        let parameters = Kernbench {
            jobs: self.jobs,
            directories: self.directories,
            files: self.files,
            compile_ns: self.compile_time,
            memory_kib: self.memory,
            link_ns: self.link_time,
            seed: self.seed,
        };
        Ok(Prepared::new(parameters.program()?, &parameters))
    }
}

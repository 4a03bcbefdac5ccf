//! `schedload pgbench`.

use clap::{Args, ValueEnum};
use schedlab_workload::library::pgbench::{Pgbench, Script};

use super::program::Prepared;
use super::timing::{Timing, nanoseconds};
use crate::error::LoadError;

/// Clients of a database model with contended locks and shared buffers (pgbench's select-only and TPC-B-like scripts).
///
/// It is a model: its transaction rates are not those of PostgreSQL on the same machine.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Clients, each with a backend process.
    #[arg(short, long, default_value_t = 1, value_name = "NUM")]
    clients: u32,
    /// Select-only or TPC-B-like transactions.
    #[arg(long, value_enum, default_value = "ro")]
    mode: Transactions,
    /// Branches: row locks of TPC-B.
    #[arg(short, long, default_value_t = 10, value_name = "NUM")]
    scale: u32,
    /// Shared buffers in MiB.
    #[arg(long, default_value_t = 128, value_name = "MIB")]
    buffers: u64,
    /// Computation of a backend per query.
    #[arg(long, value_parser = nanoseconds, default_value = "30us", value_name = "DURATION")]
    query_time: u64,
    /// Time of a commit to reach the disk.
    #[arg(long, value_parser = nanoseconds, default_value = "0s", value_name = "DURATION")]
    flush_time: u64,
    #[command(flatten)]
    timing: Timing,
}

/// Kinds of transactions.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Transactions {
    /// Select-only
    Ro,
    /// TPC-B-like
    Rw,
}

impl Arguments {
    pub(super) fn prepare(&self) -> Result<Prepared, LoadError> {
        let parameters = Pgbench {
            clients: self.clients,
            mode: match self.mode {
                Transactions::Ro => Script::ReadOnly,
                Transactions::Rw => Script::ReadWrite,
            },
            scale: self.scale,
            buffers_mib: self.buffers,
            query_ns: self.query_time,
            flush_ns: self.flush_time,
            warmup_ns: self.timing.warmup_ns(),
            duration_ns: self.timing.duration_ns(),
        };
        Ok(Prepared::new(parameters.program()?, &parameters))
    }
}

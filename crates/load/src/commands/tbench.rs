//! `schedload tbench`.

use clap::Args;
use schedlab_workload::library::tbench::Tbench;

use super::program::Prepared;
use super::timing::{Timing, nanoseconds};
use crate::error::LoadError;

/// Clients that send a file server's requests over TCP and wait for its replies (tbench of dbench).
#[derive(Debug, Args)]
pub struct Arguments {
    /// Clients, each with a server process.
    #[arg(short, long, default_value_t = 1, value_name = "NUM")]
    clients: u32,
    /// Computation of a client before each operation (tbench reads a line of its load file).
    #[arg(long, value_parser = nanoseconds, default_value = "700ns", value_name = "DURATION")]
    client_time: u64,
    #[command(flatten)]
    timing: Timing,
}

impl Arguments {
    pub(super) fn prepare(&self) -> Result<Prepared, LoadError> {
        let parameters = Tbench {
            clients: self.clients,
            client_ns: self.client_time,
            warmup_ns: self.timing.warmup_ns(),
            duration_ns: self.timing.duration_ns(),
        };
        Ok(Prepared::new(parameters.program()?, &parameters))
    }
}

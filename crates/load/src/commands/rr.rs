//! `schedload rr`.

use clap::Args;
use schedlab_workload::library::rr::Rr;
use schedlab_workload::library::stream::Protocol;

use super::program::Prepared;
use super::timing::Timing;
use crate::error::LoadError;
use crate::notation;

/// Requests and replies over loopback (netperf's TCP_RR and UDP_RR).
#[derive(Debug, Args)]
pub struct Arguments {
    /// tcp or udp.
    #[arg(long, value_parser = notation::choice::<Protocol>, default_value = "tcp")]
    protocol: Protocol,
    /// Bytes per request.
    #[arg(long, default_value_t = 1, value_name = "BYTES")]
    request: u64,
    /// Bytes per reply.
    #[arg(long, default_value_t = 1, value_name = "BYTES")]
    reply: u64,
    /// Clients, each with a server.
    #[arg(long, default_value_t = 1, value_name = "NUM")]
    pairs: u32,
    /// Send small segments at once (TCP_NODELAY).
    #[arg(long)]
    no_delay: bool,
    #[command(flatten)]
    timing: Timing,
}

impl Arguments {
    pub(super) fn prepare(&self) -> Result<Prepared, LoadError> {
        let parameters = Rr {
            protocol: self.protocol,
            request: self.request,
            reply: self.reply,
            pairs: self.pairs,
            no_delay: self.no_delay,
            warmup_ns: self.timing.warmup_ns(),
            duration_ns: self.timing.duration_ns(),
        };
        Ok(Prepared::new(parameters.program()?, &parameters))
    }
}

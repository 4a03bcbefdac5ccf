//! `schedload stream`.

use clap::Args;
use schedlab_workload::library::stream::{Protocol, Stream};

use super::program::Prepared;
use super::timing::Timing;
use crate::error::LoadError;
use crate::notation;

/// Sends as fast as it can over loopback (netperf's TCP_STREAM and UDP_STREAM).
#[derive(Debug, Args)]
pub struct Arguments {
    /// tcp or udp.
    #[arg(long, value_parser = notation::choice::<Protocol>, default_value = "tcp")]
    protocol: Protocol,
    /// Bytes per message of the sender.
    #[arg(short, long, default_value_t = 16384, value_name = "BYTES")]
    size: u64,
    /// Senders, each with a receiver.
    #[arg(long, default_value_t = 1, value_name = "NUM")]
    pairs: u32,
    /// Send small segments at once (TCP_NODELAY).
    #[arg(long)]
    no_delay: bool,
    #[command(flatten)]
    timing: Timing,
    /// Send so many bytes per sender, instead of for a time, and record everything.
    #[arg(long, value_name = "BYTES", conflicts_with_all = ["warmup", "duration"])]
    bytes: Option<u64>,
}

impl Arguments {
    pub(super) fn prepare(&self) -> Result<Prepared, LoadError> {
        let parameters = Stream {
            protocol: self.protocol,
            size: self.size,
            pairs: self.pairs,
            no_delay: self.no_delay,
            warmup_ns: self.timing.warmup_ns(),
            duration_ns: self.timing.duration_ns(),
            bytes: self.bytes,
        };
        Ok(Prepared::new(parameters.program()?, &parameters))
    }
}

//! The fresh image that `exec` of work becomes: this program with a hidden subcommand.

use schedlab_workload::code::Work;

use super::spin::{Rate, spin};
use crate::sys::memory::Mapping;

/// Name of the hidden subcommand.
pub const SUBCOMMAND: &str = "image-work";

/// The command line that performs `work`.
pub fn arguments(work: Work, rate: Rate) -> [String; 4] {
    let rounds = rate.rounds(work.ns).to_string();
    ["/proc/self/exe".to_owned(), SUBCOMMAND.to_owned(), rounds, work.bytes.to_string()]
}

/// Does the work: writes to each page of `bytes` bytes, then spins for `rounds`.
pub fn perform(rounds: u64, bytes: u64) -> std::io::Result<()> {
    if bytes > 0 {
        let memory = Mapping::private(bytes as usize)?;
        memory.prefault(0, bytes as usize);
    }
    spin(rounds);
    Ok(())
}

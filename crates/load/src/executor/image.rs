//! The program image that `Op::Exec` starts for `Image::Work`: this program with a hidden subcommand.

use clap::Args;
use schedlab_workload::code::Work;

use super::spin::{Rate, spin};
use crate::error::LoadError;
use crate::sys::memory::Mapping;

/// Name of the hidden subcommand.
pub const SUBCOMMAND: &str = "image-work";

/// The command line that performs `work`.
pub fn arguments(work: Work, rate: Rate) -> [String; 4] {
    let rounds = rate.rounds(work.ns).to_string();
    ["/proc/self/exe".to_owned(), SUBCOMMAND.to_owned(), rounds, work.bytes.to_string()]
}

/// Write to memory, compute and exit.
#[derive(Debug, Args)]
pub struct Arguments {
    rounds: u64,
    bytes: u64,
}

impl Arguments {
    /// Does the work: writes to each page of the memory, then spins.
    pub fn perform(&self) -> Result<(), LoadError> {
        if self.bytes > 0 {
            let failed = |source| LoadError::Memory { purpose: "the image's memory", source };
            Mapping::private(self.bytes as usize).map_err(failed)?.prefault(0, self.bytes as usize);
        }
        spin(self.rounds);
        Ok(())
    }
}

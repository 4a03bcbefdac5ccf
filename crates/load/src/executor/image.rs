//! The program image that `Op::Exec` starts for `Image::Work`: this program with a hidden subcommand.

use std::fs::File;
use std::io::Read;

use clap::Args;
use schedlab_workload::code::Work;

use super::spin::{Rate, spin};
use crate::error::LoadError;
use crate::sys::memory::Mapping;

/// Name of the hidden subcommand.
pub const SUBCOMMAND: &str = "image-work";

/// The command line that performs `work`.
pub fn arguments(work: Work, rate: Rate) -> [String; 5] {
    let rounds = rate.rounds(work.ns).to_string();
    let (bytes, files) = (work.bytes.to_string(), work.files.to_string());
    ["/proc/self/exe".to_owned(), SUBCOMMAND.to_owned(), rounds, bytes, files]
}

/// Read files, write to memory, compute and exit.
#[derive(Debug, Args)]
pub struct Arguments {
    rounds: u64,
    bytes: u64,
    #[arg(default_value_t = 0)]
    files: u64,
}

impl Arguments {
    /// Does the work: reads the beginning of the program's file so many times, writes to each page of the memory, then spins.
    pub fn perform(&self) -> Result<(), LoadError> {
        let mut header = [0; 8192];
        for _ in 0..self.files {
            let read = File::open("/proc/self/exe").and_then(|mut file| file.read(&mut header));
            read.map_err(|source| LoadError::Memory { purpose: "the image's files", source })?;
        }
        let failed = |source| LoadError::Memory { purpose: "the image's memory", source };
        let bytes = self.bytes as usize;
        let memory = (bytes > 0).then(|| Mapping::private(bytes)).transpose().map_err(failed)?;
        if let Some(memory) = &memory {
            memory.prefault(0, bytes);
        }
        spin(self.rounds);
        // A compiler has its memory to the end.
        drop(memory);
        Ok(())
    }
}

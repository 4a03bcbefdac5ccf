//! Files that tasks write to.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};

use schedlab_workload::Plan;

use crate::error::LoadError;

/// Most bytes of one `write(2)`.
const CHUNK: usize = 4 << 20;

/// Source of all writes. Zeros take no space in the program's file.
static ZEROS: [u8; CHUNK] = [0; CHUNK];

/// An open file.
#[derive(Debug)]
pub struct Output(File);

/// Open all files of a plan. Missing files are created; existing files are not truncated.
pub fn open(plan: &Plan) -> Result<Vec<Output>, LoadError> {
    let open = |instance| {
        let path = &plan.program().resources.files[plan.files().position(instance)].path;
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(path);
        let failed = |error: io::Error| LoadError::File { path: path.clone(), reason: error.to_string() };
        file.map(Output).map_err(failed)
    };
    (0..plan.files().total()).map(open).collect()
}

impl Output {
    /// Write `bytes` zeros.
    pub fn write(&self, mut bytes: u64) -> io::Result<()> {
        while bytes > 0 {
            let chunk = bytes.min(CHUNK as u64);
            (&self.0).write_all(&ZEROS[..chunk as usize])?;
            bytes -= chunk;
        }
        Ok(())
    }
}

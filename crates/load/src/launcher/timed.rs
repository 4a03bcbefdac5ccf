//! Writes to files while the command runs.

use std::fs::OpenOptions;
use std::io::Write;
use std::time::Instant;

use super::order::TimedWrite;
use super::report::MadeWrite;
use crate::error::LoadError;

/// The writes of an order, with the writes that were made.
#[derive(Debug)]
pub struct Timed<'o> {
    began: Instant,
    /// The latest write first.
    waiting: Vec<&'o TimedWrite>,
    made: Vec<MadeWrite>,
}

impl<'o> Timed<'o> {
    /// The writes of a command that starts now.
    pub fn new(writes: &'o [TimedWrite]) -> Self {
        let mut waiting: Vec<&TimedWrite> = writes.iter().rev().collect();
        // A stable sort: writes of the same time keep their order.
        waiting.sort_by_key(|write| std::cmp::Reverse(write.after));
        Self { began: Instant::now(), waiting, made: Vec::new() }
    }

    /// When the next write is due.
    pub fn next(&self) -> Option<Instant> {
        self.waiting.last().map(|write| self.began + write.after)
    }

    /// Make the writes that are due.
    pub fn write_due(&mut self) -> Result<(), LoadError> {
        while let Some(write) = self.waiting.pop_if(|write| self.began + write.after <= Instant::now()) {
            let path = write.path.display().to_string();
            let after_ns = self.began.elapsed().as_nanos() as u64;
            let file = OpenOptions::new().write(true).open(&write.path);
            file.and_then(|mut file| file.write_all(write.text.as_bytes())).map_err(|error| {
                LoadError::Launch(format!("{} could not be written to {path}: {error}", write.text))
            })?;
            self.made.push(MadeWrite { after_ns, path, text: write.text.clone() });
        }
        Ok(())
    }

    /// The writes that were made.
    pub fn into_made(self) -> Vec<MadeWrite> {
        self.made
    }
}

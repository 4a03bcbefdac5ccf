//! Memory of the main thread that the processes of the tasks inherit.

use std::io;

use schedlab_workload::program::MainMemory;

use crate::sys::memory::{Mapping, PAGE};

/// The mappings. The main thread has written all their pages.
#[derive(Debug)]
pub struct Inherited {
    mappings: Vec<Mapping>,
    /// Pages that each process writes.
    written: usize,
}

impl Inherited {
    /// Map and write the memory.
    pub fn new(memory: MainMemory) -> io::Result<Self> {
        let (pages, count) = (memory.pages as usize, memory.mappings as usize);
        let mappings = (0..count).map(|at| {
            let mapping = Mapping::private((pages * (at + 1) / count - pages * at / count) * PAGE)?;
            mapping.small_pages();
            if at % 2 == 1 {
                mapping.keep_apart()?;
            }
            mapping.prefault(0, mapping.bytes());
            Ok(mapping)
        });
        Ok(Self { mappings: mappings.collect::<io::Result<_>>()?, written: memory.written as usize })
    }

    /// Write the pages that the process of a task writes before it ends.
    pub fn write(&self) {
        let mut left = self.written;
        for mapping in &self.mappings {
            let pages = left.min(mapping.bytes() / PAGE);
            mapping.prefault(0, pages * PAGE);
            left -= pages;
        }
    }
}

#[cfg(test)]
#[path = "../../tests/unit/executor/inherited.rs"]
mod tests;

//! Memory of messages in the private caches of cores.
//!
//! Messages that a core writes between the writing of a message and its reading evict the message from the core's caches:
//! each incoming line evicts a random line, as for footprints (`warmth.rs`), and so do messages that a reader fetches again.
//! The memory of a new message is taken to be the memory of messages that were read last, and as cold as these were: kernels
//! prefer the memory that was freed last.
//!
//! Limits: every write counts as new to the caches, also a write to memory that is still there. The bytes of a stream that
//! wait together have one age, which begins at the last write. Messages evict no footprints, and footprints no messages.
//! Messages of other cores, and messages that the last-level cache has lost, are not counted.

use crate::table::Table;

/// What messages have brought into the caches of a core.
#[derive(Debug, Clone, Copy, Default)]
struct Core {
    /// Bytes in all.
    bytes: u64,
    /// Bytes between the writing and the reading of the message that was read last, at most the capacity of the caches.
    age: u64,
}

/// What messages have brought into the caches of each core.
#[derive(Debug, Clone)]
pub(crate) struct Written {
    cores: Table<Core>,
    private_bytes: u64,
}

impl Written {
    /// Nothing was written. `private_kib`: size of a core's private caches.
    pub fn new(cores: usize, private_kib: u32) -> Self {
        // SAFETY: the indices are cores of the topology.
        let cores = unsafe { Table::trusted(vec![Core::default(); cores]) };
        Self { cores, private_bytes: u64::from(private_kib.max(1)) << 10 }
    }

    /// Add `bytes` that a core writes; return the sum.
    #[inline]
    pub fn add(&mut self, core: usize, bytes: u64) -> u64 {
        self.cores[core].bytes += bytes;
        self.cores[core].bytes
    }

    /// Read `memory` bytes that the core wrote: the sum was `written` after these and those behind them in the same queue, which
    /// are `queued` bytes together. Return the part of `ns`, the time to fetch them all, that the lost part takes.
    #[inline]
    pub fn read(&mut self, core: usize, (written, queued, memory): (u64, u64, u64), ns: u64) -> u64 {
        let each = &mut self.cores[core];
        each.age = (each.bytes - written + queued).min(self.private_bytes);
        each.bytes += memory * each.age / self.private_bytes;
        self.part_of_last(core, ns)
    }

    /// The part of `ns`, the time to fetch a complete message, for the memory of the message that was read last.
    #[inline]
    pub fn part_of_last(&self, core: usize, ns: u64) -> u64 {
        ns * self.cores[core].age / self.private_bytes
    }
}

#[cfg(test)]
#[path = "../../tests/unit/physics/written.rs"]
mod tests;

//! Memory of messages in the private caches of cores.
//!
//! Messages that a core writes between the writing of a message and its reading evict the message from the core's caches:
//! each incoming line evicts a random line, as for footprints (`warmth.rs`). Incoming is fresh memory, and the part of a message
//! that is fetched again. A new message takes the memory that its core has freed, which is as cold as the message that was
//! read last: kernels prefer the memory that was freed last.
//!
//! Limits: the bytes of a stream that wait together have one age, which begins at the last write. Messages evict no
//! footprints, and footprints no messages. What the last-level cache has lost is not counted.

use crate::table::Table;

/// Messages in the caches of a core, in bytes.
#[derive(Debug, Clone, Copy, Default)]
struct Core {
    /// What has come into the caches.
    inflow: u64,
    /// Memory that tasks on the core have freed and not used again.
    freed: u64,
    /// Inflow between the writing and the reading of the message that was read last, at most the capacity of the caches.
    age: u64,
}

/// A message that its core can read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Waiting {
    /// The inflow of the core after the last bytes that wait together with the message.
    pub written: u64,
    /// Bytes that wait behind the message.
    pub behind: u64,
    /// Memory of the message.
    pub memory: u64,
}

/// Messages in the caches of each core.
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

    /// What has come into a core's caches.
    #[inline]
    pub fn inflow(&self, core: usize) -> u64 {
        self.cores[core].inflow
    }

    /// Write a message whose memory has `bytes` bytes; return the core's inflow.
    #[inline]
    pub fn write(&mut self, core: usize, bytes: u64) -> u64 {
        let each = &mut self.cores[core];
        let reused = bytes.min(each.freed);
        each.freed -= reused;
        each.inflow += bytes - reused + lost(reused, each.age, self.private_bytes);
        each.inflow
    }

    /// Inflow since a message that waits was written, at most the capacity of the caches.
    #[inline]
    fn age(&self, core: usize, message: &Waiting) -> u64 {
        (self.cores[core].inflow - message.written + message.behind).min(self.private_bytes)
    }

    /// Read and free a message that the core wrote.
    #[inline]
    pub fn read(&mut self, core: usize, message: &Waiting) {
        let age = self.age(core, message);
        let each = &mut self.cores[core];
        each.age = age;
        each.inflow += lost(message.memory, each.age, self.private_bytes);
        each.freed += message.memory;
    }

    /// Time to fetch the lost part of a message that waits. `complete` returns the time to fetch a complete message.
    #[inline]
    pub fn fetch(&self, core: usize, message: &Waiting, complete: impl FnOnce() -> u64) -> u64 {
        self.part(self.age(core, message), complete)
    }

    /// Time to fetch the lost part of the memory of the message that was read last.
    #[inline]
    pub fn fetch_last(&self, core: usize, complete: impl FnOnce() -> u64) -> u64 {
        self.part(self.cores[core].age, complete)
    }

    #[inline]
    fn part(&self, age: u64, complete: impl FnOnce() -> u64) -> u64 {
        if age == 0 { 0 } else { lost(complete(), age, self.private_bytes) }
    }
}

/// Part of `amount` that an inflow of `age` bytes has evicted from caches of `capacity` bytes.
#[inline]
fn lost(amount: u64, age: u64, capacity: u64) -> u64 {
    // Most messages are read at once, and a division is slow.
    if age == 0 { 0 } else { amount * age / capacity }
}

#[cfg(test)]
#[path = "../../tests/unit/physics/written.rs"]
mod tests;

//! Sums over the CPUs of each last-level cache, which runqueues update at each enqueue and dequeue.
//!
//! Balancing over wide domains compares groups of many CPUs, and adds up a few sums instead of reading each CPU.

use crate::machine::{CpuMask, Topology};
use crate::table::Table;

/// Load of a set of CPUs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Sum {
    /// Number of CPUs that balancing uses.
    pub width: u64,
    /// Number of runnable tasks.
    pub number: u64,
    /// Sum of the CPUs' loads, see [`Runqueues::loads`].
    pub load: u64,
    /// Number of CPUs without a task.
    pub idle: u64,
}

impl Sum {
    pub fn add(&mut self, other: &Self) {
        self.width += other.width;
        self.number += other.number;
        self.load += other.load;
        self.idle += other.idle;
    }

    /// Load per CPU, times 1024.
    pub fn per_cpu(&self) -> u64 {
        self.load * 1024 / self.width.max(1)
    }
}

/// The sums of all last-level caches.
#[derive(Debug, Clone)]
pub(crate) struct Sums {
    /// Sum of each cache. The last entry is for CPUs that balancing does not use.
    pub(super) caches: Table<Sum>,
    /// Index in `caches` of each CPU.
    pub(super) of_cpu: Table<u16>,
}

impl Sums {
    /// Sums of empty runqueues. `open` are the CPUs that balancing uses.
    pub fn new(topology: &Topology, open: &CpuMask) -> Self {
        let closed = topology.caches.len();
        let of_cpu = |cpu| if open.contains(cpu) { topology.cache(cpu) as u16 } else { closed as u16 };
        let of_cpu: Vec<u16> = (0..topology.cpus()).map(of_cpu).collect();
        let mut caches = vec![Sum::default(); closed + 1];
        for cache in of_cpu.iter() {
            caches[usize::from(*cache)].width += 1;
            caches[usize::from(*cache)].idle += 1;
        }
        // SAFETY: `of_cpu` has an entry for each CPU, and its entries are positions in `caches`.
        let (caches, of_cpu) = unsafe { (Table::trusted(caches), Table::trusted(of_cpu)) };
        Self { caches, of_cpu }
    }

    #[inline]
    pub fn cache(&self, cache: u16) -> &Sum {
        &self.caches[usize::from(cache)]
    }
}

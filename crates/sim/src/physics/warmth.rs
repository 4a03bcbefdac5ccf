//! Cache warmth of footprints.
//!
//! Data that other tasks bring into a cache evicts a task's footprint. Each cache counts its inflow in KiB. A footprint
//! of f KiB that left the cache at inflow s has lost f × min(1, (inflow − s) / capacity) when the task returns. This
//! models random replacement: every incoming line evicts a random line. Least-recently-used caches lose data more
//! abruptly.

use crate::machine::{ByDistance, Distance, Topology};
use crate::table::Table;

/// Place of a footprint's last run, and the inflow of its caches at that time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Warmth {
    /// Core, last-level cache and node; `u16::MAX` before the first run.
    pub core: u16,
    pub cache: u16,
    pub node: u16,
    /// Inflow of the core's private caches and of the last-level cache at the end of the run.
    pub core_inflow: u64,
    pub cache_inflow: u64,
}

impl Default for Warmth {
    /// A footprint that is in no cache.
    fn default() -> Self {
        Self { core: u16::MAX, cache: u16::MAX, node: u16::MAX, core_inflow: 0, cache_inflow: 0 }
    }
}

/// Inflow of all caches, with their capacities and refill costs.
#[derive(Debug, Clone)]
pub(crate) struct Caches {
    pub core_kib: Table<u64>,
    pub cache_kib: Table<u64>,
    private_kib: u64,
    llc_kib: u64,
    refill: ByDistance,
    random_percent: u64,
}

/// Part of `kib` that an inflow of `inflow` KiB has evicted from a cache of `capacity` KiB.
#[inline]
fn lost(kib: u64, inflow: u64, capacity: u64) -> u64 {
    if inflow >= capacity { kib } else { kib * inflow / capacity }
}

impl Caches {
    pub fn new(
        topology: &Topology,
        private_kib: u32,
        llc_kib: u32,
        refill: ByDistance,
        random_percent: u32,
    ) -> Self {
        Self {
            // SAFETY: the indices are cores and caches of the topology.
            core_kib: unsafe { Table::trusted(vec![0; topology.cores.len()]) },
            // SAFETY: as above.
            cache_kib: unsafe { Table::trusted(vec![0; topology.caches.len()]) },
            private_kib: private_kib.into(),
            llc_kib: llc_kib.into(),
            refill,
            random_percent: random_percent.into(),
        }
    }

    /// Add an inflow of `kib` KiB to a core's caches. `from_beyond` KiB of the inflow were not in its last-level cache.
    #[inline]
    pub fn flow(&mut self, core: usize, cache: usize, kib: u64, from_beyond: u64) {
        self.core_kib[core] += kib;
        self.cache_kib[cache] += from_beyond;
    }

    /// Refill the caches of (core, cache) with a task's footprint of `kib` KiB.
    ///
    /// Returns the time in ns that the caches and memory of the local node take, and the additional time in ns for data on
    /// another node. `from` returns the distance of the data that is not in the last-level cache.
    #[inline]
    pub fn refill(
        &mut self,
        warmth: &Warmth,
        kib: u32,
        core: u16,
        cache: u16,
        from: impl FnOnce() -> Distance,
    ) -> (u64, u64) {
        let (footprint, core_index) = (u64::from(kib), usize::from(core));
        let private = footprint.min(self.private_kib);
        let missing = if warmth.core == core {
            lost(private, self.core_kib[core_index] - warmth.core_inflow, self.private_kib)
        } else {
            private
        };
        if missing == 0 {
            return (0, 0);
        }
        let beyond = if warmth.cache == cache {
            lost(missing, self.cache_kib[usize::from(cache)] - warmth.cache_inflow, self.llc_kib)
        } else {
            missing
        };
        self.flow(core_index, cache.into(), missing, beyond);
        let local = (missing - beyond) * u64::from(self.refill.llc) + beyond * u64::from(self.refill.node);
        if beyond == 0 {
            return (local * self.random_percent / 100, 0);
        }
        let from = from().max(Distance::Node);
        let remote = beyond * self.refill.at(from).saturating_sub(self.refill.node.into());
        (local * self.random_percent / 100, remote * self.random_percent / 100)
    }

    /// Return the warmth of a footprint that leaves a core.
    #[inline]
    pub fn leave(&self, core: u16, cache: u16, node: u16) -> Warmth {
        Warmth {
            core,
            cache,
            node,
            core_inflow: self.core_kib[usize::from(core)],
            cache_inflow: self.cache_kib[usize::from(cache)],
        }
    }
}

#[cfg(test)]
#[path = "../../tests/unit/physics/warmth.rs"]
mod tests;

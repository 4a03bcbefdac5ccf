//! Cache warmth of footprints.
//!
//! What a task has in a cache is pushed out by what others bring in. Each cache counts what has flowed into it; a
//! footprint of f KiB that left when the count was s finds f × min(1, (now − s) / capacity) of itself gone: every
//! incoming line evicts an evenly drawn one. That is random replacement; least-recently-used caches forget more
//! abruptly.

use crate::machine::{ByDistance, Distance, Topology};
use crate::table::Table;

/// What remains of a footprint where it last ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Warmth {
    /// Core and last-level cache; `u16::MAX` before the first run.
    pub core: u16,
    pub cache: u16,
    pub node: u16,
    /// What had flowed into them when it left.
    pub core_inflow: u64,
    pub cache_inflow: u64,
}

impl Warmth {
    pub const COLD: Self =
        Self { core: u16::MAX, cache: u16::MAX, node: u16::MAX, core_inflow: 0, cache_inflow: 0 };
}

/// Inflow of all caches.
#[derive(Debug, Clone)]
pub(crate) struct Caches {
    pub core_kib: Table<u64>,
    pub cache_kib: Table<u64>,
    private_kib: u64,
    llc_kib: u64,
    refill: ByDistance,
    random_percent: u64,
}

/// The part of `kib` that `inflow` KiB have pushed out of a cache of `capacity` KiB.
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
            // SAFETY: by core and by cache of the topology.
            core_kib: unsafe { Table::trusted(vec![0; topology.cores.len()]) },
            // SAFETY: as above.
            cache_kib: unsafe { Table::trusted(vec![0; topology.caches.len()]) },
            private_kib: private_kib.into(),
            llc_kib: llc_kib.into(),
            refill,
            random_percent: random_percent.into(),
        }
    }

    /// Lets `kib` KiB flow into a core's caches, of which `from_beyond` were not in its last-level cache.
    #[inline]
    pub fn flow(&mut self, core: usize, cache: usize, kib: u64, from_beyond: u64) {
        self.core_kib[core] += kib;
        self.cache_kib[cache] += from_beyond;
    }

    /// Brings a task's footprint of `kib` KiB to the CPU at (core, cache); nanoseconds of it due to this node's caches and
    /// memory, and nanoseconds on top because the data is on another node, `from` of where it has to come from beyond.
    #[inline]
    pub fn refill(
        &mut self,
        warmth: &Warmth,
        kib: u32,
        core: u16,
        cache: u16,
        from: impl FnOnce() -> Distance,
    ) -> (u64, u64) {
        let (footprint, here) = (u64::from(kib), usize::from(core));
        let private = footprint.min(self.private_kib);
        let missing = if warmth.core == core {
            lost(private, self.core_kib[here] - warmth.core_inflow, self.private_kib)
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
        self.flow(here, cache.into(), missing, beyond);
        let own = (missing - beyond) * u64::from(self.refill.llc) + beyond * u64::from(self.refill.node);
        if beyond == 0 {
            return (own * self.random_percent / 100, 0);
        }
        let from = from().max(Distance::Node);
        let away = beyond * self.refill.at(from).saturating_sub(self.refill.node.into());
        (own * self.random_percent / 100, away * self.random_percent / 100)
    }

    /// Notes that a footprint leaves a core.
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
mod tests {
    use super::{Caches, Warmth};
    use crate::machine::{Distance, Topology, machine};

    #[test]
    fn a_footprint_cools_by_what_flows_in_after_it() {
        // 256 KiB private, 30 MiB shared; refill 40 ns/KiB from the shared cache, 95 from memory, 140 from the other
        // socket's, × 3 for random places.
        let xeon = machine("xeon-e5-2670v3").unwrap();
        let mut caches = Caches::new(&Topology::new(&xeon), 256, 30_720, xeon.costs.refill_kib, 300);
        // Cold: 16 KiB from local memory: 16 × 95 × 3.
        assert_eq!(caches.refill(&Warmth::COLD, 16, 0, 0, || Distance::Node), (4560, 0));
        let left = caches.leave(0, 0, 0);
        // Nobody came: warm.
        assert_eq!(caches.refill(&left, 16, 0, 0, || Distance::Node), (0, 0));
        // 128 KiB came, half of 256: 8 KiB are gone, 8 × 128 / 30720 = 0 of them from the shared cache: 8 × 40 × 3.
        caches.flow(0, 0, 128, 128);
        assert_eq!(caches.refill(&left, 16, 0, 0, || Distance::Node), (960, 0));
        // Another core of the socket: all 16 KiB from the shared cache (16 × 128 / 30720 = 0 lost there).
        assert_eq!(caches.refill(&left, 16, 1, 0, || Distance::Node), (1920, 0));
        // The other socket: 16 × 95 × 3 as from memory, and 16 × 45 × 3 more for the distance.
        assert_eq!(caches.refill(&left, 16, 12, 1, || Distance::Far), (4560, 2160));
    }
}

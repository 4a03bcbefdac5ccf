//! Caches and owners of cache lines on a machine model, for the memory accesses of a guest's CPUs in their order.
//!
//! ```text
//! core 0     core 1         core 12     core 13       private cache of each core (private_kib)
//!    └──┬───────┘               └──┬───────┘
//!  last-level cache          last-level cache         llc_kib, contains all lines of its cores
//!       └───────── memory ─────────┘
//! ```
//!
//! A line is modified in one private cache, or unmodified in any number of caches (the states M and S of the protocol
//! MESI; a store to a line in no other cache asks nobody, as in state E). A last-level cache is inclusive: a line that leaves it
//! leaves the private caches of its cores. Instruction fetches, page table walks and prefetches are not modelled.

mod lines;
mod placement;

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use schedlab_sim::machine::{Distance, Machine};

pub(crate) use lines::LINE;
use lines::{Lines, Way};
pub(crate) use placement::Guest;
use placement::Placement;

/// Source of the line of an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// The core's private cache.
    Private,
    /// The last-level cache of the core.
    Llc,
    /// A cache at this distance, which had modified the line, or whose copy a store invalidates.
    Cache(Distance),
    /// Memory at this distance.
    Memory(Distance),
}

impl Source {
    /// Number of sources.
    pub(crate) const COUNT: usize = 2 + 2 * Distance::COUNT;

    /// Position among all sources.
    pub(crate) fn index(self) -> usize {
        match self {
            Self::Private => 0,
            Self::Llc => 1,
            Self::Cache(distance) => 2 + distance as usize,
            Self::Memory(distance) => 2 + Distance::COUNT + distance as usize,
        }
    }

    /// Names by index; a private cache has no distance, and memory is in no core, cluster or last-level cache.
    pub(crate) const NAMES: [&'static str; Self::COUNT] = [
        "private",
        "llc",
        "cache-core",
        "cache-cluster",
        "cache-llc",
        "cache-node",
        "cache-near",
        "cache-far",
        "memory-core",
        "memory-cluster",
        "memory-llc",
        "memory-node",
        "memory-near",
        "memory-far",
    ];
}

/// Where a line is. A line that no cache has is in no entry.
#[derive(Debug, Clone, Copy, Default)]
struct Holders {
    /// Bits of the cores whose private caches have the line.
    cores: u64,
    /// Bits of the last-level caches that have the line.
    caches: u64,
    /// The core whose private cache has modified the line.
    writer: Option<u8>,
    /// The last-level cache that has the only valid copy, after the writer evicted the line.
    dirty: Option<u8>,
}

/// Multiplies by an odd constant (2⁶⁴ / the golden ratio; Knuth, TAOCP 3, section 6.4): line numbers need no protection
/// from chosen collisions, and every access that misses a private cache looks up a line.
#[derive(Default)]
struct LineHasher(u64);

impl Hasher for LineHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _bytes: &[u8]) {
        unreachable!("keys are numbers of lines")
    }

    fn write_u64(&mut self, line: u64) {
        let product = line.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = product ^ (product >> 32);
    }
}

/// All caches of a guest on a machine model.
pub(crate) struct Hierarchy {
    placement: Placement,
    /// Private caches, by core of the guest.
    cores: Vec<Lines>,
    /// Last-level caches.
    caches: Vec<Lines>,
    /// Core of each CPU of the guest.
    core_of: Vec<usize>,
    /// Last-level cache of each core.
    cache_of: Vec<usize>,
    /// A CPU of the guest in each core, and in each last-level cache.
    cpu_of_core: Vec<usize>,
    cpu_of_cache: Vec<usize>,
    lines: HashMap<u64, Holders, BuildHasherDefault<LineHasher>>,
}

fn bits(set: u64) -> impl Iterator<Item = usize> {
    (0..64).filter(move |bit| set & (1 << bit) != 0)
}

impl Hierarchy {
    /// Empty caches; an error if the guest does not fit on the machine, or has more than 64 cores.
    pub(crate) fn new(machine: &Machine, guest: Guest) -> Result<Self, String> {
        let placement = Placement::new(machine, guest)?;
        let (core_of, cpu_of_core) = numbered(placement.cpus.iter().map(|cpu| placement.topology.core(*cpu)));
        let (cache_of_cpu, cpu_of_cache) =
            numbered(placement.cpus.iter().map(|cpu| placement.topology.cache(*cpu)));
        if cpu_of_core.len() > 64 {
            return Err(format!(
                "cache lines are followed for 64 cores, and the guest has {}",
                cpu_of_core.len()
            ));
        }
        Ok(Self {
            cores: cpu_of_core.iter().map(|_| Lines::new(machine.private_kib)).collect(),
            caches: cpu_of_cache.iter().map(|_| Lines::new(machine.llc_kib)).collect(),
            cache_of: cpu_of_core.iter().map(|cpu| cache_of_cpu[*cpu]).collect(),
            placement,
            core_of,
            cpu_of_core,
            cpu_of_cache,
            lines: HashMap::default(),
        })
    }

    /// The source of the line for an access of a CPU to a physical address, after which the CPU's core has the line.
    pub(crate) fn access(&mut self, cpu: usize, address: u64, store: bool) -> Source {
        let (line, core) = (address / LINE, self.core_of[cpu]);
        match self.cores[core].find(line) {
            Some(way) if !store || way.modified => Source::Private,
            Some(way) => {
                way.modified = true;
                self.invalidate_others(cpu, line).map_or(Source::Private, Source::Cache)
            }
            None => self.fetch(cpu, address, store),
        }
    }

    /// An access that misses the private cache.
    fn fetch(&mut self, cpu: usize, address: u64, store: bool) -> Source {
        let (line, core) = (address / LINE, self.core_of[cpu]);
        let cache = self.cache_of[core];
        let holders = self.lines.get(&line).copied().unwrap_or_default();
        let mut source = match (holders.writer, holders.dirty) {
            (Some(writer), _) => Source::Cache(self.between(cpu, self.cpu_of_core[usize::from(writer)])),
            (None, Some(dirty)) if usize::from(dirty) != cache => {
                Source::Cache(self.between(cpu, self.cpu_of_cache[usize::from(dirty)]))
            }
            _ if holders.caches & (1 << cache) != 0 => Source::Llc,
            _ => Source::Memory(self.placement.memory(cpu, address)),
        };
        if store {
            if let Some(distance) = self.invalidate_others(cpu, line) {
                source = Source::Cache(distance);
            }
        } else if let Some(writer) = holders.writer {
            // The writer keeps a copy; the last-level caches and memory get the new contents.
            if let Some(way) = self.cores[usize::from(writer)].find(line) {
                way.modified = false;
            }
        }
        self.fill_cache(cache, line);
        let entry = self.lines.entry(line).or_default();
        entry.cores |= 1 << core;
        entry.caches |= 1 << cache;
        entry.writer = store.then_some(core as u8);
        entry.dirty = entry.dirty.filter(|dirty| usize::from(*dirty) == cache && !store);
        if let Some(evicted) = self.cores[core].insert(Way { line, modified: store }) {
            self.leave_core(core, evicted);
        }
        source
    }

    /// Makes a core the only holder of a line. The result is the largest distance to another core or last-level cache
    /// that had the line.
    fn invalidate_others(&mut self, cpu: usize, line: u64) -> Option<Distance> {
        let (core, cache) = (self.core_of[cpu], self.cache_of[self.core_of[cpu]]);
        let holders = self.lines.entry(line).or_default();
        let (others, other_caches) = (holders.cores & !(1 << core), holders.caches & !(1 << cache));
        holders.cores &= 1 << core;
        holders.caches &= 1 << cache;
        holders.writer = Some(core as u8);
        holders.dirty = None;
        let mut farthest = None;
        for other in bits(others) {
            self.cores[other].remove(line);
            farthest = farthest.max(Some(self.between(cpu, self.cpu_of_core[other])));
        }
        for other in bits(other_caches) {
            self.caches[other].remove(line);
            farthest = farthest.max(Some(self.between(cpu, self.cpu_of_cache[other])));
        }
        farthest
    }

    /// Adds a line to a last-level cache, and removes the replaced line from the private caches of its cores.
    fn fill_cache(&mut self, cache: usize, line: u64) {
        if self.caches[cache].find(line).is_some() {
            return;
        }
        let Some(evicted) = self.caches[cache].insert(Way { line, modified: false }) else { return };
        let Some(holders) = self.lines.get_mut(&evicted.line) else { return };
        holders.caches &= !(1 << cache);
        let inside = bits(holders.cores).filter(|core| self.cache_of[*core] == cache);
        let inside = inside.fold(0, |set, core| set | (1 << core));
        holders.cores &= !inside;
        holders.writer = holders.writer.filter(|writer| inside & (1 << writer) == 0);
        holders.dirty = holders.dirty.filter(|dirty| usize::from(*dirty) != cache);
        if holders.cores == 0 && holders.caches == 0 {
            self.lines.remove(&evicted.line);
        }
        for core in bits(inside) {
            self.cores[core].remove(evicted.line);
        }
    }

    /// A private cache has replaced a line; the last-level cache keeps the line.
    fn leave_core(&mut self, core: usize, evicted: Way) {
        if let Some(holders) = self.lines.get_mut(&evicted.line) {
            holders.cores &= !(1 << core);
            if evicted.modified {
                holders.writer = None;
                holders.dirty = Some(self.cache_of[core] as u8);
            }
        }
    }

    fn between(&self, a: usize, b: usize) -> Distance {
        self.placement.topology.distance(self.placement.cpus[a], self.placement.cpus[b])
    }
}

/// Numbers equal values from 0 in the order of their first position: the number at each position, and the first position
/// of each number.
fn numbered(values: impl Iterator<Item = usize>) -> (Vec<usize>, Vec<usize>) {
    let (mut seen, mut numbers, mut first) = (Vec::new(), Vec::new(), Vec::new());
    for (position, value) in values.enumerate() {
        let number = seen.iter().position(|other| *other == value).unwrap_or(seen.len());
        if number == seen.len() {
            seen.push(value);
            first.push(position);
        }
        numbers.push(number);
    }
    (numbers, first)
}

#[cfg(test)]
#[path = "../../tests/unit/cache/mod.rs"]
mod tests;

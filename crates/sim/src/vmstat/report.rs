//! Report at the end of a simulation.

use serde::Serialize;

use super::counts::{Counts, Item};

/// Statistics of virtual memory: runs of workers, events, and gauges.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct VmstatCounters {
    /// Runs of the workers that fold.
    pub updates: u64,
    /// Runs without a differential to fold.
    pub idle_updates: u64,
    /// Runs of the shepherd.
    pub looks: u64,
    /// Workers that the shepherd started.
    pub started: u64,
    /// Differentials that workers folded.
    pub folds: u64,
    /// Differentials that were folded at once because the differential exceeded the threshold.
    pub overflows: u64,
    /// CPU time without a due worker, in nanoseconds, summed over CPUs.
    pub quiet_ns: u64,
    /// Page faults of first touches (an event: summed by readers, never folded).
    pub pgfault: u64,
    /// Pages allocated, including kernel stacks (an event).
    pub pgalloc_normal: u64,
    /// Pages freed (an event).
    pub pgfree: u64,
    /// Free pages by the global counter; 0 if the simulation used more pages than the machine has.
    pub nr_free_pages: u64,
    /// Anonymous pages by the global counter.
    pub nr_anon_pages: u64,
    /// KiB of kernel stacks by the global counter.
    pub nr_kernel_stack: u64,
}

/// A counter at the end of a simulation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemReport {
    /// Name in /proc/vmstat.
    pub name: &'static str,
    /// Global value.
    pub global: i64,
    /// Value of each zone.
    pub zones: Vec<i64>,
    /// Differential of each CPU.
    pub differentials: Vec<i64>,
}

impl ItemReport {
    pub(crate) fn all(counts: &Counts) -> Vec<Self> {
        let report = |item: Item| Self {
            name: item.name(),
            global: counts.global(item),
            zones: counts.zones(item).collect(),
            differentials: counts.differentials(item).collect(),
        };
        Item::ALL.map(report).into()
    }
}

//! What is told of it at the end.

use serde::Serialize;

use super::counts::{Counts, Item};

/// Virtual memory's statistics: the workers' doings, events, and gauges.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct VmstatCounters {
    /// Runs of the workers that fold.
    pub updates: u64,
    /// Of these, runs that found nothing to fold.
    pub idle_updates: u64,
    /// Looks of the shepherd at all CPUs.
    pub looks: u64,
    /// Workers that the shepherd started.
    pub started: u64,
    /// Differentials that workers folded.
    pub folds: u64,
    /// Differentials that were folded at once because they went over the threshold.
    pub overflows: u64,
    /// CPU time that passed without a worker being due there, in nanoseconds, summed over CPUs.
    pub quiet_ns: u64,
    /// Page faults of first touches (an event: summed at each look, never folded).
    pub pgfault: u64,
    /// Pages allocated, those of kernel stacks among them (an event).
    pub pgalloc_normal: u64,
    /// Pages freed (an event).
    pub pgfree: u64,
    /// Free pages by the global counter; 0 also where more was used than there is.
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
    /// What its readers see.
    pub global: i64,
    /// Of each zone.
    pub zones: Vec<i64>,
    /// Of each CPU, what has not been folded.
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

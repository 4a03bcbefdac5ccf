//! Estimate of the memory that a simulation needs.
//!
//! A failed allocation ends the process, so that callers should refuse a simulation that does not fit.

use schedlab_workload::program::{Resource, Scope};
use schedlab_workload::{Cursor, Plan};

use crate::config::Config;
use crate::error::SimError;
use crate::machine::Topology;
use crate::numa::Numa;
use crate::observe::TaskReport;
use crate::physics::Region;
use crate::sched::{Cfs, Eevdf, O1, Policy, TaskLoad};
use crate::schedstats::Schedstats;
use crate::tasks::{Flow, Latencies, Script, Task};
use crate::time::Ns;

/// Program, CPUs, domains and histograms; 12 MiB on a machine with the maximum number of CPUs.
const BASE: u64 = 16 << 20;

/// Heap blocks of a task: its name, its timers, and its share of the flattened code.
const HEAP: u64 = 384;

/// A lock with its statistics, a semaphore, a barrier, a condition or a slot.
const OBJECT: u64 = 128;

fn size<T>() -> u64 {
    size_of::<T>() as u64
}

/// Bytes that a task needs in all tables.
fn task_bytes() -> u64 {
    let entity = size::<<Cfs as Policy>::Entity>()
        .max(size::<<Eevdf as Policy>::Entity>())
        .max(size::<<O1 as Policy>::Entity>());
    let tables = size::<Task>()
        + size::<Script>()
        + size::<Cursor<'_>>()
        + size::<Latencies>()
        + size::<TaskLoad>()
        + entity;
    tables + Numa::TASK_BYTES + Schedstats::TASK_BYTES + size::<TaskReport>() + HEAP
}

/// Bytes that a simulation needs if all its tasks live at the same time, every channel is full of small messages, and every
/// region is touched. Children that tasks fork are not included: see [`Reserve`].
pub(crate) fn estimate(topology: &Topology, plan: &Plan, config: &Config) -> u64 {
    let tasks = u64::from(plan.task_count());
    let objects: u64 = [plan.locks(), plan.semaphores(), plan.barriers(), plan.conditions(), plan.slots()]
        .map(|numbering| u64::from(numbering.total()))
        .iter()
        .sum();
    let program = plan.program();
    let copies = |scope: Scope, count: u32| {
        u64::from(scope.copies(program.replicas, plan.task_count())) * u64::from(count)
    };
    let regions = program.resources.regions.iter().map(|region| {
        copies(region.scope(), region.count()) * Region::touched_size(region.bytes, topology.caches.len())
    });
    let channels = program.resources.channels.iter().map(|channel| {
        copies(channel.scope(), channel.count()) * (2 * size::<Flow>() + Flow::queue_bytes(channel.kind))
    });
    let samples = program.series.len() as u64 * (config.samples as u64).min(1 << 32) * size::<u64>();
    BASE + tasks * task_bytes() + channels.sum::<u64>() + objects * OBJECT + regions.sum::<u64>() + samples
}

/// Check that the process can get `needed` bytes at once, so that a limit of the address space is an error.
pub(crate) fn probe(needed: u64, tasks: u32) -> Result<(), SimError> {
    let mut block: Vec<u8> = Vec::new();
    let size = usize::try_from(needed).unwrap_or(usize::MAX);
    block.try_reserve_exact(size).map_err(|_| SimError::Allocation { needed, tasks })
}

/// Memory for the children that tasks fork. Their number depends on the run, so it is not part of [`estimate`].
pub(crate) struct Reserve {
    limit: u64,
    /// The estimate, and the number of tasks that it includes.
    planned: (u64, usize),
    /// Number of tasks for which the tables can grow without another check.
    checked: usize,
}

impl Reserve {
    /// The reserve of a run that has not forked yet, from the limit, the estimate and the number of the program's tasks.
    pub fn new(limit: u64, estimate: u64, tasks: usize) -> Self {
        Self { limit, planned: (estimate, tasks), checked: tasks.max(1024) }
    }

    /// Check that the tables can have `tasks` entries: that the estimate is within the limit, and that the process can get
    /// the memory, because a failed allocation would end the process.
    pub fn admit(&mut self, tasks: usize, at_ns: Ns) -> Result<(), SimError> {
        let (planned, included) = self.planned;
        let needed = planned + tasks.saturating_sub(included) as u64 * task_bytes();
        if needed > self.limit {
            return Err(SimError::Memory { at_ns, tasks, needed, limit: self.limit });
        }
        if tasks > self.checked {
            // Until the next check, a table grows from less than `2 * tasks` entries to twice its size.
            probe(4 * tasks as u64 * task_bytes(), tasks as u32)?;
            self.checked = 2 * tasks;
        }
        Ok(())
    }
}

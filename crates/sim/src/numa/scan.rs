//! Scans of address spaces: their delay and periods, their start at a tick, and their costs.

use super::{NO_SPACE, NOWHERE};
use crate::balance::KernelPolicy;
use crate::engine::Engine;
use crate::kernel::{Tunable, Tunables};
use crate::ledger::Account;
use crate::observe::Observer;
use crate::physics::PAGE;
use crate::sched::TaskIx;
use crate::time::{MS, Ns, SECOND};

/// Ticks by which a task delays its next scan, so that another thread probably scans next (`task_numa_work()`).
const AFTER_TURN_TICKS: Ns = 2;

/// Least ratio of a task's run time between scans to the time of a scan: scans take at most 3 %.
const RUN_PER_SCAN: Ns = 32;

/// Tunables of scans: the delay before the first scan, the periods, and the size of a scan.
#[derive(Debug, Clone, Copy)]
pub(super) struct ScanTunables {
    /// `scan_delay_ms`: first scan period of a task, in run time, and time until the first scan of a new address space
    /// (`Numa::born()`, `Numa::execed()`).
    pub delay: Ns,
    pub period_min: Ns,
    pub period_max: Ns,
    pub size_mb: u64,
}

impl ScanTunables {
    pub fn new(tunables: &Tunables) -> Self {
        Self {
            delay: tunables.ms_as_ns(Tunable::NumaScanDelayMs),
            period_min: tunables.ms_as_ns(Tunable::NumaScanPeriodMinMs),
            period_max: tunables.ms_as_ns(Tunable::NumaScanPeriodMaxMs),
            size_mb: tunables.non_negative(Tunable::NumaScanSizeMb).max(1),
        }
    }

    /// Pages that one scan marks.
    pub fn size(&self) -> u64 {
        self.size_mb * ((1 << 20) / PAGE)
    }

    /// Shortest period between two scans of an address space with this many pages (`task_scan_min()`,
    /// kernel/sched/fair.c, v4.5): a complete pass takes the tunable's period, at no more than 2560 MiB per second.
    pub fn task_scan_min(&self, pages: u64) -> Ns {
        const MAX_MIB_PER_SECOND: u64 = 2560;
        let floor = 1000 / (MAX_MIB_PER_SECOND / self.size_mb).max(1) * MS;
        (self.period_min / self.task_nr_scan_windows(pages)).max(floor)
    }

    /// Longest period between two scans of an address space with this many pages (`task_scan_max()`).
    pub fn task_scan_max(&self, pages: u64) -> Ns {
        (self.period_max / self.task_nr_scan_windows(pages)).max(self.task_scan_min(pages))
    }

    /// Scans of a complete pass (`task_nr_scan_windows()`).
    fn task_nr_scan_windows(&self, pages: u64) -> u64 {
        pages.div_ceil(self.size()).max(1)
    }
}

impl<P: KernelPolicy, O: Observer> Engine<'_, P, O> {
    /// Handle the tick of an ordinary task that is charged up to now. Return whether the task should move to its preferred
    /// node (`task_tick_numa()`, kernel/sched/fair.c, v4.5).
    pub(crate) fn task_tick_numa(&mut self, cpu: usize, task: TaskIx) -> bool {
        if self.numa.members[task as usize].space == NO_SPACE {
            return false;
        }
        self.image_faults(cpu, task);
        let member = &self.numa.members[task as usize];
        if self.tasks[task].ran_ns > member.stamp.saturating_add(member.period) {
            self.task_numa_work(cpu, task);
        }
        let member = &mut self.numa.members[task as usize];
        // A thread inherits a preferred node without faults (numa_migrate_preferred()).
        let away = member.has_faults()
            && member.preferred != NOWHERE
            && usize::from(member.preferred) != self.topology.node(cpu);
        let wants = away && self.time.now >= member.retry_at;
        if wants {
            // numa_migrate_preferred(): the next attempt follows within a second.
            member.retry_at = self.time.now + (member.period / 16).min(SECOND);
        }
        wants
    }

    /// Scan the address space of a task that has run for its period, unless another thread has scanned the address
    /// space meanwhile.
    fn task_numa_work(&mut self, cpu: usize, task: TaskIx) {
        let (now, scan) = (self.time.now, self.numa.scan);
        let member = &mut self.numa.members[task as usize];
        let space = &mut self.numa.spaces[member.space as usize];
        let period = member.period;
        if member.stamp == 0 {
            member.period = scan.task_scan_min(space.pages(&self.physics.regions));
        }
        member.stamp = member.stamp.saturating_add(period);
        let due = *space.next_scan.get_or_insert(now.saturating_add(scan.delay));
        if now < due {
            return;
        }
        space.next_scan = Some(now.saturating_add(member.period));
        // Memory that is bound to nodes is not scanned (vma_policy_mof()).
        if self.tasks[task].memory_node.is_some() {
            return;
        }
        let node = self.topology.node(cpu) as u8;
        let spared = (self.numa.spares_local && space.users == 1).then_some(node);
        // Kernels since 4.10 spare local pages, and since 4.16 shared ones (change_pte_range(), mm/mprotect.c). No model is between.
        let spares_shared = self.numa.spares_local;
        let (walked, marked) =
            space.scan(&self.physics.regions, &self.numa.shared, scan.size(), spared, spares_shared);
        self.numa.task_numa_placement(task, &self.physics.regions);
        self.records.counters.numa_scans += 1;
        self.records.counters.numa_pte_updates += marked;
        let (walked, before) = (walked + self.footprint_pages(task), self.cpus[cpu].clock);
        self.book(cpu, Account::NumaScan, (walked * PAGE * u64::from(self.costs.scan_mib)) >> 20);
        let spent = self.cpus[cpu].clock - before;
        let member = &mut self.numa.members[task as usize];
        member.stamp =
            member.stamp.saturating_add(AFTER_TURN_TICKS * self.time.tick_ns + RUN_PER_SCAN * spent);
        self.footprint_faults(cpu, task, spared.is_some());
    }
}

#[cfg(test)]
#[path = "../../tests/unit/numa/scan.rs"]
mod tests;

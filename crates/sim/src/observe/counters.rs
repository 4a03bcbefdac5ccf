//! What is counted.

use serde::Serialize;

use crate::machine::Distance;

/// A counter for each distance.
pub type ByDistance = [u64; Distance::COUNT];

/// Balancing of one kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Balancing {
    /// Passes over a domain.
    pub calls: u64,
    /// Passes that found no imbalance.
    pub balanced: u64,
    /// Passes that found one and moved nothing.
    pub failed: u64,
    /// Tasks moved.
    pub moved: u64,
    /// Tasks not moved because they were cache-hot.
    pub hot: u64,
}

/// Counters of a simulation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Counters {
    /// Events processed: what the simulator's speed is measured in.
    pub events: u64,
    /// Switches to a task or to idle.
    pub switches: u64,
    /// Of these, from a task that had become unable to run.
    pub voluntary: u64,
    /// Of these, from a task that could have gone on.
    pub preemptions: u64,
    /// Wake-ups, by the distance from the waking CPU to the chosen one.
    pub wakeups: ByDistance,
    /// Moves of waking tasks, by the distance from their last CPU.
    pub wake_migrations: ByDistance,
    /// Moves of waiting tasks, by distance.
    pub balance_migrations: ByDistance,
    /// New tasks put elsewhere than their parent, and tasks moved at exec, by distance.
    pub spread_migrations: ByDistance,
    /// Wake-ups that chose the waker's CPU or its cache instead of the last one.
    pub wake_affine: u64,
    /// Wake-ups that were not considered for that because the waker wakes too many.
    pub wake_wide: u64,
    /// Wake-ups that preempted the current task.
    pub wakeup_preemptions: u64,
    /// Ticks.
    pub ticks: u64,
    /// Timer interrupts that woke somebody.
    pub timer_interrupts: u64,
    /// Interrupts between CPUs.
    pub ipis: u64,
    /// Balancing of busy CPUs.
    pub busy_balance: Balancing,
    /// Balancing of idle CPUs, by one of them for all.
    pub idle_balance: Balancing,
    /// Balancing of CPUs about to become idle.
    pub newidle_balance: Balancing,
    /// CPUs that became idle without balancing, for they idle too briefly.
    pub newidle_skipped: u64,
    /// Tasks forked.
    pub forks: u64,
    /// Programs executed.
    pub execs: u64,
    /// Tasks ended.
    pub exits: u64,
    /// Messages sent.
    pub messages: u64,
    /// Datagrams lost because their receiver's buffer was full.
    pub datagrams_lost: u64,
    /// Pages touched for the first time.
    pub page_faults: u64,
    /// Changes of tunables.
    pub retunes: u64,
    /// Virtual memory's statistics.
    pub vmstat: crate::vmstat::VmstatCounters,
    /// Scans of NUMA balancing.
    pub numa_scans: u64,
    /// Pages that they marked.
    pub numa_pte_updates: u64,
    /// Touches of marked pages.
    pub numa_hint_faults: u64,
    /// Of these, from the page's own node.
    pub numa_hint_faults_local: u64,
    /// Pages moved to the node that touches them.
    pub numa_pages_migrated: u64,
    /// Tasks moved to an idle CPU of their preferred node, or to one with less to do.
    pub numa_task_migrated: u64,
    /// Tasks that changed places with one that has less reason to be where it is; each pair counts once.
    pub numa_task_swapped: u64,
    /// Tasks for which their preferred node had no place.
    pub numa_task_stayed: u64,
    /// Updates of scheduler statistics.
    pub schedstat_updates: u64,
    /// Of these, those of lines that another CPU had written last.
    pub schedstat_remote_updates: u64,
}

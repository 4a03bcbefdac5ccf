//! Counters of a simulation.

use serde::Serialize;

use crate::machine::Distance;

/// A counter for each distance.
pub type ByDistance = [u64; Distance::COUNT];

/// Counters of one kind of balancing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Balancing {
    /// Passes over a domain, also those that were left to another CPU.
    pub calls: u64,
    /// Passes that were left to another CPU.
    pub declined: u64,
    /// Passes that found no imbalance.
    pub balanced: u64,
    /// Passes that found an imbalance and moved no task.
    pub failed: u64,
    /// Tasks moved.
    pub moved: u64,
    /// Tasks not moved because they were cache-hot.
    pub hot: u64,
}

/// Counters of a simulation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Counters {
    /// Events processed: the unit of the simulator's speed.
    pub events: u64,
    /// Switches to a task or to idle.
    pub switches: u64,
    /// Context switches away from a task that waits or has ended.
    pub voluntary: u64,
    /// Context switches away from a runnable task.
    pub preemptions: u64,
    /// Wake-ups, by the distance from the waking CPU to the chosen CPU.
    pub wakeups: ByDistance,
    /// Moves of waking tasks, by the distance from their last CPU.
    pub wake_migrations: ByDistance,
    /// Moves of waiting tasks, by distance.
    pub balance_migrations: ByDistance,
    /// New tasks placed on another CPU than their parent, and tasks moved at exec, by distance.
    pub spread_migrations: ByDistance,
    /// Wake-ups that chose the waker's CPU or its cache instead of the task's last CPU.
    pub wake_affine: u64,
    /// Wake-ups without that choice because the waker wakes too many tasks (`wake_wide()`).
    pub wake_wide: u64,
    /// Wake-ups that preempted the current task.
    pub wakeup_preemptions: u64,
    /// Scheduler ticks.
    pub ticks: u64,
    /// Timer interrupts that woke a task.
    pub timer_interrupts: u64,
    /// Inter-processor interrupts.
    pub ipis: u64,
    /// Balancing of busy CPUs.
    pub busy_balance: Balancing,
    /// Balancing of idle CPUs, which one idle CPU does for all idle CPUs.
    pub idle_balance: Balancing,
    /// Balancing of CPUs about to become idle.
    pub newidle_balance: Balancing,
    /// Skipped balancing passes of CPUs with too short idle times.
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
    /// Counters of virtual memory's statistics.
    pub vmstat: crate::vmstat::VmstatCounters,
    /// Scans of NUMA balancing.
    pub numa_scans: u64,
    /// Pages that these scans marked.
    pub numa_pte_updates: u64,
    /// Touches of marked pages.
    pub numa_hint_faults: u64,
    /// Hinting faults by touches from the page's node.
    pub numa_hint_faults_local: u64,
    /// Pages moved to the node that touches them.
    pub numa_pages_migrated: u64,
    /// Tasks moved to an idle or less loaded CPU of their preferred node.
    pub numa_task_migrated: u64,
    /// Pairs of tasks that swapped their CPUs for their preferred nodes.
    pub numa_task_swapped: u64,
    /// Tasks that found no CPU on their preferred node.
    pub numa_task_stayed: u64,
    /// Updates of scheduler statistics.
    pub schedstat_updates: u64,
    /// Cache lines of scheduler statistics that another CPU wrote last, by the distance of that CPU.
    pub schedstat_lines: ByDistance,
}

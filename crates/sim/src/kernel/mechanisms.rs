//! Variants of mechanisms that kernel models choose from, and their parameters.

use serde::{Deserialize, Serialize};

use crate::machine::Costs;

/// Rules of a kernel's deadline class (kernel/sched/deadline.c).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeadlineSettings {
    /// Tasks whose deadline is before the end of their period: a wake-up after the deadline waits for the next period, an earlier one
    /// may reduce the budget and keep the deadline (since 4.12 and 4.13).
    #[serde(default)]
    pub revised_wakeup: bool,
    /// Admission control counts the bandwidth of each CPU's fair server (since 6.12).
    #[serde(default)]
    pub fair_server: bool,
}

/// Pipes of a kernel (fs/pipe.c).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PipeSettings {
    /// Which waiting tasks a read or a write wakes.
    #[serde(default)]
    pub wakeups: PipeWakeups,
    /// Pages that a reader has freed and that a pipe keeps for the next writes (`tmp_page` of `struct pipe_inode_info`): 1 up to
    /// 6.14, then 2.
    #[serde(default = "one_page")]
    pub spare_pages: u8,
}

impl Default for PipeSettings {
    fn default() -> Self {
        Self { wakeups: PipeWakeups::default(), spare_pages: one_page() }
    }
}

fn one_page() -> u8 {
    1
}

/// Which tasks that wait at a pipe a read or a write wakes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PipeWakeups {
    /// All waiting readers and writers, at a write and at a read that frees a page (up to 5.4; 5.5 has rules of its own).
    #[default]
    All,
    /// One reader at a write to an empty pipe; one writer at a read from a pipe without a free page, even if the read frees none
    /// (since 5.6). The writer wakes the next when it has written and a page is still free. Here a reader also wakes the next if
    /// bytes are left, in a kernel only if it has waited.
    OneIfFull,
    /// As [`OneIfFull`](Self::OneIfFull), but one writer only if the read frees a page (since 6.14).
    OneIfFreed,
}

/// Cache lines that an operation writes and that all CPUs share: directory entries and their lock, lists of tasks, descriptors of
/// a program's pages, lists of free pages. Each line is fetched from the CPU that performed the last such operation. Later kernels
/// look up files without writing and keep lists of free pages per CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SharedLines {
    /// Fork, exec or exit of a process.
    pub process: u32,
    /// Looking up, opening, reading and closing a file; 0 if it was not counted.
    #[serde(default)]
    pub file: u32,
    /// Allocating or freeing [`SharedLines::BATCH`] pages of a node; 0 if it was not counted.
    #[serde(default)]
    pub pages: u32,
}

impl SharedLines {
    /// Pages that a CPU takes from its node's lists, or returns, at once (batches of per-CPU lists since 2.5.45).
    pub const BATCH: u64 = 16;
}

/// Policy of ordinary tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PolicyKind {
    /// Completely Fair Scheduler.
    Cfs,
    /// Earliest Eligible Virtual Deadline First.
    Eevdf,
    /// Two priority arrays, with the balancing of its time instead of domains.
    O1,
}

/// How a wake-up chooses between the waker's CPU and the task's previous CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WakeAffine {
    /// By the load of both CPUs (until 4.12).
    #[default]
    Weight,
    /// The idle CPU of the two CPUs, otherwise by load (`WA_IDLE`, then `WA_WEIGHT`).
    IdleThenWeight,
}

/// Load of a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CpuLoadKind {
    /// The sum of the weights of the runnable tasks (until 3.10).
    #[default]
    Weights,
    /// The sum of the average loads of the runnable tasks (3.11 to 5.4).
    Runnable,
    /// The average load of the CPU, sleeping tasks included (since 5.5; in NUMA placement since 5.7).
    Average,
}

/// How a wake-up searches an idle CPU under a last-level cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IdleSearch {
    /// An idle group (core), otherwise an idle CPU of the target's core (until 4.7).
    #[default]
    Groups,
    /// An idle core, otherwise an idle CPU; the average idle time limits the number of scanned CPUs (`SIS_PROP`, until
    /// 5.13).
    Proportional,
    /// As `Proportional`, but the idle time ages while the CPU is busy, and searches use it up (5.14 to 5.18).
    Aged,
    /// An idle core, otherwise an idle CPU; the cache's utilisation limits the number of scanned CPUs (`SIS_UTIL`).
    Utilisation,
}

/// What a kernel with `CONFIG_SCHED_CLUSTER` does with clusters of cores, on machines that have clusters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Clusters {
    /// Nothing (until 5.15).
    #[default]
    Ignored,
    /// A level of domains, `CLS`, between cores and last-level caches (5.16 to 6.6). Its parameters are those of the last-level
    /// cache's level (`cpu_cluster_flags()`, include/linux/sched/topology.h, and `sd_init()`, kernel/sched/topology.c, v6.12).
    Domains,
    /// As `Domains`; a wake-up also prefers CPUs of the target's cluster to other CPUs of the last-level cache
    /// (`sched_cluster_active` in `select_idle_sibling()` and `select_idle_cpu()`, kernel/sched/fair.c, since 6.7).
    SearchedFirst,
}

/// The CPU on which a task ran before (`recent_used_cpu`), which a wake-up takes without a search if the CPU is idle and shares
/// the target's cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecentCpu {
    /// None (until 4.15).
    #[default]
    None,
    /// The CPU on which the task last woke another task (4.16 to 5.14).
    Waker,
    /// The previous CPU of the last wake-up that found target and previous CPU busy (since 5.15).
    Previous,
}

/// The cut-off of new-idle balancing: the value that `avg_idle` must reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NewidleGate {
    /// `sched_migration_cost_ns` (until 5.15).
    #[default]
    MigrationCost,
    /// The first domain's `max_newidle_lb_cost`.
    DomainCost,
}

/// How bandwidth control stops the tasks of a control group whose quota is used up, in kernels with the CPU controller of cgroup v2
/// (since 4.15).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Throttling {
    /// The group's queue leaves the CPU's queue at the next schedule(), with all its tasks (up to 6.17).
    Queue,
    /// Each task stops at its next return to user space (since 6.18: A. Lu, "Defer throttle when task exits to user",
    /// lore.kernel.org/lkml/20250829081120.806-1-ziqianlu@bytedance.com).
    Task,
}

/// Which pages NUMA balancing marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NumaScan {
    /// All present pages (until 4.9).
    #[default]
    Everything,
    /// All present pages except private pages of a single-threaded process on its current node.
    SparesLocal,
}

/// Parameters of `sd_init()` that differ between kernel versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DomainSettings {
    /// `imbalance_pct` within a core.
    pub smt_imbalance_pct: u32,
    /// `imbalance_pct` under a last-level cache.
    pub cache_imbalance_pct: u32,
    /// `imbalance_pct` of wider domains.
    pub imbalance_pct: u32,
    /// Factor of the balancing interval of a busy CPU.
    pub busy_factor: u32,
    /// How groups of CPUs are compared.
    pub group_comparison: GroupComparison,
    /// By how many tasks nodes may differ.
    pub numa_imbalance: NumaImbalance,
    /// Whether a search of the idlest group counts only the CPUs that the task may use (`update_sg_wakeup_stats()`, since 6.19, and in
    /// stable releases of older kernels since July 2026).
    pub forks_count_allowed: bool,
    /// Whether only idle CPUs even out groups that are not overloaded (`sibling_imbalance()`), and CPUs of idle cores balance before
    /// idle siblings of busy CPUs (`should_we_balance()`); both since 6.6.
    pub idle_cpus_spread: bool,
}

/// By how many tasks NUMA nodes may differ: when tasks stay on a node although another node has more idle CPUs
/// (`adjust_numa_imbalance()`, kernel/sched/fair.c).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NumaImbalance {
    /// By none (until 5.5).
    #[default]
    None,
    /// By a pair of tasks (5.6 to 5.10); new tasks stay while their node has an idle CPU. In placement as 5.10.
    Pair,
    /// By two tasks to move while fewer than a quarter of a node's CPUs have tasks; new tasks stay while fewer than a quarter of the
    /// domain's CPUs have tasks (5.11 to 5.17).
    Quarter,
    /// By two tasks while a node has no more tasks than last-level caches, or with a single cache than an eighth of its CPUs
    /// (`imb_numa_nr`, since 5.18; as here since 6.0).
    Caches,
}

impl NumaImbalance {
    /// Tasks of a pair (`imbalance_min`), and imbalance that may stay (`NUMA_IMBALANCE_MIN`).
    const FEW: u64 = 2;

    /// Whether an imbalance between nodes may stay. `running`: tasks of the node that the kernel examines, which has `width` CPUs;
    /// `limit`: `imb_numa_nr`.
    pub(crate) fn allows(self, imbalance: u64, running: u64, width: u64, limit: u64) -> bool {
        let few = match self {
            Self::None => false,
            Self::Pair => return imbalance == 0 || running <= Self::FEW,
            Self::Quarter => running < width / 4,
            Self::Caches => running <= limit,
        };
        imbalance <= if few { Self::FEW } else { 0 }
    }
}

/// How NUMA balancing finds a place for a task on another node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NumaPlacement {
    /// Tasks have no preferred node (until 3.12).
    #[default]
    None,
    /// By the loads of the nodes (3.13 to 5.6, by the rules of 4.5).
    Load,
    /// On an idle CPU, if balancing would let the task stay (since 5.7). Since 6.0 tasks exchange places only if the node has no spare
    /// capacity.
    Capacity,
}

/// How groups of CPUs are compared: for new and executing tasks (`find_idlest_group()`, kernel/sched/fair.c), and by balancing passes
/// (`find_busiest_group()`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GroupComparison {
    /// By load per CPU (until 5.4).
    #[default]
    Load,
    /// By type: spare capacity, fully busy or overloaded; then by idle CPUs and tasks, or by load.
    Type,
}

impl DomainSettings {
    /// Check the ranges of the parameters.
    pub(super) fn check(&self) -> Result<(), String> {
        let percents = [
            ("smt_imbalance_pct", self.smt_imbalance_pct),
            ("cache_imbalance_pct", self.cache_imbalance_pct),
            ("imbalance_pct", self.imbalance_pct),
        ];
        match percents.iter().find(|(_, percent)| !(100..=10_000).contains(percent)) {
            Some((key, percent)) => Err(format!("domains: {key} = {percent} is not between 100 and 10000")),
            None if self.busy_factor == 0 => Err("domains: busy_factor is at least 1".to_owned()),
            None => Ok(()),
        }
    }
}

/// Format of a kernel's scheduler statistics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StatsLayout {
    /// Version of `/proc/schedstat`: 15 up to Linux 6.9, 16 up to 6.13, then 17
    /// (Documentation/scheduler/sched-stats.rst).
    pub version: u8,
    /// Whether names in `/proc/PID/sched` have the prefix `se.statistics.`, as up to 5.15.
    pub statistics_in_entity: bool,
    /// Instructions of an update that reads the clock and adds or compares times.
    pub time_instructions: u32,
    /// Instructions of an update that only adds to counters.
    pub counter_instructions: u32,
}

impl StatsLayout {
    /// Supported versions.
    pub const VERSIONS: std::ops::RangeInclusive<u8> = 15..=17;

    /// Times of the instructions of an update of times and of an update of counters on a machine, in nanoseconds.
    pub fn update_ns(&self, costs: &Costs) -> [u32; 2] {
        [self.time_instructions, self.counter_instructions].map(|instructions| {
            let picoseconds = u64::from(instructions) * u64::from(costs.instruction_ps);
            u32::try_from((picoseconds + 500) / 1000).unwrap_or(u32::MAX)
        })
    }

    /// Prefix of the names of a task's statistics.
    pub fn task_prefix(&self) -> &'static str {
        if self.statistics_in_entity { "se.statistics." } else { "" }
    }

    /// Whether a task's statistics have a line of this name. Blocked time has a line since 5.16.
    pub fn has_task_line(&self, name: &str) -> bool {
        !(self.statistics_in_entity && name == "sum_block_runtime")
    }
}

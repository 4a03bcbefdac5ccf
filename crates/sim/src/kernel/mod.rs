//! Kernel models as data: the policy, the variants of the mechanisms, and the tunables with their defaults.

mod cmdline;
mod instructions;
mod tunables;

use serde::{Deserialize, Serialize};

use crate::error::SimError;
use crate::machine::Costs;
use crate::shipped::KERNELS;
use crate::time::Ns;

pub use cmdline::CommandLine;
pub use instructions::Instructions;
pub use tunables::{Change, Definition, Tunable, Tunables};

/// Names and TOML texts of the shipped kernel models.
pub fn kernel_files() -> &'static [(&'static str, &'static str)] {
    KERNELS.all()
}

/// Names of the shipped kernel models, oldest first.
pub fn kernel_names() -> impl Iterator<Item = &'static str> + Clone {
    KERNELS.names()
}

/// A shipped kernel model.
pub fn kernel(name: &str) -> Result<Kernel, SimError> {
    Kernel::from_toml(KERNELS.text(name)?)
}

/// A kernel model, defined by its TOML file. The fields about domains belong to every policy but [`PolicyKind::O1`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kernel {
    /// Name, such as `linux-5.14`.
    pub name: String,
    /// Description in one sentence.
    pub about: String,
    /// Policy of ordinary tasks.
    pub policy: PolicyKind,
    /// How a wake-up chooses between the waker's CPU and the task's previous CPU.
    #[serde(default)]
    pub wake_affine: WakeAffine,
    /// Whether a wake-up leaves a task on its idle previous CPU before it compares loads (since 5.11).
    #[serde(default)]
    pub idle_previous_first: bool,
    /// Which load of CPUs wake-ups and balancing compare.
    #[serde(default)]
    pub cpu_load: CpuLoadKind,
    /// How a wake-up searches an idle CPU under a last-level cache.
    #[serde(default)]
    pub idle_search: IdleSearch,
    /// What the kernel does with clusters of cores.
    #[serde(default)]
    pub clusters: Clusters,
    /// Which CPU a wake-up tries before the search for an idle CPU.
    #[serde(default)]
    pub recent_cpu: RecentCpu,
    /// Whether an idle CPU enqueues a task that another CPU wakes, at the arrival of the interrupt (`ttwu_queue_cond()`,
    /// since 5.8).
    #[serde(default)]
    pub queues_remote_wakeups: bool,
    /// Which tasks a pipe wakes, and which pages it keeps.
    #[serde(default)]
    pub pipes: PipeSettings,
    /// A task group counts the load of a CPU at most once in a millisecond (`update_tg_load_avg()`, since 6.7).
    #[serde(default)]
    pub tg_load_avg_ratelimit: bool,
    /// The cut-off of new-idle balancing: the value that `avg_idle` must reach.
    #[serde(default)]
    pub newidle_gate: NewidleGate,
    /// Which pages NUMA balancing marks.
    #[serde(default)]
    pub numa_scan: NumaScan,
    /// Balancing between domains.
    #[serde(default)]
    pub domains: DomainSettings,
    /// Cache lines that operations of the kernel write and that all CPUs share.
    #[serde(default)]
    pub shared_lines: SharedLines,
    /// Format of the scheduler statistics; `None` if the kernel has no switch for scheduler statistics.
    #[serde(default)]
    pub schedstats: Option<StatsLayout>,
    /// Instructions of a balancing pass.
    pub balance_pass: PassInstructions,
    /// Instructions of the kernel's paths; `None` if they were not counted. The costs of a machine are then the same as
    /// under the kernel for which its table was made.
    #[serde(default)]
    pub instructions: Option<Instructions>,
    /// Tunables by name.
    pub tunables: std::collections::BTreeMap<String, Definition>,
}

/// Largest number of instructions of a part of a balancing pass: a thousand times those of a real kernel.
const MOST_INSTRUCTIONS: u32 = 1_000_000;

/// Instructions of a balancing pass over a domain, without those that move tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PassInstructions {
    /// Of each pass.
    pub pass: u32,
    /// Of each group of the domain.
    pub group: u32,
    /// Of each CPU of the domain.
    pub cpu: u32,
}

impl PassInstructions {
    /// Time of a pass over this many groups and CPUs on a machine, without waits for cache lines.
    pub(crate) fn ns(self, costs: &Costs, groups: usize, cpus: usize) -> Ns {
        let instructions =
            u64::from(self.pass) + groups as u64 * u64::from(self.group) + cpus as u64 * u64::from(self.cpu);
        instructions * u64::from(costs.instruction_ps) / 1000
    }
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
    /// How the group of a new task is chosen.
    pub idlest_group: IdlestGroup,
    /// Whether few tasks may stay on a node less than a quarter busy although another node has more idle CPUs
    /// (`allow_numa_imbalance()`, since 5.11).
    pub allow_numa_imbalance: bool,
}

/// How `find_idlest_group()` (kernel/sched/fair.c) chooses the group of a new or executing task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IdlestGroup {
    /// The group with the least load per CPU (until 5.4).
    #[default]
    Load,
    /// The group with the most idle CPUs, otherwise by load.
    IdleCpus,
}

impl DomainSettings {
    /// Check the ranges of the parameters.
    fn check(&self) -> Result<(), String> {
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

impl Kernel {
    /// Read a kernel model from TOML. The error names the wrong field.
    pub fn from_toml(text: &str) -> Result<Self, SimError> {
        let wrong = |reason: String| SimError::Definition { kind: "kernel", reason };
        let kernel: Self = toml::from_str(text).map_err(|error| wrong(error.to_string()))?;
        let keys: toml::Table = toml::from_str(text).map_err(|error| wrong(error.to_string()))?;
        let PassInstructions { pass, group, cpu } = kernel.balance_pass;
        if let Some(most) = [pass, group, cpu].into_iter().max().filter(|most| *most > MOST_INSTRUCTIONS) {
            return Err(wrong(format!(
                "balance_pass: {most} instructions are more than {MOST_INSTRUCTIONS}"
            )));
        }
        for key in ["numa_scan", "clusters"] {
            if kernel.policy == PolicyKind::O1 && keys.contains_key(key) {
                return Err(wrong(format!("`{key}` has no meaning under the policy o1")));
            }
        }
        for key in ["wake_affine", "cpu_load", "idle_search", "recent_cpu", "newidle_gate", "domains"] {
            match (kernel.policy, keys.contains_key(key)) {
                (PolicyKind::O1, true) => {
                    return Err(wrong(format!("`{key}` has no meaning under the policy o1")));
                }
                (PolicyKind::Cfs | PolicyKind::Eevdf, false) => {
                    return Err(wrong(format!("missing field `{key}`")));
                }
                _ => {}
            }
        }
        if kernel.policy != PolicyKind::O1 {
            for (key, used) in [
                ("idle_search = \"utilisation\"", kernel.idle_search == IdleSearch::Utilisation),
                ("idlest_group = \"idle_cpus\"", kernel.domains.idlest_group == IdlestGroup::IdleCpus),
            ] {
                if used && kernel.cpu_load == CpuLoadKind::Weights {
                    return Err(wrong(format!("`{key}` needs averages: `cpu_load` is \"weights\"")));
                }
            }
            let autogroup = Tunable::AutogroupEnabled.name();
            if kernel.tunables.contains_key(autogroup) && kernel.cpu_load != CpuLoadKind::Average {
                return Err(wrong(format!("tunable `{autogroup}` needs `cpu_load = \"average\"`")));
            }
            kernel.domains.check().map_err(wrong)?;
        }
        for (name, definition) in &kernel.tunables {
            let refused = match Tunable::named(name) {
                None => Some("the simulator has no such tunable".to_owned()),
                Some(tunable) => definition.fault(tunable),
            };
            if let Some(reason) = refused {
                return Err(wrong(format!("tunable `{name}`: {reason}")));
            }
        }
        let switched = kernel.tunables.contains_key(Tunable::Schedstats.name());
        match kernel.schedstats {
            Some(_) if !switched => {
                Err(wrong(format!("`schedstats` has no meaning without `{}`", Tunable::Schedstats.name())))
            }
            None if switched => Err(wrong("missing field `schedstats`".to_owned())),
            Some(layout) if !StatsLayout::VERSIONS.contains(&layout.version) => {
                Err(wrong(format!("schedstats: version {} is not 15, 16 or 17", layout.version)))
            }
            _ => Ok(kernel),
        }
    }
}

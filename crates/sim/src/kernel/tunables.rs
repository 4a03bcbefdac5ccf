//! Tunables: values that a user may change at boot and at run time.

use serde::{Deserialize, Serialize};

use super::{Kernel, kernel, kernel_names};
use crate::error::SimError;
use crate::time::{MS, Ns};

macro_rules! tunables {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// A tunable of some kernel model. Flags are 0 or 1.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Tunable {
            $($(#[$doc])* $variant,)*
        }

        impl Tunable {
            /// All tunables.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Name in schedlab's catalogue of tunables.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }
    };
}

tunables! {
    /// Period in which CFS tries to let every task of a queue run once.
    LatencyNs = "sched.latency_ns",
    /// Shortest slice of CFS.
    MinGranularityNs = "sched.min_granularity_ns",
    /// How far ahead in virtual time a waking task must be to preempt under CFS.
    WakeupGranularityNs = "sched.wakeup_granularity_ns",
    /// Slice of EEVDF.
    BaseSliceNs = "sched.base_slice_ns",
    /// A forked child runs before its parent.
    ChildRunsFirst = "sched.child_runs_first",
    /// How long a task counts as cache-hot; −1 always, 0 never.
    MigrationCostNs = "sched.migration_cost_ns",
    /// Maximum number of tasks that one balancing pass scans.
    NrMigrate = "sched.nr_migrate",
    /// Slice of SCHED_RR.
    RrTimesliceMs = "sched.rr_timeslice_ms",
    /// Sleepers are placed half a latency back instead of a complete latency.
    GentleFairSleepers = "sched.features.GENTLE_FAIR_SLEEPERS",
    /// New tasks begin a slice behind.
    StartDebit = "sched.features.START_DEBIT",
    /// A preempted task is preferred when its preemptor blocks.
    LastBuddy = "sched.features.LAST_BUDDY",
    /// Waking tasks may preempt.
    WakeupPreemption = "sched.features.WAKEUP_PREEMPTION",
    /// EEVDF keeps a task's lag over a sleep.
    PlaceLag = "sched.features.PLACE_LAG",
    /// A new task's first deadline is half a slice away.
    PlaceDeadlineInitial = "sched.features.PLACE_DEADLINE_INITIAL",
    /// EEVDF lets the current task run to its deadline.
    RunToParity = "sched.features.RUN_TO_PARITY",
    /// A waking task with a shorter slice may preempt despite RUN_TO_PARITY.
    PreemptShort = "sched.features.PREEMPT_SHORT",
    /// A sleeping task that is not eligible stays in its queue until it is eligible.
    DelayDequeue = "sched.features.DELAY_DEQUEUE",
    /// A delayed task that leaves its queue keeps no positive lag.
    DelayZero = "sched.features.DELAY_ZERO",
    /// New-idle balancing of a domain tries as often, at random, as it succeeds.
    NiRandom = "sched.features.NI_RANDOM",
    /// New-idle balancing that is seldom tried more often takes place.
    NiRate = "sched.features.NI_RATE",
    /// The tasks of a session are a group whose weight is divided among CPUs.
    AutogroupEnabled = "kernel.sched_autogroup_enabled",
    /// Slice of the O(1) scheduler at nice 19.
    MinTimesliceMs = "sched.min_timeslice_ms",
    /// Slice of the O(1) scheduler at nice −20.
    MaxTimesliceMs = "sched.max_timeslice_ms",
    /// Percentage of its parent's sleep average that a child begins with.
    ChildPenalty = "sched.child_penalty",
    /// Percentage of its sleep average that a parent keeps.
    ParentPenalty = "sched.parent_penalty",
    /// Weight of a parent's sleep average against the sleep average of a child that ends and has slept less.
    ExitWeight = "sched.exit_weight",
    /// Percentage of the range of nice values that sleeping can move a priority by.
    PrioBonusRatio = "sched.prio_bonus_ratio",
    /// Bonus from which on a task of nice 0 is interactive.
    InteractiveDelta = "sched.interactive_delta",
    /// Sleep average of the full bonus.
    MaxSleepAvgMs = "sched.max_sleep_avg_ms",
    /// How long, per task, expired tasks wait before interactive tasks also expire.
    StarvationLimitMs = "sched.starvation_limit_ms",
    /// Minimum load of another node, in percent of the local node's load, for balancing with that node.
    NodeThreshold = "sched.node_threshold",
    /// Number of balancing passes from one pass over another node to the next.
    NodeBalanceRate = "sched.node_balance_rate",
    /// Ticks for which a task counts as cache-hot; −1: computed from the machine's cache.
    CacheDecayTicks = "sched.cache_decay_ticks",
    /// Under D7 patch 05: whether synchronous wake-ups are handled differently.
    SyncWakeups = "sched.sync_wakeups",
    /// Under D7 patch 05: whether children join their parent's list.
    SmartWakeChild = "sched.smart_wake_child",
    /// D7 patch 02-struct_change: a field is renamed.
    D7StructChange = "sched.d7.02",
    /// D7 patch 03-tunables: other values of four knobs.
    D7Tunables = "sched.d7.03",
    /// D7 patch 04-oldmm: address spaces are dropped after the runqueue lock is released.
    D7OldMm = "sched.d7.04",
    /// D7 patch 05-activate_task: activation without the bonus.
    D7ActivateTask = "sched.d7.05",
    /// Seconds between two folds of a CPU's vmstat differentials.
    VmStatInterval = "vm.stat_interval",
    /// The patch of on-demand vmstat workers: a shepherd starts a worker on each CPU that has differentials to fold.
    VmStatShepherd = "vm.stat_shepherd",
    /// NUMA balancing.
    NumaBalancing = "kernel.numa_balancing",
    /// First scan period of a task, in run time, and time until the first scan of a new address space: the slow start.
    NumaScanDelayMs = "sched.numa_balancing.scan_delay_ms",
    /// Minimum time in which an address space is scanned once.
    NumaScanPeriodMinMs = "sched.numa_balancing.scan_period_min_ms",
    /// Maximum time in which an address space is scanned once.
    NumaScanPeriodMaxMs = "sched.numa_balancing.scan_period_max_ms",
    /// Memory that one scan marks.
    NumaScanSizeMb = "sched.numa_balancing.scan_size_mb",
    /// Scheduler statistics are counted.
    Schedstats = "kernel.sched_schedstats",
}

/// A kernel model's definition of a tunable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Definition {
    /// Value at boot, before scaling.
    pub default: i64,
    /// Minimum accepted value.
    pub min: i64,
    /// Maximum accepted value.
    pub max: i64,
    /// Whether the value at boot is multiplied by 1 + log₂(min(CPUs, 8)).
    #[serde(default)]
    pub scaled: bool,
}

/// Maximum absolute value of a range's ends: as many milliseconds or seconds still fit into the 64 bits of virtual time.
const LIMIT: i64 = 1 << 32;

impl Definition {
    /// Return why a tunable cannot have this definition; `None` if the kernel can have this value.
    pub(super) fn fault(&self, tunable: Tunable) -> Option<String> {
        if !(self.min..=self.max).contains(&self.default) {
            return Some("the default is out of the range".to_owned());
        }
        // A timer with an interval of 0 would always be due.
        let least = if tunable == Tunable::VmStatInterval { 1 } else { -LIMIT };
        let within = least <= self.min && self.max <= LIMIT;
        (!within).then(|| format!("the range is not within {least} to {LIMIT}"))
    }
}

/// A change of a tunable at a moment of a simulation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Virtual time of the change.
    pub at_ns: Ns,
    /// Name of the tunable.
    pub tunable: String,
    /// New value.
    pub value: i64,
}

impl Tunable {
    /// Return the tunable of a name of the catalogue (`sched.latency_ns`) or of sysctl (`kernel.sched_latency_ns`).
    pub fn named(name: &str) -> Option<Self> {
        let bare = name.strip_prefix("kernel.").unwrap_or(name);
        let dotted = bare.strip_prefix("sched_").map(|rest| format!("sched.{rest}"));
        let scan = bare.strip_prefix("numa_balancing_").map(|rest| format!("sched.numa_balancing.{rest}"));
        let wanted = scan.as_deref().or(dotted.as_deref()).unwrap_or(bare);
        Self::ALL.iter().copied().find(|tunable| tunable.name() == name || tunable.name() == wanted)
    }
}

/// Current values of all tunables of a kernel.
#[derive(Debug, Clone, PartialEq)]
pub struct Tunables {
    kernel: String,
    definitions: Vec<Option<Definition>>,
    values: Vec<i64>,
    /// Whether [`Tunables::set`] has set each tunable.
    set: Vec<bool>,
}

/// Factor under the default `sched_tunable_scaling`, 1 + log₂(min(CPUs, 8)) (Documentation/scheduler/sched-design-CFS.rst).
fn scale(cpus: usize) -> i64 {
    1 + i64::from(cpus.clamp(1, 8).ilog2())
}

impl Tunables {
    /// The values at boot on a machine with `cpus` CPUs. A tunable that the kernel lacks has the value 0.
    pub fn new(kernel: &Kernel, cpus: usize) -> Self {
        let definitions: Vec<_> =
            Tunable::ALL.iter().map(|tunable| kernel.tunables.get(tunable.name()).copied()).collect();
        let boot = |definition: &Option<Definition>| {
            definition.map_or(0, |defined| defined.default * if defined.scaled { scale(cpus) } else { 1 })
        };
        let values = definitions.iter().map(boot).collect();
        let set = vec![false; Tunable::ALL.len()];
        let mut tunables = Self { kernel: kernel.name.clone(), definitions, values, set };
        if tunables.on(Tunable::D7Tunables) {
            tunables.apply_d7_tunables(true);
        }
        tunables
    }

    /// Set the tunables of [`D7_TUNABLES`] that the kernel has, or reset them to the kernel's defaults. A tunable that
    /// has been set by its own name keeps its value.
    fn apply_d7_tunables(&mut self, on: bool) {
        for (tunable, value) in D7_TUNABLES {
            if self.set[tunable as usize] {
                continue;
            }
            if let Some(definition) = self.definitions[tunable as usize] {
                self.values[tunable as usize] = if on { value } else { definition.default };
            }
        }
    }

    /// The value of a tunable.
    #[inline]
    pub fn get(&self, tunable: Tunable) -> i64 {
        self.values[tunable as usize]
    }

    /// The value of a tunable in its own unit. A negative value counts as 0.
    #[inline]
    pub fn non_negative(&self, tunable: Tunable) -> u64 {
        self.get(tunable).max(0) as u64
    }

    /// The value of a tunable in milliseconds, in nanoseconds. A negative value counts as 0.
    #[inline]
    pub fn ms_as_ns(&self, tunable: Tunable) -> Ns {
        self.non_negative(tunable) * MS
    }

    /// `sysctl_sched_migration_cost`, an unsigned int (kernel/sched/fair.c, v4.5 to v6.12). −1 becomes the maximum: every task
    /// is cache-hot for `task_hot()`, and no idle time reaches it.
    #[inline]
    pub fn migration_cost(&self) -> u32 {
        self.get(Tunable::MigrationCostNs) as u32
    }

    /// `sysctl_sched_migration_cost` when `sched_init()` runs: the kernel's default, since no parameter of the command line
    /// sets it.
    pub fn migration_cost_at_boot(&self) -> u32 {
        let definition = self.definitions[Tunable::MigrationCostNs as usize];
        definition.map_or(0, |definition| definition.default as u32)
    }

    /// Whether a flag is set.
    #[inline]
    pub fn on(&self, tunable: Tunable) -> bool {
        self.get(tunable) != 0
    }

    /// Whether the kernel has a tunable.
    pub fn has(&self, tunable: Tunable) -> bool {
        self.definitions[tunable as usize].is_some()
    }

    /// Check that the kernel has a tunable and accepts a value for it.
    pub fn check(&self, name: &str, value: i64) -> Result<Tunable, SimError> {
        let defined = Tunable::named(name)
            .and_then(|tunable| self.definitions[tunable as usize].map(|definition| (tunable, definition)));
        let Some((tunable, definition)) = defined else {
            return Err(SimError::NoTunable {
                kernel: self.kernel.clone(),
                tunable: name.to_owned(),
                has: models_with(name),
            });
        };
        if !(definition.min..=definition.max).contains(&value) {
            return Err(SimError::TunableRange {
                kernel: self.kernel.clone(),
                tunable: tunable.name().to_owned(),
                value,
                min: definition.min,
                max: definition.max,
            });
        }
        Ok(tunable)
    }

    /// Change a tunable. The error lists the kernels that have the tunable, or its range.
    ///
    /// `sched.d7.03` is a patch to the values of four other tunables: turning the patch on sets these tunables, turning
    /// the patch off resets these tunables to the kernel's defaults. A tunable that is set by its own name, before or
    /// after `sched.d7.03`, keeps that value: the order of settings does not change the result.
    pub fn set(&mut self, name: &str, value: i64) -> Result<(), SimError> {
        let tunable = self.check(name, value)?;
        self.values[tunable as usize] = value;
        self.set[tunable as usize] = true;
        if tunable == Tunable::D7Tunables {
            self.apply_d7_tunables(value != 0);
        }
        Ok(())
    }
}

/// The values that the D7 patch 03-tunables sets (attachment to M. Bligh, "breaking down the performance of D7 scheduler
/// patch", 2003). The patch also changes the meaning of a `STARVATION_LIMIT` of 0. The default slice of 100 ms in its comment
/// follows from the maximum slice. The patch removes the definition of `NODE_THRESHOLD`, but no attachment changes its use.
const D7_TUNABLES: [(Tunable, i64); 4] = [
    (Tunable::MaxTimesliceMs, 200),
    (Tunable::ChildPenalty, 50),
    (Tunable::MaxSleepAvgMs, 10_000),
    (Tunable::StarvationLimitMs, 30_000),
];

/// Least similarity, from 0 to 1, of a name that an error message suggests.
const SIMILAR: f64 = 0.6;

/// The names of at most three tunables that are most similar to a wrong name.
fn nearest(wrong: &str) -> Vec<&'static str> {
    let similarity = |name| strsim::normalized_damerau_levenshtein(wrong, name);
    let mut names: Vec<_> =
        Tunable::ALL.iter().map(|tunable| (similarity(tunable.name()), tunable.name())).collect();
    names.retain(|(similarity, _)| *similarity >= SIMILAR);
    names.sort_by(|a, b| b.0.total_cmp(&a.0));
    names.into_iter().map(|(_, name)| name).take(3).collect()
}

/// List the shipped kernel models that have a tunable, or tunables with similar names, as the end of an error message.
fn models_with(name: &str) -> String {
    let Some(tunable) = Tunable::named(name) else {
        let names = nearest(name);
        let nearest =
            if names.is_empty() { String::new() } else { format!("; nearest: {}", names.join(", ")) };
        return format!(", nor has any other kernel model{nearest}");
    };
    let has = |name: &&str| kernel(name).is_ok_and(|model| model.tunables.contains_key(tunable.name()));
    let models: Vec<_> = kernel_names().filter(has).collect();
    if models.is_empty() {
        String::new()
    } else {
        format!("; kernels with this tunable: {}", models.join(", "))
    }
}

#[cfg(test)]
#[path = "../../tests/unit/kernel/tunables.rs"]
mod tests;

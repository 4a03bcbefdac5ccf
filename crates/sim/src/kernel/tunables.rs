//! Tunables, which a user may change at boot and at run time, and their definitions.

use serde::{Deserialize, Serialize};

use crate::time::Ns;

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
    /// Microseconds of a control group's quota that a CPU gets at once.
    CfsBandwidthSliceUs = "kernel.sched_cfs_bandwidth_slice_us",
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

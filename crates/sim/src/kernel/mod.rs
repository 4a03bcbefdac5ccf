//! Kernel models as data: which policy, which variants of the mechanisms, which tunables with which defaults.

mod cmdline;
mod tunables;

use serde::{Deserialize, Serialize};

use crate::error::SimError;
use crate::shipped::KERNELS;

pub use cmdline::CommandLine;
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

/// A kernel model as its TOML file defines it. What concerns domains belongs to every policy but [`PolicyKind::O1`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kernel {
    /// Name, such as `linux-5.14`.
    pub name: String,
    /// What sets it apart, in a sentence.
    pub about: String,
    /// Policy of ordinary tasks.
    pub policy: PolicyKind,
    /// How a waking task's CPU is chosen between the waker's and its own.
    #[serde(default)]
    pub wake_affine: WakeAffine,
    /// How an idle CPU is searched under a last-level cache.
    #[serde(default)]
    pub idle_search: IdleSearch,
    /// What new-idle balancing compares `avg_idle` with before it begins.
    #[serde(default)]
    pub newidle_gate: NewidleGate,
    /// Which pages NUMA balancing marks.
    #[serde(default)]
    pub numa_scan: NumaScan,
    /// Balancing between domains.
    #[serde(default)]
    pub domains: DomainSettings,
    /// How it shows scheduler statistics; none if it has no switch for them.
    #[serde(default)]
    pub schedstats: Option<StatsLayout>,
    /// Tunables by name.
    pub tunables: std::collections::BTreeMap<String, Definition>,
}

/// How a kernel shows scheduler statistics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StatsLayout {
    /// Version of `/proc/schedstat`: 15 up to Linux 6.9, 16 up to 6.13, then 17
    /// (Documentation/scheduler/sched-stats.rst).
    pub version: u8,
    /// Whether `/proc/PID/sched` says `se.statistics.` before names, as it did up to 5.15.
    pub statistics_in_entity: bool,
}

impl StatsLayout {
    /// Versions that are known.
    pub const VERSIONS: std::ops::RangeInclusive<u8> = 15..=17;

    /// What stands before names of a task's statistics.
    pub fn task_prefix(&self) -> &'static str {
        if self.statistics_in_entity { "se.statistics." } else { "" }
    }

    /// Whether a task's statistics have a line of this name: blocked time got its own in 5.16.
    pub fn has_task_line(&self, name: &str) -> bool {
        !(self.statistics_in_entity && name == "sum_block_runtime")
    }
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

/// How a waking task's CPU is chosen between the waker's and its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WakeAffine {
    /// By the load of both CPUs (until 4.12).
    #[default]
    Weight,
    /// An idle one of them, else by load (`WA_IDLE`, then `WA_WEIGHT`).
    IdleThenWeight,
}

/// How an idle CPU is searched under a last-level cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IdleSearch {
    /// A wholly idle group (core), else nothing (until 4.7).
    #[default]
    Groups,
    /// An idle core, else an idle CPU among as many as the average idle time pays for (`SIS_PROP`, until 5.18).
    Proportional,
    /// An idle core, else an idle CPU among as many as the cache's utilisation leaves promising (`SIS_UTIL`).
    Utilisation,
}

/// What new-idle balancing compares `avg_idle` with before it begins.
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
    /// All that are there (until 4.9).
    #[default]
    Everything,
    /// Not the private pages of a process of one thread that lie on its node already.
    SparesLocal,
}

/// Numbers of `sd_init()` that differ between versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DomainSettings {
    /// `imbalance_pct` within a core.
    pub smt_imbalance_pct: u32,
    /// Under a last-level cache.
    pub cache_imbalance_pct: u32,
    /// Wider.
    pub imbalance_pct: u32,
    /// How much longer the interval of a busy CPU is.
    pub busy_factor: u32,
}

impl DomainSettings {
    /// Says what cannot be.
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
    /// Reads a kernel model from TOML; the error says where it is wrong.
    pub fn from_toml(text: &str) -> Result<Self, SimError> {
        let wrong = |reason: String| SimError::Definition { what: "kernel", reason };
        let kernel: Self = toml::from_str(text).map_err(|error| wrong(error.to_string()))?;
        let keys: toml::Table = toml::from_str(text).map_err(|error| wrong(error.to_string()))?;
        if kernel.policy == PolicyKind::O1 && keys.contains_key("numa_scan") {
            return Err(wrong("`numa_scan` has no meaning under the policy o1".to_owned()));
        }
        for key in ["wake_affine", "idle_search", "newidle_gate", "domains"] {
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
            kernel.domains.check().map_err(wrong)?;
        }
        for (name, definition) in &kernel.tunables {
            let refused = match Tunable::named(name) {
                None => Some("the simulator knows no such tunable".to_owned()),
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
            Some(it) if !StatsLayout::VERSIONS.contains(&it.version) => {
                Err(wrong(format!("schedstats: version {} is none of 15, 16, 17", it.version)))
            }
            _ => Ok(kernel),
        }
    }
}

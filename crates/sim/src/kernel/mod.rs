//! Kernel models as data: the policy, the variants of the mechanisms, and the tunables with their defaults.

mod cmdline;
mod instructions;
mod mechanisms;
mod tunables;
mod values;

use serde::{Deserialize, Serialize};

use crate::error::SimError;
use crate::shipped::KERNELS;

pub use cmdline::CommandLine;
pub use instructions::{Instructions, PassInstructions};
pub use mechanisms::{
    Clusters, CpuLoadKind, DeadlineSettings, DomainSettings, GroupComparison, IdleSearch, NewidleGate,
    NumaImbalance, NumaPlacement, NumaScan, PipeSettings, PipeWakeups, PolicyKind, RecentCpu, SharedLines,
    StatsLayout, Throttling, WakeAffine,
};
pub use tunables::{Change, Definition, Tunable};
pub use values::Tunables;

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
    /// Rules of the deadline class; `None` in kernels before 3.14, which do not have the class.
    #[serde(default)]
    pub deadline: Option<DeadlineSettings>,
    /// Which tasks a pipe wakes, and which pages it keeps.
    #[serde(default)]
    pub pipes: PipeSettings,
    /// Whether an event wakes a task that waits by epoll(7) with the waker's hint that it will sleep soon (`ep_poll_callback()`,
    /// fs/eventpoll.c, since 6.13, and in stable releases of older kernels since January 2025).
    #[serde(default)]
    pub epoll_wakes_sync: bool,
    /// A task group counts the load of a CPU at most once in a millisecond (`update_tg_load_avg()`, since 6.7).
    #[serde(default)]
    pub tg_load_avg_ratelimit: bool,
    /// How bandwidth control stops tasks; `None` if the kernel has no CPU controller of cgroup v2.
    pub throttling: Option<Throttling>,
    /// The cut-off of new-idle balancing: the value that `avg_idle` must reach.
    #[serde(default)]
    pub newidle_gate: NewidleGate,
    /// Which pages NUMA balancing marks.
    #[serde(default)]
    pub numa_scan: NumaScan,
    /// How NUMA balancing places tasks.
    #[serde(default)]
    pub numa_placement: NumaPlacement,
    /// Balancing between domains.
    #[serde(default)]
    pub domains: DomainSettings,
    /// Cache lines that operations of the kernel write and that all CPUs share.
    #[serde(default)]
    pub shared_lines: SharedLines,
    /// Whether a packet of TCP takes its reference to a route by a loop of compare-and-swap, which does not raise a count of 0
    /// (`skb_dst_force()`, include/net/dst.h, 4.14 to 6.3), and not by an addition.
    #[serde(default)]
    pub compares_route_count: bool,
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

impl Kernel {
    /// Read a kernel model from TOML. The error names the wrong field.
    pub fn from_toml(text: &str) -> Result<Self, SimError> {
        let wrong = |reason: String| SimError::Definition { kind: "kernel", reason };
        let kernel: Self = toml::from_str(text).map_err(|error| wrong(error.to_string()))?;
        let keys: toml::Table = toml::from_str(text).map_err(|error| wrong(error.to_string()))?;
        kernel.balance_pass.check().map_err(wrong)?;
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
                ("group_comparison = \"type\"", kernel.domains.group_comparison == GroupComparison::Type),
            ] {
                if used && kernel.cpu_load == CpuLoadKind::Weights {
                    return Err(wrong(format!("`{key}` needs averages: `cpu_load` is \"weights\"")));
                }
            }
            if kernel.throttling.is_some() && kernel.cpu_load != CpuLoadKind::Average {
                return Err(wrong("`throttling` needs `cpu_load = \"average\"`".to_owned()));
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

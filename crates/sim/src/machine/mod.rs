//! Machine models: their definitions in TOML, and the topology and domains derived from them.
//!
//! ```text
//! machine
//! ├── socket 0
//! │   ├── node 0                    memory, with its bandwidth
//! │   │   └── last-level cache 0    shared by its cores
//! │   │       ├── cluster 0         optional: cores that share a part of the cache system
//! │   │       │   ├── core 0        private caches
//! │   │       │   │   ├── CPU 0     SMT siblings
//! │   │       │   │   └── CPU 8
//! │   │       │   └── core 1 …
//! │   │       └── cluster 1 …
//! │   └── node 1 …
//! └── socket 1 …
//! ```
//! Nodes, caches, clusters and cores are numbered through the machine. CPUs are numbered either core by core (`adjacent`) or all
//! first siblings before all second siblings (`split`, as in the firmware of x86 machines).

mod costs;
mod distance;
mod domains;
mod mask;
mod parts;
mod span;
mod topology;

use serde::{Deserialize, Serialize};

use crate::error::SimError;
use crate::shipped::MACHINES;
use crate::time::{NEVER, SECOND};

pub use costs::{Costs, Parts};
pub(crate) use costs::{LINE, MISSES_IN_FLIGHT, PIPE_PAGE};
pub use distance::{ByDistance, Distance};
pub use domains::{Domain, DomainKind, Domains};
pub use mask::{CpuMask, MAX_CPUS};
pub(crate) use span::Span;
pub use topology::Topology;

/// Names and TOML texts of the shipped machines.
pub fn machine_files() -> &'static [(&'static str, &'static str)] {
    MACHINES.all()
}

/// Names of the shipped machines.
pub fn machine_names() -> impl Iterator<Item = &'static str> + Clone {
    MACHINES.names()
}

/// Return the shipped machine with a name.
pub fn machine(name: &str) -> Result<Machine, SimError> {
    Machine::from_toml(MACHINES.text(name)?)
}

/// Definition of a machine, as in its TOML file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// Name, such as `kunpeng920`.
    pub name: String,
    /// Description in one sentence.
    pub about: String,
    /// Number of sockets.
    pub sockets: u32,
    /// NUMA nodes per socket.
    pub nodes_per_socket: u32,
    /// Last-level caches per node.
    pub caches_per_node: u32,
    /// Cores per last-level cache.
    pub cores_per_cache: u32,
    /// Cores per cluster: cores under a last-level cache that share the cache's tags (Kunpeng 920) or a second-level cache
    /// (modules of x86 cores). Not given: the cores form no clusters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cores_per_cluster: Option<u32>,
    /// SMT threads per core.
    #[serde(default = "single_thread")]
    pub threads_per_core: u32,
    /// Order of CPU numbers.
    #[serde(default)]
    pub numbering: Numbering,
    /// Distances between nodes as in the firmware's SLIT, with 10 for local memory. If empty, every other node is at 20.
    #[serde(default)]
    pub distances: Vec<Vec<u32>>,
    /// Distance up to which kernels since 5.4 pull waking tasks and spread new tasks (`node_reclaim_distance`, which x86 sets to 32 on
    /// AMD's Zen, `init_amd_zn()`). Older kernels take 30.
    #[serde(default = "reclaim_distance")]
    pub reclaim_distance: u32,
    /// Ticks per second.
    pub hz: u32,
    /// Clock frequency in MHz, for conversion between cycles and nanoseconds.
    pub mhz: u32,
    /// Memory per node in MiB.
    pub memory_mib: u64,
    /// Size of a core's last private cache level in KiB.
    pub private_kib: u32,
    /// Size of a last-level cache in KiB.
    pub llc_kib: u32,
    /// Whether idle CPUs wait with `mwait`, so that a memory write wakes idle CPUs instead of an interrupt.
    #[serde(default)]
    pub mwait: bool,
    /// `wakee_flips` of a program's main task at its start, which it inherits from what starts it: 2 from a shell. Read at 320 forks of
    /// `schedload` on Linux 6.18: 2 or 3, in four cases more. Started by an experiment's agent it had 16 to 31, in a tenth of the
    /// forks less.
    #[serde(default = "flips_of_a_shell")]
    pub inherited_flips: u16,
    /// Idle states by the duration of idleness; the first state begins at 0.
    pub idle: Vec<IdleState>,
    /// Interruptions of busy CPUs that no mechanism of the model causes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise: Option<Noise>,
    /// Speeds of the cores, if they differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speeds: Option<Speeds>,
    /// Kernel model under which the cost table applies. Other kernels need more or fewer instructions
    /// ([`crate::kernel::Instructions`]). Without it the costs are the same under every kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub costs_kernel: Option<String>,
    /// Costs of operations.
    pub costs: Costs,
}

/// `RECLAIM_DISTANCE` (include/linux/topology.h).
pub(crate) fn reclaim_distance() -> u32 {
    30
}

fn flips_of_a_shell() -> u16 {
    2
}

/// Order of CPU numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Numbering {
    /// SMT siblings have neighbouring numbers.
    #[default]
    Adjacent,
    /// All first siblings are numbered before all second siblings.
    Split,
}

/// Idle state of a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IdleState {
    /// A CPU idle for at least this long is in this state.
    pub after_ns: u64,
    /// Exit latency of the state in ns.
    pub exit_ns: u32,
}

/// Interruptions of each CPU by the hypervisor, kernel threads and interrupts, as a measured distribution.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Noise {
    /// Mean time between the beginnings of two interruptions of a CPU. The time is uniform between 0 and twice the mean.
    pub mean_interval_ns: u64,
    /// Quantiles of the lengths, at equal distances of probability. An interruption takes one of them at random.
    pub lengths_ns: Vec<u32>,
}

/// Speeds of cores that differ and change, as those of a virtual machine's CPUs while others use the hardware's cores.
///
/// Work takes longer or shorter; waits, interrupts on their way and idle states do not change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Speeds {
    /// Mean time between two draws for a core. The time is uniform between 0 and twice the mean.
    pub mean_interval_ns: u64,
    /// Quantiles of the duration of work, ascending, in permille of the duration for which the costs hold: their geometric
    /// mean should be 1000. Each core draws one of them, whichever the other cores have.
    pub durations_permille: Vec<u32>,
}

/// Maximum of a single cost: one second, or 10^9 KiB or MiB/s. Sums of a few such costs do not overflow.
const MOST_COST: u32 = 1_000_000_000;

/// Maximum number of nodes, the same as in kernels for large machines (`NODES_SHIFT`, 6 by default on x86-64).
const MAX_NODES: usize = 64;

/// Maximum memory of a node in MiB: 4 PiB, so that the number of all nodes' pages does not overflow.
const MOST_MEMORY_MIB: u64 = 1 << 32;

fn single_thread() -> u32 {
    1
}

impl Machine {
    /// Read and check a machine definition in TOML.
    ///
    /// # Errors
    /// An error names the wrong line or field.
    pub fn from_toml(text: &str) -> Result<Self, SimError> {
        let machine: Self = toml::from_str(text)
            .map_err(|error| SimError::Definition { kind: "machine", reason: error.to_string() })?;
        machine.check()?;
        Ok(machine)
    }

    /// Number of CPUs.
    pub fn cpus(&self) -> usize {
        [
            self.sockets,
            self.nodes_per_socket,
            self.caches_per_node,
            self.cores_per_cache,
            self.threads_per_core,
        ]
        .iter()
        .fold(1usize, |product, factor| product.saturating_mul(*factor as usize))
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        (self.sockets as usize).saturating_mul(self.nodes_per_socket as usize)
    }

    /// Return an error that names the wrong field if the machine cannot be simulated.
    pub fn check(&self) -> Result<(), SimError> {
        let wrong = |field: &str, reason: String| {
            Err(SimError::Machine { machine: self.name.clone(), field: field.to_owned(), reason })
        };
        let counts = [
            ("sockets", self.sockets),
            ("nodes_per_socket", self.nodes_per_socket),
            ("caches_per_node", self.caches_per_node),
            ("cores_per_cache", self.cores_per_cache),
            ("threads_per_core", self.threads_per_core),
        ];
        for (field, count) in counts {
            if count == 0 {
                return wrong(field, "0 makes a machine without a CPU; at least 1".to_owned());
            }
        }
        if let Some(cores) = self.cores_per_cluster
            && (!(2..self.cores_per_cache).contains(&cores) || !self.cores_per_cache.is_multiple_of(cores))
        {
            let reason = format!(
                "clusters of {cores} do not divide the {} cores of a last-level cache: at least 2 clusters of at least 2 cores, \
                 or leave the key out",
                self.cores_per_cache
            );
            return wrong("cores_per_cluster", reason);
        }
        if self.cpus() > MAX_CPUS {
            return wrong("sockets", format!("{} CPUs are more than the {MAX_CPUS} supported", self.cpus()));
        }
        if self.nodes() > MAX_NODES {
            return wrong(
                "sockets",
                format!("{} nodes are more than the {MAX_NODES} supported", self.nodes()),
            );
        }
        if self.memory_mib > MOST_MEMORY_MIB {
            return wrong("memory_mib", format!("{} is more than {MOST_MEMORY_MIB}", self.memory_mib));
        }
        let ranges = [
            ("threads_per_core", self.threads_per_core, 8),
            ("hz", self.hz, 10_000),
            ("mhz", self.mhz, 1 << 26),
            ("private_kib", self.private_kib, 1 << 26),
            ("llc_kib", self.llc_kib, 1 << 26),
            ("costs.smt_percent", self.costs.smt_percent, 100),
        ];
        for (field, value, most) in ranges {
            if !(1..=most).contains(&value) {
                return wrong(field, format!("{value} is not between 1 and {most}"));
            }
        }
        if let Some(field) = self.costs.beyond(MOST_COST) {
            return wrong(&format!("costs.{field}"), format!("is more than {MOST_COST}"));
        }
        if self.costs.syscall == 0 {
            let reason = "is at least 1: otherwise a loop of system calls takes no virtual time";
            return wrong("costs.syscall", reason.to_owned());
        }
        if u64::from(self.costs.tick) * u64::from(self.hz) >= SECOND {
            let reason = format!("{} at {} Hz leaves no time between two ticks", self.costs.tick, self.hz);
            return wrong("costs.tick", reason);
        }
        if self.idle.iter().any(|state| state.exit_ns > MOST_COST || state.after_ns >= NEVER) {
            return wrong("idle", format!("exit_ns must be at most {MOST_COST}, after_ns less than {NEVER}"));
        }
        if self.costs.next_line_permille > 1000 {
            return wrong(
                "costs.next_line_permille",
                "must be at most 1000: a further line cannot take longer than the first".to_owned(),
            );
        }
        if self.costs.node_bandwidth_mib == 0 || self.costs.random_percent == 0 {
            return wrong("costs", "node_bandwidth_mib and random_percent must be at least 1".to_owned());
        }
        if self.idle.first().is_none_or(|state| state.after_ns != 0)
            || !self.idle.is_sorted_by_key(|state| state.after_ns)
        {
            return wrong("idle", "after_ns of the states must begin at 0 and ascend".to_owned());
        }
        if let Some(noise) = &self.noise
            && (!(1..SECOND * 3600).contains(&noise.mean_interval_ns)
                || noise.lengths_ns.is_empty()
                || noise.lengths_ns.iter().any(|length| *length > MOST_COST))
        {
            let reason =
                format!("needs an interval from 1 ns to an hour, and lengths of at most {MOST_COST} ns");
            return wrong("noise", reason);
        }
        if let Some(speeds) = &self.speeds
            && (!(1..SECOND * 3600).contains(&speeds.mean_interval_ns)
                || speeds.durations_permille.is_empty()
                || !speeds.durations_permille.is_sorted()
                || speeds.durations_permille.iter().any(|duration| !(100..=10_000).contains(duration)))
        {
            let reason = "needs an interval from 1 ns to an hour, and ascending durations from 100 to 10000"
                .to_owned();
            return wrong("speeds", reason);
        }
        self.check_distances()
    }

    fn check_distances(&self) -> Result<(), SimError> {
        let (nodes, rows) = (self.nodes(), &self.distances);
        let square = rows.len() == nodes && rows.iter().all(|row| row.len() == nodes);
        let valid = |from: usize, to: usize| (rows[from][to] == 10) == (from == to) && rows[from][to] >= 10;
        if rows.is_empty() || (square && (0..nodes).all(|from| (0..nodes).all(|to| valid(from, to)))) {
            return Ok(());
        }
        let reason = format!("needs {nodes} rows of {nodes} numbers: 10 on the diagonal, more elsewhere");
        Err(SimError::Machine { machine: self.name.clone(), field: "distances".to_owned(), reason })
    }

    /// Distance between two nodes; 10 for the same node.
    pub fn node_distance(&self, from: usize, to: usize) -> u32 {
        match self.distances.get(from) {
            Some(row) => row[to],
            None if from == to => 10,
            None => 20,
        }
    }
}

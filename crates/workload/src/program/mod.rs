//! The definition of a program: plain data, serialisable, with no behaviour beyond construction.

mod attributes;
mod beside;
mod build;
mod expr;
mod metric;
mod op;
mod resource;

use std::ops::RangeInclusive;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::ParameterError;

pub use attributes::{Attributes, MAX_PLACES, Policy};
pub use beside::LOAD;
pub use build::*;
pub use expr::{Expr, Operation, Variable};
pub use metric::{Better, Metric, Quantity};
pub use op::{Branch, Direction, Image, Op, Pattern, Ref, Repeat, Take, TimerMode};
pub(crate) use resource::each_kind;
use resource::one;
pub use resource::{
    Barrier, Channel, ChannelKind, Condition, File, Lock, Region, Resource, Resources, Scope, Semaphore, Slot,
};

/// Version of the JSON layout of a [`Program`]; a document with a higher number is refused.
///
/// 2 adds to 1 the operations `await`, `signal`, `start`, `timer`, `write`, `set` and `finish`, and the
/// resources of these operations.
pub const SCHEMA: u32 = 2;

/// Oldest layout that is read.
pub const OLDEST_SCHEMA: u32 = 1;

/// A workload: resources, tasks and metrics.
///
/// `replicas` copies of all task groups exist, each with a separate copy of every resource of scope
/// [`Scope::Replica`]. Tasks are created replica by replica, group by group, in the order given here. All
/// tasks wait at the gate. The measured interval begins when the gate opens, and ends when the last task is reaped.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// Version of this layout: [`SCHEMA`].
    pub schema: u32,
    /// Name of the workload, such as `hackbench`.
    pub name: String,
    /// Seed of every random choice in the bodies.
    #[serde(default)]
    pub seed: u64,
    /// Number of copies of the groups and of replica-scoped resources; at least 1.
    #[serde(default = "one")]
    pub replicas: u32,
    /// Gate at which tasks wait until all tasks exist.
    #[serde(default)]
    pub gate: Gate,
    /// Memory of the main thread's process that the processes of the tasks inherit.
    #[serde(default, skip_serializing_if = "MainMemory::is_none")]
    pub main_memory: MainMemory,
    /// The part of the run in which counters and series are recorded. Without a window, operations of the
    /// complete run are recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<Window>,
    /// Resources that tasks share.
    #[serde(default)]
    pub resources: Resources,
    /// Names of the counters that [`Op::Count`] adds to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counters: Vec<String>,
    /// Names of the series that [`Op::Lap`] and [`Op::Record`] write to, in nanoseconds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub series: Vec<String>,
    /// The tasks.
    pub groups: Vec<TaskGroup>,
    /// Reported metrics. The first is the headline.
    pub metrics: Vec<Metric>,
}

impl Program {
    /// A program without tasks and metrics.
    pub fn named(name: &str) -> Self {
        Self {
            schema: SCHEMA,
            name: name.to_owned(),
            seed: 0,
            replicas: 1,
            gate: Gate::default(),
            main_memory: MainMemory::default(),
            window: None,
            resources: Resources::default(),
            counters: Vec::new(),
            series: Vec::new(),
            groups: Vec::new(),
            metrics: Vec::new(),
        }
    }

    /// The program without the models of its commands, for an executor that runs the commands.
    #[must_use]
    pub fn without_models(mut self) -> Self {
        self.groups.iter_mut().flat_map(|group| &mut group.body).for_each(Op::clear_models);
        self
    }
}

/// `count` tasks that run the same body.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskGroup {
    /// Name used in messages, such as `sender`.
    pub name: String,
    /// Tasks per replica; at least 1.
    pub count: u32,
    /// Whether each task is a separate process or a thread of the executor's process.
    #[serde(default)]
    pub mode: Mode,
    /// Whether a simulator starts each process of the group as the shell command `time PROGRAM &` does: the shell forks, its child
    /// executes `time`, which forks and executes the program. Without a start gate if all groups start so. The load generator forks
    /// its processes behind a gate; only kernels before 2.6 place a forked process otherwise than an executed program.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub program: bool,
    /// Makes the group a disturbance of the other groups, which starts this long after them, in nanoseconds. The CPU time of its
    /// processes and of their children counts in no metric, as `time` does not count what the timed command has not waited for.
    /// Only in programs whose groups all have `program`; a disturbance is the last group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disturbs_after_ns: Option<u64>,
    /// Whether the run does not wait for the tasks of the group: they are killed when all others have ended. Their CPU time counts
    /// in no metric.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub background: bool,
    /// Operations that each task performs once.
    pub body: Vec<Op>,
}

impl TaskGroup {
    /// Whether a simulator starts each process by exec, see [`TaskGroup::program`].
    #[must_use]
    pub fn started_by_exec(&self) -> bool {
        self.program && self.mode == Mode::Process
    }

    /// Whether the CPU time of the group's tasks counts in metrics.
    #[must_use]
    pub fn counts(&self) -> bool {
        !self.background && self.disturbs_after_ns.is_none()
    }
}

/// Address space of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// A forked process.
    #[default]
    #[schemars(extend("flag" = "P/process"))]
    Process,
    /// A thread; all threads of a program share one process.
    #[schemars(extend("flag" = "T/threads"))]
    Thread,
}

/// The start gate: each task reports that it is ready, then polls until the main thread opens the gate for
/// all tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gate {
    /// Carrier of the ready and go signals.
    #[serde(default)]
    pub kind: GateKind,
    /// The main thread runs under `SCHED_FIFO` from the creation of the last task on (hackbench's `--fifo`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fifo: bool,
}

/// Carrier of the start gate's signals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GateKind {
    /// Two pipes.
    #[default]
    Pipe,
    /// Two Unix stream socket pairs.
    Unix,
    /// Two TCP connections over loopback.
    Tcp,
}

/// Private memory of the main thread's process beyond the load generator's own, as a larger program has. Each fork copies its
/// mappings and page tables, and each exit frees them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MainMemory {
    /// Mappings.
    pub mappings: u32,
    /// Pages of all mappings together, which the main thread has written; at least one in each mapping.
    pub pages: u32,
    /// Pages that the process of each task writes before it ends, as the destructors of libraries do, so that the kernel copies
    /// them.
    #[serde(default)]
    pub written: u32,
}

impl MainMemory {
    /// Most mappings: half of what the kernel allows a process by default (`vm.max_map_count`, 65530).
    pub const MOST_MAPPINGS: u32 = 1 << 15;

    /// Most pages: 16 GiB of 4 KiB pages.
    pub const MOST_PAGES: u32 = 1 << 22;

    /// Whether there is no such memory.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Check the numbers. `names` are the names of the three fields in an error.
    pub fn check(&self, names: [&str; 3]) -> Result<(), ParameterError> {
        ParameterError::check(names[0], self.mappings, 0..=Self::MOST_MAPPINGS)?;
        let most = if self.mappings == 0 { 0 } else { Self::MOST_PAGES };
        ParameterError::check(names[1], self.pages, self.mappings..=most)?;
        ParameterError::check(names[2], self.written, 0..=self.pages)
    }
}

/// The recorded part of a run, from the opening of the gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Window {
    /// Length of the warm-up that is not recorded, in nanoseconds.
    pub warmup_ns: u64,
    /// Length of the recorded part, in nanoseconds; more than 0.
    pub duration_ns: u64,
}

impl Window {
    /// Accepted lengths of a warm-up: up to an hour.
    pub const WARMUP_NS: RangeInclusive<u64> = 0..=3_600_000_000_000;

    /// Accepted lengths of the recorded part: from 1 ms to a day.
    pub const DURATION_NS: RangeInclusive<u64> = 1_000_000..=86_400_000_000_000;

    /// Window with checked lengths.
    pub fn new(warmup_ns: u64, duration_ns: u64) -> Result<Self, ParameterError> {
        ParameterError::check("warmup_ns", warmup_ns, Self::WARMUP_NS)?;
        ParameterError::check("duration_ns", duration_ns, Self::DURATION_NS)?;
        Ok(Self { warmup_ns, duration_ns })
    }

    /// End of the recorded part, in nanoseconds after the opening of the gate.
    pub fn end_ns(&self) -> u64 {
        self.warmup_ns.saturating_add(self.duration_ns)
    }

    /// Whether a moment, in nanoseconds after the opening of the gate, lies in the recorded part.
    pub fn contains(&self, ns: u64) -> bool {
        (self.warmup_ns..self.end_ns()).contains(&ns)
    }
}

//! Errors.

use schedlab_workload::ProgramError;
use thiserror::Error;

/// Error of setting up or running a simulation.
#[derive(Debug, Clone, PartialEq, Error)]
#[allow(missing_docs, reason = "the text of a variant explains its fields")]
pub enum SimError {
    /// A definition is malformed.
    #[error("{kind} definition: {reason}")]
    Definition { kind: &'static str, reason: String },
    /// A machine's definition is invalid.
    #[error("machine `{machine}`, {field}: {reason}")]
    Machine { machine: String, field: String, reason: String },
    /// No model has this name.
    #[error("there is no {kind} `{name}` (known: {known})")]
    Unknown { kind: &'static str, name: String, known: String },
    /// The kernel does not have the tunable.
    #[error("{kernel} has no tunable `{tunable}`{has}")]
    NoTunable { kernel: String, tunable: String, has: String },
    /// The value is outside of the tunable's range.
    #[error("{tunable} = {value} is out of range on {kernel}: from {min} to {max}")]
    TunableRange { kernel: String, tunable: String, value: i64, min: i64, max: i64 },
    /// A kernel parameter is unknown or has a wrong value.
    #[error("kernel command line, `{parameter}`: {reason}")]
    CommandLine { parameter: String, reason: String },
    /// The attributes of a group are invalid.
    #[error("attributes of group `{group}`: {reason}")]
    Attributes { group: String, reason: String },
    /// The process cannot get the memory that the simulation needs.
    #[error("the simulation needs about {} MiB of memory for {tasks} tasks, and the process cannot allocate this memory", needed.div_ceil(1 << 20))]
    Allocation { needed: u64, tasks: u32 },
    /// The tasks that the program forks need more memory than the limit.
    #[error(
        "at {at_ns} ns, {tasks} tasks exist at the same time and need about {} MiB of memory, and {} MiB are available",
        needed.div_ceil(1 << 20), limit.div_ceil(1 << 20)
    )]
    Memory { at_ns: u64, tasks: usize, needed: u64, limit: u64 },
    /// The program is invalid.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// All tasks wait forever.
    #[error("deadlock at {at_ns} ns: {}", listed(.waiting))]
    Deadlock { at_ns: u64, waiting: Vec<Waiting> },
    /// A task made an invalid operation.
    #[error("{task} failed at {at_ns} ns: {reason}")]
    Task { task: String, at_ns: u64, reason: String },
}

/// A task that waits forever.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// The waiting task.
    pub task: String,
    /// Description of the awaited event.
    pub awaited: String,
    /// The tasks that could end the wait, if these tasks can be determined.
    pub whom: Vec<String>,
}

impl std::fmt::Display for Waiting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} waits for {}", self.task, self.awaited)?;
        if !self.whom.is_empty() {
            write!(f, " ({})", self.whom.join(", "))?;
        }
        Ok(())
    }
}

/// Maximum number of waiting tasks that an error message lists.
const LISTED: usize = 8;

fn listed(waiting: &[Waiting]) -> String {
    let mut texts: Vec<String> = waiting.iter().take(LISTED).map(ToString::to_string).collect();
    if waiting.len() > LISTED {
        texts.push(format!("and {} more", waiting.len() - LISTED));
    }
    texts.join("; ")
}

//! What can go wrong.

use schedlab_workload::ProgramError;
use thiserror::Error;

/// Why a simulation cannot be set up or did not end.
#[derive(Debug, Clone, PartialEq, Error)]
#[allow(missing_docs, reason = "the text of a variant explains its fields")]
pub enum SimError {
    /// A definition's text has the wrong form.
    #[error("{what} definition: {reason}")]
    Definition { what: &'static str, reason: String },
    /// A machine that cannot be.
    #[error("machine `{machine}`, {field}: {reason}")]
    Machine { machine: String, field: String, reason: String },
    /// A name that stands for nothing.
    #[error("there is no {what} `{name}` (known: {known})")]
    Unknown { what: &'static str, name: String, known: String },
    /// A kernel without this tunable.
    #[error("{kernel} has no tunable `{tunable}`{has}")]
    NoTunable { kernel: String, tunable: String, has: String },
    /// A tunable's value that its kernel refuses.
    #[error("{tunable} = {value} is out of range on {kernel}: from {min} to {max}")]
    TunableRange { kernel: String, tunable: String, value: i64, min: i64, max: i64 },
    /// A kernel parameter that means nothing.
    #[error("kernel command line, `{parameter}`: {reason}")]
    CommandLine { parameter: String, reason: String },
    /// Attributes of a group that cannot be.
    #[error("attributes of group `{group}`: {reason}")]
    Attributes { group: String, reason: String },
    /// The program is wrong.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// Nobody can ever go on.
    #[error("deadlock at {at_ns} ns: {}", listed(.waiting))]
    Deadlock { at_ns: u64, waiting: Vec<Waiting> },
    /// A task did what its program may not do.
    #[error("{task} failed at {at_ns} ns: {reason}")]
    Task { task: String, at_ns: u64, reason: String },
}

/// A task that waits forever.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// Who waits.
    pub task: String,
    /// For what.
    pub what: String,
    /// Who could end the wait, as far as that is known.
    pub whom: Vec<String>,
}

impl std::fmt::Display for Waiting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} waits for {}", self.task, self.what)?;
        if !self.whom.is_empty() {
            write!(f, " ({})", self.whom.join(", "))?;
        }
        Ok(())
    }
}

/// Most waiting tasks that an error's text lists.
const LISTED: usize = 8;

fn listed(waiting: &[Waiting]) -> String {
    let mut texts: Vec<String> = waiting.iter().take(LISTED).map(ToString::to_string).collect();
    if waiting.len() > LISTED {
        texts.push(format!("and {} more", waiting.len() - LISTED));
    }
    texts.join("; ")
}

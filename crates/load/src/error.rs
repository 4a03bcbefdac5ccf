//! Why a run did not succeed.

use std::io;

use schedlab_workload::{ParameterError, ProgramError};
use thiserror::Error;

use crate::limits;

/// Failure of a run. The text states the remedy, if the user has a remedy.
#[derive(Debug, Error)]
pub enum LoadError {
    /// A parameter is out of range.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// The program is wrong.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// A program file cannot be read.
    #[error("{path}: {reason}")]
    File { path: String, reason: String },
    /// The limit on open files is too low.
    #[error(
        "{needed} file descriptors are needed, but RLIMIT_NOFILE is {soft} and its hard limit {hard}; raise it \
         (`ulimit -Hn {needed}` as root, or LimitNOFILE= of the service), or use fewer groups or descriptors"
    )]
    Descriptors { needed: u64, soft: u64, hard: u64 },

    /// The kernel has fewer process numbers or threads than the program has tasks.
    #[error(
        "{tasks} tasks are more than kernel.{name} = {limit} allows: raise it with sysctl, or run fewer tasks"
    )]
    Tasks { tasks: u32, name: &'static str, limit: u64 },
    /// A task could not be created; the text names the limits.
    #[error("{task} of {total} tasks could not be created: {reason}")]
    Spawn { task: u32, total: u32, reason: String },
    /// A task failed.
    #[error("{0}")]
    Task(String),
    /// A task was killed.
    #[error("{task} (pid {pid}) was killed by {signal}{hint}")]
    Killed { task: String, pid: i32, signal: String, hint: &'static str },
    /// A signal stopped the program.
    #[error("stopped by {}", crate::sys::signals::name(*.0))]
    Interrupted(i32),
    /// Shared memory could not be allocated.
    #[error("allocating {purpose}: {source}; {}", limits::memory_limits())]
    Memory { purpose: &'static str, source: io::Error },
    /// The options contradict each other, or the machine lacks a requirement of the options.
    #[error("{0}")]
    Usage(String),
    /// A command or one of its servers could not be launched, or a server failed during the run.
    #[error("{0}")]
    Launch(String),
    /// A kernel could not be loaded, or a restart was refused.
    #[error("{0}")]
    Boot(String),
    /// A command could not be executed.
    #[error("{text}")]
    Exec { status: u8, text: String },
    /// Any other system call.
    #[error("{action}: {source}")]
    System { action: String, source: io::Error },
    /// Any other system call with a sufficient message of the C library.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl LoadError {
    /// Wrap the error of a system call with a description of the attempt.
    pub fn system(action: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::System { action: action.into(), source }
    }

    /// The exit status of a subcommand that ends with this error.
    pub fn status(&self) -> u8 {
        match self {
            Self::Interrupted(signal) => 128 + *signal as u8,
            Self::Parameter(_) | Self::Usage(_) => 2,
            _ => 1,
        }
    }
}

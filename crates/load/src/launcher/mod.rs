//! Execution of a command under supervision. No process of the command survives the launcher.
//!
//! ```text
//! starter of schedload
//!   └─ front        passes signals on; ends when its starter has gone
//!        └─ supervisor   own session; times the command, stops the servers, kills remaining processes
//!             ├─ server …      own session each
//!             └─ command       own session, with the wanted attributes
//! ```
//! Both front and supervisor adopt orphans, and each kills all remaining processes when the other dies.
//! Processes remain only after a SIGKILL to both at once.

pub mod attributes;
pub mod events;
mod front;
mod report;
mod server;
mod start;
mod supervisor;

use std::path::PathBuf;
use std::time::Duration;

use crate::error::LoadError;

pub use attributes::Wanted;
pub use front::launch;
pub use server::{Ready, Server};

/// Exit status when the command ran into its time limit, as of timeout(1).
pub const TIMED_OUT: u8 = 124;
/// Exit status of the launcher's failures, as of timeout(1) and env(1).
pub const LAUNCHER_FAILED: u8 = 125;
/// Exit status when the command was found but could not be executed (POSIX shells).
pub const NOT_EXECUTABLE: u8 = 126;
/// Exit status when the command was not found (POSIX shells).
pub const NOT_FOUND: u8 = 127;

/// A command to launch, with its conditions.
#[derive(Debug, Clone)]
pub struct Order {
    /// The command and its arguments; not empty.
    pub command: Vec<String>,
    /// Runs of the command, one after another. A failed run is the last run.
    pub repeat: u32,
    /// Scheduling attributes of the command and, unless `plain_servers`, of the servers.
    pub wanted: Wanted,
    /// Longest time for the command.
    pub timeout: Option<Duration>,
    /// Time for the command to end after a stop signal, before it is killed.
    pub last_words: Duration,
    /// Servers to start before the command, in order.
    pub servers: Vec<Server>,
    /// Whether servers keep the launcher's attributes.
    pub plain_servers: bool,
    /// Longest time for one server to become ready.
    pub ready_timeout: Duration,
    /// Time for servers to end after their stop signal, before they are killed.
    pub grace: Duration,
    /// Destination of the JSON report. Without a report file, a line of text goes to standard error.
    pub report: Option<Target>,
    /// Process whose end ends the launch.
    pub guardian: Guardian,
}

/// Destination of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// An inherited descriptor.
    Descriptor(i32),
    /// A file that is created or replaced.
    File(PathBuf),
}

/// Process whose end ends the launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guardian {
    /// The process that started the launcher.
    Parent,
    /// The process that started the launcher. If the parent is another process, the starter has already died.
    ThisParent(i32),
    /// No process.
    Nobody,
}

/// The launcher's exit status for an error.
pub fn status_of(error: &LoadError) -> u8 {
    match error {
        LoadError::Exec { status, .. } => *status,
        LoadError::Interrupted(signal) => 128 + *signal as u8,
        _ => LAUNCHER_FAILED,
    }
}

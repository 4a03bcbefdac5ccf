//! A command to launch, with its conditions.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use super::attributes::Wanted;

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

/// A server that the command needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// Command line of the server, for `sh -c`.
    pub command: String,
    /// Test of its readiness.
    pub ready: Ready,
    /// The signal that ends the server.
    pub stop: i32,
}

/// Test of a server's readiness.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ready {
    /// A TCP port of 127.0.0.1 accepts connections.
    Tcp(u16),
    /// A Unix socket accepts connections.
    Unix(PathBuf),
    /// A command line, for `sh -c`, succeeds.
    Exec(String),
}

impl FromStr for Ready {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            Some(("tcp", port)) => match port.parse() {
                Ok(port) if port > 0 => Ok(Self::Tcp(port)),
                _ => Err(format!("`{port}` is not a port from 1 to 65535")),
            },
            Some(("unix", path)) if !path.is_empty() => Ok(Self::Unix(path.into())),
            Some(("exec", command)) if !command.is_empty() => Ok(Self::Exec(command.to_owned())),
            _ => Err(format!("`{text}` is not tcp:PORT, unix:PATH or exec:COMMAND")),
        }
    }
}

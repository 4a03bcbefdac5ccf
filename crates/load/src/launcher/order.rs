//! A command to launch, with its conditions.

use std::convert::Infallible;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::Args;
use nix::sys::signal::Signal;

use super::wanted::{Wanted, duration};

/// Run a command with scheduling attributes, servers and a report; by default no process of the command survives.
///
/// The command gets standard input, output and error untouched. Exit status: the command's; 128 + n for signal n; 124
/// time limit; 125 failure of the launcher; 126 not executable; 127 not found.
#[derive(Debug, Args)]
pub struct Order {
    #[command(flatten)]
    pub wanted: Wanted,
    /// Kill the command after this time; exit status 124.
    #[arg(long, value_parser = duration, value_name = "DURATION")]
    pub timeout: Option<Duration>,
    /// Number of runs of the command, one after another; a failed run is the last run. The time limit is for
    /// all runs.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..), value_name = "N", default_value_t = 1)]
    pub repeat: u32,
    /// Time for the command to end after a stop signal before it is killed.
    #[arg(long, value_parser = duration, value_name = "DURATION", default_value = "300ms")]
    pub last_words: Duration,
    /// Write a JSON report to this descriptor (a number) or file, instead of a line to standard error.
    #[arg(long, value_name = "FD|PATH")]
    pub report: Option<Target>,
    /// Start this server first (a shell command line); may be repeated, each with a separate --ready.
    #[arg(long, value_name = "COMMAND")]
    server: Vec<String>,
    /// Condition that the server is ready: tcp:PORT (on 127.0.0.1), unix:PATH or exec:COMMAND.
    #[arg(long, value_name = "HOW")]
    ready: Vec<Ready>,
    /// Keep this shell command line running beside the command, restarted when it succeeds; its failure fails the launch. It
    /// is `exec "$0" exec "$1" …`: $0 is this program, $1 the option --started. May be repeated.
    #[arg(long, value_name = "COMMAND")]
    beside: Vec<String>,
    /// Write TEXT to a file this long after the start of the command; may be repeated.
    #[arg(long, value_name = "AFTER=PATH=TEXT")]
    pub at: Vec<TimedWrite>,
    /// Write a byte to this descriptor when the command has started.
    #[arg(long, value_name = "FD")]
    pub started: Option<i32>,
    /// Signal that ends a server (default TERM): once for all servers, or once for each server.
    #[arg(long, value_name = "SIGNAL")]
    stop: Vec<String>,
    /// Longest time for a server to become ready.
    #[arg(long, value_parser = duration, value_name = "DURATION", default_value = "10s")]
    pub ready_timeout: Duration,
    /// Time for a server to end before it is killed.
    #[arg(long, value_parser = duration, value_name = "DURATION", default_value = "2s")]
    pub grace: Duration,
    /// Servers keep the launcher's scheduling attributes instead of getting the command's.
    #[arg(long)]
    pub plain_servers: bool,
    /// PID of the process that started this process; if that process has ended, nothing is started.
    #[arg(long, value_name = "PID", conflicts_with = "detached")]
    parent: Option<i32>,
    /// Continue when the process that started this process ends; by default the command and the servers are
    /// stopped.
    #[arg(long)]
    detached: bool,
    /// Processes that the command leaves behind continue, unless the command exceeds its time or is stopped.
    #[arg(long)]
    pub keep_strays: bool,
    /// The command and its arguments.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

impl Order {
    /// Process whose end ends the launch.
    pub fn guardian(&self) -> Guardian {
        match (self.parent, self.detached) {
            (Some(pid), _) => Guardian::ThisParent(pid),
            (None, true) => Guardian::Nobody,
            (None, false) => Guardian::Parent,
        }
    }

    /// Servers to start before the command, in order; the loads beside the command last.
    pub fn servers(&self) -> Result<Vec<Server>, String> {
        let (servers, ready) = (self.server.len(), self.ready.len());
        if servers != ready {
            return Err(format!("{servers} --server but {ready} --ready: each server needs a --ready"));
        }
        if self.stop.len() > 1 && self.stop.len() != servers {
            return Err(format!(
                "{} --stop for {servers} --server: give one --stop, or one for each server",
                self.stop.len()
            ));
        }
        let stop = |at: usize| {
            let name = self.stop.get(at).or(self.stop.first()).map_or("TERM", String::as_str);
            let full = if name.starts_with("SIG") { name.to_owned() } else { format!("SIG{name}") };
            full.parse::<Signal>()
                .map(|signal| signal as i32)
                .map_err(|_| format!("`{name}` is not a signal"))
        };
        let server = |(at, (command, ready)): (usize, (&String, &Ready))| {
            Ok(Server { command: command.clone(), ready: ready.clone(), stop: stop(at)? })
        };
        let load = |command: &String| {
            Ok(Server { command: command.clone(), ready: Ready::Load, stop: libc::SIGTERM })
        };
        self.server
            .iter()
            .zip(&self.ready)
            .enumerate()
            .map(server)
            .chain(self.beside.iter().map(load))
            .collect()
    }
}

/// A write to a file while the command runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimedWrite {
    /// Time from the start of the command.
    pub after: Duration,
    /// The file.
    pub path: PathBuf,
    /// The text to write.
    pub text: String,
}

impl FromStr for TimedWrite {
    type Err = String;

    fn from_str(value: &str) -> Result<Self, String> {
        let wrong = || format!("`{value}` is not AFTER=PATH=TEXT, such as 5s=/sys/fs/cgroup/a/cpu.weight=50");
        let (after, rest) = value.split_once('=').ok_or_else(wrong)?;
        let (path, text) = rest.split_once('=').ok_or_else(wrong)?;
        Ok(Self { after: duration(after)?, path: path.into(), text: text.to_owned() })
    }
}

/// Destination of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// An inherited descriptor.
    Descriptor(i32),
    /// A file that is created or replaced.
    File(PathBuf),
}

impl FromStr for Target {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(text.parse().map_or_else(|_| Self::File(text.into()), Self::Descriptor))
    }
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
    /// The server is a load beside the command, and its launcher has started the load.
    Load,
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

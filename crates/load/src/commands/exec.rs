//! `schedload exec`: runs a command under supervision.
//!
//! Exit status: the command's; 128 + n when signal n killed it or stopped the launcher; 124 when it exceeded the time
//! limit; 125 when the launcher failed (attributes refused, server not ready, wrong usage); 126 when the
//! command could not be executed; 127 when it was not found.

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use nix::sys::signal::Signal;

use crate::error::LoadError;
use crate::launcher::attributes::duration;
use crate::launcher::{self, Guardian, LAUNCHER_FAILED, Order, Ready, Server, Target, Wanted};
use crate::output;

/// Run a command with scheduling attributes, servers and a report; no process of the command survives.
///
/// The command gets standard input, output and error untouched. Exit status: the command's; 128 + n for signal n; 124
/// time limit; 125 failure of the launcher; 126 not executable; 127 not found.
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(flatten)]
    wanted: Wanted,
    /// Kill the command after this time; exit status 124.
    #[arg(long, value_parser = duration, value_name = "DURATION")]
    timeout: Option<Duration>,
    /// Number of runs of the command, one after another; a failed run is the last run. The time limit is for
    /// all runs.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..), value_name = "N", default_value_t = 1)]
    repeat: u32,
    /// Time for the command to end after a stop signal before it is killed.
    #[arg(long, value_parser = duration, value_name = "DURATION", default_value = "300ms")]
    last_words: Duration,
    /// Write a JSON report to this descriptor (a number) or file, instead of a line to standard error.
    #[arg(long, value_name = "FD|PATH")]
    report: Option<String>,
    /// Start this server first (a shell command line); may be repeated, each with a separate --ready.
    #[arg(long, value_name = "COMMAND")]
    server: Vec<String>,
    /// Condition that the server is ready: tcp:PORT (on 127.0.0.1), unix:PATH or exec:COMMAND.
    #[arg(long, value_name = "HOW")]
    ready: Vec<Ready>,
    /// Signal that ends a server (default TERM): once for all servers, or once for each server.
    #[arg(long, value_name = "SIGNAL")]
    stop: Vec<String>,
    /// Longest time for a server to become ready.
    #[arg(long, value_parser = duration, value_name = "DURATION", default_value = "10s")]
    ready_timeout: Duration,
    /// Time for a server to end before it is killed.
    #[arg(long, value_parser = duration, value_name = "DURATION", default_value = "2s")]
    grace: Duration,
    /// Servers keep the launcher's scheduling attributes instead of getting the command's.
    #[arg(long)]
    plain_servers: bool,
    /// PID of the process that started this process; if that process has ended, nothing is started.
    #[arg(long, value_name = "PID", conflicts_with = "detached")]
    parent: Option<i32>,
    /// Continue when the process that started this process ends; by default the command and the servers are
    /// stopped.
    #[arg(long)]
    detached: bool,
    /// The command and its arguments.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
}

pub(super) fn execute(arguments: &Arguments) -> ExitCode {
    let status = arguments.order().and_then(|order| launcher::launch(&order, output::complain));
    match status {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            output::complain(&error);
            ExitCode::from(LAUNCHER_FAILED)
        }
    }
}

impl Arguments {
    fn order(&self) -> Result<Order, LoadError> {
        let usage = LoadError::Usage;
        self.wanted.check().map_err(usage)?;
        Ok(Order {
            command: self.command.clone(),
            repeat: self.repeat,
            wanted: self.wanted.clone(),
            timeout: self.timeout,
            last_words: self.last_words,
            servers: self.servers().map_err(usage)?,
            plain_servers: self.plain_servers,
            ready_timeout: self.ready_timeout,
            grace: self.grace,
            report: self.report.as_ref().map(|target| match target.parse() {
                Ok(number) => Target::Descriptor(number),
                Err(_) => Target::File(target.into()),
            }),
            guardian: match (self.parent, self.detached) {
                (Some(pid), _) => Guardian::ThisParent(pid),
                (None, true) => Guardian::Nobody,
                (None, false) => Guardian::Parent,
            },
        })
    }

    fn servers(&self) -> Result<Vec<Server>, String> {
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
        self.server.iter().zip(&self.ready).enumerate().map(server).collect()
    }
}

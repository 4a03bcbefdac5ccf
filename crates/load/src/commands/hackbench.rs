//! `schedload hackbench`: the options and output lines of rt-tests' hackbench.

use clap::Args;
use schedlab_workload::library::hackbench::{Carrier, Hackbench};
use schedlab_workload::program::Mode;

use super::program::Prepared;
use crate::error::LoadError;
use crate::executor::Outcome;

/// Groups of senders that each write to all receivers of their group (options of rt-tests' hackbench).
#[derive(Debug, Args)]
pub struct Arguments {
    /// Senders, and receivers, per group.
    #[arg(short, long, default_value_t = 20, value_name = "NUM")]
    fds: u32,
    /// Use SCHED_FIFO for the main thread.
    #[arg(short = 'F', long)]
    fifo: bool,
    /// Groups.
    #[arg(short, long, default_value_t = 10, value_name = "NUM")]
    groups: u32,
    /// Messages from each sender to each receiver.
    #[arg(short, long, default_value_t = 100, value_name = "LOOPS")]
    loops: u64,
    /// Send over pipes instead of Unix sockets.
    #[arg(short, long, conflicts_with = "inet")]
    pipe: bool,
    /// Send over TCP connections instead of Unix sockets.
    #[arg(short, long)]
    inet: bool,
    /// Bytes per message.
    #[arg(short = 's', long, default_value_t = 100, value_name = "SIZE")]
    datasize: u64,
    /// Tasks are threads.
    #[arg(short = 'T', long, overrides_with = "process")]
    threads: bool,
    /// Tasks are processes (default).
    #[arg(short = 'P', long, overrides_with = "threads")]
    process: bool,
}

impl Arguments {
    pub(super) fn prepare(&self) -> Result<Prepared, LoadError> {
        let parameters = Hackbench {
            groups: self.groups,
            fds: self.fds,
            loops: self.loops,
            datasize: self.datasize,
            channel: match (self.pipe, self.inet) {
                (true, _) => Carrier::Pipe,
                (_, true) => Carrier::Inet,
                _ => Carrier::Socket,
            },
            mode: if self.threads { Mode::Thread } else { Mode::Process },
            fifo: self.fifo,
        };
        let mode = if self.threads { "threaded" } else { "process" };
        let heading = vec![
            format!(
                "Running in {mode} mode with {} groups using {} file descriptors each (== {} tasks)",
                self.groups,
                u64::from(self.fds) * 2,
                parameters.tasks()
            ),
            format!("Each sender will pass {} messages of {} bytes", self.loops, self.datasize),
        ];
        Ok(Prepared { heading, text, ..Prepared::new(parameters.program()?, &parameters) })
    }
}

fn text(outcome: &Outcome) -> Vec<String> {
    vec![format!("Time: {:.3}", outcome.observed.elapsed_ns as f64 / 1e9)]
}

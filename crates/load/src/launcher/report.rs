//! The report about a launched command.

use std::fs::File;
use std::io::{self, Write};

use serde::{Deserialize, Serialize};

use super::attributes::InEffect;
use super::order::Target;
use crate::error::LoadError;
use crate::sys::process::{self, Usage};

/// Version of the report's layout.
pub const SCHEMA: u32 = 1;

/// Outcome of a launched command.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Time from the first fork to the end of the command's last run, in nanoseconds.
    pub elapsed_ns: u64,
    /// The single runs of a repeated command.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<Run>,
    /// Resources of the command and its waited-for descendants.
    #[serde(flatten)]
    pub usage: Usage,
    /// Exit code of a command that exited.
    pub exit_code: Option<i32>,
    /// Signal that killed the command.
    pub signal: Option<i32>,
    /// Whether the command reached its time limit.
    pub timed_out: bool,
    /// Signal to the launcher that ended the command, if any.
    pub interrupted_by: Option<i32>,
    /// Number of descendants that outlived the command and were killed.
    pub strays_killed: u32,
    /// CPU time in microseconds of the command's other threads and waited-for descendants in the last run; `None` if the kernel
    /// does not count each thread's time.
    pub others_us: Option<u64>,
    /// Attributes as read back before the exec.
    pub attributes: InEffect,
    /// Writes of `--at` that were made.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub timed: Vec<MadeWrite>,
    /// `/proc/PID/sched` of the command's first process at its end; empty if the kernel lacks the file.
    pub sched: String,
}

/// A write to a file that was made while the command ran.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct MadeWrite {
    /// Time from the start of the command, in nanoseconds.
    pub after_ns: u64,
    /// The file.
    pub path: String,
    /// The text.
    pub text: String,
}

/// A run of a repeated command.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Run {
    /// Time from the fork to the end, in nanoseconds.
    pub elapsed_ns: u64,
    /// User CPU time in microseconds.
    pub user_us: u64,
    /// System CPU time in microseconds.
    pub system_us: u64,
}

impl Report {
    /// A line in the manner of time(1).
    pub fn line(&self) -> String {
        let usage = self.usage;
        let seconds = |us: u64| us as f64 / 1e6;
        let elapsed = self.elapsed_ns as f64 / 1e9;
        let cpu = seconds(usage.user_us + usage.system_us);
        let share = if elapsed > 0.0 { cpu / elapsed * 100.0 } else { 0.0 };
        format!(
            "{elapsed:.6} s elapsed, {:.6} s user, {:.6} s system, {share:.0} % CPU, {} KiB maximum resident, {} + {} \
             context switches{}",
            seconds(usage.user_us),
            seconds(usage.system_us),
            usage.max_rss_kib,
            usage.voluntary_switches,
            usage.involuntary_switches,
            if self.strays_killed > 0 {
                format!(", {} strays killed", self.strays_killed)
            } else {
                String::new()
            }
        )
    }
}

/// Opened destination of a report. The file is opened before the command starts, so that a wrong path fails
/// early.
#[derive(Debug)]
pub struct Sink(Option<File>);

impl Sink {
    /// Open the target. The command does not inherit the descriptor.
    pub fn open(target: Option<&Target>) -> Result<Self, LoadError> {
        let failed = |destination: String| LoadError::system(format!("opening {destination} for the report"));
        Ok(Self(match target {
            None => None,
            Some(Target::File(path)) => Some(File::create(path).map_err(failed(path.display().to_string()))?),
            Some(Target::Descriptor(number)) => {
                let name = format!("descriptor {number}");
                let descriptor = process::take_over(*number).map_err(failed(name))?;
                Some(File::from(descriptor))
            }
        }))
    }

    /// Write the report as a line of JSON, or as text to standard error if there is no destination.
    pub fn write(self, report: &Report) -> Result<(), LoadError> {
        let failed = || LoadError::system("writing the report");
        match self.0 {
            Some(mut file) => {
                let text = serde_json::to_string(report).map_err(io::Error::other).map_err(failed())?;
                writeln!(file, "{text}").map_err(failed())
            }
            None => writeln!(io::stderr(), "{}", report.line()).map_err(failed()),
        }
    }
}

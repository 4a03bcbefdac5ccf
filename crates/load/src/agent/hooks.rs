//! Hooks: shell commands of an experiment that change the machine, each with a command that undoes the change.
//!
//! The controller records the undo ([`Resource`](super::resources::Resource)) before it lets the agent run `apply`. The undo
//! therefore runs also when `apply` was interrupted, or has not begun. Both are commands of the launcher, which kills them
//! with all their processes at the time limit and when the agent dies.

use std::fs;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use super::protocol::Trial;
use super::resources::Undo;
use super::trial::{GRACE, Running};
use crate::sys::process::Pid;

/// Bytes of output beyond which a command is ended.
const LARGEST_OUTPUT: u64 = 1 << 20;
/// Characters at the end of the output that a message quotes.
const SHOWN: usize = 2000;
/// Time for the launchers of a dead agent to kill their commands.
const ENDING: Duration = Duration::from_secs(5);
/// Pause between two attempts.
const PAUSE: Duration = Duration::from_millis(10);

/// Run the command. An error, with the end of the output, unless the command succeeds.
pub fn run(undo: &Undo) -> io::Result<()> {
    let timeout = format!("--timeout={}ms", undo.limit_ms);
    let argv = ["--keep-strays", &timeout, "--", "sh", "-c", &undo.command];
    let trial = Trial {
        argv: argv.map(str::to_owned).into(),
        hook: true,
        limit: (Duration::from_millis(undo.limit_ms) + GRACE).as_secs_f64(),
        largest_output: LARGEST_OUTPUT,
        ..Trial::default()
    };
    let started = Running::start(0, trial, Path::new("/"), None);
    let result = started.map_err(|refusal| io::Error::other(refusal.text))?.finish();
    if result["status"] == 0 {
        return Ok(());
    }
    let text = |name: &str| result[name].as_str().unwrap_or_default();
    let why = if text("report").contains(r#""timed_out":true"#) {
        format!("`{}` did not end within {:?}", undo.command, Duration::from_millis(undo.limit_ms))
    } else {
        format!("`{}` ended with {}", undo.command, result["status"])
    };
    let output = format!("{}{}", text("stdout"), text("stderr"));
    let skipped = output.trim().chars().count().saturating_sub(SHOWN);
    let end: String = output.trim().chars().skip(skipped).collect();
    Err(io::Error::other(if end.is_empty() { why } else { format!("{why}: {end}") }))
}

/// Wait until the launchers of a dead agent have killed their commands: an `apply` that still runs would change the machine
/// after its undo.
pub fn await_launchers(agent: Pid) {
    let words = format!("\0exec\0--parent={agent}\0");
    let is_launcher = |entry: fs::DirEntry| {
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        line.windows(words.len()).any(|part| part == words.as_bytes())
    };
    let deadline = Instant::now() + ENDING;
    while fs::read_dir("/proc").into_iter().flatten().flatten().any(is_launcher) && Instant::now() < deadline
    {
        std::thread::sleep(PAUSE);
    }
}

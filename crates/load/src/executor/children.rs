//! Processes of tasks: their beginning, their end, and the children that bodies fork.

use nix::sys::signal::Signal;

use crate::sys::process::{self, How, Pid};
use crate::sys::{retry, signals};

/// Exit code of a task that has left a message about its failure.
pub const FAILED: i32 = 1;

/// Make a new process end with its parent and on stop signals.
pub fn settle(parent: Pid) {
    if process::die_with(parent, Signal::SIGKILL).is_err() {
        process::exit_now(FAILED);
    }
    signals::restore_stops();
}

/// Wait for `count` of the children, or for all. The failure of a child is a failure of its parent.
pub fn wait(children: &mut Vec<Pid>, count: Option<u64>) -> Result<(), String> {
    let wanted = count.unwrap_or(u64::MAX).min(children.len() as u64);
    for _ in 0..wanted {
        let ended = retry(|| process::wait(-1)).map_err(|error| format!("waiting for a child: {error}"))?;
        children.retain(|pid| *pid != ended.pid);
        match ended.how {
            How::Exited(0) => {}
            How::Exited(code) => return Err(format!("because a child exited with status {code}")),
            How::Killed(signal) => {
                return Err(format!("because a child was killed by {}", signals::name(signal)));
            }
        }
    }
    Ok(())
}

/// Replace the process by a command. The function returns only on failure, with the reason.
pub fn exec(argv: &[String]) -> String {
    signals::restore_pipe();
    let error = process::exec(argv);
    format!("executing `{}`: {error}", argv.join(" "))
}

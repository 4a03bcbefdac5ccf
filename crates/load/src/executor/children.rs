//! Children that bodies fork.

use schedlab_workload::Cursor;

use super::worker::{Stop, Worker};
use crate::limits;
use crate::sys::process::{self, Forked, How};
use crate::sys::{retry, signals};

/// Exit code of a task that has left a message about its failure.
pub const FAILED: i32 = 1;

/// Start a child that runs the body after a fork step. Only the parent returns.
pub fn fork(worker: &mut Worker<'_>, cursor: &Cursor<'_>) -> Result<(), Stop> {
    let parent = process::own_pid();
    match process::fork() {
        Ok(Forked::Parent(pid)) => {
            worker.children.push(pid);
            Ok(())
        }
        Ok(Forked::Child) => {
            settle(parent);
            worker.children.clear();
            let done = worker.body(&mut cursor.child());
            process::exit_now(report(worker, done));
        }
        Err(error) => Err(Stop(limits::fork_failure(&error))),
    }
}

/// Make a new process end with its parent and on stop signals.
pub fn settle(parent: process::Pid) {
    let armed = process::die_with_parent(libc::SIGKILL);
    if armed.is_err() || process::parent_pid() != parent {
        process::exit_now(FAILED);
    }
    signals::restore_stops();
}

/// Record why a task failed; return the task's exit code.
pub fn report(worker: &Worker<'_>, done: Result<(), Stop>) -> i32 {
    match done {
        Ok(()) => 0,
        Err(Stop(reason)) => {
            worker.shared().arena.fail(&format!("{} failed {reason}", worker.name()));
            FAILED
        }
    }
}

/// Wait for `count` children, or for all children. The failure of a child is a failure of its parent.
pub fn wait(worker: &mut Worker<'_>, count: Option<u64>) -> Result<(), Stop> {
    let wanted = count.unwrap_or(u64::MAX).min(worker.children.len() as u64);
    for _ in 0..wanted {
        let ended =
            retry(|| process::wait(-1)).map_err(|error| Stop(format!("waiting for a child: {error}")))?;
        worker.children.retain(|pid| *pid != ended.pid);
        match ended.how {
            How::Exited(0) => {}
            How::Exited(code) => return Err(Stop(format!("because a child exited with status {code}"))),
            How::Killed(signal) => {
                return Err(Stop(format!("because a child was killed by {}", signals::name(signal))));
            }
        }
    }
    Ok(())
}

/// Replace the process by a command. The function returns only on failure, with the reason.
pub fn exec(argv: &[String]) -> Stop {
    signals::restore_pipe();
    let error = process::exec(argv);
    Stop(format!("executing `{}`: {error}", argv.join(" ")))
}

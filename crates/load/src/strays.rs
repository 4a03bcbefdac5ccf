//! Kills every descendant of this process.

use std::fs;

use crate::sys::clock;
use crate::sys::process::{self, Pid};

/// Rounds of killing before giving up on processes that do not die (uninterruptible sleep).
const ROUNDS: u32 = 500;

/// Pause between rounds.
const PAUSE_NS: u64 = 2_000_000;

/// Kills and reaps all descendants of this process, which must have adopted orphans
/// ([`process::adopt_orphans`]), and returns how many there were.
///
/// Killing a process makes its children this process's own, so the work is done when there is no child left; a process
/// that forks while it is being killed is found in the next round.
pub fn kill_descendants() -> u32 {
    let mut reaped = 0;
    for _ in 0..ROUNDS {
        for pid in descendants(process::own_pid()) {
            process::kill(pid, libc::SIGKILL);
        }
        loop {
            match process::wait_no_hang(-1) {
                Ok(Some(_)) => reaped += 1,
                Ok(None) => break,
                Err(_) => return reaped,
            }
        }
        clock::sleep_ns(PAUSE_NS);
    }
    reaped
}

/// All descendants of a process, children before grandchildren.
pub fn descendants(root: Pid) -> Vec<Pid> {
    let mut found = children(root);
    let mut next = 0;
    while next < found.len() {
        found.extend(children(found[next]));
        next += 1;
    }
    found
}

/// Children of all threads of a process (`/proc/<pid>/task/<tid>/children`, proc(5)).
pub fn children(pid: Pid) -> Vec<Pid> {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let lists =
        threads.flatten().filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists
        .flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>())
        .collect()
}

//! Killing of descendants of this process.

use std::collections::BTreeSet;
use std::fs;

use crate::sys::clock;
use crate::sys::process::{self, Pid};

/// Rounds of killing before giving up on processes that do not die (uninterruptible sleep).
const ROUNDS: u32 = 500;

/// Pause between rounds.
const PAUSE_NS: u64 = 2_000_000;

/// Kill and reap all descendants of this process, except `spared` children and their descendants. Return how many
/// children were killed. This process must have adopted orphans ([`process::adopt_orphans`]).
///
/// The children of a killed process become children of this process. The next round kills these processes,
/// and also processes that were forked during the killing.
pub fn kill_descendants(spared: &[Pid]) -> u32 {
    let mut killed = BTreeSet::new();
    for _ in 0..ROUNDS {
        while let Ok(Some(_)) = process::wait_no_hang(-1) {}
        let mut strays = children(process::own_pid());
        strays.retain(|pid| !spared.contains(pid));
        if strays.is_empty() {
            break;
        }
        for stray in strays {
            killed.insert(stray);
            // From the top: a shell whose child is killed first continues with its next command.
            let below = descendants(stray);
            process::kill(stray, libc::SIGKILL);
            below.into_iter().for_each(|pid| process::kill(pid, libc::SIGKILL));
        }
        clock::sleep_ns(PAUSE_NS);
    }
    killed.len() as u32
}

/// All descendants of a process, children before grandchildren.
fn descendants(root: Pid) -> Vec<Pid> {
    let mut pids = children(root);
    let mut next = 0;
    while next < pids.len() {
        pids.extend(children(pids[next]));
        next += 1;
    }
    pids
}

/// Children of all threads of a process (`/proc/<pid>/task/<tid>/children`, proc(5)).
fn children(pid: Pid) -> Vec<Pid> {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let lists =
        threads.flatten().filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists
        .flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>())
        .collect()
}

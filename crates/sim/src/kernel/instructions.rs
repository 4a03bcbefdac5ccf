//! Instructions of a kernel's paths and of its balancing passes, and what they change in a machine's costs.
//!
//! A machine's cost table has times under one kernel. Another kernel needs more or fewer instructions for the same path:
//! cost = cost under the machine's kernel + difference of the instructions × the machine's time per instruction.
//! Transfers of cache lines, interrupts between CPUs, timers and idle states are in the machine's times, and are equal
//! under all kernels.

use schedlab_workload::library::kernel_path::{FORK_MAPPINGS, FORK_PAGES};
use serde::{Deserialize, Serialize};

use crate::machine::{ByDistance, Costs, Parts};
use crate::time::Ns;

/// Instructions of a kernel's paths, as `schedlab cost` counts them: medians on one CPU, the program's step included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Instructions {
    /// Two readings of the clock, which every other path contains.
    pub none: u32,
    /// `sched_yield()` of a single task.
    #[serde(rename = "yield")]
    pub yielding: u32,
    /// Two processes yield to each other.
    pub yield_round: u32,
    /// `write()` to /dev/null.
    pub write: u32,
    /// A message that a task writes to a pipe and reads.
    pub pipe: u32,
    /// The writing of this message.
    pub pipe_write: u32,
    /// The writing of a message behind another.
    pub pipe_append: u32,
    /// The reading of a message with another behind it.
    pub pipe_take: u32,
    /// As `pipe_write`, and a process that waits for the message is woken, and does not run yet.
    pub pipe_wake: u32,
    /// As `pipe`, over a Unix socket.
    pub unix: u32,
    /// The sending of this message.
    pub unix_send: u32,
    /// As `pipe`, over TCP.
    pub tcp: u32,
    /// As `pipe`, over UDP.
    pub udp: u32,
    /// A message to another process and its answer, over pipes, under the policy batch: no wake-up preempts, and a round has two
    /// switches.
    pub pipe_round: u32,
    /// Two threads wake each other, under the policy batch.
    pub futex_round: u32,
    /// The first write to a page.
    pub page_fault: u32,
    /// A child is forked, exits and is reaped.
    pub fork: u32,
    /// As `fork`, of a process with 4096 more pages in a single mapping.
    pub fork_pages: u32,
    /// As `fork`, of a process with 4096 more pages in 128 mappings.
    pub fork_mappings: u32,
    /// A child is forked, executes a command, exits and is reaped.
    pub exec: u32,
}

/// Instructions of the operations that a cost table has.
struct Operations {
    syscall: i64,
    schedule: i64,
    pipe: i64,
    unix: i64,
    tcp: i64,
    udp: i64,
    /// A wake-up, the sleep before it, and the switch to the woken task.
    wake_and_switch: i64,
    /// The waker's part of a wake-up.
    wakeup: i64,
    futex: i64,
    page_fault: i64,
    /// Fork, exit and wait.
    child: i64,
    exec: i64,
}

impl Instructions {
    fn operations(&self) -> Operations {
        let of = |path: u32| i64::from(path) - i64::from(self.none);
        let syscall = of(self.write);
        let schedule = of(self.yielding) - syscall;
        let each = |path: u32| of(path) / 2 - syscall;
        let pipe = each(self.pipe);
        // Half of a round: a write, a read, and a switch to the task that the write has woken.
        let wake_and_switch = of(self.pipe_round) / 2 - 2 * (syscall + pipe) - schedule;
        // Half of a round: a call that wakes, a call that waits, and the switch.
        let futex = (of(self.futex_round) / 2 - schedule - wake_and_switch) / 2 - syscall;
        Operations {
            syscall,
            schedule,
            pipe,
            unix: each(self.unix),
            tcp: of(self.tcp) - 2 * syscall,
            udp: of(self.udp) - 2 * syscall,
            wake_and_switch,
            wakeup: i64::from(self.pipe_wake) - i64::from(self.pipe_write),
            futex,
            page_fault: of(self.page_fault),
            child: of(self.fork) - wake_and_switch - schedule,
            exec: i64::from(self.exec) - i64::from(self.fork),
        }
    }

    /// Return `costs`, which a machine has under a kernel with the instructions `under`, under a kernel with these
    /// instructions. The difference of a path with several costs is split in the proportions of these costs.
    pub fn costs(&self, under: &Self, costs: &Costs) -> Costs {
        let (new, old) = (self.operations(), under.operations());
        let ns = |new: i64, old: i64| (new - old) * i64::from(costs.instruction_ps) / 1000;
        let mut changed = costs.clone();
        share(&mut [&mut changed.syscall], ns(new.syscall, old.syscall));
        share(&mut [&mut changed.schedule], ns(new.schedule, old.schedule));
        share(&mut [&mut changed.pipe], ns(new.pipe, old.pipe));
        share(&mut [&mut changed.unix], ns(new.unix, old.unix));
        share(&mut [&mut changed.tcp_send, &mut changed.tcp_receive], ns(new.tcp, old.tcp));
        share(&mut [&mut changed.udp_send, &mut changed.udp_receive], ns(new.udp, old.udp));
        share(&mut [&mut changed.futex], ns(new.futex, old.futex));
        share(&mut [&mut changed.page_fault], ns(new.page_fault, old.page_fault));
        let child = &mut [&mut changed.fork, &mut changed.child_start, &mut changed.exit, &mut changed.wait];
        share(child, ns(new.child, old.child));
        share(&mut [&mut changed.exec], ns(new.exec, old.exec));
        let both = ns(new.wake_and_switch, old.wake_and_switch);
        share(&mut [&mut changed.switch, &mut changed.wakeup.core], both);
        let waking = ns(new.wakeup, old.wakeup);
        let ByDistance { core: _, cluster, llc, node, near, far } = &mut changed.wakeup;
        [cluster, llc, node, near, far].into_iter().for_each(|each| share(&mut [each], waking));
        changed
    }

    /// How the parts of messages and of wake-ups share the costs of a machine under this kernel.
    ///
    /// What a round has beside the counted parts is the sleeper's: 714 instructions on 5.10. Under EEVDF the parts, which other
    /// paths contain, are more than the round (docs/exact-cost.md), so that nothing remains for the sleeper.
    pub fn parts(&self, costs: &Costs) -> Parts {
        let of = |path: u32| i64::from(path) - i64::from(self.none);
        let operations = self.operations();
        let ns = |instructions: i64| {
            let ns = instructions * i64::from(costs.instruction_ps) / 1000;
            ns.clamp(-i64::from(i32::MAX), i32::MAX.into()) as i32
        };
        let pipe = |instructions: i64| ns(instructions - operations.syscall - operations.pipe);
        let sending = ns(of(self.unix_send) - of(self.unix) / 2);
        let switch = of(self.yield_round) / 2 - of(self.yielding);
        // A task that waits is charged a system call beside its message's.
        let both = (operations.wake_and_switch - switch - operations.syscall).max(1);
        let sleeper = both - operations.wakeup.clamp(0, both);
        let dequeue = i64::from(costs.wakeup.core) * sleeper / both;
        let ps = |instructions: u64, number: u32| {
            u32::try_from(instructions * u64::from(costs.instruction_ps) / u64::from(number))
                .unwrap_or(u32::MAX)
        };
        let mappings = u64::from(self.fork_mappings.saturating_sub(self.fork_pages));
        let mapping = mappings / u64::from(FORK_MAPPINGS - 1);
        let pages = u64::from(self.fork_pages.saturating_sub(self.fork)).saturating_sub(mapping);
        Parts {
            pipe_write: pipe(of(self.pipe_write)),
            pipe_append: pipe(of(self.pipe_append)),
            pipe_read: pipe(of(self.pipe) - of(self.pipe_write)),
            pipe_take: pipe(of(self.pipe_take)),
            unix_send: sending,
            unix_receive: -sending,
            dequeue: dequeue as u32,
            fork_page_ps: ps(pages, FORK_PAGES),
            fork_mapping_ps: ps(mappings, FORK_MAPPINGS - 1),
        }
    }
}

/// Largest number of instructions of a part of a balancing pass: a thousand times those of a real kernel.
const MOST_INSTRUCTIONS: u32 = 1_000_000;

/// Instructions of a balancing pass over a domain, without those that move tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PassInstructions {
    /// Of each pass.
    pub pass: u32,
    /// Of each group of the domain.
    pub group: u32,
    /// Of each CPU of the domain.
    pub cpu: u32,
    /// Of a call that leaves the pass to another CPU of the group (`should_we_balance()`); 0 under the policy o1.
    pub declined: u32,
    /// Of each CPU that such a call examines.
    pub declined_cpu: u32,
}

impl PassInstructions {
    /// Check the range of the numbers.
    pub(super) fn check(self) -> Result<(), String> {
        match self.pass.max(self.group).max(self.cpu).max(self.declined).max(self.declined_cpu) {
            most if most > MOST_INSTRUCTIONS => {
                Err(format!("balance_pass: {most} instructions are more than {MOST_INSTRUCTIONS}"))
            }
            _ => Ok(()),
        }
    }

    /// Time of a pass over this many groups and CPUs on a machine, without waits for cache lines.
    pub(crate) fn ns(self, costs: &Costs, groups: usize, cpus: usize) -> Ns {
        let instructions =
            u64::from(self.pass) + groups as u64 * u64::from(self.group) + cpus as u64 * u64::from(self.cpu);
        instructions * u64::from(costs.instruction_ps) / 1000
    }

    /// Time of a call that leaves the pass to another CPU after examining this many CPUs.
    pub(crate) fn declined_ns(self, costs: &Costs, cpus: usize) -> Ns {
        let instructions = u64::from(self.declined) + cpus as u64 * u64::from(self.declined_cpu);
        instructions * u64::from(costs.instruction_ps) / 1000
    }
}

/// Add `ns` to a sum of costs, in their proportions. No cost becomes negative.
fn share(parts: &mut [&mut u32], ns: i64) {
    let sum: i64 = parts.iter().map(|part| i64::from(**part)).sum();
    if sum == 0 {
        return;
    }
    for part in parts.iter_mut() {
        let cost = i64::from(**part);
        **part = (cost + ns * cost / sum).clamp(0, u32::MAX.into()) as u32;
    }
}

#[cfg(test)]
#[path = "../../tests/unit/kernel/instructions.rs"]
mod tests;

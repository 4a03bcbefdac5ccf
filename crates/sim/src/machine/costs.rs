//! Costs of operations on a machine, in nanoseconds.

use schedlab_workload::program::ChannelKind;
use serde::{Deserialize, Serialize};

use super::ByDistance;
use crate::time::Ns;

/// Size of a cache line in bytes.
pub(crate) const LINE: u64 = 64;

/// Cache lines in 1 KiB.
const LINES_OF_KIB: u64 = 1024 / LINE;

/// Size of a page of a pipe in bytes.
pub(crate) const PIPE_PAGE: u64 = 4096;

/// Random misses that a core has in flight: the meaning of `random_percent` in the machine files.
pub(crate) const MISSES_IN_FLIGHT: Ns = 5;

/// Cost table of a machine. All times in nanoseconds, sizes in KiB, rates in MiB/s.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Costs {
    /// Picoseconds of an instruction of the kernel, stalls included.
    pub instruction_ps: u32,
    /// Instructions that the core executes behind one that waits for a cache line: the size of its reorder buffer. 0: none.
    #[serde(default)]
    pub window: u32,
    /// Entering and leaving the kernel.
    pub syscall: u32,
    /// Half the width, in per mille, of the uniform distribution around 1 by which the time of a system call's work varies.
    #[serde(default)]
    pub syscall_spread: u32,
    /// Reading the clock from user space.
    pub clock_read: u32,
    /// An atomic operation on a line of this core.
    pub atomic: u32,
    /// Picking the next task to run.
    pub schedule: u32,
    /// Switching from one task to another, with registers and address space, caches warm.
    pub switch: u32,
    /// Refilling the TLB after a switch to an address space that none of the CPU's last six is: translations of other address
    /// spaces stay. 0 where the TLB distinguishes many.
    #[serde(default)]
    pub tlb_refill: u32,
    /// Making a task runnable, by the distance from the waking CPU to the task's runqueue. On the same core with what the task's
    /// sleep took: [`Parts::dequeue`].
    pub wakeup: ByDistance,
    /// Fetching the lines of a runqueue and of its tasks from the CPU that used the runqueue last, by the distance of that CPU: when a
    /// CPU queues a task on another CPU, and when the other CPU then schedules. Balancing and pushes of real-time tasks do not count
    /// as uses. 0: a part of `wakeup`.
    #[serde(default)]
    pub runqueue: ByDistance,
    /// Time from the sending of an IPI to its arrival.
    pub ipi: ByDistance,
    /// Time that sending an IPI takes on the sender's CPU: on a virtual machine an exit to the hypervisor. 0 where an
    /// interrupt controller does the work.
    #[serde(default)]
    pub ipi_send: u32,
    /// Handling an IPI.
    pub ipi_handler: u32,
    /// The scheduler tick.
    pub tick: u32,
    /// A timer interrupt that wakes a task.
    pub timer_irq: u32,
    /// Taking over a contended or remote runqueue lock, by distance.
    pub lock_handoff: ByDistance,
    /// Hold time of a runqueue lock by a wake-up or a pull.
    pub lock_hold: u32,
    /// Checking one CPU in the search for an idle CPU.
    pub idle_scan_cpu: u32,
    /// Moving one task in a balancing pass.
    pub balance_move: u32,
    /// Sequential fetch of 1 KiB into the core's private caches, by the distance of its source.
    pub refill_kib: ByDistance,
    /// Cost of random accesses in percent of sequential accesses: there is no prefetching.
    pub random_percent: u32,
    /// Latency of one cache line from the last-level cache. 0: half of `line` of a core under this cache.
    #[serde(default)]
    pub llc_line: u32,
    /// Walking 1 KiB in the private caches.
    pub touch_kib: u32,
    /// Fetching a cache line that another CPU has written.
    pub line: ByDistance,
    /// Part of the time of `line`, in per mille, that each further line takes if the addresses do not depend on each other.
    /// 0: 200, as on Haswell-EP.
    #[serde(default)]
    pub next_line_permille: u32,
    /// Throughput of a CPU whose SMT sibling is busy, in percent of its throughput with an idle sibling.
    pub smt_percent: u32,
    /// Rate at which the memory of a node serves requests. All CPUs of the node together reach 5 to 10 % less.
    pub node_bandwidth_mib: u32,
    /// First touch of a page: fault, clearing, page table.
    pub page_fault: u32,
    /// First touch of a page of memory that processes share, which also enters the page cache. 0: as long as `page_fault`.
    #[serde(default)]
    pub shared_fault: u32,
    /// A NUMA hinting fault.
    pub hinting_fault: u32,
    /// Marking 1 MiB of page table entries.
    pub scan_mib: u32,
    /// Copying a page of 4 KiB to another node, with unmapping and remapping.
    pub page_migrate: u32,
    /// Updating a counter line of virtual memory's statistics that this CPU wrote last.
    pub stats_local: u32,
    /// Updating a counter line of virtual memory's statistics that another CPU wrote last.
    pub stats_remote: u32,
    /// Folding a CPU's counter differentials.
    pub vmstat_fold: u32,
    /// `fork` in the parent, without the wake-up.
    pub fork: u32,
    /// Beginning of a forked process before its program's first operation: faults on the pages that it shares with its parent, and
    /// what `schedload` prepares. 0: a part of `exit`.
    #[serde(default)]
    pub child_start: u32,
    /// Further time of `child_start` on another CPU than the parent's, whose caches have the parent's memory and page tables.
    #[serde(default)]
    pub child_start_remote: ByDistance,
    /// `clone` of a thread in the parent.
    pub clone: u32,
    /// `exec` of a small binary.
    pub exec: u32,
    /// Exit of a process.
    pub exit: u32,
    /// Exit of a thread.
    pub exit_thread: u32,
    /// Waiting for a child that has ended.
    pub wait: u32,
    /// A futex call, without the wake-up.
    pub futex: u32,
    /// `nanosleep`, without the switch.
    pub nanosleep: u32,
    /// Copying 1 KiB between user space and kernel, caches warm.
    pub copy_kib: u32,
    /// Sending 1 KiB over a Unix socket: the copy, and the memory of the message. 0: as long as `copy_kib`.
    #[serde(default)]
    pub unix_kib: u32,
    /// Sending 1 KiB over TCP. 0: as long as `copy_kib`.
    #[serde(default)]
    pub tcp_kib: u32,
    /// Sending 1 KiB over UDP. 0: as long as `copy_kib`.
    #[serde(default)]
    pub udp_kib: u32,
    /// Read or write of a pipe, without the system call and the copy.
    pub pipe: u32,
    /// Allocating, or freeing, a page of a pipe beyond the page that the pipe keeps.
    #[serde(default)]
    pub pipe_page: u32,
    /// Read or write of a Unix socket, without the system call and the copy.
    pub unix: u32,
    /// A TCP send over loopback, with the softirq's work up to the receiver's queue.
    pub tcp_send: u32,
    /// A TCP receive.
    pub tcp_receive: u32,
    /// A TCP segment without data over loopback, with the softirq's work. 0: as long as `tcp_send`, which takes the same way.
    #[serde(default)]
    pub tcp_ack: u32,
    /// Bytes that TCP appends to the bytes that it holds back. 0: as long as `pipe`.
    #[serde(default)]
    pub tcp_append: u32,
    /// A UDP send over loopback, with the softirq's work.
    pub udp_send: u32,
    /// A UDP receive.
    pub udp_receive: u32,
    /// Waiting for a message at a TCP or UDP socket, beyond the system call and the switch, for a task that waits or that has
    /// been preempted since its last message. On one CPU of a Xeon (Linux 6.18) a round of two tasks over UDP took 7.1 µs if
    /// both wait (SCHED_BATCH) and 0.28 µs less if one of the waits is a preemption instead; over TCP 8.2 and 0.07 µs less;
    /// over pipes, which have no such cost, 3.6 and 0.25 µs less. So preemption saves a wake-up, but not the 0.4 to 0.7 µs by
    /// which each message in such a round took longer than one that a task sends to itself. The reason is unknown.
    #[serde(default)]
    pub inet_wait: u32,
    /// Private footprint of a task in KiB that the program does not describe: stack, code, kernel structures.
    pub footprint_kib: u32,
    /// What the kernel's instructions say about the parts of these costs.
    #[serde(skip)]
    pub parts: Parts,
}

/// How the parts of messages and of wake-ups share costs of the table, in ns. The parts of messages are differences from the table's
/// cost of a write or a read. Also what inherited memory adds to a fork.
///
/// CFS and EEVDF charge each task its parts, and the sums decide how often a reader preempts the writer that wakes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Parts {
    /// Writing to an empty pipe.
    pub pipe_write: i32,
    /// Writing to a pipe with bytes.
    pub pipe_append: i32,
    /// Reading the last bytes of a pipe.
    pub pipe_read: i32,
    /// Reading bytes of a pipe that leaves other bytes.
    pub pipe_take: i32,
    /// Sending over a Unix socket.
    pub unix_send: i32,
    /// Receiving over a Unix socket.
    pub unix_receive: i32,
    /// Taking a task that waits off its queue: a part of `wakeup.core`, charged to the next task and not to the waker.
    pub dequeue: u32,
    /// Copying a page's entry in a fork and freeing it in the child's exit, in picoseconds.
    pub fork_page_ps: u32,
    /// As `fork_page_ps`, for a mapping without its pages.
    pub fork_mapping_ps: u32,
}

/// Instructions of a kernel from one atomic operation to the next, between two CPUs that exchange messages over pipes
/// (docs/exact-cost.md, schedstats between two CPUs); 298 over TCP.
const ATOMIC_DISTANCE: u32 = 210;

/// Part of a line's time for each further line, in per mille. D. Molka, D. Hackenberg, R. Schöne, W. Nagel, ICPP 2015:
/// reading in sequence is as fast as five misses in flight at the latency that they measured on Haswell-EP.
const NEXT_LINE_PERMILLE: u32 = 200;

impl Costs {
    /// Time that a fetch of `line_ns` adds to `before` ns of fetches with independent addresses.
    #[inline]
    pub(crate) fn next_line(&self, before: Ns, line_ns: Ns) -> Ns {
        if before == 0 { line_ns } else { self.further_lines(1, line_ns) }
    }

    /// Time to fetch `lines` cache lines behind another, with independent addresses.
    #[inline]
    pub(crate) fn further_lines(&self, lines: u64, line_ns: Ns) -> Ns {
        let permille = if self.next_line_permille > 0 { self.next_line_permille } else { NEXT_LINE_PERMILLE };
        lines * line_ns * Ns::from(permille) / 1000
    }

    /// Time to fetch `lines` cache lines that another CPU has written, with independent addresses, at `line_ns` for a single
    /// line.
    #[inline]
    pub(crate) fn overlapped_lines(&self, lines: u64, line_ns: Ns) -> Ns {
        match lines {
            0 => 0,
            lines => line_ns + self.further_lines(lines - 1, line_ns),
        }
    }

    /// Latency of one cache line from the last-level cache. A line that another core has modified takes about twice as long on the
    /// three shipped machines whose sources have both latencies.
    #[inline]
    pub(crate) fn llc_line(&self) -> Ns {
        Ns::from(if self.llc_line > 0 { self.llc_line } else { self.line.llc / 2 })
    }

    /// Time to fetch cache lines from the last-level cache into the core's private caches: `sequential` lines in a row, and
    /// `dependent` lines of which each is known only when the line before has arrived.
    #[inline]
    pub(crate) fn refill_lines(&self, sequential: u64, dependent: u64) -> Ns {
        let row = sequential * Ns::from(self.refill_kib.llc) / LINES_OF_KIB;
        // The longest extra time of a segment. Its products with sizes of caches do not overflow.
        (row + dependent * self.llc_line()).min(u32::MAX.into())
    }

    /// Copying `bytes` of a received message to user space.
    #[inline]
    pub(crate) fn copying(&self, bytes: u64) -> Ns {
        bytes * Ns::from(self.copy_kib) / 1024
    }

    /// Copying `bytes` of a message into the kernel, with the memory of a socket's message.
    #[inline]
    pub(crate) fn sending(&self, kind: ChannelKind, bytes: u64) -> Ns {
        let kib = match kind {
            ChannelKind::Pipe => 0,
            ChannelKind::Unix => self.unix_kib,
            ChannelKind::Tcp => self.tcp_kib,
            ChannelKind::Udp => self.udp_kib,
        };
        bytes * Ns::from(if kib > 0 { kib } else { self.copy_kib }) / 1024
    }

    /// Waiting for a message, beyond the system call and the switch.
    #[inline]
    pub(crate) fn waiting(&self, kind: ChannelKind) -> u32 {
        match kind {
            ChannelKind::Pipe | ChannelKind::Unix => 0,
            ChannelKind::Tcp | ChannelKind::Udp => self.inet_wait,
        }
    }

    /// Allocating or freeing the pages of a pipe's message of `bytes`, except `spare` pages that the pipe keeps. Messages that wait
    /// together have more pages than the pipe keeps; the model does not charge these.
    #[inline]
    pub(crate) fn pipe_pages(&self, kind: ChannelKind, bytes: u64, spare: u8) -> Ns {
        let pages = if kind == ChannelKind::Pipe { bytes.div_ceil(PIPE_PAGE) } else { 0 };
        pages.saturating_sub(spare.into()) * Ns::from(self.pipe_page)
    }

    /// The part of a wait for the line of a counter, whose new value no instruction needs, for which the core stands still. The core goes on
    /// until its reorder buffer is full (S. Eyerman and others, "A mechanistic performance model for superscalar out-of-order
    /// processors", ACM TOCS 27, 2009), or up to its next atomic operation, which waits for all earlier loads and stores. Atomic operations
    /// are [`ATOMIC_DISTANCE`] instructions apart, and the counter is anywhere between two.
    pub fn counter_wait(&self, wait: Ns) -> Ns {
        let instructions = |number: u32| u64::from(number) * u64::from(self.instruction_ps) / 1000;
        let distance = instructions(ATOMIC_DISTANCE).max(1);
        let hidden = instructions(self.window).min(wait).min(distance);
        // The mean over all places of what is hidden: the way to the atomic operation, at most `hidden`.
        wait - (hidden - hidden * hidden / (2 * distance))
    }

    /// First touch of a page of shared memory.
    pub fn shared_fault(&self) -> u32 {
        if self.shared_fault > 0 { self.shared_fault } else { self.page_fault }
    }

    /// Name of the first cost above `most`.
    pub(super) fn beyond(&self, most: u32) -> Option<String> {
        fn exceeds(value: &toml::Value, most: i64) -> bool {
            match value {
                toml::Value::Table(parts) => parts.values().any(|part| exceeds(part, most)),
                other => other.as_integer().is_some_and(|number| number > most),
            }
        }
        let costs = toml::Table::try_from(self).expect("a struct of numbers is a table");
        costs.iter().find(|(_, value)| exceeds(value, most.into())).map(|(name, _)| name.clone())
    }
}

#[cfg(test)]
#[path = "../../tests/unit/machine/costs.rs"]
mod tests;

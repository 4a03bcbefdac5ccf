//! Cache lines of messages: queues, descriptors and bytes move between cores, or come back from the last-level cache.

use schedlab_workload::program::ChannelKind;

use crate::balance::KernelPolicy;
use crate::engine::Engine;
use crate::machine::{Distance, LINE};
use crate::observe::Observer;
use crate::tasks::Flow;
use crate::tasks::runs::Freed;
use crate::time::Ns;

/// Lines of a queue that a writer and a reader on different CPUs take from each other for each message.
const QUEUE_LINES: u64 = 2;

/// Further lines of sockets for which a core waits: of a writer that finds an empty queue, and of a reader that empties the queue.
///
/// Beyond a message of a pipe and its descriptors (`descriptor_lines`). On two CPUs of a Xeon of the fifth generation, whose lines move in
/// 65 ns, a message of 4 bytes takes longer to write and to read than a pipe's by 0.15 and 0.92 µs over a Unix socket, 1.34 and 0.42 µs
/// over TCP, 0.48 and 0.20 µs over UDP: 16, 27 and 10 lines. The sums are the measured ones, five on each side being descriptors over Unix
/// sockets and UDP; in the measurement more of Unix's lines are the reader's, and more of UDP's the writer's. Debian's 6.12 moves 14,
/// 67 and 18.5 more lines than for a pipe's message (docs/exact-cost.md); a core does not wait for all lines of TCP, because it overlaps
/// reads and stores.
const fn socket_lines(kind: ChannelKind) -> (u64, u64) {
    match kind {
        ChannelKind::Pipe | ChannelKind::Udp => (0, 0),
        ChannelKind::Unix => (0, 6),
        ChannelKind::Tcp => (21, 6),
    }
}

/// Lines of a queue that a writer fetches after another CPU's write. On two CPUs of a Xeon of the fifth generation, whose lines move in
/// 61 ns, writes of 100 bytes of two CPUs to the same twenty pipes at once take 300 ns longer than to pipes of their own, and to the
/// same Unix sockets 400 ns, waiting for locks included. Not measured for TCP and UDP.
const fn writer_lines(kind: ChannelKind) -> u64 {
    match kind {
        ChannelKind::Pipe => 5,
        ChannelKind::Unix => 7,
        ChannelKind::Tcp | ChannelKind::Udp => 0,
    }
}

/// Lines of a Unix or UDP message in addition to its bytes, each in another place: three of `struct sk_buff`, one of
/// `struct skb_shared_info`, and the link of free objects. Debian's 6.12 without `init_on_alloc` fetches 13.1 lines for a
/// message of 100 bytes over a Unix socket that is written, leaves the private caches and is read (`schedlab cost --path
/// unix-queue:100 --cache xeon-e5-2670v3`, docs/exact-cost.md): on each side about these five and the two lines of the bytes. TCP's
/// segments have them too. The model leaves them out, but for [`socket_lines`], because a segment of a stream has many messages.
const fn descriptor_lines(kind: ChannelKind) -> u64 {
    match kind {
        ChannelKind::Pipe | ChannelKind::Tcp => 0,
        ChannelKind::Unix | ChannelKind::Udp => 5,
    }
}

impl<P: KernelPolicy, O: Observer> Engine<'_, P, O> {
    /// Time to fetch the memory for the part of `bytes` that has room into the sender's caches: what a reader on another core has
    /// read and freed since the previous message, or what the core's messages have evicted. The queue's lines come from the core
    /// that used the queue last.
    #[inline]
    pub(super) fn fetch_buffers(&mut self, cpu: usize, at: usize, bytes: u64) -> Ns {
        let flow = &self.program.flows[at];
        let (kind, bytes, empty) = (flow.kind, flow.room(bytes), !flow.ready());
        let queue = match flow.last_writer() {
            Some(writer) if writer != cpu => self.fetch_lines(writer, cpu, writer_lines(kind)),
            _ => 0,
        };
        let Freed { cpu: reader, read, bytes: reused } = self.program.flows[at].freed.reuse(bytes);
        let taken = read || reused > 0;
        let distance = if taken { self.topology.distance(cpu, reader.into()) } else { Distance::Core };
        if distance == Distance::Core {
            let refill = || self.refill(kind, bytes);
            return queue + self.physics.written.fetch_last(self.topology.core(cpu), refill);
        }
        let mut lines = if read { QUEUE_LINES } else { 0 };
        if read && empty {
            lines += socket_lines(kind).0;
        }
        queue + self.transfer(kind, distance, lines, reused)
    }

    /// Time to fetch a message from the caches of a CPU at a distance. The reader takes `readable` bytes and copies `copied` bytes.
    #[inline]
    pub(super) fn fetch_message(&self, flow: &Flow, distance: Distance, readable: u64, copied: u64) -> Ns {
        let socket = if readable == flow.bytes { socket_lines(flow.kind).1 } else { 0 };
        self.transfer(flow.kind, distance, QUEUE_LINES + socket, copied)
    }

    /// Time to fetch `lines` lines, and the memory of a message of `bytes` bytes, that a CPU at a distance has used last.
    #[inline]
    fn transfer(&self, kind: ChannelKind, distance: Distance, lines: u64, bytes: u64) -> Ns {
        let line = self.costs.line.at(distance);
        let descriptors = if bytes > 0 { descriptor_lines(kind) } else { 0 };
        (lines + descriptors) * line + self.costs.overlapped_lines(bytes.div_ceil(LINE), line)
    }

    /// Time to fetch the memory of a message of `bytes` bytes that the core's caches have lost.
    #[inline]
    pub(super) fn refill(&self, kind: ChannelKind, bytes: u64) -> Ns {
        self.costs.refill_lines(bytes.div_ceil(LINE), descriptor_lines(kind))
    }
}

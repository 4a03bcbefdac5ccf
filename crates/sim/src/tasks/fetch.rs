//! Cache lines of messages: queues, descriptors and bytes move between cores, or come back from the last-level cache.

use schedlab_workload::program::ChannelKind;

use crate::balance::KernelPolicy;
use crate::engine::Engine;
use crate::machine::{Distance, LINE};
use crate::observe::Observer;
use crate::tasks::runs::Freed;
use crate::time::Ns;

/// Cache lines that a message needs in addition to its bytes: the queue's head and tail, and the buffer's descriptor.
const BOOKKEEPING_LINES: u64 = 2;

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
/// segments have them too, which the model leaves out because a segment of a stream has many messages.
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
        let (kind, bytes) = (flow.kind, flow.room(bytes));
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
        queue + self.transfer(kind, distance, read, reused)
    }

    /// Time to fetch the memory of a message of `bytes` bytes that a CPU at a distance has used last, and the lines of the queue if
    /// `queue`.
    #[inline]
    pub(super) fn transfer(&self, kind: ChannelKind, distance: Distance, queue: bool, bytes: u64) -> Ns {
        let line = self.costs.line.at(distance);
        let bookkeeping = if queue { BOOKKEEPING_LINES } else { 0 };
        let descriptors = if bytes > 0 { descriptor_lines(kind) } else { 0 };
        (bookkeeping + descriptors) * line + self.costs.overlapped_lines(bytes.div_ceil(LINE), line)
    }

    /// Time to fetch the memory of a message of `bytes` bytes that the core's caches have lost.
    #[inline]
    pub(super) fn refill(&self, kind: ChannelKind, bytes: u64) -> Ns {
        self.costs.refill_lines(bytes.div_ceil(LINE), descriptor_lines(kind))
    }
}

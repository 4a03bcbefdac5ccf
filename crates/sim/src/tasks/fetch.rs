//! Cache lines of messages: queues, descriptors and bytes move between cores, or come back from the last-level cache.

use schedlab_workload::program::ChannelKind;

use crate::balance::KernelPolicy;
use crate::engine::Engine;
use crate::machine::{Distance, LINE};
use crate::observe::Observer;
use crate::physics::Waiting;
use crate::tasks::Flow;
use crate::tasks::channel::QueueUser;
use crate::tasks::runs::Freed;
use crate::time::Ns;

/// Lines of a queue that a CPU takes from the CPU that has written or read last: once for the messages that it writes or reads one after
/// the other.
///
/// On two CPUs of a Xeon of the fifth generation, whose lines move in 62 ns, a message of 100 bytes in a pipe takes 0.22 µs longer to
/// write and 0.25 µs longer to read if the other CPU reads or writes each message in turn. The lines of the message itself take about 0.07 µs
/// of this. In batches of 16 a message takes 0.09 and 0.04 µs longer, in batches of 240 0.02 µs and nothing.
pub(super) const QUEUE_LINES: u64 = 2;

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
    /// Time to fetch the memory for `bytes`, the part that has room, into the sender's caches: what a reader on another core has
    /// read and freed since the previous message, or what the core's messages have evicted. The queue's lines come from the core
    /// that used the queue last.
    #[inline]
    pub(super) fn fetch_buffers(&mut self, cpu: usize, at: usize, bytes: u64) -> Ns {
        let flow = &mut self.program.flows[at];
        let (kind, empty) = (flow.kind, !flow.ready());
        let queue = match flow.note_writer(cpu) {
            Some(QueueUser::Writer(writer)) => self.fetch_lines(writer.into(), cpu, writer_lines(kind)),
            Some(QueueUser::Reader(reader)) => {
                let socket = if empty { socket_lines(kind).0 } else { 0 };
                self.fetch_lines(reader.into(), cpu, QUEUE_LINES + socket)
            }
            None => 0,
        };
        let Freed { cpu: reader, bytes: reused } = self.program.flows[at].freed.reuse(bytes);
        let distance = if reused > 0 { self.topology.distance(cpu, reader.into()) } else { Distance::Core };
        if distance == Distance::Core {
            let refill = || self.refill(kind, bytes);
            return queue + self.physics.written.fetch_last(self.topology.core(cpu), refill);
        }
        let line = self.costs.line.at(distance);
        queue + descriptor_lines(kind) * line + self.costs.overlapped_lines(reused.div_ceil(LINE), line)
    }

    /// Time to fetch a message from the caches of the CPU that wrote the message. The reader takes `readable` bytes and copies `copied`
    /// bytes. The queue's lines come from the core that used the queue last.
    #[inline]
    pub(super) fn fetch_message(
        &self,
        cpu: usize,
        flow: &Flow,
        (writer, message): (usize, &Waiting),
        readable: u64,
        copied: u64,
    ) -> Ns {
        let kind = flow.kind;
        let user = match flow.last_user() {
            // TCP's sender and its receiver use more of each other's lines than a queue's, for each message of a batch.
            Some(_) if kind == ChannelKind::Tcp => writer,
            Some(QueueUser::Writer(user) | QueueUser::Reader(user)) => user.into(),
            None => cpu,
        };
        let queue = self.fetch_lines(user, cpu, QUEUE_LINES);
        let distance = self.topology.distance(cpu, writer);
        if distance == Distance::Core {
            let refill = || self.refill(kind, copied);
            return queue + self.physics.written.fetch(self.topology.core(cpu), message, refill);
        }
        let line = self.costs.line.at(distance);
        let socket = if readable == flow.bytes { socket_lines(kind).1 } else { 0 };
        let descriptors = if copied > 0 { descriptor_lines(kind) } else { 0 };
        // The messages of a pipe are one behind the other, so that a core that has read the one fetches the lines of the next ahead.
        let ahead = kind == ChannelKind::Pipe
            && matches!(flow.last_user(), Some(QueueUser::Reader(user)) if self.topology.distance(cpu, user.into()) == Distance::Core);
        let lines = copied.div_ceil(LINE);
        let bytes = if ahead {
            self.costs.further_lines(lines, line)
        } else {
            self.costs.overlapped_lines(lines, line)
        };
        queue + (socket + descriptors) * line + bytes
    }

    /// Time to fetch the memory of a message of `bytes` bytes that the core's caches have lost.
    #[inline]
    pub(super) fn refill(&self, kind: ChannelKind, bytes: u64) -> Ns {
        self.costs.refill_lines(bytes.div_ceil(LINE), descriptor_lines(kind))
    }
}

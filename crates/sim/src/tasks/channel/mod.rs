//! One direction of a channel: bytes in flight, and the tasks that wait to read or to write.

mod held;

use schedlab_workload::program::{ChannelKind, Direction, Take};

use crate::kernel::PipeWakeups;
use crate::machine::PIPE_PAGE;
use crate::physics::Waiting;
use crate::tasks::WaitQueue;
use crate::tasks::buffers::Buffers;
use crate::tasks::mutex::Mutex;
use crate::tasks::pages::Pages;
use crate::tasks::runs::{Freed, Runs};
use crate::tasks::tcp::Tcp;

/// Send buffer of a Unix socket and receive buffer of a UDP socket (`net.core.wmem_default`, `rmem_default`).
const SOCKET_BYTES: u64 = 212_992;

/// Least receive buffer of a UDP socket (`SOCK_MIN_RCVBUF`, include/net/sock.h).
const LEAST_DATAGRAMS: u64 = 2304;

/// Space of a small message in a socket's buffer: the kernel's structures around at least 512 bytes (`SKB_TRUESIZE`:
/// 512 + 256 + 320, rounded up to the slab cache's size; 768 for the smallest).
const SOCKET_LEAST: u64 = 768;
const SOCKET_AROUND: u64 = 576;

/// A Unix socket splits messages above this size.
const LARGEST_WHOLE: u64 = 32_768;

/// Bytes in flight over a loopback TCP connection before the sender waits: the maximum to which the kernel enlarges the send
/// buffer of a connection that fills it (`net.ipv4.tcp_wmem`, tcp(7)).
const TCP_BYTES: u64 = 4 << 20;

/// Largest segment of the loopback device: its MTU of 65 536 bytes less the headers of IPv4 and of TCP with time stamps.
const TCP_SEGMENT: u64 = 65_484;

/// A CPU that has used the queue of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum QueueUser {
    Writer(u16),
    Reader(u16),
}

/// What limits the bytes in flight.
#[derive(Debug, Clone)]
enum Memory {
    /// A limit of the sum of their sizes.
    Sum,
    /// The pages of a pipe, and its mutex.
    Pages(Box<(Pages, Mutex)>),
    /// Buffers of a connection whose sizes the program has set.
    Buffers(Box<Buffers>),
}

/// One direction of a channel.
#[derive(Debug, Clone)]
pub(crate) struct Flow {
    pub kind: ChannelKind,
    runs: Runs,
    capacity: u64,
    memory: Memory,
    /// Readable bytes, and capacity in use.
    pub bytes: u64,
    used: u64,
    /// Most bytes of small messages that the sender's TCP holds back, a segment; 0 for other kinds and with `TCP_NODELAY`.
    most_held: u64,
    /// State of TCP between the sender and the receiver.
    pub tcp: Tcp,
    /// Bytes that the sender's TCP has not sent yet, and the CPU that wrote the last of these bytes.
    held: u64,
    held_cpu: u16,
    /// CPU that has written or read last. Its caches have the queue's lines.
    last_user: Option<QueueUser>,
    pub freed: Freed,
    pub readers: WaitQueue,
    /// How the last reader that waited waits. All readers of a flow are taken to wait alike.
    pub waits: Take,
    pub writers: WaitQueue,
    /// Tasks that can still send or receive.
    pub senders: u32,
    pub receivers: u32,
}

impl Flow {
    /// Size of a queue that is full of small messages, in a buffer of the next power of two: 278 of a Unix socket; up to 640 of
    /// 100 bytes in a pipe, if the writers are on different CPUs.
    pub fn queue_bytes(kind: ChannelKind) -> u64 {
        let messages = if kind == ChannelKind::Pipe { 1024 } else { 512 };
        messages * Runs::EACH_BYTES
    }

    /// An empty flow. `no_delay`: TCP sends small segments at once; `buffer`: the program's size of the sockets' buffers, which
    /// the kernel doubles (socket(7)).
    pub fn new(kind: ChannelKind, no_delay: bool, buffer: Option<u32>) -> Self {
        let capacity = match (kind, buffer) {
            (ChannelKind::Pipe, _) => Pages::BYTES,
            (ChannelKind::Udp, Some(bytes)) => (2 * u64::from(bytes)).max(LEAST_DATAGRAMS),
            (ChannelKind::Unix | ChannelKind::Udp, _) => SOCKET_BYTES,
            (ChannelKind::Tcp, _) => TCP_BYTES,
        };
        let memory = match (kind, buffer) {
            (ChannelKind::Pipe, _) => Memory::Pages(Box::default()),
            (ChannelKind::Tcp, Some(bytes)) => Memory::Buffers(Box::new(Buffers::new(bytes))),
            _ => Memory::Sum,
        };
        Self {
            kind,
            memory,
            capacity,
            runs: Runs::default(),
            bytes: 0,
            used: 0,
            most_held: if kind == ChannelKind::Tcp && !no_delay { TCP_SEGMENT } else { 0 },
            tcp: Tcp::default(),
            held: 0,
            held_cpu: 0,
            last_user: None,
            freed: Freed::default(),
            readers: WaitQueue::default(),
            waits: Take::Read,
            writers: WaitQueue::default(),
            senders: 0,
            receivers: 0,
        }
    }

    /// Index of a channel's flow in a direction.
    #[inline]
    pub fn at(channel: u32, direction: Direction) -> usize {
        channel as usize * 2 + usize::from(direction == Direction::Backward)
    }

    /// Both flows of a channel, forward and backward.
    pub fn both(flows: &mut [Self], channel: u32) -> [&mut Self; 2] {
        let (forward, backward) = flows[channel as usize * 2..].split_at_mut(1);
        [&mut forward[0], &mut backward[0]]
    }

    /// Capacity that a message of `bytes` bytes occupies.
    #[inline]
    pub fn charge(&self, bytes: u64) -> u64 {
        match self.kind {
            ChannelKind::Pipe | ChannelKind::Tcp => bytes,
            ChannelKind::Unix | ChannelKind::Udp => (bytes + SOCKET_AROUND).max(SOCKET_LEAST),
        }
    }

    /// Part of `bytes` that can be written now. A datagram is always written completely, and may be lost. `waited`: the sender has
    /// waited for room in this call.
    #[inline]
    pub fn room(&self, bytes: u64, waited: bool) -> u64 {
        match &self.memory {
            Memory::Pages(pipe) => pipe.0.room(bytes, waited),
            // Fast path: a message that no kind splits, and that fits.
            Memory::Sum if bytes <= LARGEST_WHOLE && self.used + bytes <= self.capacity => bytes,
            Memory::Sum => self.room_when_scarce(bytes),
            Memory::Buffers(buffers) => buffers.room(self.held, bytes),
        }
    }

    #[inline(never)]
    fn room_when_scarce(&self, bytes: u64) -> u64 {
        let free = self.capacity.saturating_sub(self.used);
        match self.kind {
            ChannelKind::Udp => bytes,
            // A socket accepts a complete message as long as its limit is not reached. Large messages are split.
            ChannelKind::Unix if free == 0 => 0,
            ChannelKind::Unix => bytes.min(LARGEST_WHOLE),
            ChannelKind::Pipe | ChannelKind::Tcp => bytes.min(free),
        }
    }

    /// Write `bytes`, a part of the rest of a message if `partial`, from a CPU after the bytes that were held back; return `false`
    /// if a datagram is lost. A sender that waits for room sends small segments at once. `waited` as for [`Flow::room`].
    pub fn push(&mut self, bytes: u64, partial: bool, cpu: usize, waited: bool) -> bool {
        if let Memory::Buffers(buffers) = &mut self.memory {
            buffers.write(self.held, bytes);
            self.held += bytes;
            self.held_cpu = cpu as u16;
            self.transmit(partial);
            return true;
        }
        debug_assert!(bytes <= self.room(bytes, waited), "only bytes that fit are written");
        if let Memory::Pages(pipe) = &mut self.memory {
            pipe.0.write(bytes, waited);
        }
        let charge = self.charge(bytes);
        if self.kind == ChannelKind::Udp && self.used + charge > self.capacity {
            return false;
        }
        // Held bytes and new bytes share segments.
        let held = std::mem::take(&mut self.held);
        self.used += charge;
        self.append(held + bytes, held + charge, cpu);
        true
    }

    /// Make `bytes` readable that a CPU has written, and that occupy `charge` of the capacity in use.
    fn append(&mut self, bytes: u64, charge: u64, cpu: usize) {
        self.bytes += bytes;
        if self.kind == ChannelKind::Tcp {
            self.tcp.sent(bytes, self.most_held);
        }
        if self.streams() {
            self.runs.extend(cpu as u16, bytes, charge);
        } else {
            self.runs.push(cpu as u16, bytes, charge);
        }
    }

    /// Whether the program has set the sizes of the connection's buffers. A sender that finds no room then still sends what the
    /// window allows.
    #[inline]
    pub fn is_limited(&self) -> bool {
        matches!(self.memory, Memory::Buffers(_))
    }

    /// Whether the queue has the bytes of several writes together, and each read frees the capacity of its bytes.
    fn streams(&self) -> bool {
        matches!(self.kind, ChannelKind::Pipe | ChannelKind::Tcp) && !self.is_limited()
    }

    /// Bytes that a read of at most `bytes` would take now.
    #[inline]
    pub fn readable(&self, bytes: u64) -> u64 {
        match self.kind {
            ChannelKind::Udp => bytes.min(self.runs.first_bytes()),
            _ => self.bytes.min(bytes),
        }
    }

    /// Whether a read returns at once: there are bytes, or a datagram, which may be empty.
    #[inline]
    pub fn ready(&self) -> bool {
        !self.runs.is_empty()
    }

    /// CPU that wrote the next `bytes` bytes to be read, and the message in the caches of this CPU's core.
    #[inline]
    pub fn front(&self, bytes: u64) -> Option<(usize, Waiting)> {
        self.runs.front(bytes, self.charge(bytes))
    }

    /// Note what messages have brought into the caches of the core that wrote the bytes since the last note.
    #[inline]
    pub fn note_written(&mut self, written: u64) {
        // With limited buffers several segments are sent at once.
        self.runs.note_written(written, self.is_limited());
    }

    /// CPU that has written or read last.
    #[inline]
    pub fn last_user(&self) -> Option<QueueUser> {
        self.last_user
    }

    /// Note that a CPU writes; return the CPU that has written or read before.
    #[inline]
    pub fn note_writer(&mut self, cpu: usize) -> Option<QueueUser> {
        self.last_user.replace(QueueUser::Writer(cpu as u16))
    }

    /// CPU that wrote the last bytes that were held back.
    #[inline]
    pub fn held_cpu(&self) -> usize {
        self.held_cpu.into()
    }

    /// Note that a CPU has read and copied `bytes` and has freed their memory. A pipe keeps at most `spare_pages` of the freed memory.
    #[inline]
    pub fn note_freed(&mut self, bytes: u64, cpu: usize, spare_pages: u8) {
        let pipe = matches!(self.memory, Memory::Pages(_));
        let most = if pipe { u64::from(spare_pages) * PIPE_PAGE } else { self.capacity };
        self.freed.note(bytes, cpu, most);
        self.last_user = Some(QueueUser::Reader(cpu as u16));
    }

    /// Read at most `bytes`, or one datagram, whose rest is lost; return the number of bytes read.
    pub fn take(&mut self, bytes: u64) -> u64 {
        if self.kind == ChannelKind::Udp {
            let (datagram, charge) = self.runs.pop();
            self.bytes -= datagram;
            self.used -= charge;
            return bytes.min(datagram);
        }
        let taken = bytes.min(self.bytes);
        self.bytes -= taken;
        self.used -= self.runs.take(taken, self.streams());
        if let Memory::Pages(pipe) = &mut self.memory {
            pipe.0.read(taken);
        }
        taken
    }

    /// Capacity in use.
    #[inline]
    pub fn used(&self) -> u64 {
        self.used
    }

    /// Whether a read or an acknowledgement has made enough room to wake a waiting writer: three quarters of a Unix socket's
    /// buffer (`unix_writable()`), a third of a TCP connection's (`sk_stream_min_wspace()`), and by the rule of the kernel's pipes.
    pub fn wakes_writer(&self, pipe: PipeWakeups) -> bool {
        let (used, capacity) = (self.used, self.capacity);
        match (&self.memory, self.kind) {
            (Memory::Pages(pages), _) => pages.0.wakes_writer(pipe),
            (Memory::Buffers(buffers), _) => buffers.wakes_writer(),
            (Memory::Sum, ChannelKind::Unix) => used * 4 <= capacity,
            (Memory::Sum, ChannelKind::Tcp) => used * 3 <= capacity * 2,
            (Memory::Sum, _) => true,
        }
    }

    /// Whether no page of a pipe is free.
    pub fn pages_full(&self) -> bool {
        matches!(&self.memory, Memory::Pages(pipe) if pipe.0.full())
    }

    /// The mutex of a pipe.
    #[inline]
    pub fn mutex(&mut self) -> Option<&mut Mutex> {
        match &mut self.memory {
            Memory::Pages(pipe) => Some(&mut pipe.1),
            _ => None,
        }
    }
}

#[cfg(test)]
#[path = "../../../tests/unit/tasks/channel.rs"]
mod tests;

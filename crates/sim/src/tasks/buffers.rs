//! Buffers of a TCP connection whose sizes the program has set: the sender's memory and the receiver's window.
//!
//! ```text
//! send() ─► unsent segments ── the window allows ──► unread segments ─► recv()
//!           └── memory up to SO_SNDBUF ──┘           └─ memory up to SO_RCVBUF ─┘
//!                      ▲ freed, and the window moved, by acknowledgements ◄─┘
//! ```
//! A connection with the kernel's default buffers grows its buffers until they do not limit a loopback stream, and has none
//! of this state.

/// Least send and receive buffer (`SOCK_MIN_SNDBUF`, `SOCK_MIN_RCVBUF`, include/net/sock.h, v4.5): one and two segments of 2048
/// bytes with `struct sk_buff`.
const LEAST_SEND: u64 = 4608;
const LEAST_RECEIVE: u64 = 2304;

/// Memory of a segment in addition to its bytes: a slab of 1024 bytes for headers and `struct skb_shared_info`, and `struct sk_buff`
/// (`sk_stream_alloc_skb()`, net/ipv4/tcp.c, v4.5).
const AROUND: u64 = 1280;

/// Memory of the sender's segments, and the window that the receiver has offered.
#[derive(Debug, Clone)]
pub(crate) struct Buffers {
    /// Limits of memory (`sk_sndbuf`, `sk_rcvbuf`).
    send: u64,
    receive: u64,
    /// Memory of segments that are not acknowledged or not sent (`sk_wmem_queued`), and the sent part.
    queued: u64,
    in_flight: u64,
    /// Bytes that the receiver's window still allows to send.
    credit: u64,
}

impl Buffers {
    /// Buffers of `bytes` bytes, which the kernel doubles (socket(7)).
    pub fn new(bytes: u32) -> Self {
        let doubled = 2 * u64::from(bytes);
        let (send, receive) = (doubled.max(LEAST_SEND), doubled.max(LEAST_RECEIVE));
        Self { send, receive, queued: 0, in_flight: 0, credit: Self::space(receive) }
    }

    /// Part of the receiver's memory that its window offers: half (`tcp_adv_win_scale` of 1, tcp(7), up to 6.5).
    fn space(memory: u64) -> u64 {
        memory / 2
    }

    /// Largest segment: half of the largest window (`tcp_bound_to_half_wnd()`, net/ipv4/tcp.c, v4.5 to v6.12).
    pub fn segment(&self) -> u64 {
        Self::space(self.receive) / 2
    }

    /// Memory of a segment of `bytes` bytes.
    pub fn charge(bytes: u64) -> u64 {
        bytes + AROUND
    }

    /// Bytes that a sender with `unsent` bytes can write now. The last unsent segment is filled up; the memory limit counts
    /// only before a new segment (`tcp_sendmsg()`, net/ipv4/tcp.c, v4.5 to v6.12).
    pub fn room(&self, unsent: u64, bytes: u64) -> u64 {
        let (segment, mut memory) = (self.segment(), self.queued);
        let mut room = (segment - unsent % segment) % segment;
        memory += room;
        while room < bytes && memory < self.send {
            room += segment;
            memory += Self::charge(segment);
        }
        room.min(bytes)
    }

    /// Account `bytes` that are written after `unsent` bytes.
    pub fn write(&mut self, unsent: u64, bytes: u64) {
        let segment = self.segment();
        let fresh = (unsent + bytes).div_ceil(segment) - unsent.div_ceil(segment);
        self.queued += bytes + fresh * AROUND;
    }

    /// Length of the next segment of `unsent` bytes that the sender's TCP may send, and 0 if it waits. `small`: a segment below
    /// the largest size may be sent.
    pub fn next(&self, unsent: u64, sent: u64, small: bool) -> u64 {
        let bytes = unsent.min(self.segment());
        let whole = bytes == self.segment();
        if (whole || small) && sent + bytes <= self.credit { bytes } else { 0 }
    }

    /// Account the sending of a segment.
    pub fn sent(&mut self, bytes: u64) {
        self.in_flight += Self::charge(bytes);
        self.credit -= bytes;
    }

    /// Window that a receiver offers whose unread segments occupy `unread` bytes of memory (`__tcp_select_window()`,
    /// net/ipv4/tcp_output.c, v4.5); `rcv_mss` is its estimate of the segment size.
    pub fn select_window(&self, unread: u64, rcv_mss: u64) -> u64 {
        let full = Self::space(self.receive);
        let (free, mss) = (Self::space(self.receive.saturating_sub(unread)), rcv_mss.min(full).max(1));
        if free < full / 2 && (free < full / 16 || free < mss) {
            return 0;
        }
        let window = self.credit;
        if window + mss <= free || window > free {
            free / mss * mss
        } else if mss == full && free > window + full / 2 {
            free
        } else {
            window
        }
    }

    /// Whether a read has made so much room that the receiver reports it (`tcp_cleanup_rbuf()`, net/ipv4/tcp.c, v4.5 to v6.12).
    pub fn reports_room(&self, unread: u64, rcv_mss: u64) -> bool {
        let window = self.select_window(unread, rcv_mss);
        2 * self.credit <= Self::space(self.receive) && window > 0 && window >= 2 * self.credit
    }

    /// Account an acknowledgement of all sent bytes. A receiver never takes back the window that it has offered.
    pub fn acknowledged(&mut self, unread: u64, rcv_mss: u64) {
        self.queued -= std::mem::take(&mut self.in_flight);
        self.credit = self.credit.max(self.select_window(unread, rcv_mss));
    }

    /// Lift the limit of the window: the end of the stream takes all unsent bytes along.
    pub fn open(&mut self) {
        self.credit = 1 << 60;
    }

    /// Whether a waiting sender is woken: a third of the buffer is free (`sk_stream_min_wspace()`, include/net/sock.h).
    pub fn wakes_writer(&self) -> bool {
        self.queued * 3 <= self.send * 2
    }
}

#[cfg(test)]
#[path = "../../tests/unit/tasks/buffers.rs"]
mod tests;

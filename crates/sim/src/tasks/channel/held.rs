//! Bytes that TCP holds back: when they become segments, and what acknowledges them.

use super::{Flow, Memory};
use crate::tasks::buffers::Buffers;
use crate::tasks::tcp::Acknowledgement;

impl Flow {
    /// Whether the sender's TCP holds `bytes` back, because a smaller segment than the largest is not acknowledged (Nagle's
    /// algorithm, RFC 896, as modified by Minshall: `tcp_nagle_check()`, net/ipv4/tcp_output.c, v4.5 to v6.12). Where
    /// replies acknowledge, the model takes what the reader has taken as acknowledged.
    #[inline]
    pub fn holds(&self, bytes: u64) -> bool {
        self.held + bytes <= self.most_held && self.nagle()
    }

    /// Whether the sender's TCP waits with a segment below the largest size.
    #[inline]
    fn nagle(&self) -> bool {
        let waits = if self.tcp.answered() { self.bytes > 0 } else { self.tcp.waits() };
        self.most_held > 0 && waits
    }

    /// Number of times that the sender's TCP goes through the protocols for a write of `bytes`: 0 if it only appends the bytes.
    /// With limited buffers each segment goes through the protocols by itself.
    #[inline]
    pub fn segments(&self, bytes: u64) -> u64 {
        match &self.memory {
            Memory::Buffers(buffers) => self.limited_segments(buffers, bytes),
            _ => u64::from(!self.holds(bytes)),
        }
    }

    #[inline(never)]
    fn limited_segments(&self, buffers: &Buffers, bytes: u64) -> u64 {
        let part = buffers.room(self.held, bytes);
        let (mut unsent, mut sent, mut segments) = (self.held + part, 0, 0);
        loop {
            let next = buffers.next(unsent, sent, part < bytes || !self.nagle());
            if next == 0 {
                return segments;
            }
            (unsent, sent, segments) = (unsent - next, sent + next, segments + 1);
        }
    }

    /// How the receiver acknowledges after a read.
    pub fn after_read(&mut self) -> Acknowledgement {
        let after = self.tcp.after_read(self.bytes == 0);
        match &self.memory {
            Memory::Buffers(buffers) if buffers.reports_room(self.used, self.tcp.rcv_mss()) => {
                Acknowledgement::Now
            }
            _ => after,
        }
    }

    /// Note that the receiver has acknowledged all bytes.
    pub fn acknowledged(&mut self) {
        self.tcp.acknowledged();
        if let Memory::Buffers(buffers) = &mut self.memory {
            buffers.acknowledged(self.used, self.tcp.rcv_mss());
        }
    }

    /// Note that a message of the other direction acknowledges all bytes.
    pub fn acknowledged_by_data(&mut self) {
        self.tcp.acknowledged_by_data();
        if self.is_limited() {
            self.acknowledged();
        }
    }

    /// Append `bytes` from a CPU to the bytes that are held back.
    #[inline]
    pub fn hold(&mut self, bytes: u64, cpu: usize) {
        debug_assert!(self.segments(bytes) == 0, "only bytes that cannot be sent yet are held back");
        if let Memory::Buffers(buffers) = &mut self.memory {
            buffers.write(self.held, bytes);
        } else {
            self.used += bytes;
        }
        self.held += bytes;
        self.held_cpu = cpu as u16;
    }

    /// Send the bytes that were held back, with limited buffers only the bytes that the window allows; return the number of
    /// segments as [`Flow::segments`] does.
    pub fn release(&mut self) -> u64 {
        if self.is_limited() {
            return self.transmit(false);
        }
        let bytes = std::mem::take(&mut self.held);
        if bytes > 0 {
            self.append(bytes, bytes, self.held_cpu.into());
        }
        u64::from(bytes > 0)
    }

    /// Send all bytes that were held back, before the sender closes the connection.
    pub fn close(&mut self) {
        if let Memory::Buffers(buffers) = &mut self.memory {
            buffers.open();
            self.transmit(true);
        } else {
            self.release();
        }
    }

    /// Send the segments that the window allows; the last segment may be small if `pushed`, or if no small segment is
    /// unacknowledged. Return the number of segments.
    pub(super) fn transmit(&mut self, pushed: bool) -> u64 {
        let mut segments = 0;
        loop {
            let small = pushed || !self.nagle();
            let Memory::Buffers(buffers) = &mut self.memory else { return segments };
            let (bytes, segment) = (buffers.next(self.held, 0, small), buffers.segment());
            if bytes == 0 {
                return segments;
            }
            buffers.sent(bytes);
            let charge = Buffers::charge(bytes);
            self.held -= bytes;
            self.bytes += bytes;
            self.used += charge;
            self.tcp.sent(bytes, segment);
            self.runs.push(self.held_cpu, bytes, charge);
            segments += 1;
        }
    }
}

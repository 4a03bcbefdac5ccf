//! Acknowledgements of one direction of a TCP connection, which decide when the sender's TCP may send small segments.
//!
//! ```text
//! sender ── segment ──► receiver: has it been pushed twice? is it as long as the last? ── acknowledgement ──► sender
//! ```
//! After a read, a receiver that sends no data acknowledges small segments, because they end a write. Two segments of the
//! same length in turn look like full segments of a path with that maximum: the receiver waits for more, and the sender's
//! TCP collects small messages up to a full segment.

use crate::time::{MS, Ns};

/// Begin of a receiver's estimate of the segment size (`TCP_MSS_DEFAULT`, include/net/tcp.h, v4.5 to v6.12).
const MSS_DEFAULT: u64 = 536;

/// Least length of a segment that may be a full segment: the default less the option with time stamps
/// (`tcp_measure_rcv_mss()`, net/ipv4/tcp_input.c, v4.5 to v6.12).
const LEAST_FULL: u64 = MSS_DEFAULT - 12;

/// Least delay of an acknowledgement that waits for data (`TCP_DELACK_MIN`, include/net/tcp.h, v4.5 to v6.12).
pub(super) const DELAYED_NS: Ns = 40 * MS;

/// What a receiver does after a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Acknowledgement {
    /// Nothing: there is nothing to acknowledge, or an earlier timer runs.
    None,
    /// A segment without data, now.
    Now,
    /// The same when [`DELAYED_NS`] are over.
    Delayed,
}

/// State of both ends.
#[derive(Debug, Clone)]
pub(crate) struct Tcp {
    /// Bytes that have arrived since the last acknowledgement (`rcv_nxt - rcv_wup`).
    unacknowledged: u64,
    /// A segment below the largest size is not acknowledged (`tcp_minshall_check()`).
    small: bool,
    /// The receiver also sends data, so that its messages acknowledge (`inet_csk_in_pingpong_mode()`).
    answered: bool,
    /// Estimate of the segment size (`icsk_ack.rcv_mss`).
    rcv_mss: u64,
    /// Length of the last segment that may be full, below the estimate (`icsk_ack.last_seg_size`).
    last_segment: u64,
    /// Segments that ended a write, up to two (`ICSK_ACK_PUSHED`, `ICSK_ACK_PUSHED2`).
    pushed: u8,
    /// The timer of a delayed acknowledgement runs.
    timer: bool,
    /// CPU of a task that is sending. What arrives at its socket meanwhile waits in the socket's backlog.
    pub sending: Option<u16>,
}

impl Default for Tcp {
    fn default() -> Self {
        Self {
            unacknowledged: 0,
            small: false,
            answered: false,
            rcv_mss: MSS_DEFAULT,
            last_segment: 0,
            pushed: 0,
            timer: false,
            sending: None,
        }
    }
}

impl Tcp {
    /// Note that `bytes` were sent, in segments of at most `largest` bytes; 0: in one segment.
    pub fn sent(&mut self, bytes: u64, largest: u64) {
        self.unacknowledged += bytes;
        let largest = if largest > 0 { largest } else { u64::MAX };
        if bytes >= largest {
            self.measure(largest);
        }
        let rest = bytes % largest;
        if rest > 0 {
            self.measure(rest);
            self.small = true;
        }
    }

    /// Update the estimate of the segment size, and whether segments ended a write (`tcp_measure_rcv_mss()`,
    /// net/ipv4/tcp_input.c, v4.5 to v6.12).
    fn measure(&mut self, bytes: u64) {
        let last = std::mem::take(&mut self.last_segment);
        if bytes >= self.rcv_mss {
            self.rcv_mss = bytes;
            self.pushed = self.pushed.max(1);
            return;
        }
        if bytes >= LEAST_FULL {
            self.last_segment = bytes;
            if bytes == last {
                self.rcv_mss = bytes;
                return;
            }
        }
        self.pushed = (self.pushed + 1).min(2);
    }

    /// The receiver's estimate of the segment size.
    #[inline]
    pub fn rcv_mss(&self) -> u64 {
        self.rcv_mss
    }

    /// Whether the receiver also sends data.
    #[inline]
    pub fn answered(&self) -> bool {
        self.answered
    }

    /// Whether a small segment waits for its acknowledgement.
    #[inline]
    pub fn waits(&self) -> bool {
        self.small
    }

    /// Note that a message of the other direction acknowledges all bytes.
    #[inline]
    pub fn acknowledged_by_data(&mut self) {
        self.answered = true;
        self.acknowledged();
    }

    /// Note an acknowledgement of all bytes.
    pub fn acknowledged(&mut self) {
        (self.unacknowledged, self.small, self.pushed) = (0, false, 0);
    }

    /// Whether the previous bytes took a segment without data that acknowledges them, before another segment is sent. A
    /// receiver that answers acknowledges at once what is more than the default segment (`__tcp_ack_snd_check()`,
    /// net/ipv4/tcp_input.c, v4.5 to v6.12), and less with its next message.
    #[inline]
    pub fn acknowledged_alone(&mut self) -> bool {
        let alone = self.answered && self.unacknowledged > MSS_DEFAULT;
        if alone {
            self.unacknowledged = 0;
        }
        alone
    }

    /// How a receiver acknowledges after a read; `drained`: the read has emptied the buffer (`__tcp_cleanup_rbuf()`,
    /// net/ipv4/tcp.c, v4.5 to v6.12).
    pub fn after_read(&mut self, drained: bool) -> Acknowledgement {
        if self.answered || self.unacknowledged == 0 {
            return Acknowledgement::None;
        }
        if self.unacknowledged > self.rcv_mss || (drained && self.pushed > 0) {
            return Acknowledgement::Now;
        }
        if std::mem::replace(&mut self.timer, true) {
            Acknowledgement::None
        } else {
            Acknowledgement::Delayed
        }
    }

    /// Note the end of the timer. Return whether an acknowledgement is due.
    pub fn timer_ends(&mut self) -> bool {
        self.timer = false;
        self.unacknowledged > 0
    }
}

#[cfg(test)]
#[path = "../../tests/unit/tasks/tcp.rs"]
mod tests;

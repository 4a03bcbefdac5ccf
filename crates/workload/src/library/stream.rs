//! stream: one task sends as fast as it can, another receives; the shape of netperf's TCP_STREAM and UDP_STREAM tests.
//!
//! As there, the size is that of the sender's messages; the receiver of a TCP stream takes whatever is there, up to
//! the default receive buffer. Only what happens within the window counts, or with `bytes` the whole run.

use serde::{Deserialize, Serialize};

use super::{DURATION_NS, MOST, WARMUP_NS, empty, names};
use crate::error::ParameterError;
use crate::program::{
    Channel, ChannelKind, Mode, Op, Program, Quantity, Resources, Window, channels, count, drain, group,
    higher, send, times, until_closed, within_window,
};

/// Parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Stream {
    /// TCP or UDP.
    pub protocol: Protocol,
    /// Bytes per message.
    pub size: u64,
    /// Senders, each with a receiver.
    pub pairs: u32,
    /// Send segments at once (`TCP_NODELAY`); TCP only.
    pub no_delay: bool,
    /// Length of the warm-up.
    pub warmup_ns: u64,
    /// Length of the recorded part.
    pub duration_ns: u64,
    /// Send so many bytes per sender instead, with everything recorded.
    pub bytes: Option<u64>,
}

/// Transport protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// TCP over IPv4 loopback.
    Tcp,
    /// UDP over IPv4 loopback.
    Udp,
}

impl Protocol {
    pub(super) fn kind(self) -> ChannelKind {
        match self {
            Self::Tcp => ChannelKind::Tcp,
            Self::Udp => ChannelKind::Udp,
        }
    }
}

/// Size of a TCP receiver's reads: the default receive buffer of Linux (`net.ipv4.tcp_rmem`, tcp(7): 131 072 bytes).
const READ_BYTES: u64 = 131_072;

/// Bytes that are sent between two looks at the clock, so that the clock costs next to nothing.
const BATCH_BYTES: u64 = 65_536;

impl Default for Stream {
    fn default() -> Self {
        Self {
            protocol: Protocol::Tcp,
            size: 16_384,
            pairs: 1,
            no_delay: false,
            warmup_ns: WARMUP_NS,
            duration_ns: DURATION_NS,
            bytes: None,
        }
    }
}

impl Stream {
    /// The program; an error names the parameter that is out of range.
    pub fn program(&self) -> Result<Program, ParameterError> {
        ParameterError::check("size", self.size, 1..=65_507)?;
        ParameterError::check("pairs", self.pairs, 1..=MOST)?;
        let (sender, window) = match self.bytes {
            Some(bytes) => {
                ParameterError::check("bytes", bytes, 1..=1 << 50)?;
                (self.messages(bytes.div_ceil(self.size)), None)
            }
            None => {
                let batch = (BATCH_BYTES / self.size).max(1);
                let window = Window::new(self.warmup_ns, self.duration_ns)?;
                (vec![within_window(self.messages(batch))], Some(window))
            }
        };
        let read = if self.protocol == Protocol::Tcp { READ_BYTES } else { self.size };
        let receiver = vec![until_closed(vec![drain("data", read, "received")])];
        // 10^6 bit/s, from bytes per second.
        let rate =
            |name: &str, counter: &str| higher(name, "Mbit/s", Quantity::Rate(counter.to_owned()), 8e-6);
        Ok(Program {
            replicas: self.pairs,
            window,
            resources: Resources {
                channels: vec![Channel {
                    no_delay: self.no_delay,
                    ..channels("data", self.protocol.kind(), 1)
                }],
                ..Resources::default()
            },
            counters: names(["sent", "received"]),
            groups: vec![
                group("receiver", 1, Mode::Process, receiver),
                group("sender", 1, Mode::Process, sender),
            ],
            metrics: match self.protocol {
                Protocol::Tcp => vec![rate("throughput", "received")],
                Protocol::Udp => vec![rate("receive", "received"), rate("send", "sent")],
            },
            ..empty("stream")
        })
    }

    fn messages(&self, number: u64) -> Vec<Op> {
        vec![times(number, vec![send("data", self.size)]), count("sent", number * self.size)]
    }
}

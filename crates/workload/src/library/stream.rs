//! stream: one task sends as fast as possible, another task receives; the shape of netperf's TCP_STREAM and
//! UDP_STREAM tests.
//!
//! As in netperf, the size is the size of the sender's messages. The receiver of a TCP stream reads all bytes
//! that have arrived, up to the default receive buffer, or with `buffer_beyond` at most the size of a message. Bytes that
//! arrive within the window count; with `bytes`, all bytes of the run count.

use super::prelude::*;

parameters! {
    /// Messages over loopback TCP or UDP as fast as possible (netperf's TCP_STREAM and UDP_STREAM).
    ///
    /// A TCP receiver reads all bytes that have arrived, for any size, unless buffer_beyond is given. sent is reported for
    /// UDP only.
    pub struct Stream, timed {
        /// Transport protocol.
        pub protocol: Protocol = Protocol::Tcp,
        /// Bytes of a message.
        #[schemars(range(min = 1, max = LARGEST_DATAGRAM), extend("unit" = "bytes", "short" = "s"))]
        pub size: u64 = 16_384,
        /// Senders, each with a receiver.
        #[schemars(range(min = 1, max = MAX_TASKS))]
        pub pairs: u32 = 1,
        /// Send small segments at once (`TCP_NODELAY`); TCP only.
        pub no_delay: bool = false,
        /// Set the sockets' buffers to this number of bytes more than a message, and read at most a message (netperf -s, -S, -M).
        #[schemars(range(max = MAX_BEYOND), extend("unit" = "bytes"))]
        pub buffer_beyond: Option<u32> = None,
        /// Bytes that each sender sends, instead of sending for a time; all bytes are recorded.
        #[schemars(range(min = 1, max = MAX_BYTES), extend("unit" = "bytes", "instead_of" = ["warmup", "duration"]))]
        pub bytes: Option<u64> = None,
    }
}

/// Largest payload of an IPv4 UDP datagram: 65 535 bytes less the headers of IP and UDP (RFC 791, RFC 768).
pub(super) const LARGEST_DATAGRAM: u64 = 65_507;

/// Largest number of bytes that a sender accepts.
const MAX_BYTES: u64 = 1 << 50;

/// Most bytes of a socket's buffer beyond a message; the kernel's limit is 212 992 bytes by default (`net.core.wmem_max`).
const MAX_BEYOND: u32 = 1 << 20;

/// Transport protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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

/// Bytes that are sent between two readings of the clock, so that the cost of the clock is negligible.
const BATCH_BYTES: u64 = 65_536;

impl Workload for Stream {
    const NAME: &'static str = "stream";
    const JUDGED: &'static [&'static str] = &["received"];

    fn examples() -> Vec<Self> {
        [Protocol::Tcp, Protocol::Udp].map(|protocol| Self { protocol, ..Self::default() }).to_vec()
    }

    /// With `bytes`, about 1 GB/s.
    fn seconds(&self, _cpus: u32) -> f64 {
        0.1 + self.bytes.unwrap_or_default() as f64 * f64::from(self.pairs) * 1e-9
    }

    fn build(&self) -> Result<Program, ParameterError> {
        let (sender, window) = match self.bytes {
            Some(bytes) => (self.messages(bytes.div_ceil(self.size)), None),
            None => {
                let batch = (BATCH_BYTES / self.size).max(1);
                (vec![within_window(self.messages(batch))], self.window())
            }
        };
        let read = match (self.protocol, self.buffer_beyond) {
            (Protocol::Tcp, None) => READ_BYTES,
            _ => self.size,
        };
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
                    // Both numbers are below 2²¹.
                    buffer: self.buffer_beyond.map(|beyond| self.size as u32 + beyond),
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
                Protocol::Tcp => vec![rate("received", "received")],
                Protocol::Udp => vec![rate("received", "received"), rate("sent", "sent")],
            },
            ..Program::named(Self::COMMAND)
        })
    }
}

impl Stream {
    fn messages(&self, number: u64) -> Vec<Op> {
        vec![times(number, vec![send("data", self.size)]), count("sent", number * self.size)]
    }
}

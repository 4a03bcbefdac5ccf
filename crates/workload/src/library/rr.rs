//! rr: a client sends a request and a server replies, in a loop; the shape of netperf's TCP_RR and UDP_RR tests.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::parameter::{DURATION_NS, Duration, MAX_TASKS, WARMUP_NS, Warmup, check_fields};
use super::stream::{LARGEST_DATAGRAM, Protocol};
use super::{Workload, empty, latency, names};
use crate::error::ParameterError;
use crate::program::{
    Channel, Mode, Program, Quantity, Resources, Scope, Window, await_reply, channels, count, group, higher,
    lap, receive, reply, send, slots, stamp, until_closed, within_window,
};

/// Request and reply over loopback TCP or UDP (netperf's TCP_RR and UDP_RR).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Rr {
    /// Transport protocol.
    pub protocol: Protocol,
    /// Bytes of a request.
    #[schemars(range(min = 1, max = LARGEST_DATAGRAM), extend("unit" = "bytes"))]
    pub request: u64,
    /// Bytes of a reply.
    #[schemars(range(min = 1, max = LARGEST_DATAGRAM), extend("unit" = "bytes"))]
    pub reply: u64,
    /// Clients, each with a server.
    #[schemars(range(min = 1, max = MAX_TASKS))]
    pub pairs: u32,
    /// Send small segments at once (`TCP_NODELAY`); TCP only.
    pub no_delay: bool,
    /// Time before the recorded part.
    #[serde(rename = "warmup")]
    #[schemars(with = "Warmup")]
    pub warmup_ns: u64,
    /// Length of the recorded part.
    #[serde(rename = "duration")]
    #[schemars(with = "Duration")]
    pub duration_ns: u64,
}

impl Default for Rr {
    /// Requests and replies of 1 byte, as netperf's default.
    fn default() -> Self {
        Self {
            protocol: Protocol::Tcp,
            request: 1,
            reply: 1,
            pairs: 1,
            no_delay: false,
            warmup_ns: WARMUP_NS,
            duration_ns: DURATION_NS,
        }
    }
}

impl Workload for Rr {
    const NAME: &'static str = "rr";
    const JUDGED: &'static [&'static str] = &["transactions"];
}

impl Rr {
    /// The program; an error names the parameter that is out of range.
    pub fn program(&self) -> Result<Program, ParameterError> {
        check_fields(self)?;
        let client = vec![
            stamp("turn"),
            within_window(vec![
                send("data", self.request),
                await_reply("data", self.reply),
                lap("turn", "transaction"),
                count("transactions", 1u64),
            ]),
        ];
        let server = vec![until_closed(vec![receive("data", self.request), reply("data", self.reply)])];
        let rate = Quantity::Rate("transactions".to_owned());
        let mut metrics = vec![higher("transactions", "transactions/s", rate, 1.0)];
        metrics.extend(latency("transaction"));
        Ok(Program {
            replicas: self.pairs,
            window: Some(Window::new(self.warmup_ns, self.duration_ns)?),
            resources: Resources {
                channels: vec![Channel {
                    no_delay: self.no_delay,
                    ..channels("data", self.protocol.kind(), 1)
                }],
                slots: vec![slots("turn", 1, Scope::Task)],
                ..Resources::default()
            },
            counters: names(["transactions"]),
            series: names(["transaction"]),
            groups: vec![
                group("server", 1, Mode::Process, server),
                group("client", 1, Mode::Process, client),
            ],
            metrics,
            ..empty("rr")
        })
    }
}

//! rr: a client sends a request, a server replies, again and again; the shape of netperf's TCP_RR and UDP_RR tests.

use serde::{Deserialize, Serialize};

use super::stream::Protocol;
use super::{DURATION_NS, MOST, WARMUP_NS, empty, latency, names};
use crate::error::ParameterError;
use crate::program::{
    Channel, Mode, Program, Quantity, Resources, Scope, Window, await_reply, channels, count, group, higher,
    lap, receive, reply, send, slots, stamp, until_closed, within_window,
};

/// Parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Rr {
    /// TCP or UDP.
    pub protocol: Protocol,
    /// Bytes per request.
    pub request: u64,
    /// Bytes per reply.
    pub reply: u64,
    /// Clients, each with a server.
    pub pairs: u32,
    /// Send segments at once (`TCP_NODELAY`); TCP only.
    pub no_delay: bool,
    /// Length of the warm-up.
    pub warmup_ns: u64,
    /// Length of the recorded part.
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

impl Rr {
    /// The program; an error names the parameter that is out of range.
    pub fn program(&self) -> Result<Program, ParameterError> {
        ParameterError::check("request", self.request, 1..=65_507)?;
        ParameterError::check("reply", self.reply, 1..=65_507)?;
        ParameterError::check("pairs", self.pairs, 1..=MOST)?;
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

//! rr: a client sends a request and a server replies, in a loop; the shape of netperf's TCP_RR and UDP_RR tests.

use super::prelude::*;
use super::stream::{LARGEST_DATAGRAM, Protocol};

parameters! {
    /// Request and reply over loopback TCP or UDP (netperf's TCP_RR and UDP_RR).
    pub struct Rr, timed {
        /// Transport protocol.
        pub protocol: Protocol = Protocol::Tcp,
        // 1 byte is netperf's default.
        /// Bytes of a request.
        #[schemars(range(min = 1, max = LARGEST_DATAGRAM), extend("unit" = "bytes"))]
        pub request: u64 = 1,
        /// Bytes of a reply.
        #[schemars(range(min = 1, max = LARGEST_DATAGRAM), extend("unit" = "bytes"))]
        pub reply: u64 = 1,
        /// Clients, each with a server.
        #[schemars(range(min = 1, max = MAX_TASKS))]
        pub pairs: u32 = 1,
        /// Send small segments at once (`TCP_NODELAY`); TCP only.
        pub no_delay: bool = false,
    }
}

impl Workload for Rr {
    const NAME: &'static str = "rr";
    const JUDGED: &'static [&'static str] = &["transactions"];

    fn build(&self) -> Result<Program, ParameterError> {
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
            window: self.window(),
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
            ..Program::named(Self::COMMAND)
        })
    }
}

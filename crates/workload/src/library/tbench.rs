//! tbench: clients that send a file server's requests over TCP and wait for its replies.
//!
//! tbench (of dbench 4.0) replays a recorded load file. For each operation a client sends one message. The server reads
//! a length of 4 bytes and then the rest, and sends one reply. The client reads the reply in the same way,
//! but discards the rest without a copy. This program does the same with [`MIX`], a cycle of 200 operations
//! in the load file's proportions.

use super::prelude::*;

parameters! {
    /// A file server's requests over loopback TCP and its replies (tbench of dbench).
    ///
    /// latency and its percentiles cover all operations. Each kind of operation also has a median; tbench prints
    /// means.
    pub struct Tbench, timed {
        /// Clients, each with a server process.
        #[schemars(range(min = 1, max = MAX_TASKS), extend("short" = "c"))]
        pub clients: u32 = 1,
        /// Computation of a client before each operation (tbench reads a line of its load file).
        #[serde(rename = "client_time")]
        #[schemars(with = "Time")]
        pub client_ns: u64 = CLIENT_NS,
    }
}

/// Default computation of a client before an operation: tbench 4.0 spends 0.9 µs of user time on reading a line of its
/// load file (measured with perf on a 2.5 GHz Xeon of the Cascade Lake generation). This program's bookkeeping takes about
/// 0.2 µs of this time.
const CLIENT_NS: u64 = 700;

/// A kind of operation in the load file.
#[derive(Debug, Clone, Copy)]
struct Kind {
    /// Operation of the load file.
    name: &'static str,
    /// Occurrences in a cycle.
    often: u32,
    /// Bytes of the request, with the length.
    request: u64,
    /// Bytes of the reply, with the length.
    reply: u64,
    /// Bytes of file data in request and reply, which throughput counts.
    data: u64,
}

const fn kind(name: &'static str, often: u32, request: u64, reply: u64, data: u64) -> Kind {
    Kind { name, often, request, reply, data }
}

/// Bytes around the data of a read's reply and of a write's request (observed in tbench's system calls).
const AROUND: u64 = 59;

const fn read(often: u32, bytes: u64) -> Kind {
    kind("readx", often, AROUND, AROUND + bytes, bytes)
}

const fn write(often: u32, bytes: u64) -> Kind {
    kind("writex", often, AROUND + bytes, 55, bytes)
}

/// The mix: frequencies per 200 from the 458 344 operations of `client.txt` in Debian's dbench 4.0-2.1 (27.1 % ReadX,
/// 17.3 % NTCreateX, 15.7 % QUERY_PATH_INFORMATION, 12.7 % Close, 8.6 % WriteX, …). Reads and writes have the most
/// frequent sizes, and the mean size of all other operations. Message sizes are the sizes that tbench and
/// tbench_srv exchange.
const MIX: [Kind; 22] = [
    read(36, 4096),
    read(7, 61_440),
    read(2, 8192),
    read(2, 2048),
    read(1, 16_384),
    read(1, 655),
    read(5, 2624),
    kind("ntcreatex", 35, 160, 87, 0),
    kind("qpathinfo", 31, 139, 71, 0),
    kind("close", 25, 47, 39, 0),
    write(6, 65_536),
    write(4, 4096),
    write(3, 1),
    write(1, 2048),
    write(3, 18_235),
    kind("find", 10, 111, 1029, 0),
    kind("find", 2, 111, 39, 0),
    kind("unlink", 7, 119, 39, 0),
    kind("qfsinfo", 6, 59, 71, 0),
    kind("qfileinfo", 6, 59, 71, 0),
    kind("sfileinfo", 3, 71, 47, 0),
    kind("flush", 4, 41, 39, 0),
];

impl Workload for Tbench {
    const NAME: &'static str = "tbench-native";
    const COMMAND: &'static str = "tbench";
    const JUDGED: &'static [&'static str] = &["throughput"];

    fn build(&self) -> Result<Program, ParameterError> {
        let cycle = cycle();
        let mut client = Vec::new();
        let mut server = Vec::new();
        for kind in &cycle {
            client.extend(self.ask(kind));
            server.extend(answer(kind));
        }
        let rate = |counter: &str| Quantity::Rate(counter.to_owned());
        let mut metrics = vec![
            higher("throughput", "MB/s", rate("bytes"), 1e-6),
            higher("operations", "ops/s", rate("operations"), 1.0),
        ];
        metrics.extend(latency("operation"));
        let mut series = names(["operation"]);
        for kind in &MIX {
            if !series.iter().any(|name| name == kind.name) {
                series.push(kind.name.to_owned());
                metrics.push(latency_percentile(&format!("latency-{}-p50", kind.name), kind.name, 50.0));
            }
        }
        Ok(Program {
            replicas: self.clients,
            window: self.window(),
            resources: Resources {
                channels: vec![Channel { no_delay: true, ..channels("session", ChannelKind::Tcp, 1) }],
                slots: vec![slots("asked", 1, Scope::Task)],
                ..Resources::default()
            },
            counters: names(["bytes", "operations"]),
            series,
            groups: vec![
                group("server", 1, Mode::Process, vec![until_closed(server)]),
                group("client", 1, Mode::Process, vec![within_window(client)]),
            ],
            metrics,
            ..Program::named(Self::COMMAND)
        })
    }
}

impl Tbench {
    fn ask(&self, kind: &Kind) -> Vec<Op> {
        let take = |bytes: u64, take| receive_by("session", bytes, Direction::Backward, take);
        let mut ops = Vec::new();
        if self.client_ns > 0 {
            ops.push(compute(self.client_ns));
        }
        ops.extend([
            stamp("asked"),
            send("session", kind.request),
            take(LENGTH, Take::WaitAll),
            take(kind.reply - LENGTH, Take::Discard),
            record("asked", "operation"),
            record("asked", kind.name),
            count("operations", 1u64),
        ]);
        if kind.data > 0 {
            ops.push(count("bytes", kind.data));
        }
        ops
    }
}

/// Bytes of the length with which each message begins.
const LENGTH: u64 = 4;

fn answer(kind: &Kind) -> [Op; 3] {
    let take = |bytes: u64| receive_by("session", bytes, Direction::Forward, Take::WaitAll);
    [take(LENGTH), take(kind.request - LENGTH), reply("session", kind.reply)]
}

/// All operations of a cycle, in which the occurrences of each kind are evenly spaced.
fn cycle() -> Vec<Kind> {
    let mut placed: Vec<(f64, Kind)> = Vec::new();
    for kind in MIX {
        placed.extend((0..kind.often).map(|nth| ((f64::from(nth) + 0.5) / f64::from(kind.often), kind)));
    }
    placed.sort_by(|a, b| a.0.total_cmp(&b.0));
    placed.into_iter().map(|(_, kind)| kind).collect()
}

#[cfg(test)]
#[path = "../../tests/unit/library/tbench.rs"]
mod tests;

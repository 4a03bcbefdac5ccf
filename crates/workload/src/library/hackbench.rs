//! hackbench: groups of senders that each write to all receivers of their group.
//!
//! Behaviour as documented in hackbench(8) of rt-tests 2.4 and observed in its system calls. Each group has `fds`
//! receivers and `fds` senders; each sender writes `loops` messages to each receiver, and each receiver reads
//! all its messages. All tasks report ready and poll for the go signal over the same kind of channel that
//! carries the data. The time runs from the go signal until all tasks are reaped.

use super::prelude::*;
use crate::check;

parameters! {
    /// Groups of senders each write to all receivers of their group, over sockets or pipes (rt-tests' hackbench).
    pub struct Hackbench {
        // The defaults are the same as in rt-tests 2.4.
        /// Groups of senders and receivers.
        #[schemars(range(min = 1, max = 100_000), extend("short" = "g"))]
        pub groups: u32 = 10,
        /// Senders, and as many receivers, in each group.
        #[schemars(range(min = 1, max = 10_000), extend("short" = "f"))]
        pub fds: u32 = 20,
        /// Messages from each sender to each receiver.
        #[schemars(range(min = 1, max = 1_000_000_000), extend("short" = "l"))]
        pub loops: u64 = 100,
        /// Bytes of a message.
        #[serde(rename = "size")]
        #[schemars(range(min = 1, max = 1 << 24), extend("unit" = "bytes", "short" = "s", "long" = "datasize"))]
        pub datasize: u64 = 100,
        /// Channels of messages and start signals.
        #[serde(rename = "ipc")]
        pub channel: Carrier = Carrier::Socket,
        /// Processes, or threads of one process.
        pub mode: Mode = Mode::Process,
        /// Run the main thread under `SCHED_FIFO` from the creation of the last task on.
        #[schemars(extend("short" = "F"))]
        pub fifo: bool = false,
        /// Mappings of the main process beyond the load generator's own, which each fork copies; with processes only.
        #[schemars(range(max = MainMemory::MOST_MAPPINGS))]
        pub main_mappings: u32 = 0,
        /// Written pages of these mappings together, whose page tables each fork copies; at least one in each mapping.
        #[schemars(range(max = MainMemory::MOST_PAGES))]
        pub main_pages: u32 = 0,
        /// Pages of these that each process writes before it ends, so that the kernel copies them.
        #[schemars(range(max = MainMemory::MOST_PAGES))]
        pub written_pages: u32 = 0,
    }
}

/// Channels of hackbench's messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Carrier {
    /// Unix stream sockets.
    Socket,
    /// Pipes.
    #[schemars(extend("flag" = "p/pipe"))]
    Pipe,
    /// TCP connections over loopback.
    #[schemars(extend("flag" = "i/inet"))]
    Inet,
}

impl Workload for Hackbench {
    const NAME: &'static str = "hackbench";
    const JUDGED: &'static [&'static str] = &["time"];

    /// About 1.5 µs for each message and 60 µs for each task on a 3 GHz core.
    fn seconds(&self, _cpus: u32) -> f64 {
        let messages = f64::from(self.groups) * f64::from(self.fds).powi(2) * self.loops as f64;
        messages * 1.5e-6 + self.tasks() as f64 * 60e-6
    }

    /// The lines of rt-tests' hackbench.
    fn heading(&self) -> Vec<String> {
        let mode = if self.mode == Mode::Thread { "threaded" } else { "process" };
        let (groups, descriptors) = (self.groups, u64::from(self.fds) * 2);
        let tasks = self.tasks();
        vec![
            format!(
                "Running in {mode} mode with {groups} groups using {descriptors} file descriptors each (== {tasks} tasks)"
            ),
            format!("Each sender will pass {} messages of {} bytes", self.loops, self.datasize),
        ]
    }

    /// The line of rt-tests' hackbench.
    fn lines(metrics: &[Measured]) -> Option<Vec<String>> {
        Some(vec![format!("Time: {:.3}", metrics.first()?.value?)])
    }

    fn build(&self) -> Result<Program, ParameterError> {
        ParameterError::check("groups x fds x 2", self.tasks(), 1..=check::MAX_TASKS)?;
        let main_memory =
            MainMemory { mappings: self.main_mappings, pages: self.main_pages, written: self.written_pages };
        main_memory.check(["main_mappings", "main_pages", "written_pages"])?;
        let (kind, gate) = match self.channel {
            Carrier::Socket => (ChannelKind::Unix, GateKind::Unix),
            Carrier::Pipe => (ChannelKind::Pipe, GateKind::Pipe),
            Carrier::Inet => (ChannelKind::Tcp, GateKind::Tcp),
        };
        let messages = self.loops * u64::from(self.fds);
        let receiver = times(messages, vec![receive(at("data", Expr::task()), self.datasize)]);
        let to_each = times(self.fds, vec![send(at("data", Expr::loop_index(0)), self.datasize)]);
        Ok(Program {
            replicas: self.groups,
            gate: Gate { kind: gate, fifo: self.fifo },
            main_memory,
            resources: Resources { channels: vec![channels("data", kind, self.fds)], ..Default::default() },
            groups: vec![
                group("receiver", self.fds, self.mode, vec![receiver]),
                group("sender", self.fds, self.mode, vec![times(self.loops, vec![to_each])]),
            ],
            metrics: vec![
                lower("time", "s", Quantity::Elapsed, 1.0),
                lower("total", "s", Quantity::Lifetime, 1.0),
            ],
            ..Program::named(Self::COMMAND)
        })
    }
}

impl Hackbench {
    /// The operations of hackbench's main process, which forks all tasks and waits for their end. `prefix` begins the names of the
    /// channels, which the program needs with [`Hackbench::main_channels`].
    pub(super) fn main_process(&self, prefix: &str) -> Vec<Op> {
        let channel = |name: &str| format!("{prefix} {name}");
        let go = [send(&*channel("ready"), 1u64), receive(&*channel("go"), 1u64)];
        // Loops inside of a task enclose its indices: the descriptor, and outside of it the group, are the loops around the fork.
        let data = |inner: u32, descriptor: Expr| {
            at(&channel("data"), Expr::loop_index(inner + 1) * u64::from(self.fds) + descriptor)
        };
        let messages = self.loops * u64::from(self.fds);
        let receiver = times(messages, vec![receive(data(1, Expr::loop_index(1)), self.datasize)]);
        let to_each = times(self.fds, vec![send(data(2, Expr::loop_index(0)), self.datasize)]);
        let task = |work| fork([go.to_vec(), vec![work]].concat());
        let group = vec![
            times(self.fds, vec![task(receiver)]),
            times(self.fds, vec![task(times(self.loops, vec![to_each]))]),
        ];
        vec![
            times(self.groups, group),
            times(self.tasks(), vec![receive(&*channel("ready"), 1u64)]),
            send(&*channel("go"), self.tasks()),
            wait_all(),
        ]
    }

    /// The channels of [`Hackbench::main_process`].
    pub(super) fn main_channels(&self, prefix: &str) -> Vec<Channel> {
        let signals = |name| channels(&format!("{prefix} {name}"), ChannelKind::Pipe, 1);
        let data = channels(&format!("{prefix} data"), ChannelKind::Unix, self.groups * self.fds);
        vec![signals("ready"), signals("go"), data]
    }

    /// Number of tasks.
    pub fn tasks(&self) -> u64 {
        u64::from(self.groups) * u64::from(self.fds) * 2
    }
}

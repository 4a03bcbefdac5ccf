//! kernel-path: one operation of the kernel, performed many times by a small program.
//!
//! Every operation is timed. In a deterministic guest these times are numbers of instructions.

use super::prelude::*;

parameters! {
    /// A small program performs and times one operation of the kernel many times (`schedlab cost`).
    ///
    /// The median is judged. It contains the two readings of the clock around an operation and the program's step, which
    /// `path = "none"` measures alone. Timer ticks are in the mean and not in the median, except for `path = "tick"`.
    pub struct KernelPath {
        /// The operation.
        pub path: Path = Path::PipeRound,
        /// Operations.
        #[schemars(range(min = 1, max = 10_000_000), extend("short" = "l"))]
        pub loops: u64 = 1000,
        /// Bytes of a message, for paths with messages.
        #[schemars(range(min = 1, max = 32 << 10), extend("unit" = "bytes", "short" = "s"))]
        pub size: u64 = 4,
    }
}

/// An operation of the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Path {
    /// Nothing: the readings of the clock and the program's step, which every other operation contains.
    None,
    /// `sched_yield(2)` of the only task.
    Yield,
    /// Two processes yield to each other: two switches without a wake-up.
    YieldRound,
    /// A thread that waits for a futex is woken, and does not run yet: a wake-up without a switch.
    Wakeup,
    /// `write(2)` to /dev/null.
    Write,
    /// One message written to a pipe and read by the same task.
    Pipe,
    /// One message sent to a Unix socket and received by the same task.
    Unix,
    /// The writing of the message of `pipe`. The task reads the message, too, outside of the measured time.
    PipeWrite,
    /// `pipe-write` to a pipe that has a message.
    PipeAppend,
    /// The reading of a message of a pipe that has another message.
    PipeTake,
    /// `pipe-write` to a pipe that another process waits to read: a writing and a wake-up, without a switch.
    PipeWake,
    /// The sending of the message of `unix`.
    UnixSend,
    /// 1000 messages sent to four Unix sockets and received by the same task: messages that wait, as hackbench's do.
    UnixQueue,
    /// One message sent over TCP on the loopback and received by the same task.
    Tcp,
    /// One datagram sent over UDP on the loopback and received by the same task.
    Udp,
    /// A round trip over two pipes between two processes: two wake-ups, two switches, two messages.
    #[default]
    PipeRound,
    /// A round trip over a Unix socket between two processes.
    UnixRound,
    /// A round trip over a TCP connection between two processes.
    TcpRound,
    /// A round trip over UDP between two processes.
    UdpRound,
    /// Two threads wake each other by futexes: two wake-ups, two switches of one address space.
    FutexRound,
    /// `pipe-round` between CPUs 0 and 1: two wake-ups on an idle CPU, and each CPU looks for other tasks and goes idle.
    RemoteRound,
    /// `unix-round` between CPUs 0 and 1.
    RemoteUnix,
    /// `tcp-round` between CPUs 0 and 1.
    RemoteTcp,
    /// `udp-round` between CPUs 0 and 1.
    RemoteUdp,
    /// `remote-round` in which each process forks and reaps a child before its message: the lines of processes that two CPUs
    /// modify in turn.
    ForkRound,
    /// A sleep of 1 ms on an idle CPU: a timer is set, the CPU goes idle, an interrupt ends both. Its time is mostly idle.
    Sleep,
    /// The vmstat counters of every CPU are folded, by a write to /proc/sys/vm/stat_refresh.
    Vmstat,
    /// The first write to a page of anonymous memory.
    PageFault,
    /// A child process is forked, exits and is reaped.
    Fork,
    /// `fork` of a process with 4096 more written pages of 4 KiB, in a single mapping.
    ForkPages,
    /// `fork` of a process with 4096 more written pages of 4 KiB, in 128 mappings.
    ForkMappings,
    /// The parent's part of `fork`: a child process is made, and does not run yet.
    Clone,
    /// The rest of `fork`: a new child process runs, exits and is reaped.
    Exit,
    /// A child process is forked, executes the command `true`, exits and is reaped.
    Exec,
    /// A timer tick: the longest time between two readings of the clock in 4 ms.
    Tick,
}

impl Path {
    /// Carrier of the messages, and whether another process answers them; `None` for an operation without messages.
    fn messages(self) -> Option<(ChannelKind, bool)> {
        match self {
            Self::Pipe | Self::PipeWrite | Self::PipeAppend | Self::PipeTake | Self::PipeWake => {
                Some((ChannelKind::Pipe, false))
            }
            Self::Unix | Self::UnixSend | Self::UnixQueue => Some((ChannelKind::Unix, false)),
            Self::Tcp => Some((ChannelKind::Tcp, false)),
            Self::Udp => Some((ChannelKind::Udp, false)),
            Self::PipeRound | Self::RemoteRound | Self::ForkRound => Some((ChannelKind::Pipe, true)),
            Self::UnixRound | Self::RemoteUnix => Some((ChannelKind::Unix, true)),
            Self::TcpRound | Self::RemoteTcp => Some((ChannelKind::Tcp, true)),
            Self::UdpRound | Self::RemoteUdp => Some((ChannelKind::Udp, true)),
            _ => None,
        }
    }

    /// Whether the timed operation is a part of a message's way. The time of its other parts is a series of its own.
    fn is_part(self) -> bool {
        matches!(self, Self::PipeWrite | Self::PipeAppend | Self::PipeTake | Self::PipeWake | Self::UnixSend)
    }

    /// Whether the processes are bound to CPUs 0 and 1.
    fn is_remote(self) -> bool {
        matches!(
            self,
            Self::RemoteRound | Self::RemoteUnix | Self::RemoteTcp | Self::RemoteUdp | Self::ForkRound
        )
    }
}

/// Sockets in which messages wait, and messages in each: a socket's buffer takes 278 messages of at most `LARGEST_QUEUED` bytes,
/// whose memory comes from the slab cache of 512 bytes with `struct skb_shared_info` of 320 bytes.
const QUEUES: u32 = 4;
const QUEUED: u32 = 250;
const LARGEST_QUEUED: u64 = 512 - 320;

/// Written pages of `fork-pages` and `fork-mappings`.
pub const FORK_PAGES: u32 = 4096;

/// Mappings of `fork-mappings`.
pub const FORK_MAPPINGS: u32 = 128;

/// Bytes from one page to the next.
const PAGE: u64 = 4096;

/// The period of the timer tick with 250 Hz, Debian's choice. With another frequency a span has no tick or several ticks.
const TICK_NS: u64 = 4_000_000;

/// Length of a sleep, shorter than a tick.
const SLEEP_NS: u64 = 1_000_000;

/// Time in which a woken thread runs and waits again.
const AGAIN_NS: u64 = 200_000;

impl Workload for KernelPath {
    const NAME: &'static str = "kernel-path";
    const JUDGED: &'static [&'static str] = &["latency-p50"];
    const SAMPLES: Option<(&'static str, &'static str)> = Some(("latency-p50", "latency"));

    /// About 10 µs for an operation; a new process takes longer.
    fn seconds(&self, _cpus: u32) -> f64 {
        let pause_ns = match self.path {
            Path::Tick => TICK_NS,
            Path::Sleep => SLEEP_NS,
            Path::Wakeup | Path::PipeWake => AGAIN_NS,
            _ => 0,
        };
        self.loops as f64 * (10e-6 + pause_ns as f64 * 1e-9)
    }

    fn build(&self) -> Result<Program, ParameterError> {
        let has_bytes = self.path == Path::Write || self.path.messages().is_some();
        if !has_bytes && self.size != Self::default().size {
            return Err(ParameterError::new("size", self.size, "this path has no messages"));
        }
        if self.path == Path::UnixQueue {
            ParameterError::check("size", self.size, 1..=LARGEST_QUEUED)?;
        }
        let mut resources = Resources { slots: vec![slots("turn", 1, Scope::Task)], ..Resources::default() };
        let (timed, answer) = self.timed(&mut resources);
        let threads = matches!(self.path, Path::FutexRound | Path::Wakeup);
        let mode = if threads { Mode::Thread } else { Mode::Process };
        let place = |cpu| {
            let attributes = Attributes { cpus: Some(vec![cpu]), ..Attributes::default() };
            if self.path.is_remote() { vec![Op::Set { attributes }] } else { Vec::new() }
        };
        let body = |cpu, body: Vec<Op>| [place(cpu), body].concat();
        let mut groups =
            vec![group("first", 1, mode, body(0, vec![stamp("turn"), times(self.loops, timed)]))];
        if !answer.is_empty() {
            groups.push(group("second", 1, mode, body(1, vec![times(self.loops, answer)])));
        }
        let (series, counters) = match self.path {
            Path::Tick => (names(["operation", "span"]), names(["gaps", "lost"])),
            path if path.is_part() => (names(["operation", "rest"]), Vec::new()),
            _ => (names(["operation"]), Vec::new()),
        };
        let main_memory = |mappings| MainMemory { mappings, pages: FORK_PAGES, written: 0 };
        Ok(Program {
            main_memory: match self.path {
                Path::ForkPages => main_memory(1),
                Path::ForkMappings => main_memory(FORK_MAPPINGS),
                _ => MainMemory::default(),
            },
            resources,
            series,
            counters,
            groups,
            metrics: vec![
                latency_percentile("latency-p50", "operation", 50.0),
                lower("latency", "us", Quantity::Mean("operation".to_owned()), 1e-3),
                latency_percentile("latency-p99", "operation", 99.0),
            ],
            ..Program::named(Self::COMMAND)
        })
    }
}

impl KernelPath {
    /// An iteration of the first task, which times its operation, and an iteration of the second task, empty without a
    /// second task. Adds their resources.
    fn timed(&self, resources: &mut Resources) -> (Vec<Op>, Vec<Op>) {
        let (begin, end) = (stamp("turn"), lap("turn", "operation"));
        match self.path {
            _ if self.path.is_part() => {
                let (message, _) = self.operation(resources);
                let [write, read] = [0, 1].map(|at| message[at].clone());
                let (mut answer, rest) = (Vec::new(), lap("turn", "rest"));
                let timed = match self.path {
                    Path::PipeAppend => vec![write.clone(), rest, write, end, read.clone(), read],
                    Path::PipeTake => vec![write.clone(), write, rest, read.clone(), end, read],
                    Path::PipeWake => {
                        answer = vec![not_preempting(), read];
                        vec![write, end, Op::Sleep { ns: AGAIN_NS.into() }, rest]
                    }
                    _ => vec![write, end, read, rest],
                };
                (timed, answer)
            }
            Path::Wakeup => {
                resources.semaphores = vec![semaphores("there", 1, Scope::Program, 0)];
                let timed = vec![begin, up("there", 1u64), end, Op::Sleep { ns: AGAIN_NS.into() }];
                (timed, vec![not_preempting(), down("there")])
            }
            Path::Clone => (vec![begin, fork(Vec::new()), end, wait_all()], Vec::new()),
            Path::Exit => (vec![fork(Vec::new()), begin, wait_all(), end], Vec::new()),
            Path::Tick => {
                let watch = Op::Watch {
                    ns: TICK_NS.into(),
                    over_ns: TICK_NS.into(),
                    longest: "operation".to_owned(),
                    gaps: "gaps".to_owned(),
                    lost: "lost".to_owned(),
                };
                (vec![watch, lap("turn", "span")], Vec::new())
            }
            _ => {
                let (operation, answer) = self.operation(resources);
                ([operation, vec![end]].concat(), answer)
            }
        }
    }

    /// The operation to time, and the operation of the second task.
    fn operation(&self, resources: &mut Resources) -> (Vec<Op>, Vec<Op>) {
        if let Some((kind, round)) = self.path.messages() {
            return self.message(resources, kind, round);
        }
        match self.path {
            Path::Yield => (vec![Op::Yield], Vec::new()),
            Path::YieldRound => (vec![Op::Yield], vec![Op::Yield]),
            Path::Write => (vec![write("/dev/null", self.size, resources)], Vec::new()),
            Path::Vmstat => (vec![write("/proc/sys/vm/stat_refresh", 1, resources)], Vec::new()),
            Path::Sleep => (vec![Op::Sleep { ns: SLEEP_NS.into() }], Vec::new()),
            Path::FutexRound => {
                let semaphore = |name| semaphores(name, 1, Scope::Program, 0);
                resources.semaphores = vec![semaphore("there"), semaphore("back")];
                (vec![up("there", 1u64), down("back")], vec![down("there"), up("back", 1u64)])
            }
            Path::PageFault => {
                resources.regions = vec![region("memory", self.loops * PAGE, Scope::Task)];
                let touch = Op::Touch {
                    region: "memory".into(),
                    offset: Expr::loop_index(0) * PAGE,
                    bytes: PAGE.into(),
                    stride: PAGE as u32,
                    pattern: Pattern::Sequential,
                    write: true,
                };
                (vec![touch], Vec::new())
            }
            Path::Fork | Path::ForkPages | Path::ForkMappings => {
                (vec![fork(Vec::new()), wait_all()], Vec::new())
            }
            Path::Exec => {
                let image =
                    Image::Command { argv: vec!["true".to_owned()], model_ns: 100_000, model: Vec::new() };
                (vec![fork(vec![Op::Exec { image }]), wait_all()], Vec::new())
            }
            _ => (Vec::new(), Vec::new()),
        }
    }

    /// A message to the same task, or a message to a second task and its answer.
    fn message(&self, resources: &mut Resources, kind: ChannelKind, round: bool) -> (Vec<Op>, Vec<Op>) {
        let channel = |name: &str| Channel { no_delay: kind == ChannelKind::Tcp, ..channels(name, kind, 1) };
        if self.path == Path::UnixQueue {
            resources.channels = vec![channels("there", kind, QUEUES)];
            let socket = at("there", Expr::loop_index(0));
            let each = |message| times(QUEUED, vec![times(QUEUES, vec![message])]);
            return (
                vec![each(send(socket.clone(), self.size)), each(receive(socket, self.size))],
                Vec::new(),
            );
        }
        resources.channels = vec![channel("there")];
        let (out, arrive) = (send("there", self.size), receive("there", self.size));
        if !round {
            return (vec![out, arrive], Vec::new());
        }
        let (answer, answered) = if kind == ChannelKind::Pipe {
            resources.channels.push(channel("back"));
            (send("back", self.size), receive("back", self.size))
        } else {
            (reply("there", self.size), await_reply("there", self.size))
        };
        let family =
            if self.path == Path::ForkRound { vec![fork(Vec::new()), wait_all()] } else { Vec::new() };
        ([family.clone(), vec![out, answered]].concat(), [vec![arrive], family, vec![answer]].concat())
    }
}

/// Make a task wait for the end of the waking task's slice: the policy batch does not preempt.
fn not_preempting() -> Op {
    Op::Set { attributes: Attributes { policy: Some(Policy::Batch), ..Attributes::default() } }
}

/// A write to a file, which is added to the resources.
fn write(path: &str, bytes: u64, resources: &mut Resources) -> Op {
    let file = File { name: "file".to_owned(), count: 1, scope: Scope::Task, path: path.to_owned() };
    resources.files.push(file);
    Op::Write { file: "file".into(), bytes: bytes.into() }
}

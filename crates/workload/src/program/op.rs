//! Operations of a task.

use serde::{Deserialize, Serialize};

use super::{Attributes, Expr};

/// One operation of a body. Times are in nanoseconds, sizes in bytes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[allow(missing_docs, reason = "the text of a variant explains its fields")]
pub enum Op {
    /// Compute on registers: a fixed amount of work that takes `ns` on the undisturbed CPU.
    Compute { ns: Expr },
    /// Poll the clock for `ns`. The longest time between two readings goes into the series `longest`. A time longer than
    /// `over_ns` is a gap: a gap adds 1 to the counter `gaps` and its nanoseconds to `lost`.
    Watch { ns: Expr, over_ns: Expr, longest: String, gaps: String, lost: String },
    /// Access every `stride`-th byte of `bytes` bytes of a region from `offset` on, wrapping around at its end.
    Touch {
        region: Ref,
        #[serde(default)]
        offset: Expr,
        bytes: Expr,
        #[serde(default = "cache_line")]
        stride: u32,
        #[serde(default)]
        pattern: Pattern,
        #[serde(default)]
        write: bool,
    },
    /// Send one message; blocks while the channel is full. Sending to a closed channel is an error.
    Send {
        channel: Ref,
        bytes: Expr,
        #[serde(default, skip_serializing_if = "Direction::is_forward")]
        direction: Direction,
    },
    /// Receive exactly `bytes` bytes of a stream, or one datagram of at most `bytes` bytes, and add the number of
    /// bytes received to `counter`. An end of stream ends the innermost enclosing [`Repeat::UntilClosed`]
    /// loop and is an error outside of such a loop.
    Receive {
        channel: Ref,
        bytes: Expr,
        #[serde(default, skip_serializing_if = "Direction::is_forward")]
        direction: Direction,
        #[serde(default, skip_serializing_if = "Take::is_read")]
        take: Take,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        counter: Option<String>,
    },
    /// Acquire a lock.
    Lock { lock: Ref },
    /// Release a lock.
    Unlock { lock: Ref },
    /// Add to a semaphore and wake as many waiters.
    Up {
        semaphore: Ref,
        #[serde(default = "single")]
        count: Expr,
    },
    /// Decrement a semaphore; wait while its value is 0.
    Down { semaphore: Ref },
    /// Wait until all parties of a barrier have arrived.
    Barrier { barrier: Ref },
    /// Release a lock that the task has, wait for a signal of the condition, and acquire the lock again. Only
    /// a signal ends the wait.
    Await { condition: Ref, lock: Ref },
    /// Wake one task that waits for a condition, or all waiting tasks. Without a waiter the signal has no
    /// effect.
    Signal {
        condition: Ref,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        all: bool,
    },
    /// Sleep.
    Sleep { ns: Expr },
    /// Begin a timer's first period now. Without this operation the period begins at the opening of the gate.
    Start { timer: String },
    /// Sleep until the end of the timer's present period, which is the beginning of the next period.
    ///
    /// The series `slack` records the time left until then (0 if the end has passed), the series `latency` how late the
    /// task resumes. If the end has passed, the task does not sleep, and the counter `missed` increases by 1.
    Timer {
        timer: String,
        period_ns: Expr,
        #[serde(default)]
        mode: TimerMode,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        slack: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        latency: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        missed: Option<String>,
    },
    /// Write `bytes` bytes of zeros to a file, by `write(2)`.
    Write { file: Ref, bytes: Expr },
    /// Change this task's scheduling attributes.
    Set { attributes: Attributes },
    /// End the run of the program. Other tasks stop at their present operation.
    Finish,
    /// `sched_yield(2)`.
    Yield,
    /// Start a child process that runs `body` and inherits loop indices.
    Fork { body: Vec<Op> },
    /// Wait for `count` children of this task, or for all children.
    Wait {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        count: Option<Expr>,
    },
    /// Replace this task by a new program image. No later operation is reached.
    Exec { image: Image },
    /// Repeat a body.
    Loop { repeat: Repeat, body: Vec<Op> },
    /// Run one branch, drawn by weight from the task's generator.
    Choose { branches: Vec<Branch> },
    /// Store the present time in a slot.
    Stamp { slot: Ref },
    /// Record the time since the slot's stamp in a series.
    Record { slot: Ref, series: String },
    /// [`Op::Record`], then [`Op::Stamp`], with a single reading of the clock.
    Lap { slot: Ref, series: String },
    /// Add to a counter.
    Count {
        counter: String,
        #[serde(default = "single")]
        by: Expr,
    },
}

impl Op {
    /// The operation and all operations in its bodies, outer operations first.
    pub fn all(&self) -> Vec<&Self> {
        let inside: Vec<&Self> = match self {
            Self::Loop { body, .. }
            | Self::Fork { body }
            | Self::Exec { image: Image::Command { model: body, .. } } => body.iter().collect(),
            Self::Choose { branches } => branches.iter().flat_map(|branch| &branch.body).collect(),
            _ => Vec::new(),
        };
        std::iter::once(self).chain(inside.into_iter().flat_map(Self::all)).collect()
    }

    /// The bodies inside the operation.
    fn bodies(&mut self) -> Vec<&mut Vec<Self>> {
        match self {
            Self::Loop { body, .. }
            | Self::Fork { body }
            | Self::Exec { image: Image::Command { model: body, .. } } => vec![body],
            Self::Choose { branches } => branches.iter_mut().map(|branch| &mut branch.body).collect(),
            _ => Vec::new(),
        }
    }

    /// Change each loop that the program's window ends into a loop without an end.
    pub(super) fn ignore_window(&mut self) {
        if let Self::Loop { repeat: repeat @ Repeat::Window, .. } = self {
            *repeat = Repeat::Count(u64::MAX.into());
        }
        self.bodies().into_iter().flatten().for_each(Self::ignore_window);
    }

    /// Give the resources, counters and series that the operation uses, in its bodies too, the names that `named` returns for their
    /// kinds and names.
    pub(super) fn rename(&mut self, named: &dyn Fn(&str, &str) -> String) {
        let rename = |kind: &str, name: &mut String| *name = named(kind, name);
        let all = |kind: &str, names: &mut [&mut Option<String>]| {
            names.iter_mut().filter_map(|name| name.as_mut()).for_each(|name| rename(kind, name));
        };
        match self {
            Self::Watch { longest, gaps, lost, .. } => {
                rename("series", longest);
                rename("counter", gaps);
                rename("counter", lost);
            }
            Self::Touch { region, .. } => rename("region", &mut region.name),
            Self::Send { channel, .. } => rename("channel", &mut channel.name),
            Self::Receive { channel, counter, .. } => {
                rename("channel", &mut channel.name);
                all("counter", &mut [counter]);
            }
            Self::Lock { lock } | Self::Unlock { lock } => rename("lock", &mut lock.name),
            Self::Up { semaphore, .. } | Self::Down { semaphore } => rename("semaphore", &mut semaphore.name),
            Self::Barrier { barrier } => rename("barrier", &mut barrier.name),
            Self::Await { condition, lock } => {
                rename("condition", &mut condition.name);
                rename("lock", &mut lock.name);
            }
            Self::Signal { condition, .. } => rename("condition", &mut condition.name),
            Self::Start { timer } => rename("timer", timer),
            Self::Timer { timer, slack, latency, missed, .. } => {
                rename("timer", timer);
                all("series", &mut [slack, latency]);
                all("counter", &mut [missed]);
            }
            Self::Write { file, .. } => rename("file", &mut file.name),
            Self::Stamp { slot } => rename("slot", &mut slot.name),
            Self::Record { slot, series } | Self::Lap { slot, series } => {
                rename("slot", &mut slot.name);
                rename("series", series);
            }
            Self::Count { counter, .. } => rename("counter", counter),
            Self::Compute { .. }
            | Self::Sleep { .. }
            | Self::Set { .. }
            | Self::Finish
            | Self::Yield
            | Self::Fork { .. }
            | Self::Wait { .. }
            | Self::Exec { .. }
            | Self::Loop { .. }
            | Self::Choose { .. } => {}
        }
        self.bodies().into_iter().flatten().for_each(|op| op.rename(named));
    }

    /// Remove the models of commands.
    pub(super) fn clear_models(&mut self) {
        if let Self::Exec { image: Image::Command { model, .. } } = self {
            model.clear();
        }
        self.bodies().into_iter().flatten().for_each(Self::clear_models);
    }
}

/// A resource by name, and one of its instances within the scope.
///
/// In JSON a plain name means instance 0.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "RefForm", into = "RefForm")]
pub struct Ref {
    /// Name of the resource.
    pub name: String,
    /// Instance, from 0.
    pub index: Expr,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum RefForm {
    Name(String),
    Indexed { name: String, index: Expr },
}

impl From<RefForm> for Ref {
    fn from(form: RefForm) -> Self {
        match form {
            RefForm::Name(name) => Self { name, index: Expr::Const(0) },
            RefForm::Indexed { name, index } => Self { name, index },
        }
    }
}

impl From<Ref> for RefForm {
    fn from(reference: Ref) -> Self {
        match reference {
            Ref { name, index: Expr::Const(0) } => Self::Name(name),
            Ref { name, index } => Self::Indexed { name, index },
        }
    }
}

/// Beginning of a timer's next period if the end of the present period has been missed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimerMode {
    /// Now: a late period does not shorten the next period.
    #[default]
    Relative,
    /// At the end of the missed period, so that the following periods catch up.
    Absolute,
}

/// Direction of a message on a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// From the channel's near end to its far end: requests. The only direction of a pipe.
    #[default]
    Forward,
    /// From the far end to the near end: replies.
    Backward,
}

impl Direction {
    pub(crate) fn is_forward(&self) -> bool {
        *self == Self::Forward
    }
}

/// Method of reading a message from a stream. A datagram is always read by one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Take {
    /// By `read(2)` calls until the message is complete.
    #[default]
    Read,
    /// By one `recv(2)` that returns when the message is complete (`MSG_WAITALL`); sockets only.
    WaitAll,
    /// Like `wait_all`, but the bytes are discarded without being copied (`MSG_TRUNC`, see tcp(7)); TCP only.
    Discard,
    /// By one read of the available bytes: at least 1, at most `bytes`.
    Available,
    /// By `recv(2)` calls that never wait (`MSG_DONTWAIT`), after one without bytes by `poll(2)`; Unix sockets and TCP only.
    Poll,
    /// Like `poll`, but by `epoll_wait(2)`. The task keeps a set of epoll(7) for each channel.
    Epoll,
}

impl Take {
    pub(crate) fn is_read(&self) -> bool {
        *self == Self::Read
    }

    /// Whether a reader waits for bytes by another call than its read.
    pub fn polls(&self) -> bool {
        matches!(self, Self::Poll | Self::Epoll)
    }
}

/// Order in which memory is accessed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pattern {
    /// Ascending addresses.
    #[default]
    Sequential,
    /// Uniformly random multiples of the stride, the same number as in a sequential walk.
    Random,
    /// As `random`, but each place depends on the value that the access before has read: the latency of memory.
    Chase,
}

/// End condition of a loop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Repeat {
    /// After this many iterations.
    Count(Expr),
    /// When this many nanoseconds have passed since the loop began, tested before each iteration.
    ForNs(Expr),
    /// At the end of the program's window, tested before each iteration.
    Window,
    /// When a receive in the body meets the end of its stream.
    UntilClosed,
    /// After one iteration, whose loop index is this value, computed when the body is entered: a name for a random draw.
    With(Expr),
}

/// A branch of [`Op::Choose`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Branch {
    /// Relative frequency; the weights of a choice add up to more than 0.
    pub weight: u32,
    /// Operations of the branch.
    pub body: Vec<Op>,
}

/// Image that [`Op::Exec`] starts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[allow(missing_docs, reason = "the text of a variant explains its fields")]
pub enum Image {
    /// A fresh copy of the load generator that opens, reads and closes `files` files, writes to `bytes` of new memory,
    /// computes for `ns` and exits.
    Work {
        ns: Expr,
        #[serde(default)]
        bytes: Expr,
        #[serde(default, skip_serializing_if = "Expr::is_zero")]
        files: Expr,
    },
    /// A command, looked up in `PATH`. A simulator, which has no commands, performs `model` and then computes for
    /// `model_ns` instead.
    Command {
        argv: Vec<String>,
        #[serde(default)]
        model_ns: u64,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        model: Vec<Op>,
    },
}

/// Default stride of [`Op::Touch`]: the cache line of the x86-64 and arm64 machines in use (64 bytes).
fn cache_line() -> u32 {
    64
}

fn single() -> Expr {
    Expr::Const(1)
}

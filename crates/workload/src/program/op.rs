//! What a task does.

use serde::{Deserialize, Serialize};

use super::{Attributes, Expr};

/// One operation of a body. Times are in nanoseconds, sizes in bytes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[allow(missing_docs, reason = "the text of a variant explains its fields")]
pub enum Op {
    /// Compute on registers: a fixed amount of work that takes `ns` on the undisturbed CPU.
    Compute { ns: Expr },
    /// Look at the clock again and again for `ns`. The longest time between two looks goes into the series `longest`; one
    /// longer than `over_ns` is a gap: it adds 1 to the counter `gaps` and its nanoseconds to `lost`.
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
    /// bytes received to `counter`. An end of stream ends the innermost enclosing [`Repeat::UntilClosed`] loop and is
    /// an error outside of one.
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
    /// Take one from a semaphore, waiting while it is 0.
    Down { semaphore: Ref },
    /// Wait until all parties of a barrier are here.
    Barrier { barrier: Ref },
    /// Release a lock that the task holds, wait for a signal of the condition, and acquire the lock again. Only a
    /// signal ends the wait: there are no wake-ups without one.
    Await { condition: Ref, lock: Ref },
    /// Wake one task that waits for a condition, or all of them; nothing happens where nobody waits.
    Signal {
        condition: Ref,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        all: bool,
    },
    /// Sleep.
    Sleep { ns: Expr },
    /// Let a timer's first period begin now. Without it, it begins at the opening of the gate.
    Start { timer: String },
    /// Sleep until the end of the timer's present period, where the next one begins.
    ///
    /// The time left until then goes into the series `slack` (0 if it is over), how late the task is back into
    /// `latency`. A period whose end has passed is not slept for and adds 1 to the counter `missed`.
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
    /// Change how this task is scheduled.
    Set { attributes: Attributes },
    /// End the run of the whole program: what other tasks still do is cut off.
    Finish,
    /// `sched_yield(2)`.
    Yield,
    /// Start a child process that runs `body`; it inherits loop indices.
    Fork { body: Vec<Op> },
    /// Wait for `count` children of this task, or for all of them.
    Wait {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        count: Option<Expr>,
    },
    /// Replace this task by a new program image; nothing after it is reached.
    Exec { image: Image },
    /// Repeat a body.
    Loop { repeat: Repeat, body: Vec<Op> },
    /// Run one branch, drawn by weight from the task's own generator.
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

/// A resource by name, and which of its instances within the scope.
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

/// Where a timer's next period begins if the end of the present one has been missed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimerMode {
    /// Now: one late period does not shorten the next.
    #[default]
    Relative,
    /// Where it would have begun: the following periods catch up.
    Absolute,
}

/// Which way a message goes over a channel.
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

/// How a message is taken from a stream; a datagram is always taken by one read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Take {
    /// By `read(2)`, again and again until the message is complete.
    #[default]
    Read,
    /// By one `recv(2)` that returns when the message is complete (`MSG_WAITALL`); sockets only.
    WaitAll,
    /// As `wait_all`, but the bytes are thrown away without being copied (`MSG_TRUNC`, see tcp(7)); TCP only.
    Discard,
    /// By one read of what is there: at least 1 byte, at most `bytes`.
    Available,
}

impl Take {
    pub(crate) fn is_read(&self) -> bool {
        *self == Self::Read
    }
}

/// Order in which memory is accessed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pattern {
    /// Ascending addresses.
    #[default]
    Sequential,
    /// Uniformly random multiples of the stride, as many as a sequential walk would access.
    Random,
}

/// How often a loop's body runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Repeat {
    /// So many times.
    Count(Expr),
    /// Until so many nanoseconds have passed since the loop began, tested before each iteration.
    ForNs(Expr),
    /// Until the end of the program's window, tested before each iteration.
    Window,
    /// Until a receive in the body meets the end of its stream.
    UntilClosed,
    /// Once, with this value, computed when the body is entered, as the loop's index: a name for a draw.
    With(Expr),
}

/// A branch of [`Op::Choose`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Branch {
    /// Relative frequency; the weights of a choice add up to more than 0.
    pub weight: u32,
    /// What the branch does.
    pub body: Vec<Op>,
}

/// What [`Op::Exec`] becomes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[allow(missing_docs, reason = "the text of a variant explains its fields")]
pub enum Image {
    /// A fresh copy of the load generator that writes to `bytes` of new memory, computes for `ns` and exits.
    Work {
        ns: Expr,
        #[serde(default)]
        bytes: Expr,
    },
    /// A command, looked up in `PATH`. A simulator, which has no commands, runs `model_ns` of computation instead.
    Command { argv: Vec<String>, model_ns: u64 },
}

/// Default stride of [`Op::Touch`]: the cache line of the x86-64 and arm64 machines in use (64 bytes).
fn cache_line() -> u32 {
    64
}

fn single() -> Expr {
    Expr::Const(1)
}

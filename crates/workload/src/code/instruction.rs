//! Instructions of a task's code, with their operands.

use super::value::Value;
use crate::program::{Direction, Pattern, Take, TimerMode};

/// One instruction. Targets are positions in the list. Instructions are small (see [`Value`]): rare large operands are boxed.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Instruction {
    Enter { limit: Limit, exit: usize },
    Again { body: usize },
    Choose(Box<Choice>),
    Jump(usize),
    Fork { after: usize },
    Run(Box<Run>),
    End,
    Compute(Value),
    Watch(Box<Watch>),
    Touch(Box<Touch>),
    Send { channel: Value, bytes: Value, direction: Direction },
    Receive(Box<Receive>),
    Lock(Value),
    Unlock(Value),
    Up { semaphore: Value, count: Value },
    Down(Value),
    Barrier(Value),
    Await { condition: Value, lock: Value },
    Signal { condition: Value, all: bool },
    Sleep(Value),
    Start(u32),
    Arm(Box<Arm>),
    Fire,
    Late { latency: Option<u32>, missed: Option<u32> },
    Write { file: Value, bytes: Value },
    Set(u32),
    Finish,
    Yield,
    Wait(Option<Value>),
    ExecWork(Box<[Value; 3]>),
    ExecCommand(u32),
    Stamp(Value),
    Record { slot: Value, series: u32 },
    Lap { slot: Value, series: u32 },
    Count { counter: u32, by: Value },
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Watch {
    pub ns: Value,
    pub over_ns: Value,
    pub longest: u32,
    pub gaps: u32,
    pub lost: u32,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Touch {
    pub region: Value,
    pub offset: Value,
    pub bytes: Value,
    pub stride: u32,
    pub pattern: Pattern,
    pub write: bool,
}

/// The beginning of a timer's wait: [`Instruction::Fire`] and [`Instruction::Late`] follow.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Arm {
    pub timer: u32,
    pub period_ns: Value,
    pub mode: TimerMode,
    pub slack: Option<u32>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Receive {
    pub channel: Value,
    pub bytes: Value,
    pub direction: Direction,
    pub take: Take,
    pub counter: Option<u32>,
}

/// A loop whose body is a single message: a burst, which sends or receives all messages without running the loop.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Run {
    pub sends: bool,
    /// Channel of the first message.
    pub channel: Value,
    /// Distance of the channel numbers of successive messages.
    pub stride: u32,
    pub bytes: Value,
    pub direction: Direction,
    pub take: Take,
    pub counter: Option<u32>,
    /// Number of messages; `None` for a burst that ends when the channel is closed.
    pub count: Option<Value>,
}

/// Branches: cumulative weights and first instructions.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Choice {
    pub total: u64,
    pub branches: Vec<(u64, usize)>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Limit {
    Count(Value),
    ForNs(Value),
    Window,
    UntilClosed,
    With(Value),
}

#[cfg(test)]
#[path = "../../tests/unit/code/instruction.rs"]
mod tests;

//! Short constructors, so that a library program resembles its JSON.

use super::{
    Better, Channel, ChannelKind, Direction, Expr, Lock, Metric, Mode, Op, Quantity, Ref, Region, Repeat,
    Scope, Semaphore, Slot, Take, TaskGroup,
};

/// Instance `index` of the resource `name`.
pub fn at(name: &str, index: impl Into<Expr>) -> Ref {
    Ref { name: name.to_owned(), index: index.into() }
}

impl From<&str> for Ref {
    fn from(name: &str) -> Self {
        at(name, 0u64)
    }
}

/// Repeat `body` `count` times.
pub fn times(count: impl Into<Expr>, body: Vec<Op>) -> Op {
    Op::Loop { repeat: Repeat::Count(count.into()), body }
}

/// Repeat `body` until the end of the window.
pub fn within_window(body: Vec<Op>) -> Op {
    Op::Loop { repeat: Repeat::Window, body }
}

/// Repeat `body` until a receive in `body` meets the end of its stream.
pub fn until_closed(body: Vec<Op>) -> Op {
    Op::Loop { repeat: Repeat::UntilClosed, body }
}

/// Run `body` once with `value` as its loop index.
pub fn with(value: impl Into<Expr>, body: Vec<Op>) -> Op {
    Op::Loop { repeat: Repeat::With(value.into()), body }
}

/// Add `count` to a semaphore.
pub fn up(semaphore: impl Into<Ref>, count: impl Into<Expr>) -> Op {
    Op::Up { semaphore: semaphore.into(), count: count.into() }
}

/// Wait while the value of a semaphore is 0, then decrement the value.
pub fn down(semaphore: impl Into<Ref>) -> Op {
    Op::Down { semaphore: semaphore.into() }
}

/// Run `body` while holding `lock`.
pub fn locked(lock: impl Into<Ref>, body: Vec<Op>) -> Vec<Op> {
    let lock = lock.into();
    let acquire = Op::Lock { lock: lock.clone() };
    std::iter::once(acquire).chain(body).chain([Op::Unlock { lock }]).collect()
}

/// Start a child process that runs `body`.
pub fn fork(body: Vec<Op>) -> Op {
    Op::Fork { body }
}

/// Wait for all children.
pub fn wait_all() -> Op {
    Op::Wait { count: None }
}

/// Send `bytes` forward.
pub fn send(channel: impl Into<Ref>, bytes: impl Into<Expr>) -> Op {
    Op::Send { channel: channel.into(), bytes: bytes.into(), direction: Direction::Forward }
}

/// Receive `bytes` that were sent forward.
pub fn receive(channel: impl Into<Ref>, bytes: impl Into<Expr>) -> Op {
    receive_by(channel, bytes, Direction::Forward, Take::Read)
}

/// Send `bytes` backward.
pub fn reply(channel: impl Into<Ref>, bytes: impl Into<Expr>) -> Op {
    Op::Send { channel: channel.into(), bytes: bytes.into(), direction: Direction::Backward }
}

/// Receive `bytes` that were sent backward.
pub fn await_reply(channel: impl Into<Ref>, bytes: impl Into<Expr>) -> Op {
    receive_by(channel, bytes, Direction::Backward, Take::Read)
}

/// Receive `bytes` of a direction by a method.
pub fn receive_by(channel: impl Into<Ref>, bytes: impl Into<Expr>, direction: Direction, take: Take) -> Op {
    Op::Receive { channel: channel.into(), bytes: bytes.into(), direction, take, counter: None }
}

/// Receive the available bytes, at most `bytes`, that were sent forward, and add their number to `counter`.
pub fn drain(channel: impl Into<Ref>, bytes: impl Into<Expr>, counter: &str) -> Op {
    Op::Receive {
        channel: channel.into(),
        bytes: bytes.into(),
        direction: Direction::Forward,
        take: Take::Available,
        counter: Some(counter.to_owned()),
    }
}

/// Compute for `ns` nanoseconds.
pub fn compute(ns: impl Into<Expr>) -> Op {
    Op::Compute { ns: ns.into() }
}

/// Add `by` to `counter`.
pub fn count(counter: &str, by: impl Into<Expr>) -> Op {
    Op::Count { counter: counter.to_owned(), by: by.into() }
}

/// Store the present time in `slot`.
pub fn stamp(slot: impl Into<Ref>) -> Op {
    Op::Stamp { slot: slot.into() }
}

/// Record the time since `slot`'s stamp in `series`.
pub fn record(slot: impl Into<Ref>, series: &str) -> Op {
    Op::Record { slot: slot.into(), series: series.to_owned() }
}

/// Record the time since `slot`'s stamp in `series` and stamp the slot again.
pub fn lap(slot: impl Into<Ref>, series: &str) -> Op {
    Op::Lap { slot: slot.into(), series: series.to_owned() }
}

/// `count` channels of a kind per replica.
pub fn channels(name: &str, kind: ChannelKind, count: u32) -> Channel {
    Channel { name: name.to_owned(), count, scope: Scope::Replica, kind, no_delay: false, buffer: None }
}

/// `count` locks.
pub fn locks(name: &str, count: u32, scope: Scope) -> Lock {
    Lock { name: name.to_owned(), count, scope }
}

/// `count` semaphores that start at `initial`.
pub fn semaphores(name: &str, count: u32, scope: Scope, initial: u32) -> Semaphore {
    Semaphore { name: name.to_owned(), count, scope, initial }
}

/// A region of `bytes` bytes.
pub fn region(name: &str, bytes: u64, scope: Scope) -> Region {
    Region { name: name.to_owned(), count: 1, scope, bytes }
}

/// `count` slots.
pub fn slots(name: &str, count: u32, scope: Scope) -> Slot {
    Slot { name: name.to_owned(), count, scope }
}

/// A group of `count` tasks.
pub fn group(name: &str, count: u32, mode: Mode, body: Vec<Op>) -> TaskGroup {
    TaskGroup {
        name: name.to_owned(),
        count,
        mode,
        program: false,
        disturbs_after_ns: None,
        background: false,
        body,
    }
}

/// A metric with lower values better.
pub fn lower(name: &str, unit: &str, quantity: Quantity, factor: f64) -> Metric {
    Metric { name: name.to_owned(), unit: unit.to_owned(), direction: Better::Lower, quantity, factor }
}

/// A metric with higher values better.
pub fn higher(name: &str, unit: &str, quantity: Quantity, factor: f64) -> Metric {
    Metric { name: name.to_owned(), unit: unit.to_owned(), direction: Better::Higher, quantity, factor }
}

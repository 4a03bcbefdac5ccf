//! Tasks: their attributes, their programs, and their shared objects.

mod acknowledge;
mod attributes;
mod birth;
mod buffers;
mod channel;
mod deadlock;
mod exec;
mod family;
mod fetch;
mod gate;
mod mutex;
mod pages;
mod perform;
mod place;
mod program;
mod receive;
mod records;
mod runs;
mod send;
mod sync;
mod table;
mod task;
mod tcp;
mod waiters;

pub use attributes::Attributes;
pub use task::Class;

pub(crate) use channel::Flow;
pub(crate) use deadlock::Waits;
pub(crate) use exec::Script;
pub(crate) use gate::GateState;
pub(crate) use place::Writers;
pub(crate) use program::ProgramState;
pub(crate) use sync::{Lock, Meeting, Semaphore};
pub(crate) use table::Tasks;
pub(crate) use task::{
    Action, BANDWIDTH, CACHE, CARRY, EXTRAS, Latencies, MESSAGES, Phase, REMOTE, Segment, State, Task,
    WaitQueue,
};

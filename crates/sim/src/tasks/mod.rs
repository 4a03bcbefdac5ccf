//! Tasks and what they wait for.

mod attributes;
mod channel;
mod exec;
mod family;
mod gate;
mod messages;
mod perform;
mod program;
mod recording;
mod segment;
mod settings;
mod sync;
mod table;
mod task;
mod touching;
mod waiting;
mod watching;

pub use settings::Attributes;
pub use task::Class;

pub(crate) use channel::Flow;
pub(crate) use exec::Script;
pub(crate) use gate::GateState;
pub(crate) use program::ProgramState;
pub(crate) use segment::{BANDWIDTH, CACHE, CARRY, EXTRAS, MESSAGES, REMOTE, Segment};
pub(crate) use settings::TaskSettings;
pub(crate) use sync::{Condition, Lock, Meeting, Semaphore};
pub(crate) use table::Tasks;
pub(crate) use task::{Action, Latencies, Phase, State, Task, WaitQueue};

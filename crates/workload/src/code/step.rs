//! The steps that an executor performs.

use crate::program::{Direction, Pattern, Take};

/// A primitive action of a task. Resources are the plan's numbers; times are nanoseconds, sizes bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the text of a variant explains its fields")]
pub enum Step {
    /// Compute for `ns` of undisturbed CPU time.
    Compute { ns: u64 },
    /// Poll the clock for `ns`: record the longest gap between two readings in `longest`, count gaps over `over_ns` in `gaps`,
    /// and add their lengths to `lost`.
    Watch { ns: u64, over_ns: u64, longest: u32, gaps: u32, lost: u32 },
    /// Access memory: every `stride`-th of `bytes` bytes from `offset` on, wrapping around at the region's end.
    Touch { region: u32, offset: u64, bytes: u64, stride: u32, pattern: Pattern, write: bool, seed: u64 },
    /// Send a message.
    Send { channel: u32, bytes: u64, direction: Direction },
    /// Receive a message and add its size to the counter; at the end of the stream call [`super::Cursor::closed`].
    Receive { channel: u32, bytes: u64, direction: Direction, take: Take, counter: Option<u32> },
    /// Acquire a lock.
    Lock(u32),
    /// Release a lock.
    Unlock(u32),
    /// Add to a semaphore.
    Up { semaphore: u32, count: u64 },
    /// Decrement a semaphore.
    Down(u32),
    /// Meet the other tasks at a barrier.
    Barrier(u32),
    /// Release an acquired lock, wait for a signal of a condition, acquire the lock again.
    Await { condition: u32, lock: u32 },
    /// Wake one task that waits for a condition, or all waiting tasks.
    Signal { condition: u32, all: bool },
    /// Sleep.
    Sleep { ns: u64 },
    /// Sleep until `at_ns` nanoseconds after the opening of the gate.
    Until { at_ns: u64 },
    /// Write zeros to a file.
    Write { file: u32, bytes: u64 },
    /// Change the task's scheduling attributes to the attributes that [`super::Cursor::attributes`] returns for this number.
    Set(u32),
    /// End the run of the program.
    Finish,
    /// Yield the CPU.
    Yield,
    /// Start a child whose steps are [`super::Cursor::child`]'s, to be called before the next step.
    Fork,
    /// Wait for this number of children, or for all children.
    Wait { count: Option<u64> },
    /// Execute a fresh image of the load generator, which does this work and exits.
    ExecWork(Work),
    /// Execute the command whose arguments and cost [`super::Cursor::command`] returns for this number.
    ExecCommand(u32),
    /// Store the time in a slot.
    Stamp(u32),
    /// Record the time since a slot's stamp.
    Record { slot: u32, series: u32 },
    /// Record the time since a slot's stamp, and stamp the slot again.
    Lap { slot: u32, series: u32 },
    /// Record a given value.
    Observe { series: u32, ns: u64 },
    /// Add to a counter.
    Count { counter: u32, by: u64 },
    /// The end of the body.
    End,
}

/// A step of one of the frequent kinds; see [`super::Cursor::frequent`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "as above")]
pub enum Frequent {
    Compute { ns: u64 },
    Sleep { ns: u64 },
    Count { counter: u32, by: u64 },
}

impl From<Frequent> for Step {
    #[inline]
    fn from(step: Frequent) -> Self {
        match step {
            Frequent::Compute { ns } => Self::Compute { ns },
            Frequent::Sleep { ns } => Self::Sleep { ns },
            Frequent::Count { counter, by } => Self::Count { counter, by },
        }
    }
}

/// Work of a fresh image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Work {
    /// Nanoseconds of computation.
    pub ns: u64,
    /// Bytes of fresh memory that the image writes to first.
    pub bytes: u64,
    /// Files that the image opens, reads and closes before.
    pub files: u64,
}

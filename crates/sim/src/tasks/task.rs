//! A task.

use schedlab_workload::Step;

use crate::observe::TaskReport;
use crate::physics::Warmth;
use crate::sched::{NOBODY, TaskIx};
use crate::tasks::{Segment, Tasks};
use crate::time::Ns;
use crate::vmstat::Duty;

/// How a task is scheduled (sched(7)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Class {
    /// SCHED_OTHER.
    #[default]
    Normal,
    /// SCHED_BATCH: does not preempt when it wakes.
    Batch,
    /// SCHED_IDLE: of least weight, and any other task preempts it.
    Idle,
    /// SCHED_FIFO with a priority of 1 to 99.
    Fifo(u8),
    /// SCHED_RR with a priority of 1 to 99.
    RoundRobin(u8),
}

impl Class {
    /// The priority of a real-time task.
    #[inline]
    pub fn realtime(self) -> Option<u8> {
        match self {
            Self::Fifo(priority) | Self::RoundRobin(priority) => Some(priority),
            _ => None,
        }
    }
}

/// Whether a task can run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// On a CPU.
    Running,
    /// On its CPU's queue.
    Waiting,
    /// Waits for a timer.
    Sleeping,
    /// Waits for another task.
    Blocked,
    /// Has ended; its place may be used again.
    Dead,
}

/// What a task does: a step of its program, or a part of its life that programs do not speak of.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Action {
    /// A step of its program.
    Step(Step),
    /// Reports to the start gate.
    Ready,
    /// Waits for the gate's opening.
    Pass,
    /// The main task: creates the task with an ordinal.
    Create(u32),
    /// The main task: waits until all have reported.
    AwaitReady,
    /// The main task: opens the gate, having woken so many.
    Open,
    /// The main task: waits for the end of all.
    Reap,
    /// A fresh image: first touch of so many bytes, then so much computation.
    Image { bytes: u64, ns: Ns },
    /// Computes, as a fresh image.
    Work { ns: Ns },
    /// Ends.
    Exit,
    /// A kernel thread: virtual memory's statistics.
    Vmstat(Duty),
}

/// Where a task is in its action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The next action is to be fetched.
    Next,
    /// The action is to be begun, or begun again after a wait.
    Begin,
    /// Its segment has run, its effect is due.
    Effect,
}

/// A task's wake-up latencies.
#[derive(Debug, Clone, Default)]
#[repr(C, align(64))]
pub(crate) struct Latencies {
    pub sum: Ns,
    pub most: Ns,
    pub buckets: [u32; TaskReport::BUCKETS],
}

/// A task. Programs, policies' entities and counts lie in tables of their own.
///
/// The order of fields is that of their use: a wake-up and a switch need the first two cache lines and only what is rare the
/// rest.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Task {
    pub state: State,
    pub phase: Phase,
    pub class: Class,
    pub cpu: u16,
    /// Position in the engine's table of affinity masks; 0 allows every CPU that is not isolated.
    pub mask: u16,
    /// Small work that is done with the next segment.
    pub carry: u32,
    pub footprint_kib: u32,
    /// Whom it wakes: last one, changes, and in which period they were last halved.
    pub last_wakee: TaskIx,
    pub wakee_flips: u16,
    pub flips_period: u16,
    pub woken_at: Ns,
    /// When it last ran: what decides about its being cache-hot.
    pub ran_at: Ns,
    pub ran_ns: Ns,
    pub user_ns: Ns,
    /// Switches from it while it could not go on, and wake-ups.
    pub voluntary: u32,
    pub wakeups: u32,

    pub segment: Segment,
    pub warmth: Warmth,
    /// Switches from it while it could have gone on, and changes of CPU.
    pub involuntary: u32,
    pub migrations: u32,

    pub action: Action,
    /// Next in the queue in which it waits.
    pub next: TaskIx,
    /// Of a message or touch: bytes still to move, and moved. Of a watch: when the clock was seen last, and the longest
    /// gap.
    pub left: u64,
    pub moved: u64,
    /// Left of a SCHED_RR slice.
    pub slice_left: Ns,
    pub parent: TaskIx,
    pub children: u32,
    pub ended: u32,
    /// Ordinal in the plan that its program comes from; `u32::MAX` for the main task.
    pub ordinal: u32,
    pub thread: bool,
    pub memory_node: Option<u8>,
    pub nice: i8,
    /// Class and slice that it changes to.
    pub next_class: Class,
    pub next_slice: Option<Ns>,
    /// Forked by a program's task, not created by the main one.
    pub is_child: bool,
    /// A kernel thread.
    pub kernel: bool,
    /// Node of its stack in the kernel; pages of a fresh image, and their node.
    pub stack_node: u16,
    pub image_node: u16,
    pub image_pages: u32,
}

impl Task {
    pub fn new(parent: TaskIx, ordinal: u32, action: Action) -> Self {
        Self {
            state: State::Blocked,
            phase: Phase::Begin,
            class: Class::Normal,
            cpu: 0,
            mask: 0,
            carry: 0,
            footprint_kib: 0,
            last_wakee: NOBODY,
            wakee_flips: 0,
            flips_period: 0,
            woken_at: 0,
            ran_at: 0,
            ran_ns: 0,
            user_ns: 0,
            voluntary: 0,
            wakeups: 0,
            segment: Segment::EMPTY,
            warmth: Warmth::COLD,
            involuntary: 0,
            migrations: 0,
            action,
            next: NOBODY,
            left: 0,
            moved: 0,
            slice_left: 0,
            parent,
            children: 0,
            ended: 0,
            ordinal,
            thread: false,
            memory_node: None,
            nice: 0,
            next_class: Class::Normal,
            next_slice: None,
            is_child: false,
            kernel: false,
            stack_node: 0,
            image_node: 0,
            image_pages: 0,
        }
    }
}

/// Tasks that wait for the same thing, first come first served; linked through [`Task::next`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct WaitQueue {
    first: TaskIx,
    last: TaskIx,
}

impl Default for WaitQueue {
    fn default() -> Self {
        Self { first: NOBODY, last: NOBODY }
    }
}

impl WaitQueue {
    pub fn is_empty(&self) -> bool {
        self.first == NOBODY
    }

    pub fn push(&mut self, tasks: &mut Tasks<'_>, task: TaskIx) {
        tasks[task].next = NOBODY;
        if self.first == NOBODY {
            self.first = task;
        } else {
            tasks[self.last].next = task;
        }
        self.last = task;
    }

    pub fn pop(&mut self, tasks: &Tasks<'_>) -> Option<TaskIx> {
        let first = (self.first != NOBODY).then_some(self.first)?;
        self.first = tasks[first].next;
        Some(first)
    }
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::Task;

    #[test]
    fn what_events_need_of_a_task_lies_in_two_cache_lines() {
        assert_eq!(offset_of!(Task, segment), 64);
        assert_eq!(offset_of!(Task, action), 128);
    }
}

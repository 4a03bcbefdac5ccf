//! The task, its state and its current action.

use schedlab_workload::{Plan, Step};

use crate::ledger::Account;
use crate::physics::Warmth;
use crate::sched::{NOBODY, TaskIx};
use crate::tasks::Tasks;
use crate::time::Ns;
use crate::vmstat::Duty;

/// How a task is scheduled (sched(7)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Class {
    /// SCHED_OTHER.
    #[default]
    Normal,
    /// SCHED_BATCH: a waking task does not preempt.
    Batch,
    /// SCHED_IDLE: the task has the least weight, and every other task preempts it.
    Idle,
    /// SCHED_FIFO with a priority of 1 to 99.
    Fifo(u8),
    /// SCHED_RR with a priority of 1 to 99.
    RoundRobin(u8),
    /// SCHED_DEADLINE, with a [`Budget`](crate::sched::Budget).
    Deadline,
}

/// Priority above those of real-time tasks.
const DEADLINE_PRIORITY: u8 = 100;

impl Class {
    /// Whether the class is SCHED_DEADLINE.
    #[inline]
    pub fn is_deadline(self) -> bool {
        self == Self::Deadline
    }

    /// The priority of a real-time task, or a higher one for a deadline task.
    #[inline]
    pub fn realtime(self) -> Option<u8> {
        match self {
            Self::Fifo(priority) | Self::RoundRobin(priority) => Some(priority),
            Self::Deadline => Some(DEADLINE_PRIORITY),
            _ => None,
        }
    }
}

/// Whether a task can run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum State {
    /// On a CPU.
    Running,
    /// On its CPU's queue.
    Waiting,
    /// A runnable deadline task that waits for its replenishment.
    Throttled,
    /// Waits for a timer.
    Sleeping,
    /// Waits for another task.
    #[default]
    Blocked,
    /// The task has ended, and its entry may be reused.
    Dead,
}

/// Action of a task: a step of its program, or a part of its life that programs do not describe.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) enum Action {
    /// A step of its program.
    Step(Step),
    /// Executes `time`, which a shell has started, or the program that `time` has started.
    Start,
    /// `time` forks the process of the program.
    Launch,
    /// Reports to the start gate that the task is ready.
    Ready,
    /// Waits until the start gate opens.
    Pass,
    /// The main task: creates the task with this ordinal.
    Create(u32),
    /// The main task: waits until all tasks are ready.
    AwaitReady,
    /// The main task: opens the gate and wakes the waiting tasks.
    Open,
    /// The main task: waits until all tasks have ended.
    Reap,
    /// A command's new image after exec; the task then performs the command's model.
    Command,
    /// A new image after exec: reading of `files` files, first touch of `bytes` bytes, then `ns` of computation.
    Image { files: u64, bytes: u64, ns: Ns },
    /// The remaining computation of a new image.
    Work { ns: Ns },
    /// At the end of its program: writes pages that it has inherited from the main task.
    WriteInherited { pages: u64 },
    /// Exits.
    #[default]
    Exit,
    /// A kernel thread that folds the statistics of virtual memory.
    Vmstat(Duty),
}

/// Progress of a task in its action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Phase {
    /// The task fetches its next action.
    Next,
    /// The task begins its action, or begins the action again after a wait.
    #[default]
    Begin,
    /// The segment of the action runs; its effect follows.
    Effect,
}

/// A task's wake-up latencies.
#[derive(Debug, Clone, Default)]
#[repr(C, align(64))]
pub(crate) struct Latencies {
    pub sum: Ns,
    pub most: Ns,
}

/// Accounts of a segment's extra time, in order.
pub(crate) const EXTRAS: [Account; 5] =
    [Account::User, Account::Cache, Account::Remote, Account::Bandwidth, Account::Messages];

// Indices in `EXTRAS`.
pub(crate) const CARRY: usize = 0;
pub(crate) const CACHE: usize = 1;
pub(crate) const REMOTE: usize = 2;
pub(crate) const BANDWIDTH: usize = 3;
pub(crate) const MESSAGES: usize = 4;

/// An uninterrupted piece of a task's work.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Segment {
    /// Nanoseconds at full speed until the end, extras included.
    pub left: Ns,
    pub extras: [u32; EXTRAS.len()],
    pub account: Account,
    /// The task watches the clock: gaps in the clock are reported to the task.
    pub watched: bool,
}

impl Segment {
    pub const EMPTY: Self = Self::new(Account::User, 0);

    pub const fn new(account: Account, ns: Ns) -> Self {
        Self { left: ns, extras: [0; EXTRAS.len()], account, watched: false }
    }

    /// Whether there is work in addition to the extras.
    #[inline]
    pub fn has_work(&self) -> bool {
        self.left > self.extra()
    }

    /// Sum of the extras.
    #[inline]
    pub fn extra(&self) -> Ns {
        self.extras.iter().map(|extra| u64::from(*extra)).sum()
    }

    /// Add `ns` of extra time, which is spent before the work.
    #[inline]
    pub fn add(&mut self, extra: usize, ns: Ns) {
        let ns = ns.min(u64::from(u32::MAX - self.extras[extra]));
        self.extras[extra] += ns as u32;
        self.left += ns;
    }
}

/// A task. The program of a task, the policy's entity and the latencies are in separate tables.
///
/// Fields are ordered by use: wake-ups and switches need only the first two cache lines.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub(crate) struct Task {
    pub state: State,
    pub phase: Phase,
    pub class: Class,
    pub cpu: u16,
    /// Index in the table of affinity masks; 0 allows every CPU that is not isolated.
    pub mask: u16,
    /// Work in ns that is too short for a separate segment and runs with the next segment.
    pub carry: u32,
    pub footprint_kib: u32,
    /// Last task that this task woke (`last_wakee`), changes of the last wakee (`wakee_flips`), and the period of the
    /// last halving of these changes.
    pub last_wakee: TaskIx,
    pub wakee_flips: u16,
    pub flips_period: u16,
    pub woken_at: Ns,
    /// End of its last run; decides whether the task is cache-hot.
    pub ran_at: Ns,
    pub ran_ns: Ns,
    pub user_ns: Ns,
    /// Switches away from the task because the task waited, and the task's wake-ups.
    pub voluntary: u32,
    pub wakeups: u32,

    pub segment: Segment,
    pub warmth: Warmth,
    /// Switches away from the task while the task was runnable, and the task's changes of CPU.
    pub involuntary: u32,
    pub migrations: u32,

    pub action: Action,
    /// Next task in the wait queue.
    pub next: TaskIx,
    /// Bytes that a message or touch has still to move, and bytes that have been moved. During a watch: time of the
    /// last reading of the clock, and the longest gap.
    pub left: u64,
    pub moved: u64,
    /// Rest of the SCHED_RR slice.
    pub slice_left: Ns,
    pub parent: TaskIx,
    /// Children that run, and ended children for which the task has not waited.
    pub children: u32,
    pub ended: u32,
    /// Ordinal of the task in the plan; `NOBODY` for the main task and kernel threads.
    pub ordinal: u32,
    pub thread: bool,
    /// Number of the address space (`task->mm`); 0 for kernel threads, which run in the address space of the task before.
    pub mm: u32,
    pub memory_node: Option<u8>,
    pub nice: i8,
    /// Class that takes effect when the task is queued anew.
    pub next_class: Class,
    /// Slice of its own, which takes effect when the task is queued anew.
    pub slice_ns: Option<Ns>,
    /// Forked by a task of the program instead of created by the main task.
    pub is_child: bool,
    /// A kernel thread.
    pub kernel: bool,
    /// Switched away from while it was runnable, for whatever reason, since its last receive.
    pub preempted: bool,
    /// A CPU on which the task ran before (`recent_used_cpu`).
    pub recent_cpu: u16,
    /// Node of the kernel stack; node and number of the pages of its image.
    pub stack_node: u16,
    pub image_node: u16,
    pub image_pages: u32,
}

impl Task {
    pub fn new(parent: TaskIx, ordinal: u32, action: Action) -> Self {
        Self { last_wakee: NOBODY, action, next: NOBODY, parent, ordinal, ..Self::default() }
    }

    /// Name of the task in messages and timelines.
    pub fn name(&self, plan: &Plan) -> String {
        if self.kernel {
            return format!("kworker/{}:vmstat", self.cpu);
        }
        if self.ordinal == NOBODY {
            return "the main task".to_owned();
        }
        let name = plan.describe(plan.task(self.ordinal));
        if self.is_child { format!("a child of {name}") } else { name }
    }
}

/// First-in, first-out queue of waiting tasks, linked through [`Task::next`].
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
#[path = "../../tests/unit/tasks/task.rs"]
mod tests;

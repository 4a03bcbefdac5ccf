//! What a scheduling policy for ordinary tasks has to do.

use std::fmt::Debug;

use crate::kernel::{Kernel, Tunables};
use crate::time::Ns;

/// Number of a task in the simulation's table.
pub type TaskIx = u32;

/// No task: the CPU idles, or nobody is meant.
pub(crate) const NOBODY: TaskIx = TaskIx::MAX;

/// Why a task enters a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enqueue {
    /// It has slept. `moved`: on another CPU's queue before; `sync`: the waker is about to sleep.
    Wake {
        /// Whether it was [`Policy::detach`]ed from another queue.
        moved: bool,
        /// Whether its waker announced that it will sleep.
        sync: bool,
    },
    /// It is new.
    New,
    /// Balancing has moved it here.
    Moved,
}

/// What a policy may ask about the machine.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// CPUs of the machine.
    pub cpus: usize,
    /// Length of a tick.
    pub tick_ns: Ns,
}

/// A policy: how the ordinary tasks of one CPU take turns.
///
/// A queue knows its waiting tasks and which task is current; real-time tasks are the core's business and never appear
/// here. A task's share of everything is in its entity; `all` are the entities of all tasks, by [`TaskIx`]. Run time
/// has always been [`Policy::update_curr`]d up to `now` when another method is called.
pub trait Policy: Sized {
    /// State of one CPU.
    type Queue: Clone + Debug + Default;
    /// State of one task.
    type Entity: Clone + Debug + Default;

    /// Whether idle CPUs keep their ticks, as they do before 2.6.21.
    const TICKS_WHEN_IDLE: bool = false;

    /// Whether the writer of a message wakes its reader with the announcement that it is about to sleep
    /// (`wake_up_interruptible_sync_poll()`), and the reader its writer likewise. `pipe`: the channel is a pipe; `waits`:
    /// the waker has to wait itself.
    fn wakes_sync(_pipe: bool, _waits: bool) -> bool {
        true
    }

    /// When the lock of a queue is free that a context switch holds at `at`; 0 if no switch holds it.
    #[inline(always)]
    fn switch_lock_free_at(_: &Self::Queue, _at: Ns) -> Ns {
        0
    }

    /// A CPU stops idling: its next context switch is from the idle task.
    #[inline(always)]
    fn leave_idle(_: &mut Self::Queue) {}

    /// A context switch of a queue's CPU has lasted from `from` to `to`. Returns how long the CPU is busy with it after
    /// `to`; `mmdrop_ns` is what it costs to drop the reference to an address space.
    #[inline(always)]
    fn context_switch(&self, _: &mut Self::Queue, _from: Ns, _to: Ns, _mmdrop_ns: u32) -> Ns {
        0
    }

    /// A policy with the tunables' values at boot.
    fn new(kernel: &Kernel, tunables: &Tunables, setting: Setting) -> Self;

    /// Tunables have changed.
    fn retune(&mut self, tunables: &Tunables);

    /// A task's entity at its creation. `slice_ns` is its own slice, where its attributes have one.
    fn entity(&self, weight: u32, nice: i32, slice_ns: Option<Ns>) -> Self::Entity;

    /// `child` has been forked by `parent`, current on `queue` if it is an ordinary task.
    fn task_fork(
        &self,
        queue: &Self::Queue,
        all: &mut [Self::Entity],
        parent: Option<TaskIx>,
        child: TaskIx,
        now: Ns,
    );

    /// A child of `parent` ends.
    fn exit(&self, all: &mut [Self::Entity], parent: TaskIx, child: TaskIx);

    /// A task that sleeps will be enqueued elsewhere; `from` is the queue it slept on.
    fn detach(&self, from: &Self::Queue, entity: &mut Self::Entity);

    /// A task becomes runnable and waits.
    fn enqueue(&self, queue: &mut Self::Queue, all: &mut [Self::Entity], task: TaskIx, how: Enqueue, now: Ns);

    /// A waiting task leaves, because balancing moves it to another queue.
    fn dequeue(&self, queue: &mut Self::Queue, all: &mut [Self::Entity], task: TaskIx, now: Ns);

    /// The current task ends, or leaves for another queue.
    fn block(&self, queue: &mut Self::Queue, all: &mut [Self::Entity], task: TaskIx, now: Ns);

    /// The current task sleeps; it may stay in its queue (delayed dequeue), where it competes without being able to run.
    fn sleep(&self, queue: &mut Self::Queue, all: &mut [Self::Entity], task: TaskIx, now: Ns) {
        self.block(queue, all, task, now);
    }

    /// Whether a sleeping task is still in its queue (`se->sched_delayed`). It then wakes up there.
    fn sched_delayed(_: &Self::Entity) -> bool {
        false
    }

    /// The current task stays runnable and waits: a real-time task takes the CPU.
    fn put_prev_task(&self, queue: &mut Self::Queue, all: &mut [Self::Entity], task: TaskIx, now: Ns);

    /// Chooses who runs next and makes it current; `previous` is the current task if it is still runnable, and goes back
    /// to waiting if another is chosen.
    fn pick_next_task(
        &self,
        queue: &mut Self::Queue,
        all: &mut [Self::Entity],
        previous: Option<TaskIx>,
        now: Ns,
    ) -> Option<TaskIx>;

    /// The current task has run for `ns`. Returns whether the CPU should reschedule (`update_curr()`).
    fn update_curr(&self, queue: &mut Self::Queue, all: &mut [Self::Entity], current: TaskIx, ns: Ns)
    -> bool;

    /// The tick; whether the current task should be rescheduled.
    fn task_tick(&self, queue: &mut Self::Queue, all: &mut [Self::Entity], current: TaskIx, now: Ns) -> bool;

    /// Whether a task that has just been enqueued takes the CPU from the current one.
    fn check_preempt(
        &self,
        queue: &mut Self::Queue,
        all: &mut [Self::Entity],
        current: TaskIx,
        woken: TaskIx,
    ) -> bool;

    /// The current task yields.
    fn yield_task(&self, queue: &mut Self::Queue, all: &mut [Self::Entity], current: TaskIx, now: Ns);

    /// Sum of the weights of the queue's tasks with the current one.
    fn load(queue: &Self::Queue) -> u64;

    /// Weight of a task.
    fn weight(entity: &Self::Entity) -> u32;

    /// Calls `visit` for waiting tasks, the longest deprived first, until it says `false`.
    fn waiting(queue: &Self::Queue, visit: impl FnMut(TaskIx) -> bool);

    /// Whether a task is preferred as the next by its queue, and so not to be moved (the kernel's buddies).
    fn preferred(queue: &Self::Queue, task: TaskIx) -> bool;

    /// Panics if the queue's sums or order are wrong; for the invariant checker.
    fn verify(queue: &Self::Queue, all: &[Self::Entity], current: Option<TaskIx>);
}

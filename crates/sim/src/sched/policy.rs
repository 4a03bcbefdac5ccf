//! What a scheduling policy for ordinary tasks has to do.

use std::fmt::Debug;

use crate::kernel::{Kernel, Tunables};
use crate::time::Ns;

/// Number of a task in the simulation's table.
pub type TaskIx = u32;

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

/// Why a waiting task leaves a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dequeue {
    /// Balancing moves it elsewhere.
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
/// has always been [`Policy::charge`]d up to `now` when another method is called.
pub trait Policy: Sized {
    /// State of one CPU.
    type Queue: Clone + Debug + Default;
    /// State of one task.
    type Entity: Clone + Debug + Default;

    /// Whether this is the O(1) scheduler, whose kernel wakes, balances and ticks otherwise than all later ones.
    const O1: bool = false;

    /// A policy with the tunables' values at boot.
    fn new(kernel: &Kernel, tunables: &Tunables, setting: Setting) -> Self;

    /// Tunables have changed.
    fn retune(&mut self, tunables: &Tunables);

    /// A task's entity at its creation. `slice_ns` is its own slice, where its attributes have one.
    fn entity(&self, weight: u32, nice: i32, slice_ns: Option<Ns>) -> Self::Entity;

    /// `child` has been forked by `parent`, current on `queue` if it is an ordinary task.
    fn fork(
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

    /// A waiting task leaves.
    fn dequeue(&self, queue: &mut Self::Queue, all: &mut [Self::Entity], task: TaskIx, how: Dequeue, now: Ns);

    /// The current task ends, or leaves for another queue.
    fn block(&self, queue: &mut Self::Queue, all: &mut [Self::Entity], task: TaskIx, now: Ns);

    /// The current task sleeps; it may linger in its queue, where it competes without being able to run.
    fn sleep(&self, queue: &mut Self::Queue, all: &mut [Self::Entity], task: TaskIx, now: Ns) {
        self.block(queue, all, task, now);
    }

    /// Whether a sleeping task lingers in the queue in which it has slept, which is then where it wakes up.
    fn lingers(_: &Self::Entity) -> bool {
        false
    }

    /// The current task stays runnable and waits: a real-time task takes the CPU.
    fn put(&self, queue: &mut Self::Queue, all: &mut [Self::Entity], task: TaskIx, now: Ns);

    /// Chooses who runs next and makes it current; `previous` is the current task if it is still runnable, and goes back
    /// to waiting if another is chosen.
    fn pick(
        &self,
        queue: &mut Self::Queue,
        all: &mut [Self::Entity],
        previous: Option<TaskIx>,
        now: Ns,
    ) -> Option<TaskIx>;

    /// The current task has run for `ns`; whether it should be rescheduled.
    fn charge(&self, queue: &mut Self::Queue, all: &mut [Self::Entity], current: TaskIx, ns: Ns) -> bool;

    /// The tick; whether the current task should be rescheduled.
    fn tick(&self, queue: &mut Self::Queue, all: &mut [Self::Entity], current: TaskIx, now: Ns) -> bool;

    /// Whether a task that has just been enqueued takes the CPU from the current one.
    fn preempts(
        &self,
        queue: &mut Self::Queue,
        all: &mut [Self::Entity],
        current: TaskIx,
        woken: TaskIx,
    ) -> bool;

    /// The current task yields.
    fn yields(&self, queue: &mut Self::Queue, all: &mut [Self::Entity], current: TaskIx, now: Ns);

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

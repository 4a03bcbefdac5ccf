//! Interface of a scheduling policy for ordinary tasks.

use std::fmt::Debug;

use crate::kernel::{Kernel, Tunables};
use crate::time::Ns;

/// Index of a task in the simulation's table.
pub type TaskIx = u32;

/// Index that represents the absence of a task.
pub(crate) const NOBODY: TaskIx = TaskIx::MAX;

/// Reason for which a task enters a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enqueue {
    /// The task wakes up.
    Wake {
        /// The task was [`Policy::detach`]ed from another queue.
        moved: bool,
        /// The waker is about to sleep.
        sync: bool,
    },
    /// The task is new.
    New,
    /// Balancing has moved the task from another queue.
    Moved,
}

/// Properties of the machine that policies use.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// Number of CPUs.
    pub cpus: usize,
    /// Length of a tick.
    pub tick_ns: Ns,
}

/// State of a control group on a CPU.
#[derive(Debug, Clone, Copy, Default)]
pub struct GroupState {
    /// Number of runnable tasks (`h_nr_running`).
    pub number: u32,
    /// The group is off the CPU's queue.
    pub throttled: bool,
    /// A task of the group is current (`cfs_rq->curr`).
    pub current: bool,
}

/// A scheduling policy of ordinary tasks.
///
/// A queue contains the waiting ordinary tasks of one CPU and the current ordinary task. Real-time tasks are never in a
/// queue. `all` are the entities of all tasks, by [`TaskIx`]. Callers call [`Policy::update_curr`] for the run time up
/// to `now` before any other method.
pub trait Policy: Sized {
    /// State of one CPU.
    type Queue: Clone + Debug + Default;
    /// State of one task.
    type Entity: Clone + Debug + Default;

    /// The policy schedules control groups: see [`super::Grouped`].
    const GROUPS: bool = false;

    /// Idle CPUs keep their ticks, as in kernels before 2.6.21.
    const TICKS_WHEN_IDLE: bool = false;

    /// CPUs push and pull waiting real-time tasks, as in kernels since 2.6.25.
    const MOVES_REALTIME: bool = true;

    /// Tasks spin for a mutex whose owner runs, as in kernels since 2.6.30.
    const SPINS_FOR_MUTEXES: bool = true;

    /// After a wake-up that preempts, schedule() does not update the run time again ([`Cpu::skips_update`](crate::engine::Cpu)).
    const SKIPS_UPDATES: bool = true;

    /// The end of a process wakes its parent synchronously (`__wake_up_parent()`, kernel/exit.c, since 2.6.0).
    const EXIT_WAKES_SYNC: bool = true;

    /// Whether reader and writer of a message wake each other synchronously, that is, announce their coming sleep
    /// (`wake_up_interruptible_sync_poll()`). `pipe`: the channel is a pipe; `waits`: the waker also has to wait.
    fn wakes_sync(_pipe: bool, _waits: bool) -> bool {
        true
    }

    /// Time at which a context switch that has the lock of a queue at `at` releases it; 0 if no switch has the lock.
    #[inline(always)]
    fn switch_lock_free_at(_: &Self::Queue, _at: Ns) -> Ns {
        0
    }

    /// Note that a CPU leaves idle, so that its next context switch is from the idle task.
    #[inline(always)]
    fn leave_idle(_: &mut Self::Queue) {}

    /// Note that a context switch of a queue's CPU lasts from `from` to `to`. Return the time of the work after `to`.
    /// `mmdrop_ns` is the cost of dropping the reference to an address space.
    #[inline(always)]
    fn context_switch(&self, _: &mut Self::Queue, _from: Ns, _to: Ns, _mmdrop_ns: u32) -> Ns {
        0
    }

    /// Create a policy with the tunables' values at boot.
    fn new(kernel: &Kernel, tunables: &Tunables, setting: Setting) -> Self;

    /// Read the tunables again after a change.
    fn retune(&mut self, tunables: &Tunables);

    /// Create the entity of a new task. `slice_ns` is the slice of the task's attributes, if the attributes contain a
    /// slice.
    fn entity(&self, weight: u32, nice: i32, slice_ns: Option<Ns>) -> Self::Entity;

    /// Initialise a forked child. `parent` is current on `queue` if `parent` is an ordinary task.
    fn task_fork(
        &self,
        _queue: &Self::Queue,
        _all: &mut [Self::Entity],
        _parent: Option<TaskIx>,
        _child: TaskIx,
        _now: Ns,
    ) {
    }

    /// Update `parent` when its child ends.
    fn exit(&self, _all: &mut [Self::Entity], _parent: TaskIx, _child: TaskIx) {}

    /// Prepare a sleeping task for another CPU's queue; `from` is the queue of its previous CPU.
    #[inline(always)]
    fn detach(&self, _from: &Self::Queue, _all: &mut [Self::Entity], _task: TaskIx) {}

    /// Add a task that becomes runnable to the waiting tasks.
    fn enqueue(&self, queue: &mut Self::Queue, all: &mut [Self::Entity], task: TaskIx, how: Enqueue, now: Ns);

    /// Remove a waiting task that balancing moves to another queue.
    fn dequeue(&self, queue: &mut Self::Queue, all: &mut [Self::Entity], task: TaskIx, now: Ns);

    /// Remove the current task, which ends or leaves for another queue.
    fn block(&self, queue: &mut Self::Queue, all: &mut [Self::Entity], task: TaskIx, now: Ns);

    /// Put the current task to sleep. Under delayed dequeue the task may stay in the queue, where it competes but
    /// cannot run.
    fn sleep(&self, queue: &mut Self::Queue, all: &mut [Self::Entity], task: TaskIx, now: Ns) {
        self.block(queue, all, task, now);
    }

    /// Whether a sleeping task is still in its queue (`se->sched_delayed`). Such a task wakes up on that queue.
    fn sched_delayed(_: &Self::Entity) -> bool {
        false
    }

    /// Add the current task, which a real-time task preempts, to the waiting tasks.
    fn put_prev_task(&self, queue: &mut Self::Queue, all: &mut [Self::Entity], task: TaskIx, now: Ns);

    /// Choose the next task and make this task current. `previous` is the current task if the task is still runnable.
    /// `previous` waits again if another task is chosen. `left` is called with each sleeping task that leaves the queue, and its
    /// weight.
    fn pick_next_task(
        &self,
        queue: &mut Self::Queue,
        all: &mut [Self::Entity],
        previous: Option<TaskIx>,
        now: Ns,
        left: impl FnMut(TaskIx, u32),
    ) -> Option<TaskIx>;

    /// Charge `ns` of run time to the current task. Return whether the CPU should reschedule (`update_curr()`,
    /// kernel/sched/fair.c, v4.5 to v6.12).
    fn update_curr(&self, queue: &mut Self::Queue, all: &mut [Self::Entity], current: TaskIx, ns: Ns)
    -> bool;

    /// Handle a tick (`task_tick_fair()`, kernel/sched/fair.c, v4.5 to v6.12). Return whether the CPU should reschedule.
    fn task_tick(&self, queue: &mut Self::Queue, all: &mut [Self::Entity], current: TaskIx, now: Ns) -> bool;

    /// Whether a task that has just been enqueued preempts the current task (`check_preempt_wakeup()`,
    /// kernel/sched/fair.c, v4.5 to v5.14; `check_preempt_wakeup_fair()` in v6.12).
    fn check_preempt_wakeup(
        &self,
        queue: &mut Self::Queue,
        all: &mut [Self::Entity],
        current: TaskIx,
        woken: TaskIx,
    ) -> bool;

    /// Let the current task yield.
    fn yield_task(&self, queue: &mut Self::Queue, all: &mut [Self::Entity], current: TaskIx, now: Ns);

    /// Control group of a task; 0 for a task in no control group.
    #[inline(always)]
    fn group(&self, _: TaskIx) -> usize {
        0
    }

    /// Make the queues of `groups` control groups on a CPU, and their entities, whose indices are below the indices of all tasks. `autogroup`:
    /// group 0 has entities too.
    fn make_groups(
        &mut self,
        _: &mut Self::Queue,
        _: &mut Vec<Self::Entity>,
        _groups: [usize; 2],
        _autogroup: bool,
    ) {
    }

    /// Put a task that is on no queue into a control group.
    fn join(&mut self, _: TaskIx, _group: usize) {}

    /// State of a control group on a CPU.
    fn group_state(_: &Self::Queue, _group: usize) -> GroupState {
        GroupState::default()
    }

    /// Take a control group off a CPU's queue, or let its tasks compete again. Return the number of the group's runnable tasks
    /// (`throttle_cfs_rq()` and `unthrottle_cfs_rq()`, kernel/sched/fair.c, v5.14 to v6.17).
    fn set_throttled(
        &self,
        _: &mut Self::Queue,
        _: &mut [Self::Entity],
        _group: usize,
        _on: bool,
        _: Ns,
    ) -> u32 {
        0
    }

    /// Call `visit` for each waiting task of throttled control groups. Used by the invariant checker.
    fn throttled(_: &Self::Queue, _visit: impl FnMut(TaskIx)) {}

    /// Take the sleeping tasks of control groups that have left the queue since the last call.
    #[inline(always)]
    fn leavers(_: &mut Self::Queue) -> Vec<TaskIx> {
        Vec::new()
    }

    /// Set the weight of a control group's entity on the CPU of the queue.
    fn reweight_group(&self, _: &mut Self::Queue, _: &mut [Self::Entity], _group: usize, _weight: u64) {}

    /// Change the weight of a group's entity. `queued`: the entity is in the queue (`reweight_entity()`, kernel/sched/fair.c,
    /// v5.14 and v6.12).
    fn reweight_entity(
        &self,
        _: &mut Self::Queue,
        _: &mut [Self::Entity],
        _: TaskIx,
        _weight: u32,
        _queued: bool,
    ) {
    }

    /// Sum of the weights of the queue's tasks, the current task and sleeping tasks that are still in the queue included.
    fn load(queue: &Self::Queue) -> u64;

    /// Weight of a task.
    fn weight(entity: &Self::Entity) -> u32;

    /// Call `visit` for each waiting task in the policy's order, until `visit` returns `false`.
    fn waiting(queue: &Self::Queue, visit: impl FnMut(TaskIx) -> bool);

    /// Whether the queue prefers a task as the next (the kernel's buddies). Balancing treats such a task as cache-hot.
    #[inline(always)]
    fn preferred(_queue: &Self::Queue, _task: TaskIx) -> bool {
        false
    }

    /// Panic if the queue's sums or order are wrong. Used by the invariant checker.
    fn verify(queue: &Self::Queue, all: &[Self::Entity], current: Option<TaskIx>);
}

//! The O(1) scheduler, as of Linux 2.5.59 (January 2003), and the D7 patches.
//!
//! A CPU has two arrays of priority lists. The first task of the best list of the *active* array runs until its slice is
//! used up. Then the task gets a new slice and moves to the *expired* array, or back to the active array if the task is
//! interactive and expired tasks do not starve. When the active array is empty the two arrays change places. Sleep
//! improves a task's priority, run time worsens it. All times are in ticks.
//!
//! Sources: I. Molnar's announcements of the scheduler (2002); Documentation/sched-design.txt of 2.5; the D7 patches as
//! M. Bligh and R. Lindsley sent these patches in February 2003 ("breaking down the performance of D7 scheduler
//! patch").
//!
//! | patch | tunable | change |
//! |---|---|---|
//! | 02 | `sched.d7.02` | none: `sleep_timestamp` is called `last_run` |
//! | 03 | `sched.d7.03` | sets four knobs ([`crate::kernel::Tunables::set`]); a `STARVATION_LIMIT` of 0 disables the limit |
//! | 04 | `sched.d7.04` | a borrowed address space is dropped after the runqueue's lock is released (`switch.rs`) |
//! | 05 | `sched.d7.05` | activation without the bonus for synchronous wake-ups, children and tasks moved while not queued |
//!
//! Real-time tasks are common to all policies and never in the arrays, so that lists 0 to 99 are empty here.

mod array;
mod entity;
mod knobs;
mod switch;

use self::entity::{Arrival, NOT_QUEUED};
use self::knobs::Knobs;
use super::NOBODY;
use super::policy::{Enqueue, Policy, Setting, TaskIx};
use super::weight::UNIT;
use crate::kernel::{Kernel, Tunables};
use crate::time::Ns;

pub use entity::{Entity, Queue};

/// The O(1) scheduler with its knobs.
#[derive(Debug, Clone)]
pub struct O1 {
    knobs: Knobs,
}

impl O1 {
    fn push(queue: &mut Queue, entity: &mut Entity, task: TaskIx, array: u8) {
        entity.node = queue.arrays.push(task, array, entity.priority);
    }

    fn remove(queue: &mut Queue, entity: &mut Entity) {
        queue.arrays.remove(std::mem::replace(&mut entity.node, NOT_QUEUED));
    }

    /// Add the time since a task gave up its CPU to its sleep average, and compute its priority (`activate_task()`,
    /// kernel/sched.c, 2.5.59, without the insertion into the queue).
    fn activate_task(&self, entity: &mut Entity, now: Ns) {
        let slept = self.knobs.jiffies(now).saturating_sub(entity.last_run);
        if slept > 0 {
            let sleep_avg = (u64::from(entity.sleep_avg) + slept).min(self.knobs.max_sleep_avg.into());
            entity.sleep_avg = sleep_avg as u32;
            entity.priority = self.knobs.priority(entity.static_priority, entity.sleep_avg);
        }
    }

    /// Give a child its parent's priority and a place after the parent in the parent's list and array (patch 05).
    /// Return whether the patch applies.
    fn join_parent(&self, queue: &mut Queue, all: &mut [Entity], task: TaskIx) -> bool {
        let parent = all[task as usize].parent;
        if !self.knobs.smart_wake_child || queue.current != Some(parent) {
            return false;
        }
        let (node, priority) = (all[parent as usize].node, all[parent as usize].priority);
        let child = &mut all[task as usize];
        child.priority = priority;
        child.node = queue.arrays.push_behind(task, node);
        true
    }
}

impl Policy for O1 {
    type Queue = Queue;
    type Entity = Entity;
    const TICKS_WHEN_IDLE: bool = true;
    const SPINS_FOR_MUTEXES: bool = false;
    const SKIPS_UPDATES: bool = false;
    const MOVES_REALTIME: bool = false;
    // wake_up_parent(), kernel/signal.c, 2.5.59
    const EXIT_WAKES_SYNC: bool = false;

    /// Before 2.6.30 only pipes wake synchronously, and only by a writer or reader that also has to wait (fs/pipe.c).
    /// Sockets wake asynchronously (`sock_def_readable()`).
    fn wakes_sync(pipe: bool, waits: bool) -> bool {
        pipe && waits
    }

    fn switch_lock_free_at(queue: &Queue, at: Ns) -> Ns {
        queue.switch_lock.free_at(at)
    }

    fn leave_idle(queue: &mut Queue) {
        queue.switch_lock.leave_idle();
    }

    fn context_switch(&self, queue: &mut Queue, from: Ns, to: Ns, mmdrop_ns: u32) -> Ns {
        queue.switch_lock.switch(from, to, mmdrop_ns, self.knobs.drops_mm_unlocked)
    }

    fn new(_: &Kernel, tunables: &Tunables, setting: Setting) -> Self {
        Self { knobs: Knobs::read(tunables, setting.tick_ns) }
    }

    fn retune(&mut self, tunables: &Tunables) {
        self.knobs = Knobs::read(tunables, self.knobs.tick_ns);
    }

    fn entity(&self, _: u32, nice: i32, _: Option<Ns>) -> Entity {
        let static_priority = Knobs::static_priority(nice);
        Entity {
            static_priority,
            priority: self.knobs.priority(static_priority, 0),
            slice: self.knobs.slice(static_priority),
            ..Entity::default()
        }
    }

    /// Split the parent's slice between parent and child, and reduce both sleep averages by their penalties
    /// (kernel/fork.c, and `wake_up_forked_process()`, kernel/sched.c, 2.5.59).
    fn task_fork(&self, _: &Queue, all: &mut [Entity], parent: Option<TaskIx>, child: TaskIx, now: Ns) {
        let jiffies = self.knobs.jiffies(now);
        let mut inherited = None;
        if let Some(parent_entity) = parent.map(|task| &mut all[task as usize]) {
            inherited = Some((parent_entity.slice.div_ceil(2), parent_entity.sleep_avg));
            // A parent with a single remaining tick loses this tick, and expires at its next tick.
            parent_entity.slice /= 2;
            parent_entity.sleep_avg = percent(parent_entity.sleep_avg, self.knobs.parent_penalty);
        }
        let entity = &mut all[child as usize];
        entity.last_run = jiffies;
        if let (Some((slice, sleep_avg)), Some(parent)) = (inherited, parent) {
            entity.parent = parent;
            entity.slice = slice.max(1);
            entity.first_slice = true;
            entity.sleep_avg = percent(sleep_avg, self.knobs.child_penalty);
        }
        entity.priority = self.knobs.priority(entity.static_priority, entity.sleep_avg);
    }

    /// Return the rest of a child's first slice to its parent, and lower the parent's sleep average if the child's is less
    /// (`sched_exit()`, kernel/sched.c, 2.5.59).
    fn exit(&self, all: &mut [Entity], parent: TaskIx, child: TaskIx) {
        let Entity { slice, sleep_avg, first_slice, .. } = all[child as usize];
        let entity = &mut all[parent as usize];
        if first_slice {
            entity.slice = (entity.slice + slice).min(self.knobs.max_slice());
        }
        if sleep_avg < entity.sleep_avg {
            let weight = self.knobs.exit_weight;
            let sum = u64::from(entity.sleep_avg) * weight + u64::from(sleep_avg);
            entity.sleep_avg = (sum / (weight + 1)) as u32;
        }
    }

    fn enqueue(&self, queue: &mut Queue, all: &mut [Entity], task: TaskIx, how: Enqueue, now: Ns) {
        let joined = how == Enqueue::New && self.join_parent(queue, all, task);
        let entity = &mut all[task as usize];
        entity.parent = NOBODY;
        let (arrival, credited) = match how {
            Enqueue::New => (Arrival::Born, !self.knobs.smart_wake_child),
            Enqueue::Wake { sync: true, .. } if self.knobs.sync_wakeups => (Arrival::Synchronous, false),
            Enqueue::Wake { .. } => (Arrival::Activated, true),
            Enqueue::Moved if entity.arrival == Arrival::Pulled => (Arrival::Pulled, false),
            Enqueue::Moved => (Arrival::Activated, !self.knobs.plain_activation),
        };
        entity.arrival = arrival;
        if joined {
            return;
        }
        if credited {
            self.activate_task(entity, now);
        }
        Self::push(queue, entity, task, queue.active);
    }

    fn dequeue(&self, queue: &mut Queue, all: &mut [Entity], task: TaskIx, _: Ns) {
        let entity = &mut all[task as usize];
        entity.arrival = Arrival::Pulled;
        Self::remove(queue, entity);
    }

    fn block(&self, queue: &mut Queue, all: &mut [Entity], task: TaskIx, now: Ns) {
        debug_assert_eq!(queue.current, Some(task));
        queue.current = None;
        let entity = &mut all[task as usize];
        entity.last_run = self.knobs.jiffies(now);
        entity.arrival = Arrival::Activated;
        Self::remove(queue, entity);
    }

    fn put_prev_task(&self, queue: &mut Queue, all: &mut [Entity], task: TaskIx, now: Ns) {
        queue.current = None;
        all[task as usize].last_run = self.knobs.jiffies(now);
    }

    fn pick_next_task(
        &self,
        queue: &mut Queue,
        all: &mut [Entity],
        previous: Option<TaskIx>,
        now: Ns,
        _: impl FnMut(TaskIx, u32),
    ) -> Option<TaskIx> {
        if let Some(task) = previous {
            all[task as usize].last_run = self.knobs.jiffies(now);
        }
        queue.current = None;
        if queue.arrays.number(queue.active) == 0 {
            queue.expired_since = None;
            if queue.arrays.number(1 - queue.active) == 0 {
                return None;
            }
            queue.active = 1 - queue.active;
        }
        queue.current = queue.arrays.best(queue.active);
        queue.current
    }

    fn update_curr(&self, _: &mut Queue, _: &mut [Entity], _: TaskIx, _: Ns) -> bool {
        // Run time counts in whole ticks, which task_tick() charges to the task that runs at the tick.
        false
    }

    fn task_tick(&self, queue: &mut Queue, all: &mut [Entity], current: TaskIx, now: Ns) -> bool {
        let entity = &mut all[current as usize];
        if queue.has_expired(entity) {
            return true;
        }
        entity.sleep_avg = entity.sleep_avg.saturating_sub(1);
        entity.slice = entity.slice.saturating_sub(1);
        if entity.slice > 0 {
            return false;
        }
        entity.priority = self.knobs.priority(entity.static_priority, entity.sleep_avg);
        entity.slice = self.knobs.slice(entity.static_priority);
        entity.first_slice = false;
        let jiffies = self.knobs.jiffies(now);
        let stays_active = self.knobs.interactive(entity.static_priority, entity.priority)
            && !self.knobs.starving(queue.expired_since, jiffies, queue.number());
        let array = if stays_active {
            queue.active
        } else {
            queue.expired_since.get_or_insert(jiffies);
            1 - queue.active
        };
        queue.arrays.transfer(entity.node, array, entity.priority);
        true
    }

    fn check_preempt_wakeup(
        &self,
        queue: &mut Queue,
        all: &mut [Entity],
        current: TaskIx,
        woken: TaskIx,
    ) -> bool {
        let (running, new) = (&all[current as usize], &all[woken as usize]);
        let better = new.priority < running.priority;
        match new.arrival {
            Arrival::Activated => better,
            Arrival::Synchronous => false,
            Arrival::Born => queue.arrays.best(queue.active) == Some(woken),
            Arrival::Pulled => better || (new.priority == running.priority && new.slice > running.slice),
        }
    }

    /// Move the task to the expired array (`sys_sched_yield()`, kernel/sched.c, 2.5.59).
    fn yield_task(&self, queue: &mut Queue, all: &mut [Entity], current: TaskIx, _: Ns) {
        let entity = &all[current as usize];
        queue.arrays.transfer(entity.node, 1 - queue.active, entity.priority);
    }

    fn load(queue: &Queue) -> u64 {
        u64::from(queue.number()) * UNIT
    }

    /// The same for all tasks, because 2.5.59 balances numbers of tasks independent of their nice values.
    fn weight(_: &Entity) -> u32 {
        UNIT as u32
    }

    /// Visit tasks in the order of `load_balance()` in 2.5.59: expired tasks, whose caches are coldest, before active
    /// tasks; the best list first, from its tail.
    fn waiting(queue: &Queue, mut visit: impl FnMut(TaskIx) -> bool) {
        let mut visit_waiting = |task| queue.current == Some(task) || visit(task);
        let _ = queue.arrays.each_from_tails(1 - queue.active, &mut visit_waiting)
            && queue.arrays.each_from_tails(queue.active, &mut visit_waiting);
    }

    fn verify(queue: &Queue, all: &[Entity], current: Option<TaskIx>) {
        assert_eq!(queue.current, current, "the current task of the queue");
        queue.arrays.verify();
        for array in [0, 1] {
            queue.arrays.each_from_tails(array, |task| {
                let entity = &all[task as usize];
                assert_eq!(queue.arrays.node(entity.node).task, task, "node of task {task}");
                assert!((100..140).contains(&entity.priority), "priority of the ordinary task {task}");
                true
            });
        }
    }
}

fn percent(value: u32, percent: u64) -> u32 {
    (u64::from(value) * percent / 100).min(u32::MAX.into()) as u32
}

//! A task's entity; one CPU's tasks, and the sums from which their mean virtual time is computed.

use super::eligible::Sums;
use crate::sched::NOBODY;
use crate::sched::TaskIx;
use crate::sched::ordered::{Item, Ordered};
use crate::time::Ns;

/// A task's virtual time, deadline and lag: one cache line.
#[derive(Debug, Clone, Default)]
#[repr(align(64))]
pub struct Entity {
    pub(super) vruntime: i64,
    pub(super) deadline: i64,
    /// V − v when the task left a queue (`se->vlag`).
    pub(super) lag: i64,
    /// Deadline with which the task became current. While `deadline` equals this value, an eligible task is protected
    /// from preemption (RUN_TO_PARITY; `se->vlag` of a current task in pick_eevdf(), v6.12).
    pub(super) parity: i64,
    pub(super) weight: u32,
    /// Slice from the task's attributes (`se->custom_slice`).
    pub(super) custom_slice: Option<Ns>,
    /// The task is between queues, and `deadline` is relative to `vruntime` (`se->rel_deadline`).
    pub(super) rel_deadline: bool,
    /// The task sleeps and is still in its queue (`se->sched_delayed`).
    pub(super) sched_delayed: bool,
}

impl Entity {
    /// Virtual run time.
    pub fn vruntime(&self) -> i64 {
        self.vruntime
    }

    /// Virtual deadline.
    pub fn deadline(&self) -> i64 {
        self.deadline
    }
}

/// A CPU's tasks, in four cache lines. The last line is used only with six tasks or more.
#[derive(Debug, Clone)]
#[repr(C, align(64))]
pub struct Queue {
    /// Σ (v − base) × weight of the waiting and delayed tasks (`avg_vruntime`).
    sum: i128,
    /// Σ weight of the waiting and delayed tasks (`avg_load`).
    load: u64,
    /// Base of virtual times in the sums, and mean of an empty queue: the maximum over time of the least virtual time
    /// (`min_vruntime`). The value is updated only where an omission would be visible, see [`Queue::update_min_vruntime`].
    base: i64,
    /// Virtual time of the current task at the kernel's last update (update_curr()).
    pub noted: i64,
    current: TaskIx,
    /// Weight of the current task; 0 without a current task.
    current_weight: u32,
    /// The waiting and delayed tasks.
    tasks: Ordered<Queued, 7>,
}

/// A waiting or delayed task, ordered by deadline. Among equal deadlines, waiting tasks come first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Queued {
    pub deadline: i64,
    pub vruntime: i64,
    pub task: TaskIx,
    pub sched_delayed: bool,
}

impl Item for Queued {
    const NOBODY: Self = Self { deadline: 0, vruntime: 0, task: NOBODY, sched_delayed: false };

    #[inline]
    fn task(&self) -> TaskIx {
        self.task
    }

    #[inline]
    fn before(&self, other: &Self) -> bool {
        self.deadline < other.deadline
            || (self.deadline == other.deadline && other.sched_delayed && !self.sched_delayed)
    }

    #[inline]
    fn value(&self) -> i64 {
        self.vruntime
    }
}

impl Default for Queue {
    fn default() -> Self {
        Self {
            sum: 0,
            load: 0,
            base: 0,
            noted: 0,
            current: NOBODY,
            current_weight: 0,
            tasks: Ordered::default(),
        }
    }
}

impl Queue {
    /// Whether the queue has neither waiting nor delayed tasks.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// The waiting and delayed tasks, in the order of their deadlines.
    #[inline]
    pub fn tasks(&self) -> &Ordered<Queued, 7> {
        &self.tasks
    }

    /// The current task, or [`NOBODY`].
    #[inline]
    pub fn current(&self) -> TaskIx {
        self.current
    }

    /// Leave the queue without a current task.
    #[inline]
    pub fn clear_current(&mut self) {
        (self.current, self.current_weight) = (NOBODY, 0);
    }

    /// Make a task the current task.
    #[inline]
    pub fn set_current(&mut self, task: TaskIx, entity: &Entity) {
        (self.current, self.current_weight, self.noted) = (task, entity.weight, entity.vruntime);
    }

    /// Sum of all weights.
    #[inline]
    pub fn load(&self) -> u64 {
        self.load + u64::from(self.current_weight)
    }

    /// The sums, with the current task at `vruntime`.
    #[inline(always)]
    pub fn sums_at(&self, vruntime: i64) -> Sums {
        let part = i128::from(vruntime - self.base) * i128::from(self.current_weight);
        Sums { sum: self.sum + part, load: self.load + u64::from(self.current_weight), base: self.base }
    }

    /// The sums.
    #[inline(always)]
    pub fn sums(&self, all: &[Entity]) -> Sums {
        if self.current == NOBODY {
            return Sums { sum: self.sum, load: self.load, base: self.base };
        }
        self.sums_at(all[self.current as usize].vruntime)
    }

    /// V, rounded down; with a single task its virtual time.
    #[inline]
    pub fn avg_vruntime(&self, all: &[Entity]) -> i64 {
        if self.load == 0 {
            let current = self.current;
            return if current == NOBODY { self.base } else { all[current as usize].vruntime };
        }
        self.sums(all).avg_vruntime()
    }

    #[inline]
    pub fn insert(&mut self, entity: &Entity, task: TaskIx) {
        let Entity { deadline, vruntime, sched_delayed, .. } = *entity;
        let weight = u64::from(entity.weight);
        self.tasks.insert(Queued { deadline, vruntime, task, sched_delayed });
        self.sum += i128::from(vruntime - self.base) * i128::from(weight as i64);
        self.load += weight;
    }

    #[inline]
    pub fn remove(&mut self, entity: &Entity, task: TaskIx) {
        let Entity { deadline, vruntime, sched_delayed, .. } = *entity;
        let weight = u64::from(entity.weight);
        let there = self.tasks.remove(&Queued { deadline, vruntime, task, sched_delayed });
        debug_assert!(there, "task {task} is in the queue");
        self.sum -= i128::from(vruntime - self.base) * i128::from(weight as i64);
        self.load -= weight;
    }

    /// The task to run on a CPU without a current task. A delayed task is chosen so that it is dequeued.
    #[inline]
    pub fn best_waiting(&self) -> Option<&Queued> {
        debug_assert_eq!(self.current, NOBODY);
        if self.tasks.is_empty() {
            return None;
        }
        // A single task need not be eligible.
        if let Some(single) = self.tasks.only() {
            return Some(single);
        }
        let sums = Sums { sum: self.sum, load: self.load, base: self.base };
        self.tasks.first_that(|vruntime| sums.entity_eligible(vruntime)).or_else(|| self.first_waiting())
    }

    /// Fallback for rounding that leaves no task eligible: the first waiting task, otherwise the first delayed task.
    #[cold]
    pub fn first_waiting(&self) -> Option<&Queued> {
        self.tasks.iter().find(|task| !task.sched_delayed).or(self.tasks.first())
    }

    /// Record the current task's virtual time, as update_curr() of the kernel does.
    #[inline]
    pub fn note_current(&mut self, all: &[Entity]) {
        if self.current != NOBODY {
            self.noted = all[self.current as usize].vruntime;
        }
    }

    /// Raise `base` to the least virtual time of all tasks (`update_min_vruntime()`, kernel/sched/fair.c, v6.12). The least
    /// virtual time decreases only when a task joins, so that calling this function before a task joins suffices, and
    /// [`Queue::note_last`] after the last task has left.
    pub fn update_min_vruntime(&mut self, all: &[Entity]) {
        let mut least = self.tasks.least_value();
        if self.current != NOBODY {
            least = least.min(all[self.current as usize].vruntime);
        }
        if least != i64::MAX && least > self.base {
            self.sum -= i128::from(self.load as i64) * i128::from(least - self.base);
            self.base = least;
        }
    }

    /// Raise `base` to the virtual time of a task that has left, if the task was the last.
    #[inline]
    pub fn note_last(&mut self, vruntime: i64) {
        if self.tasks.is_empty() && self.current == NOBODY {
            self.base = self.base.max(vruntime);
        }
    }

    /// Panic if the sums or the order are wrong.
    pub fn verify(&self, all: &[Entity], current: Option<TaskIx>) {
        assert_eq!(self.current, current.unwrap_or(NOBODY), "the current task of the queue");
        let weight = current.map_or(0, |task| all[task as usize].weight);
        assert_eq!(self.current_weight, weight, "weight of the current task");
        let (mut sum, mut load) = (0, 0);
        for queued in self.tasks.iter() {
            let entity = &all[queued.task as usize];
            assert_eq!(queued.sched_delayed, entity.sched_delayed);
            let copied = (queued.deadline, queued.vruntime);
            assert_eq!(copied, (entity.deadline, entity.vruntime), "deadline and vruntime of a waiting task");
            sum += i128::from(entity.vruntime - self.base) * i128::from(entity.weight);
            load += u64::from(entity.weight);
        }
        assert_eq!((self.sum, self.load), (sum, load), "sums over the queue");
        // Σ w (V − v) = 0: the lags add up to zero, up to the rounding of V.
        let Sums { sum, load, .. } = self.sums(all);
        let mean = i128::from(self.avg_vruntime(all) - self.base);
        assert!(
            (0..i128::from(load.max(1))).contains(&(sum - mean * i128::from(load))),
            "the lags add up to zero"
        );
    }
}

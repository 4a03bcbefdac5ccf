//! One CPU's tasks, and the sums that tell their mean.

use super::Entity;
use crate::sched::NOBODY;
use crate::sched::TaskIx;
use crate::sched::ordered::{Item, Ordered};

/// A CPU's tasks: four cache lines, of which the last is for the sixth task and later ones.
#[derive(Debug, Clone)]
#[repr(C, align(64))]
pub struct Queue {
    /// Σ (v − base) × weight, and Σ weight, of the waiting and the lingering tasks.
    sum: i128,
    load: u64,
    /// What virtual times are counted from in the sums, and where an empty queue stands: the greatest that the smallest
    /// virtual time of all has been. It is brought up to date only before it could be missed, see [`Queue::note_least`].
    base: i64,
    /// The current task's virtual time when the kernel last brought it up to date (update_curr()).
    pub noted: i64,
    /// Of those that linger.
    pub lingering_load: u64,
    current: TaskIx,
    /// 0 if there is none.
    current_weight: u32,
    /// The waiting and the lingering.
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

/// Sums over a queue, the current task included.
#[derive(Debug, Clone, Copy)]
pub struct Sums {
    sum: i128,
    pub load: u64,
    base: i64,
}

impl Sums {
    /// Whether a task of this virtual time is eligible: it is not after V.
    #[inline(always)]
    pub fn entity_eligible(&self, vruntime: i64) -> bool {
        // A load is far from 2⁶³, and signed numbers of 64 bits are multiplied by one instruction.
        self.sum >= i128::from(vruntime - self.base) * i128::from(self.load as i64)
    }

    /// V, rounded down.
    #[inline]
    pub fn mean(&self) -> i64 {
        if self.load == 0 { self.base } else { self.base + divided(self.sum, self.load) }
    }

    /// What remains without a task.
    #[inline]
    pub fn without(self, vruntime: i64, weight: u32) -> Self {
        let sum = self.sum - i128::from(vruntime - self.base) * i128::from(weight);
        Self { sum, load: self.load - u64::from(weight), base: self.base }
    }
}

/// A sum divided by a load, rounded down; nearly always both fit into 64 bits, where a division is much cheaper.
#[inline]
fn divided(sum: i128, load: u64) -> i64 {
    match (i64::try_from(sum), i64::try_from(load)) {
        (Ok(sum), Ok(load)) => sum.div_euclid(load),
        _ => sum.div_euclid(i128::from(load)) as i64,
    }
}

impl Default for Queue {
    fn default() -> Self {
        Self {
            sum: 0,
            load: 0,
            base: 0,
            noted: 0,
            lingering_load: 0,
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

    /// Those who wait or linger, in their order.
    #[inline]
    pub fn tasks(&self) -> &Ordered<Queued, 7> {
        &self.tasks
    }

    /// Who runs, or nobody.
    #[inline]
    pub fn current(&self) -> TaskIx {
        self.current
    }

    /// Nobody runs any more.
    #[inline]
    pub fn clear_current(&mut self) {
        (self.current, self.current_weight) = (NOBODY, 0);
    }

    /// A task runs.
    #[inline]
    pub fn set_current(&mut self, task: TaskIx, entity: &Entity) {
        (self.current, self.current_weight, self.noted) = (task, entity.weight, entity.vruntime);
    }

    /// Sum of all weights.
    #[inline]
    pub fn load(&self) -> u64 {
        self.load + u64::from(self.current_weight)
    }

    /// Sum of the weights of those who can run.
    #[inline]
    pub fn runnable_load(&self) -> u64 {
        self.load - self.lingering_load + u64::from(self.current_weight)
    }

    /// The sums; the current task stands at `vruntime`.
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

    /// V, rounded down.
    #[inline]
    pub fn mean(&self, all: &[Entity]) -> i64 {
        if self.load == 0 {
            let current = self.current;
            return if current == NOBODY { self.base } else { all[current as usize].vruntime };
        }
        self.sums(all).mean()
    }

    #[inline]
    pub fn insert(&mut self, entity: &Entity, task: TaskIx) {
        let Entity { deadline, vruntime, sched_delayed, .. } = *entity;
        let weight = u64::from(entity.weight);
        self.tasks.insert(Queued { deadline, vruntime, task, sched_delayed });
        self.lingering_load += if sched_delayed { weight } else { 0 };
        self.sum += i128::from(vruntime - self.base) * i128::from(weight as i64);
        self.load += weight;
    }

    #[inline]
    pub fn remove(&mut self, entity: &Entity, task: TaskIx) {
        let Entity { deadline, vruntime, sched_delayed, .. } = *entity;
        let weight = u64::from(entity.weight);
        let there = self.tasks.remove(&Queued { deadline, vruntime, task, sched_delayed });
        debug_assert!(there, "task {task} is in the queue");
        self.lingering_load -= if sched_delayed { weight } else { 0 };
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
        // Who is alone need not be eligible.
        if let Some(alone) = self.tasks.only() {
            return Some(alone);
        }
        let sums = Sums { sum: self.sum, load: self.load, base: self.base };
        self.tasks.first_that(|vruntime| sums.entity_eligible(vruntime)).or_else(|| self.first_waiting())
    }

    /// The first waiting task, otherwise the first delayed one. Rounding may leave no task eligible; this is the fallback.
    #[cold]
    pub fn first_waiting(&self) -> Option<&Queued> {
        self.tasks.iter().find(|task| !task.sched_delayed).or(self.tasks.first())
    }

    /// The current task's virtual time is brought up to date.
    #[inline]
    pub fn note_current(&mut self, all: &[Entity]) {
        if self.current != NOBODY {
            self.noted = all[self.current as usize].vruntime;
        }
    }

    /// Notes the smallest virtual time of all. While nobody comes it never goes back, so it is enough to ask for it before
    /// that, and when the last one has gone ([`Queue::note_last`]).
    pub fn note_least(&mut self, all: &[Entity]) {
        let mut least = self.tasks.least_value();
        if self.current != NOBODY {
            least = least.min(all[self.current as usize].vruntime);
        }
        if least != i64::MAX && least > self.base {
            self.sum -= i128::from(self.load as i64) * i128::from(least - self.base);
            self.base = least;
        }
    }

    /// A task has gone at this virtual time; if it was the last, that is where the queue stands.
    #[inline]
    pub fn note_last(&mut self, vruntime: i64) {
        if self.tasks.is_empty() && self.current == NOBODY {
            self.base = self.base.max(vruntime);
        }
    }

    /// Panics if the sums or the order are wrong.
    pub fn verify(&self, all: &[Entity], current: Option<TaskIx>) {
        assert_eq!(self.current, current.unwrap_or(NOBODY), "the queue knows who runs");
        let weight = current.map_or(0, |task| all[task as usize].weight);
        assert_eq!(self.current_weight, weight, "and its weight");
        let (mut sum, mut load, mut lingering) = (0, 0, 0);
        for queued in self.tasks.iter() {
            let entity = &all[queued.task as usize];
            assert_eq!(queued.sched_delayed, entity.sched_delayed);
            let stands = (queued.deadline, queued.vruntime);
            assert_eq!(stands, (entity.deadline, entity.vruntime), "a waiting task stands still");
            sum += i128::from(entity.vruntime - self.base) * i128::from(entity.weight);
            load += u64::from(entity.weight);
            lingering += if entity.sched_delayed { u64::from(entity.weight) } else { 0 };
        }
        assert_eq!((self.sum, self.load), (sum, load), "sums add up");
        assert_eq!(self.lingering_load, lingering, "who sched_delayed is known");
        // Σ w (V − v) = 0: lag is conserved, up to the rounding of V.
        let Sums { sum, load, .. } = self.sums(all);
        let mean = i128::from(self.mean(all) - self.base);
        assert!(
            (0..i128::from(load.max(1))).contains(&(sum - mean * i128::from(load))),
            "lags add up to nothing"
        );
    }
}

//! Real-time tasks of one CPU: SCHED_FIFO and SCHED_RR (sched(7)), and, above all of these, SCHED_DEADLINE.

use super::policy::TaskIx;
use crate::time::Ns;

/// Place of a task in the order of the real-time and deadline classes: a higher rank runs first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank(u64);

impl Rank {
    /// Rank of an ordinary task, below every other.
    pub const ORDINARY: Self = Self(0);

    /// Rank of a real-time task.
    #[inline]
    pub fn of_priority(priority: u8) -> Self {
        Self(priority.into())
    }

    /// Rank of a deadline task: an earlier deadline has a higher rank.
    pub fn of_deadline(deadline: Ns) -> Self {
        Self(u64::MAX - deadline)
    }

    /// Whether the rank is a deadline task's. Deadlines in virtual time are far below 2⁶³.
    pub fn is_deadline(self) -> bool {
        self.0 > u8::MAX.into()
    }
}

/// Waiting real-time and deadline tasks, the highest rank first. Tasks of equal rank run in the order of this queue.
#[derive(Debug, Clone, Default)]
pub struct Realtime {
    waiting: Vec<(Rank, TaskIx)>,
}

impl Realtime {
    /// Insert a task behind the tasks of its rank, or with `keeps_turn` (the task was preempted) before these tasks.
    pub fn insert(&mut self, rank: Rank, task: TaskIx, keeps_turn: bool) {
        let before = |other: &(Rank, TaskIx)| if keeps_turn { other.0 > rank } else { other.0 >= rank };
        let place = self.waiting.partition_point(before);
        self.waiting.insert(place, (rank, task));
    }

    /// Highest rank of a waiting task, [`Rank::ORDINARY`] if no task waits.
    #[inline]
    pub fn highest(&self) -> Rank {
        self.waiting.first().map_or(Rank::ORDINARY, |waiting| waiting.0)
    }

    /// The first task, and its rank.
    pub fn first(&self) -> Option<(Rank, TaskIx)> {
        self.waiting.first().copied()
    }

    /// Remove and return the first task.
    pub fn pop(&mut self) -> Option<TaskIx> {
        (!self.waiting.is_empty()).then(|| self.waiting.remove(0).1)
    }

    /// Remove a waiting task.
    pub fn remove(&mut self, task: TaskIx) {
        self.waiting.retain(|waiting| waiting.1 != task);
    }

    /// Waiting tasks, in their order.
    pub fn tasks(&self) -> impl Iterator<Item = TaskIx> + '_ {
        self.waiting.iter().map(|waiting| waiting.1)
    }
}

#[cfg(test)]
#[path = "../../tests/unit/sched/realtime.rs"]
mod tests;

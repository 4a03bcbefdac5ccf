//! Real-time tasks of one CPU: SCHED_FIFO and SCHED_RR (sched(7)).

use super::policy::TaskIx;

/// Waiting real-time tasks, the highest priority first. Tasks of equal priority run in the order of this queue.
#[derive(Debug, Clone, Default)]
pub struct Realtime {
    waiting: Vec<(u8, TaskIx)>,
}

impl Realtime {
    /// Insert a task behind the tasks of its priority, or with `keeps_turn` (the task was preempted) before these tasks.
    pub fn insert(&mut self, priority: u8, task: TaskIx, keeps_turn: bool) {
        let before = |other: &(u8, TaskIx)| if keeps_turn { other.0 > priority } else { other.0 >= priority };
        let place = self.waiting.partition_point(before);
        self.waiting.insert(place, (priority, task));
    }

    /// Highest priority of a waiting task.
    #[inline]
    pub fn highest(&self) -> Option<u8> {
        self.waiting.first().map(|waiting| waiting.0)
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

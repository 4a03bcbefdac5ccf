//! What programs record about themselves: counters and series, within the window.

use crate::engine::{Engine, NOBODY};
use crate::observe::Observer;
use crate::sched::{Policy, TaskIx};
use crate::time::{NEVER, Ns};

/// Work of counting, beyond the clock's reading.
const COUNT_NS: u32 = 2;

impl<P: Policy, O: Observer> Engine<'_, P, O> {
    pub(super) fn recording(&self, at: Ns) -> bool {
        let opened = self.gate.opened_at.unwrap_or(NEVER);
        self.world.plan.program().window.is_none_or(|window| window.contains(at.saturating_sub(opened)))
    }

    pub(super) fn record(&mut self, cpu: usize, task: TaskIx, slot: u32, series: u32) -> Ns {
        let at = self.task_time(cpu, task);
        if self.recording(at) {
            self.series[series as usize].record(at.saturating_sub(self.slots[slot as usize]));
        }
        self.tasks[task as usize].carry += self.costs.clock_read;
        at
    }

    pub(super) fn count(&mut self, cpu: usize, task: TaskIx, counter: u32, by: u64) {
        let windowed = self.world.plan.program().window.is_some();
        if !windowed || self.recording(self.task_time(cpu, task)) {
            let total = &mut self.program_counters[counter as usize];
            *total = total.saturating_add(by);
        }
        self.tasks[task as usize].carry += COUNT_NS + if windowed { self.costs.clock_read } else { 0 };
    }

    /// What messages call a task.
    pub(crate) fn name(&self, task: TaskIx) -> String {
        let it = &self.tasks[task as usize];
        if it.kernel {
            return format!("kworker/{}:vmstat", it.cpu);
        }
        if it.ordinal == NOBODY {
            return "the main task".to_owned();
        }
        let name = self.world.plan.describe(self.world.plan.task(it.ordinal));
        if it.is_child { format!("a child of {name}") } else { name }
    }
}

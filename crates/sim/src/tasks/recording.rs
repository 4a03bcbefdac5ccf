//! What programs record about themselves: counters and series, within the window.

use schedlab_workload::Plan;

use crate::balance::KernelPolicy;
use crate::engine::{Engine, NOBODY};
use crate::observe::Observer;
use crate::sched::TaskIx;
use crate::tasks::Task;
use crate::time::{NEVER, Ns};

/// Work of counting, beyond the clock's reading.
const COUNT_NS: u32 = 2;

impl<P: KernelPolicy, O: Observer> Engine<'_, P, O> {
    #[inline]
    pub(super) fn recording(&self, at: Ns) -> bool {
        let since = at.saturating_sub(self.gate.opened_at.unwrap_or(NEVER));
        self.gate.recorded.is_none_or(|(from, to)| from <= since && since < to)
    }

    pub(super) fn record(&mut self, cpu: usize, task: TaskIx, slot: u32, series: u32) -> Ns {
        let at = self.task_time(cpu, task);
        if self.recording(at) {
            self.program.series[series as usize].record(at.saturating_sub(self.program.slots[slot as usize]));
        }
        self.tasks[task].carry += self.costs.clock_read;
        at
    }

    #[inline]
    pub(super) fn count(&mut self, cpu: usize, task: TaskIx, counter: u32, by: u64) {
        let windowed = self.gate.recorded.is_some();
        if !windowed || self.recording(self.task_time(cpu, task)) {
            let total = &mut self.program.counters[counter as usize];
            *total = total.saturating_add(by);
        }
        self.tasks[task].carry += COUNT_NS + if windowed { self.costs.clock_read } else { 0 };
    }

    /// What messages call a task.
    pub(crate) fn name(&self, task: TaskIx) -> String {
        called(self.world.plan, &self.tasks[task])
    }
}

/// What messages call a task.
pub(crate) fn called(plan: &Plan, task: &Task) -> String {
    if task.kernel {
        return format!("kworker/{}:vmstat", task.cpu);
    }
    if task.ordinal == NOBODY {
        return "the main task".to_owned();
    }
    let name = plan.describe(plan.task(task.ordinal));
    if task.is_child { format!("a child of {name}") } else { name }
}

//! Recording of counters, series and clock gaps by the tasks of a program.
//!
//! A [`Step::Watch`] reads the clock in a loop. Any other use of the CPU shows as a gap between two readings:
//!
//! ```text
//! CPU   | watch | tick | watch | timer, wake-up, switch | worker | switch | refill | watch |
//! task  |·······|......|·······|..................................................|·······|
//!                 gap                            another gap
//! ```
//! A gap is at least as long as one reading of the clock.

use schedlab_workload::Step;

use crate::balance::KernelPolicy;
use crate::engine::Engine;
use crate::observe::Observer;
use crate::sched::TaskIx;
use crate::tasks::Action;
use crate::time::{NEVER, Ns};

/// Cost of counting in ns, without the reading of the clock.
const COUNT_NS: u32 = 2;

impl<P: KernelPolicy, O: Observer> Engine<'_, P, O> {
    /// Whether the program records at the time `at`: a program with a window records only within the window.
    #[inline]
    pub(super) fn recording(&self, at: Ns) -> bool {
        let since = at.saturating_sub(self.gate.opened_at.unwrap_or(NEVER));
        self.gate.recorded.is_none_or(|(from, to)| from <= since && since < to)
    }

    /// Record the time since `slot` was stamped in `series`, and return the task's time.
    pub(super) fn record(&mut self, cpu: usize, task: TaskIx, slot: u32, series: u32) -> Ns {
        let at = self.task_time(cpu, task);
        if self.recording(at) {
            self.program.series[series as usize].record(at.saturating_sub(self.program.slots[slot as usize]));
        }
        self.tasks[task].carry += self.costs.clock_read;
        at
    }

    /// Add `by` to a counter of the program.
    #[inline]
    pub(super) fn count(&mut self, cpu: usize, task: TaskIx, counter: u32, by: u64) {
        let windowed = self.gate.recorded.is_some();
        if !windowed || self.recording(self.task_time(cpu, task)) {
            let total = &mut self.program.counters[counter as usize];
            *total = total.saturating_add(by);
        }
        self.tasks[task].carry += COUNT_NS + if windowed { self.costs.clock_read } else { 0 };
    }

    /// Report the gap before `work` ns of a watch, which the current task of a CPU gets within the `passed` ns up to `at`.
    #[cold]
    pub(crate) fn look_at_clock(&mut self, cpu: usize, at: Ns, passed: Ns, work: Ns) {
        let rq = &self.cpus[cpu];
        let before: Ns = rq.segment.extras.iter().map(|extra| Ns::from(*extra)).sum();
        // Cache refills are spent before the next reading of the clock.
        let reading = work.saturating_sub(before);
        if reading == 0 {
            return;
        }
        let (task, began) = (rq.current, at - passed * reading / work);
        let last = std::mem::replace(&mut self.tasks[task].left, at);
        if began > last {
            self.note_gap(task, began - last + Ns::from(self.costs.clock_read), began);
        }
    }

    /// Record a gap of a watch that ends at `at`.
    fn note_gap(&mut self, task: TaskIx, gap: Ns, at: Ns) {
        let watcher = &mut self.tasks[task];
        watcher.moved = watcher.moved.max(gap);
        let Action::Step(Step::Watch { over_ns, gaps, lost, .. }) = watcher.action else {
            unreachable!("only segments of a watch have `watched` set")
        };
        if gap > over_ns && self.recording(at) {
            self.program.counters[gaps as usize] += 1;
            self.program.counters[lost as usize] += gap;
        }
    }

    /// Record the longest gap of a watch in the series `longest`.
    pub(super) fn end_watch(&mut self, cpu: usize, task: TaskIx, longest: u32) {
        if self.recording(self.task_time(cpu, task)) {
            let longest_gap = self.tasks[task].moved.max(self.costs.clock_read.into());
            self.program.series[longest as usize].record(longest_gap);
        }
    }
}

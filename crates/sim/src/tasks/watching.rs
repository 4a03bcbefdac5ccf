//! A task that looks at the clock: what it can see of everything else that happens on its CPU.
//!
//! ```text
//! CPU   | watch | tick | watch | timer, wake-up, switch | worker | switch | refill | watch |
//! task  |·······|......|·······|..................................................|·······|
//!                 gap                            another gap
//! ```
//! Between two looks lies at least the reading of the clock itself.

use schedlab_workload::Step;

use crate::balance::KernelPolicy;
use crate::engine::Engine;
use crate::observe::Observer;
use crate::sched::TaskIx;
use crate::tasks::Action;
use crate::time::Ns;

impl<P: KernelPolicy, O: Observer> Engine<'_, P, O> {
    /// The current task of a CPU is about to be given `work` ns of its segment within the `passed` ns up to `at`.
    #[cold]
    pub(crate) fn look_at_clock(&mut self, cpu: usize, at: Ns, passed: Ns, work: Ns) {
        let it = &self.cpus[cpu];
        let before: Ns = it.segment.extras.iter().map(|extra| Ns::from(*extra)).sum();
        // What is brought back into the caches comes before the next look.
        let own = work.saturating_sub(before);
        if own == 0 {
            return;
        }
        let (task, began) = (it.current, at - passed * own / work);
        let last = std::mem::replace(&mut self.tasks[task].left, at);
        if began > last {
            self.note_gap(task, began - last + Ns::from(self.costs.clock_read), began);
        }
    }

    fn note_gap(&mut self, task: TaskIx, gap: Ns, at: Ns) {
        let it = &mut self.tasks[task];
        it.moved = it.moved.max(gap);
        let Action::Step(Step::Watch { over_ns, gaps, lost, .. }) = it.action else {
            unreachable!("only watches are watched")
        };
        if gap > over_ns && self.recording(at) {
            self.program.counters[gaps as usize] += 1;
            self.program.counters[lost as usize] += gap;
        }
    }

    pub(super) fn end_watch(&mut self, cpu: usize, task: TaskIx, longest: u32) {
        if self.recording(self.task_time(cpu, task)) {
            let seen = self.tasks[task].moved.max(self.costs.clock_read.into());
            self.program.series[longest as usize].record(seen);
        }
    }
}

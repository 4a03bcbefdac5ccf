//! Balancing of 2.5.59: every CPU for itself, by its own ticks, comparing numbers of tasks.
//!
//! ```text
//! ticks   an idle CPU looks every millisecond, a busy one every 250 ms, one that is about to idle at once
//! queues  the busiest queue of a set of CPUs, and which of its tasks are pulled
//! nodes   every so many looks the set is another node's CPUs; which CPU an executing task goes to
//! ```
//! New tasks stay on their parent's CPU. Real-time tasks that wait are not pulled (they are the core's here).

mod nodes;
mod queues;
mod ticks;

use crate::balance::KernelPolicy;
use crate::engine::Engine;
use crate::kernel::Tunable;
use crate::observe::Observer;
use crate::sched::{O1, TaskIx};

impl KernelPolicy for O1 {
    /// A sleeper stays on its CPU, but comes to its waker's CPU if the waker is about to sleep (`try_to_wake_up()`,
    /// kernel/sched.c, 2.5.59).
    fn select_task_rq<O: Observer>(
        engine: &mut Engine<'_, Self, O>,
        cpu: usize,
        task: TaskIx,
        sync: bool,
    ) -> usize {
        let tunables = &engine.tunables;
        let sync = sync && (!tunables.on(Tunable::D7ActivateTask) || tunables.on(Tunable::SyncWakeups));
        let pulled = sync && engine.tasks.allowed(task).contains(cpu);
        if pulled { cpu } else { engine.tasks[task].cpu.into() }
    }

    fn select_task_rq_fork<O: Observer>(engine: &mut Engine<'_, Self, O>, cpu: usize, task: TaskIx) -> usize {
        engine.select_new_o1(cpu, task)
    }

    /// Before 2.6.25 a real-time task stays on its parent's CPU.
    fn select_task_rq_fork_rt<O: Observer>(_: &Engine<'_, Self, O>, cpu: usize, _: TaskIx) -> usize {
        cpu
    }

    fn select_task_rq_exec<O: Observer>(engine: &mut Engine<'_, Self, O>, cpu: usize, task: TaskIx) -> usize {
        engine.sched_balance_exec(cpu, task)
    }

    fn balance_tick<O: Observer>(engine: &mut Engine<'_, Self, O>, cpu: usize) {
        engine.balance_tick_o1(cpu);
    }

    fn idle_tick<O: Observer>(engine: &mut Engine<'_, Self, O>, cpu: usize) {
        engine.idle_tick_o1(cpu);
    }

    fn newidle_balance<O: Observer>(engine: &mut Engine<'_, Self, O>, cpu: usize) -> bool {
        engine.newidle_balance_o1(cpu)
    }
}

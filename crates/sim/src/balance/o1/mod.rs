//! Balancing of 2.5.59 (kernel/sched.c): each CPU pulls tasks at its ticks, and compares numbers of tasks.
//!
//! ```text
//! load_balance  the busiest queue of a set of CPUs, and the tasks to pull from it
//! nodes         balancing between nodes, and the CPU of an executing task
//! ```
//! An idle CPU balances every millisecond, a busy CPU every 250 ms, and a CPU that is about to become idle at once. New tasks
//! stay on their parent's CPU. Waiting real-time tasks are not pulled; the common code for all policies places
//! real-time tasks.

mod load_balance;
mod nodes;

use super::load_balance::CpuIdleType;
use crate::balance::KernelPolicy;
use crate::engine::Engine;
use crate::kernel::Tunable;
use crate::ledger::Account;
use crate::observe::Observer;
use crate::sched::{O1, TaskIx};
use crate::time::SECOND;

impl KernelPolicy for O1 {
    /// Keep a sleeper on its CPU, or move it to its waker's CPU if the waker is about to sleep (`try_to_wake_up()`,
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
        engine.select_task_rq_fork_o1(cpu, task)
    }

    /// Keep a forked real-time task on its parent's CPU, as kernels before 2.6.25 do.
    fn select_task_rq_fork_rt<O: Observer>(_: &mut Engine<'_, Self, O>, cpu: usize, _: TaskIx) -> usize {
        cpu
    }

    fn select_task_rq_exec<O: Observer>(engine: &mut Engine<'_, Self, O>, cpu: usize, task: TaskIx) -> usize {
        engine.sched_balance_exec(cpu, task)
    }

    fn balance_tick<O: Observer>(engine: &mut Engine<'_, Self, O>, cpu: usize) {
        if engine.rebalance_due(4) {
            engine.load_balance_o1(cpu, CpuIdleType::Busy);
        }
    }

    fn idle_tick<O: Observer>(engine: &mut Engine<'_, Self, O>, cpu: usize) {
        engine.records.counters.ticks += 1;
        engine.advance_tick(cpu);
        let cpu_state = &engine.cpus[cpu];
        let idled = cpu_state.clock.saturating_sub(cpu_state.idle_since).min(engine.time.tick_ns);
        engine.book_time(cpu, Account::IdleExit, engine.idle_exit(idled));
        engine.book(cpu, Account::Tick, engine.costs.tick);
        if engine.rebalance_due(1000) && engine.load_balance_o1(cpu, CpuIdleType::Idle) > 0 {
            engine.leave_idle(cpu);
            engine.schedule(cpu);
        }
    }

    fn newidle_balance<O: Observer>(engine: &mut Engine<'_, Self, O>, cpu: usize) -> bool {
        engine.settle(cpu);
        engine.load_balance_o1(cpu, CpuIdleType::Newidle) > 0
    }
}

impl<O: Observer> Engine<'_, O1, O> {
    /// Whether the current tick is one of the `per_second` ticks at which CPUs balance: 4 for a busy CPU and 1000 for an idle
    /// CPU, at most every tick (`BUSY_REBALANCE_TICK` and `IDLE_REBALANCE_TICK`; patch 05 only moves their definitions).
    fn rebalance_due(&self, per_second: u64) -> bool {
        let interval_ticks = (SECOND / self.time.tick_ns / per_second).max(1);
        (self.time.now / self.time.tick_ns).is_multiple_of(interval_ticks)
    }
}

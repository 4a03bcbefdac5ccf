//! Which CPU a task runs on.
//!
//! ```text
//! select    a waking task: its last CPU, the waker's, or an idle one near
//! spread    a new or freshly executed task: down the domains from the widest, to the least loaded group and CPU
//! periodic  ticks and the idle CPUs' helper: when which domain is balanced
//! newidle   a CPU about to become idle looks for work first
//! shapes    what of the machine takes part in balancing
//! //! pass      one look over one domain: statistics and decision
//! pull      which tasks go, and their moving
//! o1        all of it as 2.5.59 did it, before there were domains
//! ```
//! Every pass costs time on the CPU that makes it: a base and a part for each CPU of the domain, and for each task moved.

mod newidle;
mod o1;
mod pass;
mod periodic;
mod pull;
mod select;
mod shapes;
mod spread;

pub(crate) use shapes::Shapes;

use crate::engine::Engine;
use crate::observe::Observer;
use crate::sched::{Cfs, Eevdf, Policy, TaskIx};
use crate::time::Ns;

/// State of load balancing.
#[derive(Debug)]
pub(crate) struct Balance {
    /// Domains and caches, cut to the CPUs that take part.
    pub shapes: Shapes,
    /// When an idle CPU next balances for all idle CPUs (`nohz.next_balance`).
    pub nohz_next_balance: Ns,
    /// Tasks that a balancing pass has detached; empty between passes.
    pub detached: Vec<TaskIx>,
}

impl Balance {
    /// The state at boot.
    pub fn new(shapes: Shapes) -> Self {
        Self { shapes, nohz_next_balance: 0, detached: Vec::new() }
    }
}

/// What a kernel does with all its CPUs beside the policy of each: it selects a CPU for a task, and balances. By default
/// it does so over domains, as all kernels since 2.6.7 do.
pub(crate) trait KernelPolicy: Policy {
    /// Selects a CPU for an ordinary task that `cpu` wakes. `sync`: the waker is about to sleep.
    #[inline(always)]
    fn select_task_rq<O: Observer>(
        engine: &mut Engine<'_, Self, O>,
        cpu: usize,
        task: TaskIx,
        sync: bool,
    ) -> usize {
        engine.select_task_rq_fair(cpu, task, sync)
    }

    /// Selects a CPU for an ordinary task that `cpu` has forked.
    fn select_task_rq_fork<O: Observer>(engine: &mut Engine<'_, Self, O>, cpu: usize, task: TaskIx) -> usize {
        engine.find_idlest_cpu(cpu, task)
    }

    /// Selects a CPU for a real-time task that has been forked, and may run on `cpu`.
    fn select_task_rq_fork_rt<O: Observer>(engine: &Engine<'_, Self, O>, cpu: usize, task: TaskIx) -> usize {
        engine.select_task_rq_rt(cpu, task)
    }

    /// Selects a CPU for the current ordinary task of `cpu`, which executes a program.
    fn select_task_rq_exec<O: Observer>(engine: &mut Engine<'_, Self, O>, cpu: usize, task: TaskIx) -> usize {
        engine.find_idlest_cpu(cpu, task)
    }

    /// The part of a busy CPU's tick in balancing.
    #[inline(always)]
    fn balance_tick<O: Observer>(engine: &mut Engine<'_, Self, O>, cpu: usize) {
        engine.trigger_load_balance(cpu);
    }

    /// The tick of an idle CPU, where the kernel does not stop it ([`Policy::TICKS_WHEN_IDLE`]).
    fn idle_tick<O: Observer>(_: &mut Engine<'_, Self, O>, _: usize) {}

    /// Looks for work for a CPU that is about to become idle. Returns whether it has work.
    #[inline(always)]
    fn newidle_balance<O: Observer>(engine: &mut Engine<'_, Self, O>, cpu: usize) -> bool {
        engine.newidle_balance(cpu)
    }
}

impl KernelPolicy for Cfs {}
impl KernelPolicy for Eevdf {}

/// Beyond this distance tasks are not pulled to their waker, nor new ones spread (`RECLAIM_DISTANCE`,
/// include/linux/topology.h).
const RECLAIM_DISTANCE: u32 = 30;

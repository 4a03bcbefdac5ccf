//! Load balancing: selection of a CPU for each task.
//!
//! ```text
//! select_task_rq     a waking task: its previous CPU, the waker's CPU, or an idle CPU that shares a cache with either
//! find_idlest        a forked task or a task in execve(): the idlest group and CPU, from the widest domain down
//! rebalance_domains  periodic balancing, by ticks of busy CPUs and by an idle CPU for all idle CPUs
//! newidle_balance    a CPU that is about to become idle searches for tasks
//! sched_domains      tables of the domains and caches that balancing uses
//! load_balance       one pass over one domain
//! find_busiest       which CPU a pass takes tasks from, and how much
//! find_busiest_by_load  rules of find_busiest before 5.5, by the groups' loads
//! groups             sums and types of groups of CPUs
//! detach_tasks       selection of the tasks that a pass moves, and their move
//! realtime           real-time tasks: selection of a CPU, push and pull
//! deadline           the same of deadline tasks
//! o1                 the balancing of 2.5.59, which has no domains
//! ```
//! Each pass costs time on the CPU that makes it: a base, a part for each CPU of the domain, and a part for each moved task.

mod deadline;
mod detach_tasks;
mod find_busiest;
mod find_busiest_by_load;
mod find_idlest;
mod groups;
mod load_balance;
mod newidle_balance;
mod o1;
mod realtime;
mod rebalance_domains;
mod sched_domains;
mod select_task_rq;

pub(crate) use groups::GroupType;
pub(crate) use load_balance::{Balanced, Imbalance};
pub(crate) use sched_domains::{SchedDomains, SchedGroup};

use crate::engine::Engine;
use crate::kernel::GroupComparison;
use crate::machine::reclaim_distance;
use crate::observe::Observer;
use crate::sched::{Cfs, Eevdf, Grouped, Policy, TaskIx};
use crate::time::Ns;

/// State of load balancing.
#[derive(Debug)]
pub(crate) struct Balance {
    /// Domains and caches, restricted to the CPUs that balancing uses.
    pub domains: SchedDomains,
    /// Time of the next balancing for all idle CPUs (`nohz.next_balance`).
    pub nohz_next_balance: Ns,
    /// Time of the next update of the idle CPUs' average loads (`nohz.next_blocked`).
    pub nohz_next_blocked: Ns,
    /// Tasks that a pass has detached, kept to reuse the allocation. Empty between passes.
    pub detached: Vec<TaskIx>,
}

impl Balance {
    /// The state at boot.
    pub fn new(domains: SchedDomains) -> Self {
        Self { domains, nohz_next_balance: 0, nohz_next_blocked: 0, detached: Vec::new() }
    }
}

/// Decisions of a policy that concern several CPUs: selection of a task's CPU, and balancing. The default methods use
/// scheduling domains, as all kernels since 2.6.7 do.
pub(crate) trait KernelPolicy: Policy {
    /// Select a CPU for an ordinary task that `cpu` wakes. `sync`: the waker is about to sleep.
    #[inline(always)]
    fn select_task_rq<O: Observer>(
        engine: &mut Engine<'_, Self, O>,
        cpu: usize,
        task: TaskIx,
        sync: bool,
    ) -> usize {
        engine.select_task_rq_fair(cpu, task, sync)
    }

    /// Select a CPU for an ordinary task that `cpu` has forked.
    fn select_task_rq_fork<O: Observer>(engine: &mut Engine<'_, Self, O>, cpu: usize, task: TaskIx) -> usize {
        engine.find_idlest_cpu(cpu, task)
    }

    /// Select a CPU for a real-time task that has been forked and is allowed on `cpu`.
    fn select_task_rq_fork_rt<O: Observer>(
        engine: &mut Engine<'_, Self, O>,
        cpu: usize,
        task: TaskIx,
    ) -> usize {
        engine.select_task_rq_rt(cpu, cpu, task)
    }

    /// Select a CPU for the current ordinary task of `cpu`, which calls `execve()`.
    fn select_task_rq_exec<O: Observer>(engine: &mut Engine<'_, Self, O>, cpu: usize, task: TaskIx) -> usize {
        engine.find_idlest_cpu(cpu, task)
    }

    /// Balance at the tick of a busy CPU.
    #[inline(always)]
    fn balance_tick<O: Observer>(engine: &mut Engine<'_, Self, O>, cpu: usize) {
        engine.trigger_load_balance(cpu);
    }

    /// Handle the tick of an idle CPU; called only under [`Policy::TICKS_WHEN_IDLE`].
    fn idle_tick<O: Observer>(_: &mut Engine<'_, Self, O>, _: usize) {}

    /// Search tasks for a CPU that is about to become idle. Return whether the CPU has work.
    #[inline(always)]
    fn newidle_balance<O: Observer>(engine: &mut Engine<'_, Self, O>, cpu: usize) -> bool {
        engine.newidle_balance(cpu)
    }
}

impl KernelPolicy for Cfs {}
impl KernelPolicy for Eevdf {}
impl<P: KernelPolicy> KernelPolicy for Grouped<P> {}

impl<P: KernelPolicy, O: Observer> Engine<'_, P, O> {
    /// Distance up to which wake-ups pull tasks and new tasks spread (`sd_init()`, kernel/sched/topology.c).
    fn reclaim_distance(&self) -> u32 {
        match self.world.kernel.domains.group_comparison {
            GroupComparison::Load => reclaim_distance(),
            GroupComparison::Type => self.world.machine.reclaim_distance,
        }
    }
}

//! The engine: a machine in motion.
//!
//! Everything happens in the order of [`Agenda`](crate::time::Agenda)'s keys. An event on a CPU has its effects at that
//! moment; what the kernel does for it takes time *behind* the effect: `book` moves the CPU's clock on, and whatever that
//! CPU does next begins at its clock. Tasks act on each other only when their CPU's clock has been reached
//! (`tasks::exec`), so causes precede effects up to the few microseconds of one kernel entry.

mod account;
mod check;
mod cpu;
mod finish;
mod interrupt;
mod start;
mod table;

use schedlab_workload::code::Code;
use schedlab_workload::{Cursor, Plan};

use crate::balance::{Memories, Shapes, Sums};
use crate::error::SimError;
use crate::kernel::{Change, Kernel, Tunable, Tunables};
use crate::ledger::Ledger;
use crate::machine::{Costs, CpuMask, Domains, Machine, Topology};
use crate::numa::Numa;
use crate::observe::{Counters, End, Histograms, LockUses, Observer, Outcome, Series, TaskReport};
use crate::physics::{Caches, Memory, Region};
use crate::sched::{Policy, SwitchLocks, TaskIx};
use crate::schedstats::Schedstats;
use crate::simulation::Config;
use crate::tasks::{
    Condition, Flow, GateState, Latencies, Lock, Meeting, Script, Semaphore, Task, TaskSettings,
};
use crate::time::{Agenda, Ns, Random, Timers};
use crate::vmstat::{Counts, Workers};

pub(crate) use cpu::EXTRAS;
pub(crate) use cpu::{BANDWIDTH, CACHE, CARRY, Cpu, DomainState, FULL, MESSAGES, NOBODY, REMOTE, Segment};
pub(crate) use interrupt::next_tick;
pub(crate) use table::Table;

/// Everything that a simulation borrows.
#[derive(Clone, Copy)]
pub(crate) struct World<'c> {
    pub machine: &'c Machine,
    pub kernel: &'c Kernel,
    pub topology: &'c Topology,
    pub domains: &'c Domains,
    pub plan: &'c Plan,
    pub codes: &'c [Code],
    /// Position of each task's code, by ordinal.
    pub code_of: &'c [u32],
    pub settings: &'c [TaskSettings],
    pub config: &'c Config,
    pub isolated: &'c CpuMask,
    pub nohz_full: &'c CpuMask,
}

/// A machine in motion.
pub(crate) struct Engine<'c, P: Policy, O: Observer> {
    pub world: World<'c>,
    pub topology: &'c Topology,
    pub costs: Costs,
    pub now: Ns,
    pub horizon: Ns,
    pub tick_ns: Ns,
    pub agenda: Agenda,
    /// Events that belong to no CPU: positions in `changes`.
    pub global: Timers,
    pub changes: Vec<Change>,
    pub random: Random,
    pub observer: O,

    pub policy: P,
    pub tunables: Tunables,
    pub cpus: Table<Cpu>,
    pub queues: Table<P::Queue>,
    /// Tasks of each CPU, the current one included.
    pub running: Table<u32>,
    /// Sum of their weights, real-time tasks aside.
    pub loads: Table<u64>,
    /// Both by last-level cache.
    pub sums: Sums,
    /// CPUs with nothing to do, and those of cores with nothing to do (kept only with SMT).
    pub idle: CpuMask,
    pub idle_cores: CpuMask,
    /// CPUs with more than one task.
    pub crowded: CpuMask,
    /// A CPU has had more than one task since a pass over a widest domain found none that had (`overload` of the root
    /// domain, kernel/sched/sched.h).
    pub overload: bool,
    /// CPUs that balancing and ordinary wake-ups may use.
    pub open: CpuMask,
    /// Domains and caches as balancing sees them.
    pub shapes: Shapes,
    pub nohz_next_balance: Ns,
    /// Of the O(1) kernel alone.
    pub balance_memories: Memories,
    pub switch_locks: SwitchLocks,

    pub stats: Schedstats,

    pub tasks: Table<Task>,
    pub entities: Vec<P::Entity>,
    pub scripts: Table<Script>,
    /// Of tasks that run a program: where they are in it.
    pub cursors: Table<Cursor<'c>>,
    pub latencies: Table<Latencies>,
    pub free_tasks: Vec<TaskIx>,
    pub masks: Vec<CpuMask>,
    /// Tasks that have not ended, and those of them that wait for another task.
    pub alive: usize,
    pub stuck: usize,
    /// It is over, well or by the failure.
    pub finished: bool,
    pub failure: Option<SimError>,

    pub gate: GateState,
    pub flows: Vec<Flow>,
    pub locks: Vec<Lock>,
    pub lock_uses: LockUses,
    pub semaphores: Vec<Semaphore>,
    pub meetings: Vec<Meeting>,
    pub conditions: Vec<Condition>,
    pub slots: Vec<Ns>,
    pub regions: Vec<Region>,
    pub memory: Memory,
    pub caches: Caches,
    pub counts: Counts,
    pub workers: Workers,
    pub numa: Numa,

    pub ledger: Ledger,
    pub counters: Counters,
    pub histograms: Histograms,
    pub program_counters: Vec<u64>,
    pub series: Vec<Series>,
    pub ended_user_ns: Ns,
    pub ended_ran_ns: Ns,
    /// Of the program's own tasks, by ordinal, at their end.
    pub reports: Vec<TaskReport>,
    /// Tasks that a balancing pass has chosen; empty between passes.
    pub chosen: Vec<TaskIx>,
}

impl<'c, P: Policy, O: Observer> Engine<'c, P, O> {
    /// Runs to the end of the program or the horizon.
    pub fn run(mut self) -> Result<Outcome, SimError> {
        self.boot();
        let end = loop {
            if self.finished {
                if let Some(failure) = self.failure.take() {
                    return Err(failure);
                }
                break End::Finished;
            }
            let Some((at, slot)) = self.agenda.first() else { return Err(self.deadlock()) };
            if at > self.horizon {
                self.now = self.horizon;
                break End::Horizon;
            }
            self.now = at;
            self.counters.events += 1;
            if slot == self.cpus.len() {
                self.global_event();
            } else {
                self.cpu_event(slot);
            }
            if self.stuck == self.alive && !self.finished {
                return Err(self.deadlock());
            }
            #[cfg(any(debug_assertions, feature = "check"))]
            if self.failure.is_none() {
                self.check();
            }
        };
        Ok(self.finish(end))
    }

    #[inline]
    fn cpu_event(&mut self, cpu: usize) {
        self.settle(cpu);
        let it = &self.cpus[cpu];
        if it.current != NOBODY && it.segment.left == 0 && it.clock <= self.now {
            self.progress(cpu);
        }
        // One question for all that is not the end of a segment. A CPU that idles has a tick behind it, and is asked more.
        let it = &self.cpus[cpu];
        if it.timer_at.min(it.ipi_at).min(it.tick_at) <= self.now || it.need_resched || it.nohz_full {
            self.interrupts(cpu);
        }
        self.rekey(cpu);
    }

    /// Timers, the tick and interrupts from other CPUs that are due.
    #[inline]
    fn interrupts(&mut self, cpu: usize) {
        if self.cpus[cpu].timer_at <= self.now {
            self.timer_interrupt(cpu);
        }
        let it = &self.cpus[cpu];
        if it.current != NOBODY && it.tick_at <= self.now && self.tick_wanted(cpu) {
            self.tick(cpu);
        } else if it.current == NOBODY && it.tick_at <= self.now && self.is_o1() {
            self.idle_tick(cpu);
        } else if it.nohz_full
            && it.current != NOBODY
            && self.workers.due[cpu] <= self.now
            && !self.tick_wanted(cpu)
        {
            self.deferrable_interrupt(cpu);
        }
        if self.cpus[cpu].ipi_at <= self.now {
            self.ipi_arrives(cpu);
        }
        let it = &self.cpus[cpu];
        if it.need_resched && it.current != NOBODY {
            self.schedule(cpu);
        }
    }

    fn global_event(&mut self) {
        while let Some(timer) = self.global.first().filter(|timer| timer.at <= self.now) {
            self.global.pop();
            let change = &self.changes[timer.owner as usize];
            let changed = self.tunables.set(&change.tunable, change.value);
            debug_assert!(changed.is_ok(), "changes have been checked");
            self.observer.retuned(self.now, &change.tunable, change.value);
            self.counters.retunes += 1;
            // What only counts disturbs nobody: even bringing run times up to date rounds them otherwise.
            if change.tunable == Tunable::Schedstats.name() {
                self.stats_retuned();
            } else {
                self.retuned();
            }
        }
        self.agenda.set(self.cpus.len(), self.global.next());
    }

    /// Tunables have changed.
    fn retuned(&mut self) {
        for cpu in 0..self.cpus.len() {
            self.settle(cpu);
            self.charge(cpu);
        }
        self.policy.retune(&self.tunables);
        self.retune_vmstat();
        self.numa.retune(&self.tunables);
    }
}

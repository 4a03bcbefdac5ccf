//! The event loop of a simulation.
//!
//! Events happen in the order of [`Agenda`](crate::time::Agenda)'s keys. An event on a CPU takes effect at once. The
//! kernel's work for an event takes time *after* the effect: `book` moves the CPU's clock forward, and the next work of
//! that CPU begins at its clock. Tasks act on each other only when their CPU's clock has been reached (`tasks::exec`),
//! so that causes precede effects up to the few microseconds of one kernel entry.

mod account;
mod check;
mod cpu;
mod finish;
mod groups;
mod interrupt;
mod start;

use schedlab_workload::Plan;
use schedlab_workload::code::Code;

use crate::balance::{Balance, KernelPolicy};
use crate::config::Config;
use crate::error::SimError;
use crate::kernel::{Change, Kernel, Tunable, Tunables};
use crate::machine::{Costs, CpuMask, Domains, Machine, Topology};
use crate::memory::Reserve;
use crate::numa::Numa;
use crate::observe::{End, Observer, Outcome, Records};
use crate::physics::Physics;
use crate::sched::{DeadlineTasks, NOBODY, Policy, Runqueues};
use crate::schedstats::Schedstats;
use crate::table::Table;
use crate::tasks::{Attributes, GateState, ProgramState, Tasks, Writers};
use crate::time::{Clock, Timers};
use crate::vmstat::Vmstat;

use groups::Groups;

pub(crate) use cpu::{Cpu, DomainState, FULL, NewidleStats};

/// The configuration of a simulation, which the engine borrows.
#[derive(Clone, Copy)]
pub(crate) struct World<'c> {
    pub machine: &'c Machine,
    pub kernel: &'c Kernel,
    pub topology: &'c Topology,
    pub domains: &'c Domains,
    pub plan: &'c Plan,
    pub codes: &'c [Code],
    /// Index in `codes` of each task, by ordinal.
    pub code_of: &'c [u32],
    pub settings: &'c [Attributes],
    pub main: &'c Attributes,
    pub buffer_pages: &'c [u32],
    pub config: &'c Config,
    pub isolated: &'c CpuMask,
    pub nohz_full: &'c CpuMask,
    /// Estimate of the memory that the run needs without forked children.
    pub memory_bytes: u64,
}

/// Changes of tunables that the configuration schedules.
pub(crate) struct Changes {
    list: Vec<Change>,
    /// Times of the changes. A timer's owner is an index in `list`.
    timers: Timers,
}

/// State of a running simulation. The type of each field belongs to one folder of the crate.
pub(crate) struct Engine<'c, P: Policy, O: Observer> {
    pub world: World<'c>,
    pub topology: &'c Topology,
    pub costs: Costs,
    pub tunables: Tunables,
    pub time: Clock,
    changes: Changes,
    pub cpus: Table<Cpu>,
    pub rq: Runqueues<P>,
    pub balance: Balance,
    pub tasks: Tasks<'c>,
    pub deadlines: DeadlineTasks,
    pub gate: GateState,
    pub program: ProgramState,
    groups: Groups,
    pub physics: Physics,
    pub writers: Writers,
    pub numa: Numa,
    pub vmstat: Vmstat,
    pub stats: Schedstats,
    pub records: Records<O>,
    pub reserve: Reserve,
    /// The simulation is over: the program has ended, or `failure` has occurred.
    pub finished: bool,
    pub failure: Option<SimError>,
}

impl<'c, P: KernelPolicy, O: Observer> Engine<'c, P, O> {
    /// Run the simulation to the end of the program or to the horizon.
    pub fn run(mut self) -> Result<Outcome, SimError> {
        self.boot();
        let end = loop {
            if self.finished {
                if let Some(failure) = self.failure.take() {
                    return Err(failure);
                }
                break End::Finished;
            }
            let Some((at, slot)) = self.time.agenda.first() else { return Err(self.deadlock()) };
            if at > self.time.horizon {
                self.time.now = self.time.horizon;
                break End::Horizon;
            }
            self.time.now = at;
            self.records.counters.events += 1;
            if slot == self.cpus.len() {
                self.global_event();
            } else {
                self.cpu_event(slot);
            }
            if self.tasks.blocked == self.tasks.alive && !self.finished {
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
        let cpu_state = &self.cpus[cpu];
        if cpu_state.current != NOBODY && cpu_state.segment.left == 0 && cpu_state.clock <= self.time.now {
            self.progress(cpu);
        }
        // Fast path: one test rules out timers, IPIs and ticks. Idle CPUs, whose tick is in the past, take the slow path.
        let cpu_state = &self.cpus[cpu];
        if cpu_state.timer_at.min(cpu_state.ipi_at).min(cpu_state.tick_at) <= self.time.now
            || cpu_state.need_resched
            || cpu_state.nohz_full
        {
            self.interrupts(cpu);
        }
        self.rekey(cpu);
    }

    /// Handle the timers, the tick and the interrupts from other CPUs that are due.
    #[inline]
    fn interrupts(&mut self, cpu: usize) {
        if self.cpus[cpu].timer_at <= self.time.now {
            self.timer_interrupt(cpu);
        }
        let cpu_state = &self.cpus[cpu];
        if cpu_state.current != NOBODY && cpu_state.tick_at <= self.time.now && self.tick_wanted(cpu) {
            self.tick(cpu);
        } else if cpu_state.current == NOBODY && cpu_state.tick_at <= self.time.now && P::TICKS_WHEN_IDLE {
            P::idle_tick(self, cpu);
        } else if cpu_state.nohz_full
            && cpu_state.current != NOBODY
            && self.vmstat.workers.due[cpu] <= self.time.now
            && !self.tick_wanted(cpu)
        {
            self.deferrable_interrupt(cpu);
        }
        if self.cpus[cpu].ipi_at <= self.time.now {
            self.ipi_arrives(cpu);
        }
        let cpu_state = &self.cpus[cpu];
        if cpu_state.need_resched && cpu_state.current != NOBODY && !self.gate.is_opened_by(cpu_state.current)
        {
            self.schedule(cpu);
        }
    }

    fn global_event(&mut self) {
        while let Some(timer) = self.changes.timers.first().filter(|timer| timer.at <= self.time.now) {
            self.changes.timers.pop();
            if P::GROUPS && self.group_timer(timer.owner) {
                continue;
            }
            let change = &self.changes.list[timer.owner as usize];
            let changed = self.tunables.set(&change.tunable, change.value);
            debug_assert!(changed.is_ok(), "changes have been checked");
            self.records.observer.retuned(self.time.now, &change.tunable, change.value);
            self.records.counters.retunes += 1;
            // Statistics only count, and must not change the outcome. Updating run times would change their rounding.
            if change.tunable == Tunable::Schedstats.name() {
                self.stats.retune(self.tunables.on(Tunable::Schedstats), self.balance.domains.levels());
            } else {
                self.retuned();
            }
        }
        self.time.agenda.set(self.cpus.len(), self.changes.timers.next());
    }

    /// Run the program's tasks in a group or in no group, as the tunable says.
    fn retune_autogroup(&mut self) {
        let on = self.tunables.on(Tunable::AutogroupEnabled);
        self.rq.set_autogroup(on, self.world.kernel.tg_load_avg_ratelimit, self.time.tick_ns);
    }

    /// Apply changed tunables.
    fn retuned(&mut self) {
        for cpu in 0..self.cpus.len() {
            self.settle(cpu);
            self.update_curr(cpu);
        }
        self.rq.policy.retune(&self.tunables);
        self.retune_autogroup();
        self.retune_vmstat();
        self.numa.retune(&self.tunables);
    }
}

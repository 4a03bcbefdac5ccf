//! Kernel threads that fold differentials, and the shepherd that starts these threads.

use crate::balance::KernelPolicy;
use crate::engine::Engine;
use crate::kernel::Tunable;
use crate::ledger::Account;
use crate::machine::MISSES_IN_FLIGHT;
use crate::observe::Observer;
use crate::sched::{NOBODY, TaskIx};
use crate::table::Table;
use crate::tasks::{Script, Segment};
use crate::time::{NEVER, Ns, Random, SECOND};

use super::counts::{Counts, Item};
use super::report::VmstatCounters;

/// KiB of a task's stack in the kernel: THREAD_SIZE of x86-64 since 3.15, and of arm64 with pages of 4 KiB.
const STACK_KIB: i64 = 16;

const STACK_PAGES: u64 = STACK_KIB as u64 / 4;

/// Ticks between the timers of neighbouring CPUs, so that CPUs do not fold at the same moment (`round_jiffies()`,
/// kernel/time/timer.c).
const SKEW_TICKS: Ns = 3;

/// Instructions of starting a worker on a CPU without ticks, from the timer to the return to the task, without those that
/// [`Costs`](crate::machine::Costs) has: the work queue's management, the restart and the stop of the tick, and the kernel's
/// entry and exit with context tracking. Counted paths of similar length: half a round of pipetest, a wake-up and a switch, has 7000
/// instructions (docs/exact-cost.md).
const MANAGEMENT_INSTRUCTIONS: Ns = 5500;

/// Lines of kernel code and data that a worker's start, run and end touch on a CPU without ticks, about 12 500 instructions: an
/// estimate. On a CPU with ticks, Debian's 6.1.0-56 executes 10 169 instructions from the timer's interrupt to the return to idleness,
/// in 136 functions and 472 lines of code, in QEMU's log of executed blocks. Lines of data were not counted. The kernel has not run on
/// this CPU for a second, in which other CPUs replace the lines in a cache that they share.
const COLD_LINES: Ns = 1000;

/// Constant of the random draw for the phase of seconds, which keeps the simulation's other draws unchanged.
const SALT: u64 = 0x766d_7374_6174_3031;

/// Duty of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Duty {
    /// Folds the differentials of its CPU.
    Fold,
    /// Searches for CPUs with differentials.
    Search,
}

/// A CPU's worker.
#[derive(Debug, Clone, Copy)]
struct Worker {
    /// Thread of the worker, created on first use.
    task: TaskIx,
    /// Whether a timer is set for the worker or the worker is running. Otherwise the shepherd watches the CPU.
    active: bool,
    quiet_since: Ns,
}

/// State of all workers.
#[derive(Debug)]
pub(crate) struct Workers {
    /// Whether the kernel folds, and whether a shepherd starts workers.
    folds: bool,
    shepherds: bool,
    /// Expiry of each CPU's deferrable timer.
    pub due: Table<Ns>,
    each: Vec<Worker>,
    shepherd: TaskIx,
    /// Whether the shepherd's timer is set or the shepherd runs.
    watching: bool,
    /// Phase of the seconds to which timers are rounded.
    phase: Ns,
}

impl Workers {
    pub fn new(cpus: usize, folds: bool) -> Self {
        Self {
            folds,
            shepherds: false,
            // SAFETY: by CPU, with an entry for each CPU of the topology.
            due: unsafe { Table::trusted(vec![NEVER; cpus]) },
            each: vec![Worker { task: NOBODY, active: false, quiet_since: 0 }; cpus],
            shepherd: NOBODY,
            watching: false,
            phase: 0,
        }
    }
}

impl<P: KernelPolicy, O: Observer> Engine<'_, P, O> {
    /// Draw the initial phases. The machine has been up for long, so the first expiry and the seconds to which timers are
    /// rounded are at a random time within an interval.
    pub(crate) fn start_vmstat(&mut self) {
        if !self.vmstat.workers.folds {
            return;
        }
        let interval = self.tunables.non_negative(Tunable::VmStatInterval) * SECOND;
        let first = Random::new(self.world.config.seed ^ SALT).below(interval);
        self.vmstat.workers.phase = first % SECOND;
        self.vmstat.workers.shepherds = self.tunables.on(Tunable::VmStatShepherd);
        let due = |engine: &Self, cpu: usize| (first + interval - engine.skew(cpu) % interval) % interval;
        if self.vmstat.workers.shepherds { self.watch(due) } else { self.keep_all_workers(due) }
    }

    /// Apply changed tunables. A new interval takes effect when the current interval ends; a change of mode takes effect at once.
    pub(crate) fn retune_vmstat(&mut self) {
        let shepherds = self.tunables.on(Tunable::VmStatShepherd);
        if !self.vmstat.workers.folds || shepherds == self.vmstat.workers.shepherds {
            return;
        }
        self.vmstat.workers.shepherds = shepherds;
        if !shepherds {
            self.keep_all_workers(|engine, cpu| engine.next_fold(cpu, engine.time.now));
            return;
        }
        // Workers that wait for deferrable timers hand over their CPUs now. Other workers do so when they have no work.
        for cpu in 0..self.cpus.len() {
            if std::mem::replace(&mut self.vmstat.workers.due[cpu], NEVER) != NEVER {
                self.hand_over(cpu, self.time.now);
                self.rekey(cpu);
            }
        }
        if !self.vmstat.workers.watching {
            self.watch(|engine, cpu| engine.next_fold(cpu, engine.time.now));
        }
    }

    /// Set the shepherd's timer.
    fn watch(&mut self, due: impl Fn(&Self, usize) -> Ns) {
        let cpu = self.rq.housekeeping.lowest().unwrap_or(0);
        if self.vmstat.workers.shepherd == NOBODY {
            self.vmstat.workers.shepherd = self.spawn_kernel(cpu, Script::Vmstat(Duty::Search));
        }
        self.vmstat.workers.watching = true;
        let at = due(self, cpu);
        self.arm_exact(cpu, self.vmstat.workers.shepherd, at);
        self.rekey(cpu);
    }

    /// Periodic mode: every CPU keeps its worker.
    fn keep_all_workers(&mut self, due: impl Fn(&Self, usize) -> Ns) {
        for cpu in 0..self.cpus.len() {
            if !self.vmstat.workers.each[cpu].active {
                self.take(cpu, self.time.now);
                self.vmstat.workers.due[cpu] = due(self, cpu);
                self.rekey(cpu);
            }
        }
    }

    fn take(&mut self, cpu: usize, at: Ns) {
        let worker = &mut self.vmstat.workers.each[cpu];
        worker.active = true;
        self.records.counters.vmstat.quiet_ns += at.saturating_sub(worker.quiet_since);
    }

    fn hand_over(&mut self, cpu: usize, at: Ns) {
        let worker = &mut self.vmstat.workers.each[cpu];
        (worker.active, worker.quiet_since) = (false, at);
    }

    fn skew(&self, cpu: usize) -> Ns {
        SKEW_TICKS * self.time.tick_ns * cpu as Ns
    }

    /// Expiry one interval later, rounded to seconds: down in the first quarter of a second, otherwise up
    /// (`round_jiffies_relative()`).
    fn next_fold(&self, cpu: usize, now: Ns) -> Ns {
        let at = now
            .saturating_add(self.tunables.non_negative(Tunable::VmStatInterval).saturating_mul(SECOND))
            .min(NEVER / 2);
        let skew = self.skew(cpu);
        // One second is added before rounding, so that the difference stays above 0.
        let whole = at + skew + SECOND - self.vmstat.workers.phase;
        let part = whole % SECOND;
        let rounded = if part < SECOND / 4 { whole - part } else { whole - part + SECOND };
        let rounded = (rounded + self.vmstat.workers.phase).saturating_sub(skew + SECOND);
        if rounded > now { rounded } else { at }
    }

    /// Handle a due deferrable timer of a CPU.
    pub(crate) fn fold_is_due(&mut self, cpu: usize) {
        self.vmstat.workers.due[cpu] = NEVER;
        let worker = self.worker(cpu);
        self.cpus[cpu].in_interrupt = true;
        self.try_to_wake_up(cpu, worker, false);
        self.cpus[cpu].in_interrupt = false;
    }

    /// Thread of a CPU's worker.
    fn worker(&mut self, cpu: usize) -> TaskIx {
        if self.vmstat.workers.each[cpu].task == NOBODY {
            self.vmstat.workers.each[cpu].task = self.spawn_kernel(cpu, Script::Vmstat(Duty::Fold));
        }
        self.vmstat.workers.each[cpu].task
    }

    /// A worker's next run, as a segment of its CPU's time.
    pub(crate) fn begin_vmstat(&mut self, cpu: usize, duty: Duty) -> Segment {
        let (local, remote) = (u64::from(self.costs.stats_local), u64::from(self.costs.stats_remote));
        let ns = match duty {
            Duty::Fold => {
                // After the walk over all zones, each folded counter is added to its zone's and the global counter.
                let folded = self.vmstat.counts.pending(cpu);
                let cold = if self.cpus[cpu].nohz_full { self.cold_kernel() } else { 0 };
                cold + Ns::from(self.costs.vmstat_fold)
                    + 2 * folded.items * local
                    + folded.foreign * remote.saturating_sub(local)
            }
            Duty::Search => {
                // The shepherd reads each CPU's differentials of each zone. Changed differentials are not in its caches.
                let changed = self.vmstat.counts.changed().count() as u64;
                let all = self.cpus.len() as u64;
                (changed * remote + (all - changed) * local) * self.world.machine.nodes() as u64
            }
        };
        Segment::new(Account::Vmstat, ns.max(1))
    }

    /// Time of the kernel's cold code and of the work queue on a CPU that runs without ticks.
    fn cold_kernel(&self) -> Ns {
        let costs = &self.costs;
        // Code is fetched line by line.
        let line = MISSES_IN_FLIGHT * Ns::from(costs.refill_kib.node) * Ns::from(costs.random_percent) / 1600;
        COLD_LINES * line + MANAGEMENT_INSTRUCTIONS * Ns::from(costs.instruction_ps) / 1000
    }

    /// Complete a worker's run and set its next timer.
    pub(crate) fn end_vmstat(&mut self, cpu: usize, duty: Duty) {
        match duty {
            Duty::Fold => self.vmstat_update(cpu),
            Duty::Search => self.vmstat_shepherd(cpu),
        }
    }

    /// Fold the differentials of a worker's CPU (`vmstat_update()`, mm/vmstat.c, v4.5).
    fn vmstat_update(&mut self, cpu: usize) {
        let folded = self.vmstat.counts.refresh_cpu_vm_stats(cpu).items;
        self.records.counters.vmstat.updates += 1;
        self.records.counters.vmstat.folds += folded;
        self.records.counters.vmstat.idle_updates += u64::from(folded == 0);
        let at = self.next_fold(cpu, self.cpus[cpu].clock);
        if !self.vmstat.workers.shepherds {
            self.vmstat.workers.due[cpu] = at;
        } else if folded > 0 {
            // Not deferrable under the shepherd, as from 4.0 to 4.4 ("vmstat: do not use deferrable delayed work for
            // vmstat_update"). A deferrable timer would not fold an idle CPU's differentials until the CPU wakes up.
            self.arm_exact(cpu, self.vmstat.workers.each[cpu].task, at);
        } else {
            self.hand_over(cpu, self.cpus[cpu].clock);
        }
    }

    /// Start a worker on each CPU with differentials (`vmstat_shepherd()`, mm/vmstat.c, v4.5).
    fn vmstat_shepherd(&mut self, cpu: usize) {
        self.records.counters.vmstat.looks += 1;
        if !self.vmstat.workers.shepherds {
            self.vmstat.workers.watching = false;
            return;
        }
        for other in self.vmstat.counts.changed().iter() {
            if !self.vmstat.workers.each[other].active && self.vmstat.counts.pending(other).items > 0 {
                self.records.counters.vmstat.started += 1;
                self.take(other, self.cpus[cpu].clock);
                let worker = self.worker(other);
                self.try_to_wake_up(cpu, worker, false);
            }
        }
        let at = self.next_fold(cpu, self.cpus[cpu].clock);
        self.arm_exact(cpu, self.vmstat.workers.shepherd, at);
    }

    /// Count pages that a task on a CPU allocates from a node.
    pub(crate) fn note_faults(&mut self, cpu: usize, node: usize, pages: u64) {
        self.records.counters.vmstat.pgfault += pages;
        self.records.counters.vmstat.pgalloc_normal += pages;
        self.count_pages(cpu, node, Item::FreePages, -1, pages);
        self.count_pages(cpu, node, Item::AnonPages, 1, pages);
    }

    /// Count pages that a task on a CPU returns to a node.
    pub(crate) fn note_frees(&mut self, cpu: usize, node: usize, pages: u64) {
        self.records.counters.vmstat.pgfree += pages;
        self.count_pages(cpu, node, Item::FreePages, 1, pages);
        self.count_pages(cpu, node, Item::AnonPages, -1, pages);
    }

    /// Count pages that are copied to another node and freed on their node.
    pub(crate) fn note_page_moves(&mut self, cpu: usize, from: usize, to: usize, pages: u64) {
        self.records.counters.vmstat.pgalloc_normal += pages;
        self.records.counters.vmstat.pgfree += pages;
        for (item, sign) in [(Item::FreePages, -1), (Item::AnonPages, 1)] {
            self.count_pages(cpu, to, item, sign, pages);
            self.count_pages(cpu, from, item, -sign, pages);
        }
    }

    /// Count the allocation or release of a task's kernel stack.
    pub(crate) fn note_stack(&mut self, cpu: usize, node: usize, born: bool) {
        let sign = if born { 1 } else { -1 };
        let pages = if born {
            &mut self.records.counters.vmstat.pgalloc_normal
        } else {
            &mut self.records.counters.vmstat.pgfree
        };
        *pages += STACK_PAGES;
        // A stack is one allocation of several pages.
        self.count_pages(cpu, node, Item::FreePages, -sign * STACK_PAGES as i64, 1);
        self.count_pages(cpu, node, Item::KernelStack, sign * STACK_KIB, 1);
    }

    fn count_pages(&mut self, cpu: usize, node: usize, item: Item, step: i64, steps: u64) {
        let over = self.vmstat.counts.change(cpu, node, item, step, steps);
        if self.vmstat.workers.folds {
            self.records.counters.vmstat.overflows += over;
        }
    }

    /// Compute the gauges and the time without due workers at the end of a simulation.
    pub(crate) fn finish_vmstat(&mut self, close: Ns) {
        let quiet =
            |worker: &Worker| if worker.active { 0 } else { close.saturating_sub(worker.quiet_since) };
        let quiet: Ns = self.vmstat.workers.each.iter().map(quiet).sum();
        let gauge = |counts: &Counts, item| counts.global(item).max(0) as u64;
        let counters: &mut VmstatCounters = &mut self.records.counters.vmstat;
        counters.quiet_ns += quiet;
        counters.nr_free_pages = gauge(&self.vmstat.counts, Item::FreePages);
        counters.nr_anon_pages = gauge(&self.vmstat.counts, Item::AnonPages);
        counters.nr_kernel_stack = gauge(&self.vmstat.counts, Item::KernelStack);
    }
}

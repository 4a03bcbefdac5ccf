//! Scheduler statistics: counters of runqueues, domains and tasks that can be switched on and off while the machine runs
//! (`kernel.sched_schedstats`, `schedstats=`).
//!
//! ```text
//! events    wake-ups, switches, sleeps: what they count, and whose lines they write
//! balance   the same for balancing
//! counts    the counters
//! report    /proc/schedstat and /proc/PID/sched of a simulation
//! ```
//! Off, an event meets one branch and nothing is written. On, all that an event changes in one structure (a runqueue's
//! statistics, a domain's, a task's) is one *update*, and costs `stats_local` of the machine, or `stats_remote` if another
//! CPU has written there last. Updates are paid by the CPU on which the kernel does them: a wake-up by the waker, a
//! balancing pass by the CPU that balances.

mod balance;
mod counts;
mod events;
mod report;

use crate::balance::KernelPolicy;
use crate::engine::Engine;
use crate::kernel::Tunable;
use crate::ledger::Account;
use crate::observe::Observer;
use crate::sched::TaskIx;
use crate::time::{NEVER, Ns};

pub use counts::{CpuCounts, DomainCounts, PassCounts, TaskCounts};
pub use report::{CpuReport, DomainReport, Report, Throughout};

pub(crate) use balance::{Look, Refusal};

/// Nobody has written a line yet.
const UNWRITTEN: u16 = u16::MAX;

/// What lies together in memory and is written together.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Line {
    /// Statistics of a CPU's runqueue.
    Queue(usize),
    /// Of a CPU's domain, by level.
    Domain(usize, usize),
    /// Of a task.
    Task(TaskIx),
}

#[derive(Debug, Clone)]
struct Queue {
    writer: u16,
    /// Since when the current task runs; [`NEVER`] if there is none, or it began while nothing was counted.
    arrived: Ns,
    counts: CpuCounts,
}

#[derive(Debug, Clone)]
struct Domain {
    writer: u16,
    counts: DomainCounts,
}

#[derive(Debug, Clone)]
pub(super) struct Task {
    writer: u16,
    /// Since when it waits for a CPU, is on its present queue, and sleeps; [`NEVER`] if it does not, or began to while
    /// nothing was counted.
    pub(super) waits_since: Ns,
    queued_since: Ns,
    pub(super) sleeps_since: Ns,
    counts: TaskCounts,
}

impl Default for Task {
    fn default() -> Self {
        Self {
            writer: UNWRITTEN,
            waits_since: NEVER,
            queued_since: NEVER,
            sleeps_since: NEVER,
            counts: TaskCounts::default(),
        }
    }
}

/// Statistics of a machine. The tables are empty until they are first switched on.
#[derive(Debug, Default)]
pub(crate) struct Schedstats {
    /// The switch.
    pub on: bool,
    /// Whether it has been on from the start and never off.
    pub throughout: bool,
    queues: Vec<Queue>,
    domains: Vec<Vec<Domain>>,
    tasks: Vec<Task>,
    /// Tasks that a balancing pass has refused to move; empty between passes.
    pub refused: Vec<(TaskIx, Refusal)>,
}

impl Schedstats {
    /// The statistics of a machine whose CPUs have so many domains each.
    pub fn new(on: bool, levels: impl Iterator<Item = usize>) -> Self {
        let mut it = Self::default();
        if on {
            it.turn_on(levels);
            it.throughout = true;
        }
        it
    }

    /// Whether they have ever been on.
    pub fn used(&self) -> bool {
        !self.queues.is_empty()
    }

    fn turn_on(&mut self, levels: impl Iterator<Item = usize>) {
        self.on = true;
        if self.used() {
            return;
        }
        for levels in levels {
            self.queues.push(Queue { writer: UNWRITTEN, arrived: NEVER, counts: CpuCounts::default() });
            self.domains.push(vec![Domain { writer: UNWRITTEN, counts: DomainCounts::default() }; levels]);
        }
    }

    /// Waits and sleeps that have begun will not be counted: their ends would not be seen.
    fn turn_off(&mut self) {
        self.on = false;
        self.throughout = false;
        self.queues.iter_mut().for_each(|queue| queue.arrived = NEVER);
        for task in &mut self.tasks {
            (task.waits_since, task.queued_since, task.sleeps_since) = (NEVER, NEVER, NEVER);
        }
    }

    fn task(&mut self, task: TaskIx) -> &mut Task {
        let at = task as usize;
        if self.tasks.len() <= at {
            self.tasks.resize_with(at + 1, Task::default);
        }
        &mut self.tasks[at]
    }

    /// What is known of a task; its place is as that of a new task then.
    pub fn take_task(&mut self, task: usize) -> Option<TaskCounts> {
        let it = std::mem::take(self.tasks.get_mut(task)?);
        (it.writer != UNWRITTEN).then_some(it.counts)
    }

    /// For the checks: the tasks' states.
    #[cfg(any(debug_assertions, feature = "check"))]
    pub fn tasks(&self) -> impl Iterator<Item = (Ns, Ns)> + '_ {
        self.tasks.iter().map(|task| (task.waits_since, task.sleeps_since))
    }

    /// For the checks: a counter over all CPUs.
    #[cfg(any(debug_assertions, feature = "check"))]
    pub fn sum(&self, of: impl Fn(&CpuCounts) -> u64) -> u64 {
        self.queues.iter().map(|queue| of(&queue.counts)).sum()
    }
}

impl<P: KernelPolicy, O: Observer> Engine<'_, P, O> {
    /// Follows the switch, after tunables have changed.
    pub(crate) fn stats_retuned(&mut self) {
        match (self.stats.on, self.tunables.on(Tunable::Schedstats)) {
            (false, true) => self.stats.turn_on(self.balance.shapes.of_cpu.iter().map(Vec::len)),
            (true, false) => self.stats.turn_off(),
            _ => {}
        }
    }

    /// A CPU updates a line, and pays for it.
    fn stats_update(&mut self, payer: usize, line: Line) {
        let writer = match line {
            Line::Queue(cpu) => &mut self.stats.queues[cpu].writer,
            Line::Domain(cpu, level) => &mut self.stats.domains[cpu][level].writer,
            Line::Task(task) => &mut self.stats.task(task).writer,
        };
        let remote = *writer != UNWRITTEN && usize::from(*writer) != payer;
        *writer = payer as u16;
        self.records.counters.schedstat_updates += 1;
        self.records.counters.schedstat_remote_updates += u64::from(remote);
        let cost = if remote { self.costs.stats_remote } else { self.costs.stats_local };
        self.book(payer, Account::Schedstats, cost);
    }
}

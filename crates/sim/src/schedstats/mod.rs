//! Scheduler statistics: counters of runqueues, domains and tasks that can be switched on and off while the machine runs
//! (`kernel.sched_schedstats`, `schedstats=`).
//!
//! ```text
//! events    wake-ups, switches, sleeps: counters, and the lines that they write
//! balance   the same for balancing
//! counts    the counters
//! report    /proc/schedstat and /proc/PID/sched of a simulation
//! ```
//! While the switch is off, an event takes one branch and writes nothing. While the switch is on, all changes of an
//! event to one structure (statistics of a runqueue, a domain or a task) form one *update*. An update costs
//! its instructions, which the kernel model states, and for each cache line that another CPU wrote last the machine's
//! `line` at the distance of that CPU. The CPU that performs the update pays: the waker for a wake-up, the balancing CPU for
//! a pass.

mod balance;
mod counts;
mod events;
mod report;

use crate::balance::KernelPolicy;
use crate::engine::Engine;
use crate::ledger::Account;
use crate::observe::Observer;
use crate::sched::TaskIx;
use crate::time::{NEVER, Ns};

pub use counts::{CpuCounts, DomainCounts, PassCounts, TaskCounts};
pub use report::{CpuReport, DomainReport, Report, Throughout};

pub(crate) use balance::{PassId, Refusal};

/// Marker for a line that no CPU has written.
const UNWRITTEN: u16 = u16::MAX;

/// A structure whose counters are written together.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Line {
    /// Statistics of a CPU's runqueue: one cache line.
    Queue(usize),
    /// Statistics of a CPU's domain, by level: one cache line.
    Domain(usize, usize),
    /// Some cache lines of a task's statistics: a sum of the constants of [`lines`].
    Task(TaskIx, u8),
}

impl Line {
    /// Whether an update reads the clock, as those of waits and sleeps do.
    fn has_times(self) -> bool {
        matches!(self, Self::Task(_, parts) if parts & (lines::WAIT | lines::SLEEP) != 0)
    }
}

/// Cache lines of a task's `struct sched_statistics` (include/linux/sched.h, v4.5): 27 counters of 8 bytes, in four lines of
/// 64 bytes.
pub(crate) mod lines {
    /// Number of lines.
    pub const COUNT: usize = 4;
    /// `wait_start` to `iowait_sum`: 48 bytes.
    pub const WAIT: u8 = 1;
    /// `sleep_start` to `sum_sleep_runtime`, and blocked times, which follow.
    pub const SLEEP: u8 = 2;
    /// `nr_migrations_cold` to `nr_forced_migrations`, and the first counters of wake-ups.
    pub const MIGRATIONS: u8 = 4;
    /// `nr_wakeups` to `nr_wakeups_idle`: 72 bytes, which take two lines.
    pub const WAKEUPS: u8 = 4 | 8;
}

#[derive(Debug, Clone)]
struct Queue {
    writer: u16,
    /// Time at which the current task started to run; [`NEVER`] without a task, or if the task started while statistics
    /// were off.
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
    /// Writer of each cache line.
    writers: [u16; lines::COUNT],
    /// Times at which the task began to wait for a CPU, entered its present queue, and fell asleep; [`NEVER`] without
    /// such an event, or if statistics were off at the event.
    pub(super) waits_since: Ns,
    queued_since: Ns,
    pub(super) sleeps_since: Ns,
    counts: TaskCounts,
}

impl Default for Task {
    fn default() -> Self {
        Self {
            writers: [UNWRITTEN; lines::COUNT],
            waits_since: NEVER,
            queued_since: NEVER,
            sleeps_since: NEVER,
            counts: TaskCounts::default(),
        }
    }
}

/// Statistics of a machine. The tables are empty until statistics are first switched on.
#[derive(Debug, Default)]
pub(crate) struct Schedstats {
    /// The switch.
    pub on: bool,
    /// Times of the instructions of an update of times, and of an update of counters.
    update_ns: [u32; 2],
    /// Updates of times; the other updates are of counters.
    time_updates: u64,
    /// Time of all fetched lines.
    pub lines_ns: Ns,
    /// Whether statistics have been on since the start.
    pub throughout: bool,
    queues: Vec<Queue>,
    domains: Vec<Vec<Domain>>,
    tasks: Vec<Task>,
    /// Tasks that the present balancing pass has refused to move; empty between passes.
    pub refused: Vec<(TaskIx, Refusal)>,
}

impl Schedstats {
    /// Size of a task's entry.
    pub const TASK_BYTES: u64 = size_of::<Task>() as u64;

    /// Statistics of a machine whose CPUs have these numbers of domains. `update_ns`: times of the instructions of an update
    /// of times, and of an update of counters.
    pub fn new(on: bool, update_ns: [u32; 2], levels: impl Iterator<Item = usize>) -> Self {
        let mut stats = Self { update_ns, ..Self::default() };
        if on {
            stats.turn_on(levels);
            stats.throughout = true;
        }
        stats
    }

    /// Whether statistics have ever been on.
    pub fn used(&self) -> bool {
        !self.queues.is_empty()
    }

    /// Apply the switch after tunables have changed. `levels` as in [`Schedstats::new`].
    pub fn retune(&mut self, on: bool, levels: impl Iterator<Item = usize>) {
        match (self.on, on) {
            (false, true) => self.turn_on(levels),
            (true, false) => self.turn_off(),
            _ => {}
        }
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

    /// Forget the beginnings of current waits and sleeps, so that these waits and sleeps are not counted.
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

    /// Count the departure of a task that was on a CPU's queue `since`. Another CPU that moves the task pays for the update.
    fn left_queue(&mut self, payer: usize, cpu: usize, since: Ns, at: Ns) {
        let queue = &mut self.queues[cpu];
        queue.writer = payer as u16;
        if since != NEVER {
            queue.counts.run_delay_ns += at.saturating_sub(since);
        }
    }

    /// Count the run time of a CPU's current task up to `at`.
    fn depart(&mut self, cpu: usize, at: Ns) {
        let queue = &mut self.queues[cpu];
        queue.writer = cpu as u16;
        if queue.arrived != NEVER {
            queue.counts.rq_cpu_time_ns += at - queue.arrived;
            queue.arrived = NEVER;
        }
    }

    /// Take the counters of a task and reset its entry.
    pub fn take_task(&mut self, task: usize) -> Option<TaskCounts> {
        let removed = std::mem::take(self.tasks.get_mut(task)?);
        (removed.writers != [UNWRITTEN; lines::COUNT]).then_some(removed.counts)
    }

    /// Times of all tasks, for the checks.
    #[cfg(any(debug_assertions, feature = "check"))]
    pub fn tasks(&self) -> impl Iterator<Item = (Ns, Ns)> + '_ {
        self.tasks.iter().map(|task| (task.waits_since, task.sleeps_since))
    }

    /// Time of the instructions of so many updates, which are all updates of the run, for the checks.
    #[cfg(any(debug_assertions, feature = "check"))]
    pub fn instructions_ns(&self, updates: u64) -> Ns {
        let [times, counters] = self.update_ns.map(Ns::from);
        self.time_updates * times + (updates - self.time_updates) * counters
    }

    /// Sum of a counter over all CPUs, for the checks.
    #[cfg(any(debug_assertions, feature = "check"))]
    pub fn sum(&self, of: impl Fn(&CpuCounts) -> u64) -> u64 {
        self.queues.iter().map(|queue| of(&queue.counts)).sum()
    }
}

impl<P: KernelPolicy, O: Observer> Engine<'_, P, O> {
    /// Charge a CPU for an update: its instructions, and the lines that another CPU wrote last.
    fn stats_update(&mut self, payer: usize, line: Line) {
        let mut wait = 0;
        let (writers, written): (&mut [u16], u8) = match line {
            Line::Queue(cpu) => (std::slice::from_mut(&mut self.stats.queues[cpu].writer), 1),
            Line::Domain(cpu, level) => (std::slice::from_mut(&mut self.stats.domains[cpu][level].writer), 1),
            Line::Task(task, parts) => (&mut self.stats.task(task).writers, parts),
        };
        for (_, writer) in writers.iter_mut().enumerate().filter(|(at, _)| written & (1 << at) != 0) {
            let last = std::mem::replace(writer, payer as u16);
            if last != UNWRITTEN && usize::from(last) != payer {
                let distance = self.topology.distance(payer, last.into());
                self.records.counters.schedstat_lines[distance as usize] += 1;
                wait += self.costs.next_line(wait, self.costs.line.at(distance));
            }
        }
        let wait = self.costs.counter_wait(wait);
        let [times, counters] = self.stats.update_ns;
        let instructions = Ns::from(if line.has_times() { times } else { counters });
        self.stats.lines_ns += wait;
        self.stats.time_updates += u64::from(line.has_times());
        self.records.counters.schedstat_updates += 1;
        self.book(payer, Account::Schedstats, wait + instructions);
    }
}

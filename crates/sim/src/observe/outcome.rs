//! The result of a simulation.

use schedlab_workload::measure::{Measured, Observed};

use super::{Counters, Digest, Histogram, LockReport};
use crate::ledger::{Account, Ledger};
use crate::schedstats::{Report, TaskCounts};
use crate::time::Ns;

/// How a simulation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// All tasks have ended.
    Finished,
    /// The horizon was reached; what had been observed by then is reported.
    Horizon,
}

/// Distributions of lengths of time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Histograms {
    /// From a wake-up to the first instruction, by the CPU that ran the task.
    pub wakeup_latency: Vec<Histogram>,
    /// Cost of a balancing pass over a domain: of busy, of idle and of newly idle CPUs.
    pub balance_cost: [Histogram; 3],
    /// Lengths of idleness.
    pub idle: Histogram,
}

impl Histograms {
    /// Wake-up latencies of all CPUs.
    pub fn all_wakeups(&self) -> Histogram {
        let mut all = Histogram::default();
        self.wakeup_latency.iter().for_each(|each| all.merge(each));
        all
    }
}

/// What is known about one task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskReport {
    /// Its name, as in [`schedlab_workload::Plan::describe`].
    pub name: String,
    /// Threads of its process, itself included.
    pub threads: u32,
    /// Time on a CPU.
    pub ran_ns: Ns,
    /// Of it, the program's own work and what slowed it.
    pub user_ns: Ns,
    /// Switches away from it while it could not go on, and while it could.
    pub switches: (u64, u64),
    /// Changes of CPU.
    pub migrations: u64,
    /// Wake-ups, the sum of their latencies, and the longest.
    pub wakeups: (u64, Ns, Ns),
    /// Wake-up latencies by powers of two: below 256 ns, below 512 ns, …; the last is for all that are longer.
    pub latency: [u32; TaskReport::BUCKETS],
    /// Its scheduler statistics, if they were on in its time.
    pub statistics: Option<TaskCounts>,
}

impl TaskReport {
    /// Buckets of a task's latencies.
    pub const BUCKETS: usize = 24;

    pub(crate) fn new(name: String, threads: u32) -> Self {
        Self {
            name,
            threads,
            ran_ns: 0,
            user_ns: 0,
            switches: (0, 0),
            migrations: 0,
            wakeups: (0, 0, 0),
            latency: [0; Self::BUCKETS],
            statistics: None,
        }
    }
}

/// Accounts that are always part of a digest. Of others only what was spent is, so that a mechanism that did nothing
/// leaves digests as they were before it existed.
const ALWAYS_DIGESTED: usize = Account::Balance as usize + 1;

/// The result of a simulation.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// How it ended.
    pub end: End,
    /// What the program observed.
    pub observed: Observed,
    /// For each series, about one in how many samples was kept.
    pub one_in: Vec<u64>,
    /// The program's metrics.
    pub metrics: Vec<Measured>,
    /// Counters.
    pub counters: Counters,
    /// Where all CPUs' time went.
    pub ledger: Ledger,
    /// Distributions.
    pub histograms: Histograms,
    /// Virtual memory's counters, as they stood.
    pub vmstat: Vec<crate::vmstat::ItemReport>,
    /// The program's tasks in order of creation, without children that they forked.
    pub tasks: Vec<TaskReport>,
    /// The program's locks, by name.
    pub locks: Vec<LockReport>,
    /// Scheduler statistics; none if they have never been on.
    pub schedstats: Option<Report>,
    /// Virtual time from the machine's start to the end.
    pub end_ns: Ns,
}

impl Outcome {
    /// A number that differs when anything observable differs, the same on every platform and in every build.
    pub fn digest(&self) -> u64 {
        let mut digest = Digest::default();
        let observed = &self.observed;
        digest.words([self.end_ns, observed.elapsed_ns, observed.user_ns, observed.system_ns]);
        digest.words(observed.counters.iter().copied());
        observed.series.iter().for_each(|series| digest.words(series.iter().copied()));
        for cpu in 0..self.ledger.cpus() {
            let of = |account: &Account| self.ledger.of(cpu, *account);
            let (always, used) = Account::ALL.split_at(ALWAYS_DIGESTED);
            digest.words(always.iter().map(of));
            for account in used.iter().filter(|account| of(account) > 0) {
                digest.words([*account as u64, of(account)]);
            }
        }
        let counters = &self.counters;
        digest.words([
            counters.events,
            counters.switches,
            counters.preemptions,
            counters.ticks,
            counters.ipis,
        ]);
        digest.words(counters.wakeups.iter().chain(&counters.balance_migrations).copied());
        for task in &self.tasks {
            digest.words([task.ran_ns, task.user_ns, task.migrations, task.wakeups.1]);
        }
        digest.words(self.schedstats.iter().flat_map(Report::words));
        digest.value()
    }
}

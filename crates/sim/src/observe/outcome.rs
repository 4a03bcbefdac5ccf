//! The result of a simulation.

use schedlab_workload::measure::{Measured, Observed};

use super::{Counters, Histogram, LockReport};
use crate::ledger::{Account, Ledger};
use crate::machine::Distance;
use crate::schedstats::{Report, TaskCounts};
use crate::time::Ns;

/// How a simulation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// All tasks have ended.
    Finished,
    /// The horizon was reached; the outcome describes the time until then.
    Horizon,
}

/// Distributions of durations.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Histograms {
    /// Time from a wake-up to the first instruction, by the CPU that ran the task.
    pub wakeup_latency: Vec<Histogram>,
    /// Cost of a balancing pass over a domain, for busy, idle and newly idle CPUs.
    pub balance_cost: [Histogram; 3],
    /// Durations of idle periods.
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

/// Report on one task.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskReport {
    /// Name, as in [`schedlab_workload::Plan::describe`].
    pub name: String,
    /// Number of threads of its process, including the task.
    pub threads: u32,
    /// Time on a CPU.
    pub ran_ns: Ns,
    /// Part of this time for the program's work and its slowdown by caches, memory and SMT.
    pub user_ns: Ns,
    /// Switches away from the task: voluntary and involuntary.
    pub switches: (u64, u64),
    /// Changes of CPU.
    pub migrations: u64,
    /// Wake-ups, the sum of their latencies, and the longest.
    pub wakeups: (u64, Ns, Ns),
    /// Scheduler statistics, if the statistics were on during the task's run time.
    pub statistics: Option<TaskCounts>,
}

impl TaskReport {
    pub(crate) fn new(name: String, threads: u32) -> Self {
        Self { name, threads, ..Self::default() }
    }
}

/// Report on a control group: `cpu.stat` of cgroup v2.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GroupReport {
    /// Name of the group.
    pub name: String,
    /// Run time of the group's tasks.
    pub usage_ns: Ns,
    /// Periods in which the group had a limit and asked for time.
    pub nr_periods: u64,
    /// Periods at whose end a CPU was throttled.
    pub nr_throttled: u64,
    /// Sum over the CPUs of the time in which the group had tasks and was throttled; a throttling that has not ended does not count.
    pub throttled_ns: Ns,
}

/// Number of accounts that are always part of a digest. Other accounts are included only if an account has time, so
/// that an inactive mechanism does not change digests.
const ALWAYS_DIGESTED: usize = Account::Balance as usize + 1;

/// The result of a simulation.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// How the simulation ended.
    pub end: End,
    /// Observations of the program.
    pub observed: Observed,
    /// Metrics of the program.
    pub metrics: Vec<Measured>,
    /// Counters of the simulation.
    pub counters: Counters,
    /// Time of all CPUs by account.
    pub ledger: Ledger,
    /// Distributions of latencies, costs and idle periods.
    pub histograms: Histograms,
    /// Virtual memory's counters at the end.
    pub vmstat: Vec<crate::vmstat::ItemReport>,
    /// Tasks of the program in order of creation, without forked children.
    pub tasks: Vec<TaskReport>,
    /// Control groups, in the order of the configuration.
    pub groups: Vec<GroupReport>,
    /// Locks of the program, by name.
    pub locks: Vec<LockReport>,
    /// Scheduler statistics; `None` if the statistics were always off.
    pub schedstats: Option<Report>,
    /// Virtual time from the machine's start to the end.
    pub end_ns: Ns,
}

impl Outcome {
    /// Digest of all observable results, equal on every platform and in every build.
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
        for by_distance in [&counters.wakeups, &counters.balance_migrations] {
            // A machine without clusters has no such distance, and digests do not depend on whether the model knows clusters.
            let there =
                |distance: &Distance| *distance != Distance::Cluster || by_distance[*distance as usize] > 0;
            digest.words(
                Distance::ALL.into_iter().filter(there).map(|distance| by_distance[distance as usize]),
            );
        }
        for task in &self.tasks {
            digest.words([task.ran_ns, task.user_ns, task.migrations, task.wakeups.1]);
        }
        for group in &self.groups {
            digest.words([group.usage_ns, group.nr_periods, group.nr_throttled, group.throttled_ns]);
        }
        digest.words(self.schedstats.iter().flat_map(Report::words));
        digest.value()
    }
}

/// FNV-1a over 64-bit words (Fowler, Noll, Vo; draft-eastlake-fnv), equal on every platform. The digest distinguishes
/// outcomes and is not cryptographic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Digest(u64);

impl Default for Digest {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Digest {
    /// Add a word.
    pub fn word(&mut self, word: u64) {
        for byte in word.to_le_bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    /// Add words.
    pub fn words(&mut self, words: impl IntoIterator<Item = u64>) {
        words.into_iter().for_each(|word| self.word(word));
    }

    /// Value of the digest.
    pub fn value(self) -> u64 {
        self.0
    }
}

#[cfg(test)]
#[path = "../../tests/unit/observe/outcome.rs"]
mod tests;

//! Records of a running simulation: observer, ledger, counters, and samples of the program's series.

use schedlab_workload::Plan;
use schedlab_workload::program::Mode;

use super::{Counters, Histogram, Histograms, Observer, TaskReport};
use crate::ledger::Ledger;
use crate::time::{Ns, Random};

/// Records of a running simulation.
pub(crate) struct Records<O: Observer> {
    pub observer: O,
    pub ledger: Ledger,
    pub counters: Counters,
    pub histograms: Histograms,
    /// User time and run time of tasks that have ended.
    pub ended_user_ns: Ns,
    pub ended_ran_ns: Ns,
    /// Reports of the program's tasks by ordinal, without forked children.
    pub reports: Vec<TaskReport>,
}

impl<O: Observer> Records<O> {
    /// Empty records of a machine with `cpus` CPUs.
    pub fn new(observer: O, cpus: usize, plan: &Plan) -> Self {
        Self {
            observer,
            ledger: Ledger::new(cpus),
            counters: Counters::default(),
            histograms: Histograms {
                wakeup_latency: vec![Histogram::default(); cpus],
                ..Histograms::default()
            },
            ended_user_ns: 0,
            ended_ran_ns: 0,
            reports: reports(plan),
        }
    }
}

/// Empty reports of all tasks. Threads belong to the main task's process, so that this process has one thread more than
/// `plan`.
fn reports(plan: &Plan) -> Vec<TaskReport> {
    let is_thread = |task| plan.group(task).mode == Mode::Thread;
    let threads = 1 + plan.tasks().filter(|task| is_thread(*task)).count() as u32;
    let report = |task| TaskReport::new(plan.describe(task), if is_thread(task) { threads } else { 1 });
    plan.tasks().map(report).collect()
}

/// Samples of a series: a uniform selection in the order of recording, as in the load generator.
///
/// When the series is full, each sample is dropped with probability one half. From then on each new sample is recorded
/// with half the previous probability.
#[derive(Debug, Clone)]
pub(crate) struct Series {
    samples: Vec<Ns>,
    most: usize,
    one_in: u64,
    /// The largest sample, also if the sample was dropped.
    largest: Ns,
    random: Random,
}

impl Series {
    pub(crate) fn new(most: usize, seed: u64) -> Self {
        Self { samples: Vec::new(), most: most.max(2), one_in: 1, largest: 0, random: Random::new(seed) }
    }

    pub(crate) fn record(&mut self, ns: Ns) {
        self.largest = self.largest.max(ns);
        if self.one_in > 1 && self.random.below(self.one_in) != 0 {
            return;
        }
        if self.samples.len() == self.most {
            let random = &mut self.random;
            self.samples.retain(|_| random.below(2) == 0);
            self.one_in *= 2;
            if self.random.below(2) != 0 {
                return;
            }
        }
        self.samples.push(ns);
    }

    /// The largest of all samples; 0 without samples.
    pub(crate) fn largest(&self) -> Ns {
        self.largest
    }

    /// The samples.
    pub(crate) fn finish(self) -> Vec<Ns> {
        self.samples
    }
}

#[cfg(test)]
#[path = "../../tests/unit/observe/records.rs"]
mod tests;

//! What a simulation records about itself.

use schedlab_workload::Plan;
use schedlab_workload::program::Mode;

use super::{Counters, Histogram, Histograms, Observer, TaskReport};
use crate::ledger::Ledger;
use crate::time::Ns;

/// Records of a simulation that runs.
pub(crate) struct Records<O: Observer> {
    pub observer: O,
    pub ledger: Ledger,
    pub counters: Counters,
    pub histograms: Histograms,
    /// User time and run time of tasks that have ended.
    pub ended_user_ns: Ns,
    pub ended_ran_ns: Ns,
    /// Reports of the program's tasks, children excepted, by ordinal.
    pub reports: Vec<TaskReport>,
}

impl<O: Observer> Records<O> {
    /// Empty records of a machine with so many CPUs.
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

/// Threads are of the first process, which has a thread of its own.
fn reports(plan: &Plan) -> Vec<TaskReport> {
    let is_thread = |task| plan.group(task).mode == Mode::Thread;
    let threads = 1 + plan.tasks().filter(|task| is_thread(*task)).count() as u32;
    let report = |task| TaskReport::new(plan.describe(task), if is_thread(task) { threads } else { 1 });
    plan.tasks().map(report).collect()
}

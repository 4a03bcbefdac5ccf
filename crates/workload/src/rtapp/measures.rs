//! Counters, series and metrics of each thread object.

use std::collections::BTreeSet;

use super::document::{Document, Kind, Task};
use crate::program::{Metric, Op, Quantity, at, count, higher, lower};

/// Most thread objects that are measured separately. If a document has more, all are measured together.
const MOST_TASKS: usize = 64;

/// Greatest product of series and threads: executors reserve memory for each pair.
const MOST_BUFFERS: u64 = 1 << 20;

/// Series that a thread object may write to.
const SERIES: u64 = 4;

/// Name prefix of measures over all thread objects.
const ALL: &str = "all";

/// Slots that every thread has.
pub const RUN_SLOT: &str = "run";
pub const PERIOD_SLOT: &str = "period";

/// Measures that the document's events use.
#[derive(Debug, Default)]
pub struct Measures {
    together: bool,
    pub counters: BTreeSet<String>,
    pub series: BTreeSet<String>,
}

impl Measures {
    pub fn of(document: &Document) -> Self {
        let threads: u64 = document.tasks.iter().map(|task| u64::from(task.instances)).sum();
        let objects = document.tasks.len();
        let buffers = threads.saturating_mul(SERIES * objects as u64);
        Self { together: objects > MOST_TASKS || buffers > MOST_BUFFERS, ..Self::default() }
    }

    /// Add a note if thread objects are measured together.
    pub fn note(&self) -> Option<String> {
        let text =
            "there are too many threads to measure each thread object: all threads are measured together";
        self.together.then(|| text.to_owned())
    }

    fn name(&self, task: &Task, measure: &str) -> String {
        format!("{}.{measure}", if self.together { ALL } else { &task.name })
    }

    fn series(&mut self, task: &Task, measure: &str) -> String {
        let name = self.name(task, measure);
        self.series.insert(name.clone());
        name
    }

    fn counter(&mut self, task: &Task, measure: &str) -> String {
        let name = self.name(task, measure);
        self.counters.insert(name.clone());
        name
    }

    /// A run of `ns` nanoseconds with its measures. A forked child has no slots to time the run with.
    pub fn run(&mut self, task: &Task, ns: u64, forked: bool, run: Op) -> Vec<Op> {
        let work = count(&self.counter(task, "work"), ns);
        if forked {
            return vec![run, work];
        }
        let series = self.series(task, "run");
        vec![
            Op::Stamp { slot: at(RUN_SLOT, 0u64) },
            run,
            Op::Record { slot: at(RUN_SLOT, 0u64), series },
            work,
        ]
    }

    /// Measures of a timer: slack, latency and missed ends.
    pub fn timer(&mut self, task: &Task) -> (Option<String>, Option<String>, Option<String>) {
        let (slack, latency) = (self.series(task, "slack"), self.series(task, "wakeup"));
        (Some(slack), Some(latency), Some(self.counter(task, "missed")))
    }

    /// Measures at the end of each iteration of a phase.
    pub fn iteration(&mut self, task: &Task, forked: bool) -> Vec<Op> {
        let loops = count(&self.counter(task, "loops"), 1u64);
        if forked {
            return vec![loops];
        }
        let series = self.series(task, "period");
        vec![Op::Lap { slot: at(PERIOD_SLOT, 0u64), series }, loops]
    }

    /// All metrics, grouped by thread object. The first is the number of CPUs used.
    pub fn metrics(&self, document: &Document) -> Vec<Metric> {
        let mut metrics = vec![
            higher("cpus_used", "CPUs", Quantity::CpuShare, 1.0),
            lower("time", "s", Quantity::Elapsed, 1.0),
        ];
        let names: Vec<&str> =
            if self.together { vec![ALL] } else { document.tasks.iter().map(|task| &*task.name).collect() };
        names.iter().for_each(|name| self.of_task(name, &mut metrics));
        metrics
    }

    fn of_task(&self, task: &str, metrics: &mut Vec<Metric>) {
        let counter =
            |measure: &str| Some(format!("{task}.{measure}")).filter(|name| self.counters.contains(name));
        if let Some(name) = counter("loops") {
            metrics.push(higher(&name, "loops", Quantity::Total(name.clone()), 1.0));
        }
        if let Some(name) = counter("work") {
            metrics.push(higher(&name, "CPUs", Quantity::Rate(name.clone()), 1e-9));
        }
        for (measure, percents) in [
            ("run", [50.0, 99.0]),
            ("period", [50.0, 99.0]),
            ("slack", [1.0, 50.0]),
            ("wakeup", [50.0, 99.0]),
        ] {
            let series = format!("{task}.{measure}");
            if !self.series.contains(&series) {
                continue;
            }
            for percent in percents {
                let quantity = Quantity::Percentile(series.clone(), percent);
                let name = format!("{series}_p{percent}");
                // Higher is better for the time left until a timer, lower for every other time.
                let metric = if measure == "slack" { higher } else { lower };
                metrics.push(metric(&name, "us", quantity, 1e-3));
            }
        }
        if let Some(name) = counter("missed") {
            metrics.push(lower(&name, "periods", Quantity::Total(name.clone()), 1.0));
        }
    }
}

/// Whether a thread object has an event of a kind.
pub fn has(task: &Task, wanted: impl Fn(&Kind) -> bool) -> bool {
    task.phases.iter().any(|phase| phase.events.iter().any(|event| wanted(&event.kind)))
}

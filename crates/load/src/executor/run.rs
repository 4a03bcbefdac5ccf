//! One run of a program, from plan to outcome.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use schedlab_workload::measure::{Measured, Observed, metrics};
use schedlab_workload::{Plan, Program};

use super::attributes;
use super::channels::Schedule;
use super::crew::Crew;
use super::requirements::{computes, ensure_descriptors, ensure_tasks, epoll_sets};
use super::shared::Shared;
use super::spin::Rate;
use crate::error::LoadError;
use crate::strays;
use crate::sys::process::{self, Usage};
use crate::sys::{clock, mark, sched, signals};

/// Result of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The program's metrics.
    pub metrics: Vec<Measured>,
    /// Observations that the metrics are computed from.
    pub observed: Observed,
    /// For each series, samples offered for each sample kept.
    pub one_in: Vec<u64>,
    /// Resources used by all tasks and their reaped children, from their creation to their end.
    pub usage: Usage,
    /// Rounds of computation per microsecond, where the program computes.
    pub rate: Option<Rate>,
}

/// Settings of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Speed of computation. If this rate is absent and the program computes, the run measures the rate.
    pub rate: Option<Rate>,
    /// Most samples of each series that are kept. A longer series keeps a random selection.
    pub samples: u64,
}

/// Run `program` once.
///
/// Must be called from the main thread of a process without other threads, because tasks end with the thread that
/// created them. No process is left. Threads that wait for each other may remain after an error, and threads in the
/// background in any case: the caller ends this process.
pub fn run(program: Program, settings: &Settings) -> Result<Outcome, LoadError> {
    let plan = Plan::new(program.without_models())?;
    let schedule = Schedule::new(&plan);
    ensure_descriptors(schedule.most_open(&plan) + epoll_sets(&plan))?;
    ensure_tasks(plan.task_count())?;
    signals::catch_stops()?;
    process::adopt_orphans()?;
    let deadline = attributes::hand_on_deadline().map_err(LoadError::system("leaving SCHED_DEADLINE"))?;
    let rate = settings.rate.or_else(|| computes(&plan).then(Rate::measure));
    let mut shared = Shared::new(plan, schedule, rate.unwrap_or(Rate(1.0)), settings.samples)?;
    shared.deadline = deadline;
    let shared = Arc::new(shared);
    let mut crew = Crew::new(Arc::clone(&shared));
    let before = Usage::own();
    let begin = clock::now_ns();
    let result = crew.create().and_then(|()| timed(&shared, &mut crew));
    let lifetime_ns = clock::now_ns() - begin;
    if result.is_err() {
        crew.kill();
        strays::kill_descendants(&[]);
    }
    let elapsed_ns = result?;
    let usage = Usage::of_children().since(crew.uncounted).plus(Usage::own().since(before));
    crew.end_background();
    Ok(outcome(&shared, (elapsed_ns, lifetime_ns), usage, rate))
}

/// Open the gate and wait for the end of all tasks; return the nanoseconds between the two.
fn timed(shared: &Shared, crew: &mut Crew) -> Result<u64, LoadError> {
    crew.all_ready()?;
    if shared.plan.program().gate.fifo {
        sched::become_fifo(1).map_err(LoadError::system("changing the main thread to SCHED_FIFO"))?;
    }
    let start = clock::now_ns();
    mark::from();
    shared.arena.released_ns().store(start, Ordering::Release);
    shared.gate.open().map_err(LoadError::system("opening the start gate"))?;
    crew.reap()?;
    mark::to();
    Ok(clock::now_ns() - start)
}

fn outcome(
    shared: &Shared,
    (elapsed_ns, lifetime_ns): (u64, u64),
    usage: Usage,
    rate: Option<Rate>,
) -> Outcome {
    let (plan, tasks) = (&shared.plan, shared.plan.task_count());
    let series = 0..plan.program().series.len() as u32;
    let collected: Vec<_> = series.map(|series| shared.arena.collect(tasks, series)).collect();
    let one_in = collected.iter().map(|series| series.one_in).collect();
    let observed = Observed {
        elapsed_ns,
        lifetime_ns,
        counters: shared.arena.counter_totals(tasks),
        largest: collected.iter().map(|series| series.largest).collect(),
        series: collected.into_iter().map(|series| series.samples).collect(),
        user_ns: usage.user_us * 1000,
        system_ns: usage.system_us * 1000,
        tasks: plan.counted_tasks(),
    };
    Outcome { metrics: metrics(plan.program(), &observed), observed, one_in, usage, rate }
}

//! Upper bounds of the samples that a task records, and the sizes of an executor's buffers.

use crate::plan::{Plan, TaskId};
use crate::program::Op;

/// Samples of each series for which `schedload` has room by default.
pub const DEFAULT_SAMPLES: u64 = 100_000;

/// Bytes of a sample in an executor's buffer: its number and its value.
pub const SAMPLE_BYTES: usize = 16;

/// Least capacity of a buffer.
const LEAST: u64 = 64;

/// Upper bounds of the samples that `task` and its children record in each series, in the program's order;
/// `u64::MAX` where a loop ends by time or by the end of a stream, 0 where the task does not write to the series.
pub fn bounds(plan: &Plan, task: TaskId) -> Vec<u64> {
    let names = &plan.program().series;
    let mut bounds = vec![0u64; names.len()];
    plan.walk(task, |visit| {
        let written = match visit.op {
            Op::Record { series, .. } | Op::Lap { series, .. } => [Some(series), None],
            Op::Watch { longest, .. } => [Some(longest), None],
            Op::Timer { slack, latency, .. } => [slack.as_ref(), latency.as_ref()],
            _ => return Ok(()),
        };
        for series in written.into_iter().flatten() {
            if let Some(at) = names.iter().position(|name| name == series) {
                bounds[at] = bounds[at].saturating_add(visit.runs);
            }
        }
        Ok(())
    });
    bounds
}

/// Samples for which each task has room in each series, task by task in the order of ordinals. The tasks that record in a
/// series share `most` samples.
pub fn capacities(plan: &Plan, most: u64) -> Vec<Vec<u64>> {
    let mut all: Vec<Vec<u64>> = plan.tasks().map(|task| bounds(plan, task)).collect();
    for series in 0..plan.program().series.len() {
        let writers = all.iter().filter(|task| task[series] > 0).count() as u64;
        let share = (most / writers.max(1)).max(LEAST);
        all.iter_mut().for_each(|task| task[series] = task[series].min(share));
    }
    all
}

//! Upper bounds of the samples that a task records, for the sizes of an executor's buffers.

use super::range::{Flaw, Variables};
use super::walk::walk;
use crate::plan::{Plan, TaskId};
use crate::program::Op;

/// Upper bounds of the samples that `task` and its children record in each series, in the program's order;
/// `u64::MAX` where a loop ends by time or by the end of a stream, 0 where the task does not write to the series.
pub fn bounds(plan: &Plan, task: TaskId) -> Vec<u64> {
    let names = &plan.program().series;
    let mut bounds = vec![0u64; names.len()];
    let mut variables = Variables::of_task(task);
    let walked = walk::<Flaw>(&plan.group(task).body, &mut variables, &mut |visit| {
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
    debug_assert!(walked.is_ok(), "a plan's bodies have been checked");
    bounds
}

//! Properties of a whole program that decide what an executor must prepare.

use schedlab_workload::program::{Image, Mode, Repeat};
use schedlab_workload::{Op, Plan};

/// Whether any body runs until a channel is closed. Threads must then close the ends that they no longer use.
pub fn closes_matter(plan: &Plan) -> bool {
    anywhere(plan, |op| matches!(op, Op::Loop { repeat: Repeat::UntilClosed, .. }))
}

/// Whether any body computes for a given time. The machine's speed must then be known.
pub fn computes(plan: &Plan) -> bool {
    anywhere(plan, |op| matches!(op, Op::Compute { .. } | Op::Exec { image: Image::Work { .. } }))
}

/// Number of tasks that are threads.
pub fn threads(plan: &Plan) -> u32 {
    let threads = plan.program().groups.iter().filter(|group| group.mode == Mode::Thread);
    threads.map(|group| group.count).sum::<u32>() * plan.program().replicas
}

fn anywhere(plan: &Plan, holds: impl Fn(&Op) -> bool + Copy) -> bool {
    fn within(body: &[Op], holds: impl Fn(&Op) -> bool + Copy) -> bool {
        body.iter().any(|op| {
            holds(op)
                || match op {
                    Op::Loop { body, .. } | Op::Fork { body } => within(body, holds),
                    Op::Choose { branches } => branches.iter().any(|branch| within(&branch.body, holds)),
                    _ => false,
                }
        })
    }
    plan.program().groups.iter().any(|group| within(&group.body, holds))
}

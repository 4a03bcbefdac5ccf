//! Properties of a program for which the executor must prepare.

use schedlab_workload::program::{Image, Mode, Repeat, Take};
use schedlab_workload::{Op, Plan};

/// Whether any body runs until a channel is closed. If so, threads must close the channel ends that they no longer use.
pub fn closes_matter(plan: &Plan) -> bool {
    anywhere(plan, |op| matches!(op, Op::Loop { repeat: Repeat::UntilClosed, .. }))
}

/// Whether any body computes for a given time. The machine's speed must then be known.
pub fn computes(plan: &Plan) -> bool {
    anywhere(plan, |op| matches!(op, Op::Compute { .. } | Op::Exec { image: Image::Work { .. } }))
}

/// Most sets of epoll(7) that threads keep, one for each of their channels. A process needs no more descriptors for its sets than for
/// the ends that its creator had open and the process has closed.
pub fn epoll_sets(plan: &Plan) -> u64 {
    let polls = |op: &Op| matches!(op, Op::Receive { take: Take::Epoll, .. });
    let threads = plan.tasks().filter(|task| {
        let group = plan.group(*task);
        group.mode == Mode::Thread && group.body.iter().flat_map(Op::all).any(polls)
    });
    threads.map(|task| plan.channel_ends(task).len() as u64).sum()
}

/// Number of threads that the run waits for.
pub fn threads(plan: &Plan) -> u32 {
    let threads =
        plan.program().groups.iter().filter(|group| group.mode == Mode::Thread && !group.background);
    threads.map(|group| group.count).sum::<u32>() * plan.program().replicas
}

fn anywhere(plan: &Plan, holds: impl Fn(&Op) -> bool) -> bool {
    let bodies = plan.program().groups.iter().flat_map(|group| &group.body);
    bodies.flat_map(Op::all).any(holds)
}

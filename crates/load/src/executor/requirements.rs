//! Requirements of a program: limits that must allow it, and properties for which the executor must prepare.

use std::fs;
use std::io;

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use schedlab_workload::program::{Expr, Image, Mode, Program, Repeat, Scope, Take, TaskGroup};
use schedlab_workload::{Op, Plan};

use crate::error::LoadError;
use crate::limits::kernel_limit;

/// Descriptors that a process needs in addition to channels: standard streams, four of the gate, two of a
/// connection being opened, and a few of the runtime.
const SPARE_DESCRIPTORS: u64 = 16;

/// Make sure that a process can have `channels` descriptors and some more, raising the soft limit if that is enough.
pub fn ensure_descriptors(channels: u64) -> Result<(), LoadError> {
    let needed = channels + SPARE_DESCRIPTORS;
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).map_err(io::Error::from)?;
    if needed <= soft {
        return Ok(());
    }
    if needed > hard {
        return Err(LoadError::Descriptors { needed, soft, hard });
    }
    setrlimit(Resource::RLIMIT_NOFILE, needed, hard).map_err(io::Error::from)?;
    Ok(())
}

/// Refuse more tasks than the kernel has process numbers or threads for.
pub fn ensure_tasks(tasks: u32) -> Result<(), LoadError> {
    for name in ["pid_max", "threads-max"] {
        let limit = kernel_limit(name).and_then(|text| text.parse::<u64>().ok());
        if let Some(limit) = limit.filter(|limit| u64::from(tasks) >= *limit) {
            return Err(LoadError::Tasks { tasks, name, limit });
        }
    }
    Ok(())
}

/// Refuse a program whose touches alone need more memory than is available: the kernel's out-of-memory killer would end
/// the run, or another process.
pub fn ensure_memory(program: &Program) -> Result<(), LoadError> {
    let Some(available) = available_memory() else { return Ok(()) };
    let mut needed = 0u64;
    for region in &program.resources.regions {
        let users = program.groups.iter().filter(|group| touched(&group.body, &region.name) > 0);
        let per_task = |group: &TaskGroup| {
            let bytes = touched(&group.body, &region.name).min(region.bytes);
            bytes.saturating_mul(group.count.into())
        };
        let bytes = if region.scope == Scope::Task {
            users.map(per_task).fold(0, u64::saturating_add)
        } else {
            users.map(|group| touched(&group.body, &region.name).min(region.bytes)).max().unwrap_or(0)
        };
        needed = needed.saturating_add(bytes);
    }
    if needed > available {
        let (needed, available) = (needed >> 20, available >> 20);
        return Err(LoadError::Memory {
            purpose: "the buffers that the tasks touch",
            source: io::Error::other(format!("{needed} MiB are needed, and {available} MiB are available")),
        });
    }
    Ok(())
}

/// Most bytes of a region that one touch in a body reaches.
fn touched(body: &[Op], name: &str) -> u64 {
    let of = |op: &Op| match op {
        Op::Touch { region, bytes: Expr::Const(bytes), .. } if region.name == name => *bytes,
        _ => 0,
    };
    body.iter().flat_map(Op::all).map(of).max().unwrap_or(0)
}

/// `MemAvailable` of /proc/meminfo (proc(5)), in bytes.
fn available_memory() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? << 10)
}

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

#[cfg(test)]
#[path = "../../tests/unit/executor/requirements.rs"]
mod tests;

//! Checks of a program before the run.

mod body;
pub mod ends;
mod names;
pub mod range;
pub mod samples;
mod walk;

use crate::error::ProgramError;
use crate::program::{Mode, OLDEST_SCHEMA, Op, Program, Quantity, Resource, SCHEMA, TaskGroup, each_kind};

pub use body::MAX_LOOPS;
pub use walk::{Visit, walk};

/// Largest number of tasks of a program: the kernel's limit for process identifiers on 64-bit machines (2^22,
/// `/proc/sys/kernel/pid_max` in proc(5)).
pub const MAX_TASKS: u64 = 1 << 22;

/// Largest number of instances of one kind of resource: a bound for memory, far above the limit of file descriptors.
pub const MAX_INSTANCES: u64 = 1 << 24;

/// Check a complete program. The error names the first fault.
pub fn program(program: &Program) -> Result<(), ProgramError> {
    if !(OLDEST_SCHEMA..=SCHEMA).contains(&program.schema) {
        return Err(ProgramError::Schema { schema: program.schema, supported: SCHEMA });
    }
    sizes(program)?;
    disturbance(program)?;
    names::unique(program)?;
    body::bodies(program)?;
    ends::both_ends_used(program)?;
    ends::one_mode_each(program)?;
    metrics(program)
}

fn sizes(program: &Program) -> Result<(), ProgramError> {
    positive("replicas", program.replicas.into())?;
    let awaited = program.groups.iter().filter(|group| !group.background);
    positive("the number of groups that are not in the background", awaited.count() as u64)?;
    for group in &program.groups {
        positive(&format!("count of group `{}`", group.name), group.count.into())?;
    }
    main_memory(program)?;
    if let Some(window) = program.window {
        positive("duration_ns of the window", window.duration_ns)?;
    }
    let per_replica: u64 = program.groups.iter().map(|group| u64::from(group.count)).sum();
    let tasks = per_replica.saturating_mul(program.replicas.into());
    at_most("tasks", tasks, MAX_TASKS)?;
    let r = &program.resources;
    each_kind!(r, list => instances(list, program.replicas, tasks)?);
    for barrier in &r.barriers {
        positive(&format!("parties of barrier `{}`", barrier.name), barrier.parties.into())?;
    }
    for region in &r.regions {
        positive(&format!("bytes of region `{}`", region.name), region.bytes)?;
    }
    Ok(())
}

/// Check the main thread's memory. Images and threads have none of it: a process that executes an image loses the memory, which no
/// executor accounts.
fn main_memory(program: &Program) -> Result<(), ProgramError> {
    if program.main_memory.is_none() {
        return Ok(());
    }
    let refused = |reason: String| Err(ProgramError::Body { place: "main_memory".to_owned(), reason });
    if let Err(error) = program.main_memory.check(["mappings", "pages", "written"]) {
        return refused(error.to_string());
    }
    let executes = |op: &Op| matches!(op, Op::Exec { .. });
    if program.groups.iter().any(|group| group.program || group.body.iter().flat_map(Op::all).any(executes)) {
        return refused("tasks that execute an image lose this memory: leave one of both out".to_owned());
    }
    if program.groups.iter().all(|group| group.mode == Mode::Thread) {
        return refused("no task is a process, which would inherit this memory: leave it out".to_owned());
    }
    Ok(())
}

/// Refuse a disturbance in a program with a start gate, or before other groups: the task that starts all groups pauses before the
/// disturbance.
fn disturbance(program: &Program) -> Result<(), ProgramError> {
    let Some(at) = program.groups.iter().position(|group| group.disturbs_after_ns.is_some()) else {
        return Ok(());
    };
    let last = at > 0 && at + 1 == program.groups.len() && program.replicas == 1;
    if last && program.groups.iter().all(TaskGroup::started_by_exec) {
        return Ok(());
    }
    let reason =
        "a disturbance is the last of several groups of one replica that all start as programs".to_owned();
    Err(ProgramError::Body { place: format!("group `{}`", program.groups[at].name), reason })
}

fn instances<R: Resource>(resources: &[R], replicas: u32, tasks: u64) -> Result<(), ProgramError> {
    let mut total = 0;
    for resource in resources {
        positive(&format!("count of {} `{}`", R::KIND, resource.name()), resource.count().into())?;
        let copies = u64::from(resource.scope().copies(replicas, tasks as u32));
        total = u64::saturating_add(total, u64::from(resource.count()) * copies);
    }
    at_most(&format!("instances of {}s", R::KIND), total, MAX_INSTANCES)
}

fn positive(name: &str, value: u64) -> Result<(), ProgramError> {
    if value == 0 {
        return Err(ProgramError::Zero { name: name.to_owned() });
    }
    Ok(())
}

fn at_most(name: &str, number: u64, limit: u64) -> Result<(), ProgramError> {
    if number > limit {
        return Err(ProgramError::TooMany { name: name.to_owned(), number, limit });
    }
    Ok(())
}

fn metrics(program: &Program) -> Result<(), ProgramError> {
    positive("the number of metrics", program.metrics.len() as u64)?;
    let is_thread = |group: &TaskGroup| group.background && group.mode == Mode::Thread;
    let background_thread = program.groups.iter().find(|group| is_thread(group));
    for metric in &program.metrics {
        let place = format!("metric `{}`", metric.name);
        match &metric.quantity {
            Quantity::User | Quantity::System | Quantity::UserPerTask | Quantity::CpuShare => {
                if let Some(group) = background_thread {
                    let (metric, group) = (metric.name.clone(), &group.name);
                    let reason = format!("would count the CPU time of the background threads `{group}`");
                    return Err(ProgramError::Metric { metric, reason });
                }
            }
            Quantity::ElapsedPer(counter) | Quantity::Rate(counter) | Quantity::Total(counter) => {
                names::find("counter", &place, &program.counters, counter)?;
            }
            Quantity::Mean(series) => {
                names::find("series", &place, &program.series, series)?;
            }
            Quantity::Percentile(series, percent) => {
                names::find("series", &place, &program.series, series)?;
                if !(0.0..=100.0).contains(percent) {
                    let reason = format!("percentile {percent} is not between 0 and 100");
                    return Err(ProgramError::Metric { metric: metric.name.clone(), reason });
                }
            }
            _ => {}
        }
        if !metric.factor.is_finite() || metric.factor <= 0.0 {
            let reason = format!("factor {} is not a positive number", metric.factor);
            return Err(ProgramError::Metric { metric: metric.name.clone(), reason });
        }
    }
    Ok(())
}

//! Changes of a task's scheduling attributes by the task.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use schedlab_workload::program::{Attributes, Policy};

use crate::launcher::attributes::restrict_to;
use crate::launcher::deadline;
use crate::sys::sched::{self, Attributes as Kernel};

/// Where control groups are mounted: the `cpu` controller of version 1, or version 2 (cgroups(7)).
const VERSION_1: &str = "/sys/fs/cgroup/cpu";
const VERSION_2: &str = "/sys/fs/cgroup";

/// Apply `wanted` to the calling task, and note in `first_cpus` the CPUs that the task had before its first change of CPUs.
/// The error names the attribute that the kernel refused.
pub fn set(wanted: &Attributes, first_cpus: &mut Option<Vec<usize>>) -> Result<(), String> {
    if let Some(group) = &wanted.group {
        enter(group)?;
    }
    if let Some(cpus) = &wanted.cpus {
        set_cpus(cpus, first_cpus)?;
    }
    if let Some(nodes) = &wanted.nodes {
        let refused = |error: io::Error| format!("binding its memory to the nodes {nodes:?}: {error}");
        sched::set_memory_policy(libc::MPOL_BIND, nodes.iter().map(|node| *node as usize))
            .map_err(refused)?;
    }
    let scheduling = [wanted.priority.is_some(), wanted.policy.is_some(), wanted.runtime_ns.is_some()];
    if scheduling.contains(&true) || wanted.util_min.is_some() || wanted.util_max.is_some() {
        let before = sched::attributes().map_err(|error| format!("reading its attributes: {error}"))?;
        let after = over(before, wanted);
        sched::set_attributes(after).map_err(|error| {
            let privilege = if error.raw_os_error() == Some(libc::EPERM) {
                " (RLIMIT_NICE or CAP_SYS_NICE is needed to lower a nice value or to leave the policy idle)"
            } else {
                ""
            };
            format!("being scheduled as {}: {error}{privilege}", shown(wanted))
        })?;
    }
    Ok(())
}

/// If the calling thread is under SCHED_DEADLINE, put the thread under SCHED_OTHER and return the attributes for its tasks.
///
/// Tasks do not inherit the policy (`SCHED_FLAG_RESET_ON_FORK`), and the main thread, which only waits for its tasks, would take a
/// share of the CPU time that the kernel admits for them.
pub fn hand_on_deadline() -> io::Result<Option<Kernel>> {
    let before = sched::attributes()?;
    if before.policy != sched::number(Policy::Deadline) {
        return Ok(None);
    }
    sched::set_attributes(Kernel::new(sched::number(Policy::Other), 0, 0, 0))?;
    Ok(Some(Kernel::deadline(before.runtime, before.deadline, before.period)))
}

/// Put the calling task under SCHED_DEADLINE; `tasks` tasks do so. The error states the kernel's limit.
pub fn enter_deadline(attributes: &Kernel, tasks: u32) -> Result<(), String> {
    let refused = |error: io::Error| {
        let why = deadline::why_refused(attributes, &error, tasks);
        format!("being scheduled under {}: {why}", deadline::shown(attributes))
    };
    sched::set_attributes(*attributes).map_err(refused)
}

fn set_cpus(cpus: &[u32], first_cpus: &mut Option<Vec<usize>>) -> Result<(), String> {
    let first = match first_cpus.take() {
        Some(first) => first,
        None => sched::affinity().map_err(|error| format!("reading its CPU set: {error}"))?,
    };
    let first = &*first_cpus.insert(first);
    let cpus = if cpus.is_empty() { first.clone() } else { cpus.iter().map(|cpu| *cpu as usize).collect() };
    restrict_to(&cpus)
}

/// The attributes in effect, overlaid with the requested attributes.
fn over(before: Kernel, wanted: &Attributes) -> Kernel {
    let policy = wanted.policy.map_or(before.policy, sched::number);
    let real_time = [Policy::Fifo, Policy::Rr].map(sched::number).contains(&policy);
    let deadline = policy == sched::number(Policy::Deadline);
    let runtime = wanted.runtime_ns.unwrap_or(if deadline { before.runtime } else { 0 });
    let priority = wanted.priority.and_then(|priority| u32::try_from(priority).ok());
    let flag = |value: Option<u32>, flag| if value.is_some() { flag } else { 0 };
    let relative = wanted.deadline_ns.unwrap_or(runtime);
    Kernel {
        policy,
        flags: before.flags & sched::RESET_ON_FORK
            | flag(wanted.util_min, sched::UTIL_MIN)
            | flag(wanted.util_max, sched::UTIL_MAX),
        nice: if real_time || deadline { before.nice } else { wanted.priority.unwrap_or(before.nice) },
        priority: if real_time { priority.unwrap_or(before.priority.max(1)) } else { 0 },
        runtime: if real_time { 0 } else { runtime },
        deadline: if deadline { relative } else { 0 },
        period: if deadline { wanted.period_ns.unwrap_or(relative) } else { 0 },
        util_min: wanted.util_min.unwrap_or(0),
        util_max: wanted.util_max.unwrap_or(0),
        ..before
    }
}

/// The attributes in the JSON notation of programs.
fn shown(wanted: &Attributes) -> String {
    serde_json::to_string(wanted).unwrap_or_default()
}

/// Move the calling thread into a control group of the `cpu` controller. A missing group is created.
fn enter(group: &str) -> Result<(), String> {
    let (root, file) = hierarchy()?;
    let path = root.join(group.trim_start_matches('/'));
    let failed = |error: io::Error| format!("entering the task group {}: {error}", path.display());
    fs::create_dir_all(&path).map_err(failed)?;
    if file == "cgroup.threads" && path != root {
        // A thread can leave its process's group only for a threaded group (cgroups(7)). The write fails if the group is
        // threaded already.
        let _ = fs::write(path.join("cgroup.type"), "threaded");
    }
    fs::write(path.join(file), nix::unistd::gettid().to_string()).map_err(failed)
}

fn hierarchy() -> Result<(PathBuf, &'static str), String> {
    if Path::new(VERSION_1).join("tasks").exists() {
        return Ok((VERSION_1.into(), "tasks"));
    }
    if Path::new(VERSION_2).join("cgroup.controllers").exists() {
        return Ok((VERSION_2.into(), "cgroup.threads"));
    }
    Err(format!(
        "no control groups: neither {VERSION_1} (version 1) nor {VERSION_2} (version 2) is mounted; mount \
         control groups, see cgroups(7)"
    ))
}

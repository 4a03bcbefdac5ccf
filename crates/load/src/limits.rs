//! Limits of the system. Messages about a failed call name the limits on the call, with their values.

use std::fs;
use std::io;

use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit, setrlimit};

use schedlab_workload::program::{Expr, Op, Program, Scope, TaskGroup};

use crate::error::LoadError;

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

/// The text of a sysctl below `kernel`; `None` if the file cannot be read.
fn kernel_limit(name: &str) -> Option<String> {
    fs::read_to_string(format!("/proc/sys/kernel/{name}")).ok().map(|text| text.trim().to_owned())
}

/// Explains a failed `fork`: names every limit on processes with its value.
pub fn fork_failure(error: &io::Error) -> String {
    explain("starting a process (fork)", error)
}

/// Explains a failed thread creation: names every limit on threads with its value.
pub fn thread_failure(error: &io::Error) -> String {
    explain("starting a thread (clone)", error)
}

fn explain(action: &str, error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::EAGAIN) => format!("{action}: {error}; limits on processes: {}", process_limits()),
        Some(libc::ENOMEM) => format!("{action}: {error}; {}", memory_limits()),
        _ => format!("{action}: {error}"),
    }
}

/// Every limit on the number of processes and threads, and how to raise these limits.
fn process_limits() -> String {
    let mut limits = Vec::new();
    if let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NPROC) {
        limits.push(format!("RLIMIT_NPROC {} (hard {}; ulimit -u)", shown(soft), shown(hard)));
    }
    limits.extend(cgroup_file("pids", "pids.max").map(|(path, value)| format!("{path} = {value}")));
    for name in ["threads-max", "pid_max"] {
        limits.extend(kernel_limit(name).map(|value| format!("kernel.{name} = {value}")));
    }
    format!("{}. Raise the exhausted limit, or run fewer tasks", limits.join(", "))
}

/// The limits on memory, and the remedy.
pub fn memory_limits() -> String {
    let mut limits = Vec::new();
    if let Ok((soft, _)) = getrlimit(Resource::RLIMIT_AS) {
        limits.push(format!("RLIMIT_AS {}", shown(soft)));
    }
    for (controller, file) in [("memory", "memory.limit_in_bytes"), ("memory", "memory.max")] {
        limits.extend(cgroup_file(controller, file).map(|(path, value)| format!("{path} = {value}")));
    }
    for name in ["overcommit_memory", "max_map_count"] {
        if let Ok(value) = fs::read_to_string(format!("/proc/sys/vm/{name}")) {
            limits.push(format!("vm.{name} = {}", value.trim()));
        }
    }
    format!(
        "limits on memory: {}. Free memory, raise the limit, or run fewer or smaller tasks",
        limits.join(", ")
    )
}

fn shown(limit: u64) -> String {
    if limit == RLIM_INFINITY { "unlimited".to_owned() } else { limit.to_string() }
}

/// The value of a control file of this process's control group, in a v1 or v2 hierarchy, and its path.
pub fn cgroup_file(controller: &str, file: &str) -> Option<(String, String)> {
    let membership = fs::read_to_string("/proc/self/cgroup").ok()?;
    for line in membership.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let mounts = if controllers.is_empty() {
            vec!["/sys/fs/cgroup".to_owned(), "/sys/fs/cgroup/unified".to_owned()]
        } else if controllers.split(',').any(|each| each == controller) {
            vec![format!("/sys/fs/cgroup/{controllers}"), format!("/sys/fs/cgroup/{controller}")]
        } else {
            continue;
        };
        for mount in mounts {
            let candidate = format!("{mount}{}/{file}", path.trim_end_matches('/'));
            if let Ok(value) = fs::read_to_string(&candidate) {
                return Some((candidate, value.trim().to_owned()));
            }
        }
    }
    None
}

#[cfg(test)]
#[path = "../tests/unit/limits.rs"]
mod tests;

//! Limits of the system. Messages about a failed call name the limits on the call, with their values.

use std::fs;
use std::io;

use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit};
use schedlab_workload::cpulist::parse;

/// The text of a sysctl below `kernel`; `None` if the file cannot be read.
pub fn kernel_limit(name: &str) -> Option<String> {
    fs::read_to_string(format!("/proc/sys/kernel/{name}")).ok().map(|text| text.trim().to_owned())
}

/// CPUs that are online; `None` if the kernel does not list them.
pub fn online_cpus() -> Option<Vec<usize>> {
    fs::read_to_string("/sys/devices/system/cpu/online").ok().and_then(|text| parse(&text, None).ok())
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
